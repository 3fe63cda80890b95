import type { Trace, TraceAgent } from "dure/client";

export interface WaterfallBar {
  /** Undefined for the time in which no agent ran: code, tools, the outside. */
  readonly agent: TraceAgent | undefined;
  readonly elapsedMs: number;
  readonly fromPercent: number;
  readonly sharePercent: number;
}

/** The least width of a bar, percent: one that took nothing is still to be seen. */
const LEAST_SHARE = 0.8;

/**
 * The bars of a turn: its agents one after the other, as they ran, then what is left of its time.
 * Pure.
 */
export function waterfallOf(trace: Trace): WaterfallBar[] {
  const ofAgents = trace.agents.reduce((total, agent) => total + agent.elapsedMs, 0);
  const whole = Math.max(trace.totalElapsedMs, ofAgents, 1);
  let start = 0;

  const bar = (agent: TraceAgent | undefined, elapsedMs: number): WaterfallBar => {
    const fromPercent = Math.min((start / whole) * 100, 100 - LEAST_SHARE);
    start += elapsedMs;

    return {
      agent,
      elapsedMs,
      fromPercent,
      sharePercent: Math.max((elapsedMs / whole) * 100, LEAST_SHARE),
    };
  };

  const bars = trace.agents.map((agent) => bar(agent, agent.elapsedMs));
  const rest = trace.totalElapsedMs - ofAgents;

  return rest > 0 || bars.length === 0 ? [...bars, bar(undefined, Math.max(rest, 0))] : bars;
}
