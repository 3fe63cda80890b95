import path from "node:path";
import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { foldersForRun } from "../../src/team/repositories.ts";
import { testRepository } from "../plans/real-runs.ts";
import { ended, ownTeam } from "./own-team.ts";

/** A port that ends at once, and one whose worker goes on until it is ended. */
const plan = {
  file: "long.yaml",
  text: `
plan: long
roles: modules
workers:
  default: { kind: command, command: [sh, -c, "echo new > src/$DURE_PORT_ID.txt; test $DURE_PORT_ID = quick || sleep 600"] }
ports:
  - { id: quick, role: quick, goal: Write., owns: [src/quick.txt], acceptance: "true" }
  - { id: slow, role: slow, goal: Wait., owns: [src/slow.txt], acceptance: "true", dependsOn: [quick] }
`,
};

test(
  "a tenant's run is stopped when its repository is taken away while it works",
  FULL,
  async () => {
    await using shop = await testRepository({ "src/shop.txt": "A shop.\n" });
    const named = { shop: { path: shop.folder, tenants: ["acme"] } };
    const { client, restart } = await ownTeam("", { repositories: named });
    const before = await client(["plans"], "acme");
    const { id } = await before.plans.start(plan);
    const statusOf = async (): Promise<string> => (await before.plans.port(id, "slow")).status;
    await expect.poll(statusOf, { timeout: 20_000 }).toBe("running");
    const draft = await before.plans.drafts.make({ goal: "As before.", text: plan.text });

    await restart({ repositories: { shop: { path: shop.folder, tenants: ["beta"] } } });
    const acme = await client(["admin"], "acme");
    const fingerprint = await shop.fingerprint();
    await ended(acme, id);

    expect(await acme.plans.run(id)).toMatchObject({
      status: "failed",
      because: {
        code: "REPOSITORY_UNKNOWN",
        message: "Its repository is not known to this tenant.",
      },
      report: { kept: ["quick"] },
    });
    expect((await acme.plans.run(id)).report?.commit).toBeUndefined();
    const refusal = { code: "REPOSITORY_UNKNOWN", details: { status: 404 } };
    for (const deed of [
      () => acme.plans.merge(id),
      () => acme.plans.publish(id),
      () => acme.plans.again(id),
      () => acme.plans.retry(id, "slow"),
      () => acme.plans.diff(id),
      () => acme.plans.diff(id, "quick"),
      () => acme.plans.drafts.get(draft.id),
      () => acme.plans.start(plan),
    ]) {
      await expect(deed(), deed.toString()).rejects.toMatchObject(refusal);
    }
    expect(await shop.fingerprint()).toBe(fingerprint);
  },
);

test("a run that comes from another machine goes on in no other tenant's repository", async () => {
  const folder = path.resolve("/team");
  const config = {
    services: {},
    repositories: {
      shop: { path: "../shop", tenants: ["acme"] },
      site: { path: "../site", tenants: ["beta"] },
      app: { path: "../app" },
    },
  };
  const team = { folder, config };

  expect(foldersForRun(team, { tenant: "acme" })).toEqual(["/shop"]);
  expect(foldersForRun(team, { tenant: "gone" })).toEqual([]);
  expect(foldersForRun(team, { tenant: "" })).toEqual(["/shop", "/site", "/app", folder]);
});
