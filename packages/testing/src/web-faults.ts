import {
  ChannelError,
  type ChannelAccount,
  type ChannelFailure,
  type PlaceAddress,
  type WebFaults,
} from "dure/channels";
import { systemClock, type Clock } from "dure/client";

/** What goes wrong, how often, and whether the platform had already done it. */
export interface WebFault {
  readonly what: "post" | "find" | "thread";
  readonly failure: ChannelFailure | "hang";
  /** Default 1. */
  readonly times?: number;
  /** The deed happens, then the failure: an answer that was lost. */
  readonly afterDoing?: boolean;
  readonly retryAfterMs?: number;
  /** Only for this agent's account. */
  readonly agent?: string;
  readonly message?: string;
}

/**
 * Goes between the web adapter and its rows, so that rooms that dure serves itself can fail like a
 * platform: refused, slow, answerless. Hand it to `new WebAdapter({ database, faults })`.
 */
export class WebFaultSwitch implements WebFaults {
  readonly #clock: Clock;
  readonly #faults: { fault: WebFault; left: number }[] = [];
  readonly #calls: {
    readonly what: WebFault["what"];
    readonly agent: string;
    readonly outcome: "ok" | WebFault["failure"];
  }[] = [];
  #delayMs = 0;
  #paused: PromiseWithResolvers<void> | undefined;

  constructor(options: { clock?: Clock } = {}) {
    this.#clock = options.clock ?? systemClock;
  }

  /** The next calls that it fits fail, in the order in which faults were added. */
  add(fault: WebFault): void {
    this.#faults.push({ fault, left: fault.times ?? 1 });
  }

  /** Each call takes so long from now on. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Calls wait until `go`. */
  pause(): void {
    this.#paused ??= Promise.withResolvers<void>();
  }

  go(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  /** What was called and how it ended; the newest 1,000. */
  get calls(): readonly {
    readonly what: WebFault["what"];
    readonly agent: string;
    readonly outcome: "ok" | WebFault["failure"];
  }[] {
    return this.#calls;
  }

  async around<T>(
    what: WebFault["what"],
    where: { account: ChannelAccount; place: PlaceAddress },
    work: () => Promise<T>,
    { signal }: { signal: AbortSignal },
  ): Promise<T> {
    if (this.#paused) await Promise.race([this.#paused.promise, aborted(signal)]);
    if (this.#delayMs > 0) await this.#clock.sleep(this.#delayMs, { signal });

    const due = this.#faults.find(
      ({ fault, left }) =>
        left > 0 &&
        fault.what === what &&
        (fault.agent ?? where.account.agent) === where.account.agent,
    );

    if (!due) {
      this.#note(what, where.account.agent, "ok");
      return work();
    }

    due.left -= 1;
    const { fault } = due;
    this.#note(what, where.account.agent, fault.failure);
    if (fault.afterDoing) await work();
    if (fault.failure === "hang") return aborted(signal);

    throw new ChannelError(
      fault.failure,
      fault.message ?? `The web rooms were told to fail: ${fault.failure}.`,
      { retryAfterMs: fault.retryAfterMs },
    );
  }

  #note(what: WebFault["what"], agent: string, outcome: "ok" | WebFault["failure"]): void {
    this.#calls.push({ what, agent, outcome });
    if (this.#calls.length > 1_000) this.#calls.shift();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    else signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
