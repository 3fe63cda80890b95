// @module-tag slow
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../durable/test-database.ts";
import { silentLogger, type Logger } from "../../kernel/logger.ts";
import { failureError } from "../../models/failures.ts";
import { offlineModel } from "../../models/offline.ts";
import { chatAgent } from "./agent.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database[Symbol.asyncDispose]());

const chat = defineService({
  name: "chat",
  agents: { helper: chatAgent({ name: "helper", prompt: "Help." }) },
  memory: { summarizeThreshold: 2, keepRecentTurns: 1, maxRawTurns: 3 },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "")).text })),
  },
});

const isFold = (text: string): boolean => text.includes("<dialog>");

/** Answers as a helper does, and knows nothing of summaries. */
function helperModel(folds: string[]) {
  return offlineModel("helper", ({ messages }) => {
    const { text } = messages.at(-1) as { text: string };
    if (!isFold(text)) return "fine";
    folds.push(text);
    return { error: new Error("this prompt is not known") };
  });
}

test.each(["offline:echo", "offline:helper"])(
  "%s, which gives no summary, costs no warning: the history is cut instead",
  async (model) => {
    const folds: string[] = [];
    const warnings: unknown[] = [];
    const logger: Logger = {
      ...silentLogger,
      warn: (...given: unknown[]) => void warnings.push(given),
      error: (...given: unknown[]) => void warnings.push(given),
    };
    const offline = [helperModel(folds)];
    await using t = await startTestEngine(chat, { on: database, model, offline, logger });
    const session = model.replace(":", "-");
    const memory = async () => (await t.engine.debug(session)).memory;

    for (const message of ["하나", "둘", "셋", "넷", "다섯"]) await t.say(message, { session });
    await expect.poll(async () => (await memory()).rawHistory.length).toBe(6);

    expect((await memory()).summaryText).toBe("");
    expect(folds.length).toBeLessThanOrEqual(1);
    expect(warnings).toEqual([]);
  },
);

test("a summary is asked for in the language of the dialog, with the team's text", async () => {
  const folds: string[] = [];
  const model = offlineModel("folds", ({ messages }) => {
    const { text } = messages.at(-1) as { text: string };
    if (text !== "안녕" && text !== "뭐해") folds.push(text);
    return "좋아요";
  });
  const prompts = { "memory.ko": "짧게: {dialog}" };
  await using t = await startTestEngine(chat, {
    on: database,
    offline: [model],
    engine: { prompts },
  });

  for (const message of ["안녕", "뭐해"]) await t.say(message, { session: "ko" });
  await expect.poll(() => folds).toEqual(["짧게: user: 안녕\nassistant: 좋아요"]);
});

test("a summary begins with one prompt, and further turns are folded into it with the other", async () => {
  const folds: string[] = [];
  const model = offlineModel("folds", ({ messages }) => {
    const { text } = messages.at(-1) as { text: string };
    if (!text.includes("user: ")) return "fine";
    return `summary ${folds.push(text)}`;
  });
  const prompts = { "memory-first.en": "Begin: {dialog}", "memory.en": "{memory_block}+{dialog}" };
  await using t = await startTestEngine(chat, {
    on: database,
    offline: [model],
    engine: { prompts },
  });
  const summary = async () => (await t.engine.debug("two")).memory.summaryText;

  for (const message of ["hello", "how are you"]) await t.say(message, { session: "two" });
  await expect.poll(summary).toBe("summary 1");
  await t.say("good bye", { session: "two" });
  await expect.poll(summary).toBe("summary 2");

  expect(folds).toEqual([
    "Begin: user: hello\nassistant: fine",
    "summary 1+user: how are you\nassistant: fine",
  ]);
});

/** Gives each summary only when it is let go. */
function heldFolds() {
  const asked: string[] = [];
  const held: (() => void)[] = [];
  const model = offlineModel("held", async ({ messages }) => {
    const { text } = messages.at(-1) as { text: string };
    if (!isFold(text)) return "fine";
    asked.push(text);
    const told = `summary of ${text.match(/user: /g)?.length} turns, call ${asked.length}`;
    await new Promise<void>((resolve) => void held.push(resolve));
    return told;
  });
  return { model, asked, letGo: () => held.shift()?.() };
}

const talk = defineService({ ...chat, memory: {} });

test("seven fast turns cost one summary, which keeps its place behind the turn that overtook it", async () => {
  const { model, asked, letGo } = heldFolds();
  await using t = await startTestEngine(talk, { on: database, offline: [model] });
  const session = "fast";
  const memory = async () => (await t.engine.debug(session)).memory;

  for (let nth = 1; nth <= 6; nth++) await t.say(`message ${nth}`, { session });
  await expect.poll(() => asked.length).toBe(1);
  await t.say("message 7", { session });
  letGo();
  await expect.poll(async () => (await memory()).summaryText).toBe("summary of 2 turns, call 1");

  const { rawHistory } = await memory();
  expect(rawHistory.map(({ content }) => content).filter((text) => text !== "fine")).toEqual(
    [3, 4, 5, 6, 7].map((nth) => `message ${nth}`),
  );
  await t.engine.stop();
  expect(asked).toHaveLength(1);
});

test("where each turn overtakes a fold, one summary is asked for at most each second turn", async () => {
  const { model, asked, letGo } = heldFolds();
  await using t = await startTestEngine(talk, { on: database, offline: [model] });
  const session = "faster";
  const memory = async () => (await t.engine.debug(session)).memory;

  for (let nth = 1; nth <= 14; nth++) {
    const turn = t.engine.turn({ session, message: `message ${nth}` });
    await turn.turnId;
    letGo(); // while this turn runs
    await turn.done;
  }
  const length = async (): Promise<number> => {
    letGo();
    return (await memory()).rawHistory.length;
  };
  await expect.poll(length).toBeLessThan(2 * 6);

  const { rawHistory, summaryText } = await memory();
  expect(asked.length).toBeLessThanOrEqual((14 - 4) / 2);
  expect(asked.flatMap((text) => text.match(/message \d+/g) ?? [])).toEqual(
    Array.from({ length: 14 - rawHistory.length / 2 }, (_, index) => `message ${index + 1}`),
  );
  expect(summaryText).toContain(`call ${asked.length}`);
});

const LONG = "Please remember each of these words. ".repeat(130);
/** Room for three of those messages, and too little for the next one. */
const WINDOW = 9_000;

/** Takes no more than so many characters of a dialog at once, and answers requests of any length. */
function narrowModel(most: number, folds: string[]) {
  return offlineModel("narrow", ({ messages }) => {
    const { text } = messages.at(-1) as { text: string };
    if (!isFold(text)) return "fine";
    if (text.length > most) return { error: failureError("context", "prompt is too long") };
    folds.push(text);
    return `Summary ${folds.length}.`;
  });
}

const narrow = (summaries: boolean) =>
  defineService({
    name: "chat",
    agents: {
      helper: chatAgent({
        name: "helper",
        prompt: "Help.",
        card: { policy: { contextTokens: WINDOW } },
      }),
    },
    memory: { enableSummary: summaries, summarizeThreshold: 50, maxRawTurns: 50 },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "")).text })),
    },
  });

test("a history that is too long to be summed up at once is folded in parts", async () => {
  const folds: string[] = [];
  const model = narrowModel(1.5 * LONG.length, folds);
  await using t = await startTestEngine(narrow(true), { on: database, offline: [model] });
  const session = "parts";
  const memory = async () => (await t.engine.debug(session)).memory;

  for (const nth of [1, 2, 3]) await t.say(`${nth} ${LONG}`, { session });
  await expect.poll(async () => (await memory()).summaryText).toBe("Summary 2.");

  expect(folds[1]).toContain("Summary 1.");
  expect((await memory()).rawHistory.length).toBe(2);
});

test("without summaries a history that is too long for its model is cut to what fits", async () => {
  await using t = await startTestEngine(narrow(false), {
    on: database,
    offline: [narrowModel(Infinity, [])],
  });
  const session = "cut";

  for (const nth of [1, 2, 3, 4]) await t.say(`${nth} ${LONG}`, { session });

  const length = async () => (await t.engine.debug(session)).memory.rawHistory.length;
  await expect.poll(length).toBeLessThan(8);
});
