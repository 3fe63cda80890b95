import { Random } from "./random.ts";

/**
 * Every kind of fault, with how often it is drawn, and how long its target is busy with it,
 * milliseconds.
 */
export const FAULT_KINDS = {
  /** SIGKILL to a server; it is started again at once. */
  kill: { weight: 8, target: "server", busyMs: 9_000 },
  /** SIGTERM to a server: it drains and is started again. */
  drain: { weight: 3, target: "server", busyMs: 16_000 },
  /** SIGSTOP, then SIGCONT before its lease of 6 s ends. */
  "stop-short": { weight: 6, target: "server", busyMs: 3_000 },
  /** SIGSTOP beyond the lease: others take over, and the woken process must find itself fenced. */
  "stop-long": { weight: 3, target: "server", busyMs: 22_000 },
  /** pg_terminate_backend of one of the connections of the product. */
  "end-backend": { weight: 14, target: "database", busyMs: 0 },
  /** Every connection of one server to PostgreSQL is closed. */
  "cut-database": { weight: 10, target: "server", busyMs: 500 },
  /**
   * Connections of one server to PostgreSQL stand open and deliver nothing; PostgreSQL believes
   * that its client is gone.
   */
  "half-open": { weight: 4, target: "server", busyMs: 9_000 },
  /** PostgreSQL stops in fast mode and starts again. */
  "restart-database": { weight: 2, target: "database", busyMs: 10_000 },
  /** The same, and it stays away for longer than the lease of 6 s: others take over. */
  "away-database": { weight: 1, target: "database", busyMs: 14_000 },
  /** SIGKILL to the postmaster; the next start recovers. */
  "kill-database": { weight: 2, target: "database", busyMs: 12_000 },
  /** Each commit waits 50 to 100 ms for its flush (`commit_delay`). */
  "slow-disk": { weight: 3, target: "database", busyMs: 4_000 },
  /** All processes of PostgreSQL stand still (SIGSTOP), as on a disk that does not answer. */
  "stuck-disk": { weight: 2, target: "database", busyMs: 4_000 },
  /** The next calls of the provider are refused, cut in mid-stream, or slow. */
  provider: { weight: 16, target: "provider", busyMs: 0 },
  /** The next bookings or probes of the bank fail or are slow, before or after the booking. */
  bank: { weight: 14, target: "bank", busyMs: 0 },
  /** The wall clock of one server jumps, and comes back. */
  clock: { weight: 6, target: "server", busyMs: 4_000 },
  /** Requests and streams of clients are cut in the middle. */
  "cut-clients": { weight: 16, target: "server", busyMs: 0 },
  /** The next requests are sent twice at the same time, to two servers, under one key. */
  duplicates: { weight: 12, target: "client", busyMs: 0 },
} as const satisfies Record<string, FaultShape>;

interface FaultShape {
  readonly weight: number;
  readonly target: "server" | "database" | "bank" | "provider" | "client";
  readonly busyMs: number;
}

export type FaultKind = keyof typeof FAULT_KINDS;

/** How often each kind is drawn; a kind that is absent never is. */
export type FaultWeights = Readonly<Partial<Record<FaultKind, number>>>;

/** One fault as it is planned. Nothing in it depends on what the run does. */
export interface PlannedFault {
  /** Its place in the timeline, from 1. */
  readonly number: number;
  /** Milliseconds since the load began. */
  readonly at: number;
  readonly kind: FaultKind;
  /** Which server, from 0; for other targets a number without meaning. */
  readonly server: number;
  /** For whatever the kind has to choose: 0 up to 1. */
  readonly dice: number;
}

export interface TimelineOptions {
  readonly seed: number;
  readonly faults: number;
  readonly servers: number;
  readonly durationMs: number;
  readonly weights: FaultWeights;
}

/** Time between two faults that is left free where there is so much of it, milliseconds. */
const APART_MS = FAULT_KINDS["away-database"].busyMs;

/** The plan of all faults of a run. Pure: the same options give the same timeline. */
export function planFaults({
  seed,
  faults,
  servers,
  durationMs,
  weights,
}: TimelineOptions): readonly PlannedFault[] {
  const random = new Random(seed);
  const busy = new Busy(servers);
  const slot = durationMs / faults;
  const spread = slot > APART_MS ? slot - APART_MS : slot;
  const timeline: PlannedFault[] = [];
  for (let number = 1; number <= faults; number += 1) {
    // Evenly spread, each somewhere in its own slot.
    const at = Math.floor((number - 1) * slot + random.next() * spread);
    const server = random.between(0, servers - 1);
    const kind = random.weighted(busy.possible(weights, server, at));
    busy.take(kind, server, at);
    timeline.push({ number, at, kind, server, dice: random.next() });
  }
  return timeline;
}

/**
 * Until when each target is busy with an earlier fault: a server that is starting cannot be killed
 * again.
 */
class Busy {
  readonly #servers: number[];
  #database = 0;

  constructor(servers: number) {
    this.#servers = Array.from({ length: servers }, () => 0);
  }

  /** Of these weights, those of what may happen at `at`; all of them when nothing may. */
  possible(weights: FaultWeights, server: number, at: number): FaultWeights {
    const wanted = Object.entries(weights) as [FaultKind, number][];
    const free = wanted.filter(([kind]) => this.#freeAt(kind, server) <= at);
    return free.length > 0 ? Object.fromEntries(free) : weights;
  }

  take(kind: FaultKind, server: number, at: number): void {
    const { target, busyMs } = FAULT_KINDS[kind];
    if (busyMs === 0) return;
    if (target === "server") this.#servers[server] = at + busyMs;
    if (target === "database") this.#database = at + busyMs;
  }

  #freeAt(kind: FaultKind, server: number): number {
    const { target } = FAULT_KINDS[kind];
    if (target === "server") return this.#servers[server] ?? 0;
    return target === "database" ? this.#database : 0;
  }
}
