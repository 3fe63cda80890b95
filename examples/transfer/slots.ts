import { isIsoDate, parseAmount, parseDate, type IsoDate } from "dure/slots";
import { z } from "zod";
import { moveStage, type Stage } from "./stages.ts";
import {
  SLOT_NAMES,
  type SlotErrorKey,
  type SlotErrors,
  type SlotName,
  type TransferSlots,
  type TransferState,
  type TransferTask,
} from "./state.ts";

/**
 * What the model (or the page) wants changed. `value` is raw: `"5만원"` and `50000` are both fine.
 */
export type SlotOperation =
  | { readonly op: "set"; readonly slot: SlotName; readonly value: unknown }
  | { readonly op: "clear"; readonly slot: SlotName }
  | { readonly op: "confirm" | "continue_flow" | "cancel_flow" };

export interface Delta {
  readonly operations: readonly SlotOperation[];
  /** Several transfers in one message: raw slots of each; the first is the current one. */
  readonly tasks?: readonly Readonly<Record<string, unknown>>[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface SlotContext {
  /** In the session's time zone. */
  readonly today: IsoDate;
}

export interface DeltaContext extends SlotContext {
  /** Who speaks: the slot agent may change slots and never confirms; code and the page may. */
  readonly from: "agent" | "code";
}

export interface DeltaOutcome {
  /**
   * With slots, errors, queue and the stage that follows from them; unchanged where nothing
   * applied.
   */
  readonly state: TransferState;
  /** What the delta asks of the flow and may ask now; the flow's code does it. */
  readonly requests: ReadonlySet<"confirm" | "continue_flow" | "cancel_flow">;
  readonly ignored: readonly { readonly op: string; readonly because: IgnoredBecause }[];
}

export type IgnoredBecause =
  | "code-decides"
  | "only-in-ready"
  | "only-in-filling"
  | "only-in-filling-or-ready"
  | "not-asked-to-continue"
  | "stage-takes-no-slots"
  | "unreadable"
  | "unknown-slot"
  | "too-many";

/**
 * Transfers in one batch. A longer list is not read as one message any more; the person is asked to
 * split it.
 */
export const MAX_TASKS = 20;
/** Operations in one delta: every slot set, cleared and set again is 15. */
const MAX_OPERATIONS = 50;

/**
 * The state after a delta. Each operation is coerced, checked and validated by its slot's
 * description; a value that fails removes the old one (who tried to change an amount must not
 * confirm the former one) and leaves its error in `meta.slot_errors[slot]`. An answer that cannot
 * be read changes nothing but `slot_errors._unclear`. Pure. Source: docs/spec/conversation §8.
 */
export function applyDelta(
  state: TransferState,
  delta: unknown,
  context: DeltaContext,
): DeltaOutcome {
  const read = envelopeSchema.safeParse(delta);
  if (!read.success) return unclear(state, "UNREADABLE", { op: "delta", because: "unreadable" });

  const draft = { slots: { ...state.slots }, errors: withoutUnclear(state.meta.slot_errors) };
  const requests = new Set<"confirm" | "continue_flow" | "cancel_flow">();
  const ignored: { op: string; because: IgnoredBecause }[] = [];

  for (const raw of read.data.operations) {
    const operation = readOperation(raw);
    if (!operation.ok) {
      ignored.push({ op: operation.op, because: operation.because });
      draft.errors._unclear = operation.because === "unknown-slot" ? "UNKNOWN_SLOT" : "UNREADABLE";
      continue;
    }
    const refused = refusalOf(operation.value, state, context);
    if (refused) ignored.push({ op: operation.value.op, because: refused });
    else if (operation.value.op === "set") {
      setSlot(draft, operation.value.slot, operation.value.value, context);
    } else if (operation.value.op === "clear") clearSlot(draft, operation.value.slot);
    else requests.add(operation.value.op);
  }

  const batch = addTasks(state, draft, read.data.tasks ?? [], context);
  if (batch.ignored) ignored.push({ op: "tasks", because: batch.ignored });

  const changed: TransferState = {
    ...state,
    slots: draft.slots,
    tasks: batch.tasks,
    total: batch.total,
    meta: { ...state.meta, slot_errors: draft.errors },
  };
  return { state: takesSlots(state.stage) ? withStageOfSlots(changed) : state, requests, ignored };
}

/**
 * The errors that the slots have as of today; a required slot that is merely absent is none. Pure.
 */
export function validateSlots(slots: TransferSlots, context: SlotContext): SlotErrors {
  const errors: SlotErrors = {};
  for (const slot of SLOT_NAMES) {
    if (slots[slot] === undefined) continue;
    const read = readSlot(slot, slots[slot], context);
    if (!read.ok) errors[slot] = read.error;
  }
  return errors;
}

/** Required slots without a value, in the order in which they are asked for. */
export function missingSlots(slots: TransferSlots): SlotName[] {
  return SLOT_NAMES.filter((slot) => SLOTS[slot].required && slots[slot] === undefined);
}

/**
 * READY when nothing required is missing and no slot has an error, else FILLING; other stages stay
 * as they are.
 */
export function withStageOfSlots(state: TransferState): TransferState {
  const { _unclear, ...errors } = state.meta.slot_errors;
  const wanted: Stage =
    missingSlots(state.slots).length === 0 && Object.keys(errors).length === 0
      ? "READY"
      : "FILLING";
  if (!takesSlots(state.stage) || wanted === state.stage) return state;

  const move = moveStage(state.stage, wanted);
  return move.ok ? { ...state, stage: move.stage } : state;
}

/**
 * Slots made of raw values, as one transfer of a batch arrives. A value that fails is absent and
 * has an error.
 */
export function readTask(
  raw: Readonly<Record<string, unknown>>,
  context: SlotContext,
): TransferTask {
  const draft: Draft = { slots: {}, errors: {} };
  for (const [slot, value] of Object.entries(raw)) {
    if (isSlotName(slot)) setSlot(draft, slot, value, context);
    else draft.errors._unclear = "UNKNOWN_SLOT";
  }
  return { slots: draft.slots, slot_errors: draft.errors };
}

type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: SlotErrorKey };

interface SlotDescription<Value> {
  readonly required: boolean;
  /** Reads what a person, a model or a page may have sent. */
  coerce(raw: unknown, context: SlotContext): Read<Value>;
  /** The format in which the value is stored, and the error when a value does not have it. */
  readonly check: z.ZodType<Value>;
  readonly checkError: SlotErrorKey;
  /** What the format cannot say, such as a day that has passed. */
  validate?(value: Value, context: SlotContext): SlotErrorKey | undefined;
}

/** Longest name or account; the bank of the example takes 100. */
const MAX_TARGET = 60;
/** Longest memo and alias; the bank of the example takes 100. */
const MAX_NOTE = 60;

export const SLOTS = {
  target: {
    required: true,
    coerce: (raw) => readText(raw, "TARGET_UNREADABLE"),
    check: z.string().max(MAX_TARGET),
    checkError: "TARGET_TOO_LONG",
    validate: (target) => (/[\p{L}\p{N}]/u.test(target) ? undefined : "TARGET_UNREADABLE"),
  },
  amount: {
    required: true,
    coerce: readAmount,
    check: z.int().min(1),
    checkError: "AMOUNT_NOT_POSITIVE",
  },
  memo: {
    required: false,
    coerce: (raw) => readText(raw, "MEMO_UNREADABLE"),
    check: z.string().max(MAX_NOTE),
    checkError: "MEMO_TOO_LONG",
  },
  alias: {
    required: false,
    coerce: (raw) => readText(raw, "ALIAS_UNREADABLE"),
    check: z.string().max(MAX_NOTE),
    checkError: "ALIAS_TOO_LONG",
  },
  transfer_date: {
    required: false,
    coerce: readDate,
    check: z.string().refine(isIsoDate),
    checkError: "DATE_NO_SUCH_DAY",
    validate: (date, { today }) => (date < today ? "DATE_PAST" : undefined),
  },
} as const satisfies {
  readonly [Slot in SlotName]: SlotDescription<NonNullable<TransferSlots[Slot]>>;
};

function readText(raw: unknown, error: SlotErrorKey): Read<string> {
  if (typeof raw !== "string") return { ok: false, error };
  const value = raw
    .normalize("NFC")
    .replace(/[\p{C}\p{Z}\s]+/gu, " ")
    .trim();
  return value === "" ? { ok: false, error } : { ok: true, value };
}

const AMOUNT_ERRORS = {
  empty: "AMOUNT_UNREADABLE",
  "not-an-amount": "AMOUNT_UNREADABLE",
  negative: "AMOUNT_NOT_POSITIVE",
  zero: "AMOUNT_NOT_POSITIVE",
  fraction: "AMOUNT_FRACTION",
  "too-large": "AMOUNT_TOO_LARGE",
} as const satisfies Record<
  Extract<ReturnType<typeof parseAmount>, { ok: false }>["because"],
  SlotErrorKey
>;

function readAmount(raw: unknown): Read<number> {
  if (typeof raw === "number") {
    if (!Number.isFinite(raw)) return { ok: false, error: "AMOUNT_UNREADABLE" };
    if (raw <= 0) return { ok: false, error: "AMOUNT_NOT_POSITIVE" };
    if (!Number.isInteger(raw)) return { ok: false, error: "AMOUNT_FRACTION" };
    return Number.isSafeInteger(raw)
      ? { ok: true, value: raw }
      : { ok: false, error: "AMOUNT_TOO_LARGE" };
  }
  if (typeof raw !== "string") return { ok: false, error: "AMOUNT_UNREADABLE" };
  const read = parseAmount(raw);
  return read.ok
    ? { ok: true, value: read.won }
    : { ok: false, error: AMOUNT_ERRORS[read.because] };
}

const DATE_ERRORS = {
  empty: "DATE_UNREADABLE",
  "not-a-date": "DATE_UNREADABLE",
  "no-such-day": "DATE_NO_SUCH_DAY",
  past: "DATE_PAST",
} as const satisfies Record<
  Extract<ReturnType<typeof parseDate>, { ok: false }>["because"],
  SlotErrorKey
>;

function readDate(raw: unknown, context: SlotContext): Read<IsoDate> {
  if (typeof raw !== "string") return { ok: false, error: "DATE_UNREADABLE" };
  const read = parseDate(raw, context);
  return read.ok ? { ok: true, value: read.date } : { ok: false, error: DATE_ERRORS[read.because] };
}

/** Coerce, check the format, validate: the one way by which a value gets into a slot. */
function readSlot(slot: SlotName, raw: unknown, context: SlotContext): Read<string | number> {
  const description: SlotDescription<string | number> = SLOTS[slot];
  const coerced = description.coerce(raw, context);
  if (!coerced.ok) return coerced;
  if (!description.check.safeParse(coerced.value).success) {
    return { ok: false, error: description.checkError };
  }
  const error = description.validate?.(coerced.value, context);
  return error === undefined ? coerced : { ok: false, error };
}

interface Draft {
  slots: TransferSlots;
  errors: SlotErrors;
}

function setSlot(draft: Draft, slot: SlotName, raw: unknown, context: SlotContext): void {
  clearSlot(draft, slot);
  if (!SLOTS[slot].required && (raw === null || raw === "")) return;

  const read = readSlot(slot, raw, context);
  if (read.ok) Object.assign(draft.slots, { [slot]: read.value });
  else draft.errors[slot] = read.error;
}

function clearSlot(draft: Draft, slot: SlotName): void {
  delete draft.slots[slot];
  delete draft.errors[slot];
}

const envelopeSchema = z.looseObject({
  operations: z.array(z.unknown()).max(MAX_OPERATIONS),
  tasks: z.array(z.record(z.string(), z.unknown())).optional(),
});

const operationSchema = z.discriminatedUnion("op", [
  z.looseObject({ op: z.literal("set"), slot: z.string(), value: z.unknown() }),
  z.looseObject({ op: z.literal("clear"), slot: z.string() }),
  z.looseObject({ op: z.enum(["confirm", "continue_flow", "cancel_flow"]) }),
]);

type ReadOperation =
  | { readonly ok: true; readonly value: SlotOperation }
  | { readonly ok: false; readonly op: string; readonly because: "unreadable" | "unknown-slot" };

function readOperation(raw: unknown): ReadOperation {
  const read = operationSchema.safeParse(raw);
  if (!read.success) return { ok: false, op: "unknown", because: "unreadable" };

  const operation = read.data;
  if (operation.op !== "set" && operation.op !== "clear") {
    return { ok: true, value: { op: operation.op } };
  }
  if (!isSlotName(operation.slot)) return { ok: false, op: operation.op, because: "unknown-slot" };
  return operation.op === "set"
    ? { ok: true, value: { op: "set", slot: operation.slot, value: operation.value } }
    : { ok: true, value: { op: "clear", slot: operation.slot } };
}

/** Why an operation does not count here and now; nothing if it counts. */
function refusalOf(
  { op }: SlotOperation,
  state: TransferState,
  { from }: DeltaContext,
): IgnoredBecause | undefined {
  switch (op) {
    case "set":
    case "clear":
      return takesSlots(state.stage) ? undefined : "stage-takes-no-slots";
    case "confirm":
      if (from === "agent") return "code-decides";
      return state.stage === "READY" ? undefined : "only-in-ready";
    case "continue_flow":
      return state.meta.awaiting_continue ? undefined : "not-asked-to-continue";
    case "cancel_flow":
      if (from === "agent" && state.stage === "READY") return "code-decides";
      if (from === "agent") return state.stage === "FILLING" ? undefined : "only-in-filling";
      return state.stage === "FILLING" || state.stage === "READY"
        ? undefined
        : "only-in-filling-or-ready";
  }
  return op satisfies never;
}

interface Batch {
  readonly tasks: TransferTask[];
  readonly total: number;
  readonly ignored?: IgnoredBecause;
}

/**
 * The first of several transfers becomes the current one (in `draft`), the others stand at the end
 * of the queue.
 */
function addTasks(
  state: TransferState,
  draft: Draft,
  raw: readonly Readonly<Record<string, unknown>>[],
  context: SlotContext,
): Batch {
  const unchanged = { tasks: state.tasks, total: state.total };
  const [first, ...others] = raw;
  if (first === undefined) return unchanged;
  if (state.stage !== "INIT" && state.stage !== "FILLING") {
    return { ...unchanged, ignored: "only-in-filling" };
  }
  if (state.total + others.length > MAX_TASKS) {
    draft.errors._unclear = "TOO_MANY_TASKS";
    return { ...unchanged, ignored: "too-many" };
  }

  const current = readTask(first, context);
  for (const slot of SLOT_NAMES) {
    if (current.slots[slot] === undefined && current.slot_errors[slot] === undefined) continue;
    clearSlot(draft, slot);
  }
  Object.assign(draft.slots, current.slots);
  Object.assign(draft.errors, current.slot_errors);
  return {
    tasks: [...state.tasks, ...others.map((task) => readTask(task, context))],
    total: state.total + others.length,
  };
}

function unclear(
  state: TransferState,
  error: SlotErrorKey,
  ignored: DeltaOutcome["ignored"][number],
): DeltaOutcome {
  const errors = { ...state.meta.slot_errors, _unclear: error };
  const changed = { ...state, meta: { ...state.meta, slot_errors: errors } };
  return {
    state: takesSlots(state.stage) ? withStageOfSlots(changed) : state,
    requests: new Set(),
    ignored: [ignored],
  };
}

function withoutUnclear({ _unclear, ...errors }: SlotErrors): SlotErrors {
  return errors;
}

function takesSlots(stage: Stage): boolean {
  return stage === "INIT" || stage === "FILLING" || stage === "READY";
}

function isSlotName(name: string): name is SlotName {
  return (SLOT_NAMES as readonly string[]).includes(name);
}
