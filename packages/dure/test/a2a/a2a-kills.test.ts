import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBank, type Bank } from "../../../../examples/transfer/bank/bank.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { until } from "../until.ts";
import { openSwitch, type Switch } from "./switch.ts";

/**
 * Two teams, each of two processes on a database of its own. One hands its work to the other over
 * A2A; the other pays at a bank. Processes are killed while the money moves: it moves once.
 */
const folder = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Two processes of one team; one of them is spoken to. */
class Pair {
  readonly #spawn: () => Promise<ServerProcess>;
  #front: ServerProcess | undefined;
  #other: ServerProcess | undefined;

  constructor(spawn: () => Promise<ServerProcess>) {
    this.#spawn = spawn;
  }

  /** Both run. Gives the address of the one that is spoken to. */
  async complete(): Promise<string> {
    this.#front ??= await this.#spawn();
    this.#other ??= await this.#spawn();
    await this.#other.url;
    return this.#front.url;
  }

  /** Kills the one that is spoken to. Gives the address of the other one. */
  async killFront(): Promise<string> {
    await this.#front!.kill();
    this.#front = this.#other;
    this.#other = undefined;
    return this.#front!.url;
  }

  log(): string {
    return [this.#front, this.#other].flatMap((one) => one?.log.slice(-20) ?? []).join("\n");
  }

  async stop(): Promise<void> {
    await this.#front?.[Symbol.asyncDispose]();
    await this.#other?.[Symbol.asyncDispose]();
  }
}

let bank: Bank;
let way: Switch;
let there: Database;
let asking: Pair;
let doing: Pair;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  bank = await startBank();
  stack.defer(() => bank.stop());
  way = stack.use(await openSwitch());
  const databases = {
    asking: stack.use(await testDatabaseUrl()).url,
    doing: stack.use(await testDatabaseUrl()).url,
  };
  there = await Database.open({
    url: databases.doing,
    applicationName: "a2a-kills",
    logger: silentLogger,
    max: 2,
  });
  stack.defer(() => there.close());
  asking = pairOf("asking", { DATABASE_URL: databases.asking, A2A_URL: way.url });
  doing = pairOf("doing", { DATABASE_URL: databases.doing, A2A_BANK_URL: bank.url });
  stack.defer(() => asking.stop());
  stack.defer(() => doing.stop());
}, 120_000);

afterAll(async () => stack.disposeAsync(), 60_000);

function pairOf(team: string, environment: Readonly<Record<string, string>>): Pair {
  return new Pair(async () => {
    const home = await mkdtemp(path.join(tmpdir(), "dure-a2a-"));
    stack.defer(() => rm(home, { recursive: true, force: true }));
    return ServerProcess.spawn({ ...environment, DURE_HOME: home }, folder(`${team}-team`));
  });
}

/** Resolves when the turn is stored; its stream is left. */
async function ask(url: string, message: string): Promise<string> {
  const answer = await fetch(`${url}/v1/agent/chat/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_id: message.replaceAll(" ", "-"), message }),
  });
  await answer.body?.cancel();
  return answer.headers.get("turn-id")!;
}

interface End {
  readonly message: string;
  readonly error?: { readonly code: string };
}

async function endOf(url: string, turn: string): Promise<End> {
  const answer = await fetch(`${url}/v1/agent/turns/${turn}/stream`);
  const data = /^event: DONE\ndata: (.*)$/mu.exec(await answer.text())?.[1];
  if (data === undefined) throw new Error(`no DONE\n${asking.log()}\n${doing.log()}`);
  return JSON.parse(data) as End;
}

function bookingsTo(person: string): readonly number[] {
  return bank.bookings().flatMap(({ to, amount }) => (to === person ? [amount] : []));
}

/** What was asked of the other team in a session. */
async function turnsThere(session: string): Promise<number> {
  const rows = await there.query({ text: "select 1 from dure.turns where session_id = $1" }, [
    session,
  ]);
  return rows.length;
}

describe("one team hands work to another over A2A", { ...FULL, timeout: 240_000 }, () => {
  test.each([
    ["the process that asks", "hong", ["asking"]],
    ["the process that does it", "kim", ["doing"]],
    ["first the one that does it, then the one that asks", "park", ["doing", "asking"]],
    ["first the one that asks, then the one that does it", "choi", ["asking", "doing"]],
  ] as const)("%s is killed while the money moves: it moves once", async (_who, person, kills) => {
    const pairs = { asking, doing };
    let url = await asking.complete();
    way.leadTo(await doing.complete());
    bank.addFaults({ kind: "delay", when: "after", ms: 5_000 });

    const turn = await ask(url, `${person} 5000`);
    await until(
      () => bookingsTo(person).length > 0,
      () => `nothing was booked\n${asking.log()}\n${doing.log()}`,
    );
    for (const side of kills) {
      const other = await pairs[side].killFront();
      if (side === "asking") url = other;
      else way.leadTo(other);
    }

    expect(await endOf(url, turn)).toMatchObject({ message: `${person}: done` });
    expect(bookingsTo(person)).toEqual([5_000]);
    expect(await turnsThere(`${person}-5000`)).toBe(1);
  });
});
