// @module-tag slow
import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { beLate } from "../../kernel/test-late.ts";
import { DureError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { Database } from "../../durable/database.ts";
import { testDatabase } from "../../durable/test-database.ts";
import { TurnStore, type StoredModelCall } from "../../durable/turns.ts";
import type { CardInput } from "../../models/card.ts";
import type { ModelRequest } from "../../models/model.ts";
import { Models } from "../../models/models.ts";
import {
  offlineModel,
  type OfflineContext,
  type OfflineModel,
  type OfflineRespond,
} from "../../models/offline.ts";
import type { Price } from "../../models/prices.ts";
import { chatAgent } from "../agent/agent.ts";
import { BudgetKeeper, type BudgetLimits } from "./budgets.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

/**
 * Every call reserves `maxOutputTokens` and the input estimate of its short prompt; it uses what
 * the model says.
 */
const RESERVED_OUT = 50;

function chat({
  calls = 1,
  budget,
  maxAttempts = 1,
}: { calls?: number; budget?: CardInput["budget"]; maxAttempts?: number } = {}) {
  const helper = chatAgent({
    name: "helper",
    card: {
      llm: { provider: "offline", model: "m", maxOutputTokens: RESERVED_OUT },
      policy: { maxAttempts },
      ...(budget && { budget }),
    },
  });
  return defineService({
    name: "chat",
    agents: { helper },
    memory: { enableSummary: false },
    flows: {
      DEFAULT: flow(async (turn) => {
        let message = "";
        for (let call = 0; call < calls; call++) message = (await turn.agent("helper", "…")).text;
        return turn.done({ message });
      }),
    },
  });
}

interface Member extends AsyncDisposable {
  readonly t: TestEngine;
  readonly keeper: BudgetKeeper;
  readonly processId: string;
  readonly database: Database;
  /** Nothing more is written in this process's name, as after SIGKILL. */
  die(): void;
}

interface MemberOptions {
  readonly limits: BudgetLimits;
  readonly respond?: OfflineRespond;
  readonly service?: ReturnType<typeof chat>;
  readonly timeZone?: string;
  readonly clock?: Clock;
  readonly price?: Price;
}

async function join(url: string, options: MemberOptions): Promise<Member> {
  const processId = newId("process");
  const database = await Database.open({
    url,
    applicationName: "dure:test",
    logger: silentLogger,
    clock: systemClock,
    max: 8,
  });
  const lease = new AbortController();
  const keeper = new BudgetKeeper({
    limits: options.limits,
    priceOf: () => options.price,
    timeZone: options.timeZone ?? "Asia/Seoul",
    database,
    notifications: { publish: () => {} },
    clock: options.clock ?? systemClock,
    logger: silentLogger,
    processId,
    lease: lease.signal,
  });
  const model: OfflineModel = offlineModel(
    "m",
    options.respond ?? (() => ({ text: "fine", usage: { tokensIn: 10, tokensOut: 20 } })),
  );
  const t = await startTestEngine(options.service ?? chat(), {
    on: { url },
    offline: [model],
    engine: { processId, budgets: keeper },
  });
  return {
    t,
    keeper,
    processId,
    database,
    die() {
      t.fence();
      lease.abort(new Error("dead"));
    },
    async [Symbol.asyncDispose]() {
      await t[Symbol.asyncDispose]();
      await database.close();
    },
  };
}

/**
 * The reservation of one first call of `chat`, as the engine makes it: measured, so that tests need
 * no arithmetic of estimates.
 */
async function reservationOf(url: string, message: string): Promise<number> {
  await using member = await join(url, { limits: { total: { tokens: 1_000_000 } } });
  const { turnId } = await member.t.say(message, { session: newId("turn") });
  const [row] = await member.database.query<{ tokens: number }>(
    { text: "select tokens from dure.budget_reservations where turn_id = $1" },
    [turnId],
  );
  await member.keeper.stop();
  await member.database.query({
    text: "truncate dure.budget_pools, dure.budget_blocks, dure.budget_reservations, dure.budget_sessions, dure.model_calls",
  });
  return row!.tokens;
}

interface Reserved {
  readonly place: string;
  readonly tokens: number;
  readonly used_tokens: number | null;
}

function reservations(database: Database, turn: string): Promise<Reserved[]> {
  return database.query<Reserved>(
    {
      text: "select place, tokens, used_tokens from dure.budget_reservations where turn_id = $1 order by place",
    },
    [turn],
  );
}

async function usedByCalls(database: Database): Promise<number> {
  const [row] = await database.query<{ used: number }>({
    text: "select coalesce(sum(tokens_in + tokens_out), 0)::bigint as used from dure.model_calls",
  });
  return row!.used;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await beLate();
  while (!(await condition())) await systemClock.sleep(10);
}

describe("a limit", () => {
  test(
    "of each kind that has no room ends the turn with BUDGET_EXCEEDED before any model call",
    FULL,
    async () => {
      await using db = await testDatabase();
      const tokens = { tokens: RESERVED_OUT };
      const kinds: [string, BudgetLimits, CardInput["budget"]?][] = [
        ["turn", { turn: tokens }],
        ["session", { session: tokens }],
        ["day", { day: tokens }],
        ["total", { total: tokens }],
        ["turn", { agent: { turn: tokens } }],
        ["session", { agents: { helper: { session: tokens }, other: {} } }],
        ["day", { agents: { helper: { day: tokens } } }],
        ["turn", {}, { turn: "50 tokens" }],
        ["session", { agent: { session: { tokens: 1_000 } } }, { session: "50 tokens" }],
        ["day", {}, { day: "50 tokens" }],
        ["day", { day: { microUsd: 100 } }],
      ];

      for (const [index, [limit, limits, budget]] of kinds.entries()) {
        let asked = 0;
        const respond = (): string => `answer ${++asked}`;
        await using member = await join(db.url, {
          limits,
          respond,
          service: chat({ ...(budget && { budget }) }),
          price: { in: 0, out: 3_000_000 },
        });

        const { done } = await member.t.say("hello", { session: `s${index}` });

        expect({
          index,
          code: done.error?.code,
          asked,
          limit: (done.error?.details as { facts?: { limit?: string } })?.facts?.limit,
        }).toEqual({ index, code: "BUDGET_EXCEEDED", asked: 0, limit });
        expect(done.message).toBe("The usage limit is reached, so I cannot answer right now.");
      }
      expect(await usedByCalls(db.database)).toBe(0);
    },
  );

  test("of a turn counts its calls, of a session its turns; by what was used, not by what was reserved", async () => {
    await using db = await testDatabase();
    const reserved = await reservationOf(db.url, "hello");
    // Two calls of 30 tokens fit, and then there is no room for a third reservation.
    const most = { tokens: 2 * 30 + reserved - 1 };
    await using turns = await join(db.url, { limits: { turn: most }, service: chat({ calls: 3 }) });
    await using sessions = await join(db.url, { limits: { session: most } });

    const turn = await turns.t.say("hello", { session: "a" });
    const again = await turns.t.say("hello", { session: "b" });
    const codes: (string | undefined)[] = [];
    for (const message of ["1", "2", "3"]) {
      codes.push((await sessions.t.say(message, { session: "c" })).done.error?.code);
    }
    const other = await sessions.t.say("1", { session: "d" });

    expect([turn.done.error?.code, again.done.error?.code]).toEqual([
      "BUDGET_EXCEEDED",
      "BUDGET_EXCEEDED",
    ]);
    expect((await reservations(db.database, turn.turnId)).map((row) => row.used_tokens)).toEqual([
      30, 30,
    ]);
    expect(codes).toEqual([undefined, undefined, "BUDGET_EXCEEDED"]);
    expect(other.done.error).toBeUndefined();
  });

  test("of one agent does not bind another, and a limit in money says nothing about a model without a price", async () => {
    await using db = await testDatabase();
    await using member = await join(db.url, {
      limits: { agents: { another: { day: { tokens: 1 } } }, day: { microUsd: 1 } },
    });

    const { done, turnId } = await member.t.say("hello");

    expect(done.error).toBeUndefined();
    expect(await reservations(db.database, turnId)).toEqual([]);
  });

  test("that applies costs one statement per call, and none where no limit applies", async () => {
    await using db = await testDatabase();
    await using limited = await join(db.url, {
      limits: { day: { tokens: 10_000_000 }, session: { tokens: 1_000_000 } },
    });
    await using free = await join(db.url, { limits: {} });
    for (const member of [limited, free]) {
      await member.t.say("warm up", { session: member.processId });
    }
    // The least of several: on a busy machine what looks now and then falls into a turn.
    const leastOf = async (member: typeof limited): Promise<number> => {
      const costs: number[] = [];
      for (let times = 0; times < 5; times++) {
        const before = member.t.database.statements + member.database.statements;
        await member.t.engine.turn({ session: member.processId, message: "hello" }).done;
        costs.push(member.t.database.statements + member.database.statements - before);
      }
      return Math.min(...costs);
    };

    expect([await leastOf(limited), await leastOf(free)]).toEqual([3, 2]);
  });

  test("of a day begins anew at midnight of the team's time zone", async () => {
    await using db = await testDatabase();
    let now = Date.parse("2026-11-20T00:00:00Z");
    const clock: Clock = { ...systemClock, now: () => now };
    const most = { tokens: (await reservationOf(db.url, "hello")) + 29 };
    await using seoul = await join(db.url, {
      limits: { day: most },
      timeZone: "Asia/Seoul",
      clock,
    });
    await using utc = await join(db.url, {
      limits: { agent: { day: most } },
      timeZone: "UTC",
      clock,
    });
    const codes = async (at: string): Promise<(string | undefined)[]> => {
      now = Date.parse(at);
      return Promise.all(
        [seoul, utc].map(
          async (member) =>
            (await member.t.say("hello", { session: newId("turn") })).done.error?.code,
        ),
      );
    };

    expect(await codes("2026-11-21T14:59:58Z")).toEqual([undefined, undefined]);
    expect(await codes("2026-11-21T14:59:59Z")).toEqual(["BUDGET_EXCEEDED", "BUDGET_EXCEEDED"]);
    expect(await codes("2026-11-21T15:00:00Z")).toEqual([undefined, "BUDGET_EXCEEDED"]);
    expect(await codes("2026-11-22T00:00:00Z")).toEqual(["BUDGET_EXCEEDED", undefined]);
    const pools = await db.database.query<{ key: string }>({
      text: "select key from dure.budget_pools order by key",
    });
    expect(pools.map((pool) => pool.key)).toEqual([
      "agent/helper/day/2026-11-21/tokens",
      "agent/helper/day/2026-11-22/tokens",
      "team/day/2026-11-21/tokens",
      "team/day/2026-11-22/tokens",
    ]);
  });
});

describe("a reservation", () => {
  test("is found again by the process that goes on with the turn, although nothing is left for a second one", async () => {
    for (const order of ["turns first", "blocks first"]) {
      await using db = await testDatabase();
      const limits = {
        day: { tokens: (await reservationOf(db.url, "hello")) + 5 },
        turn: { tokens: 1_000 },
      };
      let asked = 0;
      const hang: OfflineRespond = (_, { signal }) => {
        asked += 1;
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
      };
      await using first = await join(db.url, { limits, respond: hang });
      await using second = await join(db.url, { limits });
      const turn = first.t.engine.turn({ session: "s", message: "hello" });
      const turnId = await turn.turnId;
      await until(() => asked === 1);

      const refused = await second.t.say("hello", { session: "other" });
      first.die();
      if (order === "blocks first") await second.keeper.releaseBlocks(first.processId);
      await second.t.engine.store.release(first.processId);
      const frames = [];
      for await (const frame of second.t.engine.read(turnId)) frames.push(frame.event);
      await second.keeper.releaseBlocks(first.processId);
      await second.keeper.releaseBlocks(first.processId);
      await second.keeper.tidy();

      expect(refused.done.error?.code).toBe("BUDGET_EXCEEDED");
      expect(frames.at(-1)).toMatchObject({ type: "DONE", data: { message: "fine" } });
      expect(await reservations(db.database, turnId)).toMatchObject([{ used_tokens: 30 }]);
      expect(await second.keeper.standing()).toMatchObject([
        { scope: "day", unit: "tokens", used: 30, lent: 0 },
      ]);
    }
  });

  test("is settled by estimate when the stream was cut, by the provider or by a stop", async () => {
    await using db = await testDatabase();
    const cut: OfflineRespond = () => ({
      text: "half of an ans",
      error: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }),
    });
    let begun = false;
    const endless: OfflineRespond = async function* (
      _request: ModelRequest,
      { signal }: OfflineContext,
    ) {
      yield "some words and ";
      begun = true;
      await systemClock.sleep(600_000, { signal });
    };
    const limits = { total: { tokens: 1_000_000 } };
    await using one = await join(db.url, { limits, respond: cut });
    await using two = await join(db.url, { limits, respond: endless });

    const broken = await one.t.say("hello", { session: "a" });
    const turn = two.t.engine.turn({ session: "b", message: "hello" });
    const stoppedId = await turn.turnId;
    await until(() => begun);
    await two.t.engine.stopTurn(stoppedId);
    const stopped = await turn.done;

    expect(broken.done.error?.code).toBe("MODEL_UNREACHABLE");
    expect(stopped.error?.code).toBe("TURN_STOPPED");
    const calls = await db.database.query<{ turn_id: string; estimated: boolean; tokens: number }>({
      text: "select turn_id, estimated, tokens_in + tokens_out as tokens from dure.model_calls",
    });
    for (const turnId of [broken.turnId, stoppedId]) {
      const [reservation] = await reservations(db.database, turnId);
      expect(calls.filter((call) => call.turn_id === turnId)).toEqual([
        { turn_id: turnId, estimated: true, tokens: reservation!.used_tokens },
      ]);
      expect(reservation!.used_tokens).toBeGreaterThan(4);
      expect(reservation!.used_tokens).toBeLessThan(reservation!.tokens);
    }
  });

  test("whose call left no record when its turn ended counts in full", async () => {
    await using db = await testDatabase();
    const limits = { total: { tokens: 1_000_000 }, session: { tokens: 1_000_000 } };
    let asked = 0;
    await using first = await join(db.url, {
      limits,
      respond: (_, { signal }) => {
        asked += 1;
        return new Promise((_r, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
      },
    });
    await using second = await join(db.url, { limits });
    const turnId = await first.t.engine.turn({ session: "s", message: "hello" }).turnId;
    await until(() => asked === 1);

    first.die();
    await second.t.engine.stopTurn(turnId);
    await second.t.engine.store.release(first.processId);
    await second.keeper.releaseBlocks(first.processId);
    await until(async () => (await second.t.engine.find(turnId)).status === "done");
    await second.keeper.tidy();

    const [reservation] = await reservations(db.database, turnId);
    expect(reservation!.used_tokens).toBe(reservation!.tokens);
    expect(
      await db.database.query({
        text: "select tokens from dure.budget_sessions where session_id = 's'",
      }),
    ).toEqual([{ tokens: reservation!.tokens }]);
    await second.keeper.stop();
    expect(await second.keeper.standing()).toMatchObject([{ used: reservation!.tokens, lent: 0 }]);
  });

  test("is made with what the turn's earlier calls did not use", async () => {
    await using db = await testDatabase();
    const limits = { day: { tokens: (await reservationOf(db.url, "hello")) + 60 } };
    await using member = await join(db.url, { limits, service: chat({ calls: 3 }) });

    const { done } = await member.t.say("hello");

    expect(done.error).toBeUndefined();
    await member.keeper.stop();
    expect(await member.keeper.standing()).toMatchObject([{ used: 90, lent: 0 }]);
  });

  test("larger than a block asks for what it needs, and the last block is a small one", async () => {
    await using db = await testDatabase();
    const reserved = await reservationOf(db.url, "hello");
    await using member = await join(db.url, { limits: { day: { tokens: reserved * 2 } } });

    const codes: (string | undefined)[] = [];
    for (let index = 0; index < 6; index++) {
      codes.push((await member.t.say("hello", { session: `s${index}` })).done.error?.code);
    }

    const fits = Math.floor((reserved * 2 - reserved) / 30) + 1;
    expect(codes.filter((code) => code === undefined)).toHaveLength(fits);
    expect(codes.slice(fits)).toEqual(codes.slice(fits).map(() => "BUDGET_EXCEEDED"));
  });
});

describe("processes that share a limit", () => {
  test(
    "two engines with 50 parallel sessions each never exceed the team's day and use nearly all of it",
    { ...FULL, timeout: 120_000 },
    async () => {
      await using db = await testDatabase({ max: 4 });
      const most = 20_000;
      const limits = { day: { tokens: most } };
      await using first = await join(db.url, { limits });
      await using second = await join(db.url, { limits });

      await Promise.all(
        [first, second].flatMap((member) =>
          Array.from({ length: 50 }, async (_, index) => {
            for (;;) {
              const { done } = await member.t.say("hello", {
                session: `${member.processId}-${index}`,
              });
              if (done.error) return expect(done.error.code).toBe("BUDGET_EXCEEDED");
            }
          }),
        ),
      );
      const used = await usedByCalls(db.database);
      for (const member of [first, second]) await member.keeper.stop();

      expect(used).toBeLessThanOrEqual(most);
      expect(used).toBeGreaterThanOrEqual(most * 0.95);
      expect(await first.keeper.standing()).toEqual([
        { scope: "day", unit: "tokens", most, used, lent: 0 },
      ]);
    },
  );

  test("a call that used more than was reserved for it is counted in full", async () => {
    await using db = await testDatabase();
    await using member = await join(db.url, {
      limits: { day: { tokens: 300 } },
      respond: () => ({ text: "long", usage: { tokensIn: 10, tokensOut: 350 } }),
    });

    const first = await member.t.say("hello", { session: "a" });
    const second = await member.t.say("hello", { session: "b" });

    expect([first.done.error, second.done.error?.code]).toEqual([undefined, "BUDGET_EXCEEDED"]);
    await member.keeper.stop();
    expect(await member.keeper.standing()).toMatchObject([{ used: 360, lent: 0 }]);
  });

  test("the blocks of a dead process return, and what it used stays used", async () => {
    await using db = await testDatabase();
    const limits = { day: { tokens: 100_000 } };
    await using first = await join(db.url, { limits });
    await using second = await join(db.url, { limits });
    await first.t.say("hello", { session: "a" });
    const before = await second.keeper.standing();

    first.die();
    await second.t.engine.store.release(first.processId);
    await second.keeper.releaseBlocks(first.processId);
    await second.keeper.releaseBlocks(first.processId);

    expect(before).toMatchObject([{ used: 0, lent: 1_000 }]);
    expect(await second.keeper.standing()).toMatchObject([{ used: 30, lent: 0 }]);
  });

  test("an idle block is given back for others, also where there was nothing to give back before", async () => {
    await using db = await testDatabase();
    await using member = await join(db.url, { limits: { day: { tokens: 100_000 } } });
    await member.keeper.tidy();
    await member.t.say("hello", { session: "a" });

    await member.keeper.tidy();
    const busy = await member.keeper.standing();
    await member.keeper.tidy();
    const idle = await member.keeper.standing();
    const after = await member.t.say("hello", { session: "a" });

    expect([busy, idle]).toMatchObject([[{ used: 30, lent: 970 }], [{ used: 30, lent: 0 }]]);
    expect(after.done.error).toBeUndefined();
  });

  test(
    "the sums hold whatever processes reserve, settle, tidy and die",
    { ...FULL, timeout: 900_000 },
    async () => {
      await using db = await testDatabase({ max: 8 });
      const long = process.env["DURE_TEST_LONG"] !== undefined;
      const seeds = long ? Array.from({ length: 20 }, (_, index) => index + 1) : [1, 2, 3];
      let day = Date.parse("2027-01-01T00:00:00Z");
      for (const seed of seeds) {
        await fc.assert(
          fc.asyncProperty(
            fc.integer({ min: 500, max: 100_000 }),
            fc.array(action, { minLength: 30, maxLength: 60 }),
            async (most, actions) => {
              const world = new World(db.database, most, (day += 86_400_000));
              for (const next of actions) await world.act(next);
              await world.end();
            },
          ),
          { seed, numRuns: long ? 20 : 8 },
        );
      }
    },
  );
});

type Action =
  | { readonly do: "reserve"; readonly member: number; /** Of the limit. */ readonly part: number }
  | { readonly do: "settle"; readonly which: number; readonly part: number }
  | { readonly do: "die"; readonly member: number; readonly blocksFirst: boolean }
  | { readonly do: "tidy"; readonly member: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("reserve" as const),
      member: fc.nat(2),
      part: fc.oneof(
        fc.constantFrom(0.001, 0.004, 0.3),
        fc.double({ min: 0, max: 0.2, noNaN: true }),
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      which: fc.nat(1_000),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("die" as const),
      member: fc.nat(2),
      blocksFirst: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tidy" as const), member: fc.nat(2) }) },
);

const MODEL = new Models({ clock: systemClock, logger: silentLogger }).resolve("offline:echo");
const HELPER = chatAgent({ name: "helper" });
const NOTHING_GATHERED = {
  flushResults: async () => {},
  take: async () => ({ rows: [], calls: [], committed: () => {}, refused: () => {} }),
};

/** Three processes on one limit, and what they must add up to. */
class World {
  readonly #database: Database;
  readonly #limits: BudgetLimits;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #members: { processId: string; keeper: BudgetKeeper; turns: TurnStore }[];
  #open: { turn: string; epoch: number; amount: number; holder: string }[] = [];
  #used = 0;

  constructor(database: Database, most: number, at: number) {
    this.#database = database;
    this.#most = most;
    // Twice as many millionths as tokens are used; tokens are what is scarce.
    this.#limits = { day: { tokens: most, microUsd: 4 * most } };
    let ticks = 0;
    // So much time passes between two looks that no refusal is remembered.
    this.#clock = { ...systemClock, now: () => at, monotonic: () => (ticks += 1_000) };
    this.#members = [0, 1, 2].map(() => this.#born());
  }

  async act(action: Action): Promise<void> {
    if (action.do === "reserve") {
      await this.#reserve(action.member, Math.max(5, Math.floor(this.#most * action.part)));
    }
    if (action.do === "settle") await this.#settle(action.which, action.part);
    if (action.do === "die") await this.#die(action.member, action.blocksFirst);
    if (action.do === "tidy") await this.#members[action.member]!.keeper.tidy();
    await this.#check();
  }

  async end(): Promise<void> {
    while (this.#open.length > 0) await this.#settle(0, 0.5);
    for (const { keeper } of this.#members) await keeper.stop();
    const [last] = this.#members;
    await last!.keeper.tidy();
    assert.deepEqual(await last!.keeper.standing(), [
      { scope: "day", unit: "tokens", most: this.#most, used: this.#used, lent: 0 },
      { scope: "day", unit: "usd", most: 4 * this.#most, used: 2 * this.#used, lent: 0 },
    ]);
  }

  async #check(): Promise<void> {
    const [standing] = await this.#members[0]!.keeper.standing();
    const [blocks] = await this.#database.query<{ lent: number }>(
      {
        text: "select coalesce(sum(granted - folded), 0)::bigint as lent from dure.budget_blocks where process = any($1) and pool like '%/tokens'",
      },
      [this.#members.map((member) => member.processId)],
    );
    const reserved = this.#open.reduce((sum, { amount }) => sum + amount, 0);
    assert.equal(standing!.lent, blocks!.lent);
    assert.ok(standing!.used + standing!.lent <= this.#most, "used and lent");
    assert.ok(this.#used + reserved <= this.#most, "used and reserved");
  }

  #born(): { processId: string; keeper: BudgetKeeper; turns: TurnStore } {
    const processId = newId("process");
    const shared = { database: this.#database, clock: this.#clock };
    const notifications = { publish: () => {} };
    const keeper = new BudgetKeeper({
      ...shared,
      notifications,
      limits: this.#limits,
      priceOf: () => ({ in: 0, out: 2_000_000 }),
      timeZone: "UTC",
      logger: silentLogger,
      processId,
      lease: new AbortController().signal,
    });
    return {
      processId,
      keeper,
      turns: new TurnStore({ ...shared, notifications: notifications as never, holder: processId }),
    };
  }

  async #reserve(index: number, amount: number): Promise<void> {
    const { processId, keeper, turns } = this.#members[index]!;
    const turn = newId("turn");
    await turns.accept({
      turn,
      session: turn,
      tenant: "",
      service: "x",
      version: "1",
      author: "person",
      policy: "queue",
      max_waiting: 1,
      message: "m",
      input: {},
      title: "t",
      events: [],
    });
    const spoken =
      this.#used +
      this.#open.reduce((sum, open) => sum + open.amount, 0) +
      (await this.#freeOfOthers(processId));
    try {
      await keeper.reserve(
        { session: turn, turn, epoch: 1, agent: HELPER, place: "1" },
        requestOf(amount),
        MODEL,
        NOTHING_GATHERED,
      );
      this.#open.push({ turn, epoch: 1, amount, holder: processId });
    } catch (error) {
      assert.ok(error instanceof DureError);
      assert.equal(error.code, "BUDGET_EXCEEDED");
      assert.equal(error.class, "limit");
      assert.deepEqual(
        { ...error.details, left: 0 },
        { limit: "day", agent: null, unit: "tokens", most: this.#most, left: 0, needed: amount },
      );
      // Refused only when there is no room beside what is used, reserved, and lying idle in the
      // blocks of others.
      assert.ok(spoken + amount > this.#most, "refused without need");
    }
  }

  async #freeOfOthers(processId: string): Promise<number> {
    const [row] = await this.#database.query<{ free: number }>(
      {
        text: `select coalesce(sum(b.granted - b.folded - coalesce((
            select sum(coalesce(r.used_tokens, r.tokens)) from dure.budget_reservations r where r.process = b.process and not r.folded), 0)), 0)::bigint as free
          from dure.budget_blocks b where b.process = any($1) and b.process <> $2 and b.pool like '%/tokens'`,
      },
      [this.#members.map((member) => member.processId), processId],
    );
    return row!.free;
  }

  async #settle(which: number, part: number): Promise<void> {
    if (this.#open.length === 0) return;
    const [open] = this.#open.splice(which % this.#open.length, 1);
    const { keeper, turns } = this.#members.find((member) => member.processId === open!.holder)!;
    const used = Math.floor(open!.amount * part);
    const call = callOf(used);
    await turns.journal({ turn: open!.turn, epoch: open!.epoch, rows: [], calls: [call] });
    keeper.settled(open!.turn, [call]);
    this.#used += used;
  }

  /**
   * Dies; a new process takes its place and goes on with its turns, whose reservations it finds.
   */
  async #die(index: number, blocksFirst: boolean): Promise<void> {
    const dead = this.#members[index]!;
    const heir = (this.#members[index] = this.#born());
    if (blocksFirst) await heir.keeper.releaseBlocks(dead.processId);
    await heir.turns.release(dead.processId);
    for (const open of this.#open.filter(({ holder }) => holder === dead.processId)) {
      const claimed = await heir.turns.claim(open.turn);
      Object.assign(open, { holder: heir.processId, epoch: claimed!.epoch });
      await heir.keeper.reserve(
        { session: open.turn, turn: open.turn, epoch: open.epoch, agent: HELPER, place: "1" },
        requestOf(open.amount),
        MODEL,
        NOTHING_GATHERED,
      );
    }
    await heir.keeper.releaseBlocks(dead.processId);
  }
}

/** A request whose reservation is `amount` tokens: an empty prompt is estimated at 4. */
function requestOf(amount: number): ModelRequest {
  return { messages: [], maxOutputTokens: amount - 4 };
}

function callOf(used: number): StoredModelCall {
  return {
    at: 0,
    place: "1",
    agent: "helper",
    provider: "offline",
    model: "m",
    attempt: 1,
    prompt_hash: "",
    tokens_in: 0,
    tokens_out: used,
    estimated: false,
    cost_micro_usd: 2 * used,
    latency_ms: 0,
    error: null,
  };
}

describe("calls outside of turns", () => {
  const request: ModelRequest = { messages: [{ role: "user", text: "do it" }] };
  const model = {
    provider: "offline",
    model: "m",
    maxOutputTokens: RESERVED_OUT,
    stream: () => Promise.reject(new Error("not asked")),
  } as const;
  const facts = {
    session: "run_1",
    path: "run_1/api/1/implement",
    service: "plan:login",
    agent: "plan:login",
  };
  const record = (tokensIn: number, tokensOut: number, costMicroUsd?: number) =>
    ({
      at: 0,
      provider: "offline",
      model: "m",
      attempt: 1,
      labels: {},
      promptHash: "h",
      usage: { tokensIn, tokensOut, estimated: false },
      latencyMs: 1,
      ...(costMicroUsd !== undefined && { costMicroUsd }),
    }) as const;

  test("are charged with what they may use, then with what they used; what is refused is charged nowhere", async () => {
    await using place = await testDatabase();
    await using member = await join(place.url, {
      limits: { day: { tokens: 150 }, total: { tokens: 1_000 } },
    });
    const used = async (): Promise<number[]> =>
      (await member.keeper.standing()).map((one) => one.used);

    const first = await member.keeper.charge(facts, request, model);
    const [held] = await used();
    const second = await member.keeper.charge(facts, request, model);
    await expect(member.keeper.charge(facts, request, model)).rejects.toMatchObject({
      code: "BUDGET_EXCEEDED",
      details: { limit: "day", agent: null },
    });
    const full = await used();
    await first.settle(record(10, 20));
    await second.settle(record(1, 2));

    expect(held).toBeGreaterThan(RESERVED_OUT);
    expect(full).toEqual([held! * 2, held! * 2]);
    expect(await used()).toEqual([33, 33]);
    await member.keeper.charge(facts, request, model); // and dies: it stays charged
    expect(await used()).toEqual([33 + held!, 33 + held!]);
    expect(
      await member.database.query({
        text: "select session_id, turn_id, service, agent, tokens_in, tokens_out from dure.model_calls order by id",
      }),
    ).toEqual([
      {
        session_id: "run_1",
        turn_id: "run_1/api/1/implement",
        service: "plan:login",
        agent: "plan:login",
        tokens_in: 10,
        tokens_out: 20,
      },
      {
        session_id: "run_1",
        turn_id: "run_1/api/1/implement",
        service: "plan:login",
        agent: "plan:login",
        tokens_in: 1,
        tokens_out: 2,
      },
    ]);
  });

  test("keep to the money of the port and of the run, whatever else spends it", async () => {
    await using place = await testDatabase();
    const price: Price = { in: 0, out: 1_000_000_000_000 }; // a token is a dollar
    await using member = await join(place.url, { limits: {}, price });
    const bounds = [
      { scope: "port", path: "run_1/api", most: 60_000_000 },
      { scope: "run", path: "run_1", most: 100_000_000 },
    ];
    const charge = (path: string, few = bounds) =>
      member.keeper.charge({ ...facts, path, bounds: few }, request, model);

    await (await charge("run_1/api/1/implement")).settle(record(0, 20, 20_000_000));
    await expect(charge("run_1/api/1/test")).rejects.toMatchObject({
      code: "BUDGET_EXCEEDED",
      message: expect.stringContaining(
        "The budget of the port run_1/api is 60 USD; 40 USD are left",
      ) as string,
    });
    await (await charge("run_1/web/1/implement", [bounds[1]!])).settle(record(0, 50, 50_000_000));
    await expect(charge("run_1/apix/1/implement", [bounds[1]!])).rejects.toMatchObject({
      message: expect.stringContaining(
        "The budget of the run run_1 is 100 USD; 30 USD are left",
      ) as string,
    });
    await charge("run_12/api/1/implement", [{ scope: "run", path: "run_12", most: 60_000_000 }]); // another run
  });

  test("that fold a memory are charged to the session and the team, and not made without room in both", async () => {
    await using place = await testDatabase();
    let folds = 0;
    const respond: OfflineRespond = (request) => {
      if (!(request.messages.at(-1) as { text: string }).text.includes("<dialog>")) {
        return { text: "fine", usage: { tokensIn: 1, tokensOut: 1 } };
      }
      folds += 1;
      return { text: "what was said", usage: { tokensIn: 100, tokensOut: 200 } };
    };
    const service = {
      ...chat(),
      memory: { summarizeThreshold: 2, keepRecentTurns: 1, maxRawTurns: 3 },
    };
    const limits = { session: { tokens: 10_000_000 }, day: { tokens: 10_000_000 } };
    await using member = await join(place.url, { limits, respond, service });
    const summaries = async (session: string): Promise<string> =>
      (await member.t.engine.debug(session)).memory.summaryText;

    for (const message of ["1", "2"]) await member.t.say(message);
    await expect.poll(() => summaries("s1")).toBe("what was said");
    const counted = await place.database.query({
      text: "select agent, tokens::int from dure.budget_sessions order by agent",
    });
    await member.keeper.tidy();
    const [day] = await member.keeper.standing();

    expect(counted).toEqual([
      { agent: "helper", tokens: 4 },
      { agent: "memory", tokens: 300 },
    ]);
    expect(day?.used).toBe(304);
    expect(
      await place.database.query({
        text: "select turn_id, service, agent, tokens_in, tokens_out from dure.model_calls where agent = 'memory'",
      }),
    ).toEqual([
      { turn_id: "memory/s1", service: "chat", agent: "memory", tokens_in: 100, tokens_out: 200 },
    ]);

    // What is left takes the helper's calls and not a fold's, which may answer as long as its model
    // can.
    await using poor = await join(place.url, {
      limits: { session: { tokens: 500 } },
      respond,
      service,
    });
    for (let message = 1; message <= 5; message++) {
      expect((await poor.t.say(String(message), { session: "poor" })).done.error).toBeUndefined();
    }

    await expect
      .poll(async () => (await poor.t.engine.debug("poor")).memory.rawHistory.length)
      .toBe(6);
    expect(await summaries("poor")).toBe("");
    expect(folds).toBe(1);
  });
});
