import { createHash } from "node:crypto";
import { jsonCopy } from "../../kernel/json.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { ClaimedTurn } from "../../durable/turns.ts";
import type { PastStep, TurnJournal } from "./journal.ts";
import { Places } from "./places.ts";
import { ShownText } from "./shown-text.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { TurnStop } from "./turn-stop.ts";

/** One step of a handler in its journal. */
export interface Step {
  readonly path: string;
  readonly name: string;
  /** What an earlier life left there. */
  readonly past: PastStep | undefined;
}

/**
 * The steps of one life of a handler, in the order in which they begin. A step that an earlier life
 * recorded gives its record; its events are stored under its place.
 */
export class TurnSteps {
  readonly #held: ClaimedTurn;
  readonly #journal: TurnJournal;
  readonly #stop: TurnStop;
  readonly #environment: Pick<TurnEnvironment, "store" | "clock" | "lease">;
  readonly #version: string;
  readonly #places = new Places();
  /** Steps of events that handlers pass on themselves. */
  readonly #origins = new WeakMap<TurnEvent, Step>();
  readonly #shown: ShownText;
  /** How many numbers and ids were derived. */
  #derived = 0;
  #isVersionRead = false;

  constructor(options: {
    held: ClaimedTurn;
    journal: TurnJournal;
    stop: TurnStop;
    environment: Pick<TurnEnvironment, "store" | "clock" | "lease">;
    /** Of the service as this process has it. */
    version: string;
  }) {
    this.#held = options.held;
    this.#journal = options.journal;
    this.#stop = options.stop;
    this.#environment = options.environment;
    this.#version = options.version;
    this.#shown = new ShownText(options.held.rows);
  }

  /** What the person has seen so far. */
  get shownText(): string {
    return this.#shown.text;
  }

  /** Begins the next step. Throws `TURN_DIVERGED` where an earlier life did something else. */
  next(name: string): Step {
    const path = this.#places.next();
    const past = this.#journal.past(path, name);
    if (past && this.#isOtherVersion && !this.#isVersionRead && !name.startsWith("route")) {
      throw this.#journal.diverge(
        path,
        `version ${this.#held.version}`,
        `version ${this.#version}`,
      );
    }
    return { path, name, past };
  }

  /**
   * A release that changes the order of steps raises the version; turns of the old one end, unless
   * the handler looks at it.
   */
  get #isOtherVersion(): boolean {
    return this.#held.version !== this.#version;
  }

  versionRead(): string {
    this.#isVersionRead = true;
    return this.#held.version;
  }

  async run(name: string, work: (signal: AbortSignal) => unknown): Promise<unknown> {
    const { signal } = this.#stop;
    signal.throwIfAborted();
    const step = this.next(`step:${name}`);
    if (step.past?.record) return step.past.record.value;

    this.#stop.assertMayBegin();
    await this.goesOutside();
    const value = await work(signal);
    signal.throwIfAborted();
    this.#journal.record(step.path, step.name, value);
    return jsonCopy(value, name); // what a replay will give
  }

  /**
   * Before a call to the outside: stores what was recorded before it, and makes sure that no other
   * process has the turn, which could make the same call.
   */
  async goesOutside(): Promise<void> {
    const { turn, epoch } = this.#held;
    await this.#journal.flushResults();
    await this.#environment.store.confirm(turn, epoch, { signal: this.#environment.lease });
  }

  now(): number {
    const { path, name, past } = this.next("now");
    if (past?.record) return past.record.value as number;
    const now = this.#environment.clock.now();
    this.#journal.record(path, name, now, { cheap: true });
    return now;
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
      .update(`${this.#held.turn}/${name}/${++this.#derived}`)
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
    if (!step.past) this.store(step, event);
  }

  store({ path, name }: Step, event: TurnEvent): void {
    if (this.#stop.isAsked) return; // a stopped turn that still settles an effect shows nothing more
    this.#shown.take(`${path} ${name}`, event);
    this.#journal.event(path, name, event);
  }
}
