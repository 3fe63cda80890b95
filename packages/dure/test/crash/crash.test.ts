import { afterAll, beforeAll, expect, test } from "vitest";
import type { FaultInput } from "../../../../examples/transfer/bank/faults.ts";
import { expectTransferred, expectWholeStream, resumedAfter } from "./checks.ts";
import type { ServerProcess } from "./server-process.ts";
import { within } from "./server-process.ts";
import { printTable } from "./table.ts";
import { World } from "./world.ts";

/**
 * The crash table: the real server is killed with SIGKILL at each named point of a turn that understands, fills slots, books,
 * words a receipt and sends a hook; then it is started again. Source: docs/spec/conversation §3, §4, §6, §8.
 */
interface Point {
  readonly name: string;
  /** Arranges that the server comes to the point; resolves when it stands there. */
  readonly come: (world: World, session: string) => Promise<unknown>;
  /** Model calls that are made again: death cut them off, or came before their record. */
  readonly again?: readonly string[];
  /** Deliveries of the hook; once unless death came between its arrival and its record. */
  readonly deliveries?: number;
}

const before = (world: World, name: string, containing = "") => world.proxy.stop("before", (statement) => statement.name === name && statement.parameters.includes(containing)).reached;
const after = (world: World, name: string, containing = "") => world.proxy.stop("after", (statement) => statement.name === name && statement.parameters.includes(containing)).reached;
/** Whichever statement writes the record of a model call. */
const recording = (world: World, when: "before" | "after", agent: string) =>
  world.proxy.stop(when, ({ parameters }) => parameters.includes(`model:${agent}`)).reached;

const EARLY: readonly Point[] = [
  { name: "accepted, not answered", come: (world) => after(world, "accept_turn") },
  { name: "before model call 1 answers", come: (world) => world.provider.hold("intent", "before"), again: ["intent"] },
  { name: "model call 1 answered, no record", come: (world) => recording(world, "before", "intent"), again: ["intent"] },
  { name: "model call 1 recorded", come: (world) => recording(world, "after", "intent") },
  { name: "before model call 2 answers", come: (world) => world.provider.hold("slots", "before"), again: ["slots"] },
  { name: "model call 2 answered, no record", come: (world) => recording(world, "before", "slots"), again: ["slots"] },
  { name: "model call 2 recorded", come: (world) => recording(world, "after", "slots") },
];

/** Where the bank's behaviour matters. */
const EFFECT: readonly Point[] = [
  { name: "before the intent is written", come: (world) => before(world, "effect_intent") },
  { name: "intent written", come: (world) => after(world, "effect_intent") },
  {
    name: "bank called, not booked yet",
    async come(world) {
      const delays = (): number => world.bank.faults().filter((fault) => fault.kind === "delay" && fault.when === "before").length;
      if (delays() === 0) world.bank.addFaults({ kind: "delay", when: "before", ms: 700 });
      await world.until("the bank was not called", () => delays() === 0);
    },
  },
  {
    name: "booked, not answered",
    async come(world, session) {
      world.bank.addFaults({ kind: "delay", when: "after", ms: 1_500 });
      await world.until("the bank has not booked", () => world.bookingsOf(session) > 0);
    },
  },
  { name: "before the result is written", come: (world) => before(world, "effect_settle", "done") },
  { name: "result written", come: (world) => after(world, "effect_settle", "done") },
];

/** A bank that gave no answer. */
const DOUBT: readonly Point[] = [...EFFECT, { name: "doubt written", come: (world) => after(world, "effect_settle", "unknown") }];

const LATE: readonly Point[] = [
  { name: "before model call 3 answers", come: (world) => world.provider.hold("receipt", "before"), again: ["receipt"] },
  { name: "in the middle of model call 3", come: (world) => world.provider.hold("receipt", "middle"), again: ["receipt"] },
  { name: "before DONE", come: (world) => before(world, "finish_turn"), again: ["receipt"] },
  { name: "after DONE", come: (world) => after(world, "finish_turn") },
  { name: "hook arrived, not answered", come: (world) => world.hooks.hold(), deliveries: 2 },
  { name: "hook answered, no record", come: (world) => before(world, "outbox.record"), deliveries: 2 },
];

/** Injected delays are shorter than the tool's `settle` of 2 s. */
const BANKS: readonly { readonly name: string; readonly faults: readonly FaultInput[]; readonly points: readonly Point[] }[] = [
  { name: "is good", faults: [], points: [...EARLY, ...EFFECT, ...LATE] },
  { name: "ignores keys", faults: [{ kind: "ignore_keys", times: "always" }], points: EFFECT },
  { name: "books 1.2 s late, ignores keys", faults: [{ kind: "ignore_keys", times: "always" }, { kind: "delay", when: "before", ms: 1_200 }], points: DOUBT },
  { name: "cuts after booking, ignores keys", faults: [{ kind: "ignore_keys", times: "always" }, { kind: "cut", when: "after" }], points: DOUBT },
];

const rows: Record<string, string | number>[] = [];
let world: World;
let server: ServerProcess;

beforeAll(async () => {
  world = await World.start();
  server = world.serve();
  await server.url;
}, 120_000);

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  printTable("Killed with SIGKILL, started again", rows);
}, 120_000);

for (const { name: bank, faults, points } of BANKS) {
  for (const { name, come, again = [], deliveries = 1 } of points) {
    test(`killed at "${name}", with a bank that ${bank}: once and whole`, { timeout: 180_000 }, async () => {
      const session = world.newSession();
      world.provider.reset();
      world.hooks.reset();
      await fetch(`${world.bank.url}/faults`, { method: "DELETE" });
      world.bank.addFaults(...faults);

      const point = come(world, session);
      const reader = world.send(session, "홍길동에게 5만원 바로 보내줘", () => server.url);
      await within(point, `"${name}" was not reached`, () => server.log);
      await server.kill();
      server = world.serve();
      const { log } = server;
      const done = await within(reader.done, "the turn did not end", () => log);
      const turn = reader.turnId!;
      await world.until("the hook was not recorded", async () => (await hookOf(turn)) === "sent", () => log);

      await expectTransferred(world, session, turn, done);
      expect(await world.turnsOf(session)).toEqual([{ id: turn, status: "done" }]);
      expect(world.provider.counts).toEqual({ intent: 1, slots: 1, receipt: 1, ...Object.fromEntries(again.map((agent) => [agent, 2])) });
      expect(world.hooks.deliveries).toEqual(Array(deliveries).fill(`${turn}.0`));
      const events = await expectWholeStream(world, reader);
      const resumed = resumedAfter(server, turn);
      const { intent, slots, receipt } = world.provider.counts;
      rows.push({
        "killed at": name,
        "the bank": bank,
        bookings: world.bookingsOf(session),
        "model calls": `${intent}+${slots}+${receipt}`,
        "turns ended": 1,
        "events read": events,
        connections: reader.connections,
        hooks: world.hooks.deliveries.length,
        "resume ms": resumed ?? "-",
      });
    });
  }
}

async function hookOf(turn: string): Promise<string | undefined> {
  const [row] = await world.database.query<{ state: string }>({ text: "select state from dure.outbox where key = $1" }, [`${turn}.0`]);
  return row?.state;
}
