import { isTerminal, moveStage, type Stage, type TerminalStage } from "./stages.ts";
import { readTask, validateSlots, withStageOfSlots, type SlotContext } from "./slots.ts";
import { initialState, SLOT_NAMES, type TransferResult, type TransferState } from "./state.ts";

/**
 * The life of one flow, from its first word to its reset, over one transfer or several. All pure:
 * each step takes the state and returns the next one, or says why it refuses. Source:
 * docs/spec/conversation §8.
 */
export type FlowStep =
  | { readonly ok: true; readonly state: TransferState }
  | {
      readonly ok: false;
      readonly code: "STAGE_NOT_ALLOWED" | "SLOTS_INVALID" | "QUEUE_EMPTY" | "CONTINUE_FIRST";
      readonly because: string;
      readonly state: TransferState;
    };

/**
 * Turns in FILLING after which a transfer is given up. Source: docs/spec/conversation §8,
 * `MAX_FILL_TURNS`.
 */
const DEFAULT_MAX_FILL_TURNS = 5;

/** A new flow: nothing of an earlier one stays. `flowId` is new for every flow. */
export function startFlow(flowId: string): TransferState {
  const state = initialState();
  return { ...state, meta: { ...state.meta, flow_id: flowId } };
}

/**
 * Counts a turn that ended in FILLING; the one after `maxFillTurns` makes the transfer UNSUPPORTED.
 * Other stages pass through.
 */
export function countFillTurn(
  state: TransferState,
  maxFillTurns = DEFAULT_MAX_FILL_TURNS,
): TransferState {
  if (state.stage !== "FILLING") return state;
  const counted = { ...state, meta: { ...state.meta, fill_turns: state.meta.fill_turns + 1 } };
  return counted.meta.fill_turns > maxFillTurns ? { ...counted, stage: "UNSUPPORTED" } : counted;
}

/**
 * READY → CONFIRMED, by a yes to `question`. Slots are validated again as of today: if one became invalid it is removed,
 * and FILLING follows.
 */
export function confirmTransfer(
  state: TransferState,
  context: SlotContext & { readonly question: string },
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
  const invalid = SLOT_NAMES.filter((slot) => errors[slot] !== undefined);
  if (invalid.length === 0) {
    const meta = { ...state.meta, confirmed: context.question };
    return { ok: true, state: { ...move.state, meta } };
  }

  const slots = { ...state.slots };
  for (const slot of invalid) delete slots[slot];
  const meta = { ...state.meta, slot_errors: { ...state.meta.slot_errors, ...errors } };
  return {
    ok: false,
    code: "SLOTS_INVALID",
    because: `Invalid by now: ${invalid.join(", ")}.`,
    state: withStageOfSlots({ ...state, slots, meta }),
  };
}

/** FILLING | READY → CANCELLED, for the current transfer only. */
export function cancelTransfer(state: TransferState): FlowStep {
  return to(state, "CANCELLED");
}

/**
 * CONFIRMED → EXECUTED | FAILED, as the bank answered. The number is unknown when a person has
 * found out that the bank did it.
 */
export function settleTransfer(
  state: TransferState,
  answer: { readonly transactionId: string | undefined } | { readonly code: string },
): FlowStep {
  const done = "transactionId" in answer;
  const move = to(state, done ? "EXECUTED" : "FAILED");
  if (!move.ok) return move;
  const number =
    done && answer.transactionId !== undefined ? { transaction_id: answer.transactionId } : {};
  return { ok: true, state: recordResult(move.state, done ? number : { code: answer.code }) };
}

/**
 * Notes how the current transfer ended; once, however often it is called. EXECUTED and FAILED are
 * noted by `settleTransfer`.
 */
export function recordResult(
  state: TransferState,
  details: Pick<TransferResult, "transaction_id" | "code"> = {},
): TransferState {
  if (!isTerminal(state.stage) || state.results.some((result) => result.index === state.index)) {
    return state;
  }
  const result: TransferResult = {
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
} as const satisfies Record<TerminalStage, TransferResult["outcome"]>;

/**
 * Terminal → INIT → FILLING | READY with the next transfer of the queue, validated again. After a
 * failure it is loaded but waits for the person's 계속 진행 (`meta.awaiting_continue`): the flow stays
 * mid-flow and cannot be confirmed yet.
 */
export function nextTransfer(state: TransferState, context: SlotContext): FlowStep {
  const move = to(state, "INIT");
  if (!move.ok) return move;
  const [next, ...tasks] = state.tasks;
  if (next === undefined) {
    return { ok: false, code: "QUEUE_EMPTY", because: "No transfer waits.", state };
  }

  const today = readTask(next.slots, context);
  const errors = { ...next.slot_errors, ...today.slot_errors };
  const loaded: TransferState = {
    ...recordResult(state),
    stage: "INIT",
    slots: today.slots,
    tasks,
    index: state.index + 1,
    meta: {
      ...state.meta,
      slot_errors: errors,
      fill_turns: 0,
      confirmed: "",
      awaiting_continue: state.stage === "FAILED",
    },
  };
  return { ok: true, state: withStageOfSlots(loaded) };
}

/** 계속 진행: the transfer that was loaded after a failure goes on. */
export function continueBatch(state: TransferState): TransferState {
  return { ...state, meta: { ...state.meta, awaiting_continue: false } };
}

/**
 * FILLING | READY → CANCELLED for the current transfer and everything behind it; each counts as
 * cancelled.
 */
export function stopBatch(state: TransferState): FlowStep {
  const move = to(state, "CANCELLED");
  if (!move.ok) return move;
  const current = recordResult(move.state);
  const others = state.tasks.map(({ slots }, place): TransferResult => ({
    index: state.index + 1 + place,
    outcome: "cancelled",
    slots,
  }));
  return {
    ok: true,
    state: continueBatch({ ...current, tasks: [], results: [...current.results, ...others] }),
  };
}

export type BatchCounts = Readonly<Record<TransferResult["outcome"], number>>;

/** How often each end happened, from the results alone. */
export function countResults(results: readonly TransferResult[]): BatchCounts {
  const counts = { done: 0, cancelled: 0, failed: 0, unsupported: 0 };
  for (const { outcome } of results) counts[outcome]++;
  return counts;
}

function to(state: TransferState, stage: Stage): FlowStep {
  const move = moveStage(state.stage, stage);
  return move.ok ? { ok: true, state: { ...state, stage } } : { ...move, state };
}
