// @module-tag slow
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { CommandWorker } from "../../src/plans/workers/command.ts";
import { runWorker } from "../../src/plans/workers/worker-run.ts";
import type { Assignment, Worker } from "../../src/plans/workers/worker.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

// What real agents were seen to do in a home: plant hooks that run later, read logins, change what
// the person's own programs obey.

const SETTINGS = ".claude/settings.json";
const LOGIN = ".claude/.credentials.json";
const PERSON = { [SETTINGS]: '{"model":"opus"}', [LOGIN]: "the-login", ".codex/config.toml": "" };

async function aPersonsHome(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dure-person-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(PERSON)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

async function ended(runs: TestRuns, id: string): Promise<void> {
  await expect
    .poll(async () => (await runs.runs.get(id)).finishedAt !== null, { timeout: 60_000 })
    .toBe(true);
}

/** Plants in every home that it gets to, and tells what it saw in a file of its own. */
const hostile = (person: string): string => `
  out="src/$DURE_MEMBER.txt"; [ "$DURE_MEMBER" = tester ] && out="test/tester.txt"
  {
    ls -A "$HOME"; cat "$HOME/${LOGIN}"
    echo "original: $(cat ${person}/${LOGIN} ${person}/.codex/config.toml 2>&1)"
    case "$HOME" in "$TMPDIR"*) echo "home lies in tmp";; esac
  } > "$out" 2>&1
  echo planted > "$HOME/planted"
  printf 'script-shell=/bin/true\\n' > "$HOME/.npmrc"
  echo '{"hooks":{"Stop":[]}}' > "$HOME/${SETTINGS}"
  for other in implementer tester answers commands orchestrator; do
    echo planted > "$HOME/../../$other/home/planted"
    mkdir -p "$HOME/../../$other/home/.claude" && echo planted > "$HOME/../../$other/home/.claude/x"
  done
  for at in ${person}/${SETTINGS} ${person}/.codex/config.toml; do echo planted >> "$at"; done
  exit 0`;

test(
  "no member gets to another's home, to that of the commands, or to the person's own",
  { ...FULL, timeout: 90_000 },
  async () => {
    const person = await aPersonsHome();
    const { runs, repository } = await openStage({ "src/a.txt": "" }, { userHome: person });
    const worker = { kind: "command", command: ["sh", "-c", hostile(person)], copy_home: [LOGIN] };
    const plan = {
      plan: "homes",
      roles: "modules",
      limits: { tries: 1 },
      workers: { default: worker },
      ports: [
        {
          id: "a",
          role: "a",
          goal: "Plant.",
          owns: ["src/**"],
          tests: ["test/**"],
          acceptance:
            'test ! -e "$HOME/planted" && test ! -e "$HOME/.npmrc" && test -z "$(ls -A $HOME)"',
        },
      ],
    };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);

    const run = await runs.runs.get(id);
    expect(run.status, JSON.stringify(run.report)).toBe("success");
    const said = (path: string) => repository.git("show", `${run.report!.branch!}:${path}`);
    for (const path of ["src/implementer.txt", "test/tester.txt"]) {
      const words = await said(path);
      expect(words).toContain("the-login");
      expect(words).not.toContain("planted");
      expect(words).not.toContain("home lies in tmp");
      expect(words.split("original: ")[1]).not.toContain("the-login");
    }
    for (const [path, text] of Object.entries(PERSON)) {
      expect(await readFile(join(person, path), "utf8")).toBe(text);
    }
  },
);

const HOOKS = [".claude/settings.json", ".husky/pre-commit", "src/.mcp.json", ".envrc"];

test(
  "what a worker plants in the tree for a person's tools reaches neither its partner nor the result",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await openStage({ "src/a.txt": "", "test/a.txt": "" });
    const plant = HOOKS.map((path) => `mkdir -p $(dirname ${path}); echo planted > ${path}`);
    const look = `cat ${HOOKS.join(" ")} > test/a.txt 2>/dev/null; echo looked >> test/a.txt`;
    const script = `if [ "$DURE_MEMBER" = tester ]; then ${look}; else ${plant.join("; ")}; echo done > src/a.txt; fi`;
    const plan = {
      plan: "plants",
      roles: "modules",
      violations: "report",
      limits: { tries: 1 },
      workers: { default: { kind: "command", command: ["sh", "-c", script] } },
      ports: [
        {
          id: "a",
          role: "a",
          goal: "Plant.",
          owns: ["**"],
          tests: ["test/**"],
          acceptance: HOOKS.map((path) => `test ! -e ${path}`).join(" && "),
        },
      ],
    };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);

    const run = await runs.runs.get(id);
    expect(run.status, JSON.stringify(run.report)).toBe("success");
    const branch = run.report!.branch!;
    const names = await repository.git("ls-tree", "-r", "--name-only", branch);
    expect(names.split("\n")).toEqual(["src/a.txt", "test/a.txt"]);
    expect(await repository.git("show", `${branch}:test/a.txt`)).toBe("looked");
    const { violations } = await runs.runs.port(id, "a");
    const told = violations.map(({ path, because }) => `${path} ${because}`).sort();
    expect(told).toEqual(HOOKS.map((path) => `${path} persons-tools`).sort());
  },
);

/** Asks its partner, who answers with a program that needs its home and its temporary folder. */
class Asking implements Worker {
  readonly kind = "own";
  run(assignment: Assignment, options: { signal: AbortSignal }) {
    if (!assignment.id.includes("/answer/")) {
      return runWorker(assignment, (report) => this.#ask(assignment, report.signal), {
        clock: systemClock,
        ...options,
      });
    }
    const script =
      'echo x > "$HOME/a" && echo x > "$TMPDIR/b" && (echo x > src/c || true) && echo yes';
    const answering = new CommandWorker({
      command: ["sh", "-c", script],
      prompt: "stdin",
      clock: systemClock,
    });
    return answering.run(assignment, options);
  }

  async #ask({ channel, tree }: Assignment, signal: AbortSignal) {
    const summary = await channel.query("May I?", { signal });
    await writeFile(join(tree, "src/a.txt"), summary);
    return { status: "ready" as const, summary, claimedFiles: ["src/a.txt"] };
  }
}

test(
  "a partner that answers has a home and a temporary folder, and writes nothing in the tree",
  { ...FULL, timeout: 90_000 },
  async () => {
    const { runs, repository } = await openStage(
      { "src/a.txt": "" },
      { worker: () => new Asking() },
    );
    const plan = {
      plan: "asks",
      roles: "modules",
      limits: { tries: 1 },
      workers: { default: { kind: "own", name: "asking" } },
      ports: [
        { id: "a", role: "a", goal: "Ask.", owns: ["src/**"], acceptance: "test ! -e src/c" },
      ],
    };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);

    const { messages } = await runs.runs.port(id, "a");
    expect(messages.find(({ type }) => type === "ack")?.payload).toMatchObject({
      text: expect.stringMatching(/yes$/) as string,
    });
    expect((await runs.runs.get(id)).status).toBe("success");
  },
);

test(
  "a plan that was stored with a writable home of an agent is refused before anything starts",
  { timeout: 60_000 },
  async () => {
    const person = await aPersonsHome();
    const { runs, repository } = await openStage({ "src/a.txt": "" }, { userHome: person });
    const worker = { kind: "command", command: ["true"], writable: [`${person}/.claude`] };
    const port = { id: "a", role: "a", goal: "x", owns: ["src/**"], acceptance: "true" };
    const plan = { plan: "w", roles: "modules", workers: { default: worker }, ports: [port] };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);

    expect((await runs.runs.get(id)).because).toMatchObject({
      code: "WRITABLE_OF_PERSON",
      hint: expect.stringContaining("agent: claude") as string,
    });
  },
);

test(
  "a worker sees of the person's home what reads_home names, and neither secrets nor the rest",
  { timeout: 60_000 },
  async () => {
    const person = await aPersonsHome();
    for (const name of ["datasets/shop/a.csv", "projects/x/.env", ".ssh/config"]) {
      await mkdir(dirname(join(person, name)), { recursive: true });
      await writeFile(join(person, name), `said by ${name}\n`, { mode: 0o644 });
    }
    const { runs, repository } = await openStage({ "src/a.txt": "" }, { userHome: person });
    const look = `cat ${person}/datasets/shop/a.csv ${person}/projects/x/.env > src/a.txt; ls -A ${person} >> src/a.txt; cat ${person}/.ssh/config >> src/a.txt; exit 0`;
    const worker = { kind: "command", command: ["sh", "-c", look], reads_home: ["datasets"] };
    const port = { id: "a", role: "a", goal: "x", owns: ["src/**"], acceptance: "true" };
    const plan = { plan: "w", roles: "modules", workers: { default: worker }, ports: [port] };
    const read = realPlan(JSON.stringify(plan));
    // As stored before what may hold secrets was refused.
    const spec = { ...read.workers.default!, readsHome: ["datasets", ".ssh/config"] };

    const { id } = await runs.runs.run({
      plan: { ...read, workers: { ...read.workers, default: spec } },
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);

    const made = await repository.git("show", `refs/dure/${id}/ports/a/result:src/a.txt`);
    expect(made.trim().split("\n")).toEqual(["said by datasets/shop/a.csv", "datasets"]);
  },
);
