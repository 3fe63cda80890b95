import type { AgentRun, ToolRun, Trace } from "dure/client";
import type { ConversationView } from "dure/react";

/** What one turn did, as the page can tell. */
export interface TurnLog {
  readonly turnId: string;
  /** The words that began it; empty when the system did. */
  readonly title: string;
  /** When it ended, milliseconds since the epoch; undefined while it runs. */
  readonly at: number | undefined;
  readonly runs: readonly AgentRun[];
  /** Calls of tools; undefined where the page has not seen the turn. */
  readonly tools: readonly ToolRun[] | undefined;
}

/** Turns that the log goes back. */
export const TURN_LOGS = 20;

/**
 * The running turn, then the ones before it, newest first. What was seen live is told in full, the
 * rest by its trace. Pure.
 */
export function turnLogs(view: Pick<ConversationView, "entries" | "turn" | "seen">): TurnLog[] {
  const titles = new Map<string, string>();
  for (const { role, turnId, content } of view.entries) {
    if (role === "user" && turnId !== undefined && !titles.has(turnId)) titles.set(turnId, content);
  }
  const titleOf = (turnId: string): string => titles.get(turnId) ?? "";

  const running =
    view.turn === undefined
      ? []
      : [
          {
            turnId: view.turn.turnId,
            title: titleOf(view.turn.turnId),
            at: undefined,
            runs: view.turn.view.runs,
            tools: view.turn.view.tools,
          },
        ];

  const ended = view.entries.flatMap(({ turnId, done, at }): TurnLog[] => {
    if (turnId === undefined || done === undefined || turnId === view.turn?.turnId) return [];
    return [
      {
        turnId,
        title: titleOf(turnId),
        at,
        runs: view.seen.get(turnId)?.runs ?? runsOf(done.trace),
        tools: view.seen.get(turnId)?.tools,
      },
    ];
  });

  return [...running, ...ended.toReversed()].slice(0, TURN_LOGS);
}

function runsOf(trace: Trace): AgentRun[] {
  return trace.agents.map(({ agent, success, retries, elapsedMs, error }) => ({
    agent,
    label: agent,
    status: success ? "done" : "failed",
    attempt: retries + 1,
    retries,
    restarted: false,
    startedAt: 0,
    elapsedMs,
    text: "",
    error: error ?? undefined,
  }));
}
