import { messageOf } from "../../kernel/errors.ts";
import { isObject, type Json } from "../../kernel/json.ts";
import { jsonSchemaOf, withoutAbsentNulls } from "../../models/json-schema.ts";
import { parseModelJson } from "../../models/json.ts";
import type { z } from "zod";
import { AgentResult, type Agent } from "./agent.ts";
import type { AgentOutcome } from "../turn/turn-context.ts";

/** A model's text as data, or what is wrong with it: the model is told. */
export type CheckedOutput =
  | { readonly data: unknown }
  | {
      readonly complaint: string;
      /** What of it can be used, for an agent that takes a part of an answer. */
      readonly good?: GoodFields | undefined;
    };

/**
 * Checks a model's text by the agent's schema, then by its validator; the validator gets plain text
 * as `{message}`. A `null` where a member may be absent counts as absent. Members that begin with an
 * underscore survive the schema.
 */
export function checkOutput(agent: Agent, text: string): CheckedOutput {
  const { kind, schema, validate } = agent;
  if (!schema) {
    const objection = kind === "chat" ? validate?.({ message: text }) : undefined;

    return objection === undefined ? { data: undefined } : { complaint: objection };
  }
  let raw: Json;
  try {
    raw = withoutAbsentNulls(parseModelJson(text), jsonSchemaOf(schema));
  } catch (error) {
    const because = messageOf(error);
    const complaint = `The answer is not readable JSON (${because}). Answer with one JSON object only.`;

    return { complaint };
  }
  const parsed = schema.safeParse(raw);

  if (!parsed.success) {
    const issues = issuesOf(parsed.error, "answer");
    const complaint = `The answer does not fit: ${issues}. Answer again in the asked-for shape.`;

    return { complaint, good: agent.partialOutput ? goodFields(schema, raw) : undefined };
  }
  const data = keepUnderscored(raw, parsed.data);
  const objection = validate?.(data);

  return objection === undefined ? { data } : { complaint: objection };
}

/** The part of an answer that fits its schema. */
export interface GoodFields {
  readonly data: unknown;
  /** Paths of what was left out, such as `items.1.amount`. */
  readonly leftOut: readonly string[];
}

/** Members that are left out of one answer at most; one with more faults is no answer. */
const MAX_LEFT_OUT = 50;

/**
 * The answer without the members that do not fit: a member is left out if it may be absent, else
 * what holds it. Undefined when nothing is left. Pure.
 */
function goodFields(schema: z.ZodType, raw: Json): GoodFields | undefined {
  const draft: unknown = structuredClone(raw);
  const leftOut: string[] = [];
  while (leftOut.length <= MAX_LEFT_OUT) {
    const parsed = schema.safeParse(draft);

    if (parsed.success) return { data: keepUnderscored(raw, parsed.data), leftOut };
    const [issue] = parsed.error.issues;
    const removed = issue && removeAt(draft, pathOf(issue));

    if (removed === undefined) return undefined;
    leftOut.push(removed);
  }

  return undefined;
}

function pathOf(issue: z.core.$ZodIssue): readonly PropertyKey[] {
  return issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]!] : issue.path;
}

/** Removes the value at a path, or, where there is none, what should hold it. Its path. */
function removeAt(draft: unknown, path: readonly PropertyKey[]): string | undefined {
  for (let length = path.length; length > 0; length--) {
    const holder = path.slice(0, length - 1).reduce(memberOf, draft);
    const key = path[length - 1]!;
    const isThere = typeof holder === "object" && holder !== null && Object.hasOwn(holder, key);

    if (!isThere) continue;
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else Reflect.deleteProperty(holder, key);

    return path.slice(0, length).map(String).join(".");
  }

  return undefined;
}

function memberOf(holder: unknown, key: PropertyKey): unknown {
  return typeof holder === "object" && holder !== null ? Reflect.get(holder, key) : undefined;
}

/** The first issues of a schema in one line, for the model. `top` names the value itself. */
export function issuesOf({ issues }: z.ZodError, top: string): string {
  return issues
    .slice(0, MAX_ISSUES)
    .map((issue) => `${issue.path.join(".") || top}: ${issue.message}`)
    .join("; ");
}

const MAX_ISSUES = 5;

function keepUnderscored(raw: unknown, parsed: unknown): unknown {
  if (!isObject(raw) || !isObject(parsed)) return parsed;
  const underscored = Object.entries(raw).filter(([key]) => key.startsWith("_"));

  return underscored.length === 0 ? parsed : { ...Object.fromEntries(underscored), ...parsed };
}

export function llmDone(outcome: AgentOutcome): { message: string; action?: string } {
  const { data } = outcome;
  const extra = isObject(data) ? data : {};

  return { ...extra, message: outcome.text };
}

export function outcomeOf(result: AgentResult, text = messageIn(result)): AgentOutcome {
  return { text, data: "data" in result ? result.data : undefined, result };
}

/** Of checked data. `leftOut`: which members did not fit. */
export function dataOutcome(data: unknown, leftOut: string | undefined): AgentOutcome {
  const text = isObject(data) && typeof data["message"] === "string" ? data["message"] : "";
  const result = leftOut ? AgentResult.partial(data, leftOut) : AgentResult.success(data);

  return { text, data, result };
}

export function chatOutcome(text: string): AgentOutcome {
  const data = { message: text };

  return { text, data, result: AgentResult.success(data) };
}

export function compact({ result, text }: AgentOutcome): { result: AgentResult; text?: string } {
  return text === messageIn(result) ? { result } : { result, text };
}

function messageIn(result: AgentResult): string {
  if (result.status === "need_info") return result.message;
  const data = "data" in result ? result.data : undefined;

  return isObject(data) && typeof data["message"] === "string" ? data["message"] : "";
}
