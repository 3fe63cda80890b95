import { FAULT_KINDS, type FaultKind, type FaultWeights } from "./timeline.ts";

/** How many of each work at the same time. */
export interface LoadShape {
  /** Persons who pay. */
  readonly payers: number;
  /** Rooms in which a person writes, at most three. */
  readonly rooms: number;
  /** Who asks for one job after another. */
  readonly jobWorkers: number;
  /** One run of the plan after another. */
  readonly plans: number;
}

/** What a run is about: which faults, how many, and what they meet. */
export interface Mode {
  readonly weights: FaultWeights;
  /** Faults per minute of a run that says how long it lasts. */
  readonly perMinute: number;
  /** Faults of a run that says nothing, and how close they come. */
  readonly short: { readonly faults: number; readonly perMinute: number };
  readonly load: LoadShape;
}

/** Each kind as often as it is drawn without a mode; of `only` alone, where it is given. */
export function weightsOf(only?: readonly FaultKind[]): FaultWeights {
  const kinds = only ?? (Object.keys(FAULT_KINDS) as FaultKind[]);
  return Object.fromEntries(kinds.map((kind) => [kind, FAULT_KINDS[kind].weight]));
}

export const MODES = {
  /**
   * Every kind. Source of 115: at least 1,000 faults in 10 minutes, with some to spare for those
   * that find nothing to hurt. The short form takes a minute and a half, beside other work.
   */
  all: {
    weights: weightsOf(),
    perMinute: 115,
    short: { faults: 60, perMinute: 48 },
    load: { payers: 4, rooms: 3, jobWorkers: 2, plans: 1 },
  },
  /**
   * A bad hour of the database: it stops and starts, at once or after seconds, while agents talk in
   * jobs. An outage has 14 s to be over, so there are 4 in a minute.
   */
  database: {
    weights: { "restart-database": 30, "away-database": 50, "stop-short": 5, "stop-long": 15 },
    perMinute: 4,
    short: { faults: 12, perMinute: 4 },
    load: { payers: 1, rooms: 1, jobWorkers: 8, plans: 0 },
  },
} as const satisfies Record<string, Mode>;

export type ModeName = keyof typeof MODES;
