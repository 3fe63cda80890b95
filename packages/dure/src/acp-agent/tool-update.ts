import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { TurnFrame } from "../client/index.ts";
import type { Json } from "../kernel/json.ts";
import type { ToolDone, ToolStart } from "../kernel/turn-events.ts";
import { refusalIn, type AcpWords } from "./words.ts";

/** What the editor is told of a call of a tool; undefined: the frame tells of none. Pure. */
export function toolUpdateOf(frame: TurnFrame, words: AcpWords): SessionUpdate | undefined {
  if (frame.type === "TOOL_START") return begun(frame.data);
  if (frame.type === "TOOL_DONE") return ended(frame.data, words);
  return undefined;
}

/** The call that a person was asked about, when it was answered. The next turn makes it. Pure. */
export function answeredUpdate(toolCallId: string, answer: string | undefined): SessionUpdate {
  const status = answer === undefined ? "failed" : "completed";
  return { sessionUpdate: "tool_call_update", toolCallId, status, content: textOf(answer) };
}

const KINDS = { none: "read", idempotent: "execute", once: "execute" } as const;

function begun({ callId: toolCallId, tool: title, effect, args }: ToolStart): SessionUpdate {
  return {
    sessionUpdate: "tool_call",
    toolCallId,
    title,
    kind: KINDS[effect],
    status: "in_progress",
    rawInput: args,
  };
}

function ended(
  { callId: toolCallId, status, result, error }: ToolDone,
  words: AcpWords,
): SessionUpdate {
  const update = { sessionUpdate: "tool_call_update", toolCallId } as const;
  if (status === "asks") return { ...update, status: "pending" };
  if (status === "done") {
    return { ...update, status: "completed", rawOutput: result, content: textOf(result) };
  }
  const { code = "", message = "" } = error ?? {};
  const said = [code, refusalIn(words, { code, message })].filter(Boolean).join(": ");
  return { ...update, status: "failed", rawOutput: error, content: textOf(said) };
}

function textOf(value: Json | undefined): { type: "content"; content: TextContent }[] {
  if (value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return [{ type: "content", content: { type: "text", text } }];
}

interface TextContent {
  readonly type: "text";
  readonly text: string;
}
