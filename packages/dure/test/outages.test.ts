import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { AttemptRules } from "../src/engine/agent/agent-environment.ts";
import { tool } from "../src/engine/agent/tool.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { FULL } from "../src/kernel/test-tiers.ts";
import type { OfflineReply } from "../src/models/offline.ts";
import type { ChannelAdapter } from "../src/rooms/channel-adapter.ts";
import { readyTeamOn, settled, silent } from "./rooms/helpers.ts";
import type { Heard, TestTeam } from "./rooms/team.ts";
import { webPlatform } from "./rooms/web-platform.ts";

/** Times of outages are a thousandth of what they stand for: three seconds are 3 ms. */
const SCALE = 1 / 1_000;
const SECOND = 1_000 * SCALE;
const MINUTE = 60 * SECOND;

const ONE_TRY: AttemptRules = {
  maxAttempts: 1,
  pauseMs: () => 0,
  idleTimeoutSec: 60,
  repeatsShown: false,
  finals: [],
};
const ENGINE = {
  attemptRules: () => ONE_TRY,
  patienceMs: () => 30 * MINUTE,
  outageRetry: { firstMs: 5 * SECOND, maxMs: 30 * SECOND },
};

/** Where an outage begins. */
const PLACES = ["turn", "tool", "hand-over", "outbox"] as const;
type Place = (typeof PLACES)[number];

/** Begins an outage; the returned function ends it. */
type Outage = (world: World) => Promise<() => Promise<void>>;

interface World {
  readonly team: TestTeam;
  readonly admin: pg.Client;
  readonly database: string;
  readonly provider: { isAway: boolean };
}

const providerAway: Outage = async ({ provider }) => {
  provider.isAway = true;
  return async () => void (provider.isAway = false);
};

/** As a server that stops and starts: sessions are cut, and new ones are refused meanwhile. */
const restarted: Outage = async ({ admin, database }) => {
  await admin.query(`alter database ${database} allow_connections false`);
  await cutSessions(admin, database);
  return async () => void (await admin.query(`alter database ${database} allow_connections true`));
};

/** As after a failover to a standby, or with a full disk that its operator guards. */
const readOnly: Outage = async ({ admin, database }) => {
  await admin.query(`alter database ${database} set default_transaction_read_only = on`);
  await cutSessions(admin, database);
  return async () => {
    await admin.query(`alter database ${database} reset default_transaction_read_only`);
    await cutSessions(admin, database);
  };
};

/** All sessions of the database stand still. */
const frozen: Outage = async ({ admin, database }) => {
  const { rows } = await admin.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = $1",
    [database],
  );
  for (const { pid } of rows) process.kill(pid, "SIGSTOP");
  return async () => {
    for (const { pid } of rows) process.kill(pid, "SIGCONT");
  };
};

async function cutSessions(admin: pg.Client, database: string): Promise<void> {
  await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [
    database,
  ]);
}

interface Row {
  readonly name: string;
  readonly outage: Outage;
  readonly forMs: number;
  /** The cell of the row that every run has; the others are `full`. */
  readonly fast: Place;
}

const ROWS: readonly Row[] = [
  { name: "a provider away for 3 s", outage: providerAway, forMs: 3 * SECOND, fast: "turn" },
  { name: "a provider away for 3 min", outage: providerAway, forMs: 3 * MINUTE, fast: "hand-over" },
  { name: "a database that restarts", outage: restarted, forMs: 700, fast: "tool" },
  { name: "a read-only database", outage: readOnly, forMs: 700, fast: "hand-over" },
  { name: "a frozen database", outage: frozen, forMs: 1_500, fast: "outbox" },
];
const CELLS = ROWS.flatMap((row) => PLACES.map((place) => ({ ...row, place })));

describe("what was accepted, in an outage", { timeout: 60_000 }, () => {
  for (const { name, outage, forMs, fast, place } of CELLS) {
    test(
      `${name} in the middle of: ${place}. All is done once, nothing is denied`,
      place === fast ? {} : FULL,
      async () => {
        const stage = await stageOf(place, outage, forMs);

        await stage.ask();
        await stage.isOver;
        await settled(stage.team);

        expect(await stage.answers("ruda", "web:general")).toEqual(["예약하고 이든에게 맡겼어요"]);
        expect(await stage.answers("eden")).toEqual(["코드를 봤어요"]);
        await stage.assertHonest();
      },
    );
  }

  test(
    "a provider away for 40 min: the work ends with words that say so, and keeps what was done",
    FULL,
    async () => {
      const stage = await stageOf("hand-over", providerAway, 40 * MINUTE);

      await stage.ask();
      await stage.isOver;
      await settled(stage.team);

      const said = await stage.team.rooms.reader.messages("web:general", {});
      expect(said.at(-1)?.text).toContain("지금은 답하지 못했어요");
      await stage.assertHonest();
    },
  );
});

interface Stage {
  readonly team: TestTeam;
  readonly ask: () => Promise<unknown>;
  /** The outage has been. */
  readonly isOver: Promise<void>;
  readonly answers: (agent: string, place?: string) => Promise<readonly string[]>;
  readonly assertHonest: () => Promise<void>;
}

/**
 * 루다 books, hands over to 이든, and answers; both agents use the provider. The outage begins the
 * first time that the work comes to `place`.
 */
async function stageOf(place: Place, outage: Outage, forMs: number): Promise<Stage> {
  const provider = { isAway: false };
  const over = Promise.withResolvers<void>();
  const seen: unknown[] = [];
  const booked = new Map<string, number>();
  const world = Promise.withResolvers<World>();
  let isBegun = false;
  const at = async (now: Place): Promise<void> => {
    if (now !== place || isBegun) return;
    isBegun = true;
    const end = await outage(await world.promise);
    systemClock.after(forMs, () => void end().then(over.resolve, over.reject));
  };
  const refused: OfflineReply = { text: "", error: { status: 503 } };
  const ruda = async (heard: Heard): Promise<OfflineReply> => {
    const { results, text } = heard;
    if (!text.startsWith("민준")) return provider.isAway ? refused : silent(heard);
    seen.push(...results);
    if (results.length === 0) await at("turn");
    if (results.length === 1) await at("hand-over");
    // Of the hand-over the call itself is made: its work meets the outage.
    if (provider.isAway && results.length !== 1) return refused;
    return RUDA[results.length]!;
  };
  const book = tool({
    description: "Books a table.",
    inputSchema: z.object({}),
    effect: "once",
    timeout: "5s",
    settle: "0s",
    probe: async ({ key }) =>
      booked.has(key) ? { status: "happened", result: "booked" } : "not_happened",
    execute: async (_input, { key }) => {
      await at("tool");
      booked.set(key, (booked.get(key) ?? 0) + 1);
      return "booked";
    },
  });
  const platform = webPlatform();
  const team = await readyTeamOn(platform, {
    behave: { ruda, eden: () => (provider.isAway ? refused : "코드를 봤어요") },
    tools: { book },
    engine: ENGINE,
    adapter: (database) => met([platform.adapter(database)].flat()[0]!, () => at("outbox")),
  });
  world.resolve(await worldOf(team, provider));
  return {
    team,
    ask: () => platform.say(team, "예약하고 코드도 봐 줘"),
    isOver: over.promise,
    answers: (agent, where) => answersOf(team, agent, where),
    assertHonest: async () => {
      expect([...booked.values()]).toEqual([1]);
      const told = JSON.stringify(seen) + (await allWords(team));
      expect(told).not.toMatch(/DATABASE_|ECONN|PGSQL|\b\d{2}[0-9P]\d{2}:|\/tmp|\/dev\/shm/);
    },
  };
}

const RUDA: readonly OfflineReply[] = [
  { toolCalls: [{ name: "book", args: {} }] },
  { toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "코드 좀 봐 줘" } }] },
  "예약하고 이든에게 맡겼어요",
];

/** The adapter, with a moment before it posts. */
function met(adapter: ChannelAdapter, before: () => Promise<void>): ChannelAdapter {
  return new Proxy(adapter, {
    get: (target, name) => {
      if (name === "post") {
        return async (...given: Parameters<ChannelAdapter["post"]>) => {
          await before();
          return target.post(...given);
        };
      }
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

async function worldOf(team: TestTeam, provider: World["provider"]): Promise<World> {
  const url = new URL(team.url);
  const database = url.pathname.slice(1);
  url.pathname = "/postgres";
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  onTestFinished(() => admin.end());
  return { team, admin, database, provider };
}

async function answersOf(
  team: TestTeam,
  agent: string,
  place?: string,
): Promise<readonly string[]> {
  const rows = await team.database.query<{ text: string }>(
    {
      text: `
        select text from dure.room_messages
        where author = $1 and mark is null and request is null
          and ($2::text is null or place = $2)
        order by seq`,
    },
    [agent, place ?? null],
  );
  return rows.map(({ text }) => text);
}

async function allWords(team: TestTeam): Promise<string> {
  const rows = await team.database.query<{ text: string }>({
    text: "select text from dure.room_messages",
  });
  return rows.map(({ text }) => text).join("\n");
}
