import { startBank, type Bank } from "../../../../examples/transfer/bank/bank.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { PostgresProxy } from "@dure/testing";
import { HookReceiver } from "./hook-receiver.ts";
import { ModelProvider } from "./model-provider.ts";
import { ServerProcess, within } from "./server-process.ts";
import type { Variant } from "./team/service.ts";
import { TurnReader, type Message } from "./turn-reader.ts";

/** Everything around the server of one test file: it survives what the server does not. */
export class World implements AsyncDisposable {
  readonly bank: Bank;
  readonly proxy: PostgresProxy;
  readonly provider: ModelProvider;
  readonly hooks: HookReceiver;
  /** The same database without the proxy: what is really stored. */
  readonly database: Database;
  readonly #stack: AsyncDisposableStack;
  readonly #servers: ServerProcess[] = [];
  #sessions = 0;

  private constructor(
    parts: Pick<World, "bank" | "proxy" | "provider" | "hooks" | "database">,
    stack: AsyncDisposableStack,
  ) {
    this.bank = parts.bank;
    this.proxy = parts.proxy;
    this.provider = parts.provider;
    this.hooks = parts.hooks;
    this.database = parts.database;
    this.#stack = stack;
  }

  static async start(): Promise<World> {
    await using stack = new AsyncDisposableStack();
    const owned = stack.use(await testDatabaseUrl());
    const bank = await startBank();
    stack.defer(() => bank.stop());
    const proxy = stack.use(await PostgresProxy.start(owned.url));
    const provider = stack.use(await ModelProvider.start());
    const hooks = stack.use(await HookReceiver.start());
    const database = await Database.open({
      url: owned.url,
      applicationName: "crash-test",
      logger: silentLogger,
      max: 2,
    });
    stack.defer(() => database.close());
    return new World({ bank, proxy, provider, hooks, database }, stack.move());
  }

  /** Starts a server; it is killed at the end at the latest. */
  serve(variant: Variant = "plain", { drain = "10s" }: { drain?: string } = {}): ServerProcess {
    const server = ServerProcess.spawn({
      DATABASE_URL: this.proxy.url,
      OPENAI_BASE_URL: this.provider.url,
      CRASH_BANK_URL: this.bank.url,
      CRASH_HOOK_URL: this.hooks.url,
      CRASH_VARIANT: variant,
      CRASH_DRAIN: drain,
    });
    this.#servers.push(server);
    return server;
  }

  /**
   * The server if it still runs, else a new one: one failed row does not fail the next. Ready when
   * it resolves.
   */
  async running(server: ServerProcess | undefined): Promise<ServerProcess> {
    const running = server && !server.isOver ? server : this.serve();
    await running.url;
    return running;
  }

  newSession(): string {
    return `crash-${++this.#sessions}`;
  }

  /** Forgets what was counted, takes back what was arranged. */
  async reset(): Promise<void> {
    this.proxy.disarm();
    this.provider.reset();
    this.hooks.reset();
    await fetch(`${this.bank.url}/faults`, { method: "DELETE" });
  }

  /** Sends a message to whatever server `url` names and follows its turn. */
  send(message: Message, url: () => Promise<string>): TurnReader {
    const reader = new TurnReader(message, url);
    this.#stack.defer(async () => reader.leave());
    return reader;
  }

  /** What is stored of a turn's stream, in order: `1 AGENT_START`, …, `9 DONE`. */
  async storedEvents(turn: string): Promise<string[]> {
    const rows = await this.database.query<{ seq: number; type: string }>(
      {
        text: `select seq, type from dure.turn_events where turn_id = $1 and type <> 'RECORD'
               union all select done_seq, 'DONE' from dure.turns where id = $1 and done is not null order by 1`,
      },
      [turn],
    );
    return rows.map(({ seq, type }) => `${seq} ${type}`);
  }

  bookingsOf(session: string): number {
    return this.bank.bookings().filter(({ key }) => key.startsWith(`${session}/`)).length;
  }

  async turnsOf(session: string): Promise<readonly { id: string; status: string }[]> {
    return this.database.query<{ id: string; status: string }>(
      { text: "select id, status from dure.turns where session_id = $1 order by accepted_at" },
      [session],
    );
  }

  /** The stages that the turn has noted as finished. */
  async completedOf(turn: string): Promise<readonly string[]> {
    const rows = await this.database.query<{ stage: string }>(
      { text: "select stage from dure.completed where turn_id = $1 order by id" },
      [turn],
    );
    return rows.map(({ stage }) => stage);
  }

  /** How far the delivery of the turn's first hook has come. */
  async hookState(turn: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ state: string }>(
      { text: "select state from dure.outbox where key = $1" },
      [`${turn}.0`],
    );
    return row?.state;
  }

  /** Waits until `isTrue`, at most as long as everything here waits. */
  async until(
    what: string,
    isTrue: () => Promise<boolean> | boolean,
    log: () => readonly string[] = () => [],
  ): Promise<void> {
    let over = false;
    const wait = async (): Promise<void> => {
      while (!over && !(await isTrue())) await systemClock.sleep(20);
    };
    try {
      await within(wait(), what, log);
    } finally {
      over = true;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server[Symbol.asyncDispose]();
    await this.#stack.disposeAsync();
  }
}
