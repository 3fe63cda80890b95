import { isObject, type Json, type JsonObject, type SlotInfo } from "dure/client";

export interface SlotField {
  readonly slot: SlotInfo;
  /** As it is edited. */
  readonly value: string;
  readonly error: string | undefined;
}

/** The fields of the slot card: what the service declares, with what the state holds. Pure. */
export function slotFields(slots: readonly SlotInfo[], state: JsonObject): SlotField[] {
  const held = isObject(state["slots"]) ? state["slots"] : {};
  const meta = isObject(state["meta"]) ? state["meta"] : {};
  const errors = isObject(meta["slot_errors"]) ? meta["slot_errors"] : isObject(meta["slotErrors"]) ? meta["slotErrors"] : {};
  return slots.map((slot) => {
    const value = held[slot.name];
    const error = errors[slot.name];
    return {
      slot,
      value: value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value),
      error: typeof error === "string" ? error : isObject(error) && typeof error["message"] === "string" ? error["message"] : undefined,
    };
  });
}

/** Only what was changed, each in its slot's type; a field that was emptied is cleared with null. Pure. */
export function slotChanges(fields: readonly SlotField[], edited: Readonly<Record<string, string>>): JsonObject {
  const changes: Record<string, Json> = {};
  for (const { slot, value } of fields) {
    const now = edited[slot.name]?.trim();
    if (now !== undefined && now !== value) changes[slot.name] = typed(now, slot.type);
  }
  return changes;
}

/** A value as a person reads it. */
export function shownValue(value: unknown, slot?: SlotInfo): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return value.toLocaleString();
  if (typeof value !== "string") return JSON.stringify(value);
  return slot !== undefined && isNumeric(slot.type) && /^\d+$/.test(value) ? Number(value).toLocaleString() : value;
}

/** The service's word for a name, else the name with spaces. */
export function labelOf(name: string, slots: readonly SlotInfo[]): string {
  return slots.find((slot) => slot.name === name)?.label ?? name.replaceAll("_", " ");
}

export function isNumeric(type: string): boolean {
  return type === "integer" || type === "number";
}

/** Text that is no number stays text: the service says what is wrong with it. */
function typed(value: string, type: string): Json {
  if (value === "") return null;
  const digits = value.replaceAll(",", "");
  return isNumeric(type) && /^-?\d+(\.\d+)?$/.test(digits) ? Number(digits) : value;
}
