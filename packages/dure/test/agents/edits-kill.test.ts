// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { readFileState, replaceFile, versionOf } from "../../src/team/agent-edit-files.ts";
import { AgentEdits } from "../../src/team/agent-edits.ts";
import { checkTeam } from "../../src/team/config.ts";
import { until } from "../until.ts";

const PROCESS = fileURLToPath(new URL("edit-process.ts", import.meta.url));
const SLOW = { timeout: 60_000 };

/** Where a process is killed, what the file holds then, and what its history says later. */
const POINTS = [
  ["row", "old\n", "refused"],
  ["file", "new\n", "done"],
  ["taken-in", "new\n", "done"],
] as const;

test.each(POINTS)(
  "a process that is killed at %s leaves the text %j, and its change is settled as %s",
  SLOW,
  async (point, text, outcome) => {
    const world = await openWorld();
    await world.killAt(point);
    await writeFile(`${world.file}.0123456789abcdef`, "half of a text"); // a draft of a dead process

    const { edits, followed } = world.edits();
    edits.start();
    await until(
      async () => (await edits.list("eden")).items[0]?.outcome === outcome,
      () => "the change was not settled so",
    );

    expect(await readFile(world.file, "utf8")).toBe(text);
    const { version } = await readFileState(world.place);
    await edits.save({ agent: "eden", file: "SOUL.md", text: "next\n", version, by: "test" });
    expect(await readFile(world.file, "utf8")).toBe("next\n");
    expect(await readdir(path.dirname(world.file))).toEqual(["SOUL.md"]);
    const { items } = await edits.list("eden");
    expect(items.map((one) => [one.outcome, one.before, one.isFromOutside])).toEqual([
      ["done", text, false],
      [outcome, "old\n", false],
    ]);
    await until(
      () => followed.length > 0,
      () => "the change was not taken in",
    );
  },
);

test(
  "a change that was cut, and whose file says neither, is told as unknown",
  { ...FULL, ...SLOW },
  async () => {
    const world = await openWorld();
    await world.killAt("row");
    await writeFile(world.file, "an editor's\n");

    const { edits } = world.edits();
    edits.start();

    await until(
      async () => (await edits.list("eden")).items[0]?.outcome === "unknown",
      () => "the change was not settled so",
    );
    expect(await readFile(world.file, "utf8")).toBe("an editor's\n");
  },
);

test("a file that cannot be written stays, and the change is told as refused", SLOW, async () => {
  const world = await openWorld();
  const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
  const { edits } = world.edits({ replace: () => Promise.reject(full) });

  const saved = edits.save(world.order("new\n"));

  await expect(saved).rejects.toBe(full);
  expect(await readFile(world.file, "utf8")).toBe("old\n");
  expect((await edits.list("eden")).items).toMatchObject([{ outcome: "refused" }]);
});

test(
  "a database that goes away after the file was written is told nothing wrong later",
  SLOW,
  async () => {
    const world = await openWorld();
    const { edits } = world.edits({
      replace: async (place, text) => {
        await replaceFile(place, text);
        await world.cutOthers();
      },
    });

    await expect(edits.save(world.order("new\n"))).rejects.toThrow();

    edits.start();
    await until(
      async () => (await edits.list("eden")).items[0]?.outcome === "done",
      () => "the change was not settled so",
    );
    expect(await readFile(world.file, "utf8")).toBe("new\n");
  },
);

const BETWEEN = [
  ["a text that came", (world: World) => writeFile(world.file, "an editor's\n"), "an editor's\n"],
  ["a settling that came", (world: World) => world.database.query(SETTLED), "old\n"],
] as const;

test.each(BETWEEN)(
  "%s between the row of a change and its file stays, and the change is refused",
  SLOW,
  async (_, between, text) => {
    const world = await openWorld();
    const { edits } = world.edits({ between: () => between(world) });

    const saved = edits.save(world.order("new\n"));

    await expect(saved).rejects.toMatchObject({ code: "AGENT_FILE_CHANGED" });
    expect(await readFile(world.file, "utf8")).toBe(text);
  },
);

/** As another process does it, which took this one for dead. */
const SETTLED = { text: "update dure.agent_edits set outcome = 'refused'" };

test("of an agent the last 100 changes are kept", { ...FULL, ...SLOW }, async () => {
  const world = await openWorld();
  const { edits } = world.edits();
  let { version } = await readFileState(world.place);
  for (let n = 0; n < 103; n += 1) {
    const order = { ...world.order(`${n}\n`), version };
    version = (await edits.save(order)).version;
  }

  const [row] = await world.database.query<{ count: number }>({
    text: "select count(*) as count from dure.agent_edits",
  });
  expect(row!.count).toBe(100);
});

type World = Awaited<ReturnType<typeof openWorld>>;

/** A database before whose second transaction something happens: the first one keeps the row. */
function databaseWith(database: Database, between: () => Promise<unknown>): Database {
  let begun = 0;
  const transaction: Database["transaction"] = async (...given) => {
    begun += 1;
    if (begun === 2) await between();
    return database.transaction(...given);
  };
  return { query: database.query.bind(database), transaction } as Database;
}

async function openWorld() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { database, url } = stack.use(await testDatabase());
  const folder = await mkdtemp(path.join(tmpdir(), "dure-edit-kill-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const place = { teamFolder: folder, agent: "eden", file: "SOUL.md" } as const;
  const file = path.join(folder, "agents/eden/SOUL.md");
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, "old\n");
  const value = { services: {}, agents: { eden: {} } };
  const configured = checkTeam({ file: "t", value, locate: () => undefined }, folder);

  interface Given {
    replace?: typeof replaceFile;
    /** Happens after the row was kept, before the file is written. */
    between?: () => Promise<unknown>;
  }

  function edits({ replace, between }: Given = {}) {
    const followed: string[] = [];
    const used = between ? databaseWith(database, between) : database;
    const made = new AgentEdits({
      ...{ folder, host: "host-of-test", clock: systemClock, logger: silentLogger },
      database: used,
      notifications: { publish: () => {}, subscribe: () => () => {} },
      reloader: {
        configured,
        takeIn: async (agent, { write }) => {
          await write?.();
          followed.push(agent);
        },
      },
      settleAfterMs: 0,
      replace,
    });
    stack.defer(() => made.stop());
    return { edits: made, followed };
  }

  /** Runs until it stands at the point, and is killed there. */
  async function killAt(point: string): Promise<void> {
    const args = ["--conditions=dure-source", PROCESS, folder, url, point, versionOf("old\n")];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    expect(said.toString()).toBe("there\n");
    const over = once(child, "exit");
    child.kill("SIGKILL");
    await over;
  }

  return {
    ...{ database, file, place, edits, killAt },
    order: (text: string) => ({
      ...{ agent: "eden", file: "SOUL.md" as const, text },
      ...{ version: versionOf("old\n"), by: "test" },
    }),
    /** Every connection to the database but the one that asks. */
    cutOthers: () =>
      database.query({
        text: `
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and backend_type = 'client backend'
            and pid <> pg_backend_pid()`,
      }),
  };
}
