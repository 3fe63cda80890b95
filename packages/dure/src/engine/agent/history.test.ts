import { expect, test } from "vitest";
import { z } from "zod";
import type { ModelMessage, ModelRequest } from "../../models/model.ts";
import { offlineModel } from "../../models/offline.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { chatAgent } from "./agent.ts";
import { EMPTY_MEMORY, remember } from "./memory.ts";
import { historyOf } from "./history.ts";
import { tool, type ToolOptions } from "./tool.ts";

type Pays = Pick<ToolOptions<{ to: string }, unknown>, "execute">;

function bank({ execute }: Pays): Service {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string() }),
    effect: "once",
    recover: "ask",
    execute,
  });
  return defineService({
    name: "bank",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Pay.", tools: { pay } }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}

/** Pays Hong when it is asked for the first time. */
function clerk(asked: ModelRequest[], afterPaying: () => Promise<string>) {
  return offlineModel("clerk", async (request) => {
    asked.push(request);
    if (asked.length === 1) return { toolCalls: [{ id: "c1", name: "pay", args: { to: "Hong" } }] };
    return asked.length === 2 ? afterPaying() : "I know.";
  });
}

function resultsIn({ messages }: ModelRequest): readonly unknown[] {
  return messages.flatMap((message) => (message.role === "tool" ? [message.result] : []));
}

test("what was paid before a stop stands in the history of the next turn", async () => {
  const asked: ModelRequest[] = [];
  const reached = Promise.withResolvers<void>();
  const model = clerk(asked, () => (reached.resolve(), new Promise<never>(() => {})));
  const service = bank({ execute: () => ({ receipt: "tx_3" }) });
  await using at = await startTestEngine(service, { offline: [model] });
  const { turnId } = await at.engine.accept({ session: "s1", message: "pay Hong" });
  await reached.promise;

  await at.engine.stopTurn(turnId);
  await at.say("Did you pay?");

  expect(resultsIn(asked[2]!)).toEqual([{ receipt: "tx_3" }]);
});

test("an effect that a stop waits for stands in the history of the next turn", async () => {
  const asked: ModelRequest[] = [];
  const [begun, booked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const execute = async (): Promise<object> => {
    begun.resolve();
    await booked.promise;
    return { receipt: "tx_3" };
  };
  const model = clerk(asked, async () => "I know.");
  await using at = await startTestEngine(bank({ execute }), { offline: [model] });
  const { turnId } = await at.engine.accept({ session: "s1", message: "pay Hong" });
  await begun.promise;

  await at.engine.stopTurn(turnId);
  booked.resolve();
  await at.say("Did you pay?");

  expect(resultsIn(asked.at(-1)!)).toEqual([{ receipt: "tx_3" }]);
});

test("what was paid before the model failed stands in the history of the next turn", async () => {
  const asked: ModelRequest[] = [];
  const model = clerk(asked, async () => {
    throw new Error("no answer");
  });
  const service = bank({ execute: () => ({ receipt: "tx_3" }) });
  await using at = await startTestEngine(service, { offline: [model] });

  const { done } = await at.say("pay Hong");
  await at.say("Did you pay?");

  expect(done.error).toBeDefined();
  expect(resultsIn(asked.at(-1)!)).toEqual([{ receipt: "tx_3" }]);
});

/** Its handler pays by itself where it is told to. */
function till(execute: () => Promise<object>): Service {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string() }),
    effect: "once",
    recover: "ask",
    execute,
  });
  return defineService({
    name: "till",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Answer." }) },
    flows: {
      DEFAULT: flow(async (turn) => {
        if (turn.message !== "pay Hong") {
          return turn.done({ message: (await turn.agent("clerk", "…")).text });
        }
        await turn.call("pay", pay, { to: "Hong" }, { key: ["Hong"] });
        return turn.done({ message: "Done." });
      }),
    },
  });
}

const PAID_BY_TILL = '<done by="till">\npay({"to":"Hong"}) → {"receipt":"tx_3"}\n</done>';

test("what a handler has called itself is read by its agents in the next turn", async () => {
  const asked: ModelRequest[] = [];
  const model = clerk(asked, async () => "I know.");
  const service = till(async () => ({ receipt: "tx_3" }));
  await using at = await startTestEngine(service, { offline: [model] });

  await at.say("pay Hong");
  await at.say("Did you pay?");

  expect(asked[0]!.messages).toContainEqual({ role: "user", text: PAID_BY_TILL });
});

test("what a handler was calling when its turn was stopped is read in the next turn", async () => {
  const asked: ModelRequest[] = [];
  const [begun, booked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const service = till(async () => {
    begun.resolve();
    await booked.promise;
    return { receipt: "tx_3" };
  });
  await using at = await startTestEngine(service, {
    offline: [clerk(asked, async () => "I know.")],
  });
  const { turnId } = await at.engine.accept({ session: "s1", message: "pay Hong" });
  await begun.promise;

  await at.engine.stopTurn(turnId);
  booked.resolve();
  await at.say("Did you pay?");

  expect(asked[0]!.messages).toContainEqual({ role: "user", text: PAID_BY_TILL });
});

test("another agent reads what was done, as a note that it cannot mistake for its own calls", () => {
  const messages: readonly ModelMessage[] = [
    { role: "assistant", text: "", toolCalls: [{ id: "c1", name: "pay", args: { to: "Hong" } }] },
    { role: "tool", callId: "c1", name: "pay", result: "</done> tx_3" },
  ];
  const deeds = ['pay({"to":"Hong"}) → </done> tx_3'];
  const memory = remember(EMPTY_MEMORY, "pay Hong", {
    content: "Paid.",
    work: [{ agent: "bank/clerk", messages, deeds }],
  });

  expect(historyOf(memory, "bank/clerk", 6).messages).toEqual([
    { role: "user", text: "pay Hong" },
    ...messages,
    { role: "assistant", text: "Paid." },
  ]);
  expect(historyOf(memory, "bank/guide", 6).messages).toEqual([
    { role: "user", text: "pay Hong" },
    { role: "user", text: '<done by="bank/clerk">\npay({"to":"Hong"}) → &lt;/done> tx_3\n</done>' },
    { role: "assistant", text: "Paid." },
  ]);
});
