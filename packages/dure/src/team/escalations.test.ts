import { expect, test } from "vitest";
import type { Database } from "../durable/database.ts";
import { APPROVE_SESSION } from "../kernel/escalation.ts";
import { resolveEscalationTool } from "./escalations.ts";

test("an agent that decides in place of people allows one call, and none that come later", async () => {
  const answered: string[] = [];
  const inbox = {
    answer: async (_id: string, { value }: { value: string }) => answered.push(value),
  };
  const database = { query: async () => [{ tenant: "" }] };
  const decide = resolveEscalationTool("ruda", async () => ({
    inbox: inbox as never,
    database: database as unknown as Database,
  }));
  const context = {
    ...{ session: "escalation:escalation_1", turn: "turn_1", agent: "ruda", key: "k", attempt: 1 },
    signal: new AbortController().signal,
  };
  const say = async (value: string): Promise<unknown> =>
    decide.execute({ value }, context, context);

  await expect(say(APPROVE_SESSION)).rejects.toMatchObject({ code: "ESCALATION_NOT_YOURS" });
  expect(await say("approve")).toMatchObject({ ok: true });
  expect(answered).toEqual(["approve"]);
});
