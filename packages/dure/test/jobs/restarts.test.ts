import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { until } from "../until.ts";
import { JobsWorld, PATIENCE, type TeamProcess } from "./team.ts";

/**
 * A team whose process is killed again and again in the middle of its jobs. `npm run test:long`
 * kills 1,000 times, from DURE_TEST_SEED on. Source: docs/spec/jobs §6.
 */
const isLong = process.env["DURE_TEST_LONG"] === "1";
const FIRST_SEED = Number(process.env["DURE_TEST_SEED"] ?? "1");
const KILLS_PER_SEED = isLong ? 20 : 4;
const SEEDS = Array.from({ length: isLong ? 50 : 2 }, (_, index) => FIRST_SEED + index);

const AGENTS = ["ruda", "eden", "seum", "dajim"];
const JOBS_PER_LIFE = 3;
/** A life has more of these statements than `MOST_STATEMENTS`: three jobs of three turns at least. */
const OF_JOB: ReadonlySet<string> = new Set([
  "job.ask",
  "job.take",
  "job.begin",
  "job.note",
  "job.settle",
  "accept_turn",
  "finish_turn",
  "test.told",
]);
const MOST_STATEMENTS = 30;

test.each(SEEDS)(
  `killed ${KILLS_PER_SEED} times in the middle of jobs (seed %i): each job ends once, is told once`,
  { ...FULL, timeout: 600_000 },
  async (seed) => {
    await using world = await JobsWorld.start();
    const random = numbersFrom(seed);
    for (let kill = 0; kill < KILLS_PER_SEED; kill++) await liveAndDie(world, random, kill);

    const last = world.direct({ agents: AGENTS });
    await last.says("ready");
    await allTold(world, last);
    await expectEachOnce(world);
  },
);

/** Three more jobs, and SIGKILL at any of the statements that they and the open ones send. */
async function liveAndDie(world: JobsWorld, random: () => number, kill: number): Promise<void> {
  const nth = 1 + Math.floor(random() * MOST_STATEMENTS);
  const when = random() < 0.5 ? "before" : "after";
  const life = world.process({ agents: AGENTS });
  await life.says("ready");
  let seen = 0;
  const stop = world.proxy.stop(when, ({ name }) => OF_JOB.has(name) && ++seen === nth);
  let isReached = false;
  void stop.reached.then(() => (isReached = true));
  for (let n = 0; n < JOBS_PER_LIFE; n++) {
    life.ask({
      requester: "ruda",
      agent: AGENTS[1 + n]!,
      message: `Let's discuss: module ${kill}.${n}`,
      maxTurns: 3 + Math.floor(random() * 3),
      waitSec: 0,
      key: `${kill}.${n}`,
      origin: { session: "s1" },
    });
  }
  await until(
    () => isReached,
    () => `the process sent ${seen} statements of jobs, not ${nth}: ${life.errors.slice(-2_000)}`,
    PATIENCE,
  );
  await life.kill();
  world.proxy.disarm();
}

async function allTold(world: JobsWorld, last: TeamProcess): Promise<void> {
  await until(
    async () => (await world.told()).length >= (await world.jobs()).length,
    () => `not every job was told of: ${last.errors.slice(-2_000)}`,
    PATIENCE,
  );
}

/** Looked at from outside: no job is lost, none is open, none has a turn or a notice twice. */
async function expectEachOnce(world: JobsWorld): Promise<void> {
  const jobs = await world.jobs();
  expect(jobs.length).toBeGreaterThan(0);
  expect(jobs.filter(({ status }) => status !== "COMPLETED")).toEqual([]);
  expect(jobs.filter(({ has_permit: permit, holder }) => permit || holder !== null)).toEqual([]);
  expect((await world.told()).map((key) => key.split(":")[1]!).toSorted()).toEqual(
    jobs.map(({ id }) => id).toSorted(),
  );
  const ends = await world.database.query<{ job: string }>({
    text: "select job from dure.events where type = 'job.completed'",
  });
  expect(ends.map(({ job }) => job).toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
  for (const { id, turns_done: turns } of jobs) {
    const numbers = (await world.transcript(id)).map((line) => Number.parseInt(line, 10));
    expect(numbers).toEqual(Array.from({ length: turns }, (_, index) => index + 1));
  }
  expect(
    await world.database.query({ text: "select id from dure.turns where status <> 'done'" }),
  ).toEqual([]);
}

/** Numbers of [0, 1) that a seed decides: mulberry32. */
function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
