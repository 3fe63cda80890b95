import type { FaultInput } from "../../../../examples/transfer/bank/faults.ts";
import type { World } from "./world.ts";

/** A named moment of a turn at which its server is killed. */
export interface Point {
  readonly name: string;
  /** Arranges that the server comes there; resolves when it stands there. */
  readonly come: (world: World, session: string) => Promise<unknown>;
  /**
   * Agents that are asked again: death cut the call off, or came between its answer and its record.
   */
  readonly again?: readonly string[];
  /** Deliveries of the hook: once, unless death came between its arrival and its record. */
  readonly deliveries?: number;
}

/** When a turn was accepted and its caller has not heard of it. */
export const ACCEPTED: Point = {
  name: "accepted, not answered",
  come: (world) => at(world, "after", "accept_turn"),
};

/**
 * Around the `number`-th model call of the turn, made for `agent`, whose record is written before
 * the next call.
 */
export function aroundModelCall(number: number, agent: string): readonly Point[] {
  const call = `model call ${number}`;
  return [
    {
      name: `before ${call} answers`,
      come: (world) => world.provider.hold(agent, "before"),
      again: [agent],
    },
    {
      name: `${call} answered, no record`,
      come: (world) => recording(world, "before", agent),
      again: [agent],
    },
    { name: `${call} recorded`, come: (world) => recording(world, "after", agent) },
  ];
}

/** Around the effect, with a bank that answers. */
export const AROUND_EFFECT: readonly Point[] = [
  { name: "before the intent is written", come: (world) => at(world, "before", "effect_intent") },
  { name: "intent written", come: (world) => at(world, "after", "effect_intent") },
  {
    name: "bank called, not booked yet",
    async come(world) {
      const delays = (): number =>
        world.bank.faults().filter((fault) => fault.kind === "delay" && fault.when === "before")
          .length;
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
  {
    name: "before the result is written",
    come: (world) => at(world, "before", "effect_settle", "done"),
  },
  { name: "result written", come: (world) => at(world, "after", "effect_settle", "done") },
];

/** A bank that gave no answer in time. */
export const DOUBT_WRITTEN: Point = {
  name: "doubt written",
  come: (world) => at(world, "after", "effect_settle", "unknown"),
};

/** @param again agents whose record is written together with `DONE`. */
export function aroundDone(again: readonly string[] = []): readonly Point[] {
  return [
    { name: "before DONE", come: (world) => at(world, "before", "finish_turn"), again },
    { name: "after DONE", come: (world) => at(world, "after", "finish_turn") },
  ];
}

export const AROUND_HOOK: readonly Point[] = [
  { name: "hook arrived, not answered", come: (world) => world.hooks.hold(), deliveries: 2 },
  {
    name: "hook answered, no record",
    come: (world) => at(world, "before", "outbox.record"),
    deliveries: 2,
  },
];

/** How a bank behaves, and where that matters. Injected delays are shorter than `settle` (2 s). */
export interface BankKind {
  readonly name: string;
  readonly faults: readonly FaultInput[];
}

export const GOOD_BANK: BankKind = { name: "keeps keys", faults: [] };
const IGNORES_KEYS: FaultInput = { kind: "ignore_keys", times: "always" };
export const BAD_BANKS: readonly BankKind[] = [
  { name: "ignores keys", faults: [IGNORES_KEYS] },
  {
    name: "ignores keys, books 1.2 s late",
    faults: [IGNORES_KEYS, { kind: "delay", when: "before", ms: 1_200 }],
  },
  {
    name: "ignores keys, cuts after booking",
    faults: [IGNORES_KEYS, { kind: "cut", when: "after" }],
  },
];

/**
 * Numbers that look random and are the same for the same seed, in [0, 1). Source: mulberry32,
 * public domain.
 */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function at(
  world: World,
  when: "before" | "after",
  statement: string,
  containing = "",
): Promise<unknown> {
  return world.proxy.stop(
    when,
    ({ name, parameters }) => name === statement && parameters.includes(containing),
  ).reached;
}

/** Whichever statement writes the record of a model call. */
function recording(world: World, when: "before" | "after", agent: string): Promise<unknown> {
  return world.proxy.stop(when, ({ parameters }) => parameters.includes(`model:${agent}`)).reached;
}
