import { z } from "zod";
import type { SlotContext, SlotRead, SlotSpec, SlotSpecs } from "./form.ts";
import type { FormState, FormTask, SlotErrors, SlotValues } from "./form-state.ts";
import { isQuoteOf } from "../parse/check.ts";
import { classifyReply, REFUSING_KINDS } from "../parse/reply.ts";
import { namesATime } from "../parse/when.ts";
import { moveStage, type Stage } from "./stages.ts";

/**
 * What the model (or the page) wants changed. `value` is raw: `"5만원"` and `50000` are both fine.
 */
export type SlotOperation =
  | { readonly op: "set"; readonly slot: string; readonly value: unknown }
  | { readonly op: "clear"; readonly slot: string }
  | { readonly op: "confirm" | "continue_flow" | "cancel_flow" };

/** What one message changes in a form. */
export interface Delta {
  readonly operations: readonly SlotOperation[];
  /** Several entries in one message: raw slots of each. */
  readonly tasks?: readonly RawSlots[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

type RawSlots = Readonly<Record<string, unknown>>;

/** The form, and what its values are judged by. */
export interface FormContext extends SlotContext {
  readonly specs: SlotSpecs;
}

export interface DeltaContext extends FormContext {
  /** Who speaks: the slot agent may change slots and never confirms; code and the page may. */
  readonly from: "agent" | "code";
  /**
   * Whether the person's words change the current entry. Without such words another recipient (or
   * whatever identifies an entry) is one more.
   */
  readonly manner?: "adds" | "changes" | undefined;
  /** What the person said: a model's value for a text slot has to stand in it. Absent: not looked. */
  readonly message?: string | undefined;
}

export interface DeltaOutcome {
  /**
   * With slots, errors, queue and the stage that follows from them; unchanged where nothing
   * applied.
   */
  readonly state: FormState;
  /** What the delta asks of the flow and may ask now; the flow's code does it. */
  readonly requests: ReadonlySet<"confirm" | "continue_flow" | "cancel_flow">;
  /** Entries that wait now and did not before. */
  readonly added: readonly FormTask[];
  readonly ignored: readonly { readonly op: string; readonly because: IgnoredBecause }[];
}

export type IgnoredBecause =
  | "code-decides"
  | "only-in-ready"
  | "only-in-filling-or-ready"
  | "not-asked-to-continue"
  | "stage-takes-no-slots"
  | "unreadable"
  | "unknown-slot"
  | "not-said"
  | "too-many";

/**
 * Entries of one flow. A longer list is not read as one message any more; the person is asked to
 * split it.
 */
export const MAX_TASKS = 20;
/** Operations in one delta: every slot of a large form set, cleared and set again. */
const MAX_OPERATIONS = 50;

/**
 * The state after a delta. Each operation is parsed, checked and validated by its slot's spec; a
 * value that fails removes the old one (who tried to change an amount must not confirm the former
 * one) and leaves its error in `meta.slot_errors[slot]`. An answer that cannot be read changes
 * nothing but `slot_errors._unclear`. Who was named is never replaced by being followed by another.
 * Pure. Source: docs/spec/conversation §8.
 */
export function applyDelta(state: FormState, delta: unknown, context: DeltaContext): DeltaOutcome {
  const read = envelopeSchema.safeParse(delta);
  if (!read.success) return unclear(state, context);
  if (!takesSlots(state.stage)) return refuseAll(state, read.data.operations, context);

  const { operations, ignored, isUnknown } = readOperations(read.data.operations, context);
  const requests = new Set<"confirm" | "continue_flow" | "cancel_flow">();
  const edits: SlotEdit[] = [];
  for (const operation of operations) {
    const refused = refusalOf(operation, state, context);
    if (refused) ignored.push({ op: operation.op, because: refused });
    else if (operation.op === "set" || operation.op === "clear") edits.push(operation);
    else requests.add(operation.op);
  }

  const errors = withoutUnclear(state.meta.slot_errors);
  const draft: Draft = { slots: { ...state.slots }, errors: { ...errors } };
  if (isUnknown !== undefined) draft.errors["_unclear"] = isUnknown;
  const entry = anotherEntry(state, edits, context);
  if (!entry) for (const edit of edits) applyEdit(draft, edit, context);

  const said = (read.data.tasks ?? []).map((task) => saidOf(task, context));
  const tasks = [...(entry ? [entry] : []), ...said];
  const added = addTasks(state, draft, tasks, context);
  if (added.isTooMany) ignored.push({ op: "tasks", because: "too-many" });
  const changed: FormState = {
    ...state,
    slots: draft.slots,
    tasks: [...state.tasks, ...added.tasks],
    total: state.total + added.tasks.length,
    meta: { ...state.meta, slot_errors: draft.errors },
  };
  return { state: withStageOfSlots(changed, context), requests, added: added.tasks, ignored };
}

/** The outcome of a message that changes nothing. */
export function unchanged(state: FormState): DeltaOutcome {
  return { state, requests: new Set(), added: [], ignored: [] };
}

/**
 * The errors that the slots have as of today; a required slot that is merely absent is none. Pure.
 */
export function validateSlots(slots: SlotValues, context: FormContext): SlotErrors {
  const errors: Record<string, string> = {};
  for (const [slot, value] of Object.entries(slots)) {
    const read = readSlot(slot, value, context);
    if (!read.ok) errors[slot] = read.error;
  }
  return errors;
}

/** Required slots without a value, in the order in which they are asked for. */
export function missingSlots(slots: SlotValues, specs: SlotSpecs): string[] {
  return Object.keys(specs).filter((slot) => specs[slot]!.required && slots[slot] === undefined);
}

/** The slot that is asked for next: one with an error, else the first that is missing. */
export function askedSlotOf(
  slots: SlotValues,
  errors: SlotErrors,
  specs: SlotSpecs,
): string | undefined {
  const wrong = Object.keys(specs).find((slot) => errors[slot] !== undefined);
  return wrong ?? missingSlots(slots, specs)[0];
}

/**
 * READY when nothing required is missing and no slot has an error, else FILLING; other stages stay
 * as they are.
 */
export function withStageOfSlots(
  state: FormState,
  { specs }: Pick<FormContext, "specs">,
): FormState {
  const errors = withoutUnclear(state.meta.slot_errors);
  const isWhole = missingSlots(state.slots, specs).length === 0 && Object.keys(errors).length === 0;
  const wanted: Stage = isWhole ? "READY" : "FILLING";
  if (!takesSlots(state.stage) || wanted === state.stage) return state;

  const move = moveStage(state.stage, wanted);
  return move.ok ? { ...state, stage: move.stage } : state;
}

/** Without the values that have these errors; a form that was READY is FILLING then. Pure. */
export function withoutWrong(
  state: FormState,
  errors: SlotErrors,
  context: Pick<FormContext, "specs">,
): FormState {
  const slots = Object.fromEntries(
    Object.entries(state.slots).filter(([slot]) => errors[slot] === undefined),
  );
  const meta = { ...state.meta, slot_errors: { ...state.meta.slot_errors, ...errors } };
  return withStageOfSlots({ ...state, slots, meta }, context);
}

/**
 * Slots made of raw values, as one of several entries arrives. A value that fails is absent and has
 * an error.
 */
export function readTask(raw: RawSlots, context: FormContext): FormTask {
  const draft: Draft = { slots: {}, errors: {} };
  for (const [slot, value] of Object.entries(raw)) {
    if (value === null || value === undefined) continue;
    if (Object.hasOwn(context.specs, slot)) applyEdit(draft, { op: "set", slot, value }, context);
    else draft.errors["_unclear"] = "UNKNOWN_SLOT";
  }
  return { slots: draft.slots, slot_errors: draft.errors };
}

// --- one value

interface Draft {
  readonly slots: Record<string, string | number>;
  readonly errors: Record<string, string>;
}

type SlotEdit = Extract<SlotOperation, { op: "set" | "clear" }>;

/**
 * In the place of a value that does not count: the error that is said of it. Made by code alone; no
 * JSON from outside is one.
 */
export class Doubt {
  readonly error: string;
  constructor(error: string) {
    this.error = error;
  }
}

/** Parse, check the form, validate: the one way by which a value gets into a slot. */
function readSlot(slot: string, raw: unknown, context: FormContext): SlotRead<string | number> {
  if (raw instanceof Doubt) return { ok: false, error: raw.error };
  const spec = context.specs[slot];
  if (!spec) return { ok: false, error: "UNKNOWN_SLOT" };
  if (hasLostTime(raw, spec, context)) return { ok: false, error: spec.schemaError };
  const parsed = spec.parse(raw, context) as SlotRead<string | number>;
  if (!parsed.ok) return parsed;
  if (!spec.schema.safeParse(parsed.value).success) return { ok: false, error: spec.schemaError };
  const error = spec.validate?.(parsed.value, context);
  return error === undefined ? parsed : { ok: false, error };
}

/** A time with a day would be dropped without a word, where the slot has none for it. */
function hasLostTime(raw: unknown, spec: SlotSpec, context: SlotContext): boolean {
  if (spec.type !== "date" || spec.remark !== undefined || typeof raw !== "string") return false;
  return namesATime(raw, context);
}

function applyEdit({ slots, errors }: Draft, edit: SlotEdit, context: FormContext): void {
  const { slot } = edit;
  delete slots[slot];
  delete errors[slot];
  if (edit.op === "clear") return;
  if (!context.specs[slot]?.required && (edit.value === null || edit.value === "")) return;

  const read = readSlot(slot, edit.value, context);
  if (read.ok) slots[slot] = read.value;
  else errors[slot] = read.error;
}

// --- several entries

/** Without the values that the person has not said. */
function saidOf(task: RawSlots, context: DeltaContext): RawSlots {
  return Object.fromEntries(
    Object.entries(task).filter(([slot, value]) => wasSaid(slot, value, context)),
  );
}

/** The slot by which entries are told apart. */
function identityOf(specs: SlotSpecs): string | undefined {
  return Object.keys(specs).find((slot) => specs[slot]!.identifies);
}

/**
 * The edits as an entry of its own, where they name another recipient than the current one without
 * words of changing. A page edits what it shows, so its edits are never one more.
 */
function anotherEntry(
  state: FormState,
  edits: readonly SlotEdit[],
  context: DeltaContext,
): RawSlots | undefined {
  const identity = identityOf(context.specs);
  const current = identity === undefined ? undefined : state.slots[identity];
  if (identity === undefined || current === undefined || context.from === "code") return undefined;

  const sets = edits.flatMap((edit) => (edit.op === "set" ? [[edit.slot, edit.value]] : []));
  const raw = Object.fromEntries(sets) as RawSlots;
  const { slots } = readTask(raw, context);
  if (slots[identity] === undefined || slots[identity] === current) return undefined;
  return context.manner === "changes" ? undefined : raw;
}

/**
 * What was said of the current entry goes into it, and everything else behind it. While nothing
 * identifies the current entry, the first one is the current. Where they are too many, none counts.
 */
function addTasks(
  state: FormState,
  draft: Draft,
  raw: readonly RawSlots[],
  context: FormContext,
): { readonly tasks: readonly FormTask[]; readonly isTooMany: boolean } {
  const tasks = raw.map((one) => readTask(one, context));
  const ofCurrent = placeOfCurrent(tasks, draft, identityOf(context.specs));
  const others = tasks.filter((_, place) => place !== ofCurrent);
  if (state.total + others.length > MAX_TASKS) {
    draft.errors["_unclear"] = "TOO_MANY_TASKS";
    return { tasks: [], isTooMany: true };
  }
  const current = tasks[ofCurrent];
  if (current) mergeInto(draft, current);
  return { tasks: others, isTooMany: false };
}

/** Which of the entries is the current one, said again; -1 for none. */
function placeOfCurrent(
  tasks: readonly FormTask[],
  { slots }: Draft,
  identity: string | undefined,
): number {
  if (identity === undefined) return Object.keys(slots).length === 0 ? 0 : -1;
  const current = slots[identity];
  if (current === undefined) return 0;
  return tasks.findIndex((task) => task.slots[identity] === current);
}

function mergeInto({ slots, errors }: Draft, task: FormTask): void {
  for (const slot of [...Object.keys(task.slots), ...Object.keys(task.slot_errors)]) {
    delete slots[slot];
    delete errors[slot];
  }
  Object.assign(slots, task.slots);
  Object.assign(errors, task.slot_errors);
}

// --- what comes from outside

const envelopeSchema = z.looseObject({
  operations: z.array(z.unknown()).max(MAX_OPERATIONS),
  tasks: z.array(z.record(z.string(), z.unknown())).optional(),
});

const operationSchema = z.discriminatedUnion("op", [
  z.looseObject({ op: z.literal("set"), slot: z.string(), value: z.unknown() }),
  z.looseObject({ op: z.literal("clear"), slot: z.string() }),
  z.looseObject({ op: z.enum(["confirm", "continue_flow", "cancel_flow"]) }),
]);

interface ReadOperations {
  readonly operations: SlotOperation[];
  readonly ignored: { op: string; because: IgnoredBecause }[];
  /** Why one could not be read: an error about the message. */
  readonly isUnknown: string | undefined;
}

function readOperations(raw: readonly unknown[], { specs }: FormContext): ReadOperations {
  const operations: SlotOperation[] = [];
  const ignored: ReadOperations["ignored"] = [];
  let isUnknown: string | undefined;
  for (const one of raw) {
    const read = operationSchema.safeParse(one);
    if (!read.success) {
      ignored.push({ op: "unknown", because: "unreadable" });
      isUnknown = "UNREADABLE";
    } else if ("slot" in read.data && !Object.hasOwn(specs, read.data.slot as string)) {
      ignored.push({ op: read.data.op, because: "unknown-slot" });
      isUnknown = "UNKNOWN_SLOT";
    } else operations.push(operationOf(read.data));
  }
  return { operations, ignored, isUnknown };
}

function operationOf(read: z.output<typeof operationSchema>): SlotOperation {
  switch (read.op) {
    case "set":
      return { op: "set", slot: read.slot, value: read.value };
    case "clear":
      return { op: "clear", slot: read.slot };
    default:
      return { op: read.op };
  }
}

/** Why an operation does not count here and now; nothing if it counts. */
function refusalOf(
  operation: SlotOperation,
  state: FormState,
  context: DeltaContext,
): IgnoredBecause | undefined {
  switch (operation.op) {
    case "set":
      if (!takesSlots(state.stage)) return "stage-takes-no-slots";
      return wasSaid(operation.slot, operation.value, context) ? undefined : "not-said";
    case "clear":
      return takesSlots(state.stage) ? undefined : "stage-takes-no-slots";
    case "confirm":
      if (context.from === "agent") return "code-decides";
      return state.stage === "READY" ? undefined : "only-in-ready";
    case "continue_flow":
      return state.meta.awaiting_continue ? undefined : "not-asked-to-continue";
    case "cancel_flow":
      return state.stage === "FILLING" || state.stage === "READY"
        ? undefined
        : "only-in-filling-or-ready";
  }
  return operation satisfies never;
}

/** A model cannot name what the person has not: no recipient, no memo. */
function wasSaid(slot: string, value: unknown, { specs, message, from }: DeltaContext): boolean {
  const isText = specs[slot]?.type === "text" && typeof value === "string";
  if (!isText || from === "code" || message === undefined) return true;
  if (specs[slot]?.identifies && isPlainAnswer(value)) return false;
  return isQuoteOf(value, message);
}

/** 네, ok, 취소: an answer, and the name of no one. */
function isPlainAnswer(words: string): boolean {
  const { kind, sure } = classifyReply(words);
  return sure === "exact" && (kind === "yes" || REFUSING_KINDS.has(kind));
}

function refuseAll(state: FormState, raw: readonly unknown[], context: DeltaContext): DeltaOutcome {
  const { operations, ignored } = readOperations(raw, context);
  const requests = new Set<"confirm" | "continue_flow" | "cancel_flow">();
  for (const operation of operations) {
    const because = refusalOf(operation, state, context);
    if (because) ignored.push({ op: operation.op, because });
    else if (operation.op !== "set" && operation.op !== "clear") requests.add(operation.op);
  }
  return { state, requests, added: [], ignored };
}

function unclear(state: FormState, context: FormContext): DeltaOutcome {
  const errors = { ...state.meta.slot_errors, _unclear: "UNREADABLE" };
  const changed = { ...state, meta: { ...state.meta, slot_errors: errors } };
  return {
    state: takesSlots(state.stage) ? withStageOfSlots(changed, context) : state,
    requests: new Set(),
    added: [],
    ignored: [{ op: "delta", because: "unreadable" }],
  };
}

function withoutUnclear({ _unclear, ...errors }: SlotErrors): SlotErrors {
  return errors;
}

function takesSlots(stage: Stage): boolean {
  return stage === "INIT" || stage === "FILLING" || stage === "READY";
}
