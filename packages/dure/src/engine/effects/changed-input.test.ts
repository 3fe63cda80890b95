import { expect, test } from "vitest";
import { ScriptedModel } from "@dure/testing";
import { z } from "zod";
import { Inbox } from "../../escalations/inbox.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool } from "../agent/tool.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import { takeChangedInput } from "./changed-input.ts";

/** An approval with other arguments than those that the model asked for. */

interface Payment {
  readonly to: string;
  readonly amount: number;
}

const HONG = { to: "Hong", amount: 50_000 };
const CALL = { toolCalls: [{ id: "c0", name: "pay", args: { ...HONG } }] };
const BOSS = { tenant: "", name: "boss" };

interface World extends AsyncDisposable {
  readonly t: TestEngine;
  readonly inbox: Inbox;
  readonly booked: readonly Payment[];
  readonly model: ScriptedModel;
}

async function openWorld(script: ConstructorParameters<typeof ScriptedModel>[0]): Promise<World> {
  const booked: Payment[] = [];
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string().trim(), amount: z.number().int().positive() }),
    effect: "once",
    execute: (payment) => ({ receipt: `tx_${booked.push(payment)}` }),
    approval: true,
  });
  const service = defineService({
    name: "pay",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { pay } }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
  const model = new ScriptedModel(script);
  const t = await startTestEngine(service, { offline: [model], model: "offline:scripted" });
  const inbox = new Inbox({ database: t.database, notifications: t.notifications });
  takeChangedInput(inbox, t.engine);
  return { t, inbox, booked, model, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

async function askedBy({ t, inbox }: World): Promise<string> {
  await t.say("Pay Hong 50,000");
  const { items } = await inbox.list({ tenant: "", status: "open" });
  return items[0]!.id;
}

async function ended({ t }: World, turn: string | null): Promise<unknown> {
  let last: unknown;
  for await (const { event } of t.engine.read(turn!)) last = event;
  return last;
}

test("a call is made with the arguments that a person changed, once, and the model is told", async () => {
  await using world = await openWorld([
    CALL,
    { expect: /changed the arguments; you had .*50000.*tx_1/, reply: "Paid 30,000." },
  ]);
  const { inbox, booked, model } = world;
  const id = await askedBy(world);

  const input = { to: " Hong ", amount: 30_000 };
  const answer = await inbox.answer(id, { value: "approve", input, note: "Half." }, BOSS);

  expect(await ended(world, answer.turn)).toMatchObject({ data: { message: "Paid 30,000." } });
  expect(booked).toEqual([{ to: "Hong", amount: 30_000 }]);
  expect(answer.escalation.resolution).toEqual({
    value: "approve",
    note: "Half.",
    input: { to: "Hong", amount: 30_000 },
  });
  model.assertComplete();
});

test("a yes to changed arguments is none to those that were asked for", async () => {
  await using world = await openWorld([CALL, CALL, { reply: "It has to be asked again." }]);
  const { t, inbox, booked } = world;
  const id = await askedBy(world);
  const input = { to: "Hong", amount: 30_000 };
  const { turn } = await inbox.answer(id, { value: "approve", input }, BOSS);

  await ended(world, turn);

  expect(booked).toEqual([input]);
  const { items } = await inbox.list({ tenant: "", status: "open" });
  expect(items.map(({ context }) => context["input"])).toEqual([HONG]);
  await t.say("Thanks");
  expect(booked).toEqual([input]);
});

test.for<[string, { value: string; input: JsonObject }, RegExp]>([
  ["that do not fit", { value: "approve", input: { to: 1, amount: -1 } }, /fit pay: to, amount\.$/],
  ["of which one is missing", { value: "approve", input: { to: "Hong" } }, /fit pay: amount\.$/],
  ["with a no", { value: "reject", input: { ...HONG } }, /do not go with this answer/],
  [
    "that are too long",
    { value: "approve", input: { ...HONG, to: "x".repeat(20_000) } },
    /bytes; 16384 are allowed/,
  ],
])("arguments %s are refused, and the question stays open", async ([, answer, message]) => {
  await using world = await openWorld([CALL]);
  const { inbox, booked } = world;
  const id = await askedBy(world);

  await expect(inbox.answer(id, answer, BOSS)).rejects.toMatchObject({
    code: "ANSWER_INVALID",
    message: expect.stringMatching(message) as string,
  });

  expect((await inbox.get(id, BOSS)).status).toBe("open");
  expect(booked).toEqual([]);
});

test("an inbox that does not know the call takes no other arguments for it", async () => {
  await using world = await openWorld([CALL]);
  const { t } = world;
  const id = await askedBy(world);
  const other = new Inbox({ database: t.database, notifications: t.notifications });

  const input = { to: "Hong", amount: 1 };
  await expect(other.answer(id, { value: "approve", input }, BOSS)).rejects.toMatchObject({
    code: "ANSWER_INVALID",
  });
});
