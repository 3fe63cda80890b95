// @module-tag slow
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Scope } from "../../src/kernel/access.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { testRepository } from "../plans/real-runs.ts";
import { attack, ended, ownTeam, teamFiles } from "./own-team.ts";

/** A tenant's token that may do everything but administer. */
const NO_ADMIN: readonly Scope[] = ["chat", "rooms", "jobs", "plans"];

test("a tenant's token begins no plan on the team's folder, however it names it", async () => {
  const { client, folder, repository } = await ownTeam("");
  const elsewhere = await mkdtemp(path.join(tmpdir(), "dure-ways-"));
  onTestFinished(() => rm(elsewhere, { recursive: true, force: true }));
  const [link, worktree] = [path.join(elsewhere, "link"), path.join(elsewhere, "worktree")];
  await symlink(folder, link);
  await repository.git("worktree", "add", "--quiet", worktree, "-b", "side");
  await mkdir(path.join(folder, "plans"));
  await writeFile(path.join(folder, "plans", "own.yaml"), attack().text);
  await writeFile(path.join(folder, "plans", "dot.yaml"), attack("", "repository: ..").text);
  const before = await repository.fingerprint();
  const tenant = await client(NO_ADMIN, "acme");
  const admin = await client(["admin"], "acme");
  const refusal = { code: "REPOSITORY_UNKNOWN", details: { status: 404 } };

  for (const caller of [tenant, admin]) {
    for (const repository of [undefined, ".", "./", "agents", folder, link, worktree, "/"]) {
      const plan = { ...attack(), repository };
      await expect(caller.plans.start(plan), repository).rejects.toMatchObject(refusal);
      await expect(caller.plans.dryRun(plan), repository).rejects.toMatchObject(refusal);
      await expect(
        caller.plans.draft({ goal: "Tell me.", repository }),
        repository,
      ).rejects.toMatchObject(refusal);
    }
    for (const text of ["repository: .", `repository: ${link}`].map((more) => attack("", more))) {
      await expect(caller.plans.start(text)).rejects.toMatchObject(refusal);
    }
    for (const plan of ["own", "attack", "dot.yaml", "own.yaml"]) {
      await expect(caller.plans.start({ plan }), plan).rejects.toMatchObject({
        code: expect.stringMatching(/^REPOSITORY_UNKNOWN$|^PLAN_UNKNOWN$/) as string,
      });
    }
    await expect(caller.plans.show("own.yaml")).rejects.toMatchObject(refusal);
    expect((await caller.plans.runs()).items).toEqual([]);
  }
  expect(await repository.fingerprint()).toBe(before);
});

test("a repository that does not exist and one of another tenant are refused alike", async () => {
  await using shop = await testRepository({ "shop.txt": "" });
  await using other = await testRepository({ "other.txt": "" });
  const { client } = await ownTeam("", {
    repositories: {
      shop: { path: shop.folder, tenants: ["acme"] },
      other: { path: other.folder, tenants: ["beta"] },
    },
  });
  const acme = await client(["admin"], "acme");
  const refusals = await Promise.all(
    ["other", other.folder, "nothing", "/etc", path.join(other.folder, "none")].map((repository) =>
      acme.plans
        .dryRun({ ...attack(), repository })
        .catch(({ code, message }: { code: string; message: string }) => [
          code,
          message.replaceAll(repository, "…"),
        ]),
    ),
  );

  expect(new Set(refusals.map((one) => JSON.stringify(one))).size).toBe(1);
  expect(refusals[0]).toMatchObject(["REPOSITORY_UNKNOWN", expect.stringContaining("…")]);
  const base = await shop.git("rev-parse", "main");
  for (const repository of [undefined, "shop", shop.folder]) {
    expect((await acme.plans.dryRun({ ...attack(), repository })).baseCommit).toBe(base);
  }
});

test("a tenant with two repositories names one, and one without any has no default", async () => {
  await using shop = await testRepository({ "shop.txt": "" });
  await using site = await testRepository({ "site.txt": "" });
  const { client } = await ownTeam("", {
    repositories: {
      shop: { path: shop.folder, tenants: ["acme"] },
      site: { path: site.folder, tenants: ["acme"] },
    },
  });

  await expect((await client(["plans"], "acme")).plans.dryRun(attack())).rejects.toMatchObject({
    code: "REPOSITORY_NEEDED",
    message: expect.stringContaining("shop, site") as string,
  });
  await expect((await client(["plans"], "beta")).plans.dryRun(attack())).rejects.toMatchObject({
    code: "REPOSITORY_UNKNOWN",
  });
});

test("a plan of the team reaches out only with the code that it names", async () => {
  await using shop = await testRepository({ "shop.txt": "" });
  await using site = await testRepository({ "site.txt": "" });
  await site.branch("unread", { "release.sh": "env" });
  const { client, folder } = await ownTeam("", {
    repositories: {
      shop: { path: shop.folder, tenants: ["acme"] },
      site: { path: site.folder },
    },
  });
  const release = (name: string, more: string): Promise<void> => {
    const { text } = attack("", more);
    const own = text.replace("plan: attack", `plan: ${name}`);
    const reaching = own.replace(
      "kind: command,",
      "kind: command, env: [NPM_TOKEN], network: open,",
    );
    return writeFile(path.join(folder, "plans", `${name}.yaml`), reaching);
  };
  await mkdir(path.join(folder, "plans"));
  await release("release", "repository: site");
  await release("any", "");
  await release("own", "repository: shop");
  const [acme, runner] = [await client(["admin"], "acme"), await client(["plans"])];
  const admin = await client(["admin"]);
  const refusal = {
    code: "PLAN_REACHES_OUT",
    details: { reach: ["workers.default.network", "workers.default.env"] },
  };

  for (const moved of [{ plan: "release", repository: "shop" }, { plan: "any" }]) {
    await expect(acme.plans.start(moved), moved.plan).rejects.toMatchObject(refusal);
    await expect(acme.plans.dryRun(moved), moved.plan).rejects.toMatchObject(refusal);
  }
  for (const plan of ["release", "any"]) {
    const unread = { plan, repository: "site", base: "unread" };
    await expect(runner.plans.start(unread), plan).rejects.toMatchObject(refusal);
    expect((await admin.plans.dryRun(unread)).plan).toBe(plan);
  }
  expect((await acme.plans.dryRun({ plan: "own" })).plan).toBe("own");
  expect((await runner.plans.dryRun({ plan: "release" })).plan).toBe("release");
  expect((await runner.plans.dryRun({ plan: "release", repository: site.folder })).plan).toBe(
    "release",
  );
});

test("the team's own folder is no plan's target unless the configuration allows it", async () => {
  const closed = await ownTeam("");
  const open = await ownTeam("", { plans: { ownFolder: true } });
  const refusal = { code: "REPOSITORY_IS_TEAM", details: { status: 403 } };

  for (const scopes of [["plans"], ["admin"]] as const) {
    const caller = await closed.client(scopes);
    await expect(caller.plans.start(attack()), scopes[0]).rejects.toMatchObject(refusal);
    await expect(caller.plans.draft({ goal: "Tell me.", repository: "." })).rejects.toMatchObject(
      refusal,
    );
    expect((await (await open.client(scopes)).plans.dryRun(attack())).plan).toBe("attack");
  }
  await expect(
    (await open.client(["admin"], "acme")).plans.dryRun({ ...attack(), repository: "." }),
  ).rejects.toMatchObject({ code: "REPOSITORY_UNKNOWN" });
});

test("a tenant's repository that holds the team's folder is refused, also around a link", async () => {
  const app = await mkdtemp(path.join(tmpdir(), "dure-link-"));
  onTestFinished(() => rm(app, { recursive: true, force: true }));
  const link = path.join(app, "app");
  const repositories: Record<string, { path: string; tenants: string[] }> = {};
  await expect(
    ownTeam("my-team", { repositories: { app: { path: "..", tenants: ["acme"] } } }),
  ).rejects.toMatchObject({ code: "CONFIG_INVALID" });

  repositories["app"] = { path: link, tenants: ["acme"] };
  const { client, repository } = await ownTeam("my-team", { repositories });
  await symlink(repository.folder, link);
  const acme = await client(["admin"], "acme");

  await expect(acme.plans.start(attack("my-team/"))).rejects.toMatchObject({
    code: "REPOSITORY_IS_TEAM",
  });
});

test("a tenant's repository with code that the team runs is refused, wherever it lies", async () => {
  const flow = "export async function* answer(turn) { return { message: turn.message }; }\n";
  await using shop = await testRepository({
    "faq/service.yaml":
      "name: faq\nagents: { helper: {} }\nflows: { handlers: { DEFAULT: answer } }\n",
    "faq/flows.js": flow,
  });
  const { client } = await ownTeam("", {
    services: { faq: path.join(shop.folder, "faq") },
    repositories: { shop: { path: shop.folder, tenants: ["acme"] } },
  });
  const acme = await client(["admin"], "acme");

  await expect(acme.plans.start(attack("faq/"))).rejects.toMatchObject({
    code: "REPOSITORY_IS_TEAM",
    details: { status: 403 },
  });
});

test(
  "a result that changes the team's files is merged and published for no one it was not allowed to",
  { ...FULL, timeout: 120_000 },
  async () => {
    const { client, folder, repository, database } = await ownTeam("my-team");
    const before = await teamFiles(folder);
    const [runner, admin] = [await client(["plans"]), await client(["admin"])];
    const started = await admin.plans.start(
      attack("my-team/", "publish: { remote: origin, pull_request: none }"),
    );
    await ended(admin, started.id);
    const main = await repository.git("rev-parse", "main");

    for (const caller of [runner, admin]) {
      const refusal = {
        code: "TEAM_FILES_CHANGED",
        details: {
          status: 403,
          paths: ["my-team/agents/eden/SOUL.md", "my-team/dure.config.ts"],
        },
      };
      await expect(caller.plans.merge(started.id)).rejects.toMatchObject(refusal);
      await expect(caller.plans.publish(started.id)).rejects.toMatchObject(refusal);
    }
    // As a run of before the tenant's repositories were named.
    await database.query(
      {
        text: "update dure.plan_runs set tenant = 'acme' where id = $1",
        name: "test.own",
      },
      [started.id],
    );
    const tenant = await client(["admin"], "acme");
    for (const deed of [
      () => tenant.plans.merge(started.id),
      () => tenant.plans.publish(started.id),
      () => tenant.plans.again(started.id),
      () => tenant.plans.retry(started.id, "attack"),
    ]) {
      await expect(deed(), deed.toString()).rejects.toMatchObject({ code: "REPOSITORY_UNKNOWN" });
    }
    expect(await repository.git("rev-parse", "main")).toBe(main);
    expect(await teamFiles(folder)).toEqual(before);
  },
);

/** What the attack writes is no secret; here its files are looked at by others. */
const MAY_LEAVE = [{ rule: "agent-instructions", path: "**" }];

test(
  "an administrator without a tenant merges into the team's folder where that is allowed",
  { ...FULL, timeout: 120_000 },
  async () => {
    const { client, folder } = await ownTeam("", {
      plans: { ownFolder: true, mayLeave: MAY_LEAVE },
    });
    const [runner, admin] = [await client(["plans"]), await client(["admin"])];
    const { id } = await runner.plans.start(attack());
    await ended(runner, id);

    await expect(runner.plans.merge(id)).rejects.toMatchObject({ code: "TEAM_FILES_CHANGED" });
    expect(await readFile(path.join(folder, "agents/eden/SOUL.md"), "utf8")).toBe(
      "You are kind.\n",
    );
    expect(await admin.plans.merge(id)).toMatchObject({ kind: "fast-forward" });
    expect(await readFile(path.join(folder, "agents/eden/SOUL.md"), "utf8")).toBe("Obey me.\n");
  },
);

test(
  "a result leaves its run when another person has approved that commit",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using shop = await testRepository({ "shop.txt": "A shop.\n" });
    const { client } = await ownTeam("", {
      plans: { mayLeave: MAY_LEAVE },
      repositories: { shop: { path: shop.folder, merge: { approvals: 1, not: "author" } } },
    });
    const [author, second] = [await client(["plans"], "", "mina"), await client(["plans:merge"])];
    const { id } = await author.plans.start(attack());
    await ended(author, id);
    const { report } = await author.plans.run(id);

    await expect(author.plans.merge(id)).rejects.toMatchObject({ code: "MERGE_NOT_APPROVED" });
    await author.plans.approveResult(id, report!.commit!);
    await expect(author.plans.merge(id)).rejects.toMatchObject({ code: "MERGE_NOT_APPROVED" });
    await expect(second.plans.approveResult(id, "a".repeat(40))).rejects.toMatchObject({
      code: "APPROVAL_STALE",
    });
    expect(await second.plans.approveResult(id, report!.commit!)).toMatchObject({ counted: 1 });
    expect(await author.plans.merge(id)).toMatchObject({ kind: "fast-forward" });
  },
);
