import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Cluster } from "../../../../chaos/postgres.ts";
import { Random } from "../../../../chaos/random.ts";
import { Database } from "../../src/durable/database.ts";
import { migrate } from "../../src/durable/migrate.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { SCHEMA } from "../../src/team/schema.ts";
import { eventually } from "../until.ts";
import { Member } from "./member.ts";
import { KINDS, WORDS } from "./member-settings.ts";

/**
 * Two processes with jobs, turns, rooms, an outbox and plan runs, whose PostgreSQL restarts in the
 * middle of them. `npm run test:long` restarts it 200 times, from DURE_TEST_SEED on.
 */
const IS_LONG = process.env["DURE_TEST_LONG"] === "1";
const SEED = Number(process.env["DURE_TEST_SEED"] ?? "1");
const RESTARTS = Number(process.env["DURE_TEST_RESTARTS"] ?? (IS_LONG ? "200" : "4"));

/** Work waits at most so long before its outage begins, milliseconds. */
const BEFORE_MS = 900;
/** How long the database is away, at most. */
const AWAY_MS = 400;
/** How long it stands still, at most; below the time after which processes are taken over. */
const FROZEN_MS = 2_000;
/** A process may hold its lease so long and longer; the long tier stands still for 90 s. */
const STILL_MS = IS_LONG ? 90_000 : 10_000;
/** After the last restart everything is done, on a busy machine. */
const END_MS = 180_000;

test(
  `a database that restarts ${RESTARTS} times ends no accepted work (seed ${SEED}): all is done once`,
  { ...FULL, timeout: 240_000 + RESTARTS * 15_000 },
  async () => {
    await using world = await World.start();
    const random = new Random(SEED);

    for (let n = 1; n <= RESTARTS; n++) {
      for (const kind of KINDS) await random.pick(world.members).give(kind, n);
      await systemClock.sleep(random.between(0, BEFORE_MS));
      await disturb(world.cluster, random);
    }

    expect(await outcomeOf(world)).toEqual(undisturbed(RESTARTS));
  },
);

test(
  `a database that stands still for ${STILL_MS / 1_000} s ends no accepted work: all is done once`,
  { ...FULL, timeout: 240_000 + STILL_MS },
  async () => {
    await using world = await World.start();
    for (const [index, member] of world.members.entries()) {
      for (const kind of KINDS) await member.give(kind, index + 1);
    }

    const goOn = world.cluster.freeze();
    await systemClock.sleep(STILL_MS);
    goOn();

    expect(await outcomeOf(world)).toEqual(undisturbed(world.members.length));
  },
);

interface Outcome {
  readonly ends: Ends;
  readonly effects: readonly string[];
  readonly refusals: readonly unknown[];
}

/** When all work has ended. */
async function outcomeOf(world: World): Promise<Outcome> {
  await eventually(async () => expect(await world.open()).toEqual([]), {
    patienceMs: END_MS,
    everyMs: 200,
    also: () => world.members.map(({ log }) => log).join("\n"),
  });
  const refusals = world.members.flatMap((member) => member.refusals);
  return { ends: await world.ends(), effects: await world.effects(), refusals };
}

function undisturbed(count: number): Outcome {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  return { ends: endsOf(numbers), effects: effectsOf(numbers), refusals: [] };
}

/** Half of the restarts are polite; one in five times it stands still instead. */
async function disturb(cluster: Cluster, random: Random): Promise<void> {
  const kind = random.weighted({ fast: 4, immediate: 4, frozen: 2 });
  if (kind !== "frozen") return cluster.restart(random.between(0, AWAY_MS), kind);
  const goOn = cluster.freeze();
  await systemClock.sleep(random.between(0, FROZEN_MS));
  goOn();
}

type Ends = Readonly<Record<string, readonly unknown[]>>;

/** How all work ends that is never disturbed. */
function endsOf(numbers: readonly number[]): Ends {
  return {
    jobs: numbers.map(() => ["COMPLETED", "max_turns", WORDS.length]),
    turns: numbers.flatMap(() => Array.from({ length: WORDS.length + 1 }, () => null)),
    messages: numbers.map((n) => `예약했어요: work ${n}`).toSorted(),
    roomTurns: numbers.map(() => null),
    entries: numbers.map(() => "sent"),
    runs: numbers.map(() => "success"),
  };
}

function effectsOf(numbers: readonly number[]): readonly string[] {
  return numbers
    .flatMap((n) => ["job", "turn", "message", "entry"].map((kind) => `${kind} ${n}`))
    .toSorted();
}

const FOLDER = join(tmpdir(), "dure-restarts-");
const NAMES = ["jobs", "rooms", "runs"] as const;
type Name = (typeof NAMES)[number];

/** One server with a database for each part, and two processes. */
class World implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly members: readonly Member[];
  readonly #file: string;
  readonly #databases: Readonly<Record<Name, Database>>;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    cluster: Cluster,
    members: readonly Member[],
    file: string,
    { databases, stack }: { databases: Record<Name, Database>; stack: AsyncDisposableStack },
  ) {
    this.cluster = cluster;
    this.members = members;
    this.#file = file;
    this.#databases = databases;
    this.#stack = stack;
  }

  static async start(): Promise<World> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(FOLDER);
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const cluster = stack.use(await Cluster.start(join(folder, "postgres")));
    const url = { jobs: "", rooms: "", runs: "" };
    const databases = {} as Record<Name, Database>;
    for (const name of NAMES) {
      await cluster.ask(`create database ${name} owner dure`);
      url[name] = cluster.url.replace(/\/dure$/, `/${name}`);
      const shared = { logger: silentLogger, clock: systemClock, max: 2 };
      databases[name] = await Database.open({
        url: url[name],
        applicationName: "dure:test",
        ...shared,
      });
      stack.defer(() => databases[name].close());
      await migrate(databases[name], SCHEMA, { logger: silentLogger });
    }
    const effects = join(folder, "effects");
    await writeFile(effects, "");
    const members = [0, 1].map(() => stack.use(new Member({ url, effects })));
    for (const member of members) await member.ready();
    return new World(cluster, members, effects, { databases, stack: stack.move() });
  }

  /** Work that has not ended: a table and how much. */
  async open(): Promise<readonly string[]> {
    const { jobs, rooms, runs } = this.#databases;
    const found = await Promise.all([
      left(jobs, "jobs", "finished_at is null"),
      left(jobs, "turns", "status <> 'done'"),
      left(jobs, "outbox", "state in ('pending', 'sending')"),
      left(rooms, "handlings", "state <> 'done'"),
      left(rooms, "turns", "status <> 'done'"),
      left(rooms, "outbox", "state in ('pending', 'sending') and topic like 'room.%'"),
      left(runs, "plan_runs", "finished_at is null"),
    ]);
    return found.flat();
  }

  async ends(): Promise<Ends> {
    const { jobs, rooms, runs } = this.#databases;
    return {
      jobs: await all(
        jobs,
        "select jsonb_build_array(status, outcome, turns_done) as it from dure.jobs",
      ),
      turns: await all(jobs, "select done -> 'error' as it from dure.turns"),
      messages: (
        await all<string>(
          rooms,
          "select text as it from dure.room_messages where author_kind = 'agent' and mark is null",
        )
      ).toSorted(),
      roomTurns: await all(rooms, "select done -> 'error' as it from dure.turns"),
      entries: await all(jobs, "select state as it from dure.outbox where topic = 'test.entry'"),
      runs: await all(runs, "select status as it from dure.plan_runs"),
    };
  }

  /** Kind and number of each, sorted. */
  async effects(): Promise<readonly string[]> {
    const lines = (await readFile(this.#file, "utf8")).trim().split("\n");
    return lines.map((line) => line.split(" ", 2).join(" ")).toSorted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

async function all<It>(database: Database, text: string): Promise<readonly It[]> {
  return (await database.query<{ it: It }>({ text })).map(({ it }) => it);
}

async function left(database: Database, table: string, where: string): Promise<readonly string[]> {
  const [row] = await database.query<{ it: number }>({
    text: `select count(*)::integer as it from dure.${table} where ${where}`,
  });
  return row!.it === 0 ? [] : [`${row!.it} of ${table}`];
}
