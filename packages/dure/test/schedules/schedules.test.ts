import { fileURLToPath } from "node:url";
import { PostgresProxy, type StatementTest } from "@dure/testing";
import { expect, onTestFinished, test } from "vitest";
import { DureClient } from "../../src/client/index.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess, within } from "../crash/server-process.ts";
import { eventually } from "../until.ts";

/** Moments of a schedule at real processes that are killed. Source: docs/spec/interop §6. */
const TEAM = fileURLToPath(new URL("folder", import.meta.url));
const TIMEOUT = { ...FULL, timeout: 120_000 };
const PATIENCE = { patienceMs: 60_000 };

type Point = readonly [string, "before" | "after", StatementTest];

const POINTS: readonly Point[] = [
  ["it is about to be taken", "before", ({ name }) => name === "schedule.take"],
  ["it is taken, not committed", "after", ({ name }) => name === "schedule.advance"],
  ["it is taken, and not begun", "after", ({ name }) => name === "outbox.look"],
  ["its message is about to be written", "before", ({ name }) => name === "room.write"],
  ["its message is written, not committed", "after", ({ name }) => name === "room.write"],
  [
    "its message is there, which is not recorded",
    "before",
    ({ name, parameters }) => name === "outbox.record" && parameters.includes("sent"),
  ],
  ["it is recorded, not committed", "after", ({ name }) => name === "schedule.end"],
];

test.each(POINTS)("kill -9 when %s: each moment is done once", TIMEOUT, async (_, when, at) => {
  await using world = await openWorld();
  const stop = world.proxy.stop(when, at);
  const first = world.serve(world.proxy.url);

  await within(stop.reached, "the process did not come to the point", () => first.log);
  await first.kill();
  world.proxy.disarm();
  const next = [world.serve(world.proxy.url), world.serve(world.url)];

  await eventually(
    async () => {
      const taken = await world.taken();
      expect(taken.length).toBeGreaterThanOrEqual(3);
      expect(new Set(taken.map(({ status }) => status))).toEqual(new Set(["done"]));
      expect(await world.said()).toEqual(
        taken.map(({ key }) => key.replace("schedule:tick:", "It is ")),
      );
    },
    { ...PATIENCE, also: () => next[1]!.log.join() },
  );
});

test(
  "by hand, over the API: once for a key, in the audit log, for its tenant",
  TIMEOUT,
  async () => {
    await using world = await openWorld();
    const [here, there] = [world.serve(world.url), world.serve(world.url)];
    const clients = [await here.url, await there.url].map((baseUrl) => new DureClient({ baseUrl }));
    const [client] = clients as [DureClient];

    const [first, second] = await Promise.all(
      clients.map((one) => one.schedules.run("ask", { idempotencyKey: "k" })),
    );
    await client.schedules.run("lost");

    expect(second!.key).toBe(first!.key);
    await eventually(async () => {
      const found = new Map((await client.schedules.list()).map((one) => [one.name, one.last[0]]));
      expect(found.get("ask")).toMatchObject({ status: "done", jobId: expect.any(String) });
      expect(found.get("lost")).toMatchObject({ status: "failed", error: "PLAN_UNKNOWN" });
    }, PATIENCE);
    expect((await client.jobs.list()).items).toMatchObject([{ requester: "ruda", target: "eden" }]);
    expect((await client.audit({ what: "job.ask" })).items).toMatchObject([
      { name: "schedule:ask", outcome: "done" },
    ]);
    expect((await client.audit({ what: "schedule.run", subject: "ask" })).items).toHaveLength(2);
  },
);

interface World extends AsyncDisposable {
  readonly proxy: PostgresProxy;
  readonly url: string;
  serve(databaseUrl: string): ServerProcess;
  /** Each with what came of it. */
  taken(): Promise<readonly { key: string; status: string }[]>;
  /** What was said in the room by no agent. */
  said(): Promise<readonly string[]>;
}

/** Three moments of `tick` have passed when the first process starts. */
async function openWorld(): Promise<World> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { database, url } = stack.use(await testDatabase({ max: 2 }));
  const proxy = stack.use(await PostgresProxy.start(url));
  await database.query({
    text: `
      insert into dure.schedules (name, rule, definition, since)
      values ('tick', '* * * * * UTC', '', clock_timestamp() - interval '3 minutes')`,
  });

  return {
    proxy,
    url,
    serve: (way) => stack.use(ServerProcess.spawn({ DATABASE_URL: way }, TEAM)),
    taken: () =>
      database.query({
        text: `
          select key, status
          from dure.schedule_firings
          where schedule = 'tick'
          order by key`,
      }),
    said: async () => {
      const rows = await database.query<{ text: string }>({
        text: `
          select text
          from dure.room_messages
          where author_kind = 'person'
          order by text`,
      });

      return rows.map(({ text }) => text);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
