import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { TurnRequest } from "../../src/engine/api.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { Done } from "../../src/kernel/turn-events.ts";
import { offlineModel, randomFrom } from "../../src/models/offline.ts";
import { answerOfClerk } from "./clerk.ts";
import { Customer, type Said } from "./customer.ts";
import { retailService, TOOL_COUNT, type Desk } from "./service.ts";
import { TASKS, type Task } from "./tasks.ts";
import { Town } from "./town.ts";

/** Decides at which steps the process dies: at each at most once, so that it goes on. */
class Kills {
  readonly #share: number;
  readonly #random: () => number;
  readonly #seen = new Set<string>();
  count = 0;

  /** @param share of the steps, 0 to 1. */
  constructor(share: number, random: () => number) {
    this.#share = share;
    this.#random = random;
  }

  isDue(step: string): boolean {
    if (this.#seen.has(step)) return false;
    this.#seen.add(step);
    if (this.#random() >= this.#share) return false;
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
  async around<T>(step: string, work: () => Promise<T> | T): Promise<T> {
    this.#pass(`before ${step}`);
    const result = await work();
    this.#pass(`after ${step}`);
    return result;
  }

  #pass(step: string): void {
    if (!this.isOver && this.#lane.kills.isDue(`${this.#lane.session} ${step}`)) {
      void this.#lane.kill();
    }
    if (this.isOver) throw new Error("this process is dead");
  }

  /** The shops, as this process reaches them. */
  deskOf(town: Town): Desk {
    return {
      read: (call) =>
        this.around(`${call.name} ${JSON.stringify(call.input)}`, () => town.read(call)),
      write: (call) => this.around(`${call.name} ${call.key}`, () => town.write(call)),
      find: (call) => this.around(`find ${call.key}`, () => town.find(call)),
    };
  }
}

/** One database and the process that lives on it; a kill puts another one in its place. */
class Lane implements AsyncDisposable {
  readonly kills: Kills;
  readonly town = new Town();
  session = "";
  readonly #url: string;
  readonly #database: Database;
  readonly #stack: AsyncDisposableStack;
  #life!: Life;
  #living!: TestEngine;
  #killing: Promise<void> = Promise.resolve();
  readonly #dying = new Set<Promise<void>>();

  private constructor(
    kills: Kills,
    parts: { url: string; database: Database; stack: AsyncDisposableStack },
  ) {
    this.kills = kills;
    this.#url = parts.url;
    this.#database = parts.database;
    this.#stack = parts.stack;
  }

  static async open(kills: Kills): Promise<Lane> {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await testDatabase());
    const options = { url, applicationName: "retail", logger: silentLogger, max: 2 };
    const database = stack.adopt(await Database.open(options), (opened) => opened.close());
    const lane = new Lane(kills, { url, database, stack: stack.move() });
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
    // What it has accepted with its last statement.
    const ending = dead[Symbol.asyncDispose]()
      .then(() => this.living())
      .then((living) => living.engine.store.release(dead.processId))
      .then(() => void this.#dying.delete(ending));
    this.#dying.add(ending);
  }

  async #start(): Promise<void> {
    const life = new Life(this);
    const clerk = offlineModel("clerk", (request) => {
      const read = createHash("sha256").update(JSON.stringify(request.messages)).digest("hex");
      return life.around(`model ${read}`, () => answerOfClerk(request));
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

/** Plays one task to its end. Gives what is wrong. */
async function play(lane: Lane, task: Task, random: () => number): Promise<readonly string[]> {
  lane.session = task.id;
  const customer = new Customer(task, random);
  const lines: string[] = [];
  let said: Said | undefined = customer.open();
  let question: string | undefined;
  for (let number = 1; said; number++) {
    lines.push(`> ${said.text}`);
    if (number > MOST_MESSAGES) return [`${task.id} goes on for ever:`, ...lines];
    const confirmId = said.presses ? question : undefined;
    const request = { session: task.id, service: "retail", message: said.text, confirmId };
    question = await accepted(lane, request, `${task.id}/${number}`);
    const done = await lane.doneOf(question);
    lines.push(done.message);
    if (done.error) return [`${task.id} ends with ${done.error.code}:`, ...lines];
    if (lane.kills.isDue(`${task.id} told ${number}`)) await lane.kill();
    said = customer.answer(done);
    if (!said?.agrees) continue;
    for (const { tool, args } of done.approvals!) {
      lane.town.agree({ session: task.id, name: tool, input: args as Record<string, never> });
    }
  }
  const told = lines.filter((line) => !line.startsWith("> ")).join("\n");
  const problems = lane.town.problems(task.id, task, told);
  return problems.length === 0 ? [] : [`${task.id}:`, ...problems, ...lines];
}

/** The turn of a message. What is lost with its process is sent again under its key. */
async function accepted(lane: Lane, request: TurnRequest, key: string): Promise<string> {
  for (;;) {
    const living = await lane.living();
    const accepting = living.engine.accept(request, { key }).catch((error: unknown) => error);
    const isKilled = lane.kills.isDue(`accept ${key}`);
    if (isKilled) await lane.kill();
    const answer = await accepting;
    if (isKilled || living !== (await lane.living())) continue;
    if (answer instanceof Error) throw answer;
    if (lane.kills.isDue(`accepted ${key}`)) await lane.kill();
    return (answer as { turnId: string }).turnId;
  }
}

const LANES = 3;

async function playAll(seed: string, share: number) {
  const left = [...TASKS];
  const problems: string[] = [];
  let kills = 0;
  await Promise.all(
    Array.from({ length: LANES }, async (_, number) => {
      await using lane = await Lane.open(new Kills(share, randomFrom(`${seed}/${number}`)));
      for (let task = left.shift(); task; task = left.shift()) {
        problems.push(...(await play(lane, task, randomFrom(`${seed}/${task.id}`))));
      }
      kills += lane.kills.count;
    }),
  );
  return { problems, kills };
}

/** `DURE_TEST_LONG=1`: eight times all tasks, with a kill at every step. */
const IS_LONG = process.env["DURE_TEST_LONG"] === "1";
const ROUNDS = IS_LONG ? 8 : 1;
const SHARE = IS_LONG ? 1 : 0.1;

test("the shop has at least 15 tools and 60 tasks", () => {
  expect(TOOL_COUNT).toBeGreaterThanOrEqual(15);
  expect(TASKS).toHaveLength(60);
});

test.each(Array.from({ length: ROUNDS }, (_, index) => index + 1))(
  "an honest clerk brings every task to its end, each write once and after its yes (round %i)",
  { timeout: 1_200_000 },
  async (round) => {
    const { problems, kills } = await playAll(`round ${round}`, SHARE);

    expect(problems).toEqual([]);
    expect(kills).toBeGreaterThan(TASKS.length);
    console.info(`round ${round}: ${TASKS.length} tasks, ${kills} kills`);
  },
);
