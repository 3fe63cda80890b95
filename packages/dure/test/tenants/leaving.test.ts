// @module-tag slow
import { expect, test } from "vitest";
import { raiseEscalations } from "../../src/escalations/inbox.ts";
import type { Scope } from "../../src/kernel/access.ts";
import { escalationFor } from "../../src/plans/ask/triggers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { testRepository } from "../plans/real-runs.ts";
import { attack, ownTeam } from "./own-team.ts";

const CONFIRM = "0123456789abcdef".repeat(2);

test.each(["merge", "publish"])(
  "no token says yes to findings at a %s but one that an operator gave to a person for that",
  async (verb) => {
    const { database, url } = await ownTeam("");
    const tokens = new PostgresTokenStore({ database });
    const answer = async (token: string): Promise<string> => {
      const response = await fetch(`${url}/v1/runs/run_1/${verb}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ confirm: CONFIRM }),
      });
      const { code } = (await response.json()) as { code: string };
      return `${response.status} ${code}`;
    };
    const answerWith = async (...scopes: readonly Scope[]): Promise<string> =>
      answer((await tokens.create({ name: "test", scopes })).token);

    const refused = "403 CONFIRM_NEEDS_PERSON";
    expect(await answerWith("plans:merge")).toBe(refused);
    expect(await answerWith("admin", "plans", "plans:unconfined")).toBe(refused);
    expect(await answer("team-folder-token-0123456789")).toBe(refused);
    expect(await answerWith("plans:confirm")).toBe("403 SCOPE_MISSING");
    expect(await answerWith("plans:merge", "plans:confirm")).toBe("404 RUN_UNKNOWN");
  },
);

test("an answer lets no run go on in a repository that its tenant may not have any more", async () => {
  await using shop = await testRepository({ "shop.txt": "A shop.\n" });
  const { client, database, url } = await ownTeam("", {
    repositories: { shop: { path: shop.folder } },
  });
  const operator = await client(["admin"]);
  const { id: run } = await operator.plans.start({ ...attack(), repository: "shop" });
  await operator.plans.cancel(run);
  // As a run of before the tenant's repositories were named, or of a repository taken away since.
  const own = { name: "test.own", text: "update dure.plan_runs set tenant = 'acme' where id = $1" };
  await database.query(own, [run]);
  const asked = { tenant: "acme", run, plan: "attack", port: "attack", title: "It failed." };
  const tokens = new PostgresTokenStore({ database });
  const answer = async (value: string, tenant: string): Promise<string> => {
    const [raised] = await raiseEscalations(database, [escalationFor("tries-exhausted", asked)]);
    const { token } = await tokens.create({ name: "test", scopes: ["admin"], tenant });
    const response = await fetch(`${url}/v1/escalations/${raised!.id}/answer`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ value }),
    });
    const { code = "ok" } = (await response.json()) as { code?: string };
    return `${response.status} ${code}`;
  };

  expect(await answer("retry", "acme")).toBe("404 REPOSITORY_UNKNOWN");
  expect(await answer("retry", "beta")).toBe("404 ESCALATION_UNKNOWN");
  expect(await answer("cancel", "acme")).toBe("200 ok");
  expect(await answer("retry", "")).toBe("200 ok");
});
