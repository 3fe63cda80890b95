import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import type { Worker } from "../../src/plans/workers/worker.ts";
import { LeaderProcess } from "./leader-process.ts";
import { realPlan, type RealRunsOptions, type TestRepository } from "./real-runs.ts";
import { openStage } from "./stage.ts";
import type { PlatformEvent } from "../../src/wire/events.ts";

/**
 * Says no when two files of the shop export the same name: each alone compiles, both together do
 * not.
 */
const COMPILE = `import { readdirSync, readFileSync } from "node:fs";
const files = readdirSync("src/shop", { recursive: true }).filter((name) => name.endsWith(".mjs"));
const names = files.flatMap((name) => [...readFileSync("src/shop/" + name, "utf8").matchAll(/export const (\\w+)/g)].map(([, found]) => found));
const twice = names.find((name, index) => names.indexOf(name) < index);
if (twice) { console.error("declared twice: " + twice); process.exit(1); }
`;
const NODE_TEST = (body: string): string =>
  `import { test } from "node:test";\nimport assert from "node:assert/strict";\n${body}\n`;
/** Enough files for each port to have a context of its own. */
const FILES = {
  "package.json": '{ "name": "shop", "type": "module" }\n',
  ".gitignore": "node_modules/\n.env\n",
  "tools/compile.mjs": COMPILE,
  "src/shop/a/a.mjs": "export const a = 1;\n",
  "src/shop/a/one.txt": "",
  "src/shop/a/two.txt": "",
  "src/shop/b/b.mjs": "export const b = 1;\n",
  "src/shop/b/one.txt": "",
  "src/shop/b/two.txt": "",
};

const open = (
  options: Partial<RealRunsOptions> = {},
  files: Readonly<Record<string, string>> = FILES,
): ReturnType<typeof openStage> => openStage(files, options);

async function ended(runs: TestRuns, id: string): Promise<PlanRun> {
  await expect
    .poll(async () => (await runs.runs.get(id)).finishedAt !== null, {
      timeout: 120_000,
      interval: 50,
      message: "the run did not end",
    })
    .toBe(true);
  return runs.runs.get(id);
}

async function begin(runs: TestRuns, repository: TestRepository, plan: string): Promise<string> {
  return (await runs.runs.run({ plan: realPlan(plan), repository: repository.folder, by: "me" }))
    .id;
}

async function eventsOf(runs: TestRuns, run: string): Promise<PlatformEvent[]> {
  await runs.events.caughtUp();
  return [...(await runs.events.read(undefined, { run }, 500)).events];
}

const stepsOf = async (runs: TestRuns, id: string, port: string): Promise<string[]> =>
  (await runs.runs.port(id, port)).steps.map((step) => `${step.try} ${step.kind}`);
const writes = (path: string, content: string): string =>
  `edits: [{ path: ${path}, content: ${JSON.stringify(content)} }]`;
const SHOP = (more = "", ports = ""): string => `
plan: shop
roles: modules
${more || "workers: { default: { kind: offline } }"}
ports:
  - { id: a, role: a, goal: Make a., owns: [src/shop/a/**], acceptance: "true", no_change: allowed, check: node tools/compile.mjs }
  - { id: b, role: b, goal: Make b., owns: [src/shop/b/**], acceptance: "true", no_change: allowed }
${ports}`;

test(
  "ports of one module are compiled together, and what breaks it goes back to the port that came",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open({
      script:
        `ports: { a: { implementer: [{ ${writes("src/shop/a/tax.mjs", "export const tax = 1;\n")} }] ` +
        `}, b: { implementer: [{ ${writes("src/shop/b/tax.mjs", "export const tax = 2;\n")} }, { ` +
        `${writes("src/shop/b/tax.mjs", "export const vat = 2;\n")} }] } }`,
    });

    const id = await begin(runs, repository, SHOP());
    const run = await ended(runs, id);

    expect(run.status, JSON.stringify(run.report)).toBe("success");
    expect(await stepsOf(runs, id, "a")).toEqual(["1 implement", "1 check", "1 accept"]);
    expect(await stepsOf(runs, id, "b")).toEqual([
      "1 implement",
      "1 accept",
      "1 module",
      "2 implement",
      "2 accept",
      "2 module",
    ]);
    const { messages } = await runs.runs.port(id, "b");
    expect(messages.find(({ type }) => type === "feedback")!.payload).toMatchObject({
      success: false,
      suggestions: [
        expect.stringContaining("what a made in the same module"),
        expect.stringContaining("declared twice: tax"),
      ],
    });
    expect(await repository.git("show", "dure/shop:src/shop/b/tax.mjs")).toBe(
      "export const vat = 2;",
    );
  },
);

test(
  "two ports that come to their module at the same moment are tried one after the other",
  { ...FULL, timeout: 300_000 },
  async () => {
    const module = { ...FILES, "src/x/x.txt": "", "src/y/y.txt": "", "src/z/z.txt": "" };
    const same = (port: string): string =>
      `${port}: { implementer: [{ delay: 300ms, ` +
      `${writes(`src/shop/${port}/tax.mjs`, "export const tax = 1;\n")} }, { ` +
      `${writes(`src/shop/${port}/tax.mjs`, `export const ${port}Tax = 1;\n`)} }] }`;
    const { runs, repository } = await open(
      { script: `ports: { ${same("a")}, ${same("b")} }` },
      module,
    );
    const beside = (name: string): string =>
      `  - { id: ${name}, role: ${name}, goal: g, owns: [src/${name}/**], acceptance: "true", no_change: allowed }\n`;

    const id = await begin(
      runs,
      repository,
      SHOP(
        "",
        ["x", "y", "z"].map(beside).join("") +
          Array.from(
            { length: 3 },
            (_, index) =>
              `  - { id: f${index}, role: f, goal: g, owns: [src/f${index}/f.txt], acceptance: "true", no_change: allowed }\n`,
          ).join(""),
      ),
    );
    const run = await ended(runs, id);

    expect(run).toMatchObject({ status: "success", mode: { mode: "parallel" } });
    const tries = await Promise.all(
      ["a", "b"].map(async (port) =>
        Math.max(...(await runs.runs.port(id, port)).steps.map((step) => step.try)),
      ),
    );
    expect(tries.toSorted((one, other) => one - other)).toEqual([1, 2]); // for the second port
  },
);

test(
  "a check that fails for another port's work names both and costs the new port no try, once",
  { ...FULL, timeout: 300_000 },
  async () => {
    const fits = (port: string): string =>
      `"test ! -e src/shop/c/tax.mjs || test -e src/shop/${port}/fits.txt"`;
    const port = (id: string, check = "node tools/compile.mjs"): string =>
      `  - { id: ${id}, role: ${id}, goal: Make ${id}., owns: [src/shop/${id}/**], acceptance: ` +
      `"true", no_change: allowed, check: ${check} }\n`;
    const { runs, repository } = await open({
      script:
        `ports: { c: { implementer: [{ ${writes("src/shop/c/tax.mjs", "export const tax = 1;\n")} }] ` +
        `}, b: { implementer: [{ summary: nothing }, { ${writes("src/shop/b/fits.txt", "")} }] } }`,
    });

    const id = await begin(
      runs,
      repository,
      `plan: shop\nroles: modules\nlimits: { tries: 1, max_concurrency: 1 }\nworkers: { default: { ` +
        `kind: offline } }\nports:\n` +
        `${port("a")}${port("c")}${port("b", fits("b"))}${port("d", fits("d"))}`,
    );
    const run = await ended(runs, id);

    expect(run, JSON.stringify(run.report)).toMatchObject({
      status: "partial",
      report: {
        kept: ["a", "c", "b"],
        missing: [
          {
            port: "d",
            because: {
              code: "TRIES_EXHAUSTED",
              message: expect.stringContaining("c and d do not fit together") as string,
            },
          },
        ],
      },
    });
    expect(
      (await runs.runs.detail(id)).ports.map(({ id: name, triesMade, triesPair }) => [
        name,
        triesMade,
        triesPair,
      ]),
    ).toEqual([
      ["a", 1, 1],
      ["c", 1, 1],
      ["b", 2, 2],
      ["d", 2, 2],
    ]);
    expect(await stepsOf(runs, id, "b")).toEqual([
      "1 implement",
      "1 check",
      "1 accept",
      "1 module",
      "2 implement",
      "2 check",
      "2 accept",
      "2 module",
    ]);
    const { steps, messages, triesPair } = await runs.runs.port(id, "b");
    expect([triesPair, steps[3]!.output]).toMatchObject([
      2,
      { passed: false, broken: { of: ["b"], with: ["a", "c"], by: "c" } },
    ]);
    expect(messages.find(({ type }) => type === "feedback")!.payload).toMatchObject({
      suggestions: [
        expect.stringContaining("fails with what c made"),
        expect.stringContaining("exit code 1"),
      ],
    });
    expect((await runs.inbox.list({ tenant: "", run: id, status: "open" })).items).toMatchObject([
      {
        type: "quality",
        source: { port: "d" },
        context: { brokenBy: "c", checkOf: ["d"], together: ["d", "a", "c", "b"] },
      },
    ]);
  },
);

const SHARED_PLAN = (integration: string): string => `
plan: shop
roles: modules
violations: refuse
integration: ${integration}
workers: { default: { kind: offline }, orchestrator: { kind: offline } }
ports:
  - { id: a, role: a, goal: Make a., owns: [src/shop/a/**, "*.json"], acceptance: "true", no_change: allowed }
  - { id: b, role: b, goal: Make b., owns: [src/shop/b/**], acceptance: "true", no_change: allowed }
`;
const sharedScript = (packageJson: string): string => `
ports:
  a: { implementer: [{ requestAccess: [{ path: package.json, wants: own, why: needs left-pad 1 }], ${writes("package.json", "{}")} }] }
  b: { implementer: [{ requestAccess: [{ path: package.json, wants: own, why: needs right-pad 2 }], ${writes("src/shop/b/made.mjs", "export const made = 1;\n")} }] }
  orchestrator: { orchestrator: [{ ${writes("package.json", packageJson)}, tokens: 30 }] }
`;

test(
  "the orchestrator changes a build file of the root once, at the merge, for all ports that ask",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open({
      script: sharedScript('{ "dependencies": { "left-pad": "1", "right-pad": "2" } }\n'),
    });

    const id = await begin(runs, repository, SHARED_PLAN("grep -q left-pad package.json"));
    const run = await ended(runs, id);

    expect(run, JSON.stringify(run.report)).toMatchObject({
      status: "success",
      tokensIn: 30,
      report: {
        kept: ["a", "b"],
        shared: [{ path: "package.json", ports: ["a", "b"], applied: true }],
        integration: { passed: true },
      },
    });
    expect(await repository.git("show", "dure/shop:package.json")).toContain("right-pad");
    expect(await repository.git("show", "dure/shop:src/shop/b/made.mjs")).toContain("made");
    const port = await runs.runs.port(id, "a");
    expect(port.violations).toMatchObject([
      { path: "package.json", because: "orchestrators", found: "request" },
    ]); // its own change, although its pattern covers the file
    expect(port.messages.find(({ to }) => to === "orchestrator")).toMatchObject({
      from: "implementer",
      type: "query",
      payload: { path: "package.json", text: "needs left-pad 1" },
    });
    expect((await runs.inbox.list({ tenant: "", run: id })).items).toEqual([]); // there is nothing to decide
  },
);

test(
  "a change of shared files that breaks the whole is left out, and a person is told",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open({ script: sharedScript("broken") });

    const id = await begin(
      runs,
      repository,
      SHARED_PLAN("node -e \"JSON.parse(require('fs').readFileSync('package.json', 'utf8'))\""),
    );
    const run = await ended(runs, id);

    expect(run).toMatchObject({
      status: "partial",
      because: { code: "SHARED_CHANGES_FAILED" },
      report: {
        kept: ["a", "b"],
        missing: [],
        shared: [{ path: "package.json", applied: false }],
        integration: { passed: true },
      },
    });
    expect(await repository.git("show", "dure/shop:package.json")).toContain('"name": "shop"');
    expect((await runs.inbox.list({ tenant: "", run: id, status: "open" })).items).toMatchObject([
      { type: "quality", source: { run: id } },
    ]);
  },
);

test(
  "a plan of fewer than five files is one context: each port goes on from the one before",
  { ...FULL, timeout: 300_000 },
  async () => {
    const say = (port: string): string =>
      `sh, -c, "cat > src/${port}/prompt.txt; cat src/*/base.txt > src/${port}/seen.txt; echo mine ` +
      `> src/${port}/made.txt; cp src/${port}/made.txt src/a/stolen.txt; ls src/a > ` +
      `src/${port}/list.txt; true"`;
    const { runs, repository } = await open(
      {},
      { "src/a/base.txt": "base of a\n", "src/b/base.txt": "base of b\n" },
    );
    const plan =
      `plan: small\nroles: modules\nworkers: { default: { kind: command, command: [${say("a")}] }, ` +
      `b: { kind: command, command: [${say("b")}] } }\nports:\n  - { id: a, role: a, goal: Make ` +
      `the first., owns: [src/a/**], acceptance: "true", no_change: allowed }\n  - { id: b, role: b, goal: Make the ` +
      `second., owns: [src/b/**], acceptance: "test -f src/a/made.txt" }\n`;

    const id = await begin(runs, repository, plan);
    const run = await ended(runs, id);

    expect(run).toMatchObject({ status: "success", mode: { mode: "in-order", oneContext: true } });
    const inResult = (path: string): Promise<string> =>
      repository.git("show", `dure/small:${path}`);
    expect(await inResult("src/a/seen.txt")).toBe("base of a\nbase of b");
    expect(await inResult("src/b/list.txt")).toContain("made.txt");
    expect(await inResult("src/b/prompt.txt")).toMatch(/- a: Make the first\./);
    expect(await inResult("src/a/prompt.txt")).not.toContain("at the same time");
    expect(
      await repository.git(
        "diff",
        "--name-only",
        `refs/dure/${id}/ports/a/result`,
        `refs/dure/${id}/ports/b/result`,
      ),
    ).not.toContain("src/a/");
  },
);

test(
  "of two ports that changed one file only the first is kept without an orchestrator",
  { ...FULL, timeout: 300_000 },
  async () => {
    const files = { ...FILES, "src/common.txt": "base\n" };
    const wants = (port: string): string =>
      `${port}: { implementer: [{ summary: not yet }, { try: 4, ` +
      `${writes("src/common.txt", `${port}\n`)} }] }`;
    const { runs, repository } = await open(
      { script: `ports: { ${wants("a")}, ${wants("b")} }` },
      files,
    );
    const plan = `plan: shop\nroles: modules\nlimits: { tries: 1 }\nsetup: test "$DURE_PORT_ID" != orchestrator\nworkers: { default: { kind: offline }, orchestrator: { kind: offline } }\nports:\n  - { id: a, role: a, goal: g, owns: [src/shop/a/**], acceptance: "! grep -q base src/common.txt" }\n  - { id: b, role: b, goal: g, owns: [src/shop/b/**], acceptance: "! grep -q base src/common.txt" }\n  - { id: c, role: c, goal: g, owns: [src/c/**], dependsOn: [b], acceptance: "true", no_change: allowed }\n`;
    const { id } = await runs.runs.run({
      plan: realPlan(plan),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);

    const grant = { path: "src/common.txt", wants: "own" } as const;
    await runs.runs.commands.order(id, { type: "retry", port: "a", tries: 1, grant }, { by: "me" });
    await runs.runs.commands.order(id, { type: "retry", port: "b", tries: 1, grant }, { by: "me" });
    await expect
      .poll(
        async () =>
          (await runs.runs.get(id)).ports.map(({ status, because }) =>
            status === "failed" ? JSON.stringify(because) : status,
          ),
        { timeout: 90_000 },
      )
      .toEqual(["succeeded", "succeeded", "succeeded"]);
    await expect
      .poll(async () => (await runs.runs.get(id)).because?.code, { timeout: 60_000 })
      .toBe("SETUP_FAILED");

    const run = await runs.runs.get(id);
    expect(run.report).toMatchObject({
      kept: ["a"],
      missing: [
        { port: "b", because: { code: "CONFLICT" } },
        { port: "c", because: { code: "DEPENDENCY_FAILED" } },
      ],
    });
    expect(await repository.git("show", `${run.report!.branch}:src/common.txt`)).toBe("a");
  },
);

test(
  "a test that fails at the base too counts against no port: the port that breaks another is found",
  { ...FULL, timeout: 300_000 },
  async () => {
    const files = {
      ...FILES,
      // It stays broken, and the first port is what it looks at.
      "test/a.test.mjs": NODE_TEST(
        'import { a } from "../src/shop/a/a.mjs";\ntest("a is a hundred", () => assert.equal(a, 100));',
      ),
      "test/all.test.mjs": NODE_TEST(
        'import { b } from "../src/shop/b/b.mjs";\ntest("b stays below ten", () => assert.ok(b < 10));',
      ),
    };
    const a =
      `a: { implementer: [{ ${writes("src/shop/a/a.mjs", "export const a = 2;\n")} }, { ` +
      `${writes("src/shop/a/a.mjs", "export const a = 3;\n")} }] }`;
    const b =
      `b: { implementer: [{ ${writes("src/shop/b/b.mjs", "export const b = 10;\n")} }, { ` +
      `${writes("src/shop/b/b.mjs", "export const b = 9;\n")} }] }`;
    const { runs, repository } = await open({ script: `ports: { ${a}, ${b} }` }, files);

    const id = await begin(
      runs,
      repository,
      `plan: shop\nroles: modules\nintegration: node --test test/*.test.mjs\nworkers: { default: { kind: offline } }\nports:\n  - { id: a, role: a, goal: g, owns: [src/shop/a/**], acceptance: "true", no_change: allowed }\n  - { id: b, role: b, goal: g, owns: [src/shop/b/**], acceptance: "true", no_change: allowed }\n`,
    );
    const run = await ended(runs, id);

    const tries = async (port: string): Promise<number> =>
      Math.max(...(await runs.runs.port(id, port)).steps.map((step) => step.try));
    expect({ a: await tries("a"), b: await tries("b") }, JSON.stringify(run.report)).toEqual({
      a: 1,
      b: 2,
    });
    expect(run.report).toMatchObject({ kept: ["a", "b"], missing: [] });
  },
);

test(
  "tokens of a worker that came to no end are counted: out of time, and after a kill",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository, home, url } = await open({
      script: "ports: { a: { implementer: [{ tokens: 500, hang: true }] } }",
    });
    const plan = (more: string): string =>
      `plan: one\nroles: modules\nlimits: { tries: 1 }\nworkers: { default: { kind: offline } }\n` +
      `ports:\n  - { id: a, role: a, goal: g, owns: [src/shop/a/**], acceptance: "true", no_change: allowed${more} }\n`;
    const late = await begin(runs, repository, plan(", timeout: 4s"));
    expect((await ended(runs, late)).report!.missing[0]!.because.code).toBe("PORT_TIMEOUT");
    expect(await runs.runs.get(late)).toMatchObject({ tokensIn: 500, ports: [{ tokensIn: 500 }] });
    await runs.runs.stop();

    const script = join(home, "script.yaml");
    await writeFile(script, "ports: { a: { implementer: [{ tokens: 500, hang: true }] } }");
    await using first = new LeaderProcess({ url, home, script });
    await first.ready;
    const { id: killed } = await runs.runs.run(
      { plan: realPlan(plan(', budget: "900 tokens"')), repository: repository.folder, by: "me" },
      { signal: new AbortController().signal },
    );
    await expect
      .poll(async () => (await runs.runs.get(killed)).tokensIn, { timeout: 60_000 })
      .toBe(500);
    await first.kill();
    await using second = new LeaderProcess({ url, home, script });
    const run = await ended(runs, killed);

    // Another 500 would be beyond the bound: the second start is stopped by what the first one has
    // used.
    expect(run.report!.missing, second.log.join("\n")).toMatchObject([
      { port: "a", because: { code: "TOKENS_EXHAUSTED" } },
    ]);
    expect(run.tokensIn).toBe(1_000);
  },
);

test(
  "a worker without a sign is told as stalled, once per silence, and its next sign says that it is back",
  { ...FULL, timeout: 90_000 },
  async () => {
    const worker: Worker = {
      kind: "offline",
      async *run() {
        yield {
          type: "progress",
          progress: 0.1,
          currentTask: "thinking",
          tokensUsed: 0,
          callsMade: 1,
        };
        await systemClock.sleep(3_000);
        yield { type: "progress", progress: 0.5, currentTask: "back", tokensUsed: 0, callsMade: 1 };
        yield {
          type: "result",
          result: {
            status: "ready",
            summary: "done",
            claimedFiles: [],
            tokens: { input: 0, output: 0 },
          },
        };
      },
    };
    const { runs, repository } = await open({ worker: () => worker, stalledMs: 500 });

    const id = await begin(
      runs,
      repository,
      `plan: one\nroles: modules\nworkers: { default: { kind: offline } }\nports:\n  - { id: a, role: a, goal: g, owns: [src/shop/a/**], acceptance: "true", no_change: allowed }\n`,
    );
    await ended(runs, id);

    const told = (await eventsOf(runs, id)).filter(
      ({ type }) => type === "worker.stalled" || type === "worker.progress",
    );
    // Before it said anything it may have been slow to begin, which is a silence of its own.
    const [stalled, ...more] = told.flatMap((event) =>
      event.type === "worker.stalled" && event.data.task === "thinking" ? [event] : [],
    );
    expect(more).toEqual([]);
    expect(stalled!.data).toMatchObject({ port: "a", member: "implementer", try: 1 });
    expect(stalled!.data.silentMs).toBeGreaterThanOrEqual(500);
    expect(told.slice(told.indexOf(stalled!) + 1)).toMatchObject([
      { type: "worker.progress", data: { task: "back" } },
    ]);
  },
);

test(
  "commands of the plan see no files of the person, git's stores or other trees, only the software",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository, home } = await open();
    await repository.write({
      ".env": "KEY=secret\n",
      "node_modules/.bin/tool": "#!/bin/sh\nexit 0\n",
    });
    const look =
      `test ! -e ${repository.folder}/.env && test ! -e ${repository.folder}/.git && test ! -e ` +
      `${repository.folder}/src && sh ${repository.folder}/node_modules/.bin/tool && test ! -e ` +
      `${home}/plans/*/store.git && test -f package.json && test "$(ls .. | sort | tr '\\\\n' ' ` +
      `')" != ""`;

    const id = await begin(
      runs,
      repository,
      `plan: one\nroles: modules\nsetup: ${JSON.stringify(look)}\nintegration: ` +
        `${JSON.stringify(look)}\nworkers: { default: { kind: offline } }\nports:\n  - { id: a, ` +
        `role: a, goal: g, owns: [src/shop/a/**], no_change: allowed, acceptance: ${JSON.stringify(look)}, check: ` +
        `${JSON.stringify(look)} }\n`,
    );
    const run = await ended(runs, id);

    expect(run.status, JSON.stringify([run.because, run.report])).toBe("success");
  },
);
