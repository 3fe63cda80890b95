// @module-tag slow
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { sampled } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { PostgresProxy, type StatementTest } from "@dure/testing";
import { ServerProcess, within } from "../crash/server-process.ts";

const TEAM = fileURLToPath(new URL("folder", import.meta.url));

/**
 * Moments between a person's message and the last line that follows from it; the process is killed
 * there.
 */
const POINTS: readonly (readonly [string, "before" | "after", StatementTest])[] = [
  [
    "the message is stored, and no process has taken it up",
    "before",
    ({ name }) => name === "handling.claim",
  ],
  ["the work is taken, not yet put into words", "after", ({ name }) => name === "handling.claim"],
  [
    "the question is written down, the turn not accepted",
    "after",
    ({ name }) => name === "handling.composed",
  ],
  ["the turn is accepted", "after", ({ name }) => name === "accept_turn"],
  [
    "the collaboration is decided, not committed",
    "after",
    ({ name }) => name === "collaborate.remember",
  ],
  [
    "the thread is on the platform, not recorded",
    "after",
    ({ name, parameters }) => name === "web.post" && parameters.includes("thread-"),
  ],
  ["the thread is being recorded", "after", ({ name }) => name === "room.thread_made"],
  [
    "the request is on the platform, not recorded",
    "after",
    ({ name, parameters }) =>
      name === "web.post" &&
      parameters.includes("로그인 코드 리뷰") &&
      !parameters.includes("thread-"),
  ],
  ["the answering turn is done, not posted", "after", ({ name }) => name === "finish_turn"],
  [
    "the answer is being written with the end of the work",
    "after",
    ({ name }) => name === "handling.finish",
  ],
  [
    "the answer is in the outbox, not sent",
    "before",
    ({ name, parameters }) => name === "web.post" && parameters.includes("리뷰를 마쳤어요"),
  ],
  [
    "the answer is on the platform, not recorded",
    "after",
    ({ name, parameters }) => name === "web.post" && parameters.includes("리뷰를 마쳤어요"),
  ],
  ["the request is being closed", "after", ({ name }) => name === "request.close_one"],
  [
    "the place of origin is being told",
    "after",
    ({ name, parameters }) => name === "web.post" && parameters.includes("답했어요"),
  ],
];

const KILLS = sampled(POINTS, 1);

test.each(KILLS.rows)(
  "E kill -9 when %s: everything is said once, the threads go on without a mention",
  { ...KILLS.options, timeout: 120_000 },
  async (_what, when, at) => {
    const world = await openWorld();
    const first = world.serve();
    const url = await first.url;
    const stop = world.proxy.stop(when, at);

    await post(url, "web:general", "@루다 이든한테 리뷰 받아 줘");
    await within(stop.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();

    const second = world.serve();
    // Whether 이든 answers before 루다 has said so is up to them.
    await until(
      async () =>
        expect([...(await shown(world.database, "web:general"))].sort()).toEqual([
          expect.stringMatching(/^루다: 이든 님이 답했어요/),
          "루다: 이든에게 맡겼어요",
          "민준: @루다 이든한테 리뷰 받아 줘",
        ]),
      second,
    );
    const [thread, ...others] = await world.database.query<{ id: string }>({
      text: "select id from dure.places where kind = 'thread'",
    });
    expect(others).toEqual([]);
    expect(await shown(world.database, thread!.id)).toEqual([
      "루다: <@eden> 로그인 코드 리뷰",
      "이든: 리뷰를 마쳤어요",
    ]);
    expect(await world.database.query({ text: "select state from dure.requests" })).toEqual([
      { state: "answered" },
    ]);

    const message = await post(await second.url, thread!.id, "고마워");
    const roles = await world.database.query<{ agent: string; role: string }>(
      {
        text: `
          select key as agent, value->>'role' as role
          from dure.room_messages m, jsonb_each(m.roles)
          where m.id = $1
          order by 1`,
      },
      [message],
    );
    expect(roles).toEqual([
      { agent: "eden", role: "HANDLER" },
      { agent: "ruda", role: "HANDLER" },
    ]);
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
    applicationName: "rooms-crash",
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

async function post(url: string, room: string, text: string): Promise<string> {
  const response = await fetch(`${url}/v1/rooms/${encodeURIComponent(room)}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text, as_person: "민준", client_id: text }),
  });
  expect(response.status, await response.clone().text()).toBe(202);
  return ((await response.json()) as { message_id: string }).message_id;
}

/** What the web rooms have taken, with what people said, in order. */
async function shown(database: Database, place: string): Promise<readonly string[]> {
  const rows = await database.query<{
    author_name: string;
    text: string;
    is_agent: boolean;
    posts: number;
  }>(
    {
      text: `select m.author_name, m.text, m.author_kind = 'agent' as is_agent, (select count(*)::integer from dure.room_parts p join dure.web_posts w on w.id = p.platform_id where p.message = m.id) as posts
               from dure.room_messages m where m.place = $1 order by m.seq`,
    },
    [place],
  );
  const texts = await database.query<{ text: string }>({
    text: "select text from dure.web_posts where id like 'web-%'",
  });
  expect(new Set(texts.map(({ text }) => text)).size, "a text was posted twice").toBe(texts.length);
  // An agent's words are there when the web rooms have them.
  return rows
    .filter(({ is_agent, posts }) => !is_agent || posts === 1)
    .map(({ author_name, text }) => `${author_name}: ${text}`);
}

async function until(check: () => void | Promise<void>, server: ServerProcess): Promise<void> {
  await eventually(check, {
    patienceMs: 60_000,
    everyMs: 50,
    also: () => server.log.slice(-20).join("\n"),
  });
}
