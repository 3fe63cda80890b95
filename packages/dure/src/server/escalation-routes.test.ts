import { expect, test } from "vitest";
import type { Escalation } from "../escalations/inbox.ts";
import { DureError } from "../kernel/errors.ts";
import { MemoryTokenStore } from "./token-store.ts";
import { startTestServer } from "./test-server.ts";

const open: Escalation = {
  id: "escalation_1",
  type: "decision",
  severity: "warning",
  status: "open",
  session: "s1",
  turn: "turn_1",
  service: "desk",
  question: "Open an expensive ticket?",
  context: { tool: "openTicket", input: { unitPrice: 5 } },
  options: [{ value: "approve", label: "승인" }],
  answer: null,
  answeredBy: null,
  createdAt: 1,
  expiresAt: null,
  answeredAt: null,
};

/** Answers `escalation_1` with `approve`, once. */
class TestInbox {
  readonly answers: [string, string, string][] = [];
  readonly list = async (): Promise<readonly Escalation[]> => [open];
  readonly answer = async (id: string, value: string, by: { name: string }): Promise<{ turn: string | null }> => {
    if (id !== open.id) throw new DureError("ESCALATION_UNKNOWN", `There is no escalation ${id}.`, { class: "not-found" });
    if (this.answers.length > 0) throw new DureError("ESCALATION_CLOSED", `The escalation ${id} is answered already.`, { class: "conflict" });
    this.answers.push([id, value, by.name]);
    return { turn: "turn_2" };
  };
}

test("the inbox is listed in the spelling of the wire, and the context keeps its own keys", async () => {
  await using server = await startTestServer({ inbox: new TestInbox() });

  const { items } = (await (await server.fetch("/v1/escalations?status=open")).json()) as { items: Record<string, unknown>[] };

  expect(items[0]).toMatchObject({ id: "escalation_1", answered_by: null, created_at: 1, context: { input: { unitPrice: 5 } } });
});

test("an answer closes one question, is audited, and a second one is 409", async () => {
  const inbox = new TestInbox();
  await using server = await startTestServer({ inbox });

  const first = await server.post("/v1/escalations/escalation_1/answer", { value: "approve" });
  const second = await server.post("/v1/escalations/escalation_1/answer", { value: "approve" });

  expect([first.status, await first.json()]).toEqual([200, { turn_id: "turn_2" }]);
  expect([second.status, await second.json()]).toMatchObject([409, { code: "ESCALATION_CLOSED" }]);
  expect(inbox.answers).toHaveLength(1);
  expect(server.audit).toMatchObject([{ what: "escalation.approve", subject: "escalation_1" }]);
});

test.for([
  ["an unknown escalation", "/v1/escalations/nope/answer", { value: "approve" }, 404],
  ["no value", "/v1/escalations/escalation_1/answer", {}, 400],
  ["a value of the wrong type", "/v1/escalations/escalation_1/answer", { value: 1 }, 400],
] as const)("%s is a clear problem", async ([, path, body, status]) => {
  const inbox = new TestInbox();
  await using server = await startTestServer({ inbox });

  expect((await server.post(path, body)).status).toBe(status);
  expect(inbox.answers).toHaveLength(0);
});

test("a token that may only chat sees what waits, and may not answer", async () => {
  const auth = new MemoryTokenStore();
  auth.add("a-token-of-somebody", { name: "chatter", scopes: ["chat"] });
  await using server = await startTestServer({ inbox: new TestInbox(), auth });
  const headers = { authorization: "Bearer a-token-of-somebody" };

  expect((await server.fetch("/v1/escalations", { headers })).status).toBe(200);
  expect((await server.post("/v1/escalations/escalation_1/answer", { value: "approve" }, headers)).status).toBe(403);
});
