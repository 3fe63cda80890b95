// @module-tag slow
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { remoteService } from "../../src/engine/remote/remote-service.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import type { Scope } from "../../src/kernel/access.ts";
import { silentLogger, type Logger } from "../../src/kernel/logger.ts";
import { offlineModel } from "../../src/models/offline.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";

/** Who approves over HTTP, by the role of a token and its tenant; also behind another server. */

const ADMIN = "an-admin-token-of-all-tenants-0123";
const stack = new AsyncDisposableStack();
const booked: unknown[] = [];
const warnings: string[] = [];
let database: TestDatabase;
let url: string;
let front: string;

beforeAll(async () => {
  database = stack.use(await testDatabase());
  url = await serve(database, { model: "offline:bank", offlineModels: [bank], services: { pay } });
  const { token } = await store().create({ name: "front", scopes: ["chat"] });
  const far = remoteService(url, { name: "pay", service: "pay", auth: token });
  const elsewhere = stack.use(await testDatabase());
  front = await serve(elsewhere, { model: "offline:echo", services: { pay: far } });
}, 120_000);
afterAll(() => stack.disposeAsync(), 60_000);

const bank = offlineModel("bank", async ({ messages }) => {
  const last = messages.at(-1)!;
  if (last.role === "tool") return { text: "Paid." };
  return { toolCalls: [{ name: "pay", args: { to: "Hong", amount: 5 } }] };
});

const pay = defineService({
  name: "pay",
  agents: {
    clerk: chatAgent({
      name: "clerk",
      prompt: "Help.",
      tools: {
        pay: tool({
          description: "Pays.",
          inputSchema: z.object({ to: z.string(), amount: z.number() }),
          effect: "once",
          approval: { by: { role: "treasury" }, two: true },
          execute: (payment) => ({ receipt: booked.push(payment) }),
        }),
      },
    }),
  },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
  },
});

async function serve(
  on: TestDatabase,
  options: Omit<Parameters<typeof defineTeam>[0], "name">,
): Promise<string> {
  const environment = readEnvironment({ DATABASE_URL: on.url, PORT: "0", DURE_TOKEN: ADMIN });
  const team = await readTeam(defineTeam({ name: "bank", ...options }), import.meta.dirname);
  const warn: Logger["warn"] = (_, line) => void warnings.push(line);
  const running = await startTeam(team, environment, { logger: { ...silentLogger, warn } });
  stack.defer(() => running.stop());
  return running.url;
}

function store(): PostgresTokenStore {
  return new PostgresTokenStore({ database: database.database });
}

interface Given {
  readonly roles?: readonly string[];
  readonly tenant?: string;
  readonly scopes?: readonly Scope[];
}

async function aToken(name: string, { scopes = ["chat"], ...given }: Given = {}): Promise<string> {
  return (await store().create({ name, scopes, ...given })).token;
}

async function asks(token: string, path: string, body?: unknown, at = url): Promise<Told> {
  const answer = await fetch(at + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...{ body: body === undefined ? null : JSON.stringify(body) },
  });
  return { status: answer.status, body: (await answer.json()) as Told["body"] };
}

interface Told {
  readonly status: number;
  readonly body: {
    readonly code?: string;
    readonly turn_id?: string | null;
    readonly escalation?: { readonly status: string };
    readonly items?: readonly object[];
    readonly interaction?: { readonly approvals?: readonly { readonly id: string }[] };
    readonly approval?: { readonly refused: string | null };
    readonly suggested_actions?: readonly { readonly value: string }[];
  };
}

let sessions = 0;

/** A question of a tenant: its id. */
async function asked(token: string, at = url): Promise<string> {
  const said = { session_id: `s${++sessions}`, service: "pay", message: "Pay Hong 5" };
  const { body } = await asks(token, "/v1/agent/chat", said, at);
  return body.interaction!.approvals![0]!.id;
}

const approve = (token: string, id: string, at = url): Promise<Told> =>
  asks(token, `/v1/escalations/${id}/answer`, { value: "approve" }, at);

async function ended(token: string, turn: string): Promise<void> {
  const answer = await fetch(`${url}/v1/agent/turns/${turn}/stream`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await answer.text();
}

test("two with the role approve with a token that may only chat, and the audit names both with it", async () => {
  const [kim, lee] = [
    await aToken("kim", { roles: ["treasury"] }),
    await aToken("lee", { roles: ["treasury"] }),
  ];
  const id = await asked(ADMIN);
  const before = booked.length;

  const first = await approve(kim, id);
  const again = await approve(await aToken("KIM", { roles: ["treasury"] }), id);
  const second = await approve(lee, id);
  await ended(ADMIN, second.body.turn_id!);

  expect(first).toMatchObject({ status: 200, body: { turn_id: null } });
  expect(first.body.escalation!.status).toBe("open");
  expect([again.status, again.body.code]).toEqual([409, "APPROVAL_GIVEN"]);
  expect(second.body.escalation!.status).toBe("resolved");
  expect(booked).toHaveLength(before + 1);
  const audit = await asks(ADMIN, `/v1/audit?subject=${id}`);
  expect(audit.body.items).toMatchObject([
    { person: "lee", role: "treasury", what: "escalation.approve", outcome: "done" },
    { person: "KIM", role: null, what: "escalation.approve", outcome: "APPROVAL_GIVEN" },
    { person: "kim", role: "treasury", what: "escalation.approve", outcome: "done" },
  ]);
});

test.for<[string, Given, string]>([
  ["an administrator of all", { scopes: ["admin"] }, "403 APPROVAL_ROLE_MISSING"],
  [
    "an administrator of the tenant",
    { scopes: ["admin"], tenant: "acme" },
    "403 APPROVAL_ROLE_MISSING",
  ],
  ["a token that may only chat", { tenant: "acme" }, "403 SCOPE_MISSING"],
  ["another role", { tenant: "acme", roles: ["sales"] }, "403 SCOPE_MISSING"],
  ["the role in another tenant", { tenant: "beta", roles: ["treasury"] }, "404 ESCALATION_UNKNOWN"],
  ["the role without a tenant", { roles: ["treasury"] }, "404 ESCALATION_UNKNOWN"],
  ["the role in the tenant", { tenant: "acme", roles: ["treasury"] }, "200"],
  ["an administrator of all with the role", { scopes: ["admin"], roles: ["treasury"] }, "200"],
])("%s, asked to approve of a tenant: the answer is as the table says", async ([, given, told]) => {
  const id = await asked(await aToken("customer", { tenant: "acme" }));

  const { status, body } = await approve(await aToken(`who ${++sessions}`, given), id);

  expect(`${status} ${body.code ?? ""}`.trim()).toBe(told);
});

test("who may not approve is offered no such answer, and the reason", async () => {
  const id = await asked(ADMIN);
  const kim = await aToken("kim", { roles: ["treasury"] });
  const seen = async (token: string): Promise<unknown> => {
    const { body } = await asks(token, `/v1/escalations/${id}`);
    return [body.approval?.refused, body.suggested_actions!.map(({ value }) => value)];
  };

  expect(await seen(ADMIN)).toEqual(["role", ["reject"]]);
  expect(await seen(kim)).toEqual([null, ["approve", "reject"]]);
  await approve(kim, id);
  expect(await seen(kim)).toEqual(["given", ["reject"]]);
});

/** What a page of AG-UI is offered where a run with this token asks for approval. */
async function offeredToPage(token: string): Promise<unknown> {
  const id = `ag${++sessions}`;
  const message = { id: "m1", role: "user", content: "Pay Hong 5" };
  const run = { threadId: id, runId: "r1", messages: [message] };
  const answer = await fetch(`${url}/ag-ui/v1/agents/pay`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ ...run, state: {}, tools: [], context: [], forwardedProps: {} }),
  });
  const events = (await answer.text()).split("\n\n").filter((frame) => frame.startsWith("data: "));
  const { outcome } = JSON.parse(events.at(-1)!.slice("data: ".length)) as {
    outcome?: { interrupts?: readonly { responseSchema?: unknown; metadata?: unknown }[] };
  };
  return outcome?.interrupts?.map(({ responseSchema, metadata }) => ({ responseSchema, metadata }));
}

test("a page of AG-UI offers a yes to a person with the role alone", async () => {
  const kim = await aToken("kim", { scopes: ["admin"], roles: ["treasury"] });
  const [approves, rejects] = ["approve", "reject"].map((value) => ({
    value,
    label: value === "approve" ? "Approve" : "Reject",
  }));

  expect(await offeredToPage(kim)).toEqual([
    {
      responseSchema: { type: "string", enum: ["approve", "reject"] },
      metadata: { actions: [approves, rejects] },
    },
  ]);
  expect(await offeredToPage(ADMIN)).toEqual([
    { responseSchema: { type: "string", enum: ["reject"] }, metadata: { actions: [rejects] } },
  ]);
});

test("a role that no token has is a warning at the start", () => {
  expect(warnings.filter((line) => line.includes("role treasury"))).toEqual([
    "no token has the role treasury, which approves pay. Make one for who approves: dure token create <name> --roles treasury",
  ]);
});

test("a team behind another one: its DONE keeps what waits, and the answer is said there", async () => {
  const before = booked.length;
  const said = { session_id: "far", service: "pay", message: "Pay Hong 5" };
  const { body } = await asks(ADMIN, "/v1/agent/chat", said, front);
  const [approval] = body.interaction!.approvals!;

  expect(approval).toMatchObject({
    tool: "pay",
    by: "operator",
    role: "treasury",
    two: true,
    at: "pay",
  });
  const here = await approve(ADMIN, approval!.id, front);
  expect([here.status, here.body.code]).toEqual([404, "ESCALATION_UNKNOWN"]);
  for (const name of ["kim", "lee"]) {
    const token = await aToken(name, { roles: ["treasury"] });
    const there = await approve(token, approval!.id);
    expect(there.status).toBe(200);
    if (there.body.turn_id) await ended(ADMIN, there.body.turn_id);
  }
  expect(booked).toHaveLength(before + 1);
});
