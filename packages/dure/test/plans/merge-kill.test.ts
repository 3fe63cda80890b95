import { access } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import type { DureClient } from "../../src/client/index.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { openKilledTeam, type KilledTeam } from "./killed-team.ts";

/** Its port and the branch change one line; its orchestrator takes its time. */
const PLAN = (repository: string): string => `
plan: kept
repository: ${repository}
base: main
roles: modules
workers:
  default: { kind: command, command: [sh, -c, "echo result > src/a/a.txt"] }
  orchestrator: { kind: command, command: [sh, -c, "sleep 3; echo both > src/a/a.txt"] }
ports:
  - { id: a, role: a, goal: Make a., owns: [src/a/**], acceptance: "test -s src/a/a.txt" }
`;
const UNDO_TIMES = [
  ["before", "commit-tree"],
  ["before", "update-ref -m dure: merge"],
  ["after", "read-tree -m -u [0-9a-f]"],
  ["after", "update-ref -m dure: merge"],
] as const;
const MERGE_TIMES = [
  ["after", "update-ref --stdin"],
  ["before", "commit-tree"],
  ["after", "read-tree -m -u [0-9a-f]"],
  ["after", "update-ref -m dure: merge"],
] as const;

const SLOW = { ...FULL, timeout: 300_000 } as const;

async function succeeded(dure: DureClient, team: KilledTeam): Promise<string> {
  const { id } = await dure.plans.start({ plan: "kept" });
  await team.until(async () => (await dure.plans.run(id)).status).toBe("success");

  return id;
}

/** Asks; the process that is asked is killed meanwhile. */
async function askedAndKilled(team: KilledTeam, ask: () => Promise<unknown>): Promise<void> {
  const failed = await ask().then(
    () => false,
    () => true,
  );
  expect(failed).toBe(true);
  await expect(access(path.join(team.folder, "kill-at"))).rejects.toThrow("ENOENT");
}

/** What came of several askers at once: at least one was served. */
async function together<T>(asked: readonly Promise<T>[]): Promise<void> {
  const outcomes = await Promise.allSettled(asked);
  expect(outcomes.map(({ status }) => status)).toContain("fulfilled");
}

test(
  "a conflict is solved and merged once, whenever a process of two is killed meanwhile",
  SLOW,
  async () => {
    const team = await openKilledTeam({ "src/a/a.txt": "base\n" }, PLAN);
    const git = (...args: string[]): Promise<string> => team.repository.git(...args);
    let dure = await team.restart();
    const id = await succeeded(dure, team);
    await team.repository.write({ "src/a/a.txt": "theirs\n" });
    await git("commit", "--quiet", "--all", "-m", "Change it too");
    const theirs = await git("rev-parse", "main");
    const since = `${theirs}..main`;
    const solving = async () =>
      (await dure.plans.run(id)).orchestrator.filter(({ kind }) => kind === "merge");

    dure.plans.merge(id).catch(() => undefined);
    await team.until(async () => (await solving())[0]?.status).toBe("running");
    dure = await team.restart();
    expect(await git("rev-parse", "main")).toBe(theirs);
    expect(await git("status", "--porcelain")).toBe("");

    for (const [when, args] of MERGE_TIMES) {
      await team.killAt(when, args);
      await askedAndKilled(team, () => dure.plans.merge(id));
      expect(["0", "1"]).toContain(await git("rev-list", "--first-parent", "--count", since));
      dure = await team.restart();
    }
    const other = await team.another();
    await together([dure.plans.merge(id), other.plans.merge(id)]);

    const steps = await solving();
    expect(steps).toHaveLength(1);
    expect(steps[0]!.starts).toBeGreaterThan(1);
    expect(await git("show", "main:src/a/a.txt")).toBe("both");
    expect(await git("rev-parse", "main^1")).toBe(theirs);
    expect(await git("rev-list", "--first-parent", "--count", since)).toBe("1");
    expect(await git("status", "--porcelain")).toBe("");
    const solved = { by: "orchestrator", files: ["src/a/a.txt"] };
    expect(await dure.plans.run(id)).toMatchObject({ report: { merged: { solved } } });
  },
);

test(
  "an undo is one commit, whenever its process is killed, and when two are asked at once",
  SLOW,
  async () => {
    const team = await openKilledTeam({ "src/a/a.txt": "base\n" }, PLAN);
    const git = (...args: string[]): Promise<string> => team.repository.git(...args);
    let dure = await team.restart();
    const id = await succeeded(dure, team);
    const { commit: merged } = await dure.plans.merge(id);
    await team.repository.write({ "LATER.md": "Later.\n" });
    await git("add", "--all");
    await git("commit", "--quiet", "-m", "Go on");
    const later = await git("rev-parse", "main");
    const isUndoneOnce = async (): Promise<void> => {
      expect(await git("rev-list", "--count", `${merged}..main`)).toBe("2");
      expect(await git("rev-parse", "main^")).toBe(later);
      expect(await git("show", "main:src/a/a.txt")).toBe("base");
      expect(await git("status", "--porcelain")).toBe("");
      expect((await dure.plans.run(id)).delivery).toBe("undone");
    };

    for (const [when, args] of UNDO_TIMES) {
      await team.killAt(when, args);
      await askedAndKilled(team, () => dure.plans.undo(id));
      dure = await team.restart();
      expect(await dure.plans.undo(id)).toMatchObject({ target: "main" });
      await isUndoneOnce();
      await git("reset", "--quiet", "--hard", later);
    }
    const other = await team.another();
    await together([dure.plans.undo(id), other.plans.undo(id)]);
    expect(await other.plans.undo(id)).toMatchObject({ isNew: false });
    await isUndoneOnce();
  },
);
