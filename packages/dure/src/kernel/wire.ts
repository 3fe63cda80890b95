import type { TurnEvent, TurnEventType } from "./turn-events.ts";
import { isObject } from "./json.ts";

/**
 * Members whose content comes from the service, the person, or the code that raised an escalation:
 * their keys are never renamed.
 */
const OPAQUE = new Set([
  "stateSnapshot",
  "state_snapshot",
  "slots",
  "slotsCard",
  "slots_card",
  "data",
  "result",
  "receipt",
  "receipts",
  "state",
  "args",
  "payload",
  "context",
]);

/** `DONE._trace` is written with its underscore on the wire. Source: docs/spec/conversation §6. */
const SPECIAL_TO_WIRE: Readonly<Record<string, string>> = { trace: "_trace" };
const SPECIAL_FROM_WIRE: Readonly<Record<string, string>> = { _trace: "trace" };

/** Readonly all the way down. */
export type Frozen<Value> = Value extends object
  ? { readonly [Key in keyof Value]: Frozen<Value[Key]> }
  : Value;

/** camelCase keys to snake_case, deeply, except inside opaque members. */
export function toWire(value: unknown): unknown {
  return rename(value, (key) => SPECIAL_TO_WIRE[key] ?? snakeCase(key));
}

/** snake_case keys to camelCase, deeply, except inside opaque members. */
export function fromWire(value: unknown): unknown {
  return rename(value, (key) => SPECIAL_FROM_WIRE[key] ?? camelCase(key));
}

/** The payload of a turn event as it stands behind `data:` in an SSE frame. */
export function turnEventToWire(event: TurnEvent): unknown {
  return event.type === "LLM_TOKEN" ? event.data : toWire(event.data);
}

export function turnEventFromWire(type: TurnEventType, data: unknown): TurnEvent {
  return { type, data: type === "LLM_TOKEN" ? data : fromWire(data) } as TurnEvent;
}

export function snakeCase(key: string): string {
  return key.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function camelCase(key: string): string {
  return key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

function rename(value: unknown, name: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((member) => rename(member, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => [name(key), OPAQUE.has(key) ? member : rename(member, name)]),
  );
}
