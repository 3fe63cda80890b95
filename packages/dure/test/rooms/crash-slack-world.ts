import { fileURLToPath } from "node:url";
import {
  FakeSlack,
  type FakeSlackApp,
  type FakeSlackChannel,
  type FakeSlackMessage,
  type FakeSlackPlace,
  PostgresProxy,
} from "@dure/testing";
import { expect, onTestFinished } from "vitest";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { eventually } from "../until.ts";

const TEAM = fileURLToPath(new URL("folder-slack", import.meta.url));

/** 루다 and 이든 on a double of Slack, served by processes that tests kill. */
export interface CrashWorld {
  readonly slack: FakeSlack;
  readonly general: FakeSlackChannel;
  readonly proxy: PostgresProxy;
  readonly database: Database;
  serve(): ServerProcess;
  ready(server: ServerProcess): Promise<void>;
  /** 민준 says it. Gives its id in dure. */
  say(text: string, options?: { threadTs?: string; agoMs?: number }): string;
  /** 민준 presses the only button of a message as it was, which may be gone meanwhile. */
  press(message: FakeSlackMessage): void;
  shown(place: FakeSlackPlace): readonly string[];
  /** What agents have in the channel. */
  answers(): readonly FakeSlackMessage[];
  rolesOf(platformId: string): Promise<Record<string, string>>;
}

/** `isShared`: one app for both agents; else each has its own. */
export async function openWorld(options: {
  isShared: boolean;
  environment?: Readonly<Record<string, string>>;
}): Promise<CrashWorld> {
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
  const { apps, tokens } = options.isShared ? sharedApp(slack) : ownApps(slack);
  const minjun = slack.addPerson("민준");
  const environment = {
    DATABASE_URL: proxy.url,
    SLACK_API_URL: slack.url,
    TEST_SLACK_CHANNEL: general.id,
    ...tokens,
    ...options.environment,
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
    say: (text, { threadTs, agoMs = 0 } = {}) => {
      const place = { channel: general, threadTs };
      const { ts } = minjun.post(place, mentioned(text, apps), { agoMs });
      return `${general.id}:${ts}`;
    },
    press: (message) => minjun.pressValue(message, message.buttons[0]!),
    shown: (place) =>
      slack
        .messages(place)
        .filter(({ eventType }) => eventType !== "dure_thread")
        .map(({ author, text }) => `${author}: ${named(text, apps)}`),
    answers: () => slack.messages({ channel: general }).filter(({ authorIsBot }) => authorIsBot),
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
  return {
    apps: [],
    tokens: { SLACK_BOT_TOKEN: "xoxb-dure", SLACK_APP_TOKEN: "xapp-dure" },
  };
}

function mentioned(text: string, apps: readonly FakeSlackApp[]): string {
  return apps.reduce((said, { id, name }) => said.replaceAll(`@${name}`, `<@${id}>`), text);
}

function named(text: string, apps: readonly FakeSlackApp[]): string {
  return apps.reduce((said, { id, name }) => said.replaceAll(`<@${id}>`, `@${name}`), text);
}

export async function until(
  check: () => void | Promise<void>,
  server: ServerProcess,
): Promise<void> {
  await eventually(check, {
    patienceMs: 60_000,
    everyMs: 50,
    also: () => server.log.slice(-20).join("\n"),
  });
}
