// @module-tag slow
import { expect, test } from "vitest";
import { ScriptedModel } from "@dure/testing";
import { z } from "zod";
import { Inbox, type Answerer } from "../../escalations/inbox.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool, type ToolOptions } from "../agent/tool.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

/** A yes that only a role may give, or two people together. */

interface Payment {
  readonly to: string;
  readonly amount: number;
}
type Approval = NonNullable<ToolOptions<Payment, unknown>["approval"]>;

const TREASURY: Approval = { by: { role: "treasury" } };
const BOTH: Approval = { by: { role: "treasury" }, two: true };
const CALL = { toolCalls: [{ id: "c0", name: "pay", args: { to: "Hong", amount: 50_000 } }] };
const YES = { value: "approve" };

const kim = aPerson("kim", ["treasury"]);
const lee = aPerson("lee", ["treasury"]);
const park = aPerson("park");

function aPerson(name: string, roles: readonly string[] = [], token = `token_${name}`): Answerer {
  return { tenant: "", name: token, person: { key: `person:${name}`, name, roles } };
}

interface World extends AsyncDisposable {
  readonly t: TestEngine;
  /** That of another process too. */
  readonly inboxes: readonly [Inbox, Inbox];
  readonly booked: readonly Payment[];
}

async function openWorld(approval: Approval): Promise<World> {
  const booked: Payment[] = [];
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    effect: "once",
    execute: (payment) => ({ receipt: `tx_${booked.push(payment)}` }),
    approval,
  });
  const service = defineService({
    name: "pay",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { pay } }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
  const model = new ScriptedModel([CALL, { reply: "Paid." }]);
  const t = await startTestEngine(service, { offline: [model], model: "offline:scripted" });
  const { database, notifications } = t;
  const inbox = (): Inbox => new Inbox({ database, notifications });
  const inboxes = [inbox(), inbox()] as const;
  return { t, inboxes, booked, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

async function askedIn({ t, inboxes }: World): Promise<string> {
  const { done } = await t.say("Pay Hong 50,000");
  expect(done.error?.code).toBe("APPROVAL_PENDING");
  const { items } = await inboxes[0].list({ tenant: "", status: "open" });
  return items[0]!.id;
}

async function end({ t }: World, turn: string | null): Promise<void> {
  for await (const _event of t.engine.read(turn!));
}

test("only who has the role may approve, and each may reject", async () => {
  await using world = await openWorld(TREASURY);
  const { inboxes, booked } = world;
  const [inbox] = inboxes;
  const id = await askedIn(world);

  await expect(inbox.answer(id, YES, park)).rejects.toMatchObject({
    code: "APPROVAL_ROLE_MISSING",
    message: `Only the role treasury may approve ${id}.`,
  });
  await expect(inbox.answer(id, YES, { tenant: "", name: "agent" })).rejects.toMatchObject({
    code: "APPROVAL_ROLE_MISSING",
  });
  expect(booked).toEqual([]);
  const { turn } = await inbox.answer(id, YES, kim);
  await end(world, turn);

  expect(booked).toHaveLength(1);
});

test("who lacks the role rejects the call", async () => {
  await using world = await openWorld(TREASURY);
  const { inboxes, booked } = world;
  const id = await askedIn(world);

  const { escalation, turn } = await inboxes[0].answer(id, { value: "reject" }, park);
  await end(world, turn);

  expect(escalation.resolution?.value).toBe("reject");
  expect(booked).toEqual([]);
});

test("a call is made after the yes of a second person, and once", async () => {
  await using world = await openWorld(BOTH);
  const { t, inboxes, booked } = world;
  const [here, there] = inboxes;
  const id = await askedIn(world);

  const first = await here.answer(id, { value: "approve", note: "Looks right." }, kim);
  expect(first).toMatchObject({
    turn: null,
    escalation: {
      status: "open",
      approval: { two: true, first: { by: "token_kim", person: "kim", note: "Looks right." } },
    },
  });
  expect(booked).toEqual([]);
  const { turn } = await there.answer(id, YES, lee);
  await end(world, turn);
  await expect(here.answer(id, YES, kim)).rejects.toMatchObject({ code: "ESCALATION_CLOSED" });

  expect(booked).toEqual([{ to: "Hong", amount: 50_000 }]);
  const events = await t.database.query<{ type: string; data: { by?: string; person?: string } }>({
    text: "select type, data from dure.events where type like 'escalation.%' order by xid, seq",
  });
  expect(events.map(({ type, data }) => [type, data.by])).toEqual([
    ["escalation.new", undefined],
    ["escalation.first_yes", "token_kim"],
    ["escalation.resolved", "token_lee"],
  ]);
});

test("the first person's second yes changes nothing, also with another token of theirs", async () => {
  await using world = await openWorld({ two: true });
  const { inboxes, booked } = world;
  const [here, there] = inboxes;
  const id = await askedIn(world);
  await here.answer(id, YES, kim);

  for (const same of [kim, aPerson("kim", [], "token_of_kims_phone")]) {
    await expect(there.answer(id, YES, same)).rejects.toMatchObject({ code: "APPROVAL_GIVEN" });
  }

  const { approval } = await here.get(id, { tenant: "" });
  expect(approval).toMatchObject({ first: { by: "token_kim" } });
  expect(booked).toEqual([]);
});

test("of two people who approve at once one is the first, and the call is made once", async () => {
  await using world = await openWorld(BOTH);
  const { inboxes, booked } = world;
  const id = await askedIn(world);

  const answers = await Promise.all(
    [kim, lee].map((by, process) => inboxes[process]!.answer(id, YES, by)),
  );
  await end(
    world,
    answers.map(({ turn }) => turn).find((turn) => turn !== null)!,
  );

  expect(answers.filter(({ turn }) => turn === null)).toHaveLength(1);
  expect(booked).toHaveLength(1);
});

test("a no after the first yes rejects the call", async () => {
  await using world = await openWorld(BOTH);
  const { inboxes, booked } = world;
  const id = await askedIn(world);
  await inboxes[0].answer(id, YES, kim);

  const { turn } = await inboxes[1].answer(id, { value: "reject" }, kim);
  await end(world, turn);

  expect(booked).toEqual([]);
  await expect(inboxes[0].answer(id, YES, lee)).rejects.toMatchObject({
    code: "ESCALATION_CLOSED",
  });
});

test("a first yes whose token was revoked since does not count", async () => {
  await using world = await openWorld(BOTH);
  const { t, inboxes, booked } = world;
  const id = await askedIn(world);
  await inboxes[0].answer(id, YES, kim);
  await t.database.query({
    text: `insert into dure.tokens (id, hash, name, tenant, scopes, revoked_at)
      values ('token_kim', sha256('kim'), 'kim', '', '{chat}', now())`,
  });

  const { turn, escalation } = await inboxes[0].answer(id, YES, lee);

  expect(turn).toBeNull();
  expect(escalation.approval?.first?.person).toBe("lee");
  expect(booked).toEqual([]);
});

test("neither an agent nor a person without a token of dure is one of two", async () => {
  await using world = await openWorld({ two: true });
  const { inboxes } = world;
  const id = await askedIn(world);
  const byAgent = inboxes[0].answer(id, YES, { tenant: "", name: "operator" });

  await expect(byAgent).rejects.toMatchObject({ code: "APPROVAL_PERSON_UNKNOWN" });
  expect((await inboxes[0].get(id, { tenant: "" })).approval?.first).toBeNull();
});

test("two people decide about what was shown: neither other arguments nor later calls", async () => {
  await using world = await openWorld(BOTH);
  const { inboxes } = world;
  const id = await askedIn(world);
  const { suggestedActions } = await inboxes[0].get(id, { tenant: "" });
  const input = { to: "Hong", amount: 1 };

  expect(suggestedActions.map(({ value, asks }) => [value, asks])).toEqual([
    ["approve", undefined],
    ["reject", undefined],
  ]);
  await expect(inboxes[0].answer(id, { ...YES, input }, kim)).rejects.toMatchObject({
    code: "ANSWER_INVALID",
  });
});

test("another tenant's person with the role finds no such question", async () => {
  await using world = await openWorld(TREASURY);
  const id = await askedIn(world);

  const byOther = world.inboxes[0].answer(id, YES, { ...kim, tenant: "acme" });

  await expect(byOther).rejects.toMatchObject({ code: "ESCALATION_UNKNOWN" });
});

test("a question whose time has passed takes no second yes", async () => {
  await using world = await openWorld(BOTH);
  const { t, inboxes, booked } = world;
  const id = await askedIn(world);
  await inboxes[0].answer(id, YES, kim);
  await t.database.query({
    text: "update dure.escalations set expires_at = now() - interval '1 s'",
  });

  await expect(inboxes[1].answer(id, YES, lee)).rejects.toMatchObject({
    code: "ESCALATION_CLOSED",
  });
  expect(booked).toEqual([]);
});

/** What the release before sends: it knows neither roles nor people. */
const BEFORE = {
  text: `select dure.answer_escalation($1, '', $2, 'token_kim',
    '{"turn": "turn_old", "version": "", "author": "system", "policy": "queue",
      "max_waiting": 10, "message": "", "title": "", "events": []}') as value`,
};

test.for<[string, Approval]>([
  ["a role", TREASURY],
  ["two people", { two: true }],
])(
  "a process of the release before approves nothing that needs %s, and rejects it",
  async ([, approval]) => {
    await using world = await openWorld(approval);
    const { t, booked } = world;
    const id = await askedIn(world);

    await expect(t.database.query(BEFORE, [id, JSON.stringify(YES)])).rejects.toMatchObject({
      code: "DU400",
    });
    const [row] = await t.database.query<{ value: { outcome: string } }>(BEFORE, [
      id,
      JSON.stringify({ value: "reject" }),
    ]);

    expect(row?.value.outcome).toBe("closed");
    expect(booked).toEqual([]);
  },
);

test.for<[Approval, RegExp]>([
  [{ by: "person", two: true }, /two does not go with by: person/],
  [{ two: true, standing: { same: ["to"] } }, /standing does not go with two/],
  [{ by: { role: "The Treasury" } }, /names the role "The Treasury"/],
  [{ by: "treasury" as "operator" }, /approval\.by/],
])("a tool with the approval %j is refused", ([approval, message]) => {
  const pay = (): unknown =>
    tool<Payment>({
      description: "Pays.",
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      effect: "once",
      execute: () => true,
      approval,
    });

  expect(pay).toThrow(message);
});

test("a yes from before the tool asked for a role is none: the call is asked for again", async () => {
  await using world = await openWorld(TREASURY);
  const { t, inboxes, booked } = world;
  const id = await askedIn(world);
  await t.database.query({
    text: `update dure.escalations
      set context = context - 'needs', subject = replace(subject, '/role=treasury', '')`,
  });

  const { turn } = await inboxes[0].answer(id, YES, park);
  await end(world, turn);

  expect(booked).toEqual([]);
  const { items } = await inboxes[0].list({ tenant: "", status: "open" });
  expect(items.some(({ approval }) => approval?.role === "treasury")).toBe(true);
});
