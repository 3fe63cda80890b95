// @module-tag slow
import { expect, test } from "vitest";
import { z } from "zod";
import { Inbox } from "../../escalations/inbox.ts";
import type { OfflineReply } from "../../models/offline.ts";
import { ScriptedModel } from "@dure/testing";
import { silentLogger } from "../../kernel/logger.ts";
import { AgentResult, chatAgent, customAgent } from "../agent/agent.ts";
import { combineServices, keywordRouter } from "../service/combine.ts";
import { fateOf } from "./effects.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import { offlineModel } from "../../models/offline.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import { Leases } from "../../durable/leases.ts";
import { Retention } from "../../durable/retention.ts";
import { joinTeam } from "../../durable/test-members.ts";
import { defineState } from "../turn/state.ts";
import type { TurnContext } from "../turn/turn-context.ts";
import { NotSentError, tool, type AnyTool, type ToolOptions } from "../agent/tool.ts";

/** An outside that books under keys, and can lose its answers. */
class Desk {
  readonly booked: { key: string; subject: string }[] = [];
  /** What happens on the next calls, in order; then they succeed. */
  readonly plan: ("ok" | "cut-before" | "cut-after" | "refused" | "not-sent")[] = [];
  probes = 0;

  readonly open = async (
    { subject }: { subject: string },
    { key }: { key: string },
  ): Promise<{ ticket: number }> => {
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

function ticketTool(
  desk: Desk,
  options: Partial<ToolOptions<{ subject: string }, unknown>> = {},
): AnyTool {
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
    agents: {
      helper: chatAgent({
        name: "helper",
        prompt: "Help.",
        tools,
        card: { policy: { backoffSec: 0 } },
      }),
    },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
    },
  });
}

const callsTool = (args: object): OfflineReply => ({
  toolCalls: [{ id: "c1", name: "openTicket", args: args as never }],
});

test("a model calls a tool, reads its result and answers", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([
    callsTool({ subject: "printer" }),
    { expect: /ticket/, reply: "Ticket 1 is open." },
  ]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk) }), {
    offline: [model],
    model: "offline:scripted",
  });

  const { done } = await t.say("my printer burns");

  model.assertComplete();
  expect(done.message).toBe("Ticket 1 is open.");
  expect(desk.booked).toHaveLength(1);
});

test("an unknown tool, wrong arguments and a tool's refusal are told to the model, which goes on", async () => {
  const desk = new Desk();
  desk.plan.push("refused");
  const model = new ScriptedModel([
    {
      toolCalls: [
        { name: "closeTicket", args: {} },
        { name: "openTicket", args: { subject: "x" } },
      ],
    },
    {
      expect: (request) =>
        expect(
          request.messages
            .slice(-2)
            .map((message) => (message.role === "tool" ? message.isError : "?")),
        ).toEqual([true, true]),
      reply: callsTool({ subject: "printer" }),
    },
    { expect: /DESK_REFUSED/, reply: "The desk said no." },
  ]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk) }), {
    offline: [model],
    model: "offline:scripted",
  });

  const { done } = await t.say("hello");

  model.assertComplete();
  expect(done.message).toBe("The desk said no.");
});

test("a model that never stops calling tools is asked for words after 8 rounds", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([
    ...Array.from({ length: 8 }, () => callsTool({ subject: "again" })),
    { expect: (request) => expect(request.toolChoice).toBe("none"), reply: "enough" },
  ]);
  await using t = await startTestEngine(helperService({ openTicket: ticketTool(desk) }), {
    offline: [model],
    model: "offline:scripted",
  });

  expect((await t.say("loop")).done.message).toBe("enough");
  expect(desk.booked).toHaveLength(8);
});

/** A flow whose code does the effect, with its state. */
function codeService(
  desk: Desk,
  options: Partial<ToolOptions<{ subject: string }, unknown>> = {},
): Service {
  const openTicket = ticketTool(desk, options);
  return defineService({
    name: "code",
    agents: {},
    state: defineState({
      schema: z.object({ outcome: z.string() }),
      initial: () => ({ outcome: "none" }),
    }),
    flows: {
      DEFAULT: flow(async (turn) => {
        const outcome = await turn.call(
          "openTicket",
          openTicket,
          { subject: "printer" },
          {
            key: ["flow-1"],
            onSettled: ({ status }) => turn.state.update({ outcome: status }),
          },
        );
        return turn.done({ message: outcome.status });
      }),
    },
  });
}

test.for([
  ["that is cut after it happened is found by the probe", ["cut-after"], 1, "done"],
  [
    "that is cut before it happened is made again after it can no longer be travelling",
    ["cut-before"],
    1,
    "done",
  ],
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

test("what only a person can know ends the turn with EFFECT_UNKNOWN; the answer starts a turn that goes on", async () => {
  const desk = new Desk();
  desk.plan.push("cut-after");
  await using t = await startTestEngine(codeService(desk, { recover: "ask" }));
  const inbox = inboxOf(t);

  const { done } = await t.say("go");
  expect(done).toMatchObject({ nextAction: "ASK", error: { code: "EFFECT_UNKNOWN" } });
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });
  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "happened" },
    { tenant: "", name: "operator" },
  );
  const last = await lastEvent(t, turn!);

  expect(last).toMatchObject({
    type: "DONE",
    data: { message: "done", stateSnapshot: { outcome: "done" } },
  });
  expect(desk.booked).toHaveLength(1);
  await expect(
    inbox.answer(escalation!.id, { value: "not_happened" }, { tenant: "", name: "operator" }),
  ).rejects.toMatchObject({ code: "ESCALATION_CLOSED" });
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

  expect(await turn.done).toMatchObject({
    error: { code: "TURN_STOPPED" },
    stateSnapshot: { outcome: "done" },
  });
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

test.each([
  ["in the middle of its call", true, "done"],
  ["between its end and the end of the turn", false, "done"],
] as const)(
  "a stop that comes after a death %s settles the effect first, and keeps what it wrote into the state",
  async (_, hangs, outcome) => {
    const desk = new Desk();
    const reached = Promise.withResolvers<void>();
    const never = (): Promise<never> => (reached.resolve(), new Promise<never>(() => {}));
    const openTicket = ticketTool(desk, {
      timeout: 300,
      execute: async (input, context) => {
        const result = await desk.open(input, context);
        return hangs ? await never() : result;
      },
    });
    const made: string[] = [];
    const service = {
      ...codeService(desk),
      flows: {
        DEFAULT: flow(async (turn) => {
          turn.state.update({
            outcome: await turn.step("look", () => (made.push("look"), "looked")),
          });
          await turn.call(
            "openTicket",
            openTicket,
            { subject: "printer" },
            { key: ["flow-1"], onSettled: ({ status }) => turn.state.update({ outcome: status }) },
          );
          await turn.step("after", () => (made.push("after"), never()));
          return turn.done({ message: "never" });
        }),
      },
    };
    await using t = await startTestEngine(service);
    const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
    await reached.promise;
    t.fence();
    await t.database.query({
      text: `update dure.turns set holder = null, epoch = epoch + 1, stop = '{"by": "operator"}'`,
    });
    await using other = await startTestEngine(service, { on: { url: t.url } });

    expect(await lastEvent(other, turnId)).toMatchObject({
      data: { error: { code: "TURN_STOPPED" }, stateSnapshot: { outcome } },
    });
    expect(await other.database.query({ text: "select status from dure.effects" })).toEqual([
      { status: "done" },
    ]);
    expect(desk.booked).toHaveLength(1);
    expect(made).toEqual(hangs ? ["look"] : ["look", "after"]);
  },
);

test("a stop after a death begins nothing beside the effect that it settles, and what was shown stays", async () => {
  const desk = new Desk();
  const reached = Promise.withResolvers<void>();
  let calls = 0;
  const talks = offlineModel(
    "talks",
    () => (calls++, { chunks: ["하나 ", "둘"], chunkDelayMs: 60_000 }),
  );
  const openTicket = ticketTool(desk, {
    timeout: 300,
    execute: async (input, context) => {
      await desk.open(input, context);
      return (reached.resolve(), await new Promise<never>(() => {}));
    },
  });
  const service = {
    ...codeService(desk),
    agents: { helper: chatAgent({ name: "helper" }) },
    flows: {
      DEFAULT: flow(async (turn) => {
        const talk = turn.agent("helper", "…");
        const { status } = await turn.call(
          "openTicket",
          openTicket,
          { subject: "printer" },
          {
            key: ["flow-1"],
            onSettled: (outcome) => turn.state.update({ outcome: outcome.status }),
          },
        );
        return turn.done({ message: `${status} ${(await talk).text}` });
      }),
    },
  };
  await using t = await startTestEngine(service, { offline: [talks] });
  const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
  await reached.promise;
  await expect
    .poll(
      () => t.database.query({ text: "select from dure.turn_events where type = 'LLM_TOKEN'" }),
      { timeout: 20_000 },
    )
    .toHaveLength(1);
  t.fence();
  await t.database.query({
    text: `update dure.turns set holder = null, epoch = epoch + 1, stop = '{"by": "operator"}'`,
  });
  await using other = await startTestEngine(service, { on: { url: t.url }, offline: [talks] });

  const types: string[] = [];
  for await (const { event } of other.engine.read(turnId)) types.push(event.type);

  expect(types).toEqual(["AGENT_START", "TOOL_START", "LLM_TOKEN", "DONE"]);
  expect(await lastEvent(other, turnId)).toMatchObject({
    data: { error: { code: "TURN_STOPPED" }, stateSnapshot: { outcome: "done" } },
  });
  expect((await other.engine.debug("s1")).memory.rawHistory.at(-1)).toMatchObject({
    content: "하나 ",
  });
  expect([calls, desk.booked.length]).toEqual([1, 1]);
});

test("a stop after a death ends a turn whose handler goes another way as diverged, and names what was done", async () => {
  const desk = new Desk();
  const reached = Promise.withResolvers<void>();
  const openTicket = ticketTool(desk);
  const service = (first: string) => ({
    ...codeService(desk),
    flows: {
      DEFAULT: flow(async (turn) => {
        await turn.step(first, () => first);
        await turn.call("openTicket", openTicket, { subject: "printer" }, { key: ["flow-1"] });
        await turn.step("after", () => (reached.resolve(), new Promise<never>(() => {})));
        return turn.done({ message: "never" });
      }),
    },
  });
  await using t = await startTestEngine(service("look"));
  const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
  await reached.promise;
  t.fence();
  await t.database.query({
    text: `update dure.turns set holder = null, epoch = epoch + 1, stop = '{"by": "operator"}'`,
  });
  await using other = await startTestEngine(service("listen"), { on: { url: t.url } });

  expect(await lastEvent(other, turnId)).toMatchObject({
    data: { error: { code: "TURN_DIVERGED" } },
  });
  expect((await inboxOf(other).list({ tenant: "", status: "open" })).items).toMatchObject([
    { type: "turn_diverged", context: { effects: [{ tool: "openTicket", status: "done" }] } },
  ]);
});

test("of an effect that a stopped turn cannot come to any more after a death a person is asked", async () => {
  const desk = new Desk();
  const reached = Promise.withResolvers<void>();
  const service = codeService(desk, {
    execute: async () => (reached.resolve(), new Promise<never>(() => {})),
  });
  await using t = await startTestEngine(service);
  const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
  await reached.promise;
  t.fence();
  await t.database.query({
    text: `update dure.turns set holder = null, epoch = epoch + 1, stop = '{"by": "operator"}'`,
  });
  await using other = await startTestEngine(
    { ...service, name: "another" },
    { on: { url: t.url } },
  );

  expect(await lastEvent(other, turnId)).toMatchObject({
    data: { error: { code: "TURN_STOPPED" } },
  });
  expect((await inboxOf(other).list({ tenant: "", status: "open" })).items).toMatchObject([
    {
      type: "effect_unknown",
      severity: "critical",
      context: { tool: "openTicket", input: { subject: "printer" } },
    },
  ]);
});

test("a tool that needs a yes ends the turn; the yes makes exactly that call once, and the model tells it", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([
    callsTool({ subject: "expensive" }),
    { expect: /ticket/, reply: "It is open now." },
  ]);
  await using t = await startTestEngine(
    helperService({ openTicket: ticketTool(desk, { approval: true }) }),
    { offline: [model], model: "offline:scripted" },
  );
  const inbox = inboxOf(t);

  const { done } = await t.say("buy it");
  expect(done).toMatchObject({
    error: { code: "APPROVAL_PENDING" },
    trace: { agents: [{ agent: "helper", success: false, error: "APPROVAL_PENDING" }] },
  });
  expect(desk.booked).toHaveLength(0);
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open", session: "s1" });
  expect(escalation).toMatchObject({
    type: "decision",
    context: { tool: "openTicket", input: { subject: "expensive" } },
  });
  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );

  expect(await lastEvent(t, turn!)).toMatchObject({ data: { message: "It is open now." } });
  expect(desk.booked).toHaveLength(1);
  model.assertComplete();
});

test("a no is told to the model, and the call is not made", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([
    callsTool({ subject: "expensive" }),
    { expect: /refused/, reply: "They said no." },
  ]);
  await using t = await startTestEngine(
    helperService({ openTicket: ticketTool(desk, { approval: true }) }),
    { offline: [model], model: "offline:scripted" },
  );
  const inbox = inboxOf(t);
  await t.say("buy it");
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "reject" },
    { tenant: "", name: "boss" },
  );

  expect(await lastEvent(t, turn!)).toMatchObject({ data: { message: "They said no." } });
  expect(desk.booked).toHaveLength(0);
});

test("a question whose time has passed is asked anew; the old one can no longer be answered", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([
    callsTool({ subject: "expensive" }),
    callsTool({ subject: "expensive" }),
  ]);
  await using t = await startTestEngine(
    helperService({ openTicket: ticketTool(desk, { approval: { expires: 1 } }) }),
    { offline: [model], model: "offline:scripted" },
  );
  const inbox = inboxOf(t);

  await t.say("buy it");
  await expect
    .poll(async () => (await inbox.list({ tenant: "", status: "dismissed" })).items.length)
    .toBe(1);
  const {
    items: [old],
  } = await inbox.list({ tenant: "" });
  await t.say("buy it now");

  expect((await inbox.list({ tenant: "" })).items).toHaveLength(2);
  await expect(
    inbox.answer(old!.id, { value: "approve" }, { tenant: "", name: "boss" }),
  ).rejects.toMatchObject({ code: "ESCALATION_CLOSED" });
});

/** A flow, or an agent of it, that takes whatever ends its turn for a failure like others. */
function swallowing(by: "flow" | "agent", openTicket: AnyTool): Service {
  const clerk = customAgent({
    name: "clerk",
    tools: { openTicket },
    run: async (context) =>
      AgentResult.success({
        message: await context.tool("openTicket", { subject: "printer" }).then(
          () => "made",
          () => "all is well",
        ),
      }),
  });
  return defineService({
    name: "swallowing",
    agents: { clerk },
    flows: {
      DEFAULT: flow(async (turn) => {
        if (by === "agent") return turn.done({ message: (await turn.agent("clerk", "…")).text });
        return turn.done({
          message: await turn
            .call("openTicket", openTicket, { subject: "printer" }, { key: ["1"] })
            .then(
              () => "made",
              () => "all is well",
            ),
        });
      }),
    },
  });
}

test.each([
  [
    "flow",
    "an effect whose outcome is not known",
    { recover: "ask" },
    "EFFECT_UNKNOWN",
    "effect_unknown",
  ],
  [
    "agent",
    "an effect whose outcome is not known",
    { recover: "ask" },
    "EFFECT_UNKNOWN",
    "effect_unknown",
  ],
  ["flow", "a yes that is needed", { approval: true }, "APPROVAL_PENDING", "decision"],
  ["agent", "a yes that is needed", { approval: true }, "APPROVAL_PENDING", "decision"],
] as const)(
  "a %s that goes on after %s ends its turn by asking all the same",
  async (by, _, options, code, type) => {
    const desk = new Desk();
    desk.plan.push("cut-after");
    await using t = await startTestEngine(swallowing(by, ticketTool(desk, options)));

    expect((await t.say("go")).done).toMatchObject({ nextAction: "ASK", error: { code } });
    expect((await inboxOf(t).list({ tenant: "", status: "open" })).items).toMatchObject([{ type }]);
  },
);

test("a tool that needs a yes must be a once effect", () => {
  expect(() => ticketTool(new Desk(), { approval: true, effect: "none" })).toThrow(
    expect.objectContaining({ code: "TOOL_APPROVAL_WITHOUT_LEDGER" }),
  );
});

test("a question about an effect is settled by the turn that settles the effect", async () => {
  const desk = new Desk();
  desk.plan.push("cut-after");
  await using t = await startTestEngine(codeService(desk, { recover: "ask" }));
  await t.say("go");
  await using other = await startTestEngine(codeService(desk), { on: { url: t.url } });

  const { done } = await other.say("go");

  expect(done.message).toBe("done");
  expect((await inboxOf(t).list({ tenant: "" })).items).toMatchObject([
    {
      type: "effect_unknown",
      status: "resolved",
      resolution: { value: "happened" },
      resolvedBy: "system",
    },
  ]);
});

test("each call that throws is told to the log by its name, and the last one to the person", async () => {
  const told: Record<string, unknown>[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void told.push({ ...fields }) };
  const service = codeService(new Desk(), {
    recover: "replay",
    execute: () => {
      throw new TypeError("no bank for 010-1234-5678");
    },
  });
  await using t = await startTestEngine(service, { logger });

  expect((await t.say("go")).done.error).toMatchObject({ code: "EFFECT_UNKNOWN" });

  const calls = told.filter(({ tool, error }) => tool === "openTicket" && error === "TypeError");
  expect(calls).toHaveLength(5);
  expect(calls[0]).toMatchObject({ at: [expect.stringContaining("effects.test.ts"), ...ANY_TWO] });
  expect(JSON.stringify(told)).not.toContain("010-1234-5678");
  const [asked] = (await inboxOf(t).list({ tenant: "", status: "open" })).items;
  expect(asked?.context["failure"]).toEqual({
    code: "TOOL_FAILED",
    message: "no bank for 010-1234-5678",
  });
});

/** Two more lines of a stack. */
const ANY_TWO = [expect.any(String), expect.any(String)];

test("a handler that calls a once effect without a key is told what it has to say", async () => {
  const openTicket = ticketTool(new Desk());
  const service = defineService({
    name: "keyless",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        await turn.call("openTicket", openTicket, { subject: "printer" }, undefined as never);
        return turn.done({ message: "never" });
      }),
    },
  });
  await using t = await startTestEngine(service);

  const { done } = await t.say("go");

  expect(done.error).toMatchObject({ code: "EFFECT_KEY_MISSING" });
});

test("a stop ends an effect whose calls do not arrive: it has failed, and is not made again", async () => {
  const desk = new Desk();
  desk.plan.push(...Array.from({ length: 50 }, () => "cut-before" as const));
  const probed = Promise.withResolvers<void>();
  const service = codeService(desk, {
    settle: 500,
    probe: async (call) => (probed.resolve(), desk.find(call)),
  });
  await using t = await startTestEngine(service);
  const turn = t.engine.turn({ session: "s1", message: "go" });
  await probed.promise;

  await t.engine.stopTurn(await turn.turnId);

  expect(await turn.done).toMatchObject({
    error: { code: "TURN_STOPPED" },
    stateSnapshot: { outcome: "failed" },
  });
  expect(desk.plan).toHaveLength(49);
});

test("a tool with a key does one thing once in a session, whatever turn asks; what failed may be retried", async () => {
  const desk = new Desk();
  desk.plan.push("refused");
  const seen: unknown[] = [];
  const note = {
    expect: (request: { messages: readonly unknown[] }) =>
      void seen.push((request.messages.at(-1) as { result: unknown }).result),
    reply: "ok",
  };
  const model = new ScriptedModel([
    callsTool({ subject: "printer" }),
    note,
    callsTool({ subject: "printer" }),
    note,
    callsTool({ subject: "printer" }),
    note,
    callsTool({ subject: "scanner" }),
    note,
  ]);
  const openTicket = ticketTool(desk, { key: ({ subject }) => subject });
  await using t = await startTestEngine(helperService({ openTicket }), {
    offline: [model],
    model: "offline:scripted",
  });

  for (let turn = 0; turn < 4; turn++) await t.say("help");

  expect(seen).toEqual([
    "DESK_REFUSED: the desk said no",
    { ticket: 1 },
    { ticket: 1 },
    { ticket: 2 },
  ]);
  expect(desk.booked.map(({ key }) => key)).toEqual([
    expect.stringMatching(/^s1\/\w{12}\/openTicket\/printer$/),
    expect.stringMatching(/^s1\/\w{12}\/openTicket\/scanner$/),
  ]);
});

test("a key that comes with other arguments is told to the model", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([
    callsTool({ subject: "printer" }),
    "ok",
    callsTool({ subject: "scanner" }),
    { expect: /EFFECT_KEY_REUSED/, reply: "only one a day" },
  ]);
  await using t = await startTestEngine(
    helperService({ openTicket: ticketTool(desk, { key: () => ["today"] }) }),
    { offline: [model], model: "offline:scripted" },
  );

  await t.say("help");

  expect((await t.say("again")).done.message).toBe("only one a day");
  expect(desk.booked).toHaveLength(1);
});

test("of a tool's long result the model reads both ends, and how to read the rest", async () => {
  const big = tool({
    description: "Reads.",
    inputSchema: z.object({}),
    execute: () => ({ text: "가".repeat(100_000) }),
  });
  let result = "";
  const model = new ScriptedModel([
    { toolCalls: [{ id: "c1", name: "read", args: {} }] },
    {
      expect: (request) =>
        void (result = String((request.messages.at(-1) as { result: unknown }).result)),
      reply: "ok",
    },
  ]);
  await using t = await startTestEngine(helperService({ read: big }), {
    offline: [model],
    model: "offline:scripted",
  });

  await t.say("read it");

  expect(Buffer.byteLength(result)).toBeLessThanOrEqual(40_000);
  expect(result.replaceAll("가", "").split("\n")).toEqual([
    '{"text":"',
    expect.stringMatching(/^\[cut: bytes 2\d{4} to 29\d{4} of 300011 are left out\. read_result/),
    '"}',
  ]);
});

/**
 * Two services behind one name, or beside each other: the desk's agent needs a yes, the other one
 * only talks.
 */
function deskAndTalk(desk: Desk): [Service, Service] {
  const talk = defineService({
    name: "talk",
    agents: {},
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: `talk: ${turn.message}` })) },
  });
  return [helperService({ openTicket: ticketTool(desk, { approval: true }) }), talk];
}

test("the answer to a question goes to the service that asked, and the person stays where it is", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([
    callsTool({ subject: "expensive" }),
    { expect: /ticket/, reply: "It is open now." },
  ]);
  await using t = await startTestEngine(deskAndTalk(desk), {
    offline: [model],
    model: "offline:scripted",
  });
  const inbox = inboxOf(t);
  await t.say("buy it", { service: "desk" });
  await t.say("hello", { service: "talk" });
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );

  expect(await lastEvent(t, turn!)).toMatchObject({ data: { message: "It is open now." } });
  expect(desk.booked).toHaveLength(1);
  expect((await t.say("still there?")).done.message).toBe("talk: still there?");
});

test("of several services behind one name the answer goes to the one that asked; the person stays", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([
    callsTool({ subject: "expensive" }),
    { expect: /ticket/, reply: "It is open now." },
  ]);
  const both = combineServices({
    name: "all",
    services: deskAndTalk(desk),
    router: keywordRouter({ rules: [{ service: "desk", keywords: ["buy"] }], default: "talk" }),
  });
  await using t = await startTestEngine(both, { offline: [model], model: "offline:scripted" });
  const inbox = inboxOf(t);
  await t.say("buy it");
  await t.say("hello");
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );

  expect(await lastEvent(t, turn!)).toMatchObject({ data: { message: "It is open now." } });
  expect(desk.booked).toHaveLength(1);
  expect((await t.engine.debug("s1")).state).toMatchObject({ active: "talk" });
});

test("a yes whose call is not made ends its turn with an error, and people are told", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([callsTool({ subject: "expensive" })]);
  const asks = helperService({ openTicket: ticketTool(desk, { approval: true }) });
  const service = {
    ...asks,
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({
          message: turn.author === "system" ? "never mind" : (await turn.agent("helper", "…")).text,
        }),
      ),
    },
  };
  await using t = await startTestEngine(service, { offline: [model], model: "offline:scripted" });
  const inbox = inboxOf(t);
  await t.say("buy it");
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );

  expect(await lastEvent(t, turn!)).toMatchObject({ data: { error: { code: "APPROVAL_UNUSED" } } });
  expect((await inbox.list({ tenant: "", status: "open" })).items).toMatchObject([
    {
      type: "blocked",
      severity: "high",
      context: { tool: "openTicket", input: { subject: "expensive" }, approval: escalation!.id },
    },
  ]);
});

test("a yes whose turn is stopped before the call is told too", async () => {
  const desk = new Desk();
  const model = new ScriptedModel([callsTool({ subject: "expensive" })]);
  const asked = Promise.withResolvers<void>();
  const asks = helperService({ openTicket: ticketTool(desk, { approval: true }) });
  const handler = flow(async (turn) => {
    if (turn.author === "system") {
      asked.resolve();
      await new Promise(() => {});
    }
    return turn.done({ message: (await turn.agent("helper", "…")).text });
  });
  await using t = await startTestEngine(
    { ...asks, flows: { DEFAULT: handler } },
    { offline: [model], model: "offline:scripted" },
  );
  const inbox = inboxOf(t);
  await t.say("buy it");
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });
  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );
  await asked.promise;

  await t.engine.stopTurn(turn!);

  expect(await lastEvent(t, turn!)).toMatchObject({ data: { error: { code: "TURN_STOPPED" } } });
  expect((await inbox.list({ tenant: "", status: "open" })).items).toMatchObject([
    { type: "blocked", context: { approval: escalation!.id } },
  ]);
});

/**
 * A flow that makes the call by itself, under a key that names the subject, and keeps what became
 * of it.
 */
function payingService(
  desk: Desk,
  options: Partial<ToolOptions<{ subject: string }, unknown>> = {},
): Service {
  const openTicket = ticketTool(desk, { approval: true, ...options });
  return defineService({
    name: "paying",
    agents: {},
    state: defineState({
      schema: z.object({ outcome: z.string() }),
      initial: () => ({ outcome: "none" }),
    }),
    flows: {
      DEFAULT: flow(async (turn) => {
        const outcome = await turn.call(
          "openTicket",
          openTicket,
          { subject: "expensive" },
          { key: ["expensive"], onSettled: ({ status }) => turn.state.update({ outcome: status }) },
        );
        return turn.done({
          message: outcome.status === "failed" ? outcome.error.code : outcome.status,
        });
      }),
    },
  });
}

test("a call by code of a tool that needs a yes asks for it, is made once, and is not asked for again", async () => {
  const desk = new Desk();
  await using t = await startTestEngine(payingService(desk));
  const inbox = inboxOf(t);

  expect((await t.say("go")).done.error?.code).toBe("APPROVAL_PENDING");
  expect(desk.booked).toHaveLength(0);
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });
  expect(escalation).toMatchObject({
    type: "decision",
    context: { tool: "openTicket", input: { subject: "expensive" } },
  });
  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );

  const last = await lastEvent(t, turn!);
  expect(last).toMatchObject({ data: { message: "done", stateSnapshot: { outcome: "done" } } });
  expect(last).not.toHaveProperty("data.error");
  expect((await t.say("go")).done.message).toBe("done");
  expect(desk.booked.map(({ key }) => key)).toEqual([
    expect.stringMatching(/^s1\/\w+\/openTicket\/expensive$/),
  ]);
  expect((await inbox.list({ tenant: "", status: "open" })).items).toEqual([]);
});

test("a call that code makes and that a person refuses has failed, and is not made", async () => {
  const desk = new Desk();
  await using t = await startTestEngine(payingService(desk));
  const inbox = inboxOf(t);
  await t.say("go");
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "reject" },
    { tenant: "", name: "boss" },
  );

  expect(await lastEvent(t, turn!)).toMatchObject({
    data: { message: "APPROVAL_REJECTED", stateSnapshot: { outcome: "failed" } },
  });
  expect(desk.booked).toHaveLength(0);
});

test.for([
  [
    "makes the call itself",
    async (turn: TurnContext, openTicket: AnyTool) =>
      void (await turn.call("openTicket", openTicket, turn.escalation!.context["input"], {
        key: [turn.escalation!.id],
      })),
    1,
  ],
  ["says that it has dealt with it", async (turn: TurnContext) => turn.settleApproval(), 0],
] as const)("a yes to a model's call is used up by a handler that %s", async ([, deal, booked]) => {
  const desk = new Desk();
  const model = new ScriptedModel([
    callsTool({ subject: "expensive" }),
    callsTool({ subject: "expensive" }),
  ]);
  const openTicket = ticketTool(desk, { approval: true });
  const handler = flow(async (turn) => {
    if (!turn.escalation) return turn.done({ message: (await turn.agent("helper", "…")).text });
    await deal(turn, openTicket);
    return turn.done({ message: "dealt with" });
  });
  await using t = await startTestEngine(
    { ...helperService({ openTicket }), flows: { DEFAULT: handler } },
    { offline: [model], model: "offline:scripted" },
  );
  const inbox = inboxOf(t);
  await t.say("buy it");
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );
  const last = await lastEvent(t, turn!);

  expect(last).toMatchObject({ data: { message: "dealt with" } });
  expect(last).not.toHaveProperty("data.error");
  expect(desk.booked).toHaveLength(booked);
  expect((await inbox.list({ tenant: "", status: "open" })).items).toEqual([]);
  expect((await t.say("once more")).done.error?.code).toBe("APPROVAL_PENDING"); // it does not stand for another call
});

test("a yes allows the call that was shown: one with other arguments is asked for anew", async () => {
  const desk = new Desk();
  const openTicket = ticketTool(desk, { approval: true });
  const handler = flow(async (turn) => {
    const subject = turn.escalation ? "another" : "shown";
    await turn.call("openTicket", openTicket, { subject }, { key: [subject] });
    return turn.done({ message: "made" });
  });
  await using t = await startTestEngine({
    ...helperService({ openTicket }),
    flows: { DEFAULT: handler },
  });
  const inbox = inboxOf(t);
  await t.say("buy it");
  const {
    items: [shown],
  } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(
    shown!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );

  expect(await lastEvent(t, turn!)).toMatchObject({
    data: { error: { code: "APPROVAL_PENDING" } },
  });
  expect(desk.booked).toEqual([]);
  const { items } = await inbox.list({ tenant: "", status: "open" });
  expect(items.map(({ context }) => context["input"])).toContainEqual({ subject: "another" });
});

test("a yes to one tool allows no other tool with the same arguments", async () => {
  const desk = new Desk();
  const tools = {
    openTicket: ticketTool(desk, { approval: true }),
    closeTicket: ticketTool(desk, { approval: true }),
  };
  const handler = flow(async (turn) => {
    const name = turn.escalation ? "closeTicket" : "openTicket";
    await turn.call(name, tools[name], { subject: "printer" }, { key: [name] });
    return turn.done({ message: "made" });
  });
  await using t = await startTestEngine({ ...helperService(tools), flows: { DEFAULT: handler } });
  const inbox = inboxOf(t);
  await t.say("open it");
  const {
    items: [shown],
  } = await inbox.list({ tenant: "", status: "open" });

  const { turn } = await inbox.answer(
    shown!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );

  expect(await lastEvent(t, turn!)).toMatchObject({
    data: { error: { code: "APPROVAL_PENDING" } },
  });
  expect(desk.booked).toEqual([]);
});

test("a call that an earlier yes allowed and that a death cut off is not asked for again", async () => {
  const desk = new Desk();
  const booked = Promise.withResolvers<void>();
  let hangs = true;
  const openTicket = ticketTool(desk, {
    approval: true,
    execute: async (input, context) => {
      const result = await desk.open(input, context);
      booked.resolve();
      return hangs ? await new Promise<never>(() => {}) : result;
    },
  });
  const asks = helperService({ openTicket });
  const service = {
    ...asks,
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({
          message: turn.escalation ? "not now" : (await turn.agent("helper", "…")).text,
        }),
      ),
    },
  };
  const model = new ScriptedModel([
    callsTool({ subject: "expensive" }),
    callsTool({ subject: "expensive" }),
    "It is open now.",
  ]);
  await using t = await startTestEngine(service, { offline: [model], model: "offline:scripted" });
  const inbox = inboxOf(t);
  await t.say("buy it");
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });
  const { turn: unused } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );
  expect(await lastEvent(t, unused!)).toMatchObject({
    data: { error: { code: "APPROVAL_UNUSED" } },
  });
  const { turnId } = await t.engine.accept({ session: "s1", message: "now please" });
  await booked.promise;
  t.fence();
  hangs = false;
  await using other = await startTestEngine(service, {
    on: { url: t.url },
    offline: [model],
    model: "offline:scripted",
  });
  await other.engine.store.release(await holderOf(other, turnId));

  expect(await lastEvent(other, turnId)).toMatchObject({
    type: "DONE",
    data: { message: "It is open now." },
  });
  expect(desk.booked).toHaveLength(1);
});

test("a session that was forgotten acts under other keys, one that goes on under the same", async () => {
  const desk = new Desk();
  const said = (t: TestEngine): Promise<unknown> => t.say("go").then(({ done }) => done.message);
  const service = codeService(desk);
  await using t = await startTestEngine(service);
  await using other = await startTestEngine(service, { on: { url: t.url } });

  await said(t);
  await said(other);
  await t.engine.forget("s1");
  await said(other);
  await said(t);

  expect(desk.booked).toHaveLength(2);
  expect(new Set(desk.booked.map(({ key }) => key)).size).toBe(2);
});

test("an effect whose outcome is found after its session was forgotten is swept like one without an owner", async () => {
  const desk = new Desk();
  desk.plan.push("cut-after", "cut-after");
  await using t = await startTestEngine(codeService(desk, { recover: "ask" }));
  await using process = await joinTeam(t.url);
  const inbox = inboxOf(t);
  const retention = new Retention({ ...process, leases: new Leases(process) });
  const age = () =>
    t.database.query({ text: "update dure.effects set updated_at = now() - interval '8 days'" });
  await t.say("go", { session: "s1" });
  await t.say("go", { session: "s2" });
  const { items } = await inbox.list({ tenant: "", status: "open" });
  await t.engine.forget("s1");
  await age();
  expect((await retention.sweep())!.get("effects")).toBe(0); // the operator is still asked

  await inbox.answer(
    items.find(({ source }) => source.session === "s1")!.id,
    { value: "happened" },
    { tenant: "", name: "operator" },
  );
  await age();

  expect((await retention.sweep())!.get("effects")).toBe(1);
  expect(await t.database.query({ text: "select session_id from dure.effects" })).toEqual([
    { session_id: "s2" },
  ]);
});

test.for([
  [new NotSentError("X", "refused"), "failed"],
  [Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), "failed"],
  [
    Object.assign(new TypeError("fetch failed"), {
      cause: Object.assign(new Error(), { code: "ECONNREFUSED" }),
    }),
    "failed",
  ],
  [Object.assign(new Error("reset"), { code: "ECONNRESET" }), "unknown"],
  [new Error("500"), "unknown"],
  ["a string", "unknown"],
  [
    Object.assign(new Error("the receipt cannot be read"), { code: "ECONNREFUSED", sent: true }),
    "unknown",
  ],
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
  const [row] = await t.database.query<{ holder: string }>(
    { text: "select holder from dure.turns where id = $1" },
    [turnId],
  );
  return row!.holder;
}

test("a once call whose result cannot be stored has happened once; without effect the model is told", async () => {
  const made: string[] = [];
  const tools = {
    pay: tool({
      description: "Pays.",
      inputSchema: z.object({}),
      effect: "once",
      recover: "replay",
      execute: () => (made.push("pay"), 50_000n),
    }),
    look: tool({
      description: "Looks.",
      inputSchema: z.object({}),
      execute: () => (made.push("look"), 50_000n),
    }),
  };
  const model = offlineModel("scripted", (request) => {
    const results = request.messages.filter(({ role }) => role === "tool");
    if (results.length === 0) {
      return {
        toolCalls: [
          { name: "pay", args: {} },
          { name: "look", args: {} },
        ],
      };
    }
    return JSON.stringify(results);
  });
  await using t = await startTestEngine(helperService(tools), {
    offline: [model],
    model: "offline:scripted",
  });

  const { message } = (await t.say("pay and look")).done;

  expect(made).toEqual(["pay", "look"]);
  expect(JSON.parse(message)).toMatchObject([
    { name: "pay", result: { error: { code: "VALUE_NOT_JSON" } } },
    {
      name: "look",
      isError: true,
      result: expect.stringContaining('What the tool "look" gave cannot be stored') as string,
    },
  ]);
  expect(await t.database.query({ text: "select tool, status from dure.effects" })).toEqual([
    { tool: "pay", status: "done" },
  ]);
});
