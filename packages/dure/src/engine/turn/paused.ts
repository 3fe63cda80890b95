import type { Pauses } from "../../durable/pauses.ts";

/** What the engine asks about paused agents. */
export type PauseGate = Pick<Pauses, "first" | "passes">;

/** Who speaks in a turn: the pause of any of them holds its model calls. */
export interface Speaking {
  readonly session: string;
  readonly services: readonly string[];
  readonly agent?: string | undefined;
}

/**
 * The names under which a model call is made: the agent of the service, the team's agents whose
 * service it is, and the one whose session of a room or job it is. Pure.
 */
export function namesOf({ session, services, agent }: Speaking): readonly string[] {
  const whose = agentOfSession(session);
  return [agent, whose, ...services].filter((name) => name !== undefined);
}

/**
 * Whether a message is accepted although the agent is paused, and waits before its first model
 * call: work of dure's own, but for a question to an operator, which then goes to people. What a
 * person says to a paused agent is refused with `AGENT_PAUSED`. Pure.
 */
export function waitsForResume(session: string, author: "person" | "system" = "person"): boolean {
  if (session.startsWith("escalation:")) return false;
  return author === "system" || agentOfSession(session) !== undefined;
}

/** Whether no caller holds a connection open for the answers of a session. Pure. */
export function isBackground(session: string): boolean {
  return session.startsWith("escalation:") || agentOfSession(session) !== undefined;
}

/** `room:<agent>:<place>` and `job:<job>:<agent>`; undefined for every other session. */
function agentOfSession(session: string): string | undefined {
  const [kind, second, third] = session.split(":");
  if (kind === "room") return second;
  return kind === "job" ? third : undefined;
}
