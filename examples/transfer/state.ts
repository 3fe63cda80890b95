import { z } from "zod";
import { STAGES } from "./stages.ts";

/** Names of the slots, as they stand in the state, in deltas and in `slots` of a request. */
export const SLOT_NAMES = ["target", "amount", "memo", "alias", "transfer_date"] as const;
export type SlotName = (typeof SLOT_NAMES)[number];

/**
 * What is wrong with a slot; its words for persons are in `messages.ts`. `_unclear` holds
 * UNREADABLE, UNKNOWN_SLOT or TOO_MANY_TASKS.
 */
export const SLOT_ERROR_KEYS = [
  "TARGET_UNREADABLE",
  "TARGET_TOO_LONG",
  "AMOUNT_UNREADABLE",
  "AMOUNT_NOT_POSITIVE",
  "AMOUNT_FRACTION",
  "AMOUNT_TOO_LARGE",
  "MEMO_UNREADABLE",
  "MEMO_TOO_LONG",
  "ALIAS_UNREADABLE",
  "ALIAS_TOO_LONG",
  "DATE_UNREADABLE",
  "DATE_NO_SUCH_DAY",
  "DATE_PAST",
  "UNREADABLE",
  "UNKNOWN_SLOT",
  "TOO_MANY_TASKS",
] as const;
export type SlotErrorKey = (typeof SLOT_ERROR_KEYS)[number];

export const slotsSchema = z.strictObject({
  /** Who gets the money: a name or an account, as the person said it. */
  target: z.string().exactOptional(),
  /** Whole won, ≥ 1. */
  amount: z.int().exactOptional(),
  memo: z.string().exactOptional(),
  /** A name of the person's own for this transfer. */
  alias: z.string().exactOptional(),
  /** `YYYY-MM-DD`; absent means at once. */
  transfer_date: z.string().exactOptional(),
});
export type TransferSlots = z.output<typeof slotsSchema>;

const slotErrorsSchema = z.partialRecord(
  z.enum([...SLOT_NAMES, "_unclear"]),
  z.enum(SLOT_ERROR_KEYS),
);
export type SlotErrors = z.output<typeof slotErrorsSchema>;

/**
 * A transfer that waits for its turn: validated when it was said, and again when it becomes the
 * current one.
 */
const taskSchema = z.strictObject({ slots: slotsSchema, slot_errors: slotErrorsSchema });
export type TransferTask = z.output<typeof taskSchema>;

const resultSchema = z.strictObject({
  /** 1-based place in the batch. */
  index: z.int().min(1),
  outcome: z.enum(["done", "cancelled", "failed", "unsupported"]),
  slots: slotsSchema,
  /** Of the bank; only when done. */
  transaction_id: z.string().exactOptional(),
  /** Why it failed; only when failed. */
  code: z.string().exactOptional(),
});
export type TransferResult = z.output<typeof resultSchema>;

/**
 * The whole state of a transfer session; `{}` is the state before the first message. Source:
 * docs/spec/conversation §8.
 */
export const transferStateSchema = z.strictObject({
  stage: z.enum(STAGES).default("INIT"),
  slots: slotsSchema.default({}),
  /** What waits behind the current transfer, in the order in which it was said. */
  tasks: z.array(taskSchema).default([]),
  /** 1-based place of the current transfer among `total`. */
  index: z.int().min(1).default(1),
  total: z.int().min(1).default(1),
  results: z.array(resultSchema).default([]),
  meta: z
    .strictObject({
      slot_errors: slotErrorsSchema.default({}),
      /** Turns that ended in FILLING since the current transfer began. */
      fill_turns: z.int().min(0).default(0),
      /** One run from the first word to the reset; "" before it. */
      flow_id: z.string().default(""),
      /** The question that was answered yes: what the bank is asked under. "" before it. */
      confirmed: z.string().default(""),
      /** After a failure: the next transfer is loaded, but the person has not yet said 계속 진행. */
      awaiting_continue: z.boolean().default(false),
    })
    .prefault({}),
});
export type TransferState = z.output<typeof transferStateSchema>;

export function initialState(): TransferState {
  return transferStateSchema.parse({});
}
