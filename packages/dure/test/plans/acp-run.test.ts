import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { AcpWorker } from "../../src/plans/workers/acp.ts";
import { realPlan, startRealRuns, testRepository } from "./real-runs.ts";

const AGENT = fileURLToPath(new URL("acp-agent/agent.ts", import.meta.url));
const orders = (...tries: object[]): string => `AGENT ${JSON.stringify(tries)}`;
const edit = (
  path: string,
  content: string,
  by: "client" | "self" | "asked" = "client",
): object => ({ path, content, by });

const FILES = {
  "src/price.mjs": "export const price = (cents) => cents;\n",
  "src/other/other.mjs": "export const other = 1;\n",
  "test/price.test.mjs":
    'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { price ' +
    '} from "../src/price.mjs";\ntest("two digits", () => assert.equal(price(1250), "12.50"));\n',
};

const PLAN = {
  plan: "agents",
  roles: "modules",
  limits: { max_concurrency: 3, tries: 2 },
  workers: {
    default: { kind: "acp", command: [process.execPath, AGENT] },
    ...Object.fromEntries(
      ["hangs", "dies", "floods", "nonsense", "ignores-cancel"].map((mode) => [
        mode,
        { kind: "acp", command: [process.execPath, AGENT, mode] },
      ]),
    ),
  },
  ports: [
    {
      id: "price",
      role: "price",
      owns: ["src/price.mjs"],
      acceptance: "node --test test/price.test.mjs",
      goal: orders(
        {
          edits: [edit("src/price.mjs", "export const price = (cents) => String(cents / 100);\n")],
        },
        {
          edits: [
            edit(
              "src/price.mjs",
              "export const price = (cents) => (cents / 100).toFixed(2);\n",
              "self",
            ),
          ],
        },
      ),
    },
    {
      id: "outside",
      role: "outside",
      owns: ["src/mine/**"],
      acceptance: "true",
      goal: orders({
        edits: [
          edit("src/mine/a.mjs", "export {};\n"),
          edit("src/other/other.mjs", "mine\n", "self"),
        ],
      }),
    },
    {
      id: "asks",
      role: "asks",
      owns: ["src/asked/**"],
      acceptance: "true",
      goal: orders({
        edits: [
          edit("src/other/other.mjs", "mine\n"),
          edit("src/other/more.mjs", "mine\n", "asked"),
        ],
      }),
    },
    ...["hangs", "ignores-cancel"].map((mode) => ({
      id: mode,
      role: mode,
      owns: [`src/${mode}/**`],
      acceptance: "true",
      timeout: "2s",
      goal: "Wait.",
    })),
    ...["dies", "floods", "nonsense"].map((mode) => ({
      id: mode,
      role: mode,
      owns: [`src/${mode}/**`],
      acceptance: "true",
      goal: "Work.",
    })),
  ],
};

test(
  "real agents: the good one is corrected by its tests, and none that misbehaves touches anything",
  { ...FULL, timeout: 180_000 },
  async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    const { url } = stack.use(await testDatabase());
    const repository = stack.use(await testRepository(FILES));
    const home = await mkdtemp(join(tmpdir(), "dure-home-"));
    stack.defer(() => rm(home, { recursive: true, force: true }));
    const runs = stack.use(
      await startRealRuns({
        url,
        home,
        worker: (spec) =>
          new AcpWorker({ command: spec.kind === "acp" ? spec.command : [], clock: systemClock }),
      }),
    );
    const before = await repository.fingerprint();

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(PLAN)),
      repository: repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await runs.runs.get(id)).finishedAt !== null, {
        timeout: 150_000,
        interval: 100,
      })
      .toBe(true);
    const run = await runs.runs.get(id);
    const because = Object.fromEntries(
      run.report!.missing.map(({ port, because: { code } }) => [port, code]),
    );

    expect(run.status, JSON.stringify(run.report)).toBe("partial");
    expect(because).toEqual({
      asks: "OWNERSHIP_VIOLATED",
      hangs: "PORT_TIMEOUT",
      "ignores-cancel": "PORT_TIMEOUT",
      dies: "TRIES_EXHAUSTED",
      floods: "TRIES_EXHAUSTED",
      nonsense: "TRIES_EXHAUSTED",
    });
    expect(
      (await runs.runs.port(id, "asks")).violations.map(({ path, found }) => `${path} ${found}`),
    ).toEqual(["src/other/other.mjs request", "src/other/more.mjs request"]);
    expect(
      (await runs.runs.port(id, "price")).steps.filter(({ kind }) => kind === "accept"),
    ).toHaveLength(2);
    expect(await repository.git("diff", "--name-only", "main", run.report!.branch!)).toBe(
      "src/mine/a.mjs\nsrc/price.mjs",
    );
    expect(await repository.fingerprint()).toBe(before);
    expect(await runs.runs.records.steps.strayProcesses(id)).toEqual([]);
    const { items } = await runs.inbox.list({ tenant: "", run: id, status: "open" });
    expect(items.map(({ type, source }) => `${source.port} ${type}`).sort()).toEqual([
      "asks ownership",
      "dies test_failure",
      "floods test_failure",
      "hangs timeout",
      "ignores-cancel timeout",
      "nonsense test_failure",
    ]);
  },
);

test(
  "a worker whose process is killed has made its try; the next one is told, and mends it",
  { ...FULL, timeout: 90_000 },
  async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    const { url } = stack.use(await testDatabase());
    const repository = stack.use(await testRepository(FILES));
    const home = await mkdtemp(join(tmpdir(), "dure-home-"));
    stack.defer(() => rm(home, { recursive: true, force: true }));
    const runs = stack.use(
      await startRealRuns({
        url,
        home,
        script:
          "ports: { price: { implementer: [{ crash: true }, { edits: [{ path: src/price.mjs, content: " +
          '"export const price = (cents) => (cents / 100).toFixed(2);" }] }] } }',
      }),
    );

    const { id } = await runs.runs.run({
      plan: realPlan(
        JSON.stringify({
          ...PLAN,
          workers: { default: { kind: "offline" } },
          ports: PLAN.ports.slice(0, 1),
        }),
      ),
      repository: repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await runs.runs.get(id)).finishedAt !== null, { timeout: 60_000 })
      .toBe(true);

    const { steps, messages } = await runs.runs.port(id, "price");
    expect((await runs.runs.get(id)).status).toBe("success");
    expect(steps.map((step) => `${step.try} ${step.kind}`)).toEqual([
      "1 implement",
      "2 implement",
      "2 accept",
      "2 count",
      "2 judge",
    ]);
    expect(JSON.stringify(messages[1]!.payload)).toContain("The last try failed");
  },
);
