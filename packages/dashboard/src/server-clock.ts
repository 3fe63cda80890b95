import { systemClock, type Clock } from "dure/client";
import { useEffect, useState } from "react";
import { useIsGone } from "./server-watch.ts";
import { reach } from "./unreachable.ts";

/**
 * Less than this is the resolution of the header and the way of the answer, in milliseconds.
 * It is twice the second of `Date`.
 */
const SKEW_LEAST_MS = 2_000;

/**
 * The server's time, as its answers tell it: how long something takes is counted from moments of
 * the server, whatever this machine's clock says.
 */
export class ServerClock {
  readonly #own: Pick<Clock, "now">;
  #skewMs = 0;

  constructor(own: Pick<Clock, "now">) {
    this.#own = own;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#own.now() + this.#skewMs;
  }

  /** Makes requests, and learns from the `Date` of each answer. */
  readonly fetch: typeof fetch = async (input, init) => {
    const sentAt = this.#own.now();
    const response = await reach(input, init);
    this.learn(response.headers.get("date"), (sentAt + this.#own.now()) / 2);

    return response;
  };

  /**
   * @param date a `Date` header, whole seconds; nothing is learned without a readable one. @param
   * at this machine's time, in the middle of the request.
   */
  learn(date: string | null, at: number): void {
    const told = Date.parse(date ?? "") + 500; // the middle of that second
    if (Number.isNaN(told)) return;
    this.#skewMs = Math.abs(told - at) < SKEW_LEAST_MS ? 0 : told - at;
  }
}

export const serverClock = new ServerClock(systemClock);

/**
 * The server's time, looked at every second while something is under way and the server is there.
 * @param everyMs how fine it is shown
 */
export function useServerNow(isRunning = true, everyMs = 1_000): number {
  const [now, setNow] = useState(() => serverClock.now());
  const isGone = useIsGone();
  useEffect(() => {
    if (!isRunning || isGone) return undefined;
    return systemClock.every(everyMs, () => setNow(serverClock.now()));
  }, [isRunning, isGone, everyMs]);

  return now;
}
