import { expect, test } from "vitest";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { realPlan, type TestRepository } from "./real-runs.ts";
import { openStage } from "./stage.ts";

/** Plans as a stranger writes them: default settings, and each succeeds on its first run. */

async function runPlan(runs: TestRuns, repository: TestRepository, plan: string): Promise<PlanRun> {
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

/** The most implementers that worked at the same moment. */
async function overlapOf(runs: TestRuns, id: string): Promise<number> {
  const { ports } = await runs.runs.get(id);
  const all = await Promise.all(ports.map((port) => runs.runs.port(id, port.id)));
  const spans = all
    .flatMap(({ steps }) => steps.filter(({ kind }) => kind === "implement"))
    .map(({ startedAt, finishedAt }) => ({ from: startedAt, to: finishedAt! }));
  return Math.max(
    ...spans.map(({ from }) => spans.filter((span) => span.from <= from && from < span.to).length),
  );
}

async function triesOf(runs: TestRuns, id: string): Promise<number[]> {
  const { ports } = await runs.runs.get(id);
  const all = await Promise.all(ports.map((port) => runs.runs.port(id, port.id)));
  return all.map(({ steps }) => Math.max(...steps.map((step) => step.try)));
}

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
  "twelve new modules by glob are built side by side, each on its first try",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository } = await openStage({ "README.md": "# Twelve\n" }, {});
    const names = Array.from({ length: 12 }, (_, index) => `m${index}`);
    const ports = names.map(
      (name) =>
        `  - { id: ${name}, role: ${name}, goal: Make ${name}., owns: [src/${name}/**], acceptance: "test -s src/${name}/index.js" }`,
    );
    const build = worker({
      "*": "echo made by $DURE_PORT_ID; echo a warning >&2; sleep 0.4; echo 1 > src/$DURE_PORT_ID/index.js",
    });

    const run = await runPlan(
      runs,
      repository,
      `plan: twelve\nroles: modules\nworkers: { default: { kind: command, command: ${build} } }\nports:\n${ports.join("\n")}\n`,
    );

    expect(run).toMatchObject({ status: "success", mode: { mode: "parallel", wanted: "auto" } });
    expect(await triesOf(runs, run.id)).toEqual(names.map(() => 1));
    const overlap = await overlapOf(runs, run.id);
    expect(overlap).toBeGreaterThan(1);
    expect(overlap).toBeLessThanOrEqual(3);
    const { lines } = await runs.runs.transcript(run.id, "m0", {});
    expect(lines.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["prompt", "end"]));
    expect(lines[0]!.text).toContain("Make m0.");
    const newest = await runs.runs.transcript(run.id, "m0", {
      before: Number.MAX_SAFE_INTEGER,
      limit: 1,
    });
    expect(newest).toMatchObject({ lines: [lines.at(-1)!], hasMore: true });
    const older = await runs.runs.transcript(run.id, "m0", { before: lines.at(-1)!.id });
    expect(older).toMatchObject({ lines: lines.slice(0, -1), hasMore: false });
  },
);

test(
  "four independent fixes in one folder run side by side",
  { ...FULL, timeout: 180_000 },
  async () => {
    const names = ["a", "b", "c", "d"];
    const { runs, repository } = await openStage(
      Object.fromEntries(names.map((name) => [`src/${name}.js`, "broken\n"])),
      {},
    );
    const ports = names.map(
      (name) =>
        `  - { id: ${name}, role: fix, goal: Mend ${name}., owns: [src/${name}.js], acceptance: "grep -q mended src/${name}.js" }`,
    );
    const mend = worker({ "*": "sleep 0.4; echo mended > src/$DURE_PORT_ID.js" });

    const run = await runPlan(
      runs,
      repository,
      `plan: fixes\nroles: modules\nworkers: { default: { kind: command, command: ${mend} } }\nlimits: { max_concurrency: 8 }\nports:\n${ports.join("\n")}\n`,
    );

    expect(run).toMatchObject({
      status: "success",
      mode: { mode: "parallel", because: "4 ports wait for no other one" },
    });
    expect(await triesOf(runs, run.id)).toEqual([1, 1, 1, 1]);
    expect(await overlapOf(runs, run.id)).toBeGreaterThan(1);
  },
);

test(
  "a library of four modules: a port reads what it depends on, and its pair has two workers",
  { timeout: 180_000 },
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
    expect(await triesOf(runs, run.id)).toEqual([1, 1, 1, 1]);
    expect(await repository.git("show", "dure/calc:src/cli/cli.mjs")).toContain("parse");
    expect(await repository.git("show", "dure/calc:test/lex/by-tester.txt")).toBe("checked");
  },
);

test.each([
  [
    "a Python repository",
    { "pyproject.toml": "[project]\nname = 'shop'\n", "shop/__init__.py": "", "shop/cart.py": "" },
    [
      ["cart", "shop/cart.py", "grep -q total shop/cart.py"],
      ["tax", "shop/tax/**", "test -s shop/tax/tax.py"],
    ],
    { cart: "echo 'total = 0' > shop/cart.py", tax: "echo 'rate = 1' > shop/tax/tax.py" },
  ],
  [
    "a Go repository",
    {
      "go.mod": "module shop\n",
      "main.go": "package main\n",
      "internal/cart/cart.go": "package cart\n",
    },
    [
      ["cart", "internal/cart/**", "grep -q Total internal/cart/cart.go"],
      ["main", "main.go", "grep -q main main.go"],
    ],
    {
      cart: "echo 'func Total() int { return 0 }' >> internal/cart/cart.go",
      main: "echo 'func main() {}' >> main.go",
    },
  ],
  [
    "a monorepo",
    {
      "package.json": '{ "private": true, "workspaces": ["packages/*"] }\n',
      "packages/web/package.json": '{ "name": "web" }\n',
      "packages/api/package.json": '{ "name": "api" }\n',
    },
    [
      ["web", "packages/web/**", "test -s packages/web/index.js"],
      ["api", "packages/api/**", "test -s packages/api/index.js"],
    ],
    { "*": "echo 1 > packages/$DURE_PORT_ID/index.js" },
  ],
] as const)(
  "%s succeeds on its first run",
  { ...FULL, timeout: 180_000 },
  async (_name, files, ports, cases) => {
    const { runs, repository } = await openStage({ ...files }, {});
    const lines = ports.map(
      ([id, owns, acceptance]) =>
        `  - { id: ${id}, role: ${id}, goal: Do it., owns: ["${owns}"], acceptance: "${acceptance}" }`,
    );

    const run = await runPlan(
      runs,
      repository,
      `plan: stranger\nroles: modules\nworkers: { default: { kind: command, command: ${worker(cases)} } }\nports:\n${lines.join("\n")}\n`,
    );

    expect(run.status, JSON.stringify(run.report)).toBe("success");
    expect(await triesOf(runs, run.id)).toEqual([1, 1]);
  },
);
