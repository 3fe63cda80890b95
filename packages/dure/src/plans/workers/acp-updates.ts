import type {
  ContentBlock,
  Cost,
  PlanEntry,
  SessionNotification,
  ToolCall,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { askedTool } from "./acp-permission.ts";
import { textsIn, ToolEntries } from "./acp-tools.ts";
import type { WorkerReport } from "./worker-run.ts";
import { CallEstimate } from "./acp-estimate.ts";
import { MAX_SUMMARY, type WorkerCost, type WorkerResult } from "./worker.ts";

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
  readonly #tools: ToolEntries;
  readonly #estimate = new CallEstimate();
  /** Calls of its model that were heard: words, thoughts or tools after the end of a tool. */
  #calls = 0;
  /** Its model has said something since a tool ended. */
  #isInCall = false;
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
      /** Where it works. */
      readonly tree: string;
    },
  ) {
    this.#report = report;
    this.#tools = new ToolEntries(on.tree);
    this.#onEdit = on.edit;
    this.#onOutput = on.output;
  }

  /** Whether its model was called at all. */
  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  /** A turn begins with this prompt. */
  asked(prompt: string): void {
    this.#estimate.read(prompt);
  }

  /** What calls of the turn that has ended used, which its agent has not told. */
  takeEstimate(): WorkerResult["tokens"] | undefined {
    return this.#estimate.takeTurn();
  }

  /** Calls of its model since this was asked last, at the end of a turn. */
  takeCalls(): number {
    this.#tellRest();
    this.#count(this.#estimate.end());
    const calls = this.#calls;
    this.#calls = 0;
    this.#isInCall = false;

    return calls;
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
        this.#heardCall();
        this.#heardTool(update);
        this.said = "";

        return;
      case "tool_call_update":
        this.#heardModel();
        this.#heardTool(update);

        return;
      case "plan":
        this.#heardPlan(update.entries);
        return;
      case "usage_update":
        // What stands in its window: each call of its model reads all of it again. The end of the
        // turn may tell the sum.
        this.#estimate.told();
        if (this.#isNewCall) this.#report.used({ input: update.used, output: 0 });
        this.#isNewCall = false;
        if (update.cost) this.#report.costs(costOf(update.cost));

        return;
      default: // modes, commands: nothing that is shown or kept
    }
  }

  #tellRest(): void {
    for (const entry of this.#tools.rest()) this.#report.note(entry);
  }

  #heardTool(update: ToolCall | ToolCallUpdate): void {
    if (this.said.trim() !== "") this.#report.say(this.said.trim());
    if (update.title) this.#report.progress({ currentTask: update.title });
    this.#noteEdit(update);
    for (const entry of this.#tools.take(update)) this.#report.note(entry);
    const told = textsIn(update.content);
    // Some agents tell what a command wrote as data alone.
    for (const text of told.length > 0 ? told : stringsIn(update.rawOutput)) {
      this.#onOutput(text);
      this.#estimate.read(text);
    }
    if (update.rawInput !== undefined) this.#estimate.heard(JSON.stringify(update.rawInput));
    if (update.status === "completed" || update.status === "failed") this.#isInCall = false;
  }

  #heardPlan(entries: readonly PlanEntry[]): void {
    const done = entries.filter(({ status }) => status === "completed").length;
    const now = entries.find(({ status }) => status === "in_progress");
    this.#report.progress({
      progress: entries.length > 0 ? 0.05 + (0.9 * done) / entries.length : undefined,
      currentTask: now?.content,
    });
  }

  /** Words, or the begin of a tool: of the call that is heard, or of the next one. */
  #heardCall(): void {
    if (!this.#isInCall) {
      this.#calls++;
      this.#count(this.#estimate.begin());
    }
    this.#isInCall = true;
    this.#heardModel();
  }

  #heardWords(kind: "message" | "thought", content: ContentBlock): void {
    this.#heardCall();
    this.#tellRest();
    if (content.type !== "text") return;
    this.#report.note({ kind, text: content.text });
    this.#estimate.heard(content.text);
    if (kind === "thought") return;
    this.said = `${this.said}${content.text}`.slice(-MAX_SUMMARY * 2);
  }

  #count(tokens: Pick<WorkerResult["tokens"], "input" | "output"> | undefined): void {
    if (tokens) this.#report.used(tokens);
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

/** Pure. */
function costOf({ amount, currency }: Cost): WorkerCost | undefined {
  if (!Number.isFinite(amount) || amount < 0) return undefined;
  return { amount, currency: currency.slice(0, 10) };
}

/** How deep data of a tool is looked into. */
const MAX_DEPTH = 4;

/** The texts in data of any shape. Pure. */
function stringsIn(value: unknown, depth = 0): readonly string[] {
  if (typeof value === "string") return [value];
  if (depth >= MAX_DEPTH || typeof value !== "object" || value === null) return [];

  return Object.values(value).flatMap((one) => stringsIn(one, depth + 1));
}
