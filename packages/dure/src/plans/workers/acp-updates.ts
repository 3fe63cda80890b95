/** What an agent that speaks ACP tells while it works, as events of a worker. */

import type {
  ContentBlock,
  Cost,
  PlanEntry,
  SessionNotification,
  ToolCall,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { askedTool } from "./acp-permission.ts";
import type { WorkerReport } from "./worker-run.ts";
import { usageOfPiece } from "./acp-usage.ts";
import { MAX_SUMMARY, type WorkerCost, type WorkerResult, type TranscriptEntry } from "./worker.ts";
import { estimateTokens } from "../../models/prices.ts";
import { isObject } from "../../kernel/json.ts";

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
  /** What its window held, as it was counted for the call that is heard; undefined: not yet. */
  #window: number | undefined;
  /** Its model has said something since its window was told. */
  #hasSpoken = false;
  /** The call that has ended with its tool is told behind it. */
  #owesWindow = false;
  /** The agent tells each of its calls. */
  #tellsCalls = false;

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

  /** Whether what was counted on the way is what its calls used. */
  get tellsCalls(): boolean {
    return this.#tellsCalls;
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
    this.#endCall();

    return calls;
  }

  take({ update }: SessionNotification): void {
    if (this.isReplay) return;
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        if (this.#heardUsage(update)) return;
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
        this.#heardWindow(update.used);
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
    if (update.status === "completed" || update.status === "failed") this.#endCall();
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
    this.#hasSpoken = true;
  }

  /** What its model says next is of another call. */
  #endCall(): void {
    this.#owesWindow = this.#isInCall && this.#window === undefined;
    this.#isInCall = false;
    this.#window = undefined;
  }

  /**
   * What stands in its window: each call of its model reads all of it again. Some agents tell it at
   * the beginning of a call, and again when it has grown by the answer. The end of the turn may tell
   * the sum.
   */
  #heardWindow(used: number): void {
    this.#estimate.told();
    if (this.#tellsCalls || !Number.isFinite(used) || used <= 0) return;
    // Words make it grow; where they did not, they were of a call that began anew.
    if (this.#hasSpoken && used <= (this.#window ?? 0)) this.#endCall();
    this.#hasSpoken = false;
    if (this.#owesWindow && !this.#isInCall) {
      this.#owesWindow = false;
      return this.#report.used({ input: used, output: 0 });
    }
    const before = this.#window;
    if (!this.#isInCall) this.#calls++;
    this.#isInCall = true;
    this.#window = Math.max(used, before ?? 0);
    if (before === undefined) this.#report.used({ input: used, output: 0 });
    else if (used > before) this.#report.usedMore({ input: 0, output: used - before });
  }

  /** Whether a piece of its words tells what a call has used, and nothing else. */
  #heardUsage(update: { readonly content: ContentBlock }): boolean {
    const tokens = usageOfPiece(update);
    if (tokens === undefined) return false;
    this.#estimate.told();
    this.#tellsCalls = true;
    this.#report.used(tokens);

    return update.content.type === "text" && update.content.text === "";
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

interface UpdateTokens {
  readonly input: number;
  readonly output: number;
}

/**
 * Reckons the calls of a model whose agent tells no tokens: each call reads all that was said in the
 * conversation before it. What earlier processes of the conversation said is not known here.
 */
class CallEstimate {
  /** Tokens of all that was said. */
  #window = 0;
  /** Of the call under way; undefined: none is. */
  #call: { readonly input: number; output: number } | undefined;
  #isTold = false;
  #turn: UpdateTokens = { input: 0, output: 0 };

  /** A prompt, or what a tool gave. */
  read(text: string): void {
    this.#window += estimateTokens(text);
  }

  /** Words of its model. */
  heard(text: string): void {
    const tokens = estimateTokens(text);
    this.#window += tokens;
    if (this.#call) this.#call.output += tokens;
  }

  /** The agent tells by itself what its calls use. */
  told(): void {
    this.#isTold = true;
    this.#call = undefined;
  }

  /** A call begins. Gives the one before, where that was not told. */
  begin(): UpdateTokens | undefined {
    const before = this.end();
    if (!this.#isTold) this.#call = { input: this.#window, output: 0 };

    return before;
  }

  /** The call under way has ended. */
  end(): UpdateTokens | undefined {
    const call = this.#call;
    this.#call = undefined;
    if (call === undefined) return undefined;
    const { input, output } = this.#turn;
    this.#turn = { input: input + call.input, output: output + call.output };

    return call;
  }

  /** Of the calls since this was asked last. Undefined: there were none that were not told. */
  takeTurn(): (UpdateTokens & { readonly isEstimate: true }) | undefined {
    const { input, output } = this.#turn;
    this.#turn = { input: 0, output: 0 };

    return input + output > 0 ? { input, output, isEstimate: true } : undefined;
  }
}

/** Tools whose names are remembered. */
const MAX_TOOLS = 500;

interface AcpBegunCall {
  readonly title: string;
  /** What the agent says of it; it comes again as content. */
  readonly description: string | undefined;
}

/**
 * The calls of tools as the transcript has them. An agent tells a call in pieces while its model
 * writes it: only the last of them is kept.
 */
class ToolEntries {
  readonly #begun = new Map<string, AcpBegunCall>();
  readonly #tree: string;
  #waiting: { readonly id: string; readonly entry: TranscriptEntry } | undefined;

  /** @param tree where the worker works: a place in it is named from there. */
  constructor(tree: string) {
    this.#tree = `${tree}/`;
  }

  /** What a piece of news about a tool adds. */
  take(update: ToolCall | ToolCallUpdate): readonly TranscriptEntry[] {
    const { toolCallId: id, status } = update;
    const before = this.#waiting?.id === id ? [] : this.rest();
    const title = this.#titleOf(update);
    if (tellsInput(update)) {
      this.#waiting = { id, entry: { kind: "tool", title, text: jsonOf(update.rawInput) } };
      if (status === undefined || status === null || status === "pending") return before;
    }

    return [...before, ...this.rest(), ...this.#outcome(update, title)];
  }

  /** The call that is still being told, once: something else came. */
  rest(): readonly TranscriptEntry[] {
    const waiting = this.#waiting;
    this.#waiting = undefined;

    return waiting === undefined ? [] : [waiting.entry];
  }

  /** What a tool gave, and what it changed. */
  #outcome(update: ToolCall | ToolCallUpdate, title: string): readonly TranscriptEntry[] {
    const { toolCallId, status, rawOutput } = update;
    const diffs = (update.content ?? []).flatMap((part): readonly TranscriptEntry[] =>
      part.type === "diff"
        ? [
            {
              kind: "diff",
              title: part.path.startsWith(this.#tree)
                ? part.path.slice(this.#tree.length)
                : part.path,
              text: editLines(part.oldText ?? "", part.newText),
            },
          ]
        : [],
    );
    const said = textsIn(update.content).join("\n");
    const isOver = status === "completed" || status === "failed";
    const isNews = said !== "" && said !== this.#begun.get(toolCallId)?.description;
    if (!isOver && !isNews) return diffs;

    const text = said === "" ? jsonOf(rawOutput) : said;
    return [...diffs, { kind: "result", title, text, status: status ?? undefined }];
  }

  #titleOf({ toolCallId, title, rawInput }: ToolCall | ToolCallUpdate): string {
    const before = this.#begun.get(toolCallId);
    const description = isObject(rawInput) ? rawInput["description"] : undefined;
    const now = {
      title: title ?? before?.title ?? toolCallId,
      description: typeof description === "string" ? description : before?.description,
    };
    if (before !== undefined || this.#begun.size < MAX_TOOLS) this.#begun.set(toolCallId, now);

    return now.title;
  }
}

function tellsInput(update: ToolCall | ToolCallUpdate): boolean {
  const isCall = "sessionUpdate" in update && update.sessionUpdate === "tool_call";
  return isCall || update.rawInput !== undefined;
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

/** Lines around a change that are shown with it, as git does. */
const AROUND = 3;

/**
 * What an edit changed, line by line: removed ones after `-`, added ones after `+`, some around
 * them after a space. Some agents send the piece that they change, others the whole file. Pure.
 */
export function editLines(before: string, after: string): string {
  const old = linesOf(before);
  const now = linesOf(after);
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;

  return [
    ...marked(" ", old.slice(Math.max(0, head - AROUND), head)),
    ...marked("-", old.slice(head, old.length - tail)),
    ...marked("+", now.slice(head, now.length - tail)),
    ...marked(" ", now.slice(now.length - tail, now.length - tail + AROUND)),
  ].join("\n");
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function marked(mark: string, lines: readonly string[]): readonly string[] {
  return lines.map((line) => `${mark}${line}`);
}
