import type { SessionNotification } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { AcpUpdates } from "./acp-updates.ts";
import type { WorkerReport } from "./worker-run.ts";
import type { TranscriptEntry } from "./worker.ts";

function transcriptOf(updates: readonly SessionNotification["update"][]): TranscriptEntry[] {
  const entries: TranscriptEntry[] = [];
  const report: Partial<WorkerReport> = {
    note: (entry) => void entries.push(entry),
    say: () => {},
    progress: () => {},
    used: () => {},
  };
  const taken = new AcpUpdates(report as WorkerReport, { edit: () => {}, output: () => {} });
  for (const update of updates) taken.take({ sessionId: "s", update });
  return entries;
}

test("thoughts, words, a tool's call with its input, its result and its diff are told", () => {
  const entries = transcriptOf([
    { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Look first." } },
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Reading." } },
    {
      sessionUpdate: "tool_call",
      toolCallId: "1",
      title: "Edit add.ts",
      kind: "edit",
      rawInput: { path: "add.ts" },
    },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "1",
      title: "Edit add.ts",
      status: "completed",
      content: [{ type: "diff", path: "add.ts", oldText: "a - b\n", newText: "a + b\n" }],
    },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "2",
      title: "npm test",
      status: "failed",
      content: [{ type: "content", content: { type: "text", text: "1 failed" } }],
    },
  ]);

  expect(entries).toEqual([
    { kind: "thought", text: "Look first." },
    { kind: "message", text: "Reading." },
    { kind: "tool", title: "Edit add.ts", text: '{"path":"add.ts"}' },
    { kind: "diff", title: "add.ts", text: "-a - b\n+a + b" },
    { kind: "result", title: "Edit add.ts", text: "", status: "completed" },
    { kind: "result", title: "npm test", text: "1 failed", status: "failed" },
  ]);
});
