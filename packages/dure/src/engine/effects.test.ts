import { expect, test } from "vitest";
import { z } from "zod";
import { Inbox } from "../escalations/inbox.ts";
import type { OfflineReply } from "../models/offline.ts";
import { ScriptedModel } from "../testing/scripted-model.ts";
import { chatAgent } from "./agent.ts";
import { fateOf } from "./effects.ts";
import { defineService, flow, type Service } from "./service.ts";
import { startTestEngine, type TestEngine } from "./test-engine.ts";
import { defineState } from "./state.ts";
import { NotSentError, tool, type AnyTool, type ToolOptions } from "./tool.ts";

/** An outside that books under keys, and can lose its answers. */
class Desk {
  readonly booked: { key: string; subject: string }[] = [];
  /** What happens on the next calls, in order; then they succeed. */
  readonly plan: ("ok" | "cut-before" | "cut-after" | "refused" | "not-sent")[] = [];
  probes = 0;

  readonly open = async ({ subject }: { subject: string }, { key }: { key: string }): Promise<{ ticket: number }> => {
    const fault = this.plan.shift() ?? "ok";
    if (fault === "not-sent") throw new NotSentError("DESK_DOWN", "the desk is closed");
    if (fault === "refused") throw new NotSentError("DESK_REFUSED", "the desk said no");
    if (fault === "cut-before") throw new Error("socket hang up");
    this.booked.push({ key, subject });
    if (fault === "cut-after") throw new Error("socket hang up");
    return { ticket: this.booked.length };
  };

  readonly find = async ({ key }: { key: string }): Promise<"happened" | "not_happened"> => {
    this.probes += 1;
    return this.booked.some((entry) => entry.key === key) ? "happened" : "not_happened";
  };
}

function ticketTool(desk: Desk, options: Partial<ToolOptions<{ subject: string }, unknown>> = {}): AnyTool {
  return tool({
    description: "Opens a ticket.",
    inputSchema: z.object({ subject: z.string().min(3) }),
    effect: "once",
    execute: desk.open,
    probe: desk.find,
    timeout: 200,
    settle: 100,
    ...options,
  });
}

function helperService(tools: Record<string, AnyTool>): Service {
  return defineService({
    name: "desk",
    agents: { helper: chatAgent({ name: "helper", prompt: "Help.", tools, card: { policy: { backoffSec: 0 } } }) },
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })) },
  });
}

const callsTool = (args: object): OfflineReply => ({ toolCalls: [{ id: "c1", name: "openTicket", args: args as never }] });

test("a model calls a tool, reads its result and answers", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([callsTool({ subject: "printer" }), { expect: /ticket/, reply: "Ticket 1 is open." }]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk) }), { offline: [model], model: "offline:scripted" });

  const { done } = await t.say("my printer burns");

  model.assertComplete();
  expect(done.message).toBe("Ticket 1 is open.");
  expect(desk.booked).toHaveLength(1);
});

test("an unknown tool, wrong arguments and a tool's refusal are told to the model, which goes on", async () => {
  const desk = new Desk();
  desk.plan.push("refused");
  const model = new ScriptedModel([
    { toolCalls: [{ name: "closeTicket", args: {} }, { name: "openTicket", args: { subject: "x" } }] },
    { expect: (request) => expect(request.messages.slice(-2).map((message) => (message.role === "tool" ? message.isError : "?"))).toEqual([true, true]), reply: callsTool({ subject: "printer" }) },
    { expect: /DESK_REFUSED/, reply: "The desk said no." },
  ]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk) }), { offline: [model], model: "offline:scripted" });

  const { done } = await t.say("hello");

  model.assertComplete();
  expect(done.message).toBe("The desk said no.");
});

test("a model that never stops calling tools is asked for words after 8 rounds", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([...Array.from({ length: 8 }, () => callsTool({ subject: "again" })), { expect: (request) => expect(request.toolChoice).toBe("none"), reply: "enough" }]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk) }), { offline: [model], model: "offline:scripted" });

  expect((await t.say("loop")).done.message).toBe("enough");
  expect(desk.booked).toHaveLength(8);
});

/** A flow whose code does the effect, with its state. */
function codeService(desk: Desk, options: Partial<ToolOptions<{ subject: string }, unknown>> = {}): Service {
  const openTicket = ticketTool(desk, options);
  return defineService({
    name: "code",
    agents: {},
    state: defineState({ schema: z.object({ outcome: z.string() }), initial: () => ({ outcome: "none" }) }),
    flows: {
      DEFAULT: flow(async (turn) => {
        const outcome = await turn.call("openTicket", openTicket, { subject: "printer" }, {
          key: ["flow-1"],
          onSettled: ({ status }) => turn.state.update({ outcome: status }),
        });
        return turn.done({ message: outcome.status });
      }),
    },
  });
}

test.for([
  ["that is cut after it happened is found by the probe", ["cut-after"], 1, "done"],
  ["that is cut before it happened is made again after it can no longer be travelling", ["cut-before"], 1, "done"],
  ["that is cut twice is made until it is certain", ["cut-before", "cut-before"], 1, "done"],
  ["that is refused has failed and is not made again", ["refused"], 0, "failed"],
  ["that was never sent has failed and is not made again", ["not-sent"], 0, "failed"],
] as const)("a once call %s", async ([, plan, booked, status]) => {
  const desk = new Desk();
  desk.plan.push(...plan);
  await using t = await startTestEngine(codeService(desk));

  const { done } = await t.say("go");

  expect(done).toMatchObject({ message: status, stateSnapshot: { outcome: status } });
  expect(desk.booked).toHaveLength(booked);
});

test("the same decision in another turn is the same effect: it is not made again", async () => {
  const desk = new Desk();
  await using t = await startTestEngine(codeService(desk));

  await t.say("go");
  const again = await t.say("go");

  expect(again.done.message).toBe("done");
  expect(desk.booked).toHaveLength(1);
});

test("an outside that keeps keys is asked again with the same key", async () => {
  const desk = new Desk();
  desk.plan.push("cut-before");
  await using t = await startTestEngine(codeService(desk, { recover: "replay" }));

  expect((await t.say("go")).done.message).toBe("done");
  expect(desk.probes).toBe(0);
});

test("what only a person can know ends the turn with EFFECT_UNKNOWN; the answer settles it and starts a turn that goes on", async () => {
  const desk = new Desk();
  desk.plan.push("cut-after");
  await using t = await startTestEngine(codeService(desk, { recover: "ask" }));
  const inbox = inboxOf(t);

  const { done } = await t.say("go");
  expect(done).toMatchObject({ nextAction: "ASK", error: { code: "EFFECT_UNKNOWN" } });
  const { items: [escalation] } = await inbox.list({ tenant: "", status: "open" });
  const { turn } = await inbox.answer(escalation!.id, { value: "happened" }, { tenant: "", name: "operator" });
  const last = await lastEvent(t, turn!);

  expect(last).toMatchObject({ type: "DONE", data: { message: "done", stateSnapshot: { outcome: "done" } } });
  expect(desk.booked).toHaveLength(1);
  await expect(inbox.answer(escalation!.id, { value: "not_happened" }, { tenant: "", name: "operator" })).rejects.toMatchObject({ code: "ESCALATION_CLOSED" });
});

test("a stop while an effect is being settled waits for it, and keeps what it wrote into the state", async () => {
  const desk = new Desk();
  const started = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const service = codeService(desk, {
    timeout: 10_000,
    execute: async (input, context) => {
      started.resolve();
      await letGo.promise;
      return desk.open(input, context);
    },
  });
  await using t = await startTestEngine(service);
  const turn = t.engine.turn({ session: "s1", message: "go" });
  await started.promise;

  await t.engine.stopTurn(await turn.turnId);
  letGo.resolve();

  expect(await turn.done).toMatchObject({ error: { code: "TURN_STOPPED" }, stateSnapshot: { outcome: "done" } });
  expect(desk.booked).toHaveLength(1);
});

test("a killed call is settled by the next life: booked once, with the same key", async () => {
  const desk = new Desk();
  const booked = Promise.withResolvers<void>();
  const service = (hang: boolean): Service =>
    codeService(desk, {
      execute: async (input, context) => {
        const result = await desk.open(input, context);
        booked.resolve();
        return hang ? await new Promise<never>(() => {}) : result;
      },
      timeout: 300,
    });
  await using t = await startTestEngine(service(true));
  const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
  await booked.promise;
  t.fence();
  await using other = await startTestEngine(service(false), { on: { url: t.url } });
  await other.engine.store.release(await holderOf(other, turnId));

  expect(await lastEvent(other, turnId)).toMatchObject({ type: "DONE", data: { message: "done" } });
  expect(desk.booked).toHaveLength(1);
});

test("a tool that needs a yes ends the turn; the yes makes exactly that call once and the model tells of it", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([callsTool({ subject: "expensive" }), { expect: /ticket/, reply: "It is open now." }]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk, { approval: true }) }), { offline: [model], model: "offline:scripted" });
  const inbox = inboxOf(t);

  const { done } = await t.say("buy it");
  expect(done.error?.code).toBe("APPROVAL_PENDING");
  expect(desk.booked).toHaveLength(0);
  const { items: [escalation] } = await inbox.list({ tenant: "", status: "open", session: "s1" });
  expect(escalation).toMatchObject({ type: "decision", context: { tool: "openTicket", input: { subject: "expensive" } } });
  const { turn } = await inbox.answer(escalation!.id, { value: "approve" }, { tenant: "", name: "boss" });

  expect(await lastEvent(t, turn!)).toMatchObject({ data: { message: "It is open now." } });
  expect(desk.booked).toHaveLength(1);
  model.assertComplete();
});

test("a no is told to the model, and the call is not made", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([callsTool({ subject: "expensive" }), { expect: /refused/, reply: "They said no." }]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk, { approval: true }) }), { offline: [model], model: "offline:scripted" });
  const inbox = inboxOf(t);
  await t.say("buy it");
  const { items: [escalation] } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(escalation!.id, { value: "reject" }, { tenant: "", name: "boss" });

  expect(await lastEvent(t, turn!)).toMatchObject({ data: { message: "They said no." } });
  expect(desk.booked).toHaveLength(0);
});

test("a question whose time has passed is asked anew; the old one can no longer be answered", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([callsTool({ subject: "expensive" }), callsTool({ subject: "expensive" })]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk, { approval: { expires: 1 } }) }), { offline: [model], model: "offline:scripted" });
  const inbox = inboxOf(t);

  await t.say("buy it");
  await expect.poll(async () => (await inbox.list({ tenant: "", status: "dismissed" })).items.length).toBe(1);
  const { items: [old] } = await inbox.list({ tenant: "" });
  await t.say("buy it now");

  expect((await inbox.list({ tenant: "" })).items).toHaveLength(2);
  await expect(inbox.answer(old!.id, { value: "approve" }, { tenant: "", name: "boss" })).rejects.toMatchObject({ code: "ESCALATION_CLOSED" });
});

test("a tool that needs a yes must be a once effect", () => {
  expect(() => ticketTool(new Desk(), { approval: true, effect: "none" })).toThrow(expect.objectContaining({ code: "TOOL_APPROVAL_WITHOUT_LEDGER" }));
});

test.for([
  [new NotSentError("X", "refused"), "failed"],
  [Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), "failed"],
  [Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }), "failed"],
  [Object.assign(new Error("reset"), { code: "ECONNRESET" }), "unknown"],
  [new Error("500"), "unknown"],
  ["a string", "unknown"],
] as const)("the fate of a call that threw %s is %s", ([error, fate]) => {
  expect(fateOf(error)).toBe(fate);
});

function inboxOf(t: TestEngine): Inbox {
  return new Inbox({ database: t.database, notifications: t.notifications });
}

async function lastEvent(t: TestEngine, turnId: string): Promise<unknown> {
  let last: unknown;
  for await (const { event } of t.engine.read(turnId)) last = event;
  return last;
}

async function holderOf(t: TestEngine, turnId: string): Promise<string> {
  const [row] = await t.database.query<{ holder: string }>({ text: "select holder from dure.turns where id = $1" }, [turnId]);
  return row!.holder;
}
