// @module-tag slow
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import {
  realPlan,
  testRepository,
  type RealRunsOptions,
  type TestRepository,
} from "./real-runs.ts";
import { openStage } from "./stage.ts";

const NODE_TEST = (name: string, body: string): string =>
  `import { test } from "node:test";\nimport assert from "node:assert/strict";\n${body}\n`.replace(
    "NAME",
    name,
  );

const FILES = {
  "package.json": '{ "name": "shop", "type": "module" }\n',
  ".gitignore": "node_modules/\n",
  "src/price/price.mjs": "export const price = (cents) => cents;\n",
  "src/stock/stock.mjs": "export const left = (have, sold) => have + sold;\n",
  "test/price/price.test.mjs": NODE_TEST(
    "price",
    'import { price } from "../../src/price/price.mjs";\ntest("a price is written with two ' +
      'digits", () => assert.equal(price(1250), "12.50"));',
  ),
  "test/stock/stock.test.mjs": NODE_TEST(
    "stock",
    'import { left } from "../../src/stock/stock.mjs";\ntest("what is sold is gone", () => ' +
      "assert.equal(left(5, 2), 3));",
  ),
};

const PLAN = `
plan: shop
roles: modules
integration: node --test
workers: { default: { kind: offline } }
ports:
  - { id: price, role: price, goal: Write prices., owns: [src/price/**], tests: [test/price/**], acceptance: node --test test/price/*.test.mjs }
  - { id: stock, role: stock, goal: Count the stock., owns: [src/stock/**], tests: [test/stock/**], acceptance: node --test test/stock/*.test.mjs, dependsOn: [price] }
`;

const SCRIPT = `
ports:
  price:
    implementer:
      - edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => String(cents / 100);\\n" }]
        summary: Divide by a hundred.
      - edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => (cents / 100).toFixed(2);\\n" }]
        summary: Two digits, as the test says.
  stock:
    implementer:
      - edits: [{ path: src/stock/stock.mjs, replace: { old: "have + sold", new: "have - sold" } }]
        summary: Subtract.
`;

const open = (
  options: Partial<RealRunsOptions> = {},
  files: Readonly<Record<string, string>> = FILES,
): ReturnType<typeof openStage> => openStage(files, { script: SCRIPT, ...options });

async function ended(runs: TestRuns, id: string): Promise<PlanRun> {
  const standing = async (): Promise<unknown> => {
    const { phase, status, ports } = await runs.runs.get(id);
    return (
      `${phase} ${status}: ` +
      `${(await Promise.all(ports.map(async (port) => `${port.id} ${port.status} ${(await runs.runs.port(id, port.id)).steps.map((step) => `${step.try}.${step.kind}:${step.status}`).join(" ")}`))).join("; ")} ` +
      (await runs.runs.records.steps.of(id, "orchestrator"))
        .map((step) => `${step.try}.${step.kind}:${step.status}`)
        .join(" ")
    );
  };
  await expect
    .poll(async () => ((await runs.runs.get(id)).finishedAt !== null ? "over" : standing()), {
      timeout: 60_000,
      interval: 50,
      message: "the run did not end",
    })
    .toBe("over");
  return runs.runs.get(id);
}

const ONE_PORT = (more = "", plan = ""): string => `
plan: one
roles: modules
workers: { default: { kind: offline } }
${plan}
ports:
  - { id: price, role: price, goal: Write prices., owns: [src/price/**], acceptance: node --test test/price/*.test.mjs${more} }
`;

test(
  "a pair mends what its real tests found; the only result is a branch in the person's repository",
  { timeout: 90_000 },
  async () => {
    const { runs, repository } = await open();
    const before = await repository.fingerprint();

    const { id } = await runs.runs.run({
      plan: realPlan(PLAN),
      repository: repository.folder,
      by: "me",
    });
    const run = await ended(runs, id);

    expect({
      because: run.because,
      missing: run.report?.missing,
      integration: run.report?.integration?.output,
    }).toMatchObject({ because: null, missing: [] });
    expect(run.status).toBe("success");
    expect(run.report).toMatchObject({
      branch: "dure/shop",
      kept: ["price", "stock"],
      missing: [],
      conflicts: [],
      integration: { passed: true },
    });
    expect(await repository.fingerprint()).toBe(before);
    expect(await repository.git("show", "dure/shop:src/price/price.mjs")).toBe(
      "export const price = (cents) => (cents / 100).toFixed(2);",
    );
    expect(await repository.git("show", "dure/shop:src/stock/stock.mjs")).toBe(
      "export const left = (have, sold) => have - sold;",
    );
    const price = await runs.runs.port(id, "price");
    expect(price.steps.map((step) => `${step.try} ${step.kind} ${step.status}`)).toEqual([
      "1 implement done",
      "1 test done",
      "1 accept done",
      "2 implement done",
      "2 test done",
      "2 accept done",
      "2 count done",
      "2 judge done",
      "2 base done",
    ]);
    expect(price.messages.map(({ from, to, type }) => `${from} → ${to}: ${type}`)).toEqual([
      "implementer → tester: result",
      "tester → implementer: feedback",
      "implementer → tester: result",
      "tester → implementer: feedback",
    ]);
    expect(price.messages[1]!.payload).toMatchObject({
      success: false,
      failedTests: [{ name: "a price is written with two digits" }],
    });
    expect(price.messages.every(({ processedAt }) => processedAt !== null)).toBe(true);
  },
);

test(
  "a port that never passes has three tries, asks a person, and goes on with the answer",
  { ...FULL, timeout: 90_000 },
  async () => {
    const wrong = (text: string): string =>
      `{ edits: [{ path: src/price/price.mjs, content: "export const price = () => ` +
      `\\"${text}\\";\\n" }], tokens: 100 }`;
    const { runs, repository } = await open({
      script:
        `ports: { price: { implementer: [${wrong("a")}, ${wrong("b")}, ${wrong("c")}, { edits: [{ ` +
        `path: src/price/price.mjs, content: "export const price = (cents) => (cents / ` +
        `100).toFixed(2);" }] }] } }`,
    });

    const { id } = await runs.runs.run({
      plan: realPlan(ONE_PORT()),
      repository: repository.folder,
      by: "me",
    });
    const failed = await ended(runs, id);
    const {
      items: [asked],
    } = await runs.inbox.list({ tenant: "", run: id, status: "open" });

    expect(failed).toMatchObject({
      status: "failed",
      report: {
        kept: [],
        missing: [
          {
            port: "price",
            because: { code: "TRIES_EXHAUSTED", message: expect.stringContaining("3 of 3 tries") },
          },
        ],
      },
    });
    expect(asked).toMatchObject({
      type: "test_failure",
      severity: "high",
      source: { run: id, port: "price" },
      context: { tries: 3, failing: ["a price is written with two digits"] },
    });
    await runs.inbox.answer(
      asked!.id,
      { value: "retry", note: "Two digits behind the point." },
      { tenant: "", name: "민준" },
    );
    await expect
      .poll(async () => (await runs.runs.get(id)).status, { timeout: 60_000 })
      .toBe("success");
    const port = await runs.runs.port(id, "price");
    expect(Math.max(...port.steps.map((step) => step.try))).toBe(4);
    expect(port).toMatchObject({
      status: "succeeded",
      tokensIn: 300,
      hint: "Two digits behind the point.",
    });
    expect(
      await repository.git("for-each-ref", "--format=%(refname:lstrip=3)", `refs/dure/${id}/ports`),
    ).toContain("ports/price/1.implement");
  },
);

test(
  "time over ends the workers, frees the slot and asks for more",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await open({
      script: `ports: { price: { implementer: [{ hang: true }] } }`,
    });

    const { id } = await runs.runs.run({
      plan: realPlan(ONE_PORT(", timeout: 3s")),
      repository: repository.folder,
      by: "me",
    });
    const run = await ended(runs, id);

    expect(run.report!.missing).toEqual([
      { port: "price", because: expect.objectContaining({ code: "PORT_TIMEOUT" }) },
    ]);
    const { items } = await runs.inbox.list({ tenant: "", run: id, status: "open" });
    expect(items).toMatchObject([
      {
        type: "timeout",
        severity: "high",
        suggestedActions: expect.arrayContaining([expect.objectContaining({ value: "more_time" })]),
      },
    ]);
    expect(
      (await runs.runs.port(id, "price")).steps.map(({ kind, status }) => `${kind} ${status}`),
    ).toEqual(["implement stopped"]);
  },
);

test(
  "cancel ends a worker that listens to nothing within two seconds, with all its children",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository, home } = await open();
    const stubborn = `plan: one\nroles: modules\nworkers: { default: { kind: command, command: [sh, -c, "trap '' TERM INT; (trap '' TERM; setsid sleep 7654 &) ; echo begun > src/price/begun; while true; do sleep 1; done"] } }\nports:\n  - { id: price, role: price, goal: g, owns: [src/price/**], acceptance: "true" }\n`;
    const { id } = await runs.runs.run({
      plan: realPlan(stubborn),
      repository: repository.folder,
      by: "me",
    });
    const begun = join(home, "plans", id, "ports", "price", "tree", "src", "price", "begun");
    await expect
      .poll(
        async () =>
          stat(begun).then(
            () => true,
            () => false,
          ),
        { timeout: 30_000 },
      )
      .toBe(true);

    const asked = performance.now();
    await runs.runs.commands.order(id, { type: "cancel" }, { by: "me" });
    const run = await ended(runs, id);

    expect(run.status).toBe("cancelled");
    expect(performance.now() - asked).toBeLessThan(boundMs(2_000));
    expect(await processesWith("sleep 7654")).toEqual([]);
  },
);

test(
  "contracts are written first, by the orchestrator alone, and are read-only for everybody else",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await open({
      script: `
ports:
  orchestrator: { orchestrator: [{ edits: [{ path: src/contracts/amount.mjs, content: "export const DIGITS = 2;\\n" }] }] }
  price: { implementer: [{ edits: [{ path: src/price/price.mjs, content: "import { DIGITS } from '../contracts/amount.mjs';\\nexport const price = (cents) => (cents / 100).toFixed(DIGITS);\\n" }, { path: src/contracts/amount.mjs, content: "export const DIGITS = 3;", unasked: true }] }] }
`,
    });
    const plan = ONE_PORT(
      "",
      "contracts: [{ path: src/contracts/amount.mjs, by: orchestrator }]",
    ).replace(
      "default: { kind: offline }",
      "default: { kind: offline }, orchestrator: { kind: offline }",
    );

    const { id } = await runs.runs.run({
      plan: realPlan(plan),
      repository: repository.folder,
      by: "me",
    });
    const run = await ended(runs, id);

    expect(run.status, JSON.stringify(run.report)).toBe("success");
    expect(await repository.git("show", "dure/one:src/contracts/amount.mjs")).toBe(
      "export const DIGITS = 2;",
    );
  },
);

test(
  "a contract that no port writes stops the run before any port begins",
  { timeout: 60_000 },
  async () => {
    const { runs, repository } = await open();
    const { id } = await runs.runs.run({
      plan: realPlan(
        ONE_PORT("", "contracts: [{ path: src/contracts/none.mjs, by: orchestrator }]"),
      ),
      repository: repository.folder,
      by: "me",
    });

    const run = await ended(runs, id);

    expect(run).toMatchObject({
      status: "failed",
      because: {
        code: "CONTRACTS_MISSING",
        message: expect.stringContaining("src/contracts/none.mjs"),
      },
    });
    expect(
      (await runs.runs.records.steps.of(id)).filter(({ kind }) => kind === "implement"),
    ).toEqual([]);
  },
);

test(
  "a contract that is not settled is written by the port that owns it, and the ports work in order",
  { timeout: 90_000 },
  async () => {
    const { runs, repository } = await open();
    const port = (id: string, acceptance: string): string =>
      `  - { id: ${id}, role: ${id}, goal: Make ${id}., owns: [src/${id}/**], acceptance: "${acceptance}" }`;
    const write =
      "date > src/$DURE_PORT_ID/made.txt; test $DURE_PORT_ID = a && echo c > src/a/types.txt; true";
    const plan = realPlan(
      [
        "plan: open",
        "roles: modules",
        "auto: { changes: 3, few_files: 1 }",
        "contracts: [{ path: src/a/types.txt, by: orchestrator }]",
        `workers: { default: { kind: command, command: [sh, -c, "${write}"] } }`,
        "ports:",
        port("a", "test -f src/a/types.txt"),
        port("b", "test -f src/a/types.txt"),
        port("c", "test -f src/a/types.txt"),
        "",
      ].join("\n"),
    );

    const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
    const run = await ended(runs, id);

    expect({ status: run.status, because: run.because }).toEqual({
      status: "success",
      because: null,
    });
    expect(run.mode).toMatchObject({ mode: "in-order", because: expect.stringContaining("types") });
    expect(await repository.git("show", "dure/open:src/a/types.txt")).toBe("c");
  },
);

/** Each port passes alone; together they pass when both do what they should. */
const TOGETHER = {
  ...FILES,
  "test/all.test.mjs": NODE_TEST(
    "all",
    'import { price } from "../src/price/price.mjs";\nimport { left } from ' +
      '"../src/stock/stock.mjs";\ntest("what is left has its price", () => assert.ok(["25.00", ' +
      '"1250"].includes(String(price(left(2, 0) * 1250)).replace(/^2500$/, "1250"))));',
  ),
  "test/price/price.test.mjs": NODE_TEST(
    "price",
    'import { price } from "../../src/price/price.mjs";\ntest("a price is written", () => ' +
      "assert.ok(price(1250)));",
  ),
  "test/stock/stock.test.mjs": NODE_TEST(
    "stock",
    'import { left } from "../../src/stock/stock.mjs";\ntest("something is left", () => ' +
      "assert.ok(left(5, 2)));",
  ),
};

const together = (...stock: readonly string[]): string => `
ports:
  price: { implementer: [{ edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => (cents / 100).toFixed(2);\\n" }] }] }
  stock:
    implementer:
${stock.map((sum) => `      - edits: [{ path: src/stock/stock.mjs, content: "export const left = (have, sold) => ${sum};\\n" }]`).join("\n")}
`;

test(
  "the port that breaks the merged tree goes back to its pair with the output, and then all passes",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open(
      { script: together("have - sold + 1", "have - sold") },
      TOGETHER,
    );

    const { id } = await runs.runs.run({
      plan: realPlan(PLAN),
      repository: repository.folder,
      by: "me",
    });
    const run = await ended(runs, id);

    expect(run.status, JSON.stringify(run.report)).toBe("success");
    expect(await repository.git("show", "dure/shop:src/stock/stock.mjs")).toBe(
      "export const left = (have, sold) => have - sold;",
    );
    const stock = await runs.runs.port(id, "stock");
    expect(stock.steps.filter(({ kind }) => kind === "integrate")).toHaveLength(1);
    expect(Math.max(...stock.steps.map((step) => step.try))).toBe(2);
    expect(stock.triesPair).toBe(4);
    expect((await runs.runs.port(id, "price")).steps.every((step) => step.try === 1)).toBe(true);
  },
);

test(
  "a port that breaks the whole a second time is left out and asks a person; the rest is kept",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open(
      { script: together("have - sold + 1", "have - sold + 2") },
      TOGETHER,
    );

    const { id } = await runs.runs.run({
      plan: realPlan(PLAN),
      repository: repository.folder,
      by: "me",
    });
    const run = await ended(runs, id);

    expect(run).toMatchObject({
      status: "partial",
      because: null,
      report: {
        branch: "dure/shop",
        kept: ["price"],
        missing: [{ port: "stock", because: { code: "INTEGRATION_FAILED" } }],
        integration: { passed: true },
      },
    });
    expect((await runs.inbox.list({ tenant: "", run: id, status: "open" })).items).toMatchObject([
      { type: "quality", severity: "high", source: { run: id, port: "stock" } },
    ]);
    expect((await eventsOf(runs, id)).filter((type) => type === "port.recalled")).toHaveLength(1);
  },
);

test(
  "what the orchestrator changes besides the contracts is not taken; its tokens are the run's",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await open({
      script: `
ports:
  orchestrator: { orchestrator: [{ tokens: 40, edits: [{ path: src/contracts/amount.mjs, content: "export const DIGITS = 2;" }, { path: README.md, content: mine, unasked: true }, { path: src/other.mjs, content: mine }] }] }
  price: { implementer: [{ edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => (cents / 100).toFixed(2);" }] }] }
`,
    });
    const plan = ONE_PORT(
      "",
      "isolation: audit\ncontracts: [{ path: src/contracts/amount.mjs, by: orchestrator }]",
    ).replace(
      "default: { kind: offline }",
      "default: { kind: offline }, orchestrator: { kind: offline }",
    );

    const { id } = await runs.runs.run({
      plan: realPlan(plan),
      repository: repository.folder,
      by: "me",
    });
    const run = await ended(runs, id);

    await runs.events.caughtUp();
    const { events } = await runs.events.read(undefined, { run: id }, 1_000);
    expect(events.find(({ type }) => type === "worker.complete")).toMatchObject({
      data: { member: "orchestrator", status: "ready", changed: 1 },
    });
    expect(run).toMatchObject({ status: "success", isolation: "audit", tokensIn: 40 });
    expect(await repository.git("ls-tree", "--name-only", "dure/one")).not.toContain("README.md");
    expect(
      (await runs.runs.records.violations(id)).map(
        ({ port, member, path, found }) => `${port} ${member} ${path} ${found}`,
      ),
    ).toEqual([
      "orchestrator orchestrator src/other.mjs request",
      "orchestrator orchestrator README.md commit",
    ]);
    expect((await runs.inbox.list({ tenant: "", run: id })).items).toMatchObject([
      { type: "ownership", source: { run: id }, context: { paths: ["README.md"] } },
    ]);
  },
);

test(
  "tokens at four fifths are told, and a bound that is used up stops the port",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository } = await open({
      script: `ports: { price: { implementer: [{ tokens: 850 }, { tokens: 100 }, { tokens: 500 }] } }`,
    });
    const { id } = await runs.runs.run({
      plan: realPlan(ONE_PORT(', budget: "1000 tokens"')),
      repository: repository.folder,
      by: "me",
    });

    const run = await ended(runs, id);

    const { items } = await runs.inbox.list({ tenant: "", run: id });
    expect(items.filter(({ type }) => type === "token_exhausted")).toMatchObject([
      { severity: "medium" },
    ]);
    expect(run.report!.missing[0]!.because.code).toBe("TOKENS_EXHAUSTED");
  },
);

test(
  "a member asks its partner, who answers while it works, and the words are kept in order",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository } = await open({
      script: `ports: { price: { implementer: [{ queries: ["How many digits?"], edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => (cents / 100).toFixed(2);" }] }] } }`,
    });
    const { id } = await runs.runs.run({
      plan: realPlan(ONE_PORT()),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);

    const { messages } = await runs.runs.port(id, "price");

    expect(messages.map(({ from, to, type }) => `${from} → ${to}: ${type}`)).toEqual([
      "implementer → tester: query",
      "tester → implementer: ack",
      "implementer → tester: result",
      "tester → implementer: feedback",
    ]);
    expect(messages[0]!.payload).toEqual({ text: "How many digits?" });
    expect(
      messages.every(
        ({ deliveredAt, processedAt }) => deliveredAt !== null && processedAt !== null,
      ),
    ).toBe(true);
  },
);

test(
  "a folder without git, without a commit, without such a base: a clear error, and there is no run",
  { timeout: 60_000 },
  async () => {
    const { runs, repository, home } = await open();
    const begin = (folder: string, more = ""): Promise<PlanRun> =>
      runs.runs.run({ plan: realPlan(ONE_PORT("", more)), repository: folder, by: "me" });
    const empty = await testRepository({});
    await empty.git("update-ref", "-d", "HEAD");

    await expect(begin(home)).rejects.toMatchObject({ code: "NOT_A_REPOSITORY" });
    await expect(begin(join(home, "nothing"))).rejects.toMatchObject({ code: "NOT_A_REPOSITORY" });
    await expect(begin(empty.folder)).rejects.toMatchObject({ code: "REPOSITORY_EMPTY" });
    await expect(begin(repository.folder, "base: nowhere")).rejects.toMatchObject({
      code: "BASE_UNKNOWN",
      hint: expect.stringContaining("main"),
    });
    expect((await runs.runs.list()).items).toEqual([]);
    await empty[Symbol.asyncDispose]();
  },
);

test(
  "a person who goes on working meanwhile, with uncommitted files and a new commit, is not disturbed",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await open();
    await repository.git("branch", "dure/shop"); // a branch of that name is there already
    await repository.write({
      "src/price/price.mjs": "// I am just changing this\n",
      "notes.txt": "mine\n",
    });

    const { id } = await runs.runs.run({
      plan: realPlan(PLAN),
      repository: repository.folder,
      by: "me",
    });
    await repository.write({ "src/other.mjs": "export {};\n" });
    await repository.git("add", "src/other.mjs");
    await repository.git("commit", "--quiet", "-m", "Go on");
    const before = await repository.fingerprint();
    const run = await ended(runs, id);

    expect(run.status, JSON.stringify(run.report)).toBe("success");
    expect(run.report!.branch).toBe("dure/shop-2");
    expect(await repository.fingerprint()).toBe(before);
    expect(await repository.git("show", "dure/shop-2:src/price/price.mjs")).toContain("toFixed(2)");
  },
);

/** Answers the open question of a port of this type. */
async function answer(
  runs: TestRuns,
  run: string,
  port: string | undefined,
  type: string,
  value: string,
  note?: string,
): Promise<void> {
  const { items } = await runs.inbox.list({ tenant: "", run, status: "open" });
  const asked = items.find(
    (one) =>
      one.type === type &&
      one.source.port === port &&
      one.suggestedActions.some((action) => action.value === value),
  );
  expect(
    asked,
    `${type} of ${port} in ${items.map((one) => `${one.type} of ${one.source.port}`).join(", ")}`,
  ).toBeDefined();
  await runs.inbox.answer(
    asked!.id,
    { value, ...(note !== undefined && { note }) },
    { tenant: "", name: "민준" },
  );
}

async function succeeds(runs: TestRuns, id: string): Promise<PlanRun> {
  await expect
    .poll(async () => (await runs.runs.get(id)).status, { timeout: 90_000, interval: 50 })
    .toBe("success");
  return runs.runs.get(id);
}

async function eventsOf(runs: TestRuns, run: string): Promise<string[]> {
  await runs.events.caughtUp();
  return (await runs.events.read(undefined, { run }, 1_000)).events.map(({ type }) => type);
}

test(
  "under `report` what a worker changes beside its paths is left out and recorded, and its port goes on",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await open({
      script: `
ports:
  price: { implementer: [{ edits: [{ path: src/a, content: "" }, { path: src/b, content: "" }, { path: README.md, content: mine, unasked: true }, { path: src/price/price.mjs, content: "export const price = (cents) => (cents / 100).toFixed(2);" }] }] }
`,
    });

    const { id } = await runs.runs.run({
      plan: realPlan(ONE_PORT("", "isolation: audit\nviolations: report")),
      repository: repository.folder,
      by: "me",
    });
    const run = await ended(runs, id);

    expect(run.status).toBe("success");
    expect((await repository.git("diff", "--name-only", "main", "dure/one")).split("\n")).toEqual([
      "src/price/price.mjs",
    ]);
    expect(
      (await runs.runs.records.violations(id)).map(({ path, found }) => `${path} ${found}`),
    ).toEqual(["src/a request", "src/b request", "README.md commit"]);
  },
);

test(
  "every question after a worker's failure has an answer with which its port goes on",
  { ...FULL, timeout: 180_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "dure-agent-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const agent = join(folder, "agent");
    const plan = `
plan: answers
roles: modules
isolation: audit
limits: { tries: 1 }
workers: { default: { kind: offline }, gone: { kind: command, command: ["${agent}"] } }
ports:
  - { id: own, role: own, goal: g, owns: [src/own/**], acceptance: "grep -q granted 'app/[id]/page.mjs'" }
  - { id: stray, role: stray, goal: g, owns: [src/stray/**], acceptance: test -f src/stray/done }
  - { id: spend, role: spend, goal: g, owns: [src/spend/**], acceptance: test -f src/spend/done, budget: "1000 tokens" }
  - { id: gone, role: gone, goal: g, owns: [src/gone/**], acceptance: test -f src/gone/done }
`;
    const { runs, repository } = await open(
      {
        script: `
ports:
  own: { implementer: [{ edits: [{ path: "app/[id]/page.mjs", content: "taken", unasked: true }] }, { edits: [{ path: "app/[id]/page.mjs", content: "granted" }] }] }
  stray: { implementer: [{ edits: [{ path: src/a, content: "" }, { path: src/b, content: "" }] }, { edits: [{ path: src/stray/done, content: "" }] }] }
  spend: { implementer: [{ tokens: 1200 }, { tokens: 100, edits: [{ path: src/spend/done, content: "" }] }] }
`,
      },
      { "README.md": "answers\n", "app/[id]/page.mjs": "before\n" },
    );

    const { id } = await runs.runs.run({
      plan: realPlan(plan),
      repository: repository.folder,
      by: "me",
    });
    const failed = await ended(runs, id);
    expect(failed.isolation).toBe("audit");
    expect(failed.report!.missing.map(({ port, because }) => `${port} ${because.code}`)).toEqual([
      "own OWNERSHIP_VIOLATED",
      "stray OWNERSHIP_VIOLATED",
      "spend TOKENS_EXHAUSTED",
      "gone WORKER_NOT_STARTED",
    ]);
    await writeFile(agent, "#!/bin/sh\nmkdir -p src/gone && touch src/gone/done\n");
    await chmod(agent, 0o755);

    await answer(runs, id, "own", "ownership", "own", "ok, tests need it");
    await answer(runs, id, "stray", "ownership", "retry", "Stay in your folder.");
    await answer(runs, id, "spend", "token_exhausted", "more_tokens");
    await answer(runs, id, "gone", "general", "retry");
    const run = await succeeds(runs, id);

    const ports = (await runs.runs.get(id)).ports;
    expect(ports.map((port) => `${port.id} ${port.triesPair}`)).toEqual([
      "own 2",
      "stray 2",
      "spend 2",
      "gone 2",
    ]);
    expect(ports[0]).toMatchObject({
      hint: "ok, tests need it",
      grants: [{ path: "app/[id]/page.mjs", wants: "own" }],
    });
    expect(await repository.git("show", `${run.report!.branch}:app/[id]/page.mjs`)).toBe("granted");
    expect((await runs.inbox.list({ tenant: "", run: id, status: "open" })).items).toEqual([]);
  },
);

const SHARED = { "README.md": "shared\n", "src/shared.txt": "base" };

/**
 * Two ports that ask for the same file, write it differently, and leave the rest to the
 * orchestrator.
 */
const sharing = (orchestrator: string, again = ""): string => `
ports:
  a: { implementer: [{ requestAccess: [{ path: src/shared.txt, wants: own }, { path: docs/a.md, wants: own }] }, { try: 4, edits: [{ path: src/shared.txt, content: a }] }] }
  b: { implementer: [{ requestAccess: [{ path: src/shared.txt, wants: own }] }, { try: 4, edits: [{ path: src/shared.txt, content: b }] }${again}] }
  orchestrator: { orchestrator: [${orchestrator}] }
`;

/** Once both have what they asked for, and have written it. */
async function afterGrants(runs: TestRuns, repository: TestRepository): Promise<string> {
  const plan = `
plan: shared
roles: modules
mode: parallel
setup: "echo set up > .ready"
limits: { tries: 1, merge: as_ready }
integration: grep -q . src/shared.txt
workers: { default: { kind: offline }, orchestrator: { kind: offline } }
ports:
  - { id: a, role: a, goal: g, owns: [src/a/**], acceptance: "! grep -q base src/shared.txt", check: test -f .ready }
  - { id: b, role: b, goal: g, owns: [src/b/**], acceptance: "! grep -q base src/shared.txt || test -f src/b/instead", check: test -f .ready }
`;
  const { id } = await runs.runs.run({
    plan: realPlan(plan),
    repository: repository.folder,
    by: "me",
  });
  await ended(runs, id);
  const { items } = await runs.inbox.list({
    tenant: "",
    run: id,
    status: "open",
    type: "ownership",
  });
  expect(
    items
      .map(({ context }) => context["path"] as string)
      .toSorted((one, other) => one.localeCompare(other)),
  ).toEqual(["docs/a.md", "src/shared.txt", "src/shared.txt"]); // each path is a question
  for (const { id: asked, context } of items) {
    if (context["path"] === "src/shared.txt") {
      await runs.inbox.answer(asked, { value: "own" }, { tenant: "", name: "민준" });
    }
  }
  await expect
    .poll(async () => (await eventsOf(runs, id)).includes("merge.conflict"), { timeout: 90_000 })
    .toBe(true);
  await ended(runs, id);
  return id;
}

test(
  "a port whose pair cannot go on goes to the orchestrator, although the pair has tries left",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await open({
      script: `ports: { price: { orchestrator: [{ try: 2, edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => (cents / 100).toFixed(2);\\n" }] }] } }`,
    });
    const plan = realPlan(
      ONE_PORT().replace(
        "{ default: { kind: offline } }",
        "{ default: { kind: command, command: [no-such-agent-here] }, orchestrator: { kind: offline } }",
      ),
    );
    const alone = realPlan(
      ONE_PORT().replace(
        "{ default: { kind: offline } }",
        "{ default: { kind: command, command: [no-such-agent-here] } }",
      ),
    );
    const [{ id }, { id: without }] = [
      await runs.runs.run({ plan, repository: repository.folder, by: "me" }),
      await runs.runs.run({ plan: alone, repository: repository.folder, by: "me" }),
    ];
    for (const one of [id, without]) expect((await ended(runs, one)).status).toBe("failed");

    await answer(runs, id, "price", "general", "reassign", "The agent is not installed here.");
    await succeeds(runs, id);

    const port = await runs.runs.port(id, "price");
    expect(
      port.steps
        .filter(({ kind }) => kind === "implement")
        .map((step) => [step.try, step.member, step.worker]),
    ).toEqual([
      [1, "implementer", "command"],
      [2, "orchestrator", "offline"],
    ]);
    expect([port.triesPair, port.triesOrchestrator, port.hint]).toEqual([
      1,
      3,
      "The agent is not installed here.",
    ]);
    await expect(
      runs.runs.commands.order(
        without,
        { type: "retry", port: "price", by: "orchestrator" },
        { by: "me" },
      ),
    ).rejects.toMatchObject({ code: "ORCHESTRATOR_MISSING" });
  },
);

test(
  "what two ports wrote differently is written once by the orchestrator, and can be seen before",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository } = await open(
      { script: sharing("{ tokens: 70, edits: [{ path: src/shared.txt, content: a and b }] }") },
      SHARED,
    );

    const id = await afterGrants(runs, repository);
    const run = await succeeds(runs, id);

    expect(run.report).toMatchObject({
      kept: ["a", "b"],
      conflicts: [{ path: "src/shared.txt", ports: ["a", "b"], solvedBy: "orchestrator" }],
      integration: { passed: true },
    });
    expect(run.tokensIn).toBe(70);
    expect(await repository.git("show", `${run.report!.branch}:src/shared.txt`)).toBe("a and b");
    expect(await eventsOf(runs, id)).toEqual(
      expect.arrayContaining(["merge.ready", "merge.conflict", "merge.done"]),
    );
  },
);

test(
  "an orchestrator that fails has written nothing: a person is asked, and the run goes on",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository } = await open(
      {
        script: sharing(
          "{ status: failed, summary: I do not know }",
          ", { try: 5, edits: [{ path: src/shared.txt, content: base }, { path: src/b/instead, " +
            "content: b }] }",
        ),
      },
      SHARED,
    );

    const id = await afterGrants(runs, repository);
    const partial = await runs.runs.get(id);

    expect(partial).toMatchObject({
      status: "partial",
      report: {
        kept: ["a"],
        missing: [
          {
            port: "b",
            because: { code: "CONFLICT", message: expect.stringContaining("I do not know") },
          },
        ],
      },
    });
    expect(await repository.git("show", `${partial.report!.branch}:src/shared.txt`)).toBe("a");
    await answer(runs, id, "b", "conflict", "retry", "Write it elsewhere.");
    const run = await succeeds(runs, id);
    expect(run.report).toMatchObject({ kept: ["a", "b"], conflicts: [] });
  },
);

test.each([
  ["with tests by name", () => "node --test test/all/*.test.mjs"],
  [
    "without naming any test",
    (folder: string) =>
      `'test -f ${folder}/there || { echo "what it needs is not there after $$ ms"; exit 3; }'`,
  ],
])(
  "when the base fails the integration too, %s, what succeeded stays as a branch and is tried again",
  { ...FULL, timeout: 180_000 },
  async (_how, integration) => {
    const folder = await mkdtemp(join(tmpdir(), "dure-needs-"));
    await chmod(folder, 0o755); // the commands of a plan are another user than root
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const files = {
      ...FILES,
      "test/all/needs.test.mjs": NODE_TEST(
        "needs",
        `import { existsSync } from "node:fs";\ntest("what it needs is there", () => ` +
          `assert.ok(existsSync("${folder}/there")));`,
      ),
    };
    const { runs, repository } = await open({ script: SCRIPT, programs: [folder] }, files);
    const plan = ONE_PORT("", `integration: ${integration(folder)}`);

    const { id } = await runs.runs.run({
      plan: realPlan(plan),
      repository: repository.folder,
      by: "me",
    });
    const partial = await ended(runs, id);

    expect(partial).toMatchObject({
      status: "partial",
      because: { code: "INTEGRATION_FAILED" },
      report: { branch: "dure/one", kept: ["price"], missing: [], integration: { passed: false } },
    });
    expect(await repository.git("show", "dure/one:src/price/price.mjs")).toContain("toFixed(2)");
    expect((await runs.inbox.list({ tenant: "", run: id, status: "open" })).items).toMatchObject([
      { type: "quality", suggestedActions: [{ value: "retry" }, { value: "known" }] },
    ]);
    await writeFile(join(folder, "there"), "");
    await answer(runs, id, undefined, "quality", "retry");
    expect(await succeeds(runs, id)).toMatchObject({
      because: null,
      report: { branch: "dure/one", integration: { passed: true } },
    });
  },
);

test(
  "when the merged tree cannot be set up, what succeeded is kept untried",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open();
    const plan = ONE_PORT(
      "",
      'setup: test "$DURE_PORT_ID" != orchestrator\nintegration: node --test',
    );

    const { id } = await runs.runs.run({
      plan: realPlan(plan),
      repository: repository.folder,
      by: "me",
    });
    const run = await ended(runs, id);

    expect(run).toMatchObject({
      status: "partial",
      because: { code: "SETUP_FAILED" },
      report: { branch: "dure/one", kept: ["price"] },
    });
    expect(await repository.git("show", "dure/one:src/price/price.mjs")).toContain("toFixed(2)");
  },
);

test(
  "what does not build is no test's failure; a question about tokens closes when the port succeeds",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open({
      script: `ports: { price: { implementer: [{ tokens: 100, edits: [{ path: src/price/price.mjs, content: "export const price = ;" }] }, { tokens: 750, edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => (cents / 100).toFixed(2);" }] }] } }`,
    });
    const plan = ONE_PORT(
      ', check: node --check src/price/price.mjs, budget: "1000 tokens"',
      "limits: { tries: 1 }",
    );
    const { id } = await runs.runs.run({
      plan: realPlan(plan),
      repository: repository.folder,
      by: "me",
    });

    const failed = await ended(runs, id);
    expect(failed.report!.missing[0]!.because.message).toContain("did not pass the check");
    await answer(runs, id, "price", "quality", "retry");
    await succeeds(runs, id);

    const { steps, messages } = await runs.runs.port(id, "price");
    expect(steps.map((step) => `${step.try} ${step.kind}`)).toEqual([
      "1 implement",
      "1 check",
      "2 implement",
      "2 check",
      "2 accept",
      "2 count",
      "2 judge",
    ]);
    expect(
      messages
        .filter(({ type }) => type === "result")
        .map(({ payload }) => (payload as { buildPassed: boolean }).buildPassed),
    ).toEqual([false, true]);
    expect(
      (await runs.inbox.list({ tenant: "", run: id })).items
        .map(({ type, status, resolvedBy }) => `${type} ${status} by ${resolvedBy}`)
        .toSorted(),
    ).toEqual(["quality resolved by 민준", "token_exhausted resolved by system"]);
  },
);

test(
  "cancel ends the integration command within two seconds, with its children",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await open();
    const { id } = await runs.runs.run({
      plan: realPlan(ONE_PORT("", "integration: sleep 7655")),
      repository: repository.folder,
      by: "me",
    });
    await expect.poll(() => processesWith("sleep 7655"), { timeout: 60_000 }).not.toEqual([]);

    const asked = performance.now();
    await runs.runs.commands.order(id, { type: "cancel" }, { by: "me" });

    expect(performance.now() - asked).toBeLessThan(boundMs(2_000));
    expect(await runs.runs.get(id)).toMatchObject({
      status: "cancelled",
      report: { kept: ["price"] },
    });
    expect(await processesWith("sleep 7655")).toEqual([]);
  },
);

test(
  "a partner who cannot answer says so at once, and a step that is begun anew asks anew",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await open({
      script: `ports: { price: { implementer: [{ queries: ["How many digits?"], hang: true }], tester: [{ status: failed, summary: I lost my voice }] } }`,
    });
    const { id } = await runs.runs.run({
      plan: realPlan(ONE_PORT(", timeout: 4s")),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);
    const said = async (): Promise<string[]> =>
      (await runs.runs.port(id, "price")).messages.map(({ type }) => type);
    expect(await said()).toEqual(["query", "ack"]);
    expect((await runs.runs.port(id, "price")).messages[1]!.payload).toEqual({
      text: "The tester cannot answer: I lost my voice. Decide by yourself.",
    });

    await answer(runs, id, "price", "timeout", "more_time");

    await expect.poll(said, { timeout: 30_000 }).toEqual(["query", "ack", "query", "ack"]);
  },
);

async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.map((line) => line.replaceAll("\0", " ").trim()).filter((line) => line === text);
}
