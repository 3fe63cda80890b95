// @module-tag slow
import { expect, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import type { AskRequest } from "../../src/jobs/ask.ts";
import type { ProxiedStatement } from "@dure/testing";
import { until } from "../until.ts";
import { JobsWorld, PATIENCE, type TeamProcess } from "./team.ts";

/**
 * An exchange of four turns that is killed at every point between two of its writes. Source:
 * docs/spec/jobs §6.
 */
const REQUEST: AskRequest = {
  requester: "ruda",
  agent: "eden",
  message: "Let's discuss: the login module",
  maxTurns: 4,
  waitSec: 0,
  key: "the-one",
  origin: { session: "s1" },
};
const EVENTS = [
  "job.accepted",
  "job.started",
  "job.turn",
  "job.turn",
  "job.turn",
  "job.turn",
  "job.completed",
];

/**
 * Where the process is killed, and the exchange turns whose call death cut off or whose record it
 * prevented.
 */
interface Point {
  readonly name: string;
  readonly when: "before" | "after";
  readonly statement: string;
  /** Which of the statements of that name. */
  readonly nth: number;
  readonly again?: readonly number[];
  /**
   * The exchange turn whose call runs beside the statement: death may come before its record or
   * behind it.
   */
  readonly beside?: number;
}

const around = (
  name: string,
  statement: string,
  nth: number,
  againBefore: readonly number[] = [],
): readonly Point[] => [
  { name: `before ${name}`, when: "before", statement, nth, again: againBefore },
  { name: `after ${name}`, when: "after", statement, nth },
];

const POINTS: readonly Point[] = [
  ...around("the job is stored", "job.ask", 1),
  ...around("its first turn is begun", "job.begin", 1),
  ...around("its first turn is accepted", "accept_turn", 1),
  ...around("its first turn is noted", "job.note", 1).map((point) => ({ ...point, beside: 1 })),
  // The record of a turn's only call is written with its DONE.
  ...around("the first answer is stored", "finish_turn", 1, [1]),
  ...around("the first turn is recorded", "job.settle", 1),
  ...around("the second turn is begun", "job.begin", 2),
  ...around("the second turn is accepted", "accept_turn", 2),
  ...around("the second turn is noted", "job.note", 2).map((point) => ({ ...point, beside: 2 })),
  ...around("the third answer is stored", "finish_turn", 3, [3]),
  ...around("the third turn is recorded", "job.settle", 3),
  ...around("the end is recorded", "job.settle", 4),
  ...around("the notice is written", "test.told", 1),
];

const isLong = process.env["DURE_TEST_LONG"] === "1";
const KILLS = sampled(POINTS, 1);
const ANSWERING = sampled([1, 2, 4], 0);

let undisturbed:
  | { readonly transcript: readonly string[]; readonly used: readonly string[] }
  | undefined;

test.each(KILLS.rows)(
  "killed $name the exchange ends once and whole",
  { ...KILLS.options, timeout: 120_000 },
  async (point) => {
    await using world = await JobsWorld.start();
    let seen = 0;
    const stop = world.proxy.stop(
      point.when,
      ({ name }: ProxiedStatement) => name === point.statement && ++seen === point.nth,
    );
    const first = world.process();
    await first.says("ready");
    first.ask(REQUEST);
    await within(stop.reached, first);
    await first.kill();
    await expectWhole(
      world,
      point.beside === undefined ? (point.again ?? []) : { atMost: [point.beside] },
      "resumed",
    );
  },
);

test(
  "killed while the permit is given the exchange ends once and whole",
  { ...FULL, timeout: 120_000 },
  async () => {
    for (const when of ["before", "after"] as const) {
      await using world = await JobsWorld.start();
      const first = world.process();
      await first.says("ready");
      let armed = false;
      const stop = world.proxy.stop(when, ({ name }) => armed && name === "job.take");
      armed = true;
      first.ask(REQUEST);
      await within(stop.reached, first);
      await first.kill();
      await expectWhole(world, [], "resumed");
    }
  },
);

test.each(ANSWERING.rows)(
  "killed while the model of turn %i answers, the call is made again, and no other one",
  { ...ANSWERING.options, timeout: 120_000 },
  async (turn) => {
    await using world = await JobsWorld.start();
    const first = world.process({ hold: { turn } });
    await first.says("ready");
    first.ask(REQUEST);
    await first.says("asked", (line) => line["turn"] === turn);
    await first.kill();
    await expectWhole(world, [turn], "resumed");
  },
);

test(
  "killed again and again, each time in another turn, the exchange ends once and whole",
  { ...FULL, timeout: 240_000 },
  async () => {
    await using world = await JobsWorld.start();
    for (const turn of [1, 2, 3, 4]) {
      const victim = world.process({ hold: { turn } });
      await victim.says("ready");
      victim.ask(REQUEST);
      await victim.says("asked", (line) => line["turn"] === turn);
      await victim.kill();
    }
    await expectWhole(world, [1, 2, 3, 4], "resumed");
  },
);

const SEEDS = sampled(
  Array.from({ length: isLong ? 60 : 3 }, (_, index) => index + 1),
  1,
);

test.each(SEEDS.rows)(
  "killed at a random message to or from its database (seed %i) the exchange ends once and whole",
  { ...SEEDS.options, timeout: 120_000 },
  async (seed) => {
    await using world = await JobsWorld.start();
    const n = 1 + ((seed * 7_919) % 140);
    const first = world.process();
    await first.says("ready");
    const cut = world.proxy.cut(n, ({ name }) => OF_JOB.has(name));
    first.ask(REQUEST);
    await Promise.race([
      cut.reached,
      first.says("answer").then(() =>
        until(
          async () => (await world.told()).length > 0,
          () => "no notice",
          PATIENCE,
        ),
      ),
    ]);
    await first.kill();
    await expectWhole(world, { atMost: [1, 2, 3, 4] }, "resumed");
  },
);
const OF_JOB: ReadonlySet<string> = new Set([
  "job.ask",
  "job.take",
  "job.held",
  "job.begin",
  "job.note",
  "job.settle",
  "accept_turn",
  "finish_turn",
  "journal_turn",
  "test.told",
]);

test(
  "the connection cut behind any message, the exchange goes on by itself",
  { ...FULL, timeout: 240_000 },
  async () => {
    for (let n = 3; n < 140; n += isLong ? 1 : 34) {
      await using world = await JobsWorld.start();
      const only = world.process();
      await only.says("ready");
      const cut = world.proxy.cut(n, ({ name }) => OF_JOB.has(name));
      only.ask(REQUEST);
      await Promise.race([cut.reached, only.says("answer")]);
      await expectWhole(world, [], "same", only);
      await only.kill();
    }
  },
);

test(
  "two processes, one killed: the other goes on within ten seconds, and nothing is done twice",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using world = await JobsWorld.start();
    const victim = world.process({ hold: { turn: 3 } });
    await victim.says("ready");
    victim.ask(REQUEST);
    await victim.says("asked", (line) => line["turn"] === 3);
    const heir = world.direct();
    await heir.says("ready");

    const killedAt = performance.now();
    await victim.kill();
    await heir.says("asked", (line) => line["turn"] === 3);
    const took = performance.now() - killedAt;
    await expectWhole(world, [3], "same", heir);

    expect(took).toBeLessThan(boundMs(10_000));
  },
);

test(
  "a frozen process loses its jobs, and writes nothing when it wakes",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using world = await JobsWorld.start();
    const frozen = world.process({ hold: { turn: 2 } });
    await frozen.says("ready");
    frozen.ask(REQUEST);
    await frozen.says("asked", (line) => line["turn"] === 2);
    const heir = world.direct();
    await heir.says("ready");

    frozen.signal("SIGSTOP");
    const frozenAt = performance.now();
    await heir.says("asked", (line) => line["turn"] === 2);
    const took = performance.now() - frozenAt;
    frozen.signal("SIGCONT");

    expect(await frozen.exited).toBe(75);
    expect(took).toBeLessThan(boundMs(10_000));
    await expectWhole(world, [2], "same", heir);
  },
);

test(
  "a cancel from the other process cuts a hanging call within a second, and stays after a restart",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using world = await JobsWorld.start();
    const holder = world.process({ hold: { turn: 2 } });
    await holder.says("ready");
    holder.ask(REQUEST);
    await holder.says("asked", (line) => line["turn"] === 2);
    const other = world.direct();
    await other.says("ready");
    const { id } = (await world.jobs())[0]!;

    const startedAt = performance.now();
    other.cancel(id);
    await holder.says("cut");
    const took = performance.now() - startedAt;
    await other.says("cancelled");

    expect(took).toBeLessThan(boundMs(1_000));
    await Promise.all([holder.kill(), other.kill()]);
    const again = world.direct();
    await again.says("recovered");
    await until(
      async () =>
        (await world.database.query({ text: "select id from dure.turns where status <> 'done'" }))
          .length === 0,
      () => "a turn goes on",
      PATIENCE,
    );
    expect(await world.jobs()).toMatchObject([
      { status: "CANCELLED", outcome: "cancelled", turns_done: 1, has_permit: false },
    ]);
    expect(await world.calls()).toEqual({ 1: 1, 2: 1 });
    expect((await world.events(id)).at(-1)).toBe("job.cancelled");
  },
);

test(
  "a job that kills its process each time is given up after five resumes; the others end",
  { ...FULL, timeout: 240_000 },
  async () => {
    await using world = await JobsWorld.start();
    const settings = { agents: ["ruda", "eden", "seum"], poison: "drink this", delayMs: 30 };
    let lives = 0;
    const first = world.direct(settings);
    await first.says("ready");
    for (let n = 0; n < 6; n++) {
      first.ask({
        ...REQUEST,
        agent: n % 2 ? "eden" : "seum",
        message: `Let's discuss: module ${n}`,
        key: `good-${n}`,
        maxTurns: 6,
      });
    }
    first.ask({ ...REQUEST, message: "Let's discuss: drink this", key: "poison" });
    let current = first;
    for (; lives < 12; lives++) {
      const isGivenUp = until(
        async () => (await world.jobs()).some(({ status }) => status === "ABANDONED"),
        () => "never given up",
        { patienceMs: 40_000 },
      ).then(() => "given up");
      if ((await Promise.race([current.exited.then(() => "died"), isGivenUp])) === "given up") {
        break;
      }
      current = world.direct(settings);
      isGivenUp.catch(() => {});
    }
    await until(
      async () =>
        (await world.jobs()).every(
          ({ status }) => status === "COMPLETED" || status === "ABANDONED",
        ),
      () => "the others did not end",
      PATIENCE,
    );

    const jobs = await world.jobs();
    const poison = jobs.find(({ status }) => status === "ABANDONED")!;
    expect(poison).toMatchObject({
      outcome: "resume_limit",
      turns_done: 0,
      resume_count: 5,
      has_permit: false,
    });
    expect(jobs.filter(({ status }) => status === "COMPLETED")).toHaveLength(6);
    expect(
      Math.max(...jobs.filter(({ id }) => id !== poison.id).map(({ resumes }) => resumes)),
    ).toBeLessThanOrEqual(2);
    const escalations = await world.database.query<{ type: string; subject: string }>({
      text: "select type, subject from dure.escalations where status = 'open'",
    });
    expect(escalations).toEqual([{ type: "job_abandoned", subject: `job/${poison.id}` }]);
  },
);

test(
  "a newer release goes on with what an older one had begun",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using world = await JobsWorld.start();
    const old = world.process({ version: "1", hold: { turn: 3 } });
    await old.says("ready");
    old.ask(REQUEST);
    await old.says("asked", (line) => line["turn"] === 3);
    await old.kill();

    const newer = world.process({ version: "2" });

    await expectWhole(world, [3], "same", newer, { anew: 3 });
  },
);

test(
  "of two hundred running jobs all end after a kill, and the first goes on within two seconds",
  { ...FULL, timeout: 240_000 },
  async () => {
    await using world = await JobsWorld.start();
    const agents = ["ruda", ...Array.from({ length: 70 }, (_, n) => `agent-${n}`)];
    const first = world.direct({ agents, hold: { turn: 2 } });
    await first.says("ready");
    for (let n = 0; n < 200; n++) {
      first.ask({ ...REQUEST, agent: `agent-${n % 70}`, key: `k${n}`, maxTurns: 3 });
    }
    await until(
      async () => (await world.calls())[2] === 200,
      () => "not all came to their second turn",
      PATIENCE,
    );
    expect((await world.jobs()).filter(({ status }) => status === "RUNNING")).toHaveLength(200);
    await first.kill();

    const second = world.direct({ agents });
    const { at: readyAt } = await second.says("ready");
    const { at: resumedAt } = await second.says("asked");
    await until(
      async () => (await world.jobs()).every(({ status }) => status === "COMPLETED"),
      () => "not all ended",
      PATIENCE,
    );

    process.stdout.write(
      `200 running jobs: the first call ${resumedAt - readyAt} ms after readiness, all ended ` +
        `${Date.now() - readyAt} ms after it\n`,
    );
    expect(resumedAt - readyAt).toBeLessThan(boundMs(2_000));
    expect(await world.calls()).toEqual({ 1: 200, 2: 400, 3: 200 });
    expect(
      (await world.jobs()).every(
        ({ outcome, turns_done: turns, has_permit: permit }) =>
          outcome === "max_turns" && turns === 3 && !permit,
      ),
    ).toBe(true);
  },
);

/**
 * The job ended once, with the transcript of an undisturbed exchange, each finished call
 * made once.
 */
async function expectWhole(
  world: JobsWorld,
  again: readonly number[] | { readonly atMost: readonly number[] },
  life: "resumed" | "same",
  running?: TeamProcess,
  { anew }: { /** The turn that a newer release led anew. */ anew?: number } = {},
): Promise<void> {
  const last = running ?? world.process();
  if (life === "resumed") {
    await last.says("ready");
    last.ask(REQUEST); // the same key: the same job, whether it was stored or not
  }
  await until(
    async () => (await world.told()).length > 0,
    () => `the job did not end: ${last.errors.slice(-2_000)}`,
    PATIENCE,
  );
  const jobs = await world.jobs();
  expect(jobs).toMatchObject([
    {
      status: "COMPLETED",
      outcome: "max_turns",
      turns_done: 4,
      resume_count: 0,
      has_permit: false,
      holder: null,
    },
  ]);
  const { id } = jobs[0]!;
  undisturbed ??= await undisturbedExchange();
  expect(await world.transcript(id)).toEqual(undisturbed.transcript);
  // A call that death cut off has no record: what its repetition used is counted.
  const others = (lines: readonly string[]): readonly string[] =>
    lines.filter((line) => anew === undefined || !line.startsWith(`${anew}:`));
  expect(others(await world.used(id))).toEqual(others(undisturbed.used));
  const calls = await world.calls();
  const repeated = Object.entries(calls).filter(([, count]) => count !== 1);
  if ("atMost" in again) {
    expect(repeated.length).toBeLessThanOrEqual(1); // one death, one call that it cut off
    for (const [turn, count] of repeated) {
      expect([again.atMost.includes(Number(turn)), count]).toEqual([true, 2]);
    }
  } else {
    expect(calls).toEqual(
      Object.fromEntries([1, 2, 3, 4].map((turn) => [turn, again.includes(turn) ? 2 : 1])),
    );
  }
  expect(await world.told()).toEqual([expect.stringMatching(`^job:${id}:announce:`)]);
  expect(
    (await world.events(id)).filter((type) => !["job.resuming", "job.started"].includes(type)),
  ).toEqual(EVENTS.filter((type) => type !== "job.started"));
  expect(
    await world.database.query({ text: "select id from dure.turns where status <> 'done'" }),
  ).toEqual([]);
}

async function undisturbedExchange(): Promise<NonNullable<typeof undisturbed>> {
  await using world = await JobsWorld.start();
  const only = world.direct();
  await only.says("ready");
  only.ask(REQUEST);
  await until(
    async () => (await world.told()).length > 0,
    () => "the undisturbed job did not end",
    PATIENCE,
  );
  expect(await world.calls()).toEqual({ 1: 1, 2: 1, 3: 1, 4: 1 });
  const [job] = await world.jobs();
  expect(await world.events(job!.id)).toEqual(EVENTS);
  return { transcript: await world.transcript(job!.id), used: await world.used(job!.id) };
}

async function within(reached: Promise<unknown>, process: TeamProcess): Promise<void> {
  let isReached = false;
  void reached.then(() => (isReached = true));
  await until(
    () => isReached,
    () =>
      `the point was not reached: ${JSON.stringify(process.lines)} ${process.errors.slice(-2_000)}`,
    PATIENCE,
  );
}
