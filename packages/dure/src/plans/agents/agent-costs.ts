/**
 * What an agent's account of its money stands for: all calls of its process, or of its conversation
 * over all processes that had it.
 */
export type CostScope = "process" | "session";

/** The sums that one process of an agent has told. */
export interface CostCount {
  /** Of the last sum that was told, millionths of a US dollar. */
  readonly told: number;
}

/**
 * What a new process of an agent begins from. `recorded`: what its conversation has cost before.
 * Pure.
 */
export function beginCosts(scope: CostScope, recorded: number): CostCount {
  return { told: scope === "session" ? recorded : 0 };
}

/**
 * What of a sum that an agent tells is new. A sum that is smaller than the last one is of a new
 * count: all of it is new. Pure.
 */
export function takeCost({ told }: CostCount, sum: number): CostCount & { readonly more: number } {
  return { told: sum, more: sum >= told ? sum - told : sum };
}
