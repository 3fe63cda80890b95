import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Cluster } from "../../../../chaos/postgres.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { Outage } from "./outage.ts";
import { Moment, ONE_TRY } from "./stage.ts";
import { STAGES, type Place } from "./stages.ts";

/**
 * The row "a frozen database" of the outage table in real time, on a server of its own: a shared
 * one that stands still would stop the tests beside it.
 */
const IS_LONG = process.env["DURE_TEST_LONG"] === "1";
/** Longer than a process holds its work; the long tier takes the 90 s of the table. */
const FROZEN_MS = IS_LONG ? 90_000 : 8_000;
const PLACES = IS_LONG ? (Object.keys(STAGES) as Place[]) : (["turn", "port step"] as const);
const ENGINE = { attemptRules: () => ONE_TRY };

const stack = new AsyncDisposableStack();
let cluster: Cluster;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "dure-frozen-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  cluster = stack.use(await Cluster.start(join(folder, "postgres")));
  vi.stubEnv("DURE_TEST_DATABASE_URL", cluster.url);
});

afterAll(() => stack.disposeAsync());

/** All processes of the server stand still: sessions, and new connections. */
const wholeServer: Outage = async () => {
  const goOn = cluster.freeze();
  return async () => goOn();
};

test.each(PLACES)(
  `a server that stands still for ${FROZEN_MS / 1_000} s in the middle of: %s. All is done once`,
  { ...FULL, timeout: 120_000 + FROZEN_MS },
  async (place) => {
    const stage = await STAGES[place](new Moment(place, wholeServer, FROZEN_MS), ENGINE);

    await stage.run();

    await expect(stage.assertDone()).resolves.toBeUndefined();
    await stage.assertHonest();
  },
);
