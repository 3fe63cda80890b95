// @module-tag slow
import { expect, test } from "vitest";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

async function ended(runs: TestRuns, id: string): Promise<PlanRun> {
  const isOver = async (): Promise<boolean> => (await runs.runs.get(id)).finishedAt !== null;
  await expect.poll(isOver, { timeout: 60_000 }).toBe(true);
  return runs.runs.get(id);
}

/** One port over `src/**` whose worker runs a program of the shell in each try. */
function planOf(script: string, acceptance: string, more: object = {}): string {
  const port = { id: "api", role: "api", goal: "Generate.", owns: ["src/**"], acceptance };
  return JSON.stringify({
    plan: "made",
    roles: "modules",
    limits: { tries: 2 },
    workers: { default: { kind: "command", command: ["sh", "-c", script] } },
    ports: [port],
    ...more,
  });
}

test(
  "a file that git ignores does not pass the acceptance; the port is told which line leaves it out",
  { timeout: 90_000 },
  async () => {
    const { runs, repository } = await openStage({
      ".gitignore": "# made by tools\nsrc/gen/\n",
      "src/a.txt": "a\n",
    });
    const script =
      "cat > .prompt; mkdir -p src/gen; echo g > src/gen/g.txt; echo $DURE_TRY > src/b.txt";
    const told = `${script}; grep -c 'src/gen/g.txt (.gitignore:2: src/gen/)' .prompt > src/told.txt || true`;
    const plan = realPlan(
      planOf(told.replaceAll(".prompt", "src/prompt.txt"), "cat src/gen/g.txt"),
    );

    const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
    const run = await ended(runs, id);
    const port = await runs.runs.port(id, "api");

    expect(run.status).toBe("failed");
    expect(port.because).toMatchObject({
      code: "TRIES_EXHAUSTED",
      message: expect.stringContaining("src/gen/g.txt (.gitignore:2: src/gen/)") as string,
    });
    const last = port.steps.filter(({ kind }) => kind === "implement").at(-1)!;
    const { commit } = last.output as { commit: string };
    expect(
      await repository.git(`--git-dir=${run.folder}/store.git`, "show", `${commit}:src/told.txt`),
    ).toBe("1");
  },
);

test(
  "what the setup made is there for the acceptance as it was, although the worker changed it",
  { timeout: 90_000 },
  async () => {
    const { runs, repository } = await openStage({
      ".gitignore": "src/gen/\n",
      "src/a.txt": "a\n",
    });
    const script = "echo mine > src/gen/g.txt; echo more > src/gen/more.txt; echo b > src/b.txt";
    const setup = "mkdir src/gen && echo made > src/gen/g.txt";
    const acceptance = "grep made src/gen/g.txt && test ! -e src/gen/more.txt && cat src/b.txt";
    const plan = realPlan(planOf(script, acceptance, { setup, integration: acceptance }));

    const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
    const run = await ended(runs, id);

    expect({ status: run.status, because: run.because }).toEqual({
      status: "success",
      because: null,
    });
  },
);

test(
  "packages that `setup: auto` installs are there for the acceptance, from a kept set-up too",
  { timeout: 120_000 },
  async () => {
    const name = "two";
    const lock = {
      name: "shop",
      lockfileVersion: 3,
      packages: {
        "": { name: "shop", workspaces: ["two"] },
        "node_modules/two": { resolved: name, link: true },
        two: { name, version: "1.0.0" },
      },
    };
    const { runs, repository } = await openStage({
      ".gitignore": "node_modules/\nsrc/gen/\n",
      "package.json": JSON.stringify({ name: "shop", workspaces: ["two"] }),
      "package-lock.json": JSON.stringify(lock),
      "two/package.json": JSON.stringify({ name, version: "1.0.0", main: "two.js" }),
      "two/two.js": "module.exports = 2;\n",
      "src/a.txt": "a\n",
    });
    const acceptance = "test -d node_modules/two && test ! -e src/gen/g.txt && cat src/b.txt";
    const script = "mkdir -p src/gen && echo g > src/gen/g.txt && echo b > src/b.txt";
    const plan = realPlan(planOf(script, acceptance, { setup: "auto", integration: acceptance }));

    const started = { plan, repository: repository.folder, by: "me" };
    const first = await ended(runs, (await runs.runs.run(started)).id);
    const second = await ended(runs, (await runs.runs.run(started)).id);

    expect([first, second].map(({ status, because }) => [status, because])).toEqual([
      ["success", null],
      ["success", null],
    ]);
    const { steps } = await runs.runs.port(second.id, "api");
    expect(steps.find(({ kind }) => kind === "setup")!.log).toContain("same set-up");
  },
);

test(
  "repositories in what a port owns are left out and named; its own files are kept",
  { timeout: 90_000 },
  async () => {
    const { runs, repository } = await openStage({ "src/a.txt": "a\n" });
    const script = [
      "git init -q src && git init -q --bare src/data.git",
      "git -C src/data.git config core.fsmonitor 'touch /tmp/owned'",
      "git init -q src/lib && echo l > src/lib/l.txt; echo b > src/b.txt",
    ].join("; ");
    const plan = realPlan(planOf(script, "cat src/b.txt src/lib/l.txt && test ! -e src/data.git"));

    const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
    const run = await ended(runs, id);
    const { violations } = await runs.runs.port(id, "api");

    expect({ status: run.status, because: run.because }).toEqual({
      status: "success",
      because: null,
    });
    expect(violations.map(({ path, because }) => `${path} ${because}`).toSorted()).toEqual([
      "src/.git nested-repository",
      "src/data.git nested-repository",
      "src/lib/.git nested-repository",
    ]);
    const files = await repository.git("ls-tree", "-r", "--name-only", "dure/made");
    expect(files.split("\n")).toEqual(["src/a.txt", "src/b.txt", "src/lib/l.txt"]);
  },
);

test(
  "files of every legal name are written and taken, decomposed Hangul too",
  { timeout: 90_000 },
  async () => {
    const hangul = "src/문서/회의.md".normalize("NFD");
    const { runs, repository } = await openStage({
      [hangul]: "a\n",
      "src/other/line\nbreak.txt": "o\n",
    });
    const names = [
      "colon: a",
      "what?",
      "star*",
      'say "hi"',
      "back\\slash",
      "tab\tin",
      "line\nin",
      "end ",
    ];
    const write = names.map((name) => `printf x > 'src/문서/${name}'`.normalize("NFD"));
    const script = [...write, `echo more >> '${hangul}'`].join("; ");
    const port = {
      id: "api",
      role: "api",
      goal: "Write.",
      owns: ["src/문서/**".normalize("NFC")],
      acceptance: `grep more '${hangul}'`,
    };
    const plan = realPlan(planOf(script, "true", { ports: [port] }));

    const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
    const run = await ended(runs, id);
    const { violations, because } = await runs.runs.port(id, "api");

    expect({ status: run.status, because, violations }).toEqual({
      status: "success",
      because: null,
      violations: [],
    });
    const list = await repository.git("ls-tree", "-r", "-z", "--name-only", "dure/made");
    const folder = "src/문서/".normalize("NFD");
    const files = list.split("\0").filter((path) => path.startsWith(folder));
    expect(files.map((path) => path.slice(folder.length)).toSorted()).toEqual(
      [...names, hangul.slice(folder.length)].toSorted(),
    );
  },
);
