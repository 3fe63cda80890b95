import { expect, test } from "vitest";
import { ScriptedModel } from "@dure/testing";
import { z } from "zod";
import { Inbox } from "../../escalations/inbox.ts";
import type { OfflineReply } from "../../models/offline.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool, type ToolOptions } from "../agent/tool.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import { isCovered, standingCalls } from "./standing.ts";

/** A yes that covers later calls of the conversation, too. */

interface Payment {
  readonly to: string;
  readonly amount: number;
}

type Approval = Exclude<ToolOptions<Payment, unknown>["approval"], boolean | undefined>;

const BOSS = { tenant: "", name: "boss" };
const STANDING: Approval = { standing: { same: ["to"], atMost: ["amount"], times: 2 } };

function payTool(approval: Approval, booked: Payment[] = []) {
  return tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    effect: "once",
    execute: (payment) => ({ receipt: `tx_${booked.push(payment)}` }),
    approval,
  });
}

function pays(to: string, amount: number): OfflineReply[] {
  return [{ toolCalls: [{ id: "c0", name: "pay", args: { to, amount } }] }, "Paid."];
}

interface World extends AsyncDisposable {
  readonly t: TestEngine;
  readonly inbox: Inbox;
  readonly booked: readonly Payment[];
}

async function openWorld(...replies: readonly OfflineReply[][]): Promise<World> {
  const booked: Payment[] = [];
  const service = defineService({
    name: "pay",
    agents: {
      clerk: chatAgent({
        name: "clerk",
        prompt: "Help.",
        tools: { pay: payTool(STANDING, booked) },
      }),
    },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
  const model = new ScriptedModel(replies.flat());
  const t = await startTestEngine(service, { offline: [model], model: "offline:scripted" });
  const inbox = new Inbox({ database: t.database, notifications: t.notifications });
  return { t, inbox, booked, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

/** Allows what is asked, and reads the turn that goes on to its end. */
async function allow({ t, inbox }: World, value: string): Promise<void> {
  const { items } = await inbox.list({ tenant: "", status: "open" });
  const { turn } = await inbox.answer(items[0]!.id, { value }, BOSS);
  for await (const _event of t.engine.read(turn!));
}

test("a yes for the conversation covers later calls like it, and no others", async () => {
  await using world = await openWorld(
    pays("Hong", 50_000),
    pays("Hong", 30_000),
    [pays("Hong", 60_000)[0]!],
    [pays("Kim", 10)[0]!],
  );
  const { t, booked } = world;
  await t.say("Pay Hong 50,000");
  await allow(world, "approve_session");

  const second = await t.say("Pay Hong 30,000");
  const more = await t.say("Pay Hong 60,000");
  const other = await t.say("Pay Kim 10");

  expect(second.done.message).toBe("Paid.");
  for (const { done } of [more, other]) expect(done.error?.code).toBe("APPROVAL_PENDING");
  expect(booked).toEqual([
    { to: "Hong", amount: 50_000 },
    { to: "Hong", amount: 30_000 },
  ]);
});

test("a yes for the conversation ends after so many calls, and holds in no other conversation", async () => {
  await using world = await openWorld(
    pays("Hong", 50_000),
    pays("Hong", 1),
    pays("Hong", 2),
    [pays("Hong", 3)[0]!],
    [pays("Hong", 4)[0]!],
  );
  const { t, booked } = world;
  await t.say("Pay Hong 50,000");
  await allow(world, "approve_session");
  await t.say("Pay Hong 1");
  await t.say("Pay Hong 2");

  const third = await t.say("Pay Hong 3");
  const elsewhere = await t.say("Pay Hong 4", { session: "s2" });

  for (const { done } of [third, elsewhere]) expect(done.error?.code).toBe("APPROVAL_PENDING");
  expect(booked.map(({ amount }) => amount)).toEqual([50_000, 1, 2]);
});

test("a plain yes covers one call", async () => {
  await using world = await openWorld(pays("Hong", 50_000), [pays("Hong", 1)[0]!]);
  const { t, booked } = world;
  await t.say("Pay Hong 50,000");
  await allow(world, "approve");

  const { done } = await t.say("Pay Hong 1");

  expect(done.error?.code).toBe("APPROVAL_PENDING");
  expect(booked).toHaveLength(1);
});

test.for([
  [{ to: "Hong", amount: 50_000 }, true],
  [{ to: "Hong", amount: 0, memo: "rent" }, true],
  [{ to: "Hong", amount: 50_001 }, false],
  [{ to: "Hong", amount: -1 }, false],
  [{ to: "Hong", amount: "1" }, false],
  [{ to: "Hong" }, false],
  [{ to: "Kim", amount: 1 }, false],
  [{ amount: 1 }, false],
  ["Hong", false],
] as const)("whether a yes to Hong, 50,000 covers %j is %s", ([input, covered]) => {
  const standing = standingCalls(payTool(STANDING), { to: "Hong", amount: 50_000 })!;

  expect(isCovered(standing, input)).toBe(covered);
});

test.for([
  [{ standing: {} }, /names no argument/],
  [{ standing: { same: ["to"], times: 0 } }, /times is 0/],
  [{ by: "person", standing: { same: ["to"] } }, /does not go with by: person/],
] as const)("a tool with the approval %j is refused", ([approval, message]) => {
  expect(() => payTool(approval as Approval)).toThrow(message);
});
