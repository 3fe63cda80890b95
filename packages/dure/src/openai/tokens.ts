import type { Done } from "../kernel/turn-events.ts";

/** Tokens of all agents of a turn. Pure. */
export function tokensOf({ trace }: Done): { tokensIn: number; tokensOut: number } {
  const sum = (of: "tokensIn" | "tokensOut"): number =>
    trace.agents.reduce((total, agent) => total + agent[of], 0);
  return { tokensIn: sum("tokensIn"), tokensOut: sum("tokensOut") };
}
