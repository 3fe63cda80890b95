import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { TestClock } from "../../kernel/test-clock.ts";
import type { Llm } from "../../models/card.ts";
import type { ModelRequest } from "../../models/model.ts";
import { Models } from "../../models/models.ts";
import { offlineModel } from "../../models/offline.ts";
import { ModelOutages } from "../../models/outages.ts";
import { Outlines } from "../context/outlines.ts";
import { PlanThreads } from "../threads/plan-threads.ts";
import { draftPlan, withoutFence, type Draft } from "./draft.ts";
import type { DraftWish } from "./draft-prompt.ts";
import { nearestTo, type DraftSource } from "./material.ts";
import { agentsOnPath, teamWorkers, workerTexts, type TeamWorkers } from "./team-workers.ts";

const threads = new PlanThreads();
afterAll(() => threads.stop());

const GOOD = `plan: sessions
roles: modules
workers: { default: { kind: own, name: coder } }
ports:
  - { id: core, role: core, goal: Sessions expire., owns: [src/core/**], acceptance: npm test }
`;
const LLM: Llm = { provider: "offline", model: "drafter", fallbacks: [] };
const TEAM = teamWorkers(["coder"], LLM);

function sourceWith(
  texts: Readonly<Record<string, string>>,
  commits: readonly string[] = [],
): DraftSource {
  return {
    files: Object.entries(texts).map(([name, text]) => ({ path: name, bytes: text.length })),
    commits,
    readFile: async (name) => texts[name],
  };
}

const SOURCE = sourceWith({ "src/core/session.ts": "export const minutes = 30;\n" });

async function draft(
  answers: readonly string[],
  {
    wish = { goal: "Sessions expire" },
    source = SOURCE,
    workers = TEAM,
  }: { wish?: DraftWish; source?: DraftSource; workers?: TeamWorkers } = {},
): Promise<Draft & { asked: readonly ModelRequest[]; prompt: string }> {
  const asked: ModelRequest[] = [];
  const model = offlineModel("drafter", async (request) => {
    asked.push(structuredClone(request));
    return { text: answers[asked.length - 1] ?? "" };
  });
  const models = new Models({ clock: systemClock, logger: silentLogger, offline: [model] });
  const parts = {
    models,
    llm: LLM,
    clock: systemClock,
    threads,
    workers,
    signatures: new Outlines({ logger: silentLogger }).of,
  };
  const { signal } = new AbortController();
  const made = await draftPlan(parts, wish, source, { signal });
  return { ...made, asked, prompt: textOf(asked[0]) };
}

function textOf(request: ModelRequest | undefined): string {
  return (
    request?.messages.map((message) => ("text" in message ? message.text : "")).join("\n") ?? ""
  );
}

test("a good proposal is taken as it is, without the fence around it", async () => {
  const { text, problemCount, asked } = await draft([`Here it is:\n\`\`\`yaml\n${GOOD}\`\`\`\n`]);

  expect([text, problemCount, asked.length]).toEqual([GOOD, 0, 1]);
  expect(withoutFence("plan: a")).toBe("plan: a\n");
});

test("a wrong proposal goes back twice with its problems; a person gets what comes then", async () => {
  const wrong = (name: string): string => `plan: ${name}\nports: []\n`;

  const mended = await draft([wrong("a"), wrong("b"), GOOD]);
  const stubborn = await draft([wrong("a"), wrong("b"), wrong("c"), GOOD]);

  expect([mended.text, mended.problemCount, mended.asked.length]).toEqual([GOOD, 0, 3]);
  expect(textOf(mended.asked[1])).toMatch(/line \d+: ports/);
  expect([stubborn.text, stubborn.asked.length]).toEqual([wrong("c"), 3]);
  expect(stubborn.problems.map(({ key }) => key)).toContain("ports");
});

test("workers that the team does not have, and contracts that none writes, are problems too", async () => {
  const stranger = GOOD.replace("name: coder", "name: genius");
  const idle = GOOD.replace("{ kind: own, name: coder }", "{ kind: offline }");
  const contract = GOOD.replace(
    "ports:",
    "contracts: [{ path: src/a.ts, by: orchestrator }]\nports:",
  );

  const { asked, problemCount } = await draft([stranger, idle, contract]);
  const last = await draft([GOOD, GOOD, GOOD]);

  expect(textOf(asked[1])).toContain("genius is no worker of the team");
  expect(textOf(asked[2])).toContain("the offline worker changes nothing");
  expect([problemCount, last.problemCount]).toEqual([1, 0]);
});

test("a team without workers gets a stand-in that says so in the text and among what is open", async () => {
  const idle = GOOD.replace("{ kind: own, name: coder }", "{ kind: offline }");

  const { text, open, problemCount } = await draft([idle], { workers: teamWorkers([], LLM) });

  expect(text).toMatch(/^# The offline worker below is a stand-in: it changes nothing/);
  expect(text.endsWith(idle)).toBe(true);
  expect(open).toEqual([expect.stringContaining("offline worker, which changes nothing")]);
  expect(problemCount).toBe(0);
});

test("the model sees manifests, commits, a test, signatures and decided answers", async () => {
  const source = sourceWith(
    {
      "package.json": '{ "scripts": { "test": "vitest run" } }',
      "src/core/session.ts": `${"// filler\n".repeat(50)}export function expire(at: Date): boolean {\n  return at < new Date();\n}\n`,
      "src/core/session.test.ts": 'test("a session ends", () => {});\n',
      "src/other.ts": "export const other = 1;\n",
    },
    ["Let sessions begin", "Start"],
  );
  const answers = [{ question: "How long?", answer: "30 minutes" }];

  const { prompt, asked } = await draft([GOOD], {
    source,
    wish: { goal: "Sessions end", answers },
  });

  expect(prompt).toContain('"test": "vitest run"');
  expect(prompt).toContain("- Let sessions begin\n- Start");
  expect(prompt).toContain('test("a session ends"');
  expect(prompt).toContain("export declare function expire(at: Date): boolean;");
  expect(prompt).toContain("- How long?\n  Answer: 30 minutes");
  expect(asked[0]!.system).toContain('{ default: { kind: own, name: "coder" } }');
});

test("every part that the model sees has a bound, and a large file is never opened", async () => {
  const opened: string[] = [];
  const files = Array.from({ length: 8_000 }, (_, index) => ({
    path: `packages/folder-${index}/package.json`,
    bytes: index === 0 ? 90_000_000 : 9_000,
  }));
  const source: DraftSource = {
    files,
    commits: Array.from({ length: 500 }, () => "x".repeat(1_000)),
    readFile: async (name) => {
      opened.push(name);
      return "x".repeat(9_000);
    },
  };

  const { prompt } = await draft([GOOD], { source });

  expect(prompt).toMatch(/… and \d+ more/);
  expect(prompt.length).toBeLessThan(100_000);
  expect(opened.length).toBeLessThan(20);
  expect(opened).not.toContain("packages/folder-0/package.json");
});

test("questions and what is open are read from comments, three and ten at most", async () => {
  const notes = Array.from({ length: 12 }, (_, index) =>
    [`# question: Which one, ${index}?`, `# open: not seen ${index}`].join("\n"),
  );

  const { questions, open } = await draft([`${notes.join("\n")}\n${GOOD}`]);

  expect(questions).toEqual(["Which one, 0?", "Which one, 1?", "Which one, 2?"]);
  expect([open.length, open[0]]).toEqual([10, "not seen 0"]);
});

const MINUTE_MS = 60_000;

/** A proposal whose model is away so long, milliseconds, and how long it took. */
async function draftWhileAway(awayMs: number, signal = new AbortController().signal) {
  const clock = new TestClock();
  let since: number | undefined;
  const model = offlineModel("drafter", () => {
    since ??= clock.now();
    return clock.now() < since + awayMs ? { text: "", error: { status: 503 } } : GOOD;
  });
  const outages = new ModelOutages({ clock, logger: silentLogger });
  const parts = {
    models: new Models({ clock, logger: silentLogger, offline: [model] }),
    llm: LLM,
    clock,
    patience: { outages, patienceMs: 30 * MINUTE_MS },
    threads,
    workers: TEAM,
    signatures: new Outlines({ logger: silentLogger }).of,
  };
  const drafting = draftPlan(parts, { goal: "Sessions expire" }, SOURCE, { signal });
  let isOver = false;
  const over = (): void => void (isOver = true);
  drafting.then(over, over);
  while (!isOver) await clock.pass(100);
  return drafting;
}

test("a proposal outlasts a model that is away for three minutes", async () => {
  expect(await draftWhileAway(3 * MINUTE_MS)).toMatchObject({ text: GOOD, problemCount: 0 });
});

test("a proposal ends with the provider's error before its caller's connection does", async () => {
  await expect(draftWhileAway(40 * MINUTE_MS)).rejects.toMatchObject({
    code: "MODEL_SERVER_ERROR",
  });
});

test("nothing is no proposal", async () => {
  await expect(draft(["```yaml\n\n```"])).rejects.toMatchObject({ code: "DRAFT_EMPTY" });
});

test("workers are the team's own, then agents of this machine, then its model", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-path-"));
  try {
    const paid: Llm = { ...LLM, provider: "anthropic", model: "claude" };
    for (const program of ["codex-acp", "gemini", "claude"]) {
      await writeFile(path.join(folder, program), "");
      await chmod(path.join(folder, program), program === "gemini" ? 0o600 : 0o755);
    }

    const found = agentsOnPath(`${folder}${path.delimiter}relative`);

    expect(workerTexts(teamWorkers(["coder"], paid, found))).toEqual([
      '{ kind: own, name: "coder" }',
      "{ agent: claude, via: exec }",
      "{ agent: codex }",
      '{ kind: model, model: "anthropic:claude" }',
    ]);
    expect(agentsOnPath(undefined)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("files with words of the goal come first, singular or plural", () => {
  const paths = ["index.ts", "src/deep/cartItems.ts", "src/carts.ts", "src/price.ts"];

  expect(nearestTo("A cart has items", paths)).toEqual([
    "src/deep/cartItems.ts",
    "src/carts.ts",
    "index.ts",
    "src/price.ts",
  ]);
});
