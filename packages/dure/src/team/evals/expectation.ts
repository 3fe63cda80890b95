/** What an answer has to be: decided from what was heard. Pure but for checks in code. */

import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { messageOf } from "../../kernel/errors.ts";
import { isObject, type Json, type JsonObject } from "../../kernel/json.ts";
import type { NextAction } from "../../kernel/turn-events.ts";
import { patternOf, type Expectation } from "./eval-file.ts";

/** One call of a tool, as it ended last. */
export interface HeardCall {
  readonly tool: string;
  readonly args?: Json | undefined;
  readonly result?: Json | undefined;
  readonly status: "done" | "failed" | "asks" | "begun";
}

/** One message of the person, and what came of it. */
export interface HeardTurn {
  readonly turnId: string;
  readonly said: string;
  readonly answer: string;
  readonly next: NextAction;
  /** The session's state after it. */
  readonly state: JsonObject;
  readonly calls: readonly HeardCall[];
  readonly hooks: readonly { readonly type: string; readonly data: unknown }[];
  /** Code of the error that it ended with. */
  readonly error?: string | undefined;
  readonly ms: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

/** Why a case failed: what was expected, and what was there instead. */
export interface UnmetExpectation {
  readonly kind:
    | "says"
    | "neverSays"
    | "calls"
    | "neverCalls"
    | "state"
    | "next"
    | "hooks"
    | "schema"
    | "error"
    | "check"
    | "judge"
    | "broken";
  readonly wanted: string;
  readonly found?: string | undefined;
}

/**
 * What is wrong with the last turn of a conversation; empty: nothing. Calls count in the whole
 * conversation where `whole` says so.
 */
export async function failuresOf(
  expected: Expectation,
  conversation: readonly HeardTurn[],
  { whole }: { readonly whole: boolean },
): Promise<readonly UnmetExpectation[]> {
  const last = conversation.at(-1);
  if (last === undefined) return [{ kind: "broken", wanted: "an answer" }];
  const calls = whole ? conversation.flatMap((turn) => turn.calls) : last.calls;

  return [
    ...errorFailures(expected, last),
    ...wordFailures(expected, last.answer),
    ...callFailures(expected, calls),
    ...stateFailures(expected, last),
    ...schemaFailures(expected, last.answer),
    ...(await checkFailures(expected, last, conversation)),
  ];
}

function errorFailures({ error: wanted }: Expectation, { error }: HeardTurn): UnmetExpectation[] {
  return wanted === error ? [] : [{ kind: "error", wanted: wanted ?? "", found: error }];
}

function wordFailures(
  { says = [], neverSays = [] }: Expectation,
  answer: string,
): UnmetExpectation[] {
  const missing = says.filter((one) => !fits(answer, one));
  const unwanted = neverSays.filter((one) => fits(answer, one));

  return [
    ...missing.map((wanted) => ({ kind: "says", wanted, found: answer }) as const),
    ...unwanted.map((wanted) => ({ kind: "neverSays", wanted, found: answer }) as const),
  ];
}

function fits(answer: string, matcher: string): boolean {
  const pattern = patternOf(matcher);
  return pattern
    ? pattern.test(answer)
    : answer.normalize().toLowerCase().includes(matcher.normalize().toLowerCase());
}

function callFailures(
  { calls: wanted = [], neverCalls = [] }: Expectation,
  calls: readonly HeardCall[],
): UnmetExpectation[] {
  const found = calls.map(callText).join(", ");
  const missing = wanted.filter(
    ({ tool, with: args = {} }) =>
      !calls.some(
        (call) => call.tool === tool && call.status === "done" && holds(call.args ?? {}, args),
      ),
  );
  const unwanted = neverCalls.filter((tool) => calls.some((call) => call.tool === tool));

  return [
    ...missing.map(({ tool, with: args }) => {
      const text = args === undefined ? tool : `${tool} ${JSON.stringify(args)}`;
      return { kind: "calls", wanted: text, found } as const;
    }),
    ...unwanted.map((tool) => ({ kind: "neverCalls", wanted: tool, found }) as const),
  ];
}

function callText({ tool, args, status }: HeardCall): string {
  const how = status === "done" ? "" : ` (${status})`;
  return `${tool}${how}${args === undefined ? "" : ` ${JSON.stringify(args)}`}`;
}

function stateFailures(
  { state, next, hooks = [] }: Expectation,
  turn: HeardTurn,
): UnmetExpectation[] {
  const failures: UnmetExpectation[] = [];
  if (state !== undefined && !holds(turn.state, state)) {
    const found = JSON.stringify(turn.state);
    failures.push({ kind: "state", wanted: JSON.stringify(state), found });
  }
  if (next !== undefined && next !== turn.next) {
    failures.push({ kind: "next", wanted: next, found: turn.next });
  }
  for (const type of hooks) {
    if (turn.hooks.some((hook) => hook.type === type)) continue;
    const found = turn.hooks.map((hook) => hook.type).join(", ");
    failures.push({ kind: "hooks", wanted: type, found });
  }

  return failures;
}

function schemaFailures({ schema }: Expectation, answer: string): UnmetExpectation[] {
  if (schema === undefined) return [];
  const wanted = JSON.stringify(schema);
  try {
    const read = z.fromJSONSchema(schema).safeParse(JSON.parse(answer));
    if (read.success) return [];
    const [issue] = read.error.issues;
    return [{ kind: "schema", wanted, found: `${issue?.path.join(".")} ${issue?.message}`.trim() }];
  } catch (error) {
    return [{ kind: "schema", wanted, found: messageOf(error) }];
  }
}

async function checkFailures(
  { check }: Expectation,
  last: HeardTurn,
  conversation: readonly HeardTurn[],
): Promise<UnmetExpectation[]> {
  if (check === undefined) return [];
  try {
    const wrong: unknown = await check(last, conversation);
    return typeof wrong === "string" && wrong !== "" ? [{ kind: "check", wanted: wrong }] : [];
  } catch (error) {
    return [{ kind: "check", wanted: messageOf(error) }];
  }
}

/** Whether `value` has all of `wanted`; lists are the same in whole. Pure. */
export function holds(value: unknown, wanted: unknown): boolean {
  if (!isObject(wanted)) return isDeepStrictEqual(value, wanted);
  if (!isObject(value)) return false;

  return Object.entries(wanted).every(
    ([key, part]) => Object.hasOwn(value, key) && holds(value[key], part),
  );
}
