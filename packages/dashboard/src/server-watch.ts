import { systemClock, type Clock } from "dure/client";
import { useSyncExternalStore } from "react";
import { Unreachable } from "./unreachable.ts";

/**
 * `starved`: it answers, but its database does not. `back`: it was gone or starved, and is well since
 * a moment.
 */
export type ServerStanding = "there" | "gone" | "starved" | "back";

/** What one question gave. */
export type ServerAnswer = "well" | "starved" | "none";

export interface Watched {
  readonly standing: ServerStanding;
  /** Questions in a row without a good answer. */
  readonly misses: number;
  /** Since when it is back, milliseconds of a clock that never goes back. */
  readonly backSince: number;
  /** The server has another release of this page than the one that runs here. */
  readonly isOld: boolean;
  /** Why the team's files are not in force as they were saved. The server tells administrators. */
  readonly mistake?: string | undefined;
}

const AT_FIRST: Watched = { standing: "there", misses: 0, backSince: 0, isOld: false };

/** One bad answer proves nothing: the second in a row does. */
const MISSES = 2;
/** Between two questions, milliseconds, and as much again times a random number. */
const EVERY_MS = 1_400;
const SPREAD_MS = 700;
/** After a first miss. Together they stay below three seconds. */
const AGAIN_MS = 300;
/** How long a server may take to say how it is, milliseconds. Its database has as long. */
const PATIENCE_MS = 4_000;
/** How long the page says that the server is back, milliseconds. */
const BACK_MS = 5_000;

/** What one question tells. Pure. */
export function watchedAfter(before: Watched, answer: ServerAnswer, now: number): Watched {
  if (answer !== "well") {
    const misses = before.misses + 1;
    const worse = answer === "none" ? "gone" : "starved";
    return { ...before, misses, standing: misses >= MISSES ? worse : before.standing };
  }

  if (isAway(before.standing)) {
    return { ...before, standing: "back", misses: 0, backSince: now };
  }

  const isOver = before.standing === "back" && now - before.backSince >= BACK_MS;
  return { ...before, misses: 0, standing: isOver ? "there" : before.standing };
}

/** Pure. */
function isAway(standing: ServerStanding): boolean {
  return standing === "gone" || standing === "starved";
}

/** The pause before the next question, milliseconds; `random` in [0, 1). Pure. */
export function pauseAfter({ misses }: Watched, random: number): number {
  return misses > 0 && misses < MISSES ? AGAIN_MS : EVERY_MS + random * SPREAD_MS;
}

/**
 * Whether the server answers. Asks it every two seconds while the page is looked at, at once when
 * another request found no server.
 */
class ServerWatch {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #watched = AT_FIRST;
  /** Ends the pause between two questions. */
  #nap = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly snapshot = (): Watched => this.#watched;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Wraps what makes requests: one that finds no server makes the watch look at once. */
  around(make: typeof fetch): typeof fetch {
    return async (input, init) => {
      try {
        return await make(input, init);
      } catch (error) {
        if (error instanceof Unreachable && this.#watched.misses === 0) this.#nap.abort();
        throw error;
      }
    };
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const wake = (): void => this.#nap.abort();
    document.addEventListener("visibilitychange", wake, { signal });
    window.addEventListener("online", wake, { signal });
    window.addEventListener("offline", wake, { signal });
    while (!signal.aborted) {
      if (document.visibilityState === "visible") await this.#look(signal);
      await this.#rest(signal);
    }
  }

  /** Asks whether the server has another release of this page, and keeps the answer. */
  async lookForRelease(): Promise<void> {
    try {
      const answer = await fetch("/", { headers: { accept: "text/html" }, cache: "no-store" });
      const entry = entryOf(new DOMParser().parseFromString(await answer.text(), "text/html"));
      const isOld = answer.ok && entry !== undefined && entry !== entryOf(document);
      this.#change({ ...this.#watched, isOld });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // the watch tells of an absent server
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const [answer, mistake] = await this.#asks(signal);
    if (signal.aborted) return;

    const before = this.#watched.standing;
    this.#change({ ...watchedAfter(this.#watched, answer, this.#clock.monotonic()), mistake });
    if (before === "gone" && answer !== "none") await this.lookForRelease();
  }

  /** A server that does not say in time how its database is may still live. */
  async #asks(signal: AbortSignal): Promise<[answer: ServerAnswer, mistake?: string | undefined]> {
    const ready = await ask("/readyz", signal);
    if (ready) {
      const { database, files } = ready.checks ?? {};
      return [database?.ok === false ? "starved" : "well", files && String(files.detail)];
    }

    return [(await ask("/healthz", signal)) === undefined ? "none" : "starved"];
  }

  /** A hidden page rests until it is looked at. */
  async #rest(signal: AbortSignal): Promise<void> {
    this.#nap = new AbortController();
    const woken = AbortSignal.any([signal, this.#nap.signal]);
    try {
      const pause = pauseAfter(this.#watched, Math.random());
      await this.#clock.sleep(document.hidden ? HIDDEN_MS : pause, { signal: woken });
    } catch (error) {
      if (!woken.aborted) throw error;
    }
  }

  #change(next: Watched): void {
    const { standing, isOld, mistake } = this.#watched;
    this.#watched = next;
    if (next.standing === standing && next.isOld === isOld && next.mistake === mistake) return;
    for (const listener of this.#listeners) listener();
  }
}

/** Undefined: nothing answers in time, or a gateway without a server of dure behind it. */
async function ask(path: string, signal: AbortSignal): Promise<Said | undefined> {
  try {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
    const answer = await fetch(path, { cache: "no-store", signal: patience });
    const said = saidIn(await answer.text());
    const isOurs = said.checks || String(said.type).startsWith("urn:dure:");
    return answer.status < 500 || isOurs ? said : undefined;
  } catch {
    return undefined; // that is the answer
  }
}

/** What `/readyz` may say, as it comes from outside. */
interface Said {
  readonly checks?: {
    readonly database?: { readonly ok?: unknown };
    readonly files?: { readonly detail?: unknown };
  };
  readonly type?: unknown;
}

function saidIn(text: string): Said {
  try {
    return Object(JSON.parse(text)) as Said;
  } catch {
    return {}; // a page of a proxy
  }
}

/** A hidden page asks nothing; it wakes when it is shown. */
const HIDDEN_MS = 3_600_000;

/** The script that runs the page: its name changes with every release. */
function entryOf(page: Document): string | undefined {
  const packed = page.querySelector<HTMLScriptElement>("script[data-parts]")?.dataset["parts"];
  try {
    return (JSON.parse(packed ?? "{}") as { first?: string[] }).first?.at(-1);
  } catch {
    return undefined; // a document that is not ours
  }
}

export const serverWatch = new ServerWatch(systemClock);

/** Whether the server is there, whether this page is as new as it, and what its files lack. */
export function useServerWatch(): Pick<Watched, "standing" | "isOld" | "mistake"> {
  return useSyncExternalStore(serverWatch.subscribe, serverWatch.snapshot);
}

/** What is shown as alive then was so when the server was last heard. */
export function useIsGone(): boolean {
  return isAway(useServerWatch().standing);
}
