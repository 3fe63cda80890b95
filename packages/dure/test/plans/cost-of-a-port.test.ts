// @module-tag slow
import { expect, test } from "vitest";
import type { Database, Statement } from "../../src/durable/database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

/** What is asked by the clock, or once for all that ended meanwhile: it varies, and is no port's. */
const BY_THE_CLOCK =
  /^(?:events\.|lease\.|process\.|plan\.(?:open_orders|waiting|orphaned|host_seen|put:notes|typical_ms|(?:claim|release)_listen)$)/;

/** Statements and commits of a port with a pair, of which no member asks anything. */
const OF_A_PORT = {
  // It has succeeded, and the next one begins.
  "plan.put:ports+settle+emit": 1,
  "plan.port": 1,
  "plan.steps": 1,
  // What it starts from.
  "plan.put:ports": 1,
  // Before its try, and before each of two members.
  "plan.allowances": 3,
  // Of each member: what people said, its past, who waits for an answer (twice).
  "channel.unheard": 2,
  "plan.past": 2,
  "channel.waiting": 4,
  // Implement, test, accept, try without the work.
  "plan.put:begin+begun": 2,
  "plan.put:begin": 2,
  "plan.put:process": 4,
  "plan.put:sign+ports+use+emit": 2,
  "plan.put:end+ports+emit": 3,
  "plan.put:end+ports": 1,
  // The words of the pair, and those of its tools.
  "plan.put:record+recorded": 2,
  "channel.reports": 1,
};

/** Counts statements by name from now on. */
function countStatements(database: Database): Map<string, number> {
  const counts = new Map<string, number>();
  const note = ({ name, text }: Statement): void => {
    // Notes are stored with a sign, or sooner by the clock.
    const called = (name ?? text.trim()).replace("sign+notes", "sign");
    if (!BY_THE_CLOCK.test(called)) counts.set(called, (counts.get(called) ?? 0) + 1);
  };
  const query = database.query.bind(database);
  const transaction = database.transaction.bind(database);
  database.query = (statement: Statement, ...rest: never[]) => {
    note(statement);
    return query(statement, ...rest);
  };
  database.transaction = (work) =>
    transaction((tx) => {
      const asked = (statement: Statement, ...rest: never[]) => {
        note(statement);
        return tx.query(statement, ...rest);
      };
      return work({ query: asked as Database["query"] });
    });

  return counts;
}

async function countRun(runs: TestRuns, repository: string, names: readonly string[]) {
  const counts = countStatements(runs.database);
  const plan = realPlan(
    JSON.stringify({
      plan: `cost${names.length}`,
      roles: "modules",
      mode: "sequential",
      workers: { default: { kind: "offline" } },
      ports: names.map((id) => ({
        id,
        role: "core",
        goal: "Do it.",
        acceptance: "true",
        owns: [`src/${id}/**`],
        tests: [`test/${id}/**`],
      })),
    }),
  );
  const { id } = await runs.runs.run({ plan, repository, by: "me" });
  await expect
    .poll(async () => (await runs.runs.get(id)).status, { timeout: 90_000, interval: 500 })
    .toBe("success");
  return counts;
}

test(
  "a port costs 32 statements of which 18 commit, however many ports its run has",
  { ...FULL, timeout: 240_000 },
  async () => {
    const names = ["a", "b", "c", "d"];
    const edit = (path: string) => [{ edits: [{ path, content: "new\n" }], summary: "Done." }];
    const script = {
      ports: Object.fromEntries(
        names.map((name) => [
          name,
          { implementer: edit(`src/${name}/a.txt`), tester: edit(`test/${name}/a.txt`) },
        ]),
      ),
    };
    const files = Object.fromEntries(names.map((name) => [`src/${name}/a.txt`, "old\n"]));
    const { runs, repository } = await openStage(files, { script });

    const two = await countRun(runs, repository.folder, names.slice(0, 2));
    const before = new Map(two);
    const four = await countRun(runs, repository.folder, names);

    // Both counters see the second run, which is counted by the difference of its own.
    const perPort = Object.fromEntries(
      [...four].flatMap(([name, count]) => {
        const more = (count - (before.get(name) ?? 0)) / 2;
        return more === 0 ? [] : [[name, more]];
      }),
    );
    delete perPort["plan.run"]; // the test looks whether it has ended
    delete perPort["plan.ports"];
    expect(perPort).toEqual(OF_A_PORT);
    const commits = Object.entries(perPort).filter(([name]) => name.startsWith("plan.put:"));
    expect(commits.reduce((sum, [, count]) => sum + count, 0)).toBe(18);
    expect(Object.values(perPort).reduce((sum, count) => sum + count, 0)).toBe(32);
  },
);
