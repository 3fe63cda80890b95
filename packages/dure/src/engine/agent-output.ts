import { messageOf } from "../kernel/errors.ts";
import { isObject, type Json } from "../kernel/json.ts";
import { parseModelJson } from "../models/json.ts";
import type { z } from "zod";
import { AgentResult, type Agent } from "./agent.ts";
import type { AgentOutcome } from "./turn-context.ts";

/** A model's text as data, or what is wrong with it: the model is told. */
export type CheckedOutput = { readonly data: unknown } | { readonly complaint: string };

/**
 * Checks a model's text by the agent's schema, then by its validator; the validator gets plain text
 * as `{message}`. Members that begin with an underscore survive the schema.
 */
export function checkOutput(agent: Agent, text: string): CheckedOutput {
  const { kind, schema, validate } = agent;
  if (!schema) {
    const objection = kind === "chat" ? validate?.({ message: text }) : undefined;
    return objection === undefined ? { data: undefined } : { complaint: objection };
  }
  let raw: Json;
  try {
    raw = parseModelJson(text);
  } catch (error) {
    const because = messageOf(error);
    const complaint = `The answer is not readable JSON (${because}). Answer with one JSON object only.`;
    return { complaint };
  }
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    const issues = issuesOf(parsed.error, "answer");
    const complaint = `The answer does not fit: ${issues}. Answer again in the asked-for shape.`;
    return { complaint };
  }
  const data = keepUnderscored(raw, parsed.data);
  const objection = validate?.(data);
  return objection === undefined ? { data } : { complaint: objection };
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
