import type { JsonObject } from "../kernel/json.ts";
import { isTerminal, moveStage, type Stage, type TerminalStage } from "./stages.ts";
import {
  asOfToday,
  entryOf,
  validateSlots,
  withoutWrong,
  withStageOfSlots,
  type FormContext,
} from "./entries.ts";
import { emptyForm, type FormResult, type FormState } from "./form-state.ts";

/**
 * The life of one flow, from its first word to its reset, over one entry or several. All pure:
 * each step takes the state and returns the next one, or says why it refuses. Source:
 * docs/spec/conversation §8.
 */
export type FlowStep =
  | { readonly ok: true; readonly state: FormState }
  | {
      readonly ok: false;
      readonly code: "STAGE_NOT_ALLOWED" | "SLOTS_INVALID" | "QUEUE_EMPTY" | "CONTINUE_FIRST";
      readonly because: string;
      readonly state: FormState;
    };

/**
 * Turns in a row without anything new after which an entry is given up. Source:
 * docs/spec/conversation §8, `MAX_FILL_TURNS`.
 */
const DEFAULT_MAX_FILL_TURNS = 5;

/** A new flow: nothing of an earlier one stays. `flowId` is new for every flow. */
export function startFlow(flowId: string): FormState {
  const state = emptyForm();
  return { ...state, meta: { ...state.meta, flow_id: flowId } };
}

/**
 * Counts a turn that ended in FILLING and brought nothing new; the one after `maxFillTurns` makes the
 * entry UNSUPPORTED. What is new begins the count again. Other stages pass through.
 */
export function countFillTurn(
  state: FormState,
  isNew: boolean,
  maxFillTurns = DEFAULT_MAX_FILL_TURNS,
): FormState {
  if (state.stage !== "FILLING") return state;
  if (isNew) return { ...state, meta: { ...state.meta, fill_turns: 0 } };
  const counted = { ...state, meta: { ...state.meta, fill_turns: state.meta.fill_turns + 1 } };
  return counted.meta.fill_turns > maxFillTurns ? { ...counted, stage: "UNSUPPORTED" } : counted;
}

/**
 * READY → CONFIRMED, by a yes to `question`. Slots are validated again as of today: if one became invalid it is removed,
 * and FILLING follows.
 */
export function confirmEntry(
  state: FormState,
  context: FormContext & { readonly question: string },
): FlowStep {
  const move = to(state, "CONFIRMED");
  if (!move.ok) return move;
  if (state.meta.awaiting_continue) {
    return {
      ok: false,
      code: "CONTINUE_FIRST",
      because: "After a failure the person says first whether to go on.",
      state,
    };
  }

  const errors = validateSlots(state.slots, context);
  const invalid = Object.keys(errors);
  if (invalid.length === 0) {
    const meta = { ...state.meta, confirmed: context.question };
    return { ok: true, state: { ...move.state, meta } };
  }

  return {
    ok: false,
    code: "SLOTS_INVALID",
    because: `Invalid by now: ${invalid.join(", ")}.`,
    state: withoutWrong(state, errors, context),
  };
}

/** FILLING | READY → CANCELLED, for the current entry only. */
export function cancelEntry(state: FormState): FlowStep {
  return to(state, "CANCELLED");
}

/**
 * CONFIRMED → EXECUTED | FAILED, as the outside answered. Details are absent when a person has
 * found out that it happened.
 */
export function settleEntry(
  state: FormState,
  answer: { readonly details: JsonObject } | { readonly code: string },
): FlowStep {
  const move = to(state, "details" in answer ? "EXECUTED" : "FAILED");
  if (!move.ok) return move;
  const details = "details" in answer ? answer.details : { code: answer.code };
  return { ok: true, state: recordResult(move.state, details) };
}

/**
 * Notes how the current entry ended; once, however often it is called. EXECUTED and FAILED are
 * noted by `settleEntry`.
 */
export function recordResult(state: FormState, details: JsonObject = {}): FormState {
  if (!isTerminal(state.stage) || state.results.some((result) => result.index === state.index)) {
    return state;
  }
  const result: FormResult = {
    index: state.index,
    outcome: OUTCOMES[state.stage],
    slots: state.slots,
    ...details,
  };
  return { ...state, results: [...state.results, result] };
}

/** What an end is called when it is counted. */
const OUTCOMES = {
  EXECUTED: "done",
  FAILED: "failed",
  CANCELLED: "cancelled",
  UNSUPPORTED: "unsupported",
} as const satisfies Record<TerminalStage, FormResult["outcome"]>;

/**
 * Terminal → INIT → FILLING | READY with the next entry of the queue, validated again. After a
 * failure it is loaded but waits for the person's 계속 진행 (`meta.awaiting_continue`): the flow stays
 * mid-flow and cannot be confirmed yet.
 */
export function nextEntry(state: FormState, context: FormContext): FlowStep {
  const move = to(state, "INIT");
  if (!move.ok) return move;
  const [next, ...tasks] = state.tasks;
  if (next === undefined) {
    return { ok: false, code: "QUEUE_EMPTY", because: "No entry waits.", state };
  }

  const today = asOfToday(entryOf(next), context);
  const { choice: _, ...meta } = state.meta;
  const loaded: FormState = {
    ...recordResult(state),
    stage: "INIT",
    slots: today.slots,
    tasks,
    index: state.index + 1,
    meta: {
      ...meta,
      slot_errors: today.slot_errors,
      derived: today.derived,
      doubts: today.doubts,
      declined: today.declined,
      fill_turns: 0,
      confirmed: "",
      awaiting_continue: state.stage === "FAILED",
    },
  };
  return { ok: true, state: withStageOfSlots(loaded, context) };
}

/** 계속 진행: the entry that was loaded after a failure goes on. */
export function continueBatch(state: FormState): FormState {
  return { ...state, meta: { ...state.meta, awaiting_continue: false } };
}

/**
 * FILLING | READY → CANCELLED for the current entry and everything behind it; each counts as
 * cancelled.
 */
export function stopBatch(state: FormState): FlowStep {
  const move = to(state, "CANCELLED");
  if (!move.ok) return move;
  const current = recordResult(move.state);
  const others = state.tasks.map(({ slots }, place): FormResult => ({
    index: state.index + 1 + place,
    outcome: "cancelled",
    slots,
  }));
  return {
    ok: true,
    state: continueBatch({ ...current, tasks: [], results: [...current.results, ...others] }),
  };
}

/** How many entries of a form ended in which way. */
export type BatchCounts = Readonly<Record<FormResult["outcome"], number>>;

/** How often each end happened, from the results alone. */
export function countResults(results: readonly FormResult[]): BatchCounts {
  const counts = { done: 0, cancelled: 0, failed: 0, unsupported: 0 };
  for (const { outcome } of results) counts[outcome]++;
  return counts;
}

function to(state: FormState, stage: Stage): FlowStep {
  const move = moveStage(state.stage, stage);
  return move.ok ? { ok: true, state: { ...state, stage } } : { ...move, state };
}
