import { UnfriendlyProvider } from "@dure/testing";
import { fileURLToPath } from "node:url";
import { startBank, type Bank } from "../../../../examples/transfer/bank/bank.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { TurnReader } from "../crash/turn-reader.ts";
import { eventually, until } from "../until.ts";
import type { WireDone } from "./desk.ts";
import { numbersFrom, rudeAnswer } from "./rude-people.ts";

const TEAM = fileURLToPath(new URL("team", import.meta.url));
/** One house for each wire format of the providers. */
const MODELS = ["openai:gpt-4.1-mini", "anthropic:claude-sonnet-4-5"] as const;
/** Share of the model's calls in which the provider is in a mood. */
const MOODY = 0.25;

/** What a person says to one of the servers. */
export interface Words {
  readonly session: string;
  readonly text: string;
  readonly key: string;
  readonly service: string;
  readonly confirmId?: string | undefined;
}

/** A turn that is under way. */
export interface Begun {
  readonly turnId: string;
  readonly done: Promise<WireDone>;
  /** Texts of the stored events so far. */
  shown(): readonly string[];
}

/**
 * Two server processes on one database, a bank that counts, and a provider that does what real
 * models do, all over HTTP on loopback. A server can be killed under its turns at any moment.
 */
export class Town implements AsyncDisposable {
  readonly bank: Bank;
  readonly provider: UnfriendlyProvider;
  readonly database: Database;
  kills = 0;
  turns = 0;
  readonly #stack: AsyncDisposableStack;
  readonly #houses: ServerProcess[] = [];
  readonly #environment: Readonly<Record<string, string>>;
  #isKilling = false;

  private constructor(
    parts: Pick<Town, "bank" | "provider" | "database">,
    databaseUrl: string,
    stack: AsyncDisposableStack,
  ) {
    this.bank = parts.bank;
    this.provider = parts.provider;
    this.database = parts.database;
    this.#stack = stack;
    this.#environment = {
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: "error",
      OPENAI_BASE_URL: `${parts.provider.url}/v1`,
      ANTHROPIC_BASE_URL: `${parts.provider.url}/v1`,
      ANTHROPIC_API_KEY: "test",
      RUDE_BANK_URL: parts.bank.url,
    };
  }

  static async start(): Promise<Town> {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await testDatabaseUrl());
    const bank = await startBank();
    stack.defer(() => bank.stop());
    const provider = stack.use(await unfriendlyProvider());
    const open = { url, applicationName: "rude-town", logger: silentLogger, max: 4 };
    const database = await Database.open({ ...open, clock: systemClock });
    stack.defer(() => database.close());
    const town = new Town({ bank, provider, database }, url, stack.move());
    for (const house of MODELS.keys()) town.#open(house);
    await Promise.all(town.#houses.map((server) => server.url));
    return town;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#houses) await server[Symbol.asyncDispose]();
    await this.#stack.disposeAsync();
  }

  /** Sends it to one of the servers; its client goes wherever a server answers. */
  async begin(words: Words, house: number): Promise<Begun> {
    const { confirmId, ...message } = words;
    const told = confirmId === undefined ? message : { ...message, confirmId };
    const reader = new TurnReader(told, () => this.#urlNear(house));
    this.#stack.defer(async () => reader.leave());
    this.turns += 1;
    const isIn = (): string | undefined => reader.turnId ?? reader.refusal;
    await until(isIn, () => `${words.text} was not accepted`, { patienceMs: 120_000 });
    if (reader.turnId === undefined) throw new Error(`${words.text}: ${reader.refusal}`);
    return {
      turnId: reader.turnId,
      done: reader.done as unknown as Promise<WireDone>,
      shown: () => reader.events.filter(({ event }) => event !== "DONE").map(({ data }) => data),
    };
  }

  /** A tap on "stop": it may come too late, or find no server. */
  async stop(turnId: string, house: number): Promise<void> {
    const url = await this.#urlNear(house);
    const path = `${url}/v1/agent/turns/${turnId}/stop`;
    await fetch(path, { method: "POST" }).catch(() => undefined);
  }

  /** `SIGKILL`, and a new process in its place. False: another kill is under way. */
  async kill(house: number): Promise<boolean> {
    if (this.#isKilling) return false;
    this.#isKilling = true;
    try {
      await this.#houses[house]!.kill();
      this.kills += 1;
      await this.#open(house).url;
      return true;
    } finally {
      this.#isKilling = false;
    }
  }

  async completed(session: string): Promise<readonly { readonly data: unknown }[]> {
    const path = `/v1/agent/completed?session_id=${session}`;
    // The server may be killed under it.
    const read = async (): Promise<Response> => fetch((await this.#urlNear(0)) + path);
    const answer = await eventually(read, { patienceMs: 60_000 });
    return ((await answer.json()) as { items: { data: unknown }[] }).items;
  }

  #open(house: number): ServerProcess {
    const server = ServerProcess.spawn({ ...this.#environment, RUDE_MODEL: MODELS[house]! }, TEAM);
    this.#houses[house] = server;
    return server;
  }

  /** Of that house; while it is down, of the other one. */
  async #urlNear(house: number): Promise<string> {
    const near = this.#houses[house]!;
    return (near.isOver ? this.#houses[1 - house]! : near).url;
  }
}

/** Reads well or rudely, by what it is asked: the same question gets the same answer. */
function unfriendlyProvider(): Promise<UnfriendlyProvider> {
  return UnfriendlyProvider.start({
    seed: 1,
    often: MOODY,
    slowMs: 20,
    answer: ({ system, lastText }) => {
      const random = numbersFrom(hashOf(system + lastText));
      const answer = rudeAnswer({ system, messages: [{ role: "user", text: lastText }] }, random);
      return { text: answer.text, object: answer.object };
    },
  });
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
