import { fileURLToPath } from "node:url";
import {
  FakeSlack,
  type FakeSlackApp,
  type FakeSlackChannel,
  type FakeSlackPlace,
  PostgresProxy,
  type StatementTest,
} from "@dure/testing";
import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { sampled } from "../../src/kernel/test-tiers.ts";
import { ServerProcess, within } from "../crash/server-process.ts";
import { eventually } from "../until.ts";

const TEAM = fileURLToPath(new URL("folder-slack", import.meta.url));

/** The `n`-th statement of this name; the messages of the story leave one after another. */
function nth(name: string, n: number): StatementTest {
  let seen = 0;
  return (statement) => statement.name === name && ++seen === n;
}

/** Moments between a person's message and the last line, on a platform that knows no keys. */
const POINTS: readonly (readonly [string, "before" | "after", () => StatementTest])[] = [
  ["the first message is in the outbox, not sent", "after", () => nth("room.last_posted", 1)],
  ["the first message is on Slack, not recorded", "before", () => nth("room.part_made", 1)],
  ["one of the second half is on Slack, not recorded", "before", () => nth("room.part_made", 3)],
  ["the thread is made, not recorded", "before", () => nth("room.thread_made", 1)],
  ["the thread is being recorded", "after", () => nth("room.thread_made", 1)],
];

/** Each agent with an app of its own, and one app for all of them. */
const ROWS = POINTS.flatMap(([what, when, at]) =>
  [false, true].map((isShared) => ({ what, when, at, isShared })),
);
const KILLS = sampled(ROWS, 1);

test.each(KILLS.rows)(
  "E on Slack, kill -9 when $what; one app: $isShared: every line is shown once, the thread goes on",
  { ...KILLS.options, timeout: 120_000 },
  ({ when, at, isShared }) => killAt({ isShared, when, at: at() }),
);

async function killAt(options: {
  isShared: boolean;
  when: "before" | "after";
  at: StatementTest;
}): Promise<void> {
  const world = await openWorld(options);
  const first = world.serve();
  await world.ready(first);
  const stop = world.proxy.stop(options.when, options.at);

  world.say("@루다 이든한테 리뷰 받아 줘");
  await within(stop.reached, "the process did not come to the point", () => first.log);
  await first.kill();
  world.proxy.disarm();

  const second = world.serve();
  await until(
    () =>
      expect([...world.shown({ channel: world.general })].sort()).toEqual([
        expect.stringMatching(/^루다: 이든 님이 답했어요/),
        "루다: 이든에게 맡겼어요",
        "민준: @루다 이든한테 리뷰 받아 줘",
      ]),
    second,
  );
  const [thread, ...others] = world.slack.threads(world.general);
  expect(others).toEqual([]);
  const place = { channel: world.general, threadTs: thread!.ts };
  expect(world.shown(place)).toEqual(["루다: @이든 로그인 코드 리뷰", "이든: 리뷰를 마쳤어요"]);
  expect(await world.database.query({ text: "select state from dure.requests" })).toEqual([
    { state: "answered" },
  ]);

  const thanks = world.say("고마워", thread!.ts);
  await until(
    async () => expect(await world.rolesOf(thanks)).toEqual({ ruda: "HANDLER", eden: "HANDLER" }),
    second,
  );
}

interface World {
  readonly slack: FakeSlack;
  readonly general: FakeSlackChannel;
  readonly proxy: PostgresProxy;
  readonly database: Database;
  serve(): ServerProcess;
  ready(server: ServerProcess): Promise<void>;
  /** 민준 says it. Gives its id in dure. */
  say(text: string, threadTs?: string): string;
  shown(place: FakeSlackPlace): readonly string[];
  rolesOf(platformId: string): Promise<Record<string, string>>;
}

async function openWorld({ isShared }: { isShared: boolean }): Promise<World> {
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
  const slack = stack.use(await FakeSlack.start());
  const general = slack.addChannel("general");
  const { apps, tokens } = isShared ? sharedApp(slack) : ownApps(slack);
  const minjun = slack.addPerson("민준");
  const environment = {
    DATABASE_URL: proxy.url,
    SLACK_API_URL: slack.url,
    TEST_SLACK_CHANNEL: general.id,
    ...tokens,
  };
  return {
    slack,
    general,
    proxy,
    database,
    serve: () => stack.use(ServerProcess.spawn(environment, TEAM)),
    ready: async (server) => {
      await server.url;
      await until(
        async () =>
          expect(await database.query({ text: "select state from dure.accounts" })).toEqual([
            { state: "ready" },
            { state: "ready" },
          ]),
        server,
      );
    },
    say: (text, threadTs) => {
      const { ts } = minjun.post({ channel: general, threadTs }, mentioned(text, apps));
      return `${general.id}:${ts}`;
    },
    shown: (place) =>
      slack
        .messages(place)
        .filter(({ eventType }) => eventType !== "dure_thread")
        .map(({ author, text }) => `${author}: ${named(text, apps)}`),
    rolesOf: async (platformId) => {
      const rows = await database.query<{ agent: string; role: string }>(
        {
          text: `
            select r.key as agent, r.value->>'role' as role
            from dure.room_parts p
            join dure.room_messages m on m.id = p.message, jsonb_each(m.roles) r
            where p.platform_id = $1`,
        },
        [platformId],
      );
      return Object.fromEntries(rows.map(({ agent, role }) => [agent, role]));
    },
  };
}

interface Apps {
  readonly apps: readonly FakeSlackApp[];
  readonly tokens: Readonly<Record<string, string>>;
}

function ownApps(slack: FakeSlack): Apps {
  const ruda = slack.addApp({ name: "루다", botToken: "xoxb-ruda", appToken: "xapp-ruda" });
  const eden = slack.addApp({ name: "이든", botToken: "xoxb-eden", appToken: "xapp-eden" });
  return {
    apps: [ruda, eden],
    tokens: {
      SLACK_BOT_TOKEN_RUDA: ruda.botToken,
      SLACK_APP_TOKEN_RUDA: ruda.appToken,
      SLACK_BOT_TOKEN_EDEN: eden.botToken,
      SLACK_APP_TOKEN_EDEN: eden.appToken,
    },
  };
}

/** Its agents are mentioned by their names. */
function sharedApp(slack: FakeSlack): Apps {
  slack.addApp({
    name: "두레",
    botToken: "xoxb-dure",
    appToken: "xapp-dure",
    scopes: ["chat:write", "chat:write.customize", "channels:history", "users:read"],
  });
  return { apps: [], tokens: { SLACK_BOT_TOKEN: "xoxb-dure", SLACK_APP_TOKEN: "xapp-dure" } };
}

function mentioned(text: string, apps: readonly FakeSlackApp[]): string {
  return apps.reduce((said, { id, name }) => said.replaceAll(`@${name}`, `<@${id}>`), text);
}

function named(text: string, apps: readonly FakeSlackApp[]): string {
  return apps.reduce((said, { id, name }) => said.replaceAll(`<@${id}>`, `@${name}`), text);
}

async function until(check: () => void | Promise<void>, server: ServerProcess): Promise<void> {
  await eventually(check, {
    patienceMs: 60_000,
    everyMs: 50,
    also: () => server.log.slice(-20).join("\n"),
  });
}
