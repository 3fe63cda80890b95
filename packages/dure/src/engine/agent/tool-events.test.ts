import { expect, test } from "vitest";
import { z } from "zod";
import { toldValue } from "../../kernel/told-tool.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import { offlineModel } from "../../models/offline.ts";
import { defineService, flow, type ServiceOptions } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { chatAgent } from "./agent.ts";
import { tool, type AnyTool } from "./tool.ts";

/** Looks a parcel up, then says what it has read. */
const clerk = offlineModel("clerk", ({ messages }) => {
  if (messages.at(-1)?.role === "tool") return "It is on its way.";
  return { toolCalls: [{ name: "find_parcel", args: { id: "p1", apiKey: "k-1" } }] };
});

const inputSchema = z.object({ id: z.string(), apiKey: z.string().optional() });

function desk(find: AnyTool, more: Partial<ServiceOptions> = {}) {
  const agents = {
    clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { find_parcel: find } }),
  };
  const flows = {
    DEFAULT: flow(async (turn) => {
      const { text } = await turn.agent("clerk", "Looking");
      return turn.done({ message: text });
    }),
  };
  return defineService({ name: "desk", agents, flows, ...more });
}

const found = tool({
  description: "Finds a parcel.",
  inputSchema,
  execute: ({ id }) => ({ id, place: "Busan", token: "t-1" }),
});

/** The events about tools, without what differs in each run. */
function toolsOf(events: readonly TurnEvent[]): readonly object[] {
  return events.flatMap(({ type, data }) => {
    if (type !== "TOOL_START" && type !== "TOOL_DONE") return [];
    const { elapsedMs: _elapsedMs, callId, ...rest } = data as unknown as Record<string, unknown>;
    return [{ type, place: String(callId).replace(/^turn_[^-]+-/u, ""), ...rest }];
  });
}

async function readAs(
  engine: Awaited<ReturnType<typeof startTestEngine>>["engine"],
  turnId: string,
  caller: { seesTools?: boolean } | undefined,
): Promise<readonly object[]> {
  const viewer = caller && { tenant: "", name: "reader", ...caller };
  const events: TurnEvent[] = [];
  for await (const { event } of engine.read(turnId, { caller: viewer })) events.push(event);
  return toolsOf(events);
}

const about = { place: "1.2", tool: "find_parcel", agent: "clerk" };

test("a call of a tool is told with its arguments and result, and no secret", async () => {
  await using at = await startTestEngine(desk(found), { offline: [clerk] });

  const { events } = await at.say("Where is it?");

  expect(toolsOf(events)).toEqual([
    { type: "TOOL_START", ...about, effect: "none", args: { id: "p1", apiKey: "[secret]" } },
    {
      type: "TOOL_DONE",
      ...about,
      status: "done",
      result: { id: "p1", place: "Busan", token: "[secret]" },
    },
  ]);
  const order = events.map(({ type }) => type).filter((type) => type !== "LLM_TOKEN");
  expect(order.slice(0, 4)).toEqual(["AGENT_START", "TOOL_START", "TOOL_DONE", "LLM_DONE"]);
});

test("who may only chat reads names alone, or what the service shows", async () => {
  await using at = await startTestEngine(
    [
      desk(found),
      desk(found, { name: "open", toolCalls: "full" }),
      desk(found, { name: "shut", toolCalls: "none" }),
    ],
    { offline: [clerk] },
  );
  const readBy = async (service: string, caller: { seesTools?: boolean }) => {
    const { turnId } = await at.say("Where?", { service, session: `of-${service}` });
    return readAs(at.engine, turnId, caller);
  };

  const names = [
    { type: "TOOL_START", ...about, effect: "none" },
    { type: "TOOL_DONE", ...about, status: "done" },
  ];
  expect(await readBy("desk", {})).toEqual(names);
  expect(await readBy("shut", {})).toEqual([]);
  const whole = await readBy("open", {});
  expect(whole).toMatchObject([{ args: { id: "p1" } }, { result: { place: "Busan" } }]);
  expect(await readBy("shut", { seesTools: true })).toEqual(whole);
  expect(await readBy("desk", { seesTools: true })).toEqual(whole);
});

test("a failed call tells its code, and its words to those who see all", async () => {
  const broken = tool({
    description: "Finds a parcel.",
    inputSchema,
    execute: () => {
      throw new Error("no line to 10.0.0.7");
    },
  });
  await using at = await startTestEngine(desk(broken), { offline: [clerk] });

  const { turnId } = await at.say("Where is it?");

  expect((await readAs(at.engine, turnId, {})).at(-1)).toEqual({
    type: "TOOL_DONE",
    ...about,
    status: "failed",
    error: { code: "TOOL_FAILED" },
  });
  const whole = await readAs(at.engine, turnId, { seesTools: true });
  expect(whole.at(-1)).toMatchObject({ error: { message: "no line to 10.0.0.7" } });
});

test("the call of a turn that another process takes over is told once", async () => {
  const started = Promise.withResolvers<void>();
  const hangs = tool({
    description: "Finds a parcel.",
    inputSchema,
    execute: (_input, { signal }) => {
      started.resolve();
      return new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("cut")), { once: true });
      });
    },
  });
  await using first = await startTestEngine(desk(hangs), { offline: [clerk] });
  await using second = await startTestEngine(desk(found), { offline: [clerk], on: first });
  const { turnId } = await first.engine.accept({ session: "s1", message: "Where is it?" });
  const seen: TurnEvent[] = [];
  const reading = (async () => {
    for await (const { event } of second.engine.read(turnId)) seen.push(event);
  })();
  await started.promise;

  first.fence();
  await second.database.query(
    { text: "update dure.turns set holder = null, epoch = epoch + 1 where id = $1" },
    [turnId],
  );
  await second.engine.pickUp();
  await reading;

  expect(toolsOf(seen)).toMatchObject([
    { type: "TOOL_START", place: "1.2" },
    { type: "TOOL_DONE", place: "1.2", status: "done" },
  ]);
  expect(await readAs(second.engine, turnId, undefined)).toEqual(toolsOf(seen));
  expect(seen).toContainEqual(
    expect.objectContaining({ data: expect.objectContaining({ restart: true }) }),
  );
});

test("the call of a handler is told, and that a person is asked for it", async () => {
  const send = tool({
    description: "Sends money.",
    inputSchema: z.object({ amount: z.number() }),
    effect: "once",
    recover: "ask",
    approval: { expires: "1h" },
    execute: () => "sent",
  });
  const bank = defineService({
    name: "bank",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        await turn.call("send", send, { amount: 5 }, { key: [turn.turnId] });
        return turn.done({ message: "Sent." });
      }),
    },
  });
  await using at = await startTestEngine(bank);

  const { events } = await at.say("Send it.");

  const call = { place: "1", tool: "send" };
  expect(toolsOf(events)).toEqual([
    { type: "TOOL_START", ...call, effect: "once", args: { amount: 5 } },
    { type: "TOOL_DONE", ...call, status: "asks", error: { code: "APPROVAL_PENDING" } },
  ]);
});

test("long values are cut, and deep ones end", () => {
  const cut = toldValue({ text: "가".repeat(5_000) });
  expect(cut).toMatch(/\n\[cut: the first 4096 of \d+ bytes\]$/u);
  expect(Buffer.byteLength(cut as string)).toBeLessThan(4_200);

  let deep: Record<string, unknown> = { password: "p" };
  for (let level = 0; level < 100; level++) deep = { deep };
  expect(JSON.stringify(toldValue(deep as never))).not.toContain('"p"');
});
