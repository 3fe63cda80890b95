/** A step: something that is done once over all lives of a turn. */

import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { PastStep, TurnJournal } from "./journal.ts";

/**
 * Something done once over all lives of a turn: at its place, it looks for what an earlier life
 * recorded, does the work where there is nothing, and records what came of it.
 *
 * Handler steps, effects, agents, model calls, tool calls, routers and turns on other servers are
 * all steps.
 */
export class Step {
  readonly path: string;
  readonly name: string;
  readonly past: StepPast;
  readonly #journal: TurnJournal;

  /** Throws `TURN_DIVERGED` where an earlier life did something else at `path`. */
  constructor(journal: TurnJournal, path: string, now: StepNow) {
    const past = decideStep(journal.pastAt(path, now.name), now);
    if (past.is === "diverged") throw journal.diverge(path, past.recorded, past.now);
    this.path = path;
    this.name = now.name;
    this.past = past;
    this.#journal = journal;
  }

  /** Events of this step that earlier lives stored. */
  get events(): readonly TurnEvent[] {
    return this.past.is === "new" ? [] : this.past.events;
  }

  /** The record of an earlier life, else what `work` gives now; a failure records nothing. */
  async once<Value>(work: () => Value | Promise<Value>, how?: RecordOptions): Promise<Value> {
    if (this.past.is === "recorded") return this.past.value as Value;
    this.#journal.replay?.assertMayDo(this.name);
    const value = await work();
    this.#journal.record(this.path, this.name, value, how);
    return value;
  }

  /** The same for a value that is at hand. */
  onceNow<Value>(make: () => Value, how?: RecordOptions): Value {
    if (this.past.is === "recorded") return this.past.value as Value;
    this.#journal.replay?.assertMayDo(this.name);
    const value = make();
    this.#journal.record(this.path, this.name, value, how);
    return value;
  }

  /** Stores, before the work, that it begins: of work whose progress cannot be observed here. */
  async begins(): Promise<void> {
    const beginning = new Step(this.#journal, this.path + BEGINS, { name: this.name });
    beginning.onceNow(() => null);
    await this.#journal.flushResults();
  }

  /** Places of the steps that this one is made of. */
  inside(): Places {
    return new Places(this.#journal, `${this.path}.`);
  }
}

/**
 * Names the steps of a handler in the order in which they begin: `1`, `2`, and inside of `2`:
 * `2.1`, `2.2`.
 */
export class Places {
  readonly #journal: TurnJournal;
  readonly #prefix: string;
  #last = 0;

  constructor(journal: TurnJournal, prefix = "") {
    this.#journal = journal;
    this.#prefix = prefix;
  }

  /** Throws `TURN_DIVERGED` where an earlier life did something else. */
  next(name: string, versions?: Versions): Step {
    return new Step(this.#journal, `${this.#prefix}${++this.#last}`, { name, versions });
  }
}

/** What earlier lives left at a place. */
export type StepPast =
  | { readonly is: "new" }
  | { readonly is: "begun"; readonly events: readonly TurnEvent[] }
  | { readonly is: "recorded"; readonly events: readonly TurnEvent[]; readonly value: unknown };

interface Diverged {
  readonly is: "diverged";
  readonly recorded: string;
  readonly now: string;
}

/** What this life is about to do at a place. */
export interface StepNow {
  readonly name: string;
  /** Given where records of another release must not be used. */
  readonly versions?: Versions | undefined;
}

/** Versions of a service: when the turn began, and in this process. */
export interface Versions {
  readonly began: string;
  readonly now: string;
}

/** `cheap`: losing the record costs nothing, so no caller waits for the write. */
export interface RecordOptions {
  readonly cheap?: boolean | undefined;
}

/**
 * What this life finds at a place. Pure; the first rule that applies wins. A place that has its
 * record never does its work again. Source: docs/spec/conversation §3.
 */
export function decideStep(past: PastStep | undefined, now: StepNow): StepPast | Diverged {
  if (!past) return NEW;
  if (past.name !== now.name) return { is: "diverged", recorded: past.name, now: now.name };

  const { versions } = now;
  if (versions && versions.began !== versions.now) {
    return {
      is: "diverged",
      recorded: `version ${versions.began}`,
      now: `version ${versions.now}`,
    };
  }
  const { events, record } = past;
  return record ? { is: "recorded", events, value: record.value } : { is: "begun", events };
}

const NEW: StepPast = { is: "new" };

/** Suffix of a step's path: the record of its beginning. */
export const BEGINS = ".0";
