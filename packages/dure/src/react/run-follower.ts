import { isRunOver } from "../kernel/plans.ts";
import type { ConnectionState } from "../client/turn-stream.ts";
import { systemClock } from "../kernel/clock.ts";
import type { DureError } from "../kernel/errors.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { RunDetail } from "../wire/runs.ts";
import { asDureError } from "./entries.ts";
import type { DureHub } from "./hub.ts";
import { Listeners, type Store } from "./store.ts";

/** What is known of a run. */
export interface RunView {
  /** Undefined until it was read. */
  readonly run: RunDetail | undefined;
  /** Why the last reading failed. */
  readonly problem: DureError | undefined;
  /** Whether its events are heard right now. */
  readonly connection: ConnectionState;
}

/** News of this long are answered with one look, milliseconds. */
const GATHER_MS = 250;

/**
 * One run, as it stands and as it goes on. Its stream ends with it; from then on the log tells when
 * a person lets it go on.
 */
export class RunFollower implements Store<RunView> {
  readonly #hub: DureHub;
  readonly #id: string;
  readonly #listeners: Listeners;
  readonly #hearers = new Set<(event: PlatformEvent) => void>();
  readonly subscribe: Store<RunView>["subscribe"];
  #view: RunView = { run: undefined, problem: undefined, connection: "connected" };
  #leave = new AbortController();
  /** Ends the wait for an ended run to go on. */
  #goesOn = new AbortController();
  #isLooking = false;

  constructor({ hub, id }: { hub: DureHub; id: string }) {
    this.#hub = hub;
    this.#id = id;
    this.#listeners = new Listeners({
      begin: () => this.#begin(),
      end: () => this.#leave.abort(),
    });
    this.subscribe = this.#listeners.subscribe;
  }

  readonly snapshot = (): RunView => this.#view;

  /** Calls `hear` with each event of the run, until the returned function is called. */
  onEvent(hear: (event: PlatformEvent) => void): () => void {
    this.#hearers.add(hear);
    return () => this.#hearers.delete(hear);
  }

  /** Reads the run anew. */
  async load(): Promise<void> {
    const { signal } = this.#leave;
    try {
      const run = await this.#hub.client.plans.run(this.#id, { signal });
      this.#show({ run, problem: undefined });
    } catch (error) {
      if (!signal.aborted) this.#show({ problem: asDureError(error) });
    }
  }

  #begin(): void {
    this.#leave = new AbortController();
    this.#show({ connection: "connected" });
    void this.#follow(this.#leave.signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    await this.load();
    try {
      while (!signal.aborted) {
        await (this.#isOver ? this.#whileEnded(signal) : this.#whileItRuns(signal));
      }
    } catch {
      // Left, or refused: `load` tells why, when it is asked for again.
    }
  }

  get #isOver(): boolean {
    const { run } = this.#view;
    return run !== undefined && isRunOver(run.status);
  }

  async #whileItRuns(signal: AbortSignal): Promise<void> {
    const onConnection = (connection: ConnectionState): void => {
      if (!signal.aborted) this.#show({ connection });
    };
    for await (const news of this.#hub.client.plans.stream(this.#id, { signal, onConnection })) {
      if (news.kind === "run") this.#show({ run: news.run, problem: undefined });
      else this.#hear(news.event);
    }
    if (!signal.aborted) await this.load();
  }

  /** Until it goes on: an event tells so, or a page that has just given the order. */
  async #whileEnded(signal: AbortSignal): Promise<void> {
    this.#goesOn = new AbortController();
    const { signal: goesOn } = this.#goesOn;
    const waiting = { signal: AbortSignal.any([signal, goesOn]) };
    try {
      for await (const event of this.#hub.client.events({ run: this.#id }, waiting)) {
        this.#hear(event);
        if (isAboutTheRun(event)) await this.load();
      }
    } catch (error) {
      if (!goesOn.aborted) throw error;
    }
  }

  #hear(event: PlatformEvent): void {
    for (const hear of this.#hearers) hear(event);
    if (this.#isLooking) return;
    this.#isLooking = true;

    const { signal } = this.#leave;
    systemClock.after(GATHER_MS, () => {
      this.#isLooking = false;
      if (!signal.aborted) void this.load();
    });
  }

  #show(part: Partial<RunView>): void {
    this.#view = { ...this.#view, ...part };
    if (!this.#isOver) this.#goesOn.abort();
    this.#listeners.tell();
  }
}

function isAboutTheRun({ type }: PlatformEvent): boolean {
  return type.startsWith("run.");
}

/** The follower of a run, shared by all that show it. */
export function runOf(hub: DureHub, id: string): RunFollower {
  return hub.keep(JSON.stringify(["run", id]), () => new RunFollower({ hub, id }));
}
