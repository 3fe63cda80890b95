import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import type { EscalationInbox } from "./escalation-routes.ts";
import { MemoryTokenStore } from "./token-store.ts";
import { startTestServer } from "./test-server.ts";
import type { Escalation } from "../wire/escalations.ts";

const open: Escalation = {
  id: "escalation_1",
  source: { session: "s1", turn: "turn_1", service: "desk" },
  type: "decision",
  severity: "medium",
  title: "Open an expensive ticket?",
  description: "",
  context: { tool: "openTicket", input: { unitPrice: 5 } },
  suggestedActions: [{ value: "approve", label: "승인", style: "primary" }],
  status: "open",
  resolution: null,
  resolvedBy: null,
  resolvedByPerson: null,
  resolvedAt: null,
  createdAt: 1,
  expiresAt: null,
  step: "person",
  nextStepAt: null,
};

/** Holds `escalation_1`, which is answered or dismissed once. */
class TestInbox implements EscalationInbox {
  readonly decided: object[] = [];
  readonly filters: object[] = [];
  readonly list: EscalationInbox["list"] = async (filter) => {
    this.filters.push(filter);
    return { items: [open], nextCursor: "1.escalation_1" };
  };
  readonly count: EscalationInbox["count"] = async () => ({ medium: 10_000 });
  readonly get: EscalationInbox["get"] = async (id) => {
    if (id !== open.id) {
      throw new DureError("ESCALATION_UNKNOWN", `There is no escalation ${id}.`, {
        class: "not-found",
      });
    }
    return open;
  };
  readonly answer: EscalationInbox["answer"] = async (id, { value, note }, by) => {
    await this.#decide(id, { value, note, by: by.name });
    return {
      turn: "turn_2",
      escalation: {
        ...open,
        status: "resolved",
        resolution: { value, ...(note !== undefined && { note }) },
        resolvedBy: by.name,
        resolvedAt: 2,
      },
    };
  };
  readonly dismiss: EscalationInbox["dismiss"] = async (id, by, note) => {
    await this.#decide(id, { value: "dismissed", note, by: by.name });
    return {
      ...open,
      status: "dismissed",
      resolution: { value: "dismissed" },
      resolvedBy: by.name,
      resolvedAt: 2,
    };
  };

  async #decide(id: string, decision: object): Promise<void> {
    await this.get(id, { tenant: "" });
    if (this.decided.length > 0) {
      throw new DureError("ESCALATION_CLOSED", `The escalation ${id} is resolved already.`, {
        class: "conflict",
      });
    }
    this.decided.push(decision);
  }
}

test("the inbox is listed in the spelling of the wire, and the context keeps its own keys", async () => {
  const inbox = new TestInbox();
  await using server = await startTestServer({ inbox });

  const page = (await (
    await server.fetch(
      "/v1/escalations?status=open&severity=medium&type=decision&run=r1&port=p1&job=j1&room=web:general&session=s1&limit=5&cursor=9.x",
    )
  ).json()) as { items: Record<string, unknown>[] };

  expect(page).toMatchObject({
    next_cursor: "1.escalation_1",
    items: [
      {
        id: "escalation_1",
        resolved_by: null,
        resolved_by_person: null,
        created_at: 1,
        suggested_actions: [{ value: "approve", style: "primary" }],
        context: { input: { unitPrice: 5 } },
      },
    ],
  });
  expect(inbox.filters).toEqual([
    {
      tenant: null,
      status: "open",
      severity: "medium",
      type: "decision",
      run: "r1",
      port: "p1",
      job: "j1",
      room: "web:general",
      session: "s1",
      limit: 5,
      cursor: "9.x",
    },
  ]);
});

test("how many there are on all pages is said where it is asked for", async () => {
  await using server = await startTestServer({ inbox: new TestInbox() });
  const countsOf = async (query: string): Promise<unknown> =>
    ((await (await server.fetch(`/v1/escalations${query}`)).json()) as { counts?: object }).counts;

  expect(await countsOf("?count=true")).toEqual({ medium: 10_000 });
  expect(await countsOf("")).toBeUndefined();
  expect(await countsOf("?count=false")).toBeUndefined();
});

test("who may only chat reads what is decided of a call by its tool's name, not with what", async () => {
  const auth = new MemoryTokenStore();
  auth.add("a-token-of-a-chatter", { name: "chatter", scopes: ["chat"] });
  const inbox = new TestInbox();
  const usual = { ...open, title: 'openTicket: {"unitPrice":5}' };
  await using server = await startTestServer({
    auth,
    inbox: Object.assign(inbox, { list: async () => ({ items: [open, usual], nextCursor: null }) }),
  });
  const headers = { authorization: "Bearer a-token-of-a-chatter" };

  const listed = await (await server.fetch("/v1/escalations", { headers })).json();

  expect(listed).toMatchObject({
    items: [{ title: "Open an expensive ticket?" }, { title: "openTicket" }],
  });
  expect(JSON.stringify(listed)).not.toContain("unitPrice");
});

test("one escalation is read by its id", async () => {
  await using server = await startTestServer({ inbox: new TestInbox() });

  expect(await (await server.fetch("/v1/escalations/escalation_1")).json()).toMatchObject({
    id: "escalation_1",
    source: { session: "s1" },
  });
  expect((await server.fetch("/v1/escalations/nope")).status).toBe(404);
});

test("an answer closes one escalation, is audited, and a second one is 409", async () => {
  const inbox = new TestInbox();
  await using server = await startTestServer({ inbox });

  const first = await server.post("/v1/escalations/escalation_1/answer", {
    value: "approve",
    note: "only this once",
  });
  const second = await server.post("/v1/escalations/escalation_1/answer", { value: "approve" });

  expect([first.status, await first.json()]).toMatchObject([
    200,
    {
      turn_id: "turn_2",
      escalation: { status: "resolved", resolution: { value: "approve", note: "only this once" } },
    },
  ]);
  expect([second.status, await second.json()]).toMatchObject([409, { code: "ESCALATION_CLOSED" }]);
  expect(inbox.decided).toHaveLength(1);
  expect(server.audit).toMatchObject([
    { what: "escalation.approve", subject: "escalation_1", outcome: "done" },
    { what: "escalation.approve", subject: "escalation_1", outcome: "ESCALATION_CLOSED" },
  ]);
});

test("one without a decision is dismissed, with a reason or without a body", async () => {
  const inbox = new TestInbox();
  await using server = await startTestServer({ inbox });

  const first = await server.fetch("/v1/escalations/escalation_1/dismiss", { method: "POST" });
  const second = await server.post("/v1/escalations/escalation_1/dismiss", { note: "an old one" });

  expect([first.status, await first.json()]).toMatchObject([200, { status: "dismissed" }]);
  expect(second.status).toBe(409);
  expect(server.audit).toMatchObject(
    ["done", "ESCALATION_CLOSED"].map((outcome) => ({
      what: "escalation.dismissed",
      subject: "escalation_1",
      outcome,
    })),
  );
});

test.for([
  ["an unknown escalation", "/v1/escalations/nope/answer", { value: "approve" }, 404],
  ["no value", "/v1/escalations/escalation_1/answer", {}, 400],
  ["a value of the wrong type", "/v1/escalations/escalation_1/answer", { value: 1 }, 400],
  [
    "a note that is too long",
    "/v1/escalations/escalation_1/answer",
    { value: "approve", note: "가".repeat(4_001) },
    400,
  ],
  ["an unknown escalation to dismiss", "/v1/escalations/nope/dismiss", {}, 404],
] as const)("%s is a clear problem", async ([, path, body, status]) => {
  const inbox = new TestInbox();
  await using server = await startTestServer({ inbox });

  expect((await server.post(path, body)).status).toBe(status);
  expect(inbox.decided).toHaveLength(0);
});

test("a token that may only chat sees what waits, and may not decide", async () => {
  const auth = new MemoryTokenStore();
  auth.add("a-token-of-somebody", { name: "chatter", scopes: ["chat"] });
  await using server = await startTestServer({ inbox: new TestInbox(), auth });
  const headers = { authorization: "Bearer a-token-of-somebody" };

  expect((await server.fetch("/v1/escalations", { headers })).status).toBe(200);
  expect((await server.fetch("/v1/escalations/escalation_1", { headers })).status).toBe(200);
  expect(
    (await server.post("/v1/escalations/escalation_1/answer", { value: "approve" }, headers))
      .status,
  ).toBe(403);
  expect((await server.post("/v1/escalations/escalation_1/dismiss", {}, headers)).status).toBe(403);
});
