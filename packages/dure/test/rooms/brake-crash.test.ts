// @module-tag slow
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { PostgresProxy, type StatementTest } from "@dure/testing";
import { ServerProcess, within } from "../crash/server-process.ts";

const TEAM = fileURLToPath(new URL("folder", import.meta.url));
const GENERAL = "web:general";

/** Moments of a stop; the process is killed there. */
const POINTS: readonly (readonly [string, "before" | "after", StatementTest])[] = [
  ["the order is a row, nothing has ended", "after", ({ name }) => name === "stop.order"],
  ["the answers end, not committed", "after", ({ name }) => name === "stop.end_handlings"],
  ["the answers have ended, their turns not", "before", ({ name }) => name === "stop.turns"],
  ["all has ended, nothing is said", "before", ({ name }) => name === "stop.done"],
  ["it is being said, not committed", "after", ({ name }) => name === "stop.done"],
];
const KILLS = sampled(POINTS, 1);

test.each(KILLS.rows)(
  "kill -9 of a stop when %s: it is carried out, said once, and begins nothing again",
  { ...KILLS.options, timeout: 120_000 },
  async (_what, when, at) => {
    const world = await openWorld();
    const first = world.serve();
    const url = await first.url;
    await order(url, "/v1/agents/eden/pause", { paused: true, as_person: "서연" });
    await say(url, "@이든 오래 걸리는 일");
    await until(async () => expect(await waiting(world.database)).toBe(1), first);
    const point = world.proxy.stop(when, at);

    const ordered = order(url, `/v1/rooms/${GENERAL}/stop`, { as_person: "서연" });
    ordered.catch(() => {}); // its process is killed
    await within(point.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();

    const second = world.serve();
    await until(async () => expect(await waiting(world.database)).toBe(0), second);
    await until(
      async () =>
        expect(
          (await notices(world.database)).filter((text) => text.includes("하던 일을 멈췄어요")),
        ).toEqual(["서연 님이 여기서 하던 일을 멈췄어요: 답 1건."]),
      second,
    );
    await order(await second.url, "/v1/agents/eden/pause", { paused: false, as_person: "서연" });
    await say(await second.url, "@이든 새 리뷰");
    await until(
      async () =>
        expect(
          await world.database.query({
            text: "select outcome from dure.handlings where agent = 'eden' order by created_at",
          }),
        ).toEqual([{ outcome: "stopped" }, { outcome: "answered" }]),
      second,
    );
  },
);

test(
  "kill -9 after a pause: it holds in the next process, and what waited is answered after the resume",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld();
    const first = world.serve();
    await order(await first.url, "/v1/agents/eden/pause", { paused: true, as_person: "서연" });
    await first.kill();

    const second = world.serve();
    await say(await second.url, "@이든 하나");
    await until(
      async () =>
        expect(
          (await notices(world.database)).filter((text) => text.includes("멈춰 두었어요")),
        ).toHaveLength(1),
      second,
    );
    expect(await waiting(world.database)).toBe(1);

    await order(await second.url, "/v1/agents/eden/pause", { paused: false, as_person: "서연" });
    await until(async () => expect(await waiting(world.database)).toBe(0), second);
  },
);

async function openWorld(): Promise<{
  proxy: PostgresProxy;
  database: Database;
  serve(): ServerProcess;
}> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const owned = stack.use(await testDatabase());
  const proxy = stack.use(await PostgresProxy.start(owned.url));
  const database = await Database.open({
    url: owned.url,
    applicationName: "brake-crash",
    logger: silentLogger,
    max: 2,
  });
  stack.defer(() => database.close());
  return {
    proxy,
    database,
    serve: () => stack.use(ServerProcess.spawn({ DATABASE_URL: proxy.url }, TEAM)),
  };
}

async function order(url: string, path: string, body: object): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.ok, await response.clone().text()).toBe(true);
}

async function say(url: string, text: string): Promise<void> {
  await order(url, `/v1/rooms/${encodeURIComponent(GENERAL)}/messages`, {
    text,
    as_person: "민준",
    client_id: text,
  });
}

async function waiting(database: Database): Promise<number> {
  const [row] = await database.query<{ open: number }>({
    text: `select count(*)::integer as open from dure.handlings
      where agent = 'eden' and state <> 'done'`,
  });
  return row!.open;
}

async function notices(database: Database): Promise<readonly string[]> {
  const rows = await database.query<{ text: string }>({
    text: "select text from dure.room_messages where mark = 'notice' order by seq",
  });
  return rows.map(({ text }) => text);
}

async function until(check: () => void | Promise<void>, server: ServerProcess): Promise<void> {
  await eventually(check, {
    patienceMs: 60_000,
    everyMs: 50,
    also: () => server.log.slice(-20).join("\n"),
  });
}
