import type { TurnEvent, TurnEventType } from "./turn-events.ts";
import { isObject, type Json } from "./json.ts";

/**
 * Members whose content comes from the service, the person, or the code that raised an escalation:
 * their keys are never renamed.
 */
const OPAQUE_KEYS = [
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
] as const;
const OPAQUE: ReadonlySet<string> = new Set(OPAQUE_KEYS);

/** `DONE._trace` is written with its underscore on the wire. Source: docs/spec/conversation §6. */
const SPECIAL_TO_WIRE: Readonly<Record<string, string>> = { trace: "_trace" };
const SPECIAL_FROM_WIRE: Readonly<Record<string, string>> = { _trace: "trace" };

/** Readonly all the way down. */
export type Frozen<Value> = [Json] extends [Value]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Frozen<Value[Key]> }
    : Value;

/** A type of the wire in TypeScript's spelling: what `fromWire` gives for it. */
export type FromWire<Value> = [Json] extends [Value]
  ? Value
  : Value extends readonly unknown[]
    ? { readonly [Index in keyof Value]: FromWire<Value[Index]> }
    : Value extends object
      ? {
          readonly [Key in keyof Value as WireKey<Value, Key>]: CamelKey<Key> extends OpaqueKey
            ? Frozen<Value[Key]>
            : FromWire<Value[Key]>;
        }
      : Value;

/** A query in TypeScript's spelling: a client may leave out any member. */
export type QueryInput<Query> = {
  readonly [Key in keyof FromWire<Query>]?: FromWire<Query>[Key] | undefined;
};

type OpaqueKey = (typeof OPAQUE_KEYS)[number];
/** What else an object may hold is left out where its members are known. */
type WireKey<Value, Key> = string extends Key
  ? [KnownKey<Value>] extends [never]
    ? Key
    : never
  : CamelKey<Key>;
type KnownKey<Value> = keyof { [Key in keyof Value as string extends Key ? never : Key]: Key };
type CamelKey<Key> = Key extends "_trace" ? "trace" : Key extends string ? Camel<Key> : Key;
type Camel<Key extends string> = Key extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Key;

/** A value as JSON of the wire; it has the members that the wire's type asks for. */
export function onWire<Wire>(value: NoInfer<FromWire<Wire>>): Wire {
  return toWire(value) as Wire;
}

/** camelCase keys to snake_case, deeply, except inside opaque members. */
export function toWire(value: unknown): unknown {
  return rename(value, wireName);
}

/** snake_case keys to camelCase, deeply, except inside opaque members. */
export function fromWire(value: unknown): unknown {
  return rename(value, ownName);
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

/** Names that are remembered; a large answer has the same ones in each of its 10,000 members. */
const MAX_NAMES = 2_000;

function remembered(name: (key: string) => string): (key: string) => string {
  const known = new Map<string, string>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const named = name(key);
    if (known.size < MAX_NAMES) known.set(key, named);

    return named;
  };
}

const wireName = remembered((key) => SPECIAL_TO_WIRE[key] ?? snakeCase(key));
const ownName = remembered((key) => SPECIAL_FROM_WIRE[key] ?? camelCase(key));

function rename(value: unknown, name: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((member) => rename(member, name));
  if (!isObject(value)) return value;

  const renamed: [string, unknown][] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    renamed.push([name(key), OPAQUE.has(key) ? member : rename(member, name)]);
  }

  return Object.fromEntries(renamed);
}
