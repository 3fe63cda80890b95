// @module-tag slow
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import {
  DureClient,
  isRunOver,
  type PlanRun,
  type RunDetail,
  type RunNews,
} from "../../src/client/index.ts";
import { SseReader } from "../../src/server/test-server.ts";
import { MemoryTokenStore } from "../../src/server/token-store.ts";
import { FILES, startPlanServer, type PlanServer } from "./plan-server.ts";
import { testRepository } from "./real-runs.ts";
import type { Scope } from "../../src/kernel/access.ts";

let at: PlanServer;
let dure: DureClient;

beforeAll(async () => {
  at = await startPlanServer();
  dure = new DureClient({ baseUrl: at.server.url, reconnect: { maxDelayMs: 20 } });
}, 60_000);
afterAll(async () => at?.[Symbol.asyncDispose](), 60_000);

/** Waits for the end of a run as a client does: by its stream. */
async function followed(run: Pick<PlanRun, "id">): Promise<{ run: RunDetail; types: string[] }> {
  const types: string[] = [];
  for await (const news of dure.plans.stream(run.id)) {
    types.push(news.kind === "run" ? "run" : news.event.type);
  }
  return { run: await dure.plans.run(run.id), types };
}

async function eventually(look: () => Promise<unknown>, wanted: unknown): Promise<void> {
  await expect.poll(look, { timeout: 30_000, interval: 30 }).toEqual(wanted);
}

test(
  "plans are listed with their problems, shown against the repository, and checked as text",
  FULL,
  async () => {
    const files = await dure.plans.list();
    const shop = await dure.plans.show("shop");
    const [broken, unknown, byFile] = await Promise.all([
      at.server.fetch("/v1/plans/broken.yaml"),
      at.server.fetch("/v1/plans/nothing"),
      at.server.fetch("/v1/plans/shop.yaml"),
    ]);
    const checked = await dure.plans.check({ file: "new.yaml", text: "plan: new\nports: []\n" });

    expect(files.map(({ name, ports, problems }) => [name, ports, problems.length])).toEqual([
      ["asking", 1, 0],
      ["broken", 0, 1],
      ["hooked", 1, 0],
      ["shop", 2, 0],
      ["steer", 3, 0],
    ]);
    expect(files[1]!.problems[0]).toMatchObject({
      file: "broken.yaml",
      line: 5,
      message: expect.stringContaining("b") as string,
    });
    expect(shop).toMatchObject({
      plan: "shop",
      levels: [["price"], ["stock"]],
      criticalPath: ["price", "stock"],
      maxParallel: 1,
      mode: { mode: "in-order" },
      unowned: ["README.md", "package.json"],
      unownedCount: 2,
      warnings: [],
      workers: [{ role: "default", kind: "offline" }],
    });
    expect(shop.ports[1]).toMatchObject({
      id: "stock",
      title: "stock",
      dependsOn: ["price"],
      owns: ["src/stock/**"],
    });
    expect(shop.mode.conditions.map(({ name, holds }) => [name, holds])).toContainEqual([
      "fewer than 5 files",
      true,
    ]);
    expect([broken.status, unknown.status, byFile.status]).toEqual([400, 404, 200]);
    expect(await broken.json()).toMatchObject({ code: "PLAN_INVALID", problems: [{ line: 5 }] });
    expect(checked.ok).toBe(false);
    expect(
      checked.problems.every(({ file, line }) => file === "new.yaml" && line !== undefined),
    ).toBe(true);
  },
);

test("a dry run begins nothing and says what only some ports would need", FULL, async () => {
  const whole = await dure.plans.dryRun({ plan: "shop" });
  const some = await dure.plans.dryRun({ plan: "shop", only: ["price"] });
  const unknown = await at.server.post("/v1/runs", {
    plan: "shop",
    only: ["nothing"],
    dry_run: true,
  });

  expect([whole.ports.length, some.ports.map(({ id }) => id)]).toEqual([2, ["price"]]);
  expect([unknown.status, await unknown.json()]).toMatchObject([
    400,
    { code: "PLAN_PORT_UNKNOWN" },
  ]);
  expect((await dure.plans.runs({ plan: "shop" })).items).toEqual([]);
});

const TEXT = `
plan: drafted
roles: modules
violations: report
workers: { default: { kind: offline } }
ports:
  - { id: price, role: price, goal: Write prices., owns: [src/price/**], tests: [test/price/**], acceptance: node --test test/price/*.test.mjs }
`;

test(
  "plan text without a file is checked, runs from another branch, and is once per key",
  { ...FULL, timeout: 300_000 },
  async () => {
    const main = await at.repository.git("rev-parse", "main");
    const next = await at.repository.branch("next", {
      "src/price/next.mjs": "export const next = true;\n",
    });
    const send = (body: object, key = "text-once"): Promise<Response> =>
      at.server.post("/v1/runs", body, { "idempotency-key": key });
    const wrong = await send(
      {
        file: "mine/draft.yaml",
        text: TEXT.replace("role: price,", "role: price, dependsOn: [nobody],"),
      },
      "wrong",
    );
    const refused = await Promise.all([
      send({}, "a"),
      send({ plan: "shop", text: TEXT }, "b"),
      send({ plan: "shop", file: "a.yaml" }, "c"),
      send({ text: "" }, "d"),
      send({ plan: "shop", base: "--upload-pack=x" }, "e"),
    ]);
    const unknown = await send({ plan: "shop", base: "nowhere" }, "f");
    const [dry, byName] = [
      await dure.plans.dryRun({ file: "draft.yaml", text: TEXT }),
      await dure.plans.dryRun({ plan: "shop", base: "next" }),
    ];
    const [first, second, other] = [
      await send({ file: "draft.yaml", text: TEXT, base: "next" }),
      await send({ file: "draft.yaml", text: TEXT, base: "next" }),
      await send({ file: "draft.yaml", text: TEXT }),
    ];
    const { run } = await followed((await first.clone().json()) as PlanRun);
    const merged = await dure.plans.merge(run.id);
    const found = await Promise.all([
      dure.plans.runs({ key: "text-once" }),
      dure.plans.runs({ key: "text" }),
    ]);

    expect(found.map(({ items }) => items.map(({ id }) => id))).toEqual([[run.id], []]);
    expect([wrong.status, await wrong.json()]).toMatchObject([
      400,
      {
        code: "PLAN_INVALID",
        problems: [
          {
            file: "mine/draft.yaml",
            line: 7,
            message: expect.stringContaining("nobody") as string,
          },
        ],
      },
    ]);
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
    expect([unknown.status, await unknown.json()]).toMatchObject([400, { code: "BASE_UNKNOWN" }]);
    expect(dry).toMatchObject({
      plan: "drafted",
      file: "draft.yaml",
      base: "HEAD",
      baseCommit: main,
      violations: "report",
      levels: [["price"]],
    });
    expect([byName.base, byName.baseCommit]).toEqual(["next", next]);
    expect([first.status, second.status, other.status]).toEqual([202, 202, 422]);
    expect(((await second.json()) as PlanRun).id).toBe(run.id);
    expect(run).toMatchObject({
      plan: "drafted",
      status: "success",
      baseCommit: next,
      definition: { base: "next" },
      report: { branch: "dure/drafted" },
    });
    expect(merged).toMatchObject({ kind: "fast-forward", target: "next" });
    expect(
      (await at.repository.git("ls-tree", "--name-only", "next", "src/price/")).split("\n"),
    ).toEqual(["src/price/next.mjs", "src/price/price.mjs"]);
    expect(await at.repository.git("rev-parse", "main")).toBe(main);
    expect((await dure.plans.list()).map(({ name }) => name)).not.toContain("drafted");
  },
);

test(
  "what a text asks for beyond its own tree only an admin may run; the team's own files may ask for it",
  FULL,
  async () => {
    const auth = new MemoryTokenStore();
    await using guarded = await at.serve({ auth });
    const tokenOf = async (scopes: Scope[], tenant: string): Promise<string> =>
      (await auth.create({ name: "test", scopes, tenant })).token;
    const client = async (scopes: Scope[], tenant: string): Promise<DureClient> =>
      new DureClient({ baseUrl: guarded.url, token: await tokenOf(scopes, tenant) });
    const [runner, ofTenant, admin] = [
      await client(["plans"], "reach"),
      await client(["admin"], "reach"),
      await client(["admin"], ""),
    ];
    const reaching = [
      ["violations: report", "isolation: audit"],
      ["{ kind: offline }", "{ kind: offline, env: [OPENAI_API_KEY] }"],
      ["{ kind: offline }", "{ kind: offline, writable: [~/notes] }"],
      ["{ kind: offline }", "{ kind: offline, reads_home: [datasets] }"],
      ["{ kind: offline } }", "{ kind: offline }, price: { kind: offline, allow_home: [.ssh] } }"],
      ["violations: report", "may_leave: [{ rule: ci, path: '**' }]"],
    ].map(([old, more]) => ({ file: "draft.yaml", text: TEXT.replace(old!, more!) }));

    for (const [index, reach] of [
      "isolation: audit",
      "workers.default.env",
      "workers.default.writable",
      "workers.default.reads_home",
      "workers.price.allow_home",
      "may_leave",
    ].entries()) {
      for (const call of [
        () => runner.plans.start(reaching[index]!),
        () => runner.plans.dryRun(reaching[index]!),
        () => ofTenant.plans.dryRun(reaching[index]!),
      ]) {
        await expect(call()).rejects.toMatchObject({
          code: "PLAN_REACHES_OUT",
          details: { status: 403, reach: [reach] },
        });
      }
      expect((await admin.plans.dryRun(reaching[index]!)).plan).toBe("drafted");
    }
    expect((await runner.plans.dryRun({ file: "draft.yaml", text: TEXT })).plan).toBe("drafted");
    expect((await runner.plans.runs()).items).toEqual([]);
  },
);

test("no answer to a tenant tells where its repository or the team lies", FULL, async () => {
  const auth = new MemoryTokenStore();
  await using guarded = await at.serve({ auth });
  const readme = join(at.repository.folder, "README.md");
  onTestFinished(() => writeFile(readme, FILES["README.md"]));
  await writeFile(readme, "A shop with a change that is not committed.\n");
  const { token } = await auth.create({ name: "acme", scopes: ["admin"], tenant: "acme" });
  const answers: string[] = [];
  const ask = async (method: string, path: string, body: unknown = {}): Promise<string> => {
    const response = await fetch(`${guarded.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: method === "GET" ? null : JSON.stringify(body),
    });
    answers.push(`${method} ${path} ${await response.text()}`);
    expect(response.ok, answers.at(-1)).toBe(true);

    return answers.at(-1)!;
  };

  expect(await ask("POST", "/v1/runs", { plan: "steer", dry_run: true })).toContain("UNCOMMITTED");
  await ask("POST", "/v1/runs", { plan: "steer", only: ["hold"] });
  const acme = new DureClient({ baseUrl: guarded.url, token });
  const [run] = (await acme.plans.runs()).items;
  const one = `/v1/runs/${run!.id}`;
  await eventually(async () => (await acme.plans.port(run!.id, "hold")).status, "running");
  for (const path of ["/v1/plans", "/v1/runs", one, `${one}/ports/hold`]) await ask("GET", path);
  await ask("POST", `${one}/pause`);
  await ask("POST", `${one}/cancel`);
  await eventually(async () => (await acme.plans.run(run!.id)).status, "cancelled");
  await ask("GET", `${one}/events`);
  await ask("POST", "/v1/runs/clean", { run: run!.id });

  expect(run!.repository).toBe("shop");
  expect((await dure.plans.run(run!.id)).repository).toBe(at.repository.folder);
  for (const answer of answers) {
    expect(answer).not.toContain(at.repository.folder);
    expect(answer).not.toContain(at.folder);
  }
});

test("only a token with plans:unconfined starts what takes protection away", async () => {
  const auth = new MemoryTokenStore();
  await using guarded = await at.serve({ auth });
  const client = async (scopes: Scope[]): Promise<DureClient> =>
    new DureClient({
      baseUrl: guarded.url,
      token: (await auth.create({ name: "test", scopes })).token,
    });
  const bare = { file: "bare.yaml", text: TEXT.replace("violations: report", "isolation: audit") };
  const lent = {
    file: "lent.yaml",
    text: TEXT.replace("{ kind: offline } }", "{ kind: offline, allow_home: [.ssh] } }"),
  };
  const worker = new DureClient({
    baseUrl: guarded.url,
    token: "hook_of_a_step_that_runs_somewhere",
  });

  for (const plan of [bare, lent]) {
    for (const caller of [await client(["admin"]), new DureClient({ baseUrl: at.server.url })]) {
      await expect(caller.plans.start(plan)).rejects.toMatchObject({
        code: "PLAN_UNCONFINED",
        details: { status: 403 },
      });
    }
    await expect((await client(["plans:unconfined"])).plans.start(plan)).rejects.toMatchObject({
      code: "SCOPE_MISSING",
    });
    await expect(worker.plans.start(plan)).rejects.toMatchObject({ code: "TOKEN_INVALID" });
  }
  const both = await client(["admin", "plans:unconfined"]);
  const { id } = await both.plans.start(bare, { idempotencyKey: "mine" });
  await both.plans.cancel(id);
  const begun = (await both.plans.runs({ plan: "drafted" })).items;
  expect(begun.map((run) => run.id)).toContain(id);
  // A key is found by the caller who used it alone.
  const [own, other, open] = await Promise.all(
    [both, await client(["admin"]), new DureClient({ baseUrl: at.server.url })].map(
      async (caller) => (await caller.plans.runs({ key: "mine" })).items.length,
    ),
  );
  expect([own, other, open]).toEqual([1, 0, 0]);
});

test(
  "only an admin works on, looks at or merges into a repository that the team has not named",
  { ...FULL, timeout: 300_000 },
  async () => {
    const auth = new MemoryTokenStore();
    await using guarded = await at.serve({ auth });
    await using strange = await testRepository(FILES);
    await using named = await testRepository(FILES);
    const client = async (scopes: Scope[]): Promise<DureClient> =>
      new DureClient({
        baseUrl: guarded.url,
        token: (await auth.create({ name: "test", scopes })).token,
      });
    const [runner, admin] = [await client(["plans"]), await client(["admin"])];
    const before = (await runner.plans.runs()).items.map(({ id }) => id);
    const inside = join(at.repository.folder, "inside");
    const planFile = join(at.folder, "plans", "elsewhere.yaml");
    onTestFinished(() =>
      Promise.all(
        [inside, planFile].map((path) => rm(path, { recursive: true, force: true })),
      ).then(() => {}),
    );
    await mkdir(join(inside, "vendored"), { recursive: true });
    await strange.git("clone", "--quiet", strange.folder, join(inside, "vendored"));
    await symlink(strange.folder, join(inside, "link"));
    await writeFile(
      planFile,
      TEXT.replace("plan: drafted", `plan: elsewhere\nrepository: ${named.folder}`),
    );
    const text = (repository: string): { file: string; text: string } => ({
      file: "draft.yaml",
      text: TEXT.replace("plan: drafted", `plan: drafted\nrepository: ${repository}`),
    });

    const refused = async (call: Promise<unknown>, about: string): Promise<void> =>
      expect(call, about).rejects.toMatchObject({
        code: "REPOSITORY_NOT_NAMED",
        details: { status: 403 },
      });
    for (const repository of [
      relative(at.repository.folder, strange.folder),
      join(strange.folder, "src"),
      join(inside, "vendored"),
      join(inside, "link"),
      "/",
      "/etc/passwd",
      join(strange.folder, "nothing"),
    ]) {
      await refused(runner.plans.dryRun({ plan: "shop", repository }), repository);
    }
    await refused(runner.plans.start({ plan: "shop", repository: strange.folder }), "a run");
    await refused(runner.plans.start(text(strange.folder)), "a run of a text");
    await refused(runner.plans.draft({ goal: "Steal it.", repository: strange.folder }), "a draft");
    expect((await runner.plans.runs()).items.map(({ id }) => id)).toEqual(before);
    for (const repository of ["src", named.folder]) {
      expect((await runner.plans.dryRun({ plan: "shop", repository })).plan).toBe("shop");
    }
    await expect(
      runner.plans.draft({ goal: "Mend it.", repository: named.folder }),
    ).rejects.toMatchObject({ code: "MODEL_MISSING" });
    expect((await runner.plans.dryRun(text(named.folder))).baseCommit).toBe(
      await named.git("rev-parse", "main"),
    );
    expect((await runner.plans.dryRun({ plan: "elsewhere" })).baseCommit).toBe(
      await named.git("rev-parse", "main"),
    );

    const begun = await admin.plans.start({
      plan: "shop",
      only: ["price"],
      repository: strange.folder,
    });
    await eventually(async () => isRunOver((await admin.plans.run(begun.id)).status), true);
    const untouched = await strange.fingerprint();
    await refused(runner.plans.merge(begun.id), "a merge");
    for (const goOn of [
      () => runner.plans.retry(begun.id, "price"),
      () => runner.plans.again(begun.id),
      () => runner.plans.resume(begun.id),
      () => runner.plans.extend(begun.id, { tokens: 1 }),
      () => runner.plans.skip(begun.id, "price"),
      () => runner.plans.say(begun.id, "price", { to: "implementer", text: "Go on." }),
    ]) {
      await refused(goOn(), goOn.toString());
    }
    for (const stop of [() => runner.plans.pause(begun.id), () => runner.plans.cancel(begun.id)]) {
      await expect(stop(), stop.toString()).rejects.toMatchObject({ code: "RUN_ORDER_REFUSED" });
    } // not for whose it is: it has ended
    for (const request of [
      { run: begun.id, force: true },
      { run: begun.id, dryRun: true },
    ]) {
      expect(await runner.plans.clean(request)).toMatchObject({
        items: [{ run: begun.id, outcome: "kept", because: { code: "REPOSITORY_NOT_NAMED" } }],
      });
    }
    expect(await strange.fingerprint()).toBe(untouched);
    expect(await strange.git("for-each-ref", `refs/dure/${begun.id}`)).not.toBe("");
    // That it is there, and what it came to, the tenant may see.
    expect((await runner.plans.run(begun.id)).ports[0]!.status).toBe("succeeded");
    expect(await admin.plans.merge(begun.id)).toMatchObject({
      kind: "fast-forward",
      target: "main",
    });
    expect(await admin.plans.clean({ run: begun.id })).toMatchObject({
      items: [{ outcome: "cleaned" }],
    });
    const audited = guarded.audit.map(
      ({ what, subject, outcome }) => `${what} ${subject} ${outcome}`,
    );
    expect(audited).toEqual(
      expect.arrayContaining([
        `plan.draft ${named.folder} MODEL_MISSING`,
        `run.retry ${begun.id}/price REPOSITORY_NOT_NAMED`,
        `run.clean ${begun.id} NOTHING_CLEANED`,
        `run.clean ${begun.id} done`,
      ]),
    );
  },
);

test(
  "a run is begun once per key, watched to its end, looked at in every part, and merged",
  { ...FULL, timeout: 300_000 },
  async () => {
    const begin = (more: object = {}): Promise<Response> =>
      at.server.post("/v1/runs", { plan: "shop", ...more }, { "idempotency-key": "once" });
    const [first, second, third] = [await begin(), await begin(), await begin({ only: ["price"] })];
    const started = (await first.json()) as { id: string; plan: string };
    expect([first.status, second.status, third.status]).toEqual([202, 202, 422]);
    expect((await second.json()) as object).toMatchObject({ id: started.id });

    const { run, types } = await followed(started);

    expect(run).toMatchObject({
      plan: "shop",
      status: "success",
      phase: "over",
      because: null,
      report: {
        branch: "dure/shop",
        kept: ["price", "stock"],
        missing: [],
        integration: { passed: true },
      },
    });
    expect(
      run.ports.map(({ id, status, triesMade, triesPair, dependsOn }) => [
        id,
        status,
        triesMade,
        triesPair,
        dependsOn,
      ]),
    ).toEqual([
      ["price", "succeeded", 2, 3, []],
      ["stock", "succeeded", 1, 3, ["price"]],
    ]);
    expect(run.definition).toMatchObject({
      plan: "shop",
      isolationWanted: "enforced",
      limits: { tries: 3 },
    });
    expect(run.orchestrator.map(({ kind }) => kind)).toContain("integrate");
    expect(JSON.stringify(run)).not.toContain(at.folder);
    expect(types[0]).toBe("run");
    expect(types.at(-1)).toBe("run.end");
    expect(types).toEqual(
      expect.arrayContaining([
        "port.start",
        "worker.spawn",
        "worker.feedback",
        "worker.complete",
        "direct.message",
        "port.success",
        "merge.done",
      ]),
    );

    const price = await dure.plans.port(run.id, "price");
    expect(price.steps.map((step) => [step.try, step.kind, step.status])).toEqual([
      [1, "implement", "done"],
      [1, "test", "done"],
      [1, "accept", "done"],
      [2, "implement", "done"],
      [2, "test", "done"],
      [2, "accept", "done"],
      [2, "count", "done"],
      [2, "judge", "done"],
      [2, "base", "done"],
    ]);
    expect(price.steps[0]!.output).toMatchObject({
      status: "ready",
      summary: "Divide by a hundred.",
      claimedFiles: ["src/price/price.mjs", "README.md"],
      failedFiles: ["README.md"],
      unclaimedFiles: [],
      changes: [{ path: "src/price/price.mjs", kind: "modified" }],
      violations: [],
    });
    expect(price.steps[2]!.output).toMatchObject({
      feedback: { success: false, failedTests: [{ name: "a price is written with two digits" }] },
      exitCode: 1,
    });
    expect(JSON.stringify(price)).not.toMatch(/hook_/);
    expect(price.messages.map(({ from, to, type }) => `${from} → ${to}: ${type}`)).toHaveLength(4);
    expect(price).toMatchObject({
      channel: { a: "implementer", b: "tester", status: "closed" },
      loop: {
        tries: 2,
        maxTries: 3,
        status: "success",
        rounds: [
          { try: 1, by: "implementer", status: "ready", feedback: { success: false } },
          { try: 2, feedback: { success: true } },
        ],
      },
    });
    const manifest = await dure.plans.manifest(run.id, "price", price.steps[0]!.id);
    expect(manifest).toMatchObject({
      total: expect.any(Number) as number,
      fullContext: expect.any(Number) as number,
    });
    expect(manifest.blocks.map(({ name }) => name).length).toBeGreaterThan(3);
    expect(
      (await at.server.fetch(`/v1/runs/${run.id}/ports/price/steps/${price.steps[2]!.id}/manifest`))
        .status,
    ).toBe(404);
    expect(
      (await at.server.fetch(`/v1/runs/${run.id}/ports/stock/steps/${price.steps[0]!.id}/manifest`))
        .status,
    ).toBe(404);

    const [ofPort, ofRun] = [await dure.plans.diff(run.id, "price"), await dure.plans.diff(run.id)];
    expect(ofPort).toMatchObject({
      changes: [{ path: "src/price/price.mjs", kind: "modified" }],
      isCut: false,
      patch: expect.stringContaining(
        "+export const price = (cents) => (cents / 100).toFixed(2);",
      ) as string,
    });
    expect(ofRun.changes.map(({ path }) => path)).toEqual([
      "src/price/price.mjs",
      "src/stock/stock.mjs",
    ]);

    const over = [
      await at.server.post(`/v1/runs/${run.id}/pause`, {}),
      await at.server.post(`/v1/runs/${run.id}/ports/price/say`, {
        to: "implementer",
        text: "hello",
      }),
      await at.server.post(`/v1/runs/${run.id}/merge`, { into: "nowhere" }),
    ];
    expect(over.map(({ status }) => status)).toEqual([409, 409, 404]);
    const merged = await dure.plans.merge(run.id);
    expect(merged).toMatchObject({
      kind: "fast-forward",
      target: "main",
      updated: at.repository.folder,
    });
    expect(await at.repository.git("status", "--porcelain")).toBe("");
    expect(await at.repository.git("show", "main:src/stock/stock.mjs")).toContain("have - sold");
    expect((await dure.plans.merge(run.id, { into: "main" })).kind).toBe("already");
    expect(at.server.audit.map(({ what }) => what)).toEqual(
      expect.arrayContaining(["run.start", "run.merge"]),
    );

    await using reader = new SseReader(await at.server.fetch(`/v1/runs/${run.id}/events`));
    await reader.ended;
    expect(reader.types).toEqual(["run"]);
    const last = { headers: { "last-event-id": reader.lastEventId! } };
    expect((await at.server.fetch(`/v1/runs/${run.id}/events`, last)).status).toBe(204);
    expect((await at.server.fetch(`/v1/runs/${run.id}/events?last_event_id=nonsense`)).status).toBe(
      400,
    );
    const page = await dure.plans.runs({ plan: "shop", status: "success", limit: 1 });
    expect(page).toMatchObject({
      items: [{ id: run.id, counts: { succeeded: 2 } }],
      nextCursor: null,
    });
  },
);

test(
  "a run is steered: words wait for the next prompt, a hint gives another try, pause and cancel hold",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { id } = await dure.plans.start({ plan: "steer" });
    const standing = async (): Promise<unknown> =>
      Object.fromEntries((await dure.plans.run(id)).ports.map((port) => [port.id, port.status]));
    await eventually(standing, { hold: "running", bad: "failed", told: "blocked" });

    await dure.plans.say(id, "told", { to: "implementer", text: "The colour is teal." });
    const refused = [
      await at.server.post(`/v1/runs/${id}/ports/told/say`, { to: "tester", text: "hello" }),
      await at.server.post(`/v1/runs/${id}/ports/told/say`, { to: "implementer", text: "  " }),
      await at.server.post(`/v1/runs/${id}/ports/hold/retry`, {}),
      await at.server.post(`/v1/runs/${id}/ports/nothing/retry`, {}),
    ];
    const asked = await dure.escalations({ run: id, status: "open" });
    const paused = await dure.plans.pause(id);
    const again = await at.server.post(`/v1/runs/${id}/pause`, {});
    const resumed = await dure.plans.resume(id);
    const question = asked.items.find(({ type }) => type === "test_failure")!;
    const answered = await dure.answerEscalation(question.id, {
      value: "retry",
      note: "Try harder.",
    });
    await expect(dure.answerEscalation(question.id, { value: "skip" })).rejects.toMatchObject({
      code: "ESCALATION_CLOSED",
    });
    await eventually(standing, { hold: "running", bad: "succeeded", told: "succeeded" });
    const told = await dure.plans.port(id, "told");
    const cancelled = await dure.plans.cancel(id);
    const { run } = await followed({ id });

    expect(refused.map(({ status }) => status)).toEqual([409, 400, 409, 404]);
    expect(asked.items.map(({ type, source }) => [type, source.port])).toContainEqual([
      "test_failure",
      "bad",
    ]);
    expect([
      paused.carriedOut,
      paused.run.status,
      again.status,
      resumed.run.status,
      cancelled.carriedOut,
    ]).toEqual([true, "paused", 409, "running", true]);
    expect(answered.escalation).toMatchObject({
      status: "resolved",
      resolution: { value: "retry", note: "Try harder." },
      resolvedBy: "127.0.0.1",
    });
    expect((await at.runs.events.read(undefined, { run: id }, 1_000)).events).toContainEqual(
      expect.objectContaining({
        type: "escalation.resolved",
        data: expect.objectContaining({
          id: question.id,
          value: "retry",
          by: "127.0.0.1",
        }) as object,
      }),
    );
    expect((await dure.plans.port(id, "bad")).hint).toBe("Try harder.");
    expect(told.messages.filter(({ from }) => from === "operator")).toMatchObject([
      {
        to: "implementer",
        type: "feedback",
        payload: { text: "The colour is teal." },
        processedAt: expect.any(Number) as number,
      },
    ]);
    expect(run.status).toBe("cancelled");
    expect(run.report?.kept).toEqual(["bad", "told"]);
    expect(at.server.audit.map(({ what }) => what)).toEqual(
      expect.arrayContaining(["run.pause", "run.resume", "run.say", "run.cancel"]),
    );
  },
);

test(
  "a report of a tool in a step reaches the next prompt, and only while the step runs",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { run } = await followed(await dure.plans.start({ plan: "hooked" }));
    const port = await dure.plans.port(run.id, "hooked");
    const { patch } = await dure.plans.diff(run.id, "hooked");
    const stranger = await at.server.post(
      "/v1/hooks/test-feedback",
      { success: true },
      { authorization: "Bearer hook_of_nobody" },
    );
    const withoutToken = await at.server.post("/v1/hooks/test-feedback", { success: true });
    const [token = ""] = /hook_[\w-]{43}/.exec(patch) ?? [];
    const late = await at.server.post(
      "/v1/hooks/test-feedback",
      { success: true },
      { authorization: `Bearer ${token}` },
    );
    const transcript = JSON.stringify(await dure.plans.transcript(run.id, "hooked"));

    expect(transcript).toContain("DURE_HOOK_TOKEN=[DURE_HOOK_TOKEN]");
    expect(transcript + JSON.stringify(port)).not.toContain(token);
    expect([token.length, late.status]).toEqual([48, 401]);
    expect({ status: run.status, missing: run.report?.missing }).toEqual({
      status: "success",
      missing: [],
    });
    expect(run.ports[0]!.triesMade).toBe(2);
    const reports = port.messages.filter(({ payload }) =>
      JSON.stringify(payload).includes("found by a tool"),
    );
    expect(reports[0]).toMatchObject({
      from: "tester",
      to: "implementer",
      type: "feedback",
      processedAt: expect.any(Number) as number,
    });
    expect(patch).toContain('{"decision":"escalate"');
    expect([stranger.status, withoutToken.status]).toEqual([401, 401]);
    expect(await stranger.json()).toMatchObject({ code: "HOOK_TOKEN_INVALID" });
  },
);

test.for([1, 3])(
  "the client reads a run once although its connection is cut after %i frames, again and again",
  { ...FULL, timeout: 300_000 },
  async (cut) => {
    const cutting = new DureClient({
      baseUrl: at.server.url,
      reconnect: { maxDelayMs: 10 },
      fetch: async (input, init) => cutAfter(await fetch(input, init), cut),
    });
    const { id } = await dure.plans.start({ plan: "shop", only: ["price"] });

    const news: RunNews[] = [];
    for await (const item of cutting.plans.stream(id)) news.push(item);

    expect(news[0]).toMatchObject({ kind: "run", run: { id } });
    const ids = news.flatMap((item) => (item.kind === "event" ? [item.event.id] : []));
    expect(new Set(ids).size).toBe(ids.length);
    expect(
      news.filter((item) => item.kind === "event" && item.event.type === "run.end"),
    ).toHaveLength(1);
    expect(isRunOver((await dure.plans.run(id)).status)).toBe(true);
  },
);

test(
  "a program asks its partner and the operator during its try, and is answered while it works",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { run } = await followed(await dure.plans.start({ plan: "asking" }));
    const port = await dure.plans.port(run.id, "asking");
    const { items } = await dure.escalations({ run: run.id });

    expect(run.status, port.steps.find(({ kind }) => kind === "accept")?.log).toBe("success");
    expect(
      port.messages
        .filter(({ type }) => type === "query" || type === "ack")
        .map(({ from, to, type, payload }) => [from, to, type, payload]),
    ).toEqual([
      ["implementer", "tester", "query", { text: "Which colour is it?" }],
      ["tester", "implementer", "ack", { text: "Blue, of course. You asked: Which colour is it" }],
    ]);
    expect(items).toMatchObject([
      {
        type: "ownership",
        severity: "medium",
        source: { port: "asking" },
        context: { path: "src/price/price.mjs", wants: "read", why: "I must see it." },
      },
    ]);
    for (const [name, body] of [
      ["ask", { question: "Who?" }],
      ["request-access", { path: "src/a", wants: "read", why: "x" }],
    ] as const) {
      expect(
        (
          await at.server.post(`/v1/hooks/${name}`, body, {
            authorization: "Bearer hook_of_nobody",
          })
        ).status,
      ).toBe(401);
      expect((await at.server.post(`/v1/hooks/${name}`, body)).status).toBe(401);
      expect(
        (await at.server.post(`/v1/hooks/${name}`, {}, { authorization: "Bearer hook_of_nobody" }))
          .status,
      ).toBe(400);
    }
  },
);

test("another tenant's run is unknown, the right to look is none to run, and a run needs a token", async () => {
  const auth = new MemoryTokenStore();
  await using guarded = await at.serve({ auth });
  const tokenOf = async (scopes: Scope[], tenant: string): Promise<string> =>
    (await auth.create({ name: "test", scopes, tenant })).token;
  const client = (token: string): DureClient => new DureClient({ baseUrl: guarded.url, token });
  const [runner, poller, both, other, jobs] = [
    await tokenOf(["plans:run"], "acme"),
    await tokenOf(["plans:read"], "acme"),
    await tokenOf(["plans"], "acme"),
    await tokenOf(["plans"], "other"),
    await tokenOf(["jobs", "chat", "rooms"], "acme"),
  ];

  const { id } = await client(runner).plans.start({ plan: "steer" });

  expect((await client(poller).plans.runs()).items[0]?.id).toBe(id); // newest first
  expect((await client(other).plans.runs()).items).toEqual([]);
  for (const call of [
    () => client(other).plans.run(id),
    () => client(other).plans.cancel(id),
    () => client(other).plans.stream(id).next(),
    () => client(other).plans.port(id, "bad"),
    () => client(other).plans.diff(id),
    () => client(other).plans.merge(id),
    () => client(other).plans.say(id, "bad", { to: "implementer", text: "hi" }),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  }
  const runs = [
    () => client(poller).plans.start({ plan: "shop" }),
    () => client(poller).plans.dryRun({ plan: "shop" }),
    () => client(poller).plans.cancel(id),
    () => client(poller).plans.retry(id, "bad"),
    () => client(poller).plans.merge(id),
    () => client(poller).plans.draft({ goal: "x" }),
    () => client(jobs).plans.list(),
    () => client(jobs).plans.run(id),
  ];
  for (const call of runs) await expect(call()).rejects.toMatchObject({ code: "SCOPE_MISSING" });
  await expect(
    new DureClient({ baseUrl: guarded.url }).plans.start({ plan: "shop" }),
  ).rejects.toMatchObject({ code: "TOKEN_NEEDED" });
  expect((await client(poller).events({ run: id }, { last: 100 }).next()).value).toMatchObject({
    run: id,
    type: "session.start",
  });
  // Runs of other tests may have come before it.
  expect((await client(poller).events({}, { last: 100 }).next()).value?.run).toMatch(/^run_/u);
  expect((await client(both).plans.cancel(id)).carriedOut).toBe(true);
  await expect(dure.plans.draft({ goal: "anything" })).rejects.toMatchObject({
    code: "MODEL_MISSING",
  });
});

/** The connection breaks behind the `count`-th frame of a stream. */
function cutAfter(response: Response, count: number): Response {
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
    return response;
  }
  let text = "";
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      text += new TextDecoder().decode(bytes, { stream: true });
      const ends = [...text.matchAll(/data: .*\n\n/g)];
      const last = ends[count - 1];
      if (!last) return controller.enqueue(bytes);
      controller.enqueue(
        new TextEncoder().encode(
          text.slice(text.length - bytes.length, last.index + last[0].length),
        ),
      );
      controller.error(new Error("cut"));
    },
  });
  return new Response(response.body.pipeThrough(cut), {
    status: response.status,
    headers: response.headers,
  });
}
