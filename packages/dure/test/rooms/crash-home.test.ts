import { fileURLToPath } from "node:url";
import { PostgresProxy, type StatementTest } from "@dure/testing";
import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess, within } from "../crash/server-process.ts";
import { eventually } from "../until.ts";

const TEAM = fileURLToPath(new URL("folder", import.meta.url));
const ANSWER = "리뷰를 마쳤어요";

/** Moments between a hand-over and the answer that is told where it was asked for. */
const POINTS: readonly (readonly [string, "before" | "after", StatementTest])[] = [
  [
    "the collaboration is decided, not committed",
    "after",
    ({ name }) => name === "collaborate.remember",
  ],
  ["the thread is being recorded", "after", ({ name }) => name === "room.thread_made"],
  [
    "the answer is on the platform, not recorded",
    "after",
    ({ name, parameters }) => name === "web.post" && parameters.includes(ANSWER),
  ],
  ["the request is to be closed", "before", ({ name }) => name === "request.close_one"],
  ["the request is being closed", "after", ({ name }) => name === "request.close_one"],
];

const KILLS = POINTS.flatMap((point) =>
  (["HTTP chat", "a room"] as const).map((at) => [at, ...point] as const),
);

test.each(KILLS)(
  "asked in %s, kill -9 when %s: the answer comes home once and whole, and is known in later turns",
  { ...FULL, timeout: 120_000 },
  async (where, _what, when, at) => {
    const world = await openWorld();
    const first = world.serve();
    const url = await first.url;
    const stop = world.proxy.stop(when, at);

    const asking = say(url, where, "이든한테 리뷰 받아 줘").catch(() => {});
    await within(stop.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    await asking;
    world.proxy.disarm();

    const second = world.serve();
    await until(async () => expect(await world.told()).toHaveLength(1), second);
    expect((await world.told())[0]).toMatchObject({ to: "eden", text: ANSWER });
    const again = await say(await second.url, where, "이든이 뭐래요?");
    await until(async () => expect(await world.answerTo(where, again)).toBe("마쳤대요"), second);
    expect(await world.told()).toHaveLength(1);
  },
);

type Where = "HTTP chat" | "a room";

/** Says it where it is asked for; gives the id of the turn or the message. */
async function say(url: string, where: Where, text: string): Promise<string> {
  const [path, body] =
    where === "HTTP chat"
      ? ["/v1/agent/chat", { session_id: "home", service: "ruda", message: text }]
      : [`/v1/rooms/${encodeURIComponent("web:general")}/messages`, { text, as_person: "민준" }];
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const said = await response.text();
  expect(response.status, said).toBeLessThan(300);
  const { message_id: message } = JSON.parse(said) as { message_id?: string };
  return response.headers.get("turn-id") ?? message ?? "";
}

async function openWorld(): Promise<{
  proxy: PostgresProxy;
  serve(): ServerProcess;
  /** What sessions were told of answers. */
  told(): Promise<readonly { to: string; text: string }[]>;
  answerTo(where: Where, id: string): Promise<string | undefined>;
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
    serve: () => stack.use(ServerProcess.spawn({ DATABASE_URL: proxy.url }, TEAM)),
    told: () =>
      database.query({
        text: `
          select data->>'to' as to, data->>'text' as text
          from dure.events
          where type = 'collaborate.answered'`,
      }),
    answerTo: async (where, id) => {
      const [row] = await database.query<{ text: string }>(
        {
          text:
            where === "HTTP chat"
              ? "select done->>'message' as text from dure.turns where id = $1"
              : "select text from dure.room_messages where reply_to = $1",
        },
        [id],
      );
      return row?.text;
    },
  };
}

async function until(check: () => void | Promise<void>, server: ServerProcess): Promise<void> {
  await eventually(check, {
    patienceMs: 60_000,
    everyMs: 50,
    also: () => server.log.slice(-20).join("\n"),
  });
}
