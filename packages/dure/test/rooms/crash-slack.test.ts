import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { FakeSlackMessage, StatementTest } from "@dure/testing";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { within } from "../crash/server-process.ts";
import { eventually } from "../until.ts";
import { openWorld, until, type CrashWorld } from "./crash-slack-world.ts";

const TIMES = { ...FULL, timeout: 120_000 } as const;
const MINUTE = 60_000;
/** Of the last word of a process: 6 s until it counts as dead. Source: docs/spec/collaboration §1. */
const TAKEN_OVER_MS = boundMs(10_000);
/** Each agent with an app of its own, and one app for all of them. */
const APPS = [{ isShared: false }, { isShared: true }];

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
const ROWS = POINTS.flatMap(([what, when, at]) =>
  APPS.map(({ isShared }) => ({ what, when, at, isShared })),
);

test.each(ROWS)(
  "E on Slack, kill -9 when $what; one app: $isShared: every line is shown once, the thread goes on",
  TIMES,
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

  const thanks = world.say("고마워", { threadTs: thread!.ts });
  await until(
    async () => expect(await world.rolesOf(thanks)).toEqual({ ruda: "HANDLER", eden: "HANDLER" }),
    second,
  );
}

test.each(APPS)(
  "what people wrote on Slack in a thread without a record is in it; one app: $isShared",
  TIMES,
  async (options) => {
    const world = await openWorld(options);
    const first = world.serve();
    await world.ready(first);
    const stop = world.proxy.stop("before", nth("room.thread_made", 1));
    world.say("@루다 이든한테 리뷰 받아 줘");
    await within(stop.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();
    const threadTs = world.slack.threads(world.general)[0]!.ts;
    const early = world.say("여기서 하면 되나요?", { threadTs });

    const second = world.serve();

    await until(async () => {
      expect(world.shown({ channel: world.general, threadTs })).toEqual([
        "민준: 여기서 하면 되나요?",
        "루다: @이든 로그인 코드 리뷰",
        "이든: 리뷰를 마쳤어요",
      ]);
      expect(Object.keys(await world.rolesOf(early)).sort()).toEqual(["eden", "ruda"]);
    }, second);
    expect(world.slack.threads(world.general)).toHaveLength(1);
    expect(
      await world.database.query({ text: "select state from dure.places where kind = 'thread'" }),
    ).toEqual([{ state: "open" }]);
  },
);

test.each(APPS)(
  "a process that falls silent on Slack is replaced within 10 s; one app: $isShared",
  TIMES,
  async (options) => {
    const world = await openWorld(options);
    const first = world.serve();
    await world.ready(first);
    const second = world.serve();
    await second.url;
    const [firstId] = await holdersIn(world);

    first.signal("SIGSTOP");
    const silentSince = systemClock.monotonic();
    world.say("물음 1");
    await eventually(async () => expect(await holdersIn(world)).not.toContain(firstId), {
      patienceMs: TAKEN_OVER_MS + 5_000,
    });
    expect(systemClock.monotonic() - silentSince).toBeLessThan(TAKEN_OVER_MS);
    const general = { channel: world.general };
    await until(() => expect(world.shown(general)).toEqual(["민준: 물음 1", "루다: 답 1"]), second);
    // Its accounts may have been renewed earlier than the process itself.
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
        expect(world.shown(general)).toEqual([
          "민준: 물음 1",
          "루다: 답 1",
          "민준: 물음 2",
          "루다: 답 2",
        ]),
      second,
    );
  },
);

async function holdersIn({ database }: CrashWorld): Promise<readonly string[]> {
  const rows = await database.query<{ holder: string }>({
    text: "select distinct holder from dure.leases where name like 'account:%'",
  });
  return rows.map(({ holder }) => holder);
}

test.each(APPS)(
  "after an outage on Slack young messages are answered, old calls told of; one app: $isShared",
  TIMES,
  async (options) => {
    const world = await openWorld(options);
    const first = world.serve();
    await world.ready(first);
    const before = world.say("물음 1", { agoMs: 20 * MINUTE });
    await until(
      async () =>
        expect(await world.rolesOf(before)).toEqual({ ruda: "OBSERVER", eden: "OBSERVER" }),
      first,
    );
    await first.kill();
    await isOld(world);

    const old = ["물음 2", "@루다 물음 3", "@이든 리뷰 좀", "@이든 리뷰 좀 빨리"].map((text) =>
      world.say(text, { agoMs: 11 * MINUTE }),
    );
    const young = [world.say("물음 4"), world.say("물음 5")];
    const second = world.serve();

    const linesWith = (part: string): readonly string[] =>
      world.shown({ channel: world.general }).filter((line) => line.includes(part));
    await until(() => expect(linesWith("루다: 답")).toEqual(["루다: 답 4", "루다: 답 5"]), second);
    await until(
      () =>
        expect([...linesWith("자리를 비운")].sort()).toEqual([
          expect.stringMatching(/^루다: 자리를/),
          expect.stringMatching(/^이든: 자리를/),
        ]),
      second,
    );
    for (const message of old) {
      await until(
        async () =>
          expect(await world.rolesOf(message)).toEqual({ ruda: "OBSERVER", eden: "OBSERVER" }),
        second,
      );
    }
    for (const message of young) {
      expect(await world.rolesOf(message)).toEqual({ ruda: "HANDLER", eden: "OBSERVER" });
    }
    expect(linesWith("이든: 리뷰")).toEqual([]);
  },
);

test(
  "of what came on Slack while no process lived the newest 100 of each place are read",
  TIMES,
  async () => {
    const world = await openWorld({ isShared: false });
    const { slack, general } = world;
    const first = world.serve();
    await world.ready(first);
    const root = world.say("잡담", { agoMs: 30 * MINUTE });
    const threadTs = root.slice(root.indexOf(":") + 1);
    const reply = world.say("첫 답글", { agoMs: 29 * MINUTE, threadTs });
    for (const told of [root, reply]) await heardByBoth(world, told, first);
    await first.kill();
    await isOld(world);

    const missed = [undefined, threadTs].map((thread) =>
      Array.from({ length: 130 }, (_none, index) =>
        world.say(`지난 말 ${index}`, { agoMs: 11 * MINUTE, ...(thread && { threadTs: thread }) }),
      ),
    );
    expect(slack.messages({ channel: general, threadTs })).toHaveLength(131);
    const second = world.serve();

    for (const ids of missed) {
      await heardByBoth(world, ids.at(-1)!, second);
      const known = await world.database.query<{ platform_id: string }>(
        {
          text: `
            select p.platform_id
            from dure.room_parts p
            join dure.room_messages m on m.id = p.message
            where p.platform_id = any($1::text[])
            order by m.seq`,
        },
        [ids],
      );
      expect(known.map(({ platform_id }) => platform_id)).toEqual(ids.slice(-100));
    }
  },
);

function heardByBoth(
  world: CrashWorld,
  message: string,
  server: Parameters<typeof until>[1],
): Promise<void> {
  return until(
    async () => expect(Object.keys(await world.rolesOf(message)).sort()).toEqual(["eden", "ruda"]),
    server,
  );
}

/** The places have been known for an hour: what is older than that is history. */
async function isOld({ database }: CrashWorld): Promise<void> {
  await database.query({
    text: "update dure.places set created_at = created_at - interval '1 hour'",
  });
}

/** Moments of a press on the button that goes on with an answer, and what stands there then. */
const PRESSED: readonly (readonly [string, "before" | "after", string, number])[] = [
  ["it is being stored", "before", "answer_retry.reopen", 1],
  ["it is stored, and its answer is not", "before", "handling.finish", 0],
];
const PRESSED_ROWS = PRESSED.flatMap(([what, when, statement, buttons]) =>
  APPS.map(({ isShared }) => ({ what, when, statement, buttons, isShared })),
);

test.each(PRESSED_ROWS)(
  "kill -9 after a press on Slack's retry button, when $what; one app: $isShared: one answer",
  TIMES,
  async ({ when, statement, buttons, isShared }) => {
    const away = path.join(await mkdtemp(path.join(tmpdir(), "dure-away-")), "away");
    onTestFinished(() => rm(path.dirname(away), { recursive: true }));
    await writeFile(away, "");
    const world = await openWorld({ isShared, environment: { TEST_AWAY: away } });
    const first = world.serve();
    await world.ready(first);
    world.say("물음 7");
    await until(() => expect(retryButtons(world)).toHaveLength(1), first);
    const notice = world.answers().find((shown) => shown.buttons.length === 1);

    await rm(away);
    const stop = world.proxy.stop(when, nth(statement, 1));
    world.press(notice!);
    await within(stop.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();
    expect(await storedButtons(world)).toBe(buttons);
    const second = world.serve();
    await pressAgain(world, notice!, second);

    const general = { channel: world.general };
    await until(
      () =>
        expect(world.shown(general)).toEqual([
          "민준: 물음 7",
          "루다: 멈춘 곳에서 이어서 답하고 있어요.",
          "루다: 답 7",
        ]),
      second,
    );
    expect(retryButtons(world)).toEqual([]);
    expect(
      await world.database.query({
        text: "select state, outcome from dure.handlings where agent = 'ruda'",
      }),
    ).toEqual([{ state: "done", outcome: "answered" }]);
  },
);

function retryButtons(world: CrashWorld): readonly { readonly value: string }[] {
  return world
    .answers()
    .flatMap(({ buttons }) => buttons)
    .filter(({ value }) => value.startsWith("retry:"));
}

/** Messages under which a person may still press, as dure knows them. */
async function storedButtons({ database }: CrashWorld): Promise<number> {
  const rows = await database.query({
    text: "select id from dure.room_messages where jsonb_array_length(buttons) > 0",
  });
  return rows.length;
}

/** Slack tells of a press once, so who saw a warning presses again. Waits for what they are told. */
async function pressAgain(
  world: CrashWorld,
  notice: FakeSlackMessage,
  server: Parameters<typeof until>[1],
): Promise<void> {
  const told = (): number =>
    world.slack.requests.filter(({ method }) => method === "chat.postEphemeral").length;
  const before = told();
  const isReady = /"account":"ruda","state":"ready"/;
  await until(() => expect(server.log.join("\n")).toMatch(isReady), server);
  world.press(notice);
  await until(() => expect(told()).toBeGreaterThan(before), server);
}

const STORY = Array.from({ length: 15 }, (_none, index) => `${index + 1}번째 문장입니다.`).join(
  " ",
);

/** Moments in the life of what is shown while it is written. Resolves when the moment has come. */
const WRITING: readonly (readonly [string, (world: CrashWorld) => Promise<unknown>])[] = [
  [
    "its first words are on Slack, not recorded",
    ({ proxy }) => proxy.stop("before", nth("preview.posted", 1)).reached,
  ],
  ["it is being edited", (world) => askedFor(world, "chat.update", 2)],
  [
    "the whole of it is on Slack, not recorded",
    ({ proxy }) => proxy.stop("before", nth("room.part_made", 1)).reached,
  ],
];
const WRITING_ROWS = WRITING.flatMap(([what, moment]) =>
  APPS.map(({ isShared }) => ({ what, moment, isShared })),
);

test.each(WRITING_ROWS)(
  "kill -9 in a streamed answer on Slack when $what; one app: $isShared: it stands once and whole",
  TIMES,
  async ({ moment, isShared }) => {
    const world = await openWorld({ isShared, environment: { TEST_STREAM: "1" } });
    const first = world.serve();
    await world.ready(first);
    const reached = moment(world);

    world.say("긴 이야기를 해 줘");
    await within(reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();
    expect(world.answers()).toHaveLength(1);

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
    const general = { channel: world.general };
    expect(world.shown(general)).toEqual(["민준: 긴 이야기를 해 줘", `루다: ${STORY}`]);
    const [stands] = world.answers();
    expect(
      await world.database.query({
        text: `
          select p.platform_id
          from dure.room_parts p
          join dure.room_messages m on m.id = p.message
          where m.author = 'ruda'`,
      }),
    ).toEqual([{ platform_id: `${world.general.id}:${stands!.ts}` }]);
  },
);

test(
  "kill -9 while Slack shows something that turns out to be no answer: nothing of it remains",
  TIMES,
  async () => {
    const world = await openWorld({ isShared: false, environment: { TEST_STREAM: "1" } });
    const first = world.serve();
    await world.ready(first);

    world.say("이야기할 것이 아닌가?");
    await within(askedFor(world, "chat.update", 1), "nothing was shown", () => first.log);
    await first.kill();
    expect(world.answers()).toHaveLength(1);

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
      () =>
        expect(world.shown({ channel: world.general })).toEqual(["민준: 이야기할 것이 아닌가?"]),
      second,
    );
  },
);

/** Resolves when Slack has been asked `n` times in this way. */
function askedFor({ slack }: CrashWorld, asked: string, n: number): Promise<void> {
  return eventually(
    () =>
      expect(slack.requests.filter(({ method }) => method === asked).length).toBeGreaterThanOrEqual(
        n,
      ),
    { patienceMs: 60_000, everyMs: 10 },
  );
}
