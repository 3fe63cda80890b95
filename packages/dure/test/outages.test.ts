// @module-tag slow
import { describe, expect, test } from "vitest";
import { testDatabase } from "../src/durable/test-database.ts";
import { FULL } from "../src/kernel/test-tiers.ts";
import { frozen, full, providerAway, readOnly, restarted, type Outage } from "./outages/outage.ts";
import { Moment, ONE_TRY, OUTLASTING } from "./outages/stage.ts";
import { STAGES, type Place } from "./outages/stages.ts";

/** Times of outages are a thousandth of what they stand for: three seconds are 3 ms. */
const SCALE = 1 / 1_000;
const SECOND = 1_000 * SCALE;
const MINUTE = 60 * SECOND;

const ENGINE = {
  attemptRules: () => ONE_TRY,
  patienceMs: () => 30 * MINUTE,
  outageRetry: { firstMs: 5 * SECOND, maxMs: 30 * SECOND },
};

/** The times of a server; the long tier is without its provider for three minutes. */
const REAL = { ...ENGINE, patienceMs: () => 30 * 60_000, outageRetry: undefined };
const REAL_MS = process.env["DURE_TEST_LONG"] === "1" ? 180_000 : 3_000;

/**
 * Workers of a plan are programs with a provider of their own, for which they wait themselves
 * (test/plans/rate-limit.test.ts); a hook and a merge ask no model.
 */
const WITHOUT_PROVIDER: ReadonlySet<Place> = new Set(["hook", "port step", "worker", "merge"]);

interface Row {
  readonly name: string;
  readonly outage: Outage;
  readonly forMs: number;
  /** The cells of the row that every run has; the others are `full`. */
  readonly fast: readonly Place[];
}

/** Tables of what a process holds, and where an outage meets it. Empty: it is no accepted work. */
const MET_BY: Readonly<Record<string, readonly Place[]>> = {
  accounts: [], // connections to platforms
  handlings: ["hand-over"],
  jobs: ["job turn", "tool of a job"],
  leases: ["port step", "worker", "merge"],
  outbox: ["outbox", "hook"],
  turns: ["turn", "tool"],
};

test("each table of work that a process holds has a row in the outage table", async () => {
  await using db = await testDatabase();

  const rows = await db.database.query<{ name: string }>({
    text: `
      select distinct table_name::text as name
      from information_schema.columns
      where table_schema = 'dure' and column_name in ('holder', 'holder_epoch')
      order by 1`,
  });

  expect(rows.map(({ name }) => name)).toEqual(Object.keys(MET_BY));
});

const ROWS: readonly Row[] = [
  { name: "a provider away for 3 s", outage: providerAway, forMs: 3 * SECOND, fast: ["turn"] },
  {
    name: "a provider away for 3 min",
    outage: providerAway,
    forMs: 3 * MINUTE,
    fast: ["hand-over", "job turn"],
  },
  {
    name: "a provider away for 10 min",
    outage: providerAway,
    forMs: 10 * MINUTE,
    fast: ["open question", "yes"],
  },
  {
    name: "a database that restarts",
    outage: restarted,
    forMs: 700,
    fast: ["tool", "hook", "call of a yes"],
  },
  { name: "a read-only database", outage: readOnly, forMs: 700, fast: ["hand-over"] },
  { name: "a full database", outage: full, forMs: 700, fast: ["job turn"] },
  { name: "a frozen database", outage: frozen, forMs: 1_500, fast: ["outbox", "merge"] },
];
const CELLS = ROWS.flatMap((row) =>
  (Object.keys(STAGES) as Place[])
    .filter((place) => row.outage !== providerAway || !WITHOUT_PROVIDER.has(place))
    .map((place) => ({ ...row, place })),
);

describe("what was accepted, in an outage", { timeout: 120_000 }, () => {
  for (const { name, outage, forMs, fast, place } of CELLS) {
    test(
      `${name} in the middle of: ${place}. All is done once, nothing is denied`,
      fast.includes(place) ? {} : FULL,
      async () => {
        const stage = await STAGES[place](new Moment(place, outage, forMs), ENGINE);

        await stage.run();

        await expect(stage.assertDone()).resolves.toBeUndefined();
        await stage.assertHonest();
      },
    );
  }

  test.each(["hand-over", "job turn"] as const)(
    `a provider really away for ${REAL_MS / 1_000} s in the middle of: %s. All is done once`,
    { ...FULL, timeout: 60_000 + 2 * REAL_MS },
    async (place) => {
      const moment = new Moment(place, providerAway, REAL_MS);
      const stage = await STAGES[place](moment, REAL);

      await stage.run();

      await expect(stage.assertDone()).resolves.toBeUndefined();
      await stage.assertHonest();
    },
  );

  const answer = /지금은 답하지 못했어요/;
  const failed = /^FAILED agent_error MODEL_SERVER_ERROR$/;
  const EXCUSES = {
    turn: answer,
    tool: answer,
    "hand-over": answer,
    outbox: answer,
    "job turn": failed,
    "tool of a job": failed,
  } as const satisfies Partial<Record<Place, RegExp>>;

  for (const [place, excuse] of Object.entries(EXCUSES) as [keyof typeof EXCUSES, RegExp][]) {
    test(
      `a provider away for 40 min in the middle of: ${place}. The end says so, and a retry does the rest`,
      place === "turn" ? {} : FULL,
      async () => {
        const moment = new Moment(place, providerAway, OUTLASTING);
        const stage = await STAGES[place](moment, ENGINE);

        await stage.run();
        const ending = await stage.excuse();
        await moment.end();
        await stage.retry();

        expect(ending).toMatch(excuse);
        await expect(stage.assertDone()).resolves.toBeUndefined();
        await stage.assertHonest();
      },
    );
  }
});
