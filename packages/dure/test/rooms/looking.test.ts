import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { Retention } from "../../src/durable/retention.ts";
import { systemClock, type Clock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { collaborate, readyTeamOn, settled, silent } from "./helpers.ts";
import type { TestTeam } from "./team.ts";

const MESSAGES = "/channels/{channel}/messages";
const THREADS = "/channels/{channel}/threads";
/** More than there are attempts: were a look one of them, it would be given up by then. */
const LOOKS = 6;
const LONG = { patienceMs: 40_000, everyMs: 50 };

describe("what may have arrived is looked for", { timeout: 120_000 }, () => {
  test.each([
    { what: "a message", made: MESSAGES, more: 3, looked: MESSAGES },
    { what: "a thread", made: THREADS, more: 0, looked: "/guilds/{guild}/threads/active" },
  ])(
    "for as long as the platform says `too often`: $what is found then, and stands there once",
    FULL,
    async ({ made, more, looked }) => {
      const stage = await discordPlatform();
      const { discord, places } = stage;
      const team = await readyTeamOn(stage, { behave: { ruda: silent, eden: silent } });
      discord.fault({ route: made, method: "POST" }, { kind: "5xx", after: "doing it" });
      discord.fault({ route: made, method: "POST", times: more }, { kind: "5xx" });
      const tooOften = discord.fault(
        { route: looked, method: "GET", bot: "루다", times: Number.MAX_SAFE_INTEGER },
        { kind: "429", retryAfterMs: 50 },
      );

      await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
      const waits = async (): Promise<void> =>
        expect(
          await team.database.query({
            text: `
              select in_doubt, attempts
              from dure.outbox
              where topic = 'room.discord.ruda'
              and state in ('pending', 'sending')
              order by id
              limit 1`,
          }),
        ).toEqual([{ in_doubt: true, attempts: 1 + more }]);
      await eventually(waits, LONG);
      const { hits } = tooOften;
      await eventually(() => expect(tooOften.hits).toBeGreaterThanOrEqual(hits + LOOKS), LONG);
      await waits();
      const questions = await team.inbox.list({ tenant: "", status: "open" });
      tooOften.cancel();

      await eventually(
        async () =>
          expect(
            await team.database.query({
              text: "select delivery from dure.room_messages where author = 'ruda'",
            }),
          ).toEqual([{ delivery: "sent" }]),
        LONG,
      );
      await settled(team);
      expect(questions.items).toEqual([]);
      const [thread, ...others] = discord.threads(places.general);
      expect(others).toEqual([]);
      expect(discord.messages(thread!).filter(({ author }) => author === "루다")).toHaveLength(1);
      expect(
        discord.requests.filter(({ method, route }) => method === "POST" && route === made),
      ).toHaveLength(1 + more);
    },
  );
});

describe(
  "what a person writes in a thread of ours before dure knows its id",
  { timeout: 60_000 },
  () => {
    /**
     * The thread is on the platform, the answer to its making is lost, and looking for it is
     * refused as too often until `know`.
     */
    async function writtenIn(clock: Clock): Promise<{
      stage: DiscordStage;
      team: TestTeam;
      threadId: string;
      platformId: string;
      know: () => void;
    }> {
      const stage = await discordPlatform();
      const { discord, places } = stage;
      const team = await readyTeamOn(stage, { behave: { ruda: silent, eden: silent }, clock });
      discord.fault({ route: THREADS, method: "POST" }, { kind: "5xx", after: "doing it" });
      const tooOften = discord.fault(
        {
          route: "/guilds/{guild}/threads/active",
          method: "GET",
          bot: "루다",
          times: Number.MAX_SAFE_INTEGER,
        },
        { kind: "429", retryAfterMs: 50 },
      );
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "검토",
      });
      const [thread] = discord.threads(places.general);
      stage.person("민준").post(thread!, "저도 볼게요");
      return { stage, team, threadId, platformId: thread!.id, know: () => tooOften.cancel() };
    }
    const placesOf = async (team: TestTeam, platformId: string): Promise<readonly string[]> =>
      (
        await team.database.query<{ id: string }>(
          { text: "select id from dure.places where thread = $1" },
          [platformId],
        )
      ).map(({ id }) => id);
    /**
     * A look of those who wait for a thread, milliseconds, and how many there may be. Source:
     * docs/spec/collaboration §6, 10 s.
     */
    const LOOK = { everyMs: 200, most: 50 };

    test("waits for it, and is said there", FULL, async () => {
      let looks = 0;
      const counting: Clock = {
        ...systemClock,
        sleep: (ms, options) => {
          if (ms === LOOK.everyMs) looks++;
          return systemClock.sleep(ms, options);
        },
      };
      const { stage, team, threadId, platformId, know } = await writtenIn(counting);
      await eventually(() => expect(looks).toBeGreaterThan(0));
      expect(await placesOf(team, platformId)).toEqual([]);
      know();

      await eventually(
        async () =>
          expect(
            (await team.rooms.reader.messages(threadId, {}))
              .map(({ authorName, text }) => `${authorName}: ${text}`)
              .sort(),
          ).toEqual(["루다: <@eden> 검토", "민준: 저도 볼게요"]),
        LONG,
      );
      await settled(team);
      expect(await placesOf(team, platformId)).toEqual([threadId]);
      expect(
        await team.database.query({ text: "select from dure.places where kind = 'thread'" }),
      ).toHaveLength(1);
      expect(stage.discord.threads(stage.places.general)).toHaveLength(1);
    });

    test(
      "waits for 10 s and no longer: then it is on record in a thread of its own, which becomes the real",
      FULL,
      async () => {
        let looks = 0;
        const hurried: Clock = {
          ...systemClock,
          sleep: (ms, options) => {
            if (ms !== LOOK.everyMs) return systemClock.sleep(ms, options);
            looks++;
            return systemClock.sleep(1, options);
          },
        };
        const { team, threadId, platformId, know } = await writtenIn(hurried);

        const [double] = await eventually(async () => {
          const places = await placesOf(team, platformId);
          expect(places).toHaveLength(1);
          return places;
        }, LONG);
        expect(double).not.toBe(threadId);
        // Each of the four waits by itself; who comes late finds what the first one made.
        expect(looks).toBeGreaterThanOrEqual(LOOK.most);
        expect(looks).toBeLessThanOrEqual(LOOK.most * 4);
        await eventually(async () =>
          expect((await team.rooms.reader.messages(double!, {})).map(({ text }) => text)).toEqual([
            "저도 볼게요",
          ]),
        );
        know();

        await eventually(
          async () =>
            expect(
              (await team.rooms.reader.messages(threadId, {})).map(({ text }) => text).sort(),
            ).toEqual(["<@eden> 검토", "저도 볼게요"]),
          LONG,
        );
        await settled(team);
        expect(await placesOf(team, platformId)).toEqual([threadId]);
      },
    );
  },
);

test.each([
  { after: "within a minute it is sent again without looking", passedMs: 0, looks: false },
  { after: "a minute later it is looked for first", passedMs: 60_000, looks: true },
])(
  "of a post whose answer was lost: $after",
  { ...FULL, timeout: 60_000 },
  async ({ passedMs, looks }) => {
    const stage = await discordPlatform();
    const { discord } = stage;
    let passed = 0;
    const team = await readyTeamOn(stage, {
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + passed },
    });
    const lost = discord.fault(
      { route: MESSAGES, method: "POST", bot: "루다" },
      { kind: "5xx", after: "doing it" },
    );
    await stage.say(team, "물음");
    await lost.reached;
    passed = passedMs;
    const since = discord.requests.length;

    await eventually(
      async () =>
        expect(
          await team.database.query({
            text: "select delivery from dure.room_messages where author = 'ruda'",
          }),
        ).toEqual([{ delivery: "sent" }]),
      LONG,
    );
    await settled(team);
    const asked = discord.requests
      .slice(since)
      .filter(({ route, bot }) => route === MESSAGES && bot === "루다")
      .map(({ method }) => method);
    expect(asked).toEqual(looks ? ["GET"] : ["POST"]);
    expect(await stage.shown(team, "discord:general")).toEqual([
      "민준: 물음",
      "루다: 루다의 답입니다",
    ]);
  },
);

test(
  "a seen message is not reopened after 24 h, a sweep and a restart, nor one 91 days old when read",
  { ...FULL, timeout: 120_000 },
  async () => {
    let daysAgo = 91;
    const stage = await discordPlatform({
      clock: { ...systemClock, now: () => systemClock.now() - daysAgo * 86_400_000 },
    });
    stage.person("민준").post(stage.places.general, "옛말");
    daysAgo = 0;
    const first = await readyTeamOn(stage);
    await stage.say(first, "물음");
    await eventually(async () =>
      expect(await stage.shown(first, "discord:general")).toEqual([
        "민준: 옛말",
        "민준: 물음",
        "루다: 루다의 답입니다",
      ]),
    );
    await settled(first);
    await first.database.query({
      text: `
        update dure.room_messages
        set at = at - interval '24 hours', heard_at = heard_at - interval '24 hours'`,
    });
    await first.database.query({
      text: `
        update dure.handlings
        set finished_at = finished_at - interval '24 hours',
        created_at = created_at - interval '24 hours'`,
    });
    await new Retention({
      database: first.database,
      leases: first.leases,
      logger: silentLogger,
      clock: systemClock,
      rules: first.rooms.retentionRules(),
    }).sweep();
    await first.database.query({ text: "delete from dure.account_reads" });
    await first.stop();

    const second = await readyTeamOn(stage, { on: first });

    await eventually(async () =>
      expect(
        await second.database.query({
          text: "select from dure.account_reads where place = 'discord:general'",
        }),
      ).toHaveLength(4),
    );
    await settled(second);
    expect(await stage.shown(second, "discord:general")).toEqual([
      "민준: 옛말",
      "민준: 물음",
      "루다: 루다의 답입니다",
    ]);
    expect(second.calls("ruda")).toBe(0);
    expect(
      await second.database.query({
        text: "select author_name from dure.room_messages order by seq",
      }),
    ).toEqual([{ author_name: "민준" }, { author_name: "민준" }, { author_name: "루다" }]);
  },
);
