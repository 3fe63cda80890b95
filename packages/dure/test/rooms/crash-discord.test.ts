import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import {
  type FakeBot,
  FakeDiscord,
  type FakeMessage,
  type FakePerson,
  type FakePlace,
  PostgresProxy,
  type StatementTest,
} from "@dure/testing";
import { ServerProcess, within } from "../crash/server-process.ts";

const TEAM = fileURLToPath(new URL("folder-discord", import.meta.url));

/**
 * Of the last word of a process: 6 s until it counts as dead. Source: docs/spec/collaboration §1.
 */
const TAKEN_OVER_MS = boundMs(10_000);

/** The `n`-th statement of this name; the messages of the story leave one after another. */
function nth(name: string, n: number): StatementTest {
  let seen = 0;
  return (statement) => statement.name === name && ++seen === n;
}

/**
 * Moments between a person's message and the last line that follows from it, on a platform that
 * knows nothing of our rows.
 */
const POINTS: readonly (readonly [string, "before" | "after", () => StatementTest])[] = [
  ["the first message is in the outbox, not sent", "after", () => nth("room.last_posted", 1)],
  ["the first message is on Discord, not recorded", "before", () => nth("room.part_made", 1)],
  [
    "a message of the second half is on Discord, not recorded",
    "before",
    () => nth("room.part_made", 3),
  ],
  ["the thread is made, not recorded", "before", () => nth("room.thread_made", 1)],
  ["the thread is being recorded", "after", () => nth("room.thread_made", 1)],
];

const KILLS = sampled(POINTS, 0);

test.each(KILLS.rows)(
  "E on Discord, kill -9 when %s: every line is shown once and in order, and the thread goes on",
  { ...KILLS.options, timeout: 120_000 },
  async (_what, when, at) => {
    const world = await openWorld();
    const first = world.serve();
    await world.ready(first);
    const stop = world.proxy.stop(when, at());

    world.say(`${world.discord.mention(world.ruda)} 이든한테 리뷰 받아 줘`);
    await within(stop.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();

    const second = world.serve();
    await until(
      () =>
        expect([...world.shown(world.general)].sort()).toEqual([
          expect.stringMatching(/^루다: 이든 님이 답했어요/),
          "루다: 이든에게 맡겼어요",
          "민준: @루다 이든한테 리뷰 받아 줘",
        ]),
      second,
    );
    const [thread, ...others] = world.discord.threads(world.general);
    expect(others).toEqual([]);
    expect(world.shown(thread!)).toEqual(["루다: @이든 로그인 코드 리뷰", "이든: 리뷰를 마쳤어요"]);
    expect(await world.database.query({ text: "select state from dure.requests" })).toEqual([
      { state: "answered" },
    ]);

    const thanks = world.say("고마워", thread);
    await until(
      async () =>
        expect(await world.rolesOf(thanks.id)).toEqual({ ruda: "HANDLER", eden: "HANDLER" }),
      second,
    );
  },
);

test(
  "what people wrote in a thread without a record is in that thread, which is made once",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld();
    const first = world.serve();
    await world.ready(first);
    const stop = world.proxy.stop("before", nth("room.thread_made", 1));
    world.say(`${world.discord.mention(world.ruda)} 이든한테 리뷰 받아 줘`);
    await within(stop.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();
    const [thread] = world.discord.threads(world.general);
    const early = world.say("여기서 하면 되나요?", thread);

    const second = world.serve();

    await until(async () => {
      expect(world.shown(thread!)).toEqual([
        "민준: 여기서 하면 되나요?",
        "루다: @이든 로그인 코드 리뷰",
        "이든: 리뷰를 마쳤어요",
      ]);
      expect(Object.keys(await world.rolesOf(early.id)).sort()).toEqual(["eden", "ruda"]);
    }, second);
    expect(world.discord.threads(world.general)).toHaveLength(1);
    expect(
      await world.database.query({ text: "select state from dure.places where kind = 'thread'" }),
    ).toEqual([{ state: "open" }]);
  },
);

test(
  "a silent process: another has its accounts within 10 s, and everything is answered once",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld();
    const { discord, ruda, eden } = world;
    const first = world.serve();
    await world.ready(first);
    const second = world.serve();
    await second.url;
    const holders = async (): Promise<readonly string[]> =>
      (
        await world.database.query<{ holder: string }>({
          text: "select distinct holder from dure.leases where name like 'account:%'",
        })
      ).map(({ holder }) => holder);
    const [firstId] = await holders();

    first.signal("SIGSTOP");
    const silentSince = systemClock.monotonic();
    world.say("물음 1");
    await eventually(
      async () => {
        expect(await holders()).not.toContain(firstId);
        expect([ruda, eden].map((bot) => discord.sessionsStarted(bot))).toEqual([2, 2]);
      },
      { patienceMs: TAKEN_OVER_MS + 5_000 },
    );
    expect(systemClock.monotonic() - silentSince).toBeLessThan(TAKEN_OVER_MS);
    await until(
      () => expect(world.shown(world.general)).toEqual(["민준: 물음 1", "루다: 답 1"]),
      second,
    );
    // Its accounts may have been renewed earlier than the process itself: woken between the two it
    // has lost them alone, and lives.
    await eventually(async () =>
      expect(
        await world.database.query(
          { text: "select id from dure.processes where id = $1 and ended_at is not null" },
          [firstId],
        ),
      ).toHaveLength(1),
    );
    first.signal("SIGCONT");
    await within(first.exit, "the process that had lost everything went on", () => first.log);
    world.say("물음 2");

    await until(
      () =>
        expect(world.shown(world.general)).toEqual([
          "민준: 물음 1",
          "루다: 답 1",
          "민준: 물음 2",
          "루다: 답 2",
        ]),
      second,
    );
  },
);

test(
  "young messages of an outage are answered in order; for older ones the called agents get one line",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld();
    const first = world.serve();
    await world.ready(first);
    world.say("물음 1");
    await until(
      () => expect(world.shown(world.general)).toEqual(["민준: 물음 1", "루다: 답 1"]),
      first,
    );
    await first.kill();
    const { ruda, eden, discord } = world;
    await world.database.query({
      text: "update dure.places set created_at = created_at - interval '1 hour'",
    }); // what is older than that is history

    world.agoMs = 11 * 60_000;
    const old = [
      world.say("물음 2"),
      world.say(`${discord.mention(ruda)} 물음 3`),
      world.say(`${discord.mention(eden)} 리뷰 좀`),
      world.say(`${discord.mention(eden)} 리뷰 좀 빨리`),
    ];
    world.agoMs = 0;
    const young = [world.say("물음 4"), world.say("물음 5")];
    const second = world.serve();

    await until(
      () =>
        expect(world.shown(world.general).filter((line) => line.startsWith("루다: 답"))).toEqual([
          "루다: 답 1",
          "루다: 답 4",
          "루다: 답 5",
        ]),
      second,
    );
    await until(
      () =>
        expect(
          [...world.shown(world.general).filter((line) => line.includes("자리를 비운"))].sort(),
        ).toEqual([expect.stringMatching(/^루다: 자리를/), expect.stringMatching(/^이든: 자리를/)]),
      second,
    );
    for (const message of old) {
      await until(
        async () =>
          expect(await world.rolesOf(message.id)).toEqual({ ruda: "OBSERVER", eden: "OBSERVER" }),
        second,
      );
    }
    for (const message of young) {
      expect(await world.rolesOf(message.id)).toEqual({ ruda: "HANDLER", eden: "OBSERVER" });
    }
    expect(world.shown(world.general).filter((line) => line.startsWith("이든: 리뷰"))).toEqual([]);
  },
);

test(
  "of what came while no process lived the newest 100 of each place are read",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld();
    const first = world.serve();
    await world.ready(first);
    const thread = world.openThread("잡담");
    for (const [place, number] of [
      [world.general, 1],
      [thread, 2],
    ] as const) {
      const told = world.say(`물음 ${number}`, place);
      await until(
        async () =>
          expect(Object.keys(await world.rolesOf(told.id)).sort()).toEqual(["eden", "ruda"]),
        first,
      );
    }
    await until(() => expect(world.shown(world.general)).toContain("루다: 답 1"), first);
    await first.kill();
    await world.database.query({
      text: "update dure.places set created_at = created_at - interval '1 hour'",
    }); // what is older than that is history

    world.agoMs = 11 * 60_000;
    const missed = [world.general, thread].map((place) =>
      Array.from({ length: 130 }, (_none, index) => world.say(`지난 말 ${index}`, place).id),
    );
    world.agoMs = 0;
    const second = world.serve();

    for (const ids of missed) {
      await until(
        async () =>
          expect(await world.rolesOf(ids.at(-1)!)).toEqual({ ruda: "OBSERVER", eden: "OBSERVER" }),
        second,
      );
      const known = await world.database.query<{ platform_id: string }>(
        {
          text: "select p.platform_id from dure.room_parts p join dure.room_messages m on m.id = p.message where p.platform_id = any($1::text[]) order by m.seq",
        },
        [ids],
      );
      expect(known.map(({ platform_id }) => platform_id)).toEqual(ids.slice(-100));
    }
  },
);

/** Moments of a press on the button that goes on with an answer. */
const PRESSED: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
  [
    "it is being stored",
    ({ proxy }) => proxy.stop("before", nth("answer_retry.reopen", 1)).reached,
  ],
  [
    "it is stored, and its answer is not",
    ({ proxy }) => proxy.stop("before", nth("handling.finish", 1)).reached,
  ],
];

test.each(PRESSED.map((point) => [...point] as const))(
  "kill -9 after a press on the retry button, when %s: it is answered once, under one notice",
  { ...FULL, timeout: 120_000 },
  async (_what, moment) => {
    const away = path.join(await mkdtemp(path.join(tmpdir(), "dure-away-")), "away");
    onTestFinished(() => rm(path.dirname(away), { recursive: true }));
    await writeFile(away, "");
    const world = await openWorld({ TEST_AWAY: away });
    const first = world.serve();
    await world.ready(first);
    world.say("물음 7");
    const button = () => botMessages(world).at(-1)?.buttons[0];
    await until(() => expect(button()?.value).toMatch(/^retry:/), first);
    const pressed = button()!;

    await rm(away);
    const reached = moment(world);
    const told = world.minjun.press(pressed).catch(() => "This interaction failed");
    await within(reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();
    await told;
    const second = world.serve();
    await world.ready(second);
    await world.minjun.press(pressed);

    await until(
      () =>
        expect(world.shown(world.general)).toEqual([
          "민준: 물음 7",
          "루다: 멈춘 곳에서 이어서 답하고 있어요.",
          "루다: 답 7",
        ]),
      second,
    );
    expect(botMessages(world).flatMap(({ buttons }) => buttons)).toEqual([]);
  },
);

const STORY = Array.from({ length: 15 }, (_none, index) => `${index + 1}번째 문장입니다.`).join(
  " ",
);

/** Moments in the life of what is shown while it is written. Resolves when the moment has come. */
const WRITING: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
  [
    "its first words are on Discord, not recorded",
    ({ proxy }) => proxy.stop("before", nth("preview.posted", 1)).reached,
  ],
  ["it is being edited", (world) => requestOf(world, "PATCH", 2)],
  [
    "the whole of it is on Discord, not recorded",
    ({ proxy }) => proxy.stop("before", nth("room.part_made", 1)).reached,
  ],
];

test.each(WRITING.map((point) => [...point] as const))(
  "kill -9 while an answer is shown as it is written, when %s: it stands once and whole",
  { ...FULL, timeout: 120_000 },
  async (_what, moment) => {
    const world = await openWorld({ TEST_STREAM: "1" });
    const first = world.serve();
    await world.ready(first);
    const reached = moment(world);

    world.say("긴 이야기를 해 줘");
    await within(reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();
    expect(botMessages(world)).toHaveLength(1);

    const second = world.serve();
    await until(
      async () =>
        expect(
          await world.database.query({
            text: "select delivery from dure.room_messages where author = 'ruda'",
          }),
        ).toEqual([{ delivery: "sent" }]),
      second,
    );
    expect(world.shown(world.general)).toEqual(["민준: 긴 이야기를 해 줘", `루다: ${STORY}`]);
    const [stands] = botMessages(world);
    expect(
      await world.database.query({
        text: "select p.platform_id from dure.room_parts p join dure.room_messages m on m.id = p.message where m.author = 'ruda'",
      }),
    ).toEqual([{ platform_id: stands!.id }]);
  },
);

test(
  "kill -9 while something is shown that turns out to be no answer: nothing of it remains",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld({ TEST_STREAM: "1" });
    const first = world.serve();
    await world.ready(first);

    world.say("이야기할 것이 아닌가?");
    await within(requestOf(world, "PATCH", 1), "nothing was shown", () => first.log);
    await first.kill();
    expect(botMessages(world)).toHaveLength(1);

    const second = world.serve();
    await until(
      async () =>
        expect(
          await world.database.query({
            text: "select outcome from dure.handlings where agent = 'ruda'",
          }),
        ).toEqual([{ outcome: "silent" }]),
      second,
    );
    await until(
      () => expect(world.shown(world.general)).toEqual(["민준: 이야기할 것이 아닌가?"]),
      second,
    );
  },
);

/** Resolves when Discord has been asked `n` times in this way. */
function requestOf({ discord }: World, asked: string, n: number): Promise<void> {
  return eventually(
    () =>
      expect(
        discord.requests.filter(({ method }) => method === asked).length,
      ).toBeGreaterThanOrEqual(n),
    { patienceMs: 60_000, everyMs: 10 },
  );
}

function botMessages({ discord, general }: World): readonly FakeMessage[] {
  return discord.messages(general).filter(({ authorIsBot }) => authorIsBot);
}

interface World {
  readonly discord: FakeDiscord;
  readonly general: FakePlace;
  readonly ruda: FakeBot;
  readonly eden: FakeBot;
  readonly proxy: PostgresProxy;
  readonly database: Database;
  /** How long ago messages are posted, milliseconds. */
  agoMs: number;
  serve(): ServerProcess;
  ready(server: ServerProcess): Promise<void>;
  say(text: string, place?: FakePlace): ReturnType<FakePerson["post"]>;
  readonly minjun: FakePerson;
  /** A person's, in the channel. */
  openThread(name: string): FakePlace;
  /** What people see: mentions by name, without the platform's own lines. */
  shown(place: FakePlace): readonly string[];
  rolesOf(platformId: string): Promise<Record<string, string>>;
}

async function openWorld(more: Readonly<Record<string, string>> = {}): Promise<World> {
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
  const time = { agoMs: 0 };
  const discord = stack.use(
    await FakeDiscord.start({
      identifyWindowMs: 1,
      clock: { ...systemClock, now: () => systemClock.now() - time.agoMs },
    }),
  );
  const general = discord.addChannel(discord.addGuild("두레"), "general");
  const ruda = discord.addBot({ name: "루다", token: "token-ruda" });
  const eden = discord.addBot({ name: "이든", token: "token-eden" });
  const minjun = discord.addPerson("민준");
  const names = new Map([ruda, eden].map(({ id, name }) => [id, name]));
  const environment = {
    DATABASE_URL: proxy.url,
    DISCORD_API_URL: discord.url,
    DISCORD_TOKEN_RUDA: ruda.token,
    DISCORD_TOKEN_EDEN: eden.token,
    TEST_DISCORD_CHANNEL: general.id,
    ...more,
  };
  return {
    discord,
    general,
    ruda,
    eden,
    proxy,
    database,
    get agoMs() {
      return time.agoMs;
    },
    set agoMs(ms) {
      time.agoMs = ms;
    },
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
    say: (text, place = general) => minjun.post(place, text),
    minjun,
    openThread: (name) => minjun.startThread(general, name),
    shown: (place) =>
      discord
        .messages(place)
        .filter(({ type }) => type !== 18)
        .map(
          ({ author, text }) =>
            `${author}: ${text.replace(/<@(\d+)>/g, (_all, id: string) => `@${names.get(id) ?? id}`)}`,
        ),
    rolesOf: async (platformId) => {
      const rows = await database.query<{ agent: string; role: string }>(
        {
          text: "select r.key as agent, r.value->>'role' as role from dure.room_parts p join dure.room_messages m on m.id = p.message, jsonb_each(m.roles) r where p.platform_id = $1",
        },
        [platformId],
      );
      return Object.fromEntries(rows.map(({ agent, role }) => [agent, role]));
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
