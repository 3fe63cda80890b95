import { createHash } from "node:crypto";
import { compacted, jsonCopy } from "../../kernel/json.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { ClaimedTurn } from "../../durable/turns.ts";
import type { TurnJournal } from "./journal.ts";
import { ShownText } from "./shown-text.ts";
import { Places, type Step, type Versions } from "./step.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { TurnStop } from "./turn-stop.ts";

/** The work of a step; its result is recorded. */
export type StepWork = (signal: AbortSignal) => unknown;

/**
 * The steps of one life of a handler, in the order in which they begin; the events of a step are
 * stored under its place.
 */
export class TurnSteps {
  readonly #held: ClaimedTurn;
  readonly #journal: TurnJournal;
  readonly #stop: TurnStop;
  readonly #environment: Pick<TurnEnvironment, "store" | "clock" | "lease">;
  /**
   * A release that changes the order of steps raises the version; turns of the old one end, unless
   * the handler has looked at it: then this is undefined.
   */
  #versions: Versions | undefined;
  readonly #places: Places;
  /** Steps of events that handlers pass on themselves. */
  readonly #origins = new WeakMap<TurnEvent, Step>();
  readonly #shown: ShownText;
  readonly #stage: () => string | undefined;
  /** The end of the last agent, which tells the stage that its outcome leads to. */
  #ended: { readonly step: Named; readonly event: AgentDoneEvent } | undefined;
  /** How many numbers and ids were derived. */
  #derived = 0;

  constructor(options: {
    held: ClaimedTurn;
    journal: TurnJournal;
    stop: TurnStop;
    environment: Pick<TurnEnvironment, "store" | "clock" | "lease">;
    /** Of the service as this process has it. */
    version: string;
    /** Where the service's state stands. */
    stage: () => string | undefined;
  }) {
    this.#held = options.held;
    this.#journal = options.journal;
    this.#stop = options.stop;
    this.#environment = options.environment;
    this.#versions = { began: options.held.version, now: options.version };
    this.#places = new Places(options.journal);
    this.#shown = new ShownText(options.held.rows);
    this.#stage = options.stage;
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
    return this.#held.version;
  }

  async run(name: string, work: StepWork): Promise<unknown> {
    this.#stop.signal.throwIfAborted();
    return this.doWork(this.next(`step:${name}`), work);
  }

  /** Does the work of a handler's or an agent's step, unless it is recorded. */
  doWork(step: Step, work: StepWork): Promise<unknown> {
    const { signal } = this.#stop;
    return step.once(async () => {
      this.#stop.assertMayBegin();
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
    const { turn, epoch } = this.#held;
    if (this.#journal.owesResults) await this.#journal.flushResults();
    await this.#environment.store.confirm(turn, epoch, { signal: this.#environment.lease });
  }

  now(): number {
    return this.next("now").onceNow(() => this.#environment.clock.now(), { cheap: true });
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
    if (step.past.is === "new") this.store(step, event);
  }

  store(step: Named, event: TurnEvent): void {
    this.tellEnded();
    if (this.#stop.isAsked) return; // a stopped turn that still settles an effect shows nothing more
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
    const stage = this.#stage() ?? event.data.stage; // one on another server has told it
    this.#tell(step, { ...event, data: compacted({ ...event.data, stage }) });
  }

  #tell({ path, name }: Named, event: TurnEvent): void {
    this.#shown.take(path, event);
    this.#journal.event(path, name, event);
  }
}

type Named = Pick<Step, "path" | "name">;
type AgentDoneEvent = Extract<TurnEvent, { type: "AGENT_DONE" }>;
