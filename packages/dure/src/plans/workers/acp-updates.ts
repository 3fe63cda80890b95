import type {
  ContentBlock,
  PlanEntry,
  SessionNotification,
  ToolCall,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { askedTool } from "./acp-permission.ts";
import type { WorkerReport } from "./worker-run.ts";
import { MAX_SUMMARY, type TranscriptEntry } from "./worker.ts";

/** Edits under way at one time. */
const MAX_EDITS = 100;

/** What an agent tells while it works, passed on to the report. */
export class AcpUpdates {
  /** What the agent said since its last tool call. */
  said = "";
  /** The agent repeats an earlier conversation: nothing of it is news. */
  isReplay = false;
  readonly #report: WorkerReport;
  readonly #onEdit: (path: string) => void;
  readonly #onOutput: (text: string) => void;
  /** Paths of edits that have not ended, by tool call. */
  readonly #edits = new Map<string, readonly string[]>();
  /** Something came of its model: words, thoughts, a tool call. */
  #hasWorked = false;
  /** Since the last count of its window a call of its model has been heard. */
  #isNewCall = true;

  constructor(
    report: WorkerReport,
    on: {
      /** Called with each path that the agent says it has changed. */
      readonly edit: (path: string) => void;
      /** Called with what its tools say. */
      readonly output: (text: string) => void;
    },
  ) {
    this.#report = report;
    this.#onEdit = on.edit;
    this.#onOutput = on.output;
  }

  /** Whether its model was called at all. */
  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  take({ update }: SessionNotification): void {
    if (this.isReplay) return;
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        this.#heardWords("message", update.content);
        return;
      case "agent_thought_chunk":
        this.#heardWords("thought", update.content);
        return;
      case "tool_call":
      case "tool_call_update": {
        if (this.said.trim() !== "") this.#report.say(this.said.trim());
        if (update.sessionUpdate === "tool_call") this.said = "";
        if (update.title) this.#report.progress({ currentTask: update.title });
        this.#heardModel();
        this.#noteEdit(update);
        for (const entry of toolEntries(update)) this.#report.note(entry);
        for (const text of textsIn(update.content)) this.#onOutput(text);
        return;
      }
      case "plan":
        this.#heardPlan(update.entries);
        return;
      case "usage_update":
        // What stands in its window: each call of its model reads all of it again. The end of the
        // turn may tell the sum.
        if (this.#isNewCall) this.#report.used({ input: update.used, output: 0 });
        this.#isNewCall = false;
        return;
      default: // modes, commands: nothing that is shown or kept
    }
  }

  #heardPlan(entries: readonly PlanEntry[]): void {
    const done = entries.filter(({ status }) => status === "completed").length;
    const now = entries.find(({ status }) => status === "in_progress");
    this.#report.progress({
      progress: entries.length > 0 ? 0.05 + (0.9 * done) / entries.length : undefined,
      currentTask: now?.content,
    });
  }

  #heardWords(kind: "message" | "thought", content: ContentBlock): void {
    this.#heardModel();
    if (content.type !== "text") return;
    this.#report.note({ kind, text: content.text });
    if (kind === "thought") return;
    this.said = `${this.said}${content.text}`.slice(-MAX_SUMMARY * 2);
  }

  #heardModel(): void {
    this.#hasWorked = true;
    this.#isNewCall = true;
  }

  /** An edit is a claim when it has ended well; one that failed or was refused is none. */
  #noteEdit(update: ToolCall | ToolCallUpdate): void {
    const { toolCallId, status } = update;
    const { kind, paths } = askedTool(update);
    const known = this.#edits.get(toolCallId) ?? [];
    const isEdit = known.length > 0 || ["edit", "delete", "move"].includes(kind);
    if (!isEdit) return;
    const all = [...new Set([...known, ...paths])];
    if (status === "completed") for (const path of all) this.#onEdit(path);
    if (status === "completed" || status === "failed") this.#edits.delete(toolCallId);
    else if (known.length > 0 || this.#edits.size < MAX_EDITS) this.#edits.set(toolCallId, all);
  }
}

/** A tool's call, what it gave and what it changed, as the transcript has them. */
function toolEntries(update: ToolCall | ToolCallUpdate): readonly TranscriptEntry[] {
  const { title, status, rawInput, rawOutput } = update;
  const name = title ?? update.toolCallId;
  const entries: TranscriptEntry[] = [];
  if (
    rawInput !== undefined ||
    ("sessionUpdate" in update && update.sessionUpdate === "tool_call")
  ) {
    entries.push({ kind: "tool", title: name, text: jsonOf(rawInput) });
  }
  for (const part of update.content ?? []) {
    if (part.type === "diff") {
      entries.push({ kind: "diff", title: part.path, text: diffOf(part.oldText, part.newText) });
    }
  }
  const said = textsIn(update.content).join("\n");
  const isOver = status === "completed" || status === "failed";
  if (isOver || said !== "") {
    const text = said === "" ? jsonOf(rawOutput) : said;
    entries.push({ kind: "result", title: name, text, status: status ?? undefined });
  }
  return entries;
}

/** Removed lines, then added ones: agents send the piece that they change. */
function diffOf(before: string | null | undefined, after: string): string {
  const lines = (text: string, mark: string): string[] =>
    text === ""
      ? []
      : text
          .replace(/\n$/, "")
          .split("\n")
          .map((line) => `${mark}${line}`);
  return [...lines(before ?? "", "-"), ...lines(after, "+")].join("\n");
}

function jsonOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The texts of a tool call's content. */
function textsIn(content: ToolCallUpdate["content"]): readonly string[] {
  return (content ?? []).flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text] : [],
  );
}
