import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../kernel/json.ts";
import { handleOf, readResult, shortened, shownResult } from "./kept-result.ts";
import { findTools } from "./tool-offer.ts";
import type { ToolContext } from "./tool.ts";

const AT = { turn: "turn_1", place: "2.3" };
const HANDLE = handleOf(AT);
const context: ToolContext = {
  key: "k",
  attempt: 1,
  session: "s",
  turn: "turn_2",
  agent: "a",
  signal: new AbortController().signal,
};

function read(result: Json, input: object): Promise<unknown> {
  const tool = readResult(async (at) =>
    at.turn === AT.turn && at.place === AT.place ? result : undefined,
  );
  const given: unknown = tool.inputSchema.parse(input);
  return Promise.resolve(tool.execute(given, context, { signal: context.signal }));
}

/** All pieces from `offset` on, joined. */
async function readOn(result: Json, offset = 0): Promise<string> {
  const answer = (await read(result, { handle: HANDLE, offset })) as string;
  const line = answer.indexOf("\n");
  const next = /go on with "offset": (\d+)\]$/u.exec(answer.slice(0, line));
  const piece = answer.slice(line + 1);
  return next ? piece + (await readOn(result, Number(next[1]))) : piece;
}

const text = fc.string({ unit: fc.constantFrom("a", "글", "é", "😀", "\n"), minLength: 30_000 });

test("a result that fits is shown as it is", () => {
  expect(shownResult({ ok: true }, { handle: HANDLE, most: 10_000 })).toEqual({
    result: { ok: true },
  });
});

test("a long result is shown by its beginning and its end, within the bound", () => {
  fc.assert(
    fc.property(text, fc.constantFrom(10_000, 20_000), (whole, most) => {
      const { result, kept } = shownResult(whole, { handle: HANDLE, most });
      const bytes = Buffer.from(whole);
      const [head = "", tail = ""] = (result as string).split(/\n\[cut: [^\n]*\]\n/u);

      expect(Buffer.byteLength(result as string)).toBeLessThanOrEqual(most);
      expect(result).toContain(HANDLE);
      expect(bytes.toString("utf8", 0, kept!.from)).toBe(head);
      expect(bytes.toString("utf8", kept!.to)).toBe(tail);
      expect(whole.isWellFormed()).toBe((result as string).isWellFormed());
    }),
    { numRuns: 20 },
  );
});

test("what a history shortens keeps its handle, and both ends", () => {
  const whole = `${"begin ".repeat(5_000)}${"end ".repeat(5_000)}`;
  const shown = shownResult(whole, { handle: HANDLE, most: 20_000 });
  const message = { role: "tool", callId: "c", name: "look", ...shown } as const;

  const shorter = shortened(shortened(message, 8_000), 4_096);

  expect(Buffer.byteLength(shorter.result as string)).toBeLessThanOrEqual(4_096);
  expect(shorter.result).toMatch(/^begin [\s\S]*turn_1\/2\.3[\s\S]*end $/u);
  const { from, to } = shorter.kept!;
  const [head, tail] = (shorter.result as string).split(/\n\[cut: [^\n]*\]\n/u);
  expect([head, tail]).toEqual([whole.slice(0, from), whole.slice(to)]);
});

test("the pieces of a result are the whole result, whatever its letters and the order of its members", async () => {
  const whole = { b: "글자 ".repeat(5_000), a: ["😀".repeat(2_000)] };

  const { kept } = shownResult(whole, { handle: HANDLE, most: 10_000 });
  const stored = { a: whole.a, b: whole.b };

  expect(JSON.parse(await readOn(stored))).toEqual(whole);
  expect(await readOn(stored, kept!.to)).toMatch(/"\}$/u);
  expect(await readOn(whole)).toBe(await readOn(stored));
});

test("one reading gives a bounded piece, and says where to go on", async () => {
  const piece = (await read("word ".repeat(50_000), { handle: HANDLE })) as string;

  expect(Buffer.byteLength(piece)).toBeLessThan(8_200);
  expect(piece).toMatch(/^\[bytes 0 to 8000 of 250000; go on with "offset": 8000\]\n/u);
});

test("a search gives a few places with the offsets at which they are read", async () => {
  const whole = `${"-".repeat(9_000)}Needle one${"글".repeat(900)}needle two${"-".repeat(9_000)}`;

  const found = (await read(whole, { handle: HANDLE, search: "NEEDLE" })) as string;
  const [first, second] = [...found.matchAll(/\[at byte (\d+)\]/gu)].map(([, at]) => Number(at));

  expect([first, second]).toEqual([9_000, 9_000 + 10 + 900 * 3]);
  expect(await read(whole, { handle: HANDLE, offset: second })).toMatch(/\nneedle two/u);
  const later = await read(whole, { handle: HANDLE, search: "needle", offset: first! + 1 });
  expect(later).not.toContain("one");
  expect(await read(whole, { handle: HANDLE, search: "nothing" })).toMatch(/is not in it/u);
});

test("a search of what stands everywhere gives a bounded answer, and says that there is more", async () => {
  const found = (await read("needle ".repeat(50_000), {
    handle: HANDLE,
    search: "needle",
  })) as string;

  expect(Buffer.byteLength(found)).toBeLessThan(8_000);
  expect(found).toMatch(/\[more from byte \d+ on\]$/u);
});

test.each([["turn_1/9"], ["turn_2/2.3"], ["nothing"], ["/"]])(
  "the handle %o of no result is told as unknown",
  async (handle) => {
    await expect(read("text", { handle })).rejects.toMatchObject({ code: "RESULT_UNKNOWN" });
  },
);

test("the tools of the engine are made anew for each turn, their schemas are not", () => {
  const offered = { all: {}, own: {}, sets: [], most: 0 };
  const make = () => [readResult(async () => undefined), findTools(offered)];

  for (const [at, { inputSchema }] of make().entries()) {
    expect(make()[at]!.inputSchema).toBe(inputSchema);
  }
});
