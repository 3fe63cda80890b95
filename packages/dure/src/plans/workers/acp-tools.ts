import type { ToolCall, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { isObject } from "../../kernel/json.ts";
import { editLines } from "./edit-lines.ts";
import type { TranscriptEntry } from "./worker.ts";

/** Tools whose names are remembered. */
const MAX_TOOLS = 500;

interface Begun {
  readonly title: string;
  /** What the agent says of it; it comes again as content. */
  readonly description: string | undefined;
}

/**
 * The calls of tools as the transcript has them. An agent tells a call in pieces while its model
 * writes it: only the last of them is kept.
 */
export class ToolEntries {
  readonly #begun = new Map<string, Begun>();
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
              title: this.#placeOf(part.path),
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

  #placeOf(path: string): string {
    return path.startsWith(this.#tree) ? path.slice(this.#tree.length) : path;
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
export function textsIn(content: ToolCallUpdate["content"]): readonly string[] {
  return (content ?? []).flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text] : [],
  );
}
