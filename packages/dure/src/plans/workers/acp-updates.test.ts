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
  const taken = new AcpUpdates(report as WorkerReport, {
    edit: () => {},
    output: () => {},
    tree: "/tree",
  });
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
      content: [{ type: "diff", path: "/tree/add.ts", oldText: "a - b\n", newText: "a + b\n" }],
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

const tool = (toolCallId: string): SessionNotification["update"] => ({
  sessionUpdate: "tool_call",
  toolCallId,
  title: toolCallId,
});
const ended = (toolCallId: string): SessionNotification["update"] => ({
  sessionUpdate: "tool_call_update",
  toolCallId,
  status: "completed",
});

test("words or tools after the end of tools are the next call of the model", () => {
  const report: Partial<WorkerReport> = {
    note: () => {},
    say: () => {},
    progress: () => {},
    used: () => {},
  };
  const taken = new AcpUpdates(report as WorkerReport, {
    edit: () => {},
    output: () => {},
    tree: "/tree",
  });
  const words: SessionNotification["update"] = {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: "Done." },
  };
  const updates = [
    tool("a"),
    tool("b"),
    ended("a"),
    ended("b"),
    tool("c"),
    ended("c"),
    words,
    words,
  ];

  for (const update of updates) taken.take({ sessionId: "s", update });

  expect([taken.takeCalls(), taken.takeCalls()]).toEqual([3, 0]);
});

test("what a tool wrote is heard also where it is told as data alone", () => {
  const heard: string[] = [];
  const report: Partial<WorkerReport> = { note: () => {}, say: () => {}, progress: () => {} };
  const taken = new AcpUpdates(report as WorkerReport, {
    edit: () => {},
    output: (text) => void heard.push(text),
    tree: "/tree",
  });
  const rawOutput = { exit_code: 1, output: { stderr: "lib/x.ts: Read-only file system" } };

  taken.take({ sessionId: "s", update: { ...ended("a"), rawOutput } as never });

  expect(heard).toEqual(["lib/x.ts: Read-only file system"]);
});

test("a call that is told in pieces is one entry, with the last of them", () => {
  const piece = (more: object): SessionNotification["update"] => ({
    sessionUpdate: "tool_call_update",
    toolCallId: "1",
    ...more,
  });
  const said = (text: string) => [{ type: "content", content: { type: "text", text } }];
  const entries = transcriptOf([
    { ...tool("1"), title: "Terminal", rawInput: {}, status: "pending" } as never,
    piece({ rawInput: { description: "step" } }),
    piece({ title: "make all", rawInput: { description: "step", command: "make all" } }),
    piece({ content: said("step") }),
    piece({ status: "completed", content: said("made") }),
  ]);

  expect(entries).toEqual([
    { kind: "tool", title: "make all", text: '{"description":"step","command":"make all"}' },
    { kind: "result", title: "make all", text: "made", status: "completed" },
  ]);
});

test("a call whose end is not told is still in the transcript", () => {
  const entries = transcriptOf([
    { ...tool("1"), rawInput: { path: "a" }, status: "pending" } as never,
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done." } },
  ]);

  expect(entries.map(({ kind }) => kind)).toEqual(["tool", "message"]);
});

/** What is counted of these updates. */
function usedBy(updates: readonly SessionNotification["update"][]) {
  const used = { calls: 0, input: 0, output: 0 };
  const more = ({ input, output }: { input: number; output: number }): void => {
    used.input += input;
    used.output += output;
  };
  const report: Partial<WorkerReport> = {
    note: () => {},
    say: () => {},
    progress: () => {},
    costs: () => {},
    used: (tokens) => {
      used.calls += 1;
      more(tokens);
    },
    usedMore: more,
  };
  const taken = new AcpUpdates(report as WorkerReport, {
    edit: () => {},
    output: () => {},
    tree: "/tree",
  });
  for (const update of updates) taken.take({ sessionId: "s", update });

  return used;
}

const spoke = (text: string) =>
  ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }) as const;
const held = (used: number, more: object = {}) =>
  ({ sessionUpdate: "usage_update", used, size: 200_000, ...more }) as const;
const began = (toolCallId: string) =>
  ({ sessionUpdate: "tool_call", toolCallId, title: "Bash" }) as const;
const toolOver = (toolCallId: string) =>
  ({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" }) as const;

test("Claude tells its window at the begin and the end of a call, and at last: each call counts once", () => {
  const cost = { amount: 0.01, currency: "USD" };
  const used = usedBy([
    ...[held(1_001), spoke("Looking."), began("1"), held(1_050), toolOver("1")],
    ...[held(1_101), spoke("Done."), held(1_150), held(1_150, { cost })],
  ]);

  expect(used).toEqual({ calls: 2, input: 1_001 + 1_101, output: 49 + 49 });
});

test("an agent that tells its window once for each call, after its tool, counts each call once", () => {
  const used = usedBy([
    ...[spoke("Looking."), began("1"), toolOver("1"), held(1_050)],
    ...[spoke("And more."), began("2"), toolOver("2"), held(1_100)],
    ...[spoke("Done."), held(1_150)],
  ]);

  expect(used).toMatchObject({ input: 1_050 + 1_100 + 1_150, calls: 3 });
});

test("Qwen Code tells each call beside its words: that is what counts", () => {
  const usage = { inputTokens: 1_000, outputTokens: 50, cachedReadTokens: 900, totalTokens: 1_050 };
  const told = { ...spoke(""), _meta: { usage } };
  const used = usedBy([spoke("Looking."), began("1"), told, toolOver("1"), spoke("Done."), told]);

  expect(used).toEqual({ calls: 2, input: 2_000, output: 100 });
});
