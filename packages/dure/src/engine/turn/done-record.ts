import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { FileRef } from "../../kernel/files.ts";
import { compacted, isObject, type JsonObject } from "../../kernel/json.ts";
import type {
  Done,
  DoneApproval,
  HookRecord,
  TraceAgent,
  TurnError,
} from "../../kernel/turn-events.ts";
import type { ClaimedTurn, FinishedTurn, FinishedFlow } from "../../durable/turns.ts";
import type { LeafService } from "../service/combine.ts";
import type { Question } from "./question.ts";
import type { DonePayload } from "../service/service.ts";
import { buttonsFor, openMessage } from "../texts.ts";
import type { SlotDescription } from "./state.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";

/** The hook type under which `afterTurn` is delivered. */
export const AFTER_TURN = "@after-turn";

/** What a person is told at the end, from what the handler has returned. */
export function doneOf(
  payload: DonePayload,
  turn: {
    id: string;
    locale: string;
    state: JsonObject;
    about: StateAbout;
    hooks: readonly HookRecord[];
    agents: readonly TraceAgent[];
    elapsedMs: number;
    question: Question | undefined;
    approvals: readonly DoneApproval[];
    files: readonly FileRef[];
  },
): Done {
  const nextAction = payload.nextAction ?? "ASK";
  const asks = nextAction === "CONFIRM" || nextAction === "ASK_CONTINUE";
  const confirmId = asks ? turn.question?.id : undefined;
  const buttons = payload.uiHint?.buttons ?? buttonsFor(nextAction, turn.locale) ?? [];
  return compacted({
    message: payload.message,
    nextAction,
    uiHint: compacted({ confirmId, ...payload.uiHint, buttons }),
    stateSnapshot: snapshotOf(payload.stateSnapshot ?? turn.state, turn.about),
    hooks: turn.hooks,
    trace: { turnId: turn.id, totalElapsedMs: Math.round(turn.elapsedMs), agents: turn.agents },
    error: payload.error,
    calls: payload.handedCalls?.calls,
    approvals: turn.approvals.length > 0 ? turn.approvals : undefined,
    files: turn.files.length > 0 ? turn.files : undefined,
    slotsCard: payload.slotsCard,
    receipt: payload.receipt,
    receipts: payload.receipts,
  } satisfies Record<keyof Done, unknown>);
}

/** What a snapshot tells beside the members of the state. */
export interface StateAbout {
  readonly scenario?: string | undefined;
  /** Absent: the service declares none. */
  readonly slots?: readonly SlotDescription[] | undefined;
}

/** The state, its scenario, and the required slots without a value. A member of its own stays. Pure. */
export function snapshotOf(state: object, { scenario, slots }: StateAbout): JsonObject {
  const about = {
    scenario: scenario || undefined,
    missing_required: slots && missing(state, slots),
  };
  return { ...compacted(about), ...state };
}

/** Pages read the values of slots in the member `slots`; a flat state holds them itself. */
function missing(state: object, slots: readonly SlotDescription[]): readonly string[] {
  const held: unknown = Reflect.get(state, "slots");
  const values = isObject(held) ? held : (state as Readonly<Record<string, unknown>>);
  const isEmpty = (value: unknown): boolean =>
    value === undefined || value === null || value === "";
  const open = slots.filter(({ name, required }) => required && isEmpty(values[name]));

  return open.map(({ name }) => name);
}

/**
 * A flow that reached its end: an entry of the finished flows; the stored state is reset, `DONE`
 * shows what was executed.
 */
export function terminalFlow(
  leaf: LeafService | undefined,
  flow: string,
  state: JsonObject | undefined,
): FinishedFlow | undefined {
  const stage = state?.["stage"];
  if (
    leaf?.kind !== "service" ||
    typeof stage !== "string" ||
    !leaf.state?.stages?.terminal.includes(stage)
  ) {
    return undefined;
  }
  return { service: leaf.name, flow, stage, data: state };
}

/** One row per hook, in order, and one for `afterTurn`. */
export function hookRows(
  held: ClaimedTurn,
  leaf: LeafService | undefined,
  hooks: readonly HookRecord[],
  message: string,
): FinishedTurn["outbox"] {
  if (leaf?.kind !== "service") return [];
  const after = leaf.afterTurn ? [{ type: AFTER_TURN, data: { message } }] : [];
  // The rows of an end that a person has had retried are in the outbox under their own keys.
  const retries = held.rows.filter(({ place }) => place.endsWith(" retry")).length;
  const turn = retries === 0 ? held.turn : `${held.turn}.r${retries}`;
  return [...hooks, ...after].map((hook, index) => ({
    topic: "hook",
    ordering: held.session,
    key: `${turn}.${index}`,
    payload: {
      service: leaf.name,
      type: hook.type,
      data: hook.data,
      session: held.session,
      turn: held.turn,
    },
  }));
}

export function doneEvent(held: ClaimedTurn, service: string, done: Done): NewPlatformEvent {
  return {
    type: "turn.done",
    role: "conversation",
    tenant: held.tenant,
    session: held.session,
    turn: held.turn,
    service,
    data: {
      author: held.author,
      message: done.message,
      nextAction: done.nextAction,
      error: done.error?.code,
      elapsedMs: done.trace.totalElapsedMs,
    },
  };
}

/**
 * What of an error stands in `DONE`: its code and a fixed sentence; its own words only in dev mode.
 * The log has them.
 */
export function turnErrorOf(error: unknown, { devMode }: { devMode: boolean }): TurnError {
  return {
    code: codeOf(error) ?? "INTERNAL",
    message: devMode ? messageOf(error) : openMessage(error),
    details: devMode ? detailsOf(error) : undefined,
  };
}

function detailsOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  return {
    name: error.name,
    stack: error.stack?.split("\n").slice(0, 8),
    facts: error instanceof DureError ? error.details : undefined,
  };
}
