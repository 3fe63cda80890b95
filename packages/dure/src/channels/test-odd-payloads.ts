import { isObject } from "../kernel/json.ts";

/** Numbers from 0 to 1. */
type Random = () => number;

/** How a payload goes wrong. Each is what a platform, a proxy or a new version has sent once. */
const FAULTS = ["missing", "null", "wrong type", "huge", "unknown"] as const;
export type PayloadFault = (typeof FAULTS)[number];

/** The payload with one fault at one place; the same random numbers give the same. */
export function oddPayload(payload: unknown, random: Random): unknown {
  const copy = structuredClone(payload);
  const fault = oneOf(FAULTS, random);
  const holders = holdersIn(copy);
  const holder = holders.length === 0 ? undefined : oneOf(holders, random);
  // now and then the whole payload is another thing
  if (holder === undefined || random() < 0.02) return spoilt(copy, fault, random);
  const key = oneOf(Object.keys(holder), random);
  if (fault === "missing") delete holder[key];
  else if (fault === "unknown") holder[`x_${key}`] = spoilt(holder[key], "huge", random);
  else holder[key] = spoilt(holder[key], fault, random);
  return copy;
}

function spoilt(value: unknown, fault: PayloadFault, random: Random): unknown {
  if (fault === "huge") return oneOf(HUGE, random)();
  if (fault === "wrong type") return oneOf(OTHER_TYPES, random)(value);
  return fault === "null" ? null : undefined;
}

const HUGE: readonly (() => unknown)[] = [
  () => "가\u0000\uD800".repeat(20_000),
  () => 1e308,
  () => -(2 ** 53),
  () => "9".repeat(400),
  () => Array.from({ length: 20_000 }, (_, index) => index),
  () => nested(2000),
];

const OTHER_TYPES: readonly ((value: unknown) => unknown)[] = [
  (value) => [value],
  (value) => ({ value }),
  (value) => (typeof value === "string" ? Number(value) : String(value)),
  () => true,
  () => -1,
  () => "",
  () => "../../users/@me",
];

function nested(depth: number): unknown {
  let inner: unknown = {};
  for (let level = 0; level < depth; level++) inner = { inner };
  return inner;
}

/** Every object and array of a payload that has members. */
function holdersIn(value: unknown): Record<string, unknown>[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  const inner = Object.values(value).flatMap(holdersIn);
  const own = Object.keys(value).length === 0 ? [] : [value as Record<string, unknown>];
  return [...own, ...inner];
}

function oneOf<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)]!;
}

/** Numbers in [0, 1) from a seed: mulberry32, public domain. */
export function numbersFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
