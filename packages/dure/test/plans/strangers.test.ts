import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { OfflineWorker } from "../../src/plans/workers/offline.ts";
import { readOfflineScript } from "../../src/plans/workers/offline-script.ts";
import type { Assignment, Worker, WorkerEvent } from "../../src/plans/workers/worker.ts";
import { realPlan, type TestRepository } from "./real-runs.ts";
import { openStage } from "./stage.ts";

/**
 * Plans as a stranger writes them, kept in `strangers/`: files, plan and script of the workers in
 * one text each. Default settings; each succeeds on its first run, on the first try of each port.
 */

const TIME = { ...FULL, timeout: 180_000 };

interface Stranger {
  readonly files: Readonly<Record<string, string>>;
  readonly plan: string;
  readonly script: string;
}

function strangerNamed(name: string): Stranger {
  const text = readFileSync(new URL(`strangers/${name}.yaml`, import.meta.url), "utf8");
  const [files = "", plan = "", script = ""] = text.split(/^---$/m);

  return { files: parse(files) as Stranger["files"], plan, script };
}

/**
 * Implementers that do what the script says and note when they began and ended. Those that may work
 * at the same time wait for each other: the first `together` begin their work when all are there.
 */
class CountedWorkers {
  readonly notes: string[] = [];
  /** The most that were at work at the same moment. */
  most = 0;
  readonly #offline: OfflineWorker;
  readonly #together: number;
  readonly #allThere = Promise.withResolvers<void>();
  #atWork = 0;

  constructor(script: string, together: number) {
    this.#offline = new OfflineWorker({
      script: readOfflineScript("script.yaml", script),
      clock: systemClock,
    });
    this.#together = together;
    if (together === 1) this.#allThere.resolve();
  }

  readonly worker = (): Worker => ({
    kind: "offline",
    run: (assignment, options) => this.#run(assignment, options),
  });

  async *#run(
    assignment: Assignment,
    options: { signal: AbortSignal },
  ): AsyncGenerator<WorkerEvent> {
    if (assignment.member !== "implementer") {
      yield* this.#offline.run(assignment, options);
      return;
    }

    this.notes.push(`begins ${assignment.port}`);
    this.#atWork += 1;
    this.most = Math.max(this.most, this.#atWork);
    if (this.#atWork === this.#together) this.#allThere.resolve();
    try {
      await Promise.race([this.#allThere.promise, aborted(options.signal)]);
      yield* this.#offline.run(assignment, options);
    } finally {
      this.#atWork -= 1;
      this.notes.push(`ends ${assignment.port}`);
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

type Run = Awaited<ReturnType<TestRuns["runs"]["get"]>>;

async function runPlan(runs: TestRuns, repository: TestRepository, plan: string): Promise<Run> {
  const { id } = await runs.runs.run({
    plan: realPlan(plan),
    repository: repository.folder,
    by: "me",
  });
  await expect
    .poll(async () => (await runs.runs.get(id)).finishedAt !== null, {
      timeout: 150_000,
      interval: 250,
      message: "the run did not end",
    })
    .toBe(true);
  return runs.runs.get(id);
}

interface Seen {
  readonly run: Run;
  readonly runs: TestRuns;
  readonly repository: TestRepository;
  readonly workers: CountedWorkers;
}

/** Runs a stranger's plan to its end, with `together` implementers that wait for each other. */
async function runStranger(name: string, together: number): Promise<Seen> {
  const { files, plan, script } = strangerNamed(name);
  const workers = new CountedWorkers(script, together);
  const { runs, repository } = await openStage(files, { worker: workers.worker });
  const run = await runPlan(runs, repository, plan);
  expect(run.status, JSON.stringify({ because: run.because, report: run.report })).toBe("success");

  return { run, runs, repository, workers };
}

type Port = Awaited<ReturnType<TestRuns["runs"]["port"]>>;

async function portsOf({ run, runs }: Seen): Promise<readonly Port[]> {
  return Promise.all(run.ports.map((port) => runs.runs.port(run.id, port.id)));
}

/** Each port by its steps, such as `1 implement`. */
async function stepsOf(seen: Seen): Promise<Readonly<Record<string, string>>> {
  const ports = await portsOf(seen);
  return Object.fromEntries(
    ports.map(({ id, steps }) => [id, steps.map((step) => `${step.try} ${step.kind}`).join(", ")]),
  );
}

/** What the acceptance of each port counted, such as `node 1/0/0`. */
async function countsOf(seen: Seen): Promise<Readonly<Record<string, string>>> {
  const ports = await portsOf(seen);
  const told = ports.map(({ id, steps }) => {
    const { counted } = steps.find(({ kind }) => kind === "accept")!.output as { counted: Count };
    return [id, `${counted.framework} ${counted.passed}/${counted.failed}/${counted.skipped}`];
  });

  return Object.fromEntries(told) as Readonly<Record<string, string>>;
}

interface Count {
  readonly framework: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const inTurn = (...ports: readonly string[]): string[] =>
  ports.flatMap((port) => [`begins ${port}`, `ends ${port}`]);

/** A port whose tests are new, or were there before it. */
const NEW_TESTS = "1 implement, 1 test, 1 accept, 1 judge, 1 base";
const OLD_TESTS = "1 implement, 1 test, 1 accept, 1 count, 1 judge, 1 base";

test(
  "a library of four modules with a contract and a file that two ports share",
  TIME,
  async () => {
    const seen = await runStranger("library", 1);

    const { run, repository, workers } = seen;
    expect(workers.notes).toEqual(inTurn("lex", "eval", "parse", "cli"));
    expect(await stepsOf(seen)).toEqual({
      lex: NEW_TESTS,
      eval: NEW_TESTS,
      parse: OLD_TESTS,
      cli: OLD_TESTS,
    });
    expect(run.report).toMatchObject({
      kept: ["lex", "eval", "parse", "cli"],
      shared: [{ path: "package.json", ports: ["lex", "eval"], applied: true }],
      integration: { passed: true },
    });
    const shown = (file: string): Promise<string> => repository.git("show", `dure/calc:${file}`);
    expect(await shown("src/types.ts")).toContain("export interface Step");
    expect(await shown("package.json")).toContain('"#eval": "./src/eval/eval.ts"');
  },
);

test("four independent fixes in one folder are made in one context", TIME, async () => {
  const seen = await runStranger("fixes", 1);

  expect(seen.run.mode).toMatchObject({ mode: "in-order", oneContext: true, wanted: "auto" });
  expect(seen.workers.most).toBe(1);
  const steps = "1 implement, 1 accept, 1 count, 1 judge";
  expect(await stepsOf(seen)).toEqual({ title: steps, slug: steps, count: steps, trim: steps });
});

test("twelve new modules by glob are built three at a time", TIME, async () => {
  const seen = await runStranger("twelve", 3);

  const { run, runs, workers } = seen;
  expect(run.mode).toMatchObject({ mode: "parallel", wanted: "auto" });
  expect(workers.most).toBe(3);
  expect(workers.notes.filter((note) => note.startsWith("begins"))).toHaveLength(12);
  expect(new Set(Object.values(await stepsOf(seen)))).toEqual(new Set([NEW_TESTS]));

  const { lines } = await runs.runs.transcript(run.id, "atlas", {});
  expect(lines[0]).toMatchObject({ kind: "prompt" });
  expect(lines[0]!.text).toContain("The module atlas says its name.");
  const newest = await runs.runs.transcript(run.id, "atlas", {
    before: Number.MAX_SAFE_INTEGER,
    limit: 1,
  });
  expect(newest).toMatchObject({ lines: [lines.at(-1)!], hasMore: true });
  const older = await runs.runs.transcript(run.id, "atlas", { before: lines.at(-1)!.id });
  expect(older).toMatchObject({ lines: lines.slice(0, -1), hasMore: false });
});

test("a Python repository is tested by its own unittest", TIME, async () => {
  const seen = await runStranger("python", 1);

  expect(seen.workers.notes).toEqual(inTurn("cart", "tax"));
  expect(await stepsOf(seen)).toEqual({ cart: OLD_TESTS, tax: OLD_TESTS });
  expect(await countsOf(seen)).toEqual({ cart: "unittest 2/0/0", tax: "unittest 1/0/0" });
});

test(
  "a Go repository is tested by go, or by what it brings where there is none",
  TIME,
  async () => {
    const seen = await runStranger("go", 1);

    expect(seen.workers.notes).toEqual(inTurn("cart", "tax"));
    expect(await stepsOf(seen)).toEqual({
      cart: NEW_TESTS.replace(", 1 judge", ""),
      tax: OLD_TESTS.replace(", 1 judge", ""),
    });
    const { cart, tax } = await countsOf(seen);
    expect(cart).toMatch(/^(?:go|tap) 1\/0\/0$/);
    expect(tax).toBe(cart);
  },
);

test("a monorepo of three packages, of which one uses the others", TIME, async () => {
  const seen = await runStranger("monorepo", 1);

  expect(seen.workers.notes).toEqual(inTurn("money", "stock", "web"));
  expect(seen.run.report).toMatchObject({ integration: { passed: true } });
  expect(await countsOf(seen)).toEqual({
    money: "node 1/0/0",
    stock: "node 1/0/0",
    web: "node 1/0/0",
  });
});

/** A worker that is a program: what it does for each port. */
const worker = (cases: Readonly<Record<string, string>>): string => {
  const arms = Object.entries(cases).map(([port, deed]) => `${port}) ${deed};;`);
  return JSON.stringify([
    "sh",
    "-c",
    `cat > /dev/null; case $DURE_PORT_ID in ${arms.join(" ")} esac`,
  ]);
};

test(
  "a port reads what it depends on, and its pair has two workers",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository } = await openStage(
      { "package.json": '{ "name": "calc", "type": "module" }\n', "src/types.mjs": "// shared\n" },
      {},
    );
    const build = worker({
      lex: "echo 'export const lex = (text) => text.split(/ /);' > src/lex/lex.mjs",
      parse:
        "grep -q lex src/lex/lex.mjs && sed s/lex/parse/ src/lex/lex.mjs > src/parse/parse.mjs",
      eval: "grep -q parse src/parse/parse.mjs && cat src/types.mjs src/parse/parse.mjs > src/eval/eval.mjs",
      cli: "cat src/eval/eval.mjs src/lex/lex.mjs > src/cli/cli.mjs",
    });
    const check = worker({ "*": "mkdir -p test/lex; echo checked > test/lex/by-tester.txt" });
    const port = (id: string, needs: string, more = ""): string =>
      `  - { id: ${id}, role: ${id}, goal: Make ${id}., owns: [src/${id}/**], dependsOn: [${needs}], acceptance: "test -s src/${id}/${id}.mjs"${more} }`;

    const run = await runPlan(
      runs,
      repository,
      `plan: calc\nroles: modules\nworkers:\n  implementer: { kind: command, command: ${build} }\n  tester: { kind: command, command: ${check} }\nports:\n${[
        port("lex", "", ", tests: [test/lex/**]"),
        port("parse", "lex"),
        port("eval", "parse"),
        port("cli", "eval"),
      ].join("\n")}\n`,
    );

    expect(run.status, JSON.stringify(run.report)).toBe("success");
    const ports = await Promise.all(run.ports.map(({ id }) => runs.runs.port(run.id, id)));
    expect(ports.map(({ steps }) => Math.max(...steps.map((step) => step.try)))).toEqual([
      1, 1, 1, 1,
    ]);
    expect(await repository.git("show", "dure/calc:src/cli/cli.mjs")).toContain("parse");
    expect(await repository.git("show", "dure/calc:test/lex/by-tester.txt")).toBe("checked");
  },
);
