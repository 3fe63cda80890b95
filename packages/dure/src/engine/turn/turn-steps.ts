/** The steps of a handler in their order, with the events that each of them tells. */

import type { TurnParts } from "./turn-parts.ts";
import { createHash } from "node:crypto";
import { compacted, jsonCopy } from "../../kernel/json.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { JournalRow } from "../../durable/turns.ts";
import { Places, type Step, type Versions } from "./step.ts";

/** The work of a step; its result is recorded. */
export type StepWork = (signal: AbortSignal) => unknown;

/**
 * The steps of one life of a handler, in the order in which they begin; the events of a step are
 * stored under its place.
 */
export class TurnSteps {
  readonly #turn: TurnParts;
  /**
   * A release that changes the order of steps raises the version; turns of the old one end, unless
   * the handler has looked at it: then this is undefined.
   */
  #versions: Versions | undefined;
  readonly #places: Places;
  /** Steps of events that handlers pass on themselves. */
  readonly #origins = new WeakMap<TurnEvent, Step>();
  readonly #shown: ShownText;
  /** The end of the last agent, which tells the stage that its outcome leads to. */
  #ended: { readonly step: NamedStep; readonly event: AgentDoneEvent } | undefined;
  /** How many numbers and ids were derived. */
  #derived = 0;

  constructor(turn: TurnParts) {
    const { held, journal, service } = turn;
    this.#turn = turn;
    this.#versions = { began: held.version, now: service?.version ?? held.version };
    this.#places = new Places(journal);
    this.#shown = new ShownText(held.rows);
  }

  /** What the person has seen so far. */
  get shownText(): string {
    return this.#shown.text;
  }

  /** Begins the next step. Throws `TURN_DIVERGED` where an earlier life did something else. */
  next(name: string): Step {
    return this.#places.next(name, this.#versions);
  }

  /** A step before the handler begins: it holds whatever the handler's version is. */
  nextRoute(name: "route" | "answers" = "route"): Step {
    return this.#places.next(name);
  }

  versionRead(): string {
    this.#versions = undefined;
    return this.#turn.held.version;
  }

  async run(name: string, work: StepWork): Promise<unknown> {
    this.#turn.stop.signal.throwIfAborted();
    return this.doWork(this.next(`step:${name}`), work);
  }

  /** Does the work of a handler's or an agent's step, unless it is recorded. */
  doWork(step: Step, work: StepWork): Promise<unknown> {
    const { signal } = this.#turn.stop;
    return step.once(async () => {
      this.#turn.stop.assertMayBegin();
      await this.goesOutside();
      const value = await work(signal);
      signal.throwIfAborted();
      return jsonCopy(value, `What "${step.name}" gave`); // what a replay will give
    });
  }

  /**
   * Before a call to the outside: stores what was recorded before it, and makes sure that no other
   * process has the turn, which could make the same call.
   */
  async goesOutside(): Promise<void> {
    this.tellEnded();
    const { held, journal, environment } = this.#turn;
    const { store, lease } = environment;
    if (journal.owesResults) await journal.flushResults();
    await store.confirm(held.turn, held.epoch, { signal: lease });
  }

  now(): number {
    return this.next("now").onceNow(() => this.#turn.environment.clock.now(), { cheap: true });
  }

  random(): number {
    return this.#derive("random").readUIntBE(0, 6) / 2 ** 48;
  }

  id(kind: string): string {
    return `${kind}_${this.#derive("id").toString("hex").slice(0, 26)}`;
  }

  /** Not recorded: it follows from the turn and the order of calls. */
  #derive(name: string): Buffer {
    return createHash("sha256")
      .update(`${this.#turn.held.turn}/${name}/${++this.#derived}`)
      .digest();
  }

  /** From now on `event` belongs to `step`, when the handler emits it. */
  noteOrigin(event: TurnEvent, step: Step): void {
    this.#origins.set(event, step);
  }

  emit(event: TurnEvent): void {
    const origin = this.#origins.get(event);
    if (origin) return this.store(origin, event);
    const step = this.next(`event:${event.type}`);
    if (step.past.is === "new") this.store(step, event);
  }

  store(step: NamedStep, event: TurnEvent): void {
    this.tellEnded();
    if (this.#turn.stop.isAsked) return; // a stopped turn that still settles an effect shows nothing more
    if (event.type === "AGENT_DONE") this.#ended = { step, event };
    else this.#tell(step, event);
  }

  /**
   * Tells that the last agent has ended, with the stage as the handler has left it since. Called
   * before the next event, before the next call to the outside, and at the end of the turn.
   */
  tellEnded(): void {
    if (!this.#ended) return;
    const { step, event } = this.#ended;
    this.#ended = undefined;
    const stage = this.#turn.route.state?.stage ?? event.data.stage; // one on another server has told it
    this.#tell(step, { ...event, data: compacted({ ...event.data, stage }) });
  }

  #tell({ path, name }: NamedStep, event: TurnEvent): void {
    this.#shown.take(path, event);
    this.#turn.journal.event(path, name, event);
  }
}

type NamedStep = Pick<Step, "path" | "name">;
type AgentDoneEvent = Extract<TurnEvent, { type: "AGENT_DONE" }>;

/**
 * What a person has seen of a turn's text, over all its lives. Of an agent that is called again,
 * what it says then.
 */
export class ShownText {
  readonly #parts = new Map<string, string>();
  /** By place, the part that its text belongs to: on another server several agents may speak. */
  readonly #speaking = new Map<string, string>();

  /** @param rows of the turn's journal: what earlier lives have shown. */
  constructor(rows: readonly JournalRow[]) {
    for (const { place, type, data } of rows) {
      this.take(place.slice(0, place.indexOf(" ")), { type, data } as TurnEvent);
    }
  }

  /** @param place path of the step whose event it is. */
  take(place: string, event: TurnEvent): void {
    if (event.type === "AGENT_START") {
      const part = `${place} ${event.data.agent}`;
      this.#speaking.set(place, part);
      if (event.data.restart) this.#parts.delete(part);
    }
    if (event.type === "LLM_TOKEN") {
      const part = this.#speaking.get(place) ?? place;
      this.#parts.set(part, (this.#parts.get(part) ?? "") + event.data);
    }
  }

  get text(): string {
    return [...this.#parts.values()].join("");
  }
}
