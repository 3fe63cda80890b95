// @module-tag slow
import { expect, test } from "vitest";
import { z } from "zod";
import { codeOf } from "../../kernel/errors.ts";
import type { Done, TurnEvent } from "../../kernel/turn-events.ts";
import { offlineModel, type OfflineModel } from "../../models/offline.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool } from "../agent/tool.ts";
import type { Engine } from "../engine.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

/** Patience in these tests is a tenth of a second. */
const ENGINE = { patienceMs: () => 150, outageRetry: { firstMs: 10, maxMs: 20 } };

interface Bank {
  readonly service: Service;
  readonly model: OfflineModel;
  readonly paid: string[];
  readonly seen: { calls: number; histories: number[] };
  isAway: boolean;
}

/** An agent pays once, and its model is away when it is to say so. */
function aBank(): Bank {
  const paid: string[] = [];
  const seen = { calls: 0, histories: [] as number[] };
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({}),
    effect: "once",
    execute: (_args, { key }) => `receipt ${paid.push(key)}`,
  });
  const model = offlineModel("bank", (request) => {
    seen.calls += 1;
    const last = request.messages.at(-1);
    if (last?.role !== "tool") {
      seen.histories.push(request.messages.length);
      return last?.role === "user" && last.text.startsWith("hello")
        ? "hi"
        : { toolCalls: [{ name: "pay", args: {} }] };
    }
    return bank.isAway ? { text: "", error: { status: 503 } } : "paid";
  });
  const teller = chatAgent({
    name: "teller",
    prompt: "Pay.",
    tools: { pay },
    card: { policy: { maxAttempts: 1, backoffSec: 0 } },
  });
  const service = defineService({
    name: "bank",
    agents: { teller },
    flows: {
      DEFAULT: flow(async (turn) => {
        const { text } = await turn.agent("teller", "…");
        turn.hook("answered", { text });
        return turn.done({ message: text });
      }),
    },
    hooks: { answered: async () => {} },
  });
  const bank: Bank = { service, model, paid, seen, isAway: true };
  return bank;
}

function startBank(bank: Bank, on?: { url: string }): Promise<TestEngine> {
  return startTestEngine(bank.service, { offline: [bank.model], engine: ENGINE, on });
}

test("a retry goes on from the journal: a once effect before the outage happens once", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  const { turnId, done } = await t.say("pay");
  expect(done.error).toMatchObject({ code: "MODEL_SERVER_ERROR", retry: true });

  bank.isAway = false;
  await t.engine.retryTurn(turnId);

  const events = await eventsOf(t.engine, turnId);
  expect(doneOf(events)).toMatchObject({ message: "paid" });
  expect(doneOf(events)?.error).toBeUndefined();
  expect(bank.paid).toHaveLength(1);
  expect(bank.seen.histories).toHaveLength(1);
});

test("a retry is told behind the end that readers have seen", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  const { turnId } = await t.say("pay");
  const { lastSeq } = await t.engine.find(turnId);

  bank.isAway = false;
  await t.engine.retryTurn(turnId);

  const after = await eventsOf(t.engine, turnId, lastSeq);
  expect(after.map(({ type }) => type)).toContain("AGENT_START");
  expect(doneOf(after)).toMatchObject({ message: "paid" });
});

test("two persons who press at once, and one who presses twice, make one retry", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  await using other = await startBank(bank, { url: t.url });
  const { turnId } = await t.say("pay");

  bank.isAway = false;
  const before = bank.seen.calls;
  const presses = [t, other, t].map(({ engine }) => engine.retryTurn(turnId));
  const results = await Promise.allSettled(presses);

  expect(doneOf(await eventsOf(t.engine, turnId))).toMatchObject({ message: "paid" });
  expect(results.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
  expect(bank.seen.calls).toBe(before + 1);
  expect(await retriesOf(t, turnId)).toBe(1);
  expect(bank.paid).toHaveLength(1);
});

test("a press while a retry waits for the model is no refusal", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  const { turnId } = await t.say("pay");

  await t.engine.retryTurn(turnId);
  await t.engine.retryTurn(turnId);
  bank.isAway = false;
  await eventsOf(t.engine, turnId);

  expect(bank.paid).toHaveLength(1);
});

test("a retry whose process is fenced goes on in another one, with one effect", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  const { turnId } = await t.say("pay");
  await t.engine.retryTurn(turnId);
  t.fence();

  bank.isAway = false;
  await using other = await startBank(bank, { url: t.url });
  await other.database.query({ text: "select dure.release_turns($1)" }, [t.processId]);
  const done = doneOf(await eventsOf(other.engine, turnId));

  expect(done?.error?.code ?? done?.message).toBeOneOf(["paid", "MODEL_SERVER_ERROR"]);
  expect(bank.paid).toHaveLength(1);
});

test("a retry is refused once the session has gone on", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  const { turnId } = await t.say("pay");
  await t.say("hello");

  const refusal = await t.engine.retryTurn(turnId).catch(codeOf);

  expect(refusal).toBe("TURN_PASSED");
});

test("a turn that ended otherwise is not opened again", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  const { turnId } = await t.say("hello");

  expect(await t.engine.retryTurn(turnId).catch(codeOf)).toBe("TURN_NOT_RETRYABLE");
  const caller = { tenant: "acme", name: "mina" };
  expect(await t.engine.retryTurn(turnId, { caller }).catch(codeOf)).toBe("TURN_UNKNOWN");
});

test("a retry leaves one exchange in the memory and delivers the hooks of its answer", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  const { turnId } = await t.say("pay");

  bank.isAway = false;
  await t.engine.retryTurn(turnId);
  await eventsOf(t.engine, turnId);

  const [session] = await t.database.query<{ memory: { rawHistory: { content: string }[] } }>({
    text: "select memory from dure.sessions",
  });
  expect(session?.memory.rawHistory.map(({ content }) => content)).toEqual(["pay", "paid"]);
  const hooks = await t.database.query({
    text: "select key from dure.outbox where topic = 'hook'",
  });
  expect(hooks).toEqual([{ key: `${turnId}.r1.0` }]);
});

test("a retry while the model is still away has new patience and can be retried again", async () => {
  const bank = aBank();
  await using t = await startBank(bank);
  const { turnId } = await t.say("pay");
  const before = bank.seen.calls;

  await t.engine.retryTurn(turnId);
  const again = doneOf(await eventsOf(t.engine, turnId));
  const calls = bank.seen.calls;
  bank.isAway = false;
  await t.engine.retryTurn(turnId);

  expect(again?.error).toMatchObject({ retry: true });
  expect(calls).toBeGreaterThan(before);
  expect(doneOf(await eventsOf(t.engine, turnId))).toMatchObject({ message: "paid" });
  expect(bank.paid).toHaveLength(1);
});

async function eventsOf(engine: Engine, turn: string, after = 0): Promise<readonly TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const { event } of engine.read(turn, { after })) events.push(event);
  return events;
}

function doneOf(events: readonly TurnEvent[]): Done | undefined {
  const last = events.at(-1);
  return last?.type === "DONE" ? last.data : undefined;
}

async function retriesOf({ database }: TestEngine, turn: string): Promise<number> {
  const text = "select seq from dure.turn_events where turn_id = $1 and place like '% retry'";
  return (await database.query({ text }, [turn])).length;
}
