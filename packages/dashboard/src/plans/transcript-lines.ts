import type { TranscriptLine } from "dure/client";

/** Lines that a page holds at most; beyond it the far end goes, and is read again when asked for. */
const MAX_LINES = 600;

/** The part of a transcript that is shown, oldest first. */
export interface TranscriptWindow {
  readonly lines: readonly TranscriptLine[];
  readonly hasOlder: boolean;
  /** The newest lines went to make room: nothing new is added until they are read again. */
  readonly hasNewer: boolean;
}

/** Adds what came since. Pure. */
export function withNewer(
  window: TranscriptWindow,
  found: readonly TranscriptLine[],
): TranscriptWindow {
  if (window.hasNewer) return window;
  const last = window.lines.at(-1)?.id ?? 0;
  const lines = [...window.lines, ...found.filter(({ id }) => id > last)];
  const kept = lines.slice(-MAX_LINES);
  return { ...window, lines: kept, hasOlder: window.hasOlder || kept.length < lines.length };
}

/** Adds what came before. Pure. */
export function withOlder(
  window: TranscriptWindow,
  found: readonly TranscriptLine[],
  hasOlder: boolean,
): TranscriptWindow {
  const first = window.lines[0]?.id ?? Infinity;
  const lines = [...found.filter(({ id }) => id < first), ...window.lines];
  const kept = lines.slice(0, MAX_LINES);
  return { lines: kept, hasOlder, hasNewer: window.hasNewer || kept.length < lines.length };
}

/** A line with what belongs to it: of a tool's call what it gave and what it changed. */
export interface TranscriptBlock {
  readonly line: TranscriptLine;
  readonly parts: readonly TranscriptLine[];
}

/** What stands together: the lines of one step that follow each other. */
export interface TranscriptPart {
  readonly step: number;
  readonly try: number;
  readonly member: TranscriptLine["member"];
  readonly blocks: readonly TranscriptBlock[];
}

/** Lines as a conversation, step by step. Pure. */
export function conversationOf(lines: readonly TranscriptLine[]): readonly TranscriptPart[] {
  const parts: { first: TranscriptLine; lines: TranscriptLine[] }[] = [];
  for (const line of lines) {
    const last = parts.at(-1);
    if (last?.first.step === line.step) last.lines.push(line);
    else parts.push({ first: line, lines: [line] });
  }
  return parts.map(({ first, lines: own }) => ({
    step: first.step,
    try: first.try,
    member: first.member,
    blocks: blocksOf(own),
  }));
}

type OpenBlock = { line: TranscriptLine; parts: TranscriptLine[] };

function blocksOf(lines: readonly TranscriptLine[]): readonly TranscriptBlock[] {
  const blocks: OpenBlock[] = [];
  let before: TranscriptLine | undefined;
  for (const line of lines) {
    const last = blocks.at(-1);
    // Some agents name a call before they know its input.
    const isSameCall =
      line.kind === "tool" && before?.kind === "tool" && isBare(before.text) && !isBare(line.text);
    if (isSameCall && last !== undefined) last.line = { ...line, id: last.line.id };
    else {
      const call = callOf(line, blocks);
      if (call === undefined) blocks.push({ line, parts: [] });
      else call.parts.push(line);
    }
    before = line;
  }
  return blocks;
}

/** The call that a result or a change belongs to: by its name, else the one that alone is open. */
function callOf(line: TranscriptLine, blocks: readonly OpenBlock[]): OpenBlock | undefined {
  if (line.kind !== "result" && line.kind !== "diff") return undefined;
  const open = blocks.filter((block) => block.line.kind === "tool" && !isOver(block));
  const named =
    line.kind === "result" ? open.find((block) => block.line.title === line.title) : undefined;
  return named ?? (open.length === 1 || line.kind === "diff" ? open.at(-1) : undefined);
}

function isOver({ parts }: OpenBlock): boolean {
  return parts.some(({ status }) => status === "completed" || status === "failed");
}

function isBare(text: string): boolean {
  return text === "" || text === "{}" || text === "null";
}

/** A tool's input as it reads: a command as such, JSON with a line per member. Pure. */
export function inputOf(text: string): string {
  if (isBare(text)) return "";
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return text;
    const { command, ...rest } = value as Readonly<Record<string, unknown>>;
    const others = Object.keys(rest).length === 0 ? "" : JSON.stringify(rest, null, 2);
    if (typeof command === "string") return [`$ ${command}`, others].filter(Boolean).join("\n");
    return JSON.stringify(value, null, 2);
  } catch {
    return text; // no JSON, or cut to fit
  }
}

/** The end of a step: what was said last, and the tokens that it counted. Pure. */
export function endOf(text: string): {
  readonly words: string;
  readonly tokens?: { readonly input: number; readonly output: number } | undefined;
} {
  const counted = /(?:^|\n)(\d+) tokens in, (\d+) out$/.exec(text.trimEnd());
  if (counted === null) return { words: text.trim() };
  const [, input, output] = counted;
  return {
    words: text.slice(0, counted.index).trim(),
    tokens: { input: Number(input), output: Number(output) },
  };
}

/** Lines and characters of a text that are shown before the rest is asked for. */
const SHOWN = { lines: 12, characters: 2_000 } as const;

/**
 * The part of a text that is shown at first: its beginning, or what surrounds the words that are
 * looked for. `left`: lines that are not shown. Pure.
 */
export function excerptOf(
  text: string,
  search: string,
): { readonly text: string; readonly left: number } {
  const lines = text.trimEnd().split("\n");
  const found = search === "" ? -1 : lines.findIndex((line) => placeOf(line, search) >= 0);
  const from = Math.max(Math.min(found - 2, lines.length - SHOWN.lines), 0);
  const shown = lines.slice(from, from + SHOWN.lines);
  const whole = shown.join("\n");
  if (whole.length <= SHOWN.characters) return { text: whole, left: lines.length - shown.length };
  const at = search === "" ? 0 : Math.max(placeOf(whole, search) - 200, 0);
  return {
    text: whole.slice(at, at + SHOWN.characters),
    left: Math.max(lines.length - shown.length, 1),
  };
}

/** A text cut at the words that are looked for: every second piece is such a place. Pure. */
export function piecesOf(text: string, search: string): readonly string[] {
  if (search === "") return [text];
  const pieces: string[] = [];
  let from = 0;
  for (let at = placeOf(text, search); at >= 0; at = placeOf(text, search, from)) {
    pieces.push(text.slice(from, at), text.slice(at, at + search.length));
    from = at + search.length;
  }
  return [...pieces, text.slice(from)];
}

function placeOf(text: string, search: string, from = 0): number {
  return text.toLowerCase().indexOf(search.toLowerCase(), from);
}
