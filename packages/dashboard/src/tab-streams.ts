import type { Clock } from "dure/client";

/** How long a tab that was left keeps its streams, milliseconds: often it is looked at again. */
const GRACE_MS = 5_000;
/** Within it a free place is found. Then a window that is worked in takes another's, milliseconds. */
const FREE_MS = 250;
/** Between two looks whether a tab that waits may read on, if nothing else tells. */
const LONG_MS = 3_600_000;
/** Held by the one hidden tab that reads on. */
const LISTENER = "dure-listener";
/** Held by windows that are seen. With the listener's, one of six connections is left to the rest. */
const PLACES = ["dure-seen-0", "dure-seen-1", "dure-seen-2", "dure-seen-3"] as const;

/**
 * The streams of this tab. Over HTTP/1.1 a browser opens six connections to a server, for all its
 * tabs together. Each stream takes one, so with six tabs nothing more would load in any of them.
 * Therefore a tab that is not looked at lets its streams go, and reads on where it was when it is
 * looked at again. One hidden tab keeps its own, for its title and for notifications. Of windows
 * beside each other four read; one more that is worked in takes the place of another. Where the
 * browser has no locks (a page over plain HTTP from another machine), every window reads that is
 * seen, and no hidden one.
 */
export class TabStreams {
  readonly #clock: Clock;
  readonly #locks: LockManager | undefined;
  /** Ends what began when the tab was last shown or hidden. */
  #look = new AbortController();
  /** Gives its place back; undefined without one. */
  #place: AbortController | undefined;
  /** Ends its waiting for one. */
  #waiting = new AbortController();
  #isListener = false;
  /** Aborts the streams; a new one for those that follow. */
  #cut = new AbortController();
  /** While this tab begins no streams; aborted when it may. */
  #gate: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#locks = (navigator as { readonly locks?: LockManager }).locks;
  }

  /** Looks until the signal aborts. */
  watch(signal: AbortSignal): void {
    const look = (): void => {
      this.#look.abort();
      this.#look = new AbortController();
      if (document.hidden) this.#hide(this.#look.signal);
      else void this.#show(this.#look.signal);
    };
    document.addEventListener("visibilitychange", look, { signal });
    addEventListener("focus", () => void this.#takeAny(), { signal });
    look();
  }

  /** Wraps what makes requests: streams wait for their time, and are cut. */
  around(make: typeof fetch): typeof fetch {
    return async (input, init = {}) => {
      if (!isStream(init)) return make(input, init);

      while (this.#gate) await this.#waitFor(this.#gate, init);
      return make(input, { ...init, signal: withSignal(init, this.#cut) });
    };
  }

  async #waitFor(gate: AbortController, init: RequestInit): Promise<void> {
    const signal = withSignal(init, gate);
    await this.#clock.sleep(LONG_MS, { signal }).catch(() => init.signal?.throwIfAborted());
  }

  #hide(hidden: AbortSignal): void {
    void this.#listen(hidden);
    const cancel = this.#clock.after(GRACE_MS, () => {
      this.#leavePlace();
      if (!this.#isListener) this.#close();
    });
    hidden.addEventListener("abort", cancel);
  }

  /** Is the one hidden tab that reads on, from when the others leave that to it. */
  async #listen(hidden: AbortSignal): Promise<void> {
    await this.#locks
      ?.request(LISTENER, { signal: hidden }, async () => {
        this.#isListener = true;
        this.#open();
        await abortOf(hidden);
        this.#isListener = false;
      })
      .catch(() => {}); // it is looked at, or the browser refuses: then it is no listener
  }

  /** Is seen: reads on when it has a place among those that are. */
  async #show(shown: AbortSignal): Promise<void> {
    if (!this.#locks) return this.#open();
    if (this.#place) return;

    this.#gate ??= new AbortController();
    const waiting = this.#waitForPlace(shown);
    await this.#clock.sleep(FREE_MS, { signal: waiting }).catch(() => {});
    if (waiting.aborted) return;
    if (document.hasFocus()) return this.#takeAny();
    this.#close();
  }

  /** Aborts when it is waited for no longer: it is there, or the tab is hidden. */
  #waitForPlace(shown: AbortSignal): AbortSignal {
    this.#waiting = new AbortController();
    const signal = AbortSignal.any([shown, this.#waiting.signal]);
    for (const place of PLACES) void this.#hold(place, { signal });
    return signal;
  }

  /** In this window a person works: another, whichever it is, lets its streams go. */
  async #takeAny(): Promise<void> {
    if (!this.#locks || this.#place || document.hidden) return;
    const place = PLACES[Math.floor(Math.random() * PLACES.length)]!;
    await this.#hold(place, { steal: true });
  }

  /** Has a place until it leaves it, or another window takes it. */
  async #hold(name: string, options: LockOptions): Promise<void> {
    let place: AbortController | undefined;
    const hold = async (): Promise<void> => {
      if (this.#place) return;
      place = this.#place = new AbortController();
      this.#waiting.abort(); // one place is enough
      this.#open();
      await abortOf(place.signal);
    };
    await this.#locks?.request(name, options, hold).catch(() => {}); // not wanted, or taken
    if (place === undefined || this.#place !== place) return;

    this.#leavePlace();
    this.#close();
    if (!document.hidden) this.#waitForPlace(this.#look.signal);
  }

  #leavePlace(): void {
    const place = this.#place;
    this.#place = undefined;
    place?.abort();
  }

  #open(): void {
    this.#gate?.abort();
    this.#gate = undefined;
  }

  #close(): void {
    this.#gate ??= new AbortController();
    this.#cut.abort(new TypeError("hidden")); // as a lost connection
    this.#cut = new AbortController();
  }
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** What was sent with a stream as its answer ends by itself. */
function isStream({ method = "GET", headers }: RequestInit): boolean {
  return method === "GET" && new Headers(headers).get("accept") === "text/event-stream";
}

function withSignal({ signal }: RequestInit, own: AbortController): AbortSignal {
  return signal ? AbortSignal.any([signal, own.signal]) : own.signal;
}
