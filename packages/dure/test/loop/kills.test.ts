import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess, within } from "../crash/server-process.ts";
import { TurnReader } from "../crash/turn-reader.ts";
import { until } from "../until.ts";
import { World, type Asked, type Moment, type Script } from "./world.ts";

/** The loop of an agent under `kill -9`, one after the other at each of its moments. */

const TEAM = fileURLToPath(new URL("team", import.meta.url));
const SLOW = { ...FULL, timeout: 240_000 };

/** One server on one database, and the next one where it was killed. */
class Servers implements AsyncDisposable {
  readonly #environment: Readonly<Record<string, string>>;
  #current: ServerProcess;
  #isKilled = false;

  constructor(stored: TestDatabase, world: World) {
    const base = `${world.url}/v1`;
    this.#environment = {
      DATABASE_URL: stored.url,
      LOOP_WORLD: world.url,
      OPENAI_BASE_URL: base,
      LOG_LEVEL: "warn",
    };
    this.#current = this.#spawned();
  }

  get log(): readonly string[] {
    return this.#current.log;
  }

  /** One that ended by itself, as on a machine that stood still, is started again. */
  get ready(): Promise<string> {
    if (this.#current.isOver && !this.#isKilled) this.start();
    return this.#current.url;
  }

  say(text: string, session: string): TurnReader {
    return new TurnReader(
      { session, text, key: text.slice(0, 8).replace(" ", "-") },
      () => this.ready,
    );
  }

  kill(): Promise<void> {
    this.#isKilled = true;
    return this.#current.kill();
  }

  start(): void {
    this.#isKilled = false;
    this.#current = this.#spawned();
  }

  #spawned(): ServerProcess {
    return ServerProcess.spawn(this.#environment, TEAM);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#current[Symbol.asyncDispose]();
  }
}

/** Says something, and kills the server at each of the moments, in their order. */
async function saidUnderKills(
  servers: Servers,
  world: World,
  { text, session, moments }: { text: string; session: string; moments: readonly Moment[] },
): Promise<Record<string, unknown>> {
  const [first, ...later] = moments;
  let reached = world.reached(first!);
  const reader = servers.say(text, session);
  for (const next of [...later, undefined]) {
    await within(reached, "a moment was not reached", () => [
      ...world.answered.map(({ said }) => JSON.stringify(said)),
      ...servers.log,
    ]);
    await servers.kill();
    if (next !== undefined) reached = world.reached(next);
    servers.start();
  }
  return within(reader.done, "the turn did not end", () => servers.log);
}

function toolsOf({ tools = [] }: Asked): readonly string[] {
  return tools.map((one) => one.function.name);
}

/** What the model has read as the results of its calls. */
function resultsIn({ messages }: Asked): readonly unknown[] {
  return messages.filter(({ role }) => role === "tool").map(({ content }) => content);
}

/** What is on the provider's bill, and what the team has noted. */
async function bills(stored: TestDatabase, world: World): Promise<readonly number[]> {
  const [row] = await stored.database.query<{ calls: number; tokens: number }>({
    text: `select count(*)::int as calls, coalesce(sum(tokens_in), 0)::int as tokens
      from dure.model_calls
      where error is null`,
  });
  const paid = world.answered.filter(({ said }) => said.status === undefined).length;
  return [paid, row!.calls, row!.tokens / 100];
}

const SEARCHES: Script = (_asked, round) =>
  [
    { call: { name: "find_tools", args: { query: "pay money to a person" } } },
    { call: { name: "pay", args: { to: "mina" } } },
    { text: "Paid." },
  ][round]!;

test(
  "a tool that was searched, found and called outlives kill -9 at each step: it is paid once",
  SLOW,
  async () => {
    await using stored = await testDatabase();
    await using world = await World.start();
    await using servers = new Servers(stored, world);
    world.script = SEARCHES;
    const moments = ["gpt-first 0", "gpt-first 1", "world pay/mina", "gpt-first 2"];

    const done = await saidUnderKills(servers, world, { text: "pay", session: "search", moments });

    expect(done).toMatchObject({ message: "Paid." });
    expect(world.done).toEqual(["pay/mina"]);
    const [first, second, third] = world.answered.map(({ asked }) => asked);
    expect(toolsOf(first!)).not.toContain("pay");
    expect(toolsOf(second!)).toContain("pay");
    expect(resultsIn(third!)).toHaveLength(2);
    expect(await bills(stored, world)).toEqual([3, 3, 3]);
  },
);

/** The handle of the result that the model has read last. */
function handleIn(asked: Asked): string {
  const [, handle] = /handle\\*": ?\\*"([^"\\]+)/u.exec(JSON.stringify(resultsIn(asked))) ?? [];
  return handle ?? "";
}

const READS: Script = (asked, round) => {
  if (round === 0) return { call: { name: "ledger", args: {} } };
  if (round > 1) return { text: "It is there." };
  const args = { handle: handleIn(asked), search: "line 444 " };
  return { call: { name: "read_result", args } };
};

test(
  "a result read piece by piece outlives kill -9 at each step, and is made once more at most",
  SLOW,
  async () => {
    await using stored = await testDatabase();
    await using world = await World.start();
    await using servers = new Servers(stored, world);
    world.script = READS;
    const moments = ["gpt-first 0", "world ledger", "gpt-first 1", "gpt-first 2"];

    const done = await saidUnderKills(servers, world, { text: "read", session: "read", moments });

    expect(done).toMatchObject({ message: "It is there." });
    expect(world.done).toEqual(["ledger", "ledger"]); // the first one's answer died with its reader
    expect(resultsIn(world.answered.at(-1)!.asked).at(-1)).toContain("line 444 of the ledger");
    expect(await bills(stored, world)).toEqual([3, 3, 3]);
  },
);

const LOADS: Script = (_asked, round) =>
  [
    { call: { name: "load_skill", args: { name: "refunds" } } },
    { call: { name: "find_tools", args: { query: "pay" } } },
    { call: { name: "pay", args: { to: "mina" } } },
    { text: "Paid back." },
  ][round]!;

test(
  "a skill that was loaded outlives kill -9 at each step: its work is done once",
  SLOW,
  async () => {
    await using stored = await testDatabase();
    await using world = await World.start();
    await using servers = new Servers(stored, world);
    world.script = LOADS;
    const moments = ["gpt-first 0", "gpt-first 1", "gpt-first 2", "world pay/mina", "gpt-first 3"];

    const done = await saidUnderKills(servers, world, {
      text: "refund",
      session: "skill",
      moments,
    });

    expect(done).toMatchObject({ message: "Paid back." });
    expect(world.done).toEqual(["pay/mina"]);
    const results = resultsIn(world.answered.at(-1)!.asked);
    expect(results).toHaveLength(3);
    expect(results[0]).toContain("Pay back at once what was paid twice.");
    expect(await bills(stored, world)).toEqual([4, 4, 4]);
  },
);

/** The first model of the chain is away after the search. */
const FALLS_OVER: Script = (asked, round) =>
  asked.model === "gpt-first" && round > 0 ? { status: 500 } : SEARCHES(asked, round);

test(
  "a chain that fell over outlives kill -9 at each step: one payment, each call billed once",
  SLOW,
  async () => {
    await using stored = await testDatabase();
    await using world = await World.start();
    await using servers = new Servers(stored, world);
    world.script = FALLS_OVER;
    const moments = [
      "gpt-first 1",
      "gpt-second 1",
      "world pay/mina",
      "gpt-first 2",
      "gpt-second 2",
    ];

    const done = await saidUnderKills(servers, world, { text: "pay", session: "chain", moments });

    expect(done).toMatchObject({ message: "Paid." });
    expect(world.done).toEqual(["pay/mina"]);
    expect(world.answered.map(({ asked, said }) => [asked.model, said.status ?? 200])).toEqual([
      ["gpt-first", 200],
      ["gpt-first", 500],
      ["gpt-second", 200],
      ["gpt-first", 500],
      ["gpt-second", 200],
    ]);
    const [first, second] = world.answered.slice(-2).map(({ asked }) => asked.messages);
    expect(second).toEqual(first);
    expect(await bills(stored, world)).toEqual([3, 3, 3]);
  },
);

const LONG = "Please remember each of these words. ".repeat(300);

function isFold({ messages }: Asked): boolean {
  return JSON.stringify(messages).includes("<dialog>");
}

function isTooLong({ messages }: Asked): boolean {
  return JSON.stringify(messages).length > 2.5 * LONG.length;
}

/** Whether the person's newest message begins so. */
function isAsked({ messages }: Asked, text: string): boolean {
  const newest = messages.findLast(({ role }) => role === "user");
  return JSON.stringify(newest).includes(text);
}

/** Finds a request with more than two of the long messages too long; pays after the third. */
const SMALL: Script = (asked, round) => {
  if (isFold(asked)) return { text: "They sent long words." };
  if (isTooLong(asked)) return { status: 400, code: "context_length_exceeded" };
  return isAsked(asked, "3 Please") ? SEARCHES(asked, round) : { text: "Noted." };
};

test(
  "a request that was too long outlives kill -9 around its second try; its session is folded",
  SLOW,
  async () => {
    await using stored = await testDatabase();
    await using world = await World.start();
    await using servers = new Servers(stored, world);
    world.script = SMALL;
    const session = "long";
    for (const nth of [1, 2]) await servers.say(`${nth} ${LONG}`, session).done;
    const before = world.answered.length;

    const secondTry: Moment = (asked) => !isTooLong(asked);
    const moments = [secondTry, "world pay/mina"];
    const done = await saidUnderKills(servers, world, { text: `3 ${LONG}`, session, moments });
    await until(
      async () => world.answered.some(({ asked }) => isFold(asked)) || undefined,
      () => "the session was not folded",
    );
    await servers.kill();
    servers.start();
    const next = await servers.say(`4 ${LONG}`, session).done;

    expect([done["message"], next["message"]]).toEqual(["Paid.", "Noted."]);
    expect(world.done).toEqual(["pay/mina"]);
    const asked = world.answered.slice(before).filter((one) => !isFold(one.asked));
    expect(asked.map(({ said }) => said.status ?? 200)).toEqual([400, 200, 200, 200, 200]);
    const last = JSON.stringify(asked.at(-1)!.asked.messages);
    expect([last.includes("1 Please"), last.includes("mina")]).toEqual([false, true]);
  },
);
