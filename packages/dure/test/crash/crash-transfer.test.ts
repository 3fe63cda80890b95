// @module-tag slow
import { afterAll, beforeAll, beforeEach, test } from "vitest";
import { sampled } from "../../src/kernel/test-tiers.ts";
import { killAt, type Scenario } from "./kill-row.ts";
import {
  ACCEPTED,
  aroundDone,
  AROUND_EFFECT,
  aroundModelCall,
  BAD_BANKS,
  DOUBT_WRITTEN,
  GOOD_BANK,
  type BankKind,
  type Point,
} from "./points.ts";
import { CONFIRMING, FILLING } from "./scenarios.ts";
import type { ServerProcess } from "./server-process.ts";
import { printTable, spread, type Row } from "./table.ts";
import { World } from "./world.ts";

/** DURE_TEST_LONG=1 kills before the call of a bad bank as well. */
const isLong = process.env["DURE_TEST_LONG"] === "1";

/**
 * The crash table of the example `transfer`: its two turns, and banks that ignore keys, book late,
 * or cut the connection. Source: docs/spec/conversation §8.
 */
const ROWS: readonly {
  readonly scenario: Scenario;
  readonly bank: BankKind;
  readonly point: Point;
}[] = [
  ...rowsOf(FILLING, GOOD_BANK, [
    ACCEPTED,
    ...aroundModelCall(1, "intent"),
    ...aroundModelCall(2, "slots").slice(0, 2),
    ...aroundDone(), // the look at the bank has stored the record of slots before it
  ]),
  ...rowsOf(CONFIRMING, GOOD_BANK, [ACCEPTED, ...AROUND_EFFECT, ...aroundDone()]),
  ...BAD_BANKS.flatMap((bank) =>
    rowsOf(CONFIRMING, bank, [
      ...AROUND_EFFECT.slice(isLong ? 0 : 1),
      ...(bank.name.includes("cuts") ? [DOUBT_WRITTEN] : []),
    ]),
  ),
];

/** The moments between are also those of crash.test.ts, with a service that has the same calls. */
const KILLS = sampled(ROWS, 1);

const rows: Row[] = [];
let world: World;
let server: ServerProcess;

beforeAll(async () => {
  world = await World.start();
}, 120_000);

beforeEach(async () => {
  server = await world.running(server);
}, 120_000);

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  printTable("Killed with SIGKILL, started again: the example transfer", rows);
  process.stdout.write(
    `${spread(rows, "resume ms")} (from the start of the process, without a caller)\n`,
  );
}, 120_000);

test.each(KILLS.rows)(
  "$scenario.name, a bank that $bank.name: killed at “$point.name” it ends once and whole",
  { ...KILLS.options, timeout: 180_000 },
  async (row) => {
    const result = await killAt(world, server, row);
    server = result.server;
    rows.push(result.row);
  },
);

function rowsOf(
  scenario: Scenario,
  bank: BankKind,
  points: readonly Point[],
): { scenario: Scenario; bank: BankKind; point: Point }[] {
  return points.map((point) => ({ scenario, bank, point }));
}
