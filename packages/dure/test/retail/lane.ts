import { createHash } from "node:crypto";
import { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { TurnRequest } from "../../src/engine/api.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { Done } from "../../src/kernel/turn-events.ts";
import { offlineModel } from "../../src/models/offline.ts";
import { answerOfClerk } from "./clerk.ts";
import type { Host, Message } from "./play.ts";
import { retailService } from "./service.ts";
import { Kills, Life } from "./steps.ts";
import { Town } from "./town.ts";

/** One database and the process that lives on it; a kill puts another one in its place. */
export class Lane implements Host, AsyncDisposable {
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
    this.#end();
    this.#killing = this.#killing.then(() => this.#replace());
    return this.#killing;
  }

  #end(): void {
    this.#life.isOver = true;
    this.#living.fence();
  }

  async #replace(): Promise<void> {
    this.#end(); // of two kills at once the second meets the one that was just started
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

  async say({ session, text: message, key, confirmId }: Message) {
    const request = { session, service: "retail", message, confirmId };
    const turn = await this.#accepted(request, `${session}/${key}`);
    return { turn, done: await this.#doneOf(turn) };
  }

  /** The turn of a message. What is lost with its process is sent again under its key. */
  async #accepted(request: TurnRequest, key: string): Promise<string> {
    const { kills } = this;
    for (;;) {
      const living = await this.living();
      const accepting = living.engine.accept(request, { key }).catch((error: unknown) => error);
      const isKilled = kills.isDue("accept", key);
      if (isKilled) await this.kill();
      const answer = await accepting;
      if (isKilled || living !== (await this.living())) continue;
      if (answer instanceof Error) throw answer;
      if (kills.isDue("accepted", key)) await this.kill();
      return (answer as { turnId: string }).turnId;
    }
  }

  async #doneOf(turn: string): Promise<Done> {
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
