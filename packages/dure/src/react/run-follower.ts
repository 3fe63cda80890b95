import { isRunOver, MAX_PORTS_READ } from "../kernel/plans.ts";
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
  /** Ports that news were about, and whether some were about the run. */
  readonly #changed = new Set<string>();
  #isRunChanged = false;

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
    const port = portIn(event, this.#view.run);
    if (port === undefined) this.#isRunChanged = true;
    else this.#changed.add(port);
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;

    const { signal } = this.#leave;
    systemClock.after(GATHER_MS, () => {
      void this.#look(signal).finally(() => (this.#isLooking = false));
    });
  }

  /** Reads what news have changed: the run, or the ports that they are about. */
  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (this.#isRunChanged || this.#changed.size > 0)) {
      const names = [...this.#changed];
      const isMany = names.length > MAX_PORTS_READ;
      const isOfRun = this.#isRunChanged || isMany;
      this.#changed.clear();
      this.#isRunChanged = false;
      await (isOfRun ? this.load() : this.#loadPorts(names, signal));
    }
  }

  async #loadPorts(names: readonly string[], signal: AbortSignal): Promise<void> {
    const before = this.#view.run;
    if (before === undefined) return this.load();
    try {
      const { ports } = await this.#hub.client.plans.ports(this.#id, names, { signal });
      // Who read the run meanwhile may know more.
      if (this.#view.run !== before) for (const name of names) this.#changed.add(name);
      else this.#show({ run: withPorts(before, ports), problem: undefined });
    } catch (error) {
      if (!signal.aborted) this.#show({ problem: asDureError(error) });
    }
  }

  #show(part: Partial<RunView>): void {
    this.#view = { ...this.#view, ...part };
    if (!this.#isOver) this.#goesOn.abort();
    this.#listeners.tell();
  }
}

/** Of news of one port, which change nothing else of a run that is built; else undefined. Pure. */
function portIn(
  { type, data }: PlatformEvent,
  run: Pick<RunDetail, "phase" | "ports"> | undefined,
): string | undefined {
  if (run?.phase !== "building" || !OF_ONE_PORT.test(type)) return undefined;
  const port = "port" in data ? data.port : undefined;

  return run.ports.find(({ id }) => id === port)?.id;
}

/** A port that is given back by the merge changes its run too. */
const OF_ONE_PORT = /^(?:worker|direct|escalation)\.|^port\.(?!recalled)/;

/** With the ports as they stand now; the run has used what they have. Pure. */
function withPorts(run: RunDetail, ports: RunDetail["ports"]): RunDetail {
  const now = new Map(ports.map((port) => [port.id, port]));
  const added = {
    tokensIn: run.tokensIn,
    tokensCached: run.tokensCached,
    tokensOut: run.tokensOut,
  };
  const all = run.ports.map((before) => {
    const port = now.get(before.id) ?? before;
    added.tokensIn += port.tokensIn - before.tokensIn;
    added.tokensCached += port.tokensCached - before.tokensCached;
    added.tokensOut += port.tokensOut - before.tokensOut;
    return port;
  });

  return { ...run, ...added, ports: all };
}

function isAboutTheRun({ type }: PlatformEvent): boolean {
  return type.startsWith("run.");
}

/** The follower of a run, shared by all that show it. */
export function runOf(hub: DureHub, id: string): RunFollower {
  return hub.keep(JSON.stringify(["run", id]), () => new RunFollower({ hub, id }));
}
