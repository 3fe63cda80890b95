/**
 * TCP ports that workers may listen on: a slot per run on its machine, a range per port that works
 * in it. They end below 32768: from there Linux gives ports to programs that connect
 * (`ip_local_port_range` is 32768 to 60999).
 */
const LISTEN_FROM = 12_000;
/** TCP ports of one port of a plan. */
const RANGE = 20;
/**
 * Ranges of one run: the orchestrator has the first one. Runs with more ports at work at once share
 * the last ones.
 */
const RANGES = 25;
/**
 * Runs of one machine with ports of their own at the same time; those beyond share the last slot.
 */
export const LISTEN_SLOTS = 41;

/** The range `index` of a run's slot, as `from-to`. Pure. */
export function listenRange(slot: number, index: number, first = LISTEN_FROM): string {
  const from = first + (slot % LISTEN_SLOTS) * RANGE * RANGES + (index % RANGES) * RANGE;
  return `${from}-${from + RANGE - 1}`;
}

/**
 * Which range each port of a run has while it works: the lowest that is free, so that few are
 * needed.
 */
export class ListenRanges {
  readonly #taken = new Map<string, number>();

  /** @param first always has the range 0. */
  constructor(first: string) {
    this.#taken.set(first, 0);
  }

  take(port: string): number {
    const known = this.#taken.get(port);
    if (known !== undefined) return known;
    const taken = new Set(this.#taken.values());
    let free = 0;
    while (taken.has(free)) free++;
    this.#taken.set(port, free);
    return free;
  }

  release(port: string): void {
    this.#taken.delete(port);
  }
}
