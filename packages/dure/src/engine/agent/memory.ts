import { parseCard, type Llm, type LlmInput } from "../../models/card.ts";
import type { HandedOut } from "../caller/handed-out.ts";
import type { FileRef } from "../../kernel/files.ts";
import { newestDeeds, withinTokens, type AgentWork } from "./work.ts";

/** What was said and done. Survives resets of the state and restarts. Source: docs/spec/conversation §5. */
export interface Memory {
  readonly rawHistory: readonly MemoryEntry[];
  readonly summaryText: string;
  /** What was changed outside in exchanges that are folded, a line each, the newest last. */
  readonly deeds?: readonly string[] | undefined;
  /** The last request that a model found too long: those of the next hour are made to fit. */
  readonly refused?: RefusedRequest | undefined;
  /** The last calls of the caller's tools, with the question that they belong to. */
  readonly handedOut?: HandedOut | undefined;
}

/** A request that was too long. */
export interface RefusedRequest {
  /** `provider:model`. */
  readonly model: string;
  /** Estimated. */
  readonly tokens: number;
  /** When its turn was accepted, in epoch milliseconds. */
  readonly at: number;
}

/** One message of a conversation. */
export interface MemoryEntry {
  readonly role: "user" | "assistant";
  readonly content: string;
  /** What a message carried; their bytes may be gone. */
  readonly files?: readonly FileRef[] | undefined;
  /** The turn was stopped; this is what had been shown. */
  readonly interrupted?: true;
  /** What agents did between the message and this answer. Absent: they only spoke. */
  readonly work?: readonly AgentWork[] | undefined;
}

/** When older turns are folded into a summary. Counts are turns. */
export interface MemoryOptions {
  /**
   * Turns (a message and its answer) from which the older ones are folded into the summary. Default
   * 6.
   */
  readonly summarizeThreshold?: number;
  /** Turns that stay word for word. Default 4. */
  readonly keepRecentTurns?: number;
  /** Turns kept when a fold failed. Default 12. */
  readonly maxRawTurns?: number;
  /** Default true. */
  readonly enableSummary?: boolean;
  /** The model of the fold, by its name or as an object; default the team's model. */
  readonly summaryModel?: LlmInput | undefined;
  /** With `{memory_block}` (the summary so far) and `{dialog}` (the turns to fold); or one of each. */
  readonly summaryPrompt?: string | SummaryPrompts | undefined;
}

/** One that begins a summary, and one that folds turns into it. */
export interface SummaryPrompts {
  /** With `{dialog}`. */
  readonly first: string;
  /** With `{memory_block}` and `{dialog}`. */
  readonly fold: string;
}

/** Source of the defaults: docs/spec/conversation §5. */
export const MEMORY_DEFAULTS = {
  summarizeThreshold: 6,
  keepRecentTurns: 4,
  maxRawTurns: 12,
  enableSummary: true,
} as const satisfies MemoryOptions;

/** The model of a fold as it is asked. Throws `CARD_INVALID`. */
export function summaryLlm(summaryModel: LlmInput): Llm | undefined {
  return parseCard({ llm: summaryModel }, "memory.summaryModel").llm;
}

export const EMPTY_MEMORY: Memory = { rawHistory: [], summaryText: "" };

/** The stored memory for service code. Frozen: changing it throws. */
export function openMemory(stored: Partial<Memory>): Memory {
  const { rawHistory, summaryText, deeds, refused, handedOut } = { ...EMPTY_MEMORY, ...stored };
  return Object.freeze({
    rawHistory: Object.freeze(rawHistory.map((entry) => Object.freeze({ ...entry }))),
    summaryText,
    deeds,
    refused,
    handedOut,
  });
}

/** The memory with one more exchange at its end. */
export function remember(
  memory: Memory,
  user: string,
  answer: Pick<MemoryEntry, "content" | "work" | "interrupted">,
  files: readonly FileRef[] = [],
): Memory {
  const { work, ...said } = answer;
  const done = work && work.length > 0 ? { work } : {};
  const exchange: readonly MemoryEntry[] = [
    files.length > 0 ? { role: "user", content: user, files } : { role: "user", content: user },
    { role: "assistant", ...said, ...done },
  ];
  return { ...memory, rawHistory: withinTokens([...memory.rawHistory, ...exchange]) };
}

/** The memory with deeds that stand in none of its exchanges. */
export function withDeeds(memory: Memory, deeds: readonly string[]): Memory {
  if (deeds.length === 0) return memory;
  return { ...memory, deeds: newestDeeds([...(memory.deeds ?? []), ...deeds]) };
}

/** How many exchanges the raw history holds. */
export function turnsOf(memory: Memory): number {
  return memory.rawHistory.filter((entry) => entry.role === "user").length;
}

/** The last `turns` exchanges of a history, beginning with a user's message. */
export function lastTurns(history: readonly MemoryEntry[], turns: number): readonly MemoryEntry[] {
  if (turns <= 0) return [];
  let seen = 0;
  for (let index = history.length - 1; index >= 0; index--) {
    if (history[index]?.role === "user" && ++seen === turns) return history.slice(index);
  }
  return history;
}
