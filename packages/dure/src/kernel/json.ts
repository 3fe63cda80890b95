import { DureError, messageOf } from "./errors.ts";

/** What can be stored and sent without loss. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };
/** An object as JSON has it; members that are undefined are left out. */
export type JsonObject = { readonly [key: string]: Json | undefined };

/**
 * The members that are not undefined. For shapes of others whose optional members may be missing,
 * but not undefined; ours are declared `?: T | undefined` and need nothing.
 */
export function onlyDefined<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return compacted(members) as ReturnType<typeof onlyDefined<Members>>;
}

/**
 * JSON text with sorted keys: equal values give equal text, so it can be hashed. `undefined`
 * members are left out.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return sorted(toJSON.call(value));

  const members = value as Record<string, unknown>;
  const names = Object.keys(members).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(members[name])]));
}

/**
 * The value as it is after it was stored: a copy, without what JSON leaves out; nothing is null.
 * Throws `VALUE_NOT_JSON` where it cannot be stored at all: a BigInt, a cycle, more levels than the
 * stack has.
 *
 * @param what names the value in the error, such as `What the step "stock" gave`.
 */
export function jsonCopy(value: unknown, what: string): Json {
  if (
    value === undefined ||
    value === null ||
    typeof value === "string" ||
    typeof value === "boolean"
  ) {
    return value ?? null;
  }
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) return null;
    if (LOST.test(text)) assertNothingLost(value);
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new DureError(
      "VALUE_NOT_JSON",
      `${what} cannot be stored: ${messageOf(error).split("\n", 1)[0]}.`,
      {
        class: "input",
        hint: [
          "Give texts, finite numbers, lists and plain objects of them;",
          "a BigInt as text, and no object that holds itself.",
        ].join(" "),
      },
    );
  }
}

/** What JSON writes for NaN and Infinity, and for a Map or a Set: something else, without a word. */
const LOST = /null|\{\}/;

function assertNothingLost(value: unknown): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`${value} is no JSON`);
  }
  if (typeof value !== "object" || value === null) return;
  if (value instanceof Map || value instanceof Set) {
    throw new TypeError(`a ${value.constructor.name} is no JSON`);
  }
  if ("toJSON" in value) return;
  for (const member of Object.values(value)) assertNothingLost(member);
}

/** The object without its undefined members, for readers that look whether a member is there. */
export function compacted<Value extends object>(value: Value): Value {
  const copy: Partial<Value> = {};
  for (const key of Object.keys(value) as (keyof Value)[]) {
    if (value[key] !== undefined) copy[key] = value[key];
  }
  return copy as Value;
}

/** Whether a value is an object and no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * About how many bytes a value holds in memory: strings by their length, 16 for everything else.
 * Pure.
 */
export function roughBytes(value: unknown): number {
  let bytes = 0;
  const open = [value];

  while (open.length > 0) {
    const next = open.pop();
    bytes += 16 + (typeof next === "string" ? 2 * next.length : 0);
    if (typeof next === "object" && next !== null) {
      for (const member of Object.values(next)) open.push(member);
    }
  }

  return bytes;
}
