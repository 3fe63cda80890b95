import { createHash } from "node:crypto";
import { cutBytes } from "../kernel/cut-bytes.ts";
import { turnOfCall, type CallerTools } from "../engine/caller/caller-tools.ts";
import { isObject, type JsonObject } from "../kernel/json.ts";
import { fileOfPart } from "../server/part-files.ts";
import type { Upload } from "../server/uploads.ts";
import { fieldError } from "../server/problem.ts";
import { AgUiContent, type AgUiInput } from "../wire/ag-ui.ts";

/** What a run of AG-UI asks for: words for a service, or a decision that is open. */
export type AskedRun =
  | {
      readonly kind: "message";
      readonly text: string;
      readonly files: readonly Upload[];
      /** The question that it answers. */
      readonly confirmId: string | undefined;
      readonly background: string | undefined;
      /** Tools of the page, and what they gave. */
      readonly callerTools: CallerTools | undefined;
    }
  | {
      readonly kind: "decision";
      readonly escalation: string;
      /** Undefined: it is dismissed. */
      readonly value: string | undefined;
    };

type Resume = NonNullable<AgUiInput["resume"]>[number];

/** Bytes of what a page tells beside the message. */
const MAX_CONTEXT = 32_000;

/** Throws `NOT_SPOKEN`, `REQUEST_INVALID`. Pure. */
export function askedRun(input: AgUiInput): AskedRun {
  const [resume] = input.resume ?? [];
  if (resume?.interruptId.startsWith("escalation_")) return decisionOf(resume);

  const results = resume ? undefined : lastResults(input);
  const said = results ? NOTHING : saidBy(input, resume);
  return {
    kind: "message",
    ...said,
    confirmId: resume?.interruptId,
    background: backgroundOf(input),
    callerTools: callerToolsOf(input, results),
  };
}

type RunInput = Pick<Extract<AskedRun, { kind: "message" }>, "text" | "files">;

const NOTHING: RunInput = { text: "", files: [] };

function saidBy(input: AgUiInput, resume: Resume | undefined): RunInput {
  return resume ? { text: replyOf(resume), files: [] } : lastMessage(input);
}

/**
 * The same run however often it is asked for. Pages answer a question under the id of the run that
 * asked it: that is another run, and each question has one. Pure.
 */
export function keyOfRun({ threadId, runId, resume }: AgUiInput): string {
  const answered = resume?.[0]?.interruptId;
  const said =
    answered === undefined ? `${threadId} ${runId}` : JSON.stringify([threadId, runId, answered]);
  return `ag-ui-${createHash("sha256").update(said).digest("hex")}`;
}

function decisionOf({ interruptId: escalation, status, payload }: Resume): AskedRun {
  if (status === "cancelled") return { kind: "decision", escalation, value: undefined };

  const value = isObject(payload) ? payload["value"] : payload;
  if (typeof value === "string" && value !== "") return { kind: "decision", escalation, value };

  const why = "does not name one of the values of the interrupt";
  throw fieldError("REQUEST_INVALID", "resume", why, "Send payload: {value: …}, or the value.");
}

/** A button's label, or a plain yes or no. */
function replyOf({ status, payload }: Resume): string {
  if (status === "cancelled") return "no";
  const said = isObject(payload) ? (payload["value"] ?? payload["approved"]) : payload;
  if (typeof said === "string" && said.trim() !== "") return said;

  return said === false ? "no" : "ok";
}

function lastMessage({ messages }: AgUiInput): RunInput {
  const last = messages.at(-1);
  if (last?.role !== "user") {
    throw fieldError("REQUEST_INVALID", "messages", "does not end with a message of the user");
  }

  const content = AgUiContent.safeParse(last.content);
  if (!content.success) {
    throw fieldError("REQUEST_INVALID", "messages", "ends with a message that is no text");
  }
  if (typeof content.data === "string") return { text: content.data, files: [] };

  const pieces: string[] = [];
  const files: Upload[] = [];
  for (const { type, text, source } of content.data) {
    if (type === "text" && text !== undefined) pieces.push(text);
    else if (source?.type === "data") {
      files.push(fileOfPart({ data: source.value, field: "messages" }));
    } else {
      const why = `a part of the type "${type}" is not taken; only text and bytes are`;
      throw fieldError("NOT_SPOKEN", "messages", why);
    }
  }

  return { text: pieces.join("\n"), files };
}

/** What the page's tools gave for the calls of the last turn; undefined: it says something else. */
function lastResults({ messages }: AgUiInput): CallerTools["results"] {
  const last = messages.at(-1);
  const turn = last?.role === "tool" ? turnOfCall(last.toolCallId ?? "") : undefined;
  if (turn === undefined) return undefined;

  return messages.flatMap(({ role, toolCallId: callId = "", content }) =>
    role === "tool" && turnOfCall(callId) === turn ? [{ callId, output: wordsOf(content) }] : [],
  );
}

function wordsOf(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content ?? null);
}

function callerToolsOf(
  { tools }: AgUiInput,
  results: CallerTools["results"],
): CallerTools | undefined {
  if (!tools?.length && results === undefined) return undefined;
  const specs = (tools ?? []).map(({ name, description, parameters }) => ({
    name,
    description: description ?? "",
    inputSchema: { type: "object", properties: {}, ...parameters } as JsonObject,
  }));

  return { tools: specs, results };
}

function backgroundOf({ context }: AgUiInput): string | undefined {
  if (!context || context.length === 0) return undefined;
  const lines = context.map(({ description, value }) => `${description}: ${value}`);

  return cutBytes(lines.join("\n"), MAX_CONTEXT);
}
