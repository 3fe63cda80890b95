import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { TurnRequest } from "../../src/engine/api.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { JsonObject } from "../../src/kernel/json.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { Done } from "../../src/kernel/turn-events.ts";
import { offlineModel, randomFrom } from "../../src/models/offline.ts";
import { answerOfClerk } from "./clerk.ts";
import { Customer, type Said } from "./customer.ts";
import { retailService, TOOL_COUNT, type Desk } from "./service.ts";
import { TASKS, type Task } from "./tasks.ts";
import { Town } from "./town.ts";

/**
 * At which steps of one play its process dies: of each kind the first, or the second, … of every so
 * many. At one step it dies once, so that the play goes on.
 */
class Kills {
  count = 0;
  readonly #every: number;
  readonly #first: number;
  readonly #seen = new Set<string>();
  readonly #steps = new Map<string, number>();

  constructor({ every, first }: { every: number; first: number }) {
    this.#every = every;
    this.#first = first;
  }

  isDue(kind: string, step: string): boolean {
    const name = `${kind} ${step}`;
    if (this.#seen.has(name)) return false;
    this.#seen.add(name);
    const number = this.#steps.get(kind) ?? 0;
    this.#steps.set(kind, number + 1);
    if (number % this.#every !== this.#first) return false;
    this.count += 1;
    return true;
  }
}

/** What one process does outside of itself. When it has died it does nothing more. */
class Life {
  isOver = false;
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  /** Around something that happens outside: the process may die before and after it. */
  async around<T>(kind: string, step: string, work: () => Promise<T> | T): Promise<T> {
    this.#pass(kind, `before ${step}`);
    const result = await work();
    this.#pass(kind, `after ${step}`);
    return result;
  }

  #pass(kind: string, step: string): void {
    if (!this.isOver && this.#lane.kills.isDue(kind, step)) void this.#lane.kill();
    if (this.isOver) throw new Error("this process is dead");
  }

  /** The shops, as this process reaches them. */
  deskOf(town: Town): Desk {
    return {
      read: (call) =>
        this.around("read", `${call.name} ${JSON.stringify(call.input)}`, () => town.read(call)),
      write: (call) => this.around("write", call.key, () => town.write(call)),
      find: (call) => this.around("find", call.key, () => town.find(call)),
    };
  }
}

/** One database and the process that lives on it; a kill puts another one in its place. */
class Lane implements AsyncDisposable {
  /** Of the play that goes on. */
  kills = new Kills({ every: 1, first: 1 });
  readonly town = new Town();
  readonly #url: string;
  readonly #database: Database;
  readonly #stack: AsyncDisposableStack;
  #life!: Life;
  #living!: TestEngine;
  #killing: Promise<void> = Promise.resolve();
  /** The ends of the dead. */
  readonly #dying = new Set<Promise<void>>();

  private constructor(parts: { url: string; database: Database; stack: AsyncDisposableStack }) {
    this.#url = parts.url;
    this.#database = parts.database;
    this.#stack = parts.stack;
  }

  static async open(): Promise<Lane> {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await testDatabase());
    const options = { url, applicationName: "retail", logger: silentLogger, max: 2 };
    const database = stack.adopt(await Database.open(options), (opened) => opened.close());
    const lane = new Lane({ url, database, stack: stack.move() });
    await lane.#start();
    return lane;
  }

  /** The process that lives, when it does. */
  async living(): Promise<TestEngine> {
    await this.#killing;
    return this.#living;
  }

  kill(): Promise<void> {
    this.#life.isOver = true;
    this.#living.fence();
    this.#killing = this.#killing.then(() => this.#replace());
    return this.#killing;
  }

  async #replace(): Promise<void> {
    const dead = this.#living;
    await this.#start();
    await this.#living.engine.store.release(dead.processId);
    const ending = this.#bury(dead);
    this.#dying.add(ending);
    void ending.then(() => this.#dying.delete(ending));
  }

  /** What it has accepted with its last statement is taken over, too. */
  async #bury(dead: TestEngine): Promise<void> {
    await dead[Symbol.asyncDispose]();
    await (await this.living()).engine.store.release(dead.processId);
  }

  async #start(): Promise<void> {
    const life = new Life(this);
    const clerk = offlineModel("clerk", (request) => {
      const read = createHash("sha256").update(JSON.stringify(request.messages)).digest("hex");
      return life.around("model", read, () => answerOfClerk(request));
    });
    const service = retailService(life.deskOf(this.town));
    const options = { offline: [clerk], on: { url: this.#url } };
    this.#living = await startTestEngine(service, options);
    this.#life = life;
  }

  async doneOf(turn: string): Promise<Done> {
    for (;;) {
      const [row] = await this.#database.query<{ done: Done | null }>(
        { name: "retail_done", text: "select done from dure.turns where id = $1" },
        [turn],
      );
      if (row?.done) return row.done;
      await systemClock.sleep(3);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.living())[Symbol.asyncDispose]();
    await Promise.all(this.#dying);
    await this.#stack.disposeAsync();
  }
}

/** More messages than any customer needs. */
const MOST_MESSAGES = 40;

interface Play {
  readonly task: Task;
  readonly session: string;
  readonly random: () => number;
  readonly kills: Kills;
}

/** Plays one task to its end. Gives what is wrong. */
async function playTask(lane: Lane, { task, session, random, kills }: Play): Promise<string[]> {
  lane.kills = kills;
  const customer = new Customer(task, random);
  const lines: string[] = [];
  let said: Said | undefined = customer.open();
  let question: string | undefined;
  for (let number = 1; said; number++) {
    lines.push(`> ${said.text}`);
    if (number > MOST_MESSAGES) return [`${session} goes on for ever:`, ...lines];
    const confirmId = said.presses ? question : undefined;
    const request = { session, service: "retail", message: said.text, confirmId };
    question = await accepted(lane, request, `${session}/${number}`);
    const done = await lane.doneOf(question);
    lines.push(done.message);
    if (done.error) return [`${session} ends with ${done.error.code}:`, ...lines];
    if (kills.isDue("told", question)) await lane.kill();
    said = customer.answer(done);
    if (said?.agrees) agree(lane.town, session, done);
  }
  const told = lines.filter((line) => !line.startsWith("> ")).join("\n");
  const problems = lane.town.problems(session, task, told);
  return problems.length === 0 ? [] : [`${session}:`, ...problems, ...lines];
}

function agree(town: Town, session: string, { approvals = [] }: Done): void {
  for (const { tool, args } of approvals) {
    town.agree({ session, name: tool, input: args as JsonObject });
  }
}

/** The turn of a message. What is lost with its process is sent again under its key. */
async function accepted(lane: Lane, request: TurnRequest, key: string): Promise<string> {
  const { kills } = lane;
  for (;;) {
    const living = await lane.living();
    const accepting = living.engine.accept(request, { key }).catch((error: unknown) => error);
    const isKilled = kills.isDue("accept", key);
    if (isKilled) await lane.kill();
    const answer = await accepting;
    if (isKilled || living !== (await lane.living())) continue;
    if (answer instanceof Error) throw answer;
    if (kills.isDue("accepted", key)) await lane.kill();
    return (answer as { turnId: string }).turnId;
  }
}

/** Plays all side by side. Gives what is wrong, and how often a process was killed. */
async function playAll(plays: readonly Play[]) {
  const left = [...plays];
  const problems: string[] = [];
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      await using lane = await Lane.open();
      for (let play = left.shift(); play; play = left.shift()) {
        problems.push(...(await playTask(lane, play)));
      }
    }),
  );
  return { problems, kills: plays.reduce((sum, { kills }) => sum + kills.count, 0) };
}

const LANES = 4;

/** `DURE_TEST_LONG=1`: eight times all tasks, with a kill at every step. */
const IS_LONG = process.env["DURE_TEST_LONG"] === "1";

/**
 * A turn may lose ten processes. So each task is played four times in a round, and each time dies
 * at other steps: all of them have a kill.
 */
const PARTS = 4;

function playsOf(round: number): readonly Play[] {
  return TASKS.flatMap((task, index) => {
    const seed = `round ${round}/${task.id}`;
    const once = [{ every: 10, first: (index + round) % 10 }];
    const parts = Array.from({ length: PARTS }, (_, first) => ({ every: PARTS, first }));
    return (IS_LONG ? parts : once).map((kills) => ({
      task,
      session: `${task.id}-${kills.first}`,
      random: randomFrom(seed),
      kills: new Kills(kills),
    }));
  });
}

test("the shop has at least 15 tools and 60 tasks", () => {
  expect(TOOL_COUNT).toBeGreaterThanOrEqual(15);
  expect(TASKS).toHaveLength(60);
});

test.each(Array.from({ length: IS_LONG ? 8 : 1 }, (_, index) => index + 1))(
  "an honest clerk brings every task to its end, each write once and after its yes (%i)",
  { timeout: 1_200_000 },
  async (round) => {
    const plays = playsOf(round);

    const { problems, kills } = await playAll(plays);

    console.info(`round ${round}: ${plays.length} plays, ${kills} kills`);
    expect(problems).toEqual([]);
    expect(kills).toBeGreaterThan(plays.length);
  },
);
