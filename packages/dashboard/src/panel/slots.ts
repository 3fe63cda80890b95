import { isObject, type Json, type JsonObject, type SlotInfo } from "dure/client";
import { isNumeric } from "../fact-words.ts";

export interface SlotField {
  readonly slot: SlotInfo;
  /** As it is edited. */
  readonly value: string;
  readonly error: string | undefined;
}

/**
 * The fields of the slot card: what the service declares, with what the state holds. `card` is the
 * `slots_card` of the last `DONE`: where it names a slot, its label and its words for an error go
 * before those of the state, which may be mere keys. Pure.
 */
export function slotFields(
  slots: readonly SlotInfo[],
  state: JsonObject,
  card?: unknown,
): SlotField[] {
  const held = isObject(state["slots"]) ? state["slots"] : {};
  const errors = slotErrors(state);
  const shown =
    isObject(card) && Array.isArray(card["slots"]) ? card["slots"].filter(isObject) : [];

  return slots.map((slot) => {
    const value = held[slot.name];
    const own = shown.find((one) => one["name"] === slot.name);
    const error = errors[slot.name];

    return {
      slot: { ...slot, label: typeof own?.["label"] === "string" ? own["label"] : slot.label },
      value:
        value === null || value === undefined
          ? ""
          : typeof value === "string"
            ? value
            : JSON.stringify(value),
      error:
        error === undefined
          ? undefined
          : typeof own?.["error"] === "string"
            ? own["error"]
            : wordsOf(error),
    };
  });
}

/** What the service could not make out at all, if anything. */
export function unclearOf(state: JsonObject): string | undefined {
  return wordsOf(slotErrors(state)["_unclear"]);
}

/**
 * Only what was changed, each in its slot's type; a field that was emptied is cleared with null.
 * Pure.
 */
export function slotChanges(
  fields: readonly SlotField[],
  edited: Readonly<Record<string, string>>,
): JsonObject {
  const changes: Record<string, Json> = {};
  for (const { slot, value } of fields) {
    const now = edited[slot.name]?.trim();
    if (now !== undefined && now !== value) changes[slot.name] = typed(now, slot.type);
  }

  return changes;
}

function slotErrors(state: JsonObject): Readonly<Record<string, unknown>> {
  const meta = isObject(state["meta"]) ? state["meta"] : {};
  return isObject(meta["slot_errors"])
    ? meta["slot_errors"]
    : isObject(meta["slotErrors"])
      ? meta["slotErrors"]
      : {};
}

function wordsOf(error: unknown): string | undefined {
  return typeof error === "string"
    ? error
    : isObject(error) && typeof error["message"] === "string"
      ? error["message"]
      : undefined;
}

/** Text that is no number stays text: the service says what is wrong with it. */
function typed(value: string, type: string): Json {
  if (value === "") return null;
  const digits = value.replaceAll(",", "");
  return isNumeric(type) && /^-?\d+(\.\d+)?$/.test(digits) ? Number(digits) : value;
}
