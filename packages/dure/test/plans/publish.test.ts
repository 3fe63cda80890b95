// @module-tag slow
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { reviewNeeded } from "../../src/client/index.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import { RunConflicts } from "../../src/plans/runs/run-conflicts.ts";
import { RunDelivery } from "../../src/plans/runs/run-delivery.ts";
import { Git } from "../../src/plans/workspace/git.ts";
import type { MergeGate } from "../../src/plans/runs/merge-gate.ts";
import { Repository } from "../../src/plans/workspace/repository.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

const FILES = { "src/a/a.txt": "base\n", "src/b/b.txt": "base\n" };
const SCRIPT = `
ports:
  a: { implementer: [{ edits: [{ path: src/a/a.txt, content: "by a" }], summary: Done. }] }
  b: { implementer: [{ edits: [{ path: src/b/b.txt, content: "by b" }], summary: Done. }] }
`;
const PLAN = (remote: string, tool: string): string => `
plan: both
roles: modules
base: main
history: squash
publish: { remote: "${remote}", pull_request: ${tool} }
workers: { default: { kind: offline } }
ports:
  - { id: a, title: Make a, role: a, goal: A., owns: [src/a/**], acceptance: "true" }
  - { id: b, title: Make b, role: b, goal: B., owns: [src/b/**], acceptance: "true" }
`;

/** Keeps its pull requests in a file; with a file `die` it is killed once it has made one. */
const GH = `#!/bin/sh
echo "$1 $2" >> "$GH_STATE/calls"
case "$2" in
  list) cat "$GH_STATE/prs" 2>/dev/null || echo "[]" ;;
  create)
    echo '[{ "url": "https://git.example/pr/1" }]' > "$GH_STATE/prs"
    printf '%s\\n' "$@" > "$GH_STATE/made"
    if [ -f "$GH_STATE/die" ]; then kill -9 $$; fi
    ;;
esac
`;

interface World {
  readonly run: PlanRun;
  readonly delivery: RunDelivery;
  readonly git: (...args: string[]) => Promise<string>;
  /** In the bare remote. */
  readonly there: (...args: string[]) => Promise<string>;
  readonly state: string;
}

/** A run that has succeeded, a bare remote, and a double of `gh`. */
/** No person has to agree. */
const NO_GATE: Pick<MergeGate, "approve" | "assertMayMerge" | "state"> = {
  state: async ({ commit }) => ({
    commit,
    needed: 0,
    counted: 0,
    approvals: [],
    not: null,
    author: null,
  }),
  approve: () => Promise.reject(new Error("no approval is asked for here")),
  assertMayMerge: async () => {},
};

async function openWorld(tool: "gh" | "none" = "gh", script = SCRIPT): Promise<World> {
  const { runs, repository } = await openStage(FILES, { script });
  const state = await mkdtemp(join(tmpdir(), "dure-gh-"));
  onTestFinished(() => rm(state, { recursive: true, force: true }));
  const remote = join(state, "remote.git");
  await promisify(execFile)("git", ["init", "--quiet", "--bare", remote]);
  await mkdir(join(state, "bin"));
  await writeFile(join(state, "bin", "gh"), GH, { mode: 0o755 });
  await repository.git("config", "user.name", "민준");
  await repository.git("config", "user.email", "minjun@example.com");

  const plan = realPlan(PLAN(remote, tool));
  const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "minjun" });
  const standing = async (): Promise<string> => (await runs.runs.get(id)).status;
  await expect.poll(standing, { timeout: 60_000, interval: 100 }).toBe("success");
  const PATH = `${join(state, "bin")}:${process.env["PATH"]}`;
  const env = { ...process.env, PATH, GH_STATE: state };
  const delivery = new RunDelivery({
    runs: runs.runs,
    team: { assertMayChange: async () => {} },
    gate: NO_GATE,
    conflicts: new RunConflicts(runs),
    clock: systemClock,
    open: (run, signal) => Repository.open(run.repository, { git: new Git({ env }), signal }),
    env,
  });
  const git = (...args: string[]): Promise<string> => repository.git(...args);
  const there = (...args: string[]): Promise<string> => git("-C", remote, ...args);
  return { run: await runs.runs.get(id), delivery, git, there, state };
}

/** A run, and some hundred calls of git: half a minute beside other tests on two cores. */
const SLOW = { timeout: 120_000 } as const;

test(
  "a result is one commit of the person, pushed and offered once, also after a crash in between",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { run, delivery, git, there, state } = await openWorld();
    const { signal } = new AbortController();
    const calls = async (): Promise<string> => readFile(join(state, "calls"), "utf8");
    await writeFile(join(state, "die"), "");

    const first = await delivery.publish(run, { tenant: null, signal });
    const second = await delivery.publish(run, { tenant: null, signal });

    const wanted = { branch: "dure/both", pullRequest: "https://git.example/pr/1" };
    expect(first).toMatchObject({ ...wanted, isNew: true });
    expect(second).toEqual({ ...first, isNew: false });
    expect((await calls()).match(/pr create/g)).toHaveLength(1);
    expect(await there("rev-parse", "dure/both")).toBe(first.commit);
    expect(await there("rev-list", "--count", "dure/both")).toBe("2");
    const shown = await there("log", "-1", "--format=%an <%ae>%n%B", "dure/both");
    expect(shown).toContain("민준 <minjun@example.com>\nboth\n");
    expect(shown).toContain("- a: Make a\n- b: Make b");
    expect(shown).toContain("Co-authored-by: dure offline <agent@localhost>");
    expect(await readFile(join(state, "made"), "utf8")).toContain("--base\nmain\n--title\nboth");

    const merged = await delivery.merge(run, { into: undefined, tenant: null, signal });
    expect(merged).toMatchObject({ kind: "fast-forward", target: "main", commit: first.commit });
    expect(await git("show", "main:src/b/b.txt")).toBe("by b");
  },
);

test(
  "a branch that others have moved at the remote is not overwritten, nor offered",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { run, delivery, git, there, state } = await openWorld();
    const { signal } = new AbortController();
    await git("push", "--quiet", join(state, "remote.git"), "main:refs/heads/dure/both");
    const other = await git("commit-tree", "main^{tree}", "-m", "Theirs");
    await git("push", "--quiet", "-f", join(state, "remote.git"), `${other}:refs/heads/dure/both`);

    const pushing = delivery.publish(run, { tenant: null, signal });

    await expect(pushing).rejects.toMatchObject({ code: "PUSH_FAILED" });
    expect(await there("rev-parse", "dure/both")).toBe(other);
    await expect(readFile(join(state, "calls"))).rejects.toThrow("ENOENT");
  },
);

test(
  "a plain remote gets the branch alone, once, and no program of a host is asked",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { run, delivery, there, state } = await openWorld("none");
    const { signal } = new AbortController();

    const first = await delivery.publish(run, { tenant: null, signal });
    const second = await delivery.publish(run, { tenant: null, signal });

    expect([first.isNew, second.isNew]).toEqual([true, false]);
    expect(first).not.toHaveProperty("pullRequest");
    expect(await there("rev-parse", "dure/both")).toBe(first.commit);
    await expect(readFile(join(state, "calls"))).rejects.toThrow("ENOENT");
  },
);

/** Has the form of a token, and opens nothing. */
const TOKEN = ["gh", "p_", "Zk3mQ8vT1rY6wP0sL4nB7xC2dF5gH9jK0aSe"].join("");

test("what a merge would ask about is seen before it, and a yes to that merges", SLOW, async () => {
  const { run, delivery, git } = await openWorld("none", SCRIPT.replace("by a", TOKEN));
  const { signal } = new AbortController();
  const before = await git("rev-parse", "main");
  const look = { into: undefined, signal };

  const { review, target, gate } = await delivery.leaving(run, look);
  expect(review).toMatchObject({
    count: 1,
    findings: [{ rule: "github-token", path: "src/a/a.txt", line: 1 }],
  });
  expect({ target, needed: gate.needed }).toEqual({ target: "main", needed: 0 });
  expect(JSON.stringify(review)).not.toContain(TOKEN.slice(8));
  expect(await git("rev-parse", "main")).toBe(before);

  const yes = { tenant: null, confirm: review!.confirm, signal };
  expect((await delivery.merge(run, { into: undefined, ...yes })).kind).toBe("fast-forward");
  expect((await delivery.leaving(run, look)).review).toBeNull();
});

test(
  "a result with a secret is neither merged nor pushed until a person has said yes to it",
  SLOW,
  async () => {
    const { run, delivery, git, there } = await openWorld("none", SCRIPT.replace("by a", TOKEN));
    const { signal } = new AbortController();
    const before = await git("rev-parse", "main");
    const into = undefined;
    const tenant = null;
    const code = "RESULT_NEEDS_REVIEW";
    const findings = [{ rule: "github-token", path: "src/a/a.txt", line: 1 }];

    const refused = await delivery
      .merge(run, { into, tenant, signal })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code, details: { count: 1, findings } });
    await expect(delivery.publish(run, { tenant, signal })).rejects.toMatchObject({ code });
    const wrong = { into, tenant, confirm: "0".repeat(32), signal };
    await expect(delivery.merge(run, wrong)).rejects.toMatchObject({ code });
    expect(await git("rev-parse", "main")).toBe(before);
    expect(await there("branch", "--list")).toBe("");

    const { confirm } = reviewNeeded(refused)!;
    const said: unknown[] = [];
    const yes = { tenant, confirm, onConfirmed: (all: unknown) => said.push(all), signal };
    const merged = await delivery.merge(run, { into, ...yes });
    const pushed = await delivery.publish(run, yes);

    expect(merged).toMatchObject({ kind: "fast-forward", target: "main" });
    expect(pushed).toMatchObject({ isNew: true, commit: merged.commit });
    expect(said).toMatchObject([findings, findings]);
    expect((await delivery.merge(run, { into, tenant, signal })).kind).toBe("already");
  },
);
