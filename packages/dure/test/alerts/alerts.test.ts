import { createECDH } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DureClient } from "../../src/client/client.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresProxy } from "@dure/testing";
import { ServerProcess } from "../crash/server-process.ts";
import { eventually } from "../until.ts";
import { PushService, vapidOf, type TestBrowser } from "./push-service.ts";

/** Two processes of one team tell people of web rooms what waits for them. */
const TEAM = fileURLToPath(new URL("team", import.meta.url));
const SECRET = "whsec_YS1zZWNyZXQtb2YtdGhlLXdlYmhvb2tz";
/** A retry waits 5 s; a process that is killed is noticed after 6 s. */
const LONG = { patienceMs: 40_000, everyMs: 50 };
/** Longer than a refused push waits, and than a lease holds. */
const AWAY_MS = 60_000;

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly notification: Record<string, unknown>;
}

const stack = new AsyncDisposableStack();
const received: Received[] = [];
/** Statuses of the next answers of the webhook. */
const refusals: number[] = [];
let environment: Record<string, string>;
let service: PushService;
let database: Database;
let servers: ServerProcess[];

beforeAll(async () => {
  service = stack.use(await PushService.start());
  const databaseUrl = stack.use(await testDatabaseUrl()).url;
  const logger = silentLogger;
  database = await Database.open({ url: databaseUrl, applicationName: "alerts", logger, max: 2 });
  stack.defer(() => database.close());
  environment = {
    DATABASE_URL: databaseUrl,
    ALERTS_PUSH_TO: service.host,
    ALERTS_WEBHOOK: `http://127.0.0.1:${await startWebhook()}/told`,
    NODE_EXTRA_CA_CERTS: service.certificate,
    DURE_WEBHOOK_SECRET: SECRET,
  };
  servers = await Promise.all([serve(), serve()]);
}, 120_000);

afterAll(async () => stack.disposeAsync(), 60_000);

async function serve(): Promise<ServerProcess> {
  const home = await mkdtemp(path.join(tmpdir(), "dure-alerts-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const server = ServerProcess.spawn({ ...environment, DURE_HOME: home }, TEAM);
  stack.use(server);
  await server.url;
  return server;
}

async function startWebhook(): Promise<number> {
  const receiver = createServer((request, response) => {
    void text(request).then((body) => {
      const { notification } = JSON.parse(body) as Pick<Received, "notification">;
      received.push({ headers: request.headers, body, notification });
      response.statusCode = refusals.shift() ?? 204;
      response.end();
    });
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  stack.defer(() => void receiver.close());
  return (receiver.address() as AddressInfo).port;
}

const client = async (server = servers[0]!): Promise<DureClient> =>
  new DureClient({ baseUrl: await server.url });

/** A browser of the person, who wants to be told. */
async function browserOf(
  person: string,
  ...answers: Parameters<PushService["browser"]> extends [string, ...infer Answers]
    ? Answers
    : never
): Promise<TestBrowser> {
  const browser = service.browser(
    `${encodeURIComponent(person)}-${service.pushed.length}`,
    ...answers,
  );
  await (await client()).notifications(person).subscribe({ ...browser.subscription, locale: "ko" });
  return browser;
}

async function say(person: string, words: string, place = "web:general"): Promise<string> {
  return (await client()).rooms(person).post(place, { text: words });
}

const webhooksTo = (person: string): readonly Received[] =>
  received.filter(({ notification }) => notification["person"] === person);

/** Nothing more is on its way. */
async function settled(): Promise<void> {
  await eventually(async () => {
    const open = await database.query({
      text: `
        select topic
        from dure.outbox
        where state in ('pending', 'sending')
        union all
        select 'handling'
        from dure.handlings
        where state <> 'done'`,
    });
    expect(open).toEqual([]);
  }, LONG);
}

describe("a person whose page is closed", { timeout: 90_000 }, () => {
  test("is told of an answer once: encrypted for their browser, signed by the team", async () => {
    const browser = await browserOf("민준");

    const asked = await say("민준", "다 됐어?");
    await eventually(() => expect(browser.read).toHaveLength(1), LONG);
    await settled();

    const [read, ...others] = browser.read;
    expect(others).toEqual([]);
    expect(read).toMatchObject({
      title: "이든 님이 답했어요",
      body: "#general\n다 했어요: 보기 비밀번호 1234",
      tag: expect.stringMatching(/^alert_/) as string,
    });
    const [, place, id] = /^\/rooms\/([^#]+)#(.+)$/.exec(read!.path) ?? [];
    expect(decodeURIComponent(place!)).toBe("web:general");
    const answer = await (await client()).rooms("민준").message(id!);
    expect(answer).toMatchObject({ author: "eden", replyTo: asked });
    const [{ headers }] = browser.pushed as [(typeof browser.pushed)[0]];
    expect(headers).toMatchObject({
      "content-encoding": "aes128gcm",
      urgency: "high",
      topic: expect.stringMatching(/^[\w-]{32}$/) as string,
    });
    expect(Number(headers["ttl"])).toBeGreaterThan(86_000);
    const { key, claims } = await vapidOf(browser.pushed[0]!);
    const now = Date.now() / 1_000;
    expect(claims).toMatchObject({ aud: `https://${service.host}`, sub: "mailto:ops@example.com" });
    expect(claims.exp! > now && claims.exp! <= now + 86_400).toBe(true);
    expect(key).toBe((await (await client(servers[1])).notifications("민준").get()).publicKey);
  });

  test("is told by a signed webhook too, with a key that is the same for each attempt", async () => {
    refusals.push(500);

    const asked = await say("하준", "다 됐어?");
    await eventually(() => expect(webhooksTo("하준")).toHaveLength(2), LONG);
    await settled();

    const [first, second] = webhooksTo("하준") as [Received, Received];
    expect(second.body).toBe(first.body);
    expect(second.headers["idempotency-key"]).toBe(first.headers["idempotency-key"]);
    expect(second.headers["webhook-id"]).toBe(second.headers["idempotency-key"]);
    expect(new Webhook(SECRET).verify(second.body, second.headers as never)).toMatchObject({
      type: "notification",
      notification: {
        kind: "answer",
        tenant: "",
        person: "하준",
        title: "이든 님이 답했어요",
        text: "다 했어요: 보기 비밀번호 1234",
        room: "web:general",
        where: "#general",
        author: "eden",
        author_kind: "agent",
      },
    });
    const id = String(second.notification["message_id"]);
    expect(await (await client()).rooms("하준").message(id)).toMatchObject({ replyTo: asked });
  });

  test("is told when a person or an agent calls them, and not what they say themselves", async () => {
    const browser = await browserOf("서연");

    await say("지우", "@서연 님, 이것 봐 주세요 @서연", "web:quiet");
    await say("서연", "@서연 이라고 불렀네요 @지우", "web:quiet");
    await say("지우", "불러 줘");
    await eventually(() => expect(browser.read).toHaveLength(2), LONG);
    await settled();

    expect(browser.read.map(({ title }) => title).toSorted()).toEqual([
      "이든 님이 나를 불렀어요",
      "지우 님이 나를 불렀어요",
    ]);
  });

  test("is told what they are asked, until it is answered", async () => {
    const browser = await browserOf("도윤");

    const room = await (await client()).rooms("도윤").direct("teller");
    await say("도윤", "보내 줘", room.id);
    await eventually(() => expect(browser.read).toHaveLength(1), LONG);

    expect(browser.read[0]).toMatchObject({ title: "가람 님이 답을 기다려요" });
    expect(browser.read[0]!.body).toContain("따로 나눈 대화\n홍길동 님에게 보낼까요?");
  });
});

describe("a person is not told", { timeout: 90_000 }, () => {
  test("what they have read on the page by then", async () => {
    const browser = await browserOf("수아");
    // As a page does that is looked at, however busy this machine is.
    await (await client()).rooms("수아").markRead("web:general", 1_000_000);

    await say("수아", "다 됐어?");
    await settled();

    expect(browser.read).toEqual([]);
    const [soonest] = await database.query<{ seconds: number }>({
      text: `
        select min(extract(epoch from next_at - created_at))::double precision as seconds
        from dure.outbox
        where topic = 'alert.message'`,
    });
    expect(soonest!.seconds).toBeGreaterThan(0.9); // they had `notify.after` to read it
  });

  test("of muted rooms, nor anything where they want nothing, until they want it again", async () => {
    const browser = await browserOf("은우");
    const own = (await client()).notifications("은우");

    expect((await own.mute("general")).muted).toEqual(["web:general"]);
    await say("은우", "하나");
    await settled();
    expect((await own.mute("general", { isMuted: false })).muted).toEqual([]);
    expect((await own.choose("nothing")).told).toBe("nothing");
    await say("은우", "둘");
    await settled();
    expect(browser.read).toEqual([]);
    await own.choose("mentions-and-answers");
    await say("은우", "셋");

    await eventually(() => expect(browser.read).toHaveLength(1), LONG);
  });

  test("more than so much within an hour, and what is left out is kept as such", async () => {
    const browser = await browserOf("예준");

    for (let times = 0; times < 10; times++) await say("지우", `@예준 ${times}`, "web:quiet");
    await eventually(() => expect(browser.read).toHaveLength(8), LONG);
    await settled();

    expect(browser.read).toHaveLength(8);
    expect(
      await database.query({
        text: `
          select dropped, count(*)::integer
          from dure.alerts
          where person = '예준'
          group by dropped
          order by dropped`,
      }),
    ).toEqual([
      { dropped: "many", count: 2 },
      { dropped: null, count: 8 },
    ]);
  });

  test("what is older than a day: it is dropped, and kept as late", async () => {
    const browser = await browserOf("시우", { status: 429, retryAfter: "3" });

    await say("시우", "다 됐어?");
    await eventually(() => expect(browser.read).toHaveLength(1), LONG);
    await database.query({
      text: "update dure.alerts set at = at - interval '24 hours' where person = '시우'",
    });
    await settled();

    expect(browser.read).toHaveLength(1);
    expect(
      await database.query({ text: "select dropped from dure.alerts where person = '시우'" }),
    ).toEqual([{ dropped: "late" }]);
  });

  test("in a browser that is another person's by now", async () => {
    const browser = await browserOf("주원");
    await (await client()).notifications("지호").subscribe(browser.subscription);

    await say("주원", "다 됐어?");
    await settled();

    expect(browser.read).toEqual([]);
  });
});

describe("a push service", { timeout: 120_000 }, () => {
  test.each([
    ["429 with a time", { status: 429, retryAfter: "1" }],
    ["500", 500],
    ["no answer for ten seconds", "hang"],
  ] as const)("that says %s is asked again, with the same topic", FULL, async (what, answer) => {
    const person = `사람 ${what.slice(0, 3)}`;
    const browser = await browserOf(person, answer);

    await say(person, "다 됐어?");
    await eventually(() => expect(browser.read).toHaveLength(2), LONG);
    await settled();

    const topics = browser.pushed.map(({ headers }) => headers["topic"]);
    expect(new Set(topics).size).toBe(1);
    expect(new Set(browser.read.map(({ tag }) => tag)).size).toBe(1);
    expect(browser.read).toHaveLength(2);
  });

  test.each([404, 410])(
    "that says %i has forgotten the browser: it is told no more",
    async (status) => {
      const person = `떠난 ${status}`;
      const browser = await browserOf(person, status);
      const own = (await client()).notifications(person);
      expect((await own.get()).browsers).toBe(1);

      await say(person, "하나");
      await eventually(() => expect(browser.read).toHaveLength(1), LONG);
      await settled();
      await say(person, "둘");
      await settled();

      expect(browser.read).toHaveLength(1);
      expect((await own.get()).browsers).toBe(0);
    },
  );

  test("gets what a killed process had begun to send, with the same topic", FULL, async () => {
    const browser = await browserOf("유나", "hang", "hang");

    await say("유나", "다 됐어?");
    await eventually(() => expect(browser.read).toHaveLength(1), LONG);
    const [row] = await database.query<{ pid: number }>({
      text: `
        select p.pid
        from dure.outbox o
        join dure.processes p on p.id = o.holder
        where o.topic = 'alert.push' and o.state = 'sending'`,
    });
    const killed = servers.find(({ pid }) => pid === row!.pid)!;
    await killed.kill();
    servers = [...servers.filter((one) => one !== killed), await serve()];
    await eventually(() => expect(browser.pushed.length).toBeGreaterThan(1), LONG);
    await settled();

    expect(new Set(browser.pushed.map(({ headers }) => headers["topic"])).size).toBe(1);
    expect(new Set(browser.read.map(({ tag }) => tag)).size).toBe(1);
  });

  test("hears of what was said before all processes were killed", FULL, async () => {
    const browser = await browserOf("태오");

    await say("지우", "@태오 끝나면 알려 줄게요", "web:quiet");
    await Promise.all(servers.map((one) => one.kill()));
    servers = await Promise.all([serve(), serve()]);
    await eventually(() => expect(browser.read).toHaveLength(1), LONG);
    await settled();

    expect(browser.read).toHaveLength(1);
  });
});

describe("a browser registers itself", { timeout: 60_000 }, () => {
  test("ten times for one person: the one that came the longest ago ends", async () => {
    for (let times = 0; times < 11; times++) {
      const { subscription } = service.browser(`many-${times}`);
      await (await client()).notifications("다온").subscribe(subscription);
    }
    const [oldest] = await database.query({
      text: `
        select
        from dure.push_subscriptions
        where endpoint like '%/many-0'`,
    });

    expect((await (await client()).notifications("다온").get()).browsers).toBe(10);
    expect(oldest).toBeUndefined();
  });

  test.each([
    "http://push.example.com/a",
    "https://10.0.0.1/a",
    "https://127.0.0.1:1/a",
    "https://[::1]/a",
    "https://169.254.169.254/latest",
    "https://user:password@push.example.com/a",
    "file:///etc/passwd",
  ])("with a public address of https alone, not %s", async (endpoint) => {
    const { keys } = service.browser("inside").subscription;
    const own = (await client()).notifications("다온");

    await expect(own.subscribe({ endpoint, keys })).rejects.toMatchObject({
      code: "PUSH_ADDRESS",
      hint: expect.stringContaining("notify.pushTo") as string,
    });
  });

  test("and a name that leads inside is sent nothing", async () => {
    const { keys } = service.browser("by-name").subscription;
    const endpoint = `https://localhost:${service.host.split(":")[1]}/push/by-name`;
    await (await client()).notifications("리안").subscribe({ endpoint, keys });

    await say("리안", "다 됐어?");
    await settled();

    expect(service.browser("by-name").pushed).toEqual([]);
    expect(
      await database.query({
        text: `
          select state, error->>'code' as code
          from dure.outbox
          where topic = 'alert.push' and state = 'failed'`,
      }),
    ).toEqual([{ state: "failed", code: "WEB_ADDRESS_PRIVATE" }]);
  });

  test("with keys of its own alone", async () => {
    const { endpoint, keys } = service.browser("keyless").subscription;
    const own = (await client()).notifications("다온");
    const p256dh = Buffer.alloc(65, 4).toString("base64url");

    await expect(own.subscribe({ endpoint, keys: { ...keys, p256dh } })).rejects.toMatchObject({
      code: "PUSH_KEYS_INVALID",
    });
  });

  test("and takes itself away", async () => {
    const own = (await client()).notifications("가온");
    const { id } = await own.subscribe(service.browser("away").subscription);
    await (await client()).notifications("다온").unsubscribe(id);
    expect((await own.get()).browsers).toBe(1);

    await own.unsubscribe(id);

    expect((await own.get()).browsers).toBe(0);
  });
});

test("the team's key may be its own, and what was said may stay here", FULL, async () => {
  const pair = createECDH("prime256v1");
  pair.generateKeys();
  await Promise.all(servers.map((one) => one.kill()));
  const { ALERTS_WEBHOOK: _webhook, ...others } = environment;
  const key = pair.getPrivateKey("base64url");
  environment = { ...others, ALERTS_TEXT: "false", DURE_VAPID_KEY: key };
  servers = [await serve()];
  const browser = await browserOf("아인");

  await say("아인", "다 됐어?");
  await eventually(() => expect(browser.read).toHaveLength(1), LONG);

  expect(browser.read[0]).toMatchObject({ title: "이든 님이 답했어요", body: "#general" });
  expect((await vapidOf(browser.pushed[0]!)).key).toBe(pair.getPublicKey("base64url"));
});

const A_WHILE = { ...FULL, timeout: 180_000 };
test("what a push service refused is told once after the database was away", A_WHILE, async () => {
  await Promise.all(servers.map((one) => one.kill()));
  const direct = environment["DATABASE_URL"]!;
  const before = await PostgresProxy.start(direct);
  environment = { ...environment, DATABASE_URL: before.url };
  servers = await Promise.all([serve(), serve()]);
  const browser = await browserOf("하늘", 503);

  await say("하늘", "다 됐어?");
  await eventually(() => expect(browser.pushed).toHaveLength(1), LONG);
  await before[Symbol.asyncDispose]();
  await systemClock.sleep(AWAY_MS);
  stack.use(await PostgresProxy.start(direct, { port: Number(new URL(before.url).port) }));

  await eventually(() => expect(browser.pushed).toHaveLength(2), LONG);
  await settled();
  const [refused, taken, ...others] = browser.pushed;
  expect(others).toEqual([]);
  expect(taken?.headers["topic"]).toBe(refused?.headers["topic"]);
  expect(servers.map(({ isOver }) => isOver)).toEqual([false, false]);
});
