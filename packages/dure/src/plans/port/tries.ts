/** Which workers make a try of a port. */
export type TryBy = "pair" | "orchestrator";

/** Tries that have ended, by the workers that made them. */
export type TriesMade = Readonly<Record<TryBy, number>>;

/** Tries that a port has, by the workers that make them. */
interface TriesGiven {
  readonly triesPair: number;
  readonly triesOrchestrator: number;
}

/** Which try of its workers one is, and how many they have: what they are told. */
export interface OwnTries {
  readonly number: number;
  readonly most: number;
}

export type NextTry =
  /** `number`: 1-based over all tries of the port; shown as `number of most`. */
  | {
      readonly go: true;
      readonly number: number;
      readonly most: number;
      readonly by: TryBy;
      readonly own: OwnTries;
    }
  | {
      readonly go: false;
      readonly most: number;
      readonly because: "pair-exhausted" | "all-exhausted";
    };

/**
 * Which workers make the next try. Pure. The pair has its tries first, then the orchestrator; a try
 * that is given later is the pair's again. Retries of different kinds do not
 * multiply, they add up to one number: 3 and 2 and, when bisection blames the port, one more.
 * Source: docs/spec/plans §4.
 */
export function decideTry(made: TriesMade, given: TriesGiven): NextTry {
  const { triesPair, triesOrchestrator } = given;
  const most = triesPair + triesOrchestrator;
  const number = made.pair + made.orchestrator + 1;
  const by = made.pair < triesPair ? "pair" : "orchestrator";
  const own = ownTries(made, given, by);
  if (own.number <= own.most) return { go: true, number, most, by, own };
  return { go: false, most, because: triesOrchestrator > 0 ? "all-exhausted" : "pair-exhausted" };
}

/** Which of its tries the next one is to the workers that make it. Pure. */
export function ownTries(
  made: TriesMade,
  { triesPair, triesOrchestrator }: TriesGiven,
  by: TryBy,
): OwnTries {
  return { number: made[by] + 1, most: by === "pair" ? triesPair : triesOrchestrator };
}

/** Tries of the orchestrator after the pair's. Source: docs/spec/plans §4. */
export const ORCHESTRATOR_TRIES = 2;
/** More tries of the pair when bisection blames its port. Source: docs/spec/plans §4. */
export const BISECT_TRIES = 1;
/**
 * One extra try of the pair when another port's result breaks its check; at most one. Source:
 * docs/spec/plans §4.
 */
export const BROKEN_TRIES = 1;
/** Tries that the pair has in addition to those of the port's row, by its steps. Pure. */
export function triesForBreak(
  steps: readonly { readonly kind: string; readonly output?: unknown }[],
): number {
  return steps.some(isBrokenByOther) ? BROKEN_TRIES : 0;
}

/** Whether another port broke the check: the try is not held against this port. Pure. */
function isBrokenByOther({
  kind,
  output,
}: {
  readonly kind: string;
  readonly output?: unknown;
}): boolean {
  if (kind !== "module") return false;
  const made = output as { readonly broken?: { readonly by?: string } } | null | undefined;
  return made?.broken?.by !== undefined;
}
