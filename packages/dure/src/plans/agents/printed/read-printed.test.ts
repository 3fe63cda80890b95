import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PRESETS, AGENTS, type AgentName } from "../presets.ts";
import { PRINTS, type Printed } from "./printed.ts";
import { readPrinted } from "./read-printed.ts";

/** What the real agents printed: two steps of a shell or a file, then their words. */
async function printedBy(agent: AgentName): Promise<readonly Printed[]> {
  const file = new URL(`./fixtures/${agent}.jsonl`, import.meta.url);
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  const { prints } = PRESETS[agent].exec;
  return lines.flatMap((line) => readPrinted(prints, line) ?? [{ kind: "trouble", text: line }]);
}

test.each(AGENTS)(
  "of %s its tools, their results and its words are read in order",
  async (agent) => {
    const printed = await printedBy(agent);

    const entries = printed.flatMap((one) => (one.kind === "entry" ? [one.entry] : []));
    const kinds = entries.map(({ kind }) => kind).filter((kind) => kind !== "stderr");
    const steps = ["tool", "result", "tool", "result"];
    expect(kinds.slice(0, 4)).toEqual(steps);
    expect(new Set(kinds.slice(4))).toEqual(new Set(["message"]));
    const said = entries.filter(({ kind }) => kind === "message").map(({ text }) => text);
    expect(said.join("")).toBe("Done: src/a.txt is made.");
    const tool = entries.find(({ kind }) => kind === "tool")!;
    expect(tool.text).toContain("sleep 10");
    expect(printed.filter(({ kind }) => kind === "trouble")).toEqual([]);
  },
);

test.each(AGENTS)("of %s the tokens of three calls are read", async (agent) => {
  const printed = await printedBy(agent);

  const sums = printed.flatMap((one) => (one.kind === "sum" ? [one.tokens] : []));
  const calls = printed.flatMap((one) => (one.kind === "call" ? [one.tokens] : []));
  const told = sums[0] ?? {
    input: calls.reduce((sum, { input }) => sum + input, 0),
    output: calls.reduce((sum, { output }) => sum + output, 0),
  };
  expect(told).toMatchObject({ input: 3_000, output: 150 });
});

test("what a failed turn says is told as trouble", () => {
  const lines = {
    claude: { type: "result", is_error: true, result: "Invalid API key" },
    codex: { type: "turn.failed", error: { message: "Invalid API key" } },
    opencode: { type: "error", error: "Invalid API key" },
    gemini: { type: "result", status: "error", error: { message: "Invalid API key" } },
  };
  for (const prints of PRINTS) {
    const printed = readPrinted(prints, JSON.stringify(lines[prints]));
    expect(printed).toContainEqual({ kind: "trouble", text: "Invalid API key" });
  }
});

test("a line that is not of the form is left to be shown as it is", () => {
  for (const line of ["Warning: no ripgrep", "{", '{"type":"else"}', '{"type":7}', "[]", "null"]) {
    for (const prints of PRINTS) expect(readPrinted(prints, line)).toBeUndefined();
  }
});

test("a line that nests deeper than the stack is no end of the process", () => {
  const deep = `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`;
  const line = `{"type":"tool_use","tool_name":"x","parameters":${deep}}`;

  const printed = readPrinted("gemini", line);

  expect(printed?.[0]).toMatchObject({ entry: { text: "(too deep to be shown)" } });
});

test("whatever stands in a line, reading it throws nothing", () => {
  const types = [
    "assistant",
    "user",
    "result",
    "item.completed",
    "tool_use",
    "step_finish",
    "text",
  ];
  const line = fc.record({
    type: fc.constantFrom(...types),
    message: fc.jsonValue(),
    part: fc.jsonValue(),
    item: fc.jsonValue(),
    usage: fc.jsonValue(),
    error: fc.jsonValue(),
  });
  fc.assert(
    fc.property(line, fc.constantFrom(...PRINTS), (given, prints) => {
      readPrinted(prints, JSON.stringify(given));
    }),
    { numRuns: 500 },
  );
});
