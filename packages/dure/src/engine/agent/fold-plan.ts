import { fileLine } from "../../kernel/files.ts";
import { estimateTokens } from "../../models/prices.ts";
import { spokenBy } from "../../kernel/quoted-words.ts";
import { deedsOf } from "./history.ts";
import {
  lastTurns,
  turnsOf,
  withDeeds,
  type Memory,
  type MemoryEntry,
  type MemoryOptions,
} from "./memory.ts";
import { callLines, tokensOf } from "./work.ts";

type FoldedHistory = readonly MemoryEntry[];

/** Which exchanges are folded, and which stay. */
export interface FoldPlan {
  readonly older: FoldedHistory;
  readonly recent: FoldedHistory;
}

/**
 * What of a memory is folded: all but the last exchanges where it has grown to many, and what has
 * no room in the next request. `room`: estimated tokens; absent: any. Pure.
 */
export function foldPlan(
  { rawHistory, summaryText }: Memory,
  options: Required<Pick<MemoryOptions, "summarizeThreshold" | "keepRecentTurns">>,
  room = Infinity,
): FoldPlan {
  const isLong = turnsOf({ rawHistory, summaryText }) >= options.summarizeThreshold;
  const kept = isLong ? lastTurns(rawHistory, options.keepRecentTurns) : rawHistory;
  const recent = newestWithin(kept, room);
  return { older: rawHistory.slice(0, rawHistory.length - recent.length), recent };
}

/** What a model has written of the oldest exchanges of a memory. */
export interface WrittenSummary {
  /** The summary that it goes on from. */
  readonly before: string;
  readonly part: FoldedHistory;
  readonly text: string;
}

/**
 * The memory with the summary in the place of what it sums up; what was said since stays. Undefined
 * where that is no longer how the memory begins. Pure.
 */
export function withSummary(
  memory: Memory,
  { before, part, text }: WrittenSummary,
): Memory | undefined {
  const { rawHistory, summaryText } = memory;
  const oldest = rawHistory.slice(0, part.length);
  const isSaid = ({ role, content }: MemoryEntry, index: number): boolean =>
    role === oldest[index]?.role && content === oldest[index].content;
  if (summaryText !== before || !part.every(isSaid)) return undefined;

  const newer = rawHistory.slice(part.length);
  return { ...withDeeds(memory, deedsOf(oldest)), rawHistory: newer, summaryText: text };
}

/** The newest exchanges that have at most so many estimated tokens together. Pure. */
export function newestWithin(history: FoldedHistory, tokens: number): FoldedHistory {
  let left = tokens;
  const exchanges = exchangesOf(history);
  const from = exchanges.findLastIndex((exchange) => {
    left -= exchange.reduce((sum, entry) => sum + entryTokens(entry), 0);
    return left < 0;
  });
  return exchanges.slice(from + 1).flat();
}

/** The oldest exchanges that one summary takes: at least one, and about so many tokens. Pure. */
export function oldestWithin(history: FoldedHistory, tokens: number): FoldedHistory {
  let left = tokens;
  const exchanges = exchangesOf(history);
  const end = exchanges.findIndex((exchange, index) => {
    left -= estimateTokens(exchange.flatMap(linesOf).join("\n"));
    return left < 0 && index > 0;
  });
  return end < 0 ? history : exchanges.slice(0, end).flat();
}

/** A dialog of about so many tokens: of a longer one both ends. Pure. */
export function dialogWithin(history: FoldedHistory, tokens: number): string {
  const dialog = history.flatMap(linesOf).join("\n");
  const share = tokens / estimateTokens(dialog);
  if (!(share < 1)) return dialog;
  const half = Math.floor((dialog.length * share) / 2);
  const ends = [dialog.slice(0, half), dialog.slice(dialog.length - half)];
  return ends.map((end) => end.toWellFormed()).join("\n…\n");
}

function exchangesOf(history: FoldedHistory): readonly FoldedHistory[] {
  const begins = history.flatMap(({ role }, index) =>
    role === "user" || index === 0 ? [index] : [],
  );
  return begins.map((from, index) => history.slice(from, begins[index + 1]));
}

/** What was said and called, as the one who sums it up reads it. Pure. */
function linesOf({ role, content, files = [], work = [] }: MemoryEntry): readonly string[] {
  const sent = files.map((file) => `[file ${fileLine(file)}]`);
  return [...work.flatMap(callLines), spokenBy(role, [content, ...sent].filter(Boolean).join(" "))];
}

function entryTokens({ content, work = [] }: MemoryEntry): number {
  const done = work.reduce((sum, one) => sum + tokensOf(one), 0);
  return estimateTokens(content) + done + ENTRY_TOKENS;
}

/** Around each message. Source: `estimateRequestTokens`. */
const ENTRY_TOKENS = 4;
