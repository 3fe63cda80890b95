import { expect, test } from "vitest";
import { DureError } from "../../kernel/errors.ts";
import type { Assignment, Worker, WorkerEvent, WorkerResult } from "../workers/worker.ts";
import { beginCosts, takeCost } from "./agent-costs.ts";
import { paidAgent, type AgentPay, type AgentSpent } from "./paid-agent.ts";

const usd = (amount: number): WorkerEvent => ({
  type: "cost",
  cost: { amount, currency: "USD" },
  tokens: { input: Math.round(amount * 100), output: 0 },
});
const END: WorkerEvent = {
  type: "result",
  result: {
    status: "ready",
    summary: "Done.",
    claimedFiles: [],
    tokens: { input: 500, output: 10 },
  },
};
const TALK: WorkerEvent = { type: "session", id: "talk", isResumed: true };

/** Says these things, as far as it is let. */
function agent(events: readonly WorkerEvent[], told: WorkerEvent[] = []): Worker {
  return {
    kind: "acp",
    async *run(_assignment, { signal }): AsyncGenerator<WorkerEvent> {
      for (const event of events) {
        signal.throwIfAborted();
        told.push(event);
        yield event;
      }
    },
  };
}

/** A purse in millionths of a US dollar. */
function purse(most = Infinity) {
  const spent: AgentSpent[] = [];
  const sum = (): number => spent.reduce((all, { microUsd = 0 }) => all + microUsd, 0);
  const pay: AgentPay = {
    require: async () => {
      if (sum() >= most) throw new DureError("BUDGET_EXCEEDED", "Nothing is left.");
      return { settle: async (one) => void spent.push(one) };
    },
    recorded: async () => sum(),
    priceOf: () => undefined,
  };

  return { pay, spent, sum };
}

async function all(worker: Worker): Promise<readonly WorkerEvent[]> {
  const assignment = { id: "run_1/a/1/implement", run: "run_1", port: "a" } as Assignment;
  const { signal } = new AbortController();
  const events: WorkerEvent[] = [];
  for await (const event of worker.run(assignment, { signal })) events.push(event);

  return events;
}

test("sums that an agent tells again and again are counted once, with the tokens of its end", async () => {
  const { pay, spent, sum } = purse();
  const worker = agent([TALK, usd(0.2), usd(0.2), usd(0.5), END]);

  await all(paidAgent(worker, { pay, scope: "process" }));

  expect(sum()).toBe(500_000);
  expect(spent.map(({ microUsd, tokens }) => [microUsd, tokens.input, tokens.output])).toEqual([
    [200_000, 20, 0],
    [300_000, 30, 0],
    [0, 450, 10],
  ]);
});

test.each([
  { scope: "session", told: 0.7, why: "goes on with the sum of its conversation" },
  { scope: "session", told: 0.2, why: "began a new count" },
  { scope: "process", told: 0.2, why: "counts each process" },
] as const)("a conversation that is taken up is paid once by an agent that $why", async (row) => {
  const { pay, sum } = purse();
  const { scope, told } = row;
  await all(paidAgent(agent([TALK, usd(0.5)]), { pay, scope }));

  await all(paidAgent(agent([TALK, usd(told), END]), { pay, scope }));

  expect(sum()).toBe(700_000);
});

test("an agent whose budget is used up is ended after the call that did it, and begins none", async () => {
  const { pay, sum } = purse(300_000);
  const told: WorkerEvent[] = [];
  const worker = (): Worker => agent([TALK, usd(0.2), usd(0.4), usd(0.9), END], told);

  const first = await all(paidAgent(worker(), { pay, scope: "process" }));
  const second = await all(paidAgent(worker(), { pay, scope: "process" }));

  expect(sum()).toBe(400_000);
  expect(told).toHaveLength(3);
  for (const events of [first, second]) {
    expect(events.at(-1)).toMatchObject({
      type: "result",
      result: { status: "failed", error: { code: "WORKER_BUDGET" } },
    });
  }
});

test("tokens without money are written once as calls without a price", async () => {
  const { pay, spent } = purse();

  await all(paidAgent(agent([TALK, END]), { pay, scope: "session" }));

  expect(spent).toMatchObject([
    { conversation: "talk", tokens: { input: 500, output: 10 }, microUsd: undefined },
  ]);
});

/** Makes calls that pass dure's door, then says what they cost. */
function doorAgent(calls: number, made: string[]): Worker {
  return {
    kind: "acp",
    async *run(assignment, { signal }): AsyncGenerator<WorkerEvent> {
      yield TALK;
      for (let call = 0; call < calls; call += 1) {
        await assignment.pay!.before().catch(() => {});
        signal.throwIfAborted();
        made.push("call");
        const tokens = { input: 1_000, cached: 900, cacheWrites: 0, output: 50 };
        const seen = { provider: "openai", model: "gpt-5", tokens, isEstimate: false };
        await assignment.pay!.after(seen);
        yield usd(0.3 * (call + 1));
      }
      const tokens = { input: calls * 1_000, output: calls * 50 };
      yield {
        ...END,
        result: { ...(END as { result: WorkerResult }).result, tokens },
      } as WorkerEvent;
    },
  };
}

test("calls that pass the door are paid by the price list, once, and none beyond the budget", async () => {
  const { pay, spent, sum } = purse(250_000);
  const made: string[] = [];

  const events = await all(
    paidAgent(doorAgent(9, made), { pay: { ...pay, priceOf: () => 100_000 }, scope: "session" }),
  );

  expect(made).toHaveLength(3);
  expect(sum()).toBe(300_000);
  expect(spent.map(({ tokens }) => [tokens.input, tokens.output])).toEqual(
    Array.from({ length: 3 }, () => [1_000, 50]),
  );
  expect(events.at(-1)).toMatchObject({ result: { error: { code: "WORKER_BUDGET" } } });
});

test("calls that pass the door and have no price are paid by what their agent says", async () => {
  const { pay, spent, sum } = purse();

  await all(paidAgent(doorAgent(2, []), { pay, scope: "session" }));

  expect(sum()).toBe(600_000);
  expect(spent.map(({ microUsd, tokens }) => [microUsd, tokens.input])).toEqual([
    [undefined, 1_000],
    [300_000, 0],
    [undefined, 1_000],
    [300_000, 0],
  ]);
});

test("a sum below the last one is of a new count", () => {
  expect(takeCost(beginCosts("session", 500), 700).more).toBe(200);
  expect(takeCost(beginCosts("session", 500), 300).more).toBe(300);
  expect(takeCost(beginCosts("process", 500), 300).more).toBe(300);
});
