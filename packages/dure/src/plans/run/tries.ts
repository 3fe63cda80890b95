/** Who makes a try of a port. */
export type TryBy = "pair" | "orchestrator";

/** Tries that have ended, by who made them. */
export type TriesMade = Readonly<Record<TryBy, number>>;

export type NextTry =
  /** `number`: 1-based over all tries of the port; shown as `number of most`. */
  | { readonly go: true; readonly number: number; readonly most: number; readonly by: TryBy }
  | {
      readonly go: false;
      readonly most: number;
      readonly because: "pair-exhausted" | "all-exhausted";
    };

/**
 * Who makes the next try. Pure. The pair has its tries first, then the orchestrator; a try that is
 * given later is the pair's again, whoever made the last one. Retries of different kinds do not
 * multiply, they add up to one number: 3 and 2 and, when bisection blames the port, one more.
 * Source: docs/spec/plans §4.
 */
export function decideTry(
  made: TriesMade,
  { triesPair, triesOrchestrator }: { triesPair: number; triesOrchestrator: number },
): NextTry {
  const most = triesPair + triesOrchestrator;
  const number = made.pair + made.orchestrator + 1;
  if (made.pair < triesPair) return { go: true, number, most, by: "pair" };
  if (made.orchestrator < triesOrchestrator) return { go: true, number, most, by: "orchestrator" };
  return { go: false, most, because: triesOrchestrator > 0 ? "all-exhausted" : "pair-exhausted" };
}

/** Tries of the orchestrator after the pair's. Source: docs/spec/plans §4. */
export const ORCHESTRATOR_TRIES = 2;
/** More tries of the pair when bisection blames its port. Source: docs/spec/plans §4. */
export const BISECT_TRIES = 1;
/**
 * A try more of the pair when what another port made breaks its check, whatever it makes itself:
 * once, however often that happens. Source: docs/spec/plans §4.
 */
export const BROKEN_TRIES = 1;
/** Tries that its pair has beside those of its row, because of what stands in its steps. Pure. */
export function triesForBreak(
  steps: readonly { readonly kind: string; readonly output?: unknown }[],
): number {
  const isHeldAgainstNobody = ({
    kind,
    output,
  }: {
    readonly kind: string;
    readonly output?: unknown;
  }): boolean =>
    kind === "module" &&
    (output as { readonly broken?: { readonly by?: string } } | null | undefined)?.broken?.by !==
      undefined;
  return steps.some(isHeldAgainstNobody) ? BROKEN_TRIES : 0;
}
/**
 * Tries of one port, those that people give included: a bound for every loop. Source: our choice.
 */
export const MAX_TRIES = 50;
