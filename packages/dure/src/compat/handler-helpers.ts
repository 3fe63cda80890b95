import type { TurnEvent } from "../kernel/turn-events.ts";
import type { AgentResult } from "../engine/agent/agent.ts";
import type { DonePayload } from "../engine/service/service.ts";
import type { AgentOutcome, TurnContext } from "../engine/turn/turn-context.ts";
import { isObject, type JsonObject } from "../kernel/json.ts";

/** Helpers for handlers written as generators. Source: docs/spec/conversation §3. */

/** Start, tokens, done, memory and `DONE` of a turn that is one agent's answer, in one line. */
export async function* streamAgentTurn(
  turn: TurnContext,
  agent: string,
  label: string,
  options: { doneTransform?: (outcome: AgentOutcome) => DonePayload } = {},
): AsyncGenerator<TurnEvent, DonePayload> {
  const outcome = yield* turn.streamAgent(agent, label);
  const told = { ...outcome, data: toldData(outcome.result) };
  const payload = options.doneTransform?.(told) ?? { message: outcome.text };
  updateMemory(turn, payload.message);
  return payload;
}

/** How an agent ended, as it stands among its data. */
export interface ResultStatus {
  readonly _result_status: AgentResult["status"];
}

/** Runs an agent without showing its text. Its data say how it ended: `_result_status`. */
export async function runAgent<Data = unknown>(
  turn: TurnContext,
  agent: string,
  label = agent,
): Promise<AgentResult<Data & ResultStatus>> {
  const { result } = await turn.agent(agent, label, { show: false });
  const told = "data" in result ? { ...result, data: toldData(result) } : result;

  return told as AgentResult<Data & ResultStatus>;
}

/**
 * An agent's result as one object: its data, what it needs or why it cannot, and `_result_status`.
 * Data that are no object stand under `data`. Pure.
 */
export function resultDict(result: AgentResult): Readonly<Record<string, unknown>> & ResultStatus {
  const { status, ...rest } = result;
  if (!("data" in rest) || !isObject(rest.data)) return { ...rest, _result_status: status };
  const { data, ...said } = rest;

  return { ...said, ...data, _result_status: status };
}

/** Data that are no object stay as they are. */
function toldData(result: AgentResult): unknown {
  const isPlain = "data" in result && !isObject(result.data);
  return isPlain ? result.data : resultDict(result);
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
