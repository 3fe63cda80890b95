import { canonicalJson, isObject, type Json } from "../../kernel/json.ts";
import type { AnyTool } from "../agent/tool.ts";

/** What a yes for the rest of a conversation covers, as the question has it. */
export type StandingCalls = {
  /** Arguments that later calls have to have too. */
  readonly same: Readonly<Record<string, Json>>;
  /** Numbers that later calls may reach; not below 0. */
  readonly atMost: Readonly<Record<string, number>>;
  /** Later calls of the tool. */
  readonly times: number;
  /** From the answer on. */
  readonly hours: number;
};

/**
 * What a yes to this call could cover beyond it; undefined: nothing, for the tool allows it not, or
 * the call lacks an argument that bounds it. Pure.
 */
export function standingCalls(tool: AnyTool, input: unknown): StandingCalls | undefined {
  const { standing } = tool.approval ?? {};
  if (!standing || !isObject(input)) return undefined;
  const { same, atMost, times, forMs } = standing;
  const valuesOf = (names: readonly string[]): readonly (readonly [string, unknown])[] =>
    names.map((name) => [name, input[name]]);
  const [kept, bounds] = [valuesOf(same), valuesOf(atMost)];
  if (kept.some(([, value]) => value === undefined)) return undefined;
  if (bounds.some(([, value]) => typeof value !== "number" || value < 0)) return undefined;
  return {
    same: Object.fromEntries(kept) as Record<string, Json>,
    atMost: Object.fromEntries(bounds) as Record<string, number>,
    times,
    hours: forMs / 3_600_000,
  };
}

/** Whether a call is one of those. Pure. */
export function isCovered({ same, atMost }: StandingCalls, input: unknown): boolean {
  if (!isObject(input)) return false;
  const isSame = ([name, value]: [string, Json]): boolean =>
    input[name] !== undefined && canonicalJson(input[name]) === canonicalJson(value);
  const isWithin = ([name, most]: [string, number]): boolean => {
    const value = input[name];
    return typeof value === "number" && value >= 0 && value <= most;
  };
  return Object.entries(same).every(isSame) && Object.entries(atMost).every(isWithin);
}
