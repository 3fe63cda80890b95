import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { ScriptedModel, type ScriptStep } from "@dure/testing";
import { testDatabase, type TestDatabase } from "../../durable/test-database.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import { offlineModel, type OfflineModel, type OfflineReply } from "../../models/offline.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { AgentResult, conversationalAgent, customAgent, type Agent } from "./agent.ts";
import { SentenceGate } from "./agent-words.ts";

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database[Symbol.asyncDispose]());

let sessions = 0;

/** Talks, and may not say that something was sent. */
function deskOf(agent: Agent): Service {
  return defineService({
    name: "desk",
    agents: { clerk: agent },
    flows: {
      DEFAULT: flow(async (turn) => {
        const { text } = await turn.agent("clerk", "", { show: (said) => !said.includes("sent") });
        return turn.done({ message: text.includes("sent") ? "Nothing was done." : text });
      }),
    },
  });
}

const clerk = conversationalAgent({
  name: "clerk",
  prompt: "Answer.",
  schema: z.object({ message: z.string() }),
  card: { policy: { maxAttempts: 2, backoffSec: 0 } },
});

async function hear(agent: Agent, steps: readonly (OfflineReply | ScriptStep)[]) {
  const model = new ScriptedModel(steps);
  await using t = await startTestEngine(deskOf(agent), { on: database, offline: [model] });
  return await t.say("hello", { session: `w${++sessions}` });
}

function json(...pieces: readonly string[]): OfflineReply {
  return { chunks: ['{"message":"', ...pieces, '"}'] };
}

/** Each event in a word; of a text, the text. The frame that closes a chunk may be empty. */
function told(events: readonly TurnEvent[]): readonly string[] {
  const words = events.map((event) => {
    if (event.type === "LLM_TOKEN") return event.data;
    if (event.type === "AGENT_START" && event.data.restart) return "taken back";
    return event.type;
  });
  return words.filter((word) => word !== "");
}

function shownIn(events: readonly TurnEvent[]): string {
  return events.map((event) => (event.type === "LLM_TOKEN" ? event.data : "")).join("");
}

test("a text passes by whole sentences, and its rest at the end", () => {
  const gate = new SentenceGate(() => true);
  const pieces = ["It costs 3", ".5 won. And", " it is “quick.” O", "r so", "!\n그래", "요"];

  const passed = pieces.map((piece) => gate.push(piece));

  expect(passed).toEqual(["", "It costs 3.5 won.", " And it is “quick.”", "", " Or so!\n", ""]);
  expect(gate.end()).toBe("그래요");
});

test("a claim that lies across two sentences shuts the gate for good", () => {
  const gate = new SentenceGate((said) => !/all\. done/.test(said));

  expect(gate.push("That is all. ")).toBe("That is all.");
  expect(gate.push("done. And more. ")).toBe("");
  expect(gate.end()).toBe("");
  expect(gate.isShut).toBe(true);
});

test("sentences that may be shown are shown before the answer is whole", async () => {
  const { promise: wasSeen, resolve: seen } = Promise.withResolvers<void>();
  const model = offlineModel("slow", () =>
    (async function* () {
      yield '{"message":"One moment. I am ';
      await wasSeen; // the rest comes when the person has read the first sentence
      yield 'looking."}';
    })(),
  );
  await using t = await startTestEngine(deskOf(clerk), { on: database, offline: [model] });

  const turn = t.engine.turn({ session: `w${++sessions}`, message: "hello" });
  const texts: string[] = [];
  for await (const event of turn) {
    if (event.type !== "LLM_TOKEN") continue;
    texts.push(event.data);
    seen();
  }

  expect(texts).toEqual(["One moment.", " I am looking."]);
  expect((await turn.done).message).toBe("One moment. I am looking.");
});

test("after a sentence that may not be shown, what was shown is taken back and nothing told", async () => {
  const { done, events } = await hear(clerk, [
    json("Your money is on its way. ", "I sent it. ", "Goodbye. "),
  ]);

  expect(told(events)).toEqual([
    "AGENT_START",
    "Your money is on its way.",
    "taken back",
    "AGENT_DONE",
    "DONE",
  ]);
  expect(JSON.stringify(events)).not.toContain("I sent it");
  expect(done.message).toBe("Nothing was done.");
});

test("words that may not be shown at all are not taken back", async () => {
  const { events } = await hear(clerk, [json("I sent it.")]);

  expect(told(events)).toEqual(["AGENT_START", "AGENT_DONE", "DONE"]);
});

test("what a second member of the same name claims is not told, and the first is taken back", async () => {
  const { events } = await hear(clerk, [
    { text: '{"message":"A moment. Please.","message":"It was sent."}' },
  ]);

  expect(told(events)).toEqual([
    "AGENT_START",
    "A moment.",
    " Please.",
    "taken back",
    "AGENT_DONE",
    "DONE",
  ]);
});

test("an answer that is cut after a sentence is asked for again, and the sentence is void", async () => {
  const { done, events } = await hear(clerk, [
    { chunks: ['{"message":"Half of it. And '], error: { status: 503 } },
    json("All of it. Really."),
  ]);

  expect(told(events)).toEqual([
    "AGENT_START",
    "Half of it.",
    "taken back",
    "All of it.",
    " Really.",
    "LLM_DONE",
    "AGENT_DONE",
    "DONE",
  ]);
  expect(done.message).toBe("All of it. Really.");
});

test("what a custom agent yields is looked at too", async () => {
  const agent = customAgent({
    name: "clerk",
    async *stream() {
      yield "Wait. I ";
      yield "sent it. Good";
      yield "bye.";
      return AgentResult.success({});
    },
  });

  const { events } = await hear(agent, []);

  expect(told(events)).toEqual(["AGENT_START", "Wait.", "taken back", "AGENT_DONE", "DONE"]);
});

test("a turn that goes on after a crash shows the sentences once more, the first ones void", async () => {
  const { promise: fenced, resolve: fence } = Promise.withResolvers<void>();
  let calls = 0;
  const model: OfflineModel = offlineModel("dying", () => {
    calls += 1;
    if (calls > 1) return json("First. ", "Second.");
    return (async function* () {
      yield '{"message":"First. Sec';
      await fenced;
      yield 'ond."}';
    })();
  });
  const t = await startTestEngine(deskOf(clerk), { on: database, offline: [model] });
  const { turnId } = await t.engine.accept({ session: `w${++sessions}`, message: "hello" });
  for await (const { event, seq } of t.engine.read(turnId)) {
    if (event.type === "LLM_TOKEN" && seq !== undefined) break;
  }
  t.fence();
  fence();
  await t[Symbol.asyncDispose]();
  await using other = await startTestEngine(deskOf(clerk), { on: database, offline: [model] });
  await other.database.query(
    {
      text: "update dure.turns set holder = null, epoch = epoch + 1 where id = $1 and status = 'running'",
    },
    [turnId],
  );

  const events: TurnEvent[] = [];
  for await (const { event } of other.engine.read(turnId)) events.push(event);

  const again = events.findLastIndex(({ type }) => type === "AGENT_START");
  expect(told(events.slice(0, again + 1))).toEqual(["AGENT_START", "First.", "taken back"]);
  expect(shownIn(events.slice(again))).toBe("First. Second.");
  expect(events.at(-1)).toMatchObject({ type: "DONE", data: { message: "First. Second." } });
});
