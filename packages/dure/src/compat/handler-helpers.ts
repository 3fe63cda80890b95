import type { TurnEvent } from "../kernel/turn-events.ts";
import type { AgentResult } from "../engine/agent/agent.ts";
import type { DonePayload } from "../engine/service/service.ts";
import type { AgentOutcome, TurnContext } from "../engine/turn/turn-context.ts";
import type { JsonObject } from "../kernel/json.ts";

/** Helpers for handlers written as generators. Source: docs/spec/conversation §3. */

/** Start, tokens, done, memory and `DONE` of a turn that is one agent's answer, in one line. */
export async function* streamAgentTurn(
  turn: TurnContext,
  agent: string,
  label: string,
  options: { doneTransform?: (outcome: AgentOutcome) => DonePayload } = {},
): AsyncGenerator<TurnEvent, DonePayload> {
  const outcome = yield* turn.streamAgent(agent, label);
  const payload = options.doneTransform?.(outcome) ?? { message: outcome.text };
  updateMemory(turn, payload.message);
  return payload;
}

/** Runs an agent without showing its text. */
export async function runAgent<Data = unknown>(
  turn: TurnContext,
  agent: string,
  label = agent,
): Promise<AgentResult<Data>> {
  return (await turn.agent<Data>(agent, label, { show: false })).result;
}

/** What memory keeps as the answer of this turn. */
export function updateMemory(turn: TurnContext, message: string): void {
  turn.remember(message);
}

/** The payload of `DONE`; the engine adds snapshot, hooks and trace. */
export function done(turn: TurnContext, payload: DonePayload): DonePayload {
  return turn.done(payload);
}

/** Back to the initial state; memory stays. */
export function resetState(turn: TurnContext): void {
  turn.resetState();
}

/** Announces task `index` (1-based) of `total`, with the slots that it has so far. */
export function taskProgress(
  turn: TurnContext,
  index: number,
  total: number,
  slots: JsonObject = {},
): void {
  turn.taskProgress(index, total, slots);
}
