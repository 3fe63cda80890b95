/** Text as rooms take and cut it. */

import { isBlank } from "../jobs/conclusion.ts";
import { localeOf } from "../engine/texts.ts";

/** UTF-16 units. Source: limit of what one message to an agent may hold. */
export const LONGEST_TEXT = 100_000;

export type CheckedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly because: TextFault };

/**
 * `malformed`: half of a surrogate pair, or U+0000, which PostgreSQL cannot store. `too-long`: over
 * `LONGEST_TEXT`.
 */
export type TextFault = "empty" | "malformed" | "too-long";

/** A text for what is only attached. */
export function textOf(message: {
  readonly text: string;
  readonly attachments: readonly { readonly name: string }[];
}): string {
  const { text, attachments } = message;
  return text.trim() === "" ? attachments.map(({ name }) => `[${name}]`).join(" ") : text;
}

/**
 * What arrived as the text of a message, fit to be stored and shown: line ends are `\n`; other
 * control characters and the signs that turn the direction of writing around (so that a text cannot
 * pose as another one) are gone.
 */
export function checkText(text: string): CheckedText {
  if (text.length > LONGEST_TEXT) return { ok: false, because: "too-long" };
  if (text.includes("\0") || !text.isWellFormed()) return { ok: false, because: "malformed" };

  const cleaned = text
    .replace(/\r\n?/gu, "\n")
    .replace(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, "");
  return isBlank(cleaned) ? { ok: false, because: "empty" } : { ok: true, text: cleaned };
}

/**
 * UTF-16 units. More than any emoji has; a longer "character" is an ornament of accents, and ends
 * an excerpt.
 */
const LONGEST_GRAPHEME = 64;

const GRAPHEMES = new Intl.Segmenter("und", { granularity: "grapheme" });

/**
 * The first graphemes of a text on one line, white space collapsed; nothing is added where it is
 * cut. Never longer than 64 UTF-16 units per grapheme, and as fast for 100,000 characters as for
 * 100. Source for 50: docs/spec/collaboration §7.
 */
export function excerpt(text: string, graphemes = 50): string {
  const enough = graphemes * LONGEST_GRAPHEME + 1;
  let line = "";
  for (const [word] of text.matchAll(/\S+/gu)) {
    if (line.length >= enough) break;
    line += (line && " ") + word.slice(0, enough);
  }
  if (line.length <= graphemes && line.length <= LONGEST_GRAPHEME) return line;

  let length = 0;
  let count = 0;
  for (const { segment } of GRAPHEMES.segment(line.slice(0, enough))) {
    if (count === graphemes || segment.length > LONGEST_GRAPHEME) break;
    length += segment.length;
    count++;
  }
  return line.slice(0, length).trimEnd();
}

/** At most `length` UTF-16 units, with `…` where something is missing; never splits a grapheme. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  if (length < 1) return "";
  return `${text.slice(0, graphemeBorder(text, 0, length - 1)).trimEnd()}…`;
}

/**
 * What a new thread is about: its given name, else the beginning of the message, with `…` where
 * that is cut. Source for 30: docs/spec/collaboration §4.
 */
export function threadTopic(given: string | undefined, message: string): string {
  if (given !== undefined && !isBlank(given)) return given;
  const begins = excerpt(message, 30);
  const isCut = begins.length < message.replace(/\s+/gu, " ").trim().length;
  return isCut ? `${begins}…` : begins;
}

/** How the name of a hand-over's thread begins. */
const HAND_OVER = { ko: "[협업]", en: "[collab]" } as const;

/** Whether a thread has the name of a hand-over, also where no other record of it is left. Pure. */
export function isHandOverName(name: string): boolean {
  return Object.values(HAND_OVER).some((mark) => name.startsWith(`${mark} `));
}

/**
 * `[협업] 루다 → 이든 · 코드 리뷰`, at most `limit` UTF-16 units on one line. Source: docs/spec/collaboration
 * §4.
 */
export function threadName(given: {
  readonly from: string;
  readonly to: string;
  readonly topic: string;
  readonly locale: string;
  readonly limit?: number;
}): string {
  const { from, to, topic, locale, limit = 100 } = given;
  const mark = HAND_OVER[localeOf(locale)];
  const about = isBlank(topic) ? "" : ` · ${topic}`;
  return cutText(`${mark} ${from} → ${to}${about}`.replace(/\s+/gu, " ").trim(), limit);
}

/**
 * A text in parts of at most `limit` UTF-16 units (at least 2), each cut at the best border within
 * reach: before a paragraph, a line, a line of code, after a sentence, after a word, at last
 * between two graphemes. Only a grapheme that is longer than a whole part is cut as well. Nothing
 * but white space around a cut is lost.
 *
 * A code block that is cut is closed, and opened again with its language in the next part. A text
 * that fits is one part as it is; a blank one has none.
 */
export function splitMessage(text: string, limit = 2000): readonly string[] {
  if (isBlank(text)) return [];
  if (text.length <= limit) return [text];

  const fences = codeFences(text).filter((fence) => leavesRoom(fence, limit));
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    const fence = fenceAround(fences, start);
    if (!fence) start = skip(BLANK_LINES, text, start);
    if (start === text.length) break;
    const head = fence ? opening(fence) : "";

    const part = new Part(text, start, limit - head.length, fences);
    const end = part.end();
    const tail = part.tailAt(end);
    const body = text.slice(start, end);
    if (!isBlank(body)) {
      parts.push(head + (tail ? body.replace(/\n$/u, "") : body.trimEnd()) + tail);
    }

    const isInLine = !fenceAround(fences, end) && text[end - 1] !== "\n";
    start = isInLine ? skip(SPACES, text, end) : end; // the indentation of a line stays
  }
  return parts;
}

const BLANK_LINES = /(?:[^\S\n]*\n)+/uy;
const SPACES = /[^\S\n]+/uy;

function skip(what: RegExp, text: string, start: number): number {
  what.lastIndex = start;
  return what.test(text) ? what.lastIndex : start;
}

/**
 * One part of a message from `start` on: where it may end. `room` is for the body and what closes
 * it, in UTF-16 units.
 */
class Part {
  readonly #text: string;
  readonly #start: number;
  readonly #room: number;
  readonly #fences: readonly CodeFence[];

  constructor(text: string, start: number, room: number, fences: readonly CodeFence[]) {
    this.#text = text;
    this.#start = start;
    this.#room = room;
    this.#fences = fences;
  }

  end(): number {
    if (this.#fits(this.#text.length)) return this.#text.length;
    return (
      this.#lineBorder() ?? this.#sentenceBorder() ?? this.#wordBorder() ?? this.#graphemeBorder()
    );
  }

  /** What closes the code block that a cut at `end` leaves open. */
  tailAt(end: number): string {
    const fence = fenceAround(this.#fences, end);
    if (fence) return closing(fence);
    const reopened = end === this.#text.length ? fenceAround(this.#fences, this.#start) : undefined;
    return reopened && !reopened.isClosed ? closing(reopened) : "";
  }

  /**
   * Not between a code block's fence and its first or last line: that would leave an empty block.
   */
  #fits(end: number): boolean {
    const fence = fenceAround(this.#fences, end);
    if (fence && (end <= fence.contentFrom || end >= fence.contentTo)) return false;
    const tail = this.tailAt(end);
    const last = this.#text[end - 1] ?? "";
    const dropped = last === "\n" || (tail === "" && /\s/u.test(last)) ? 1 : 0;
    return end > this.#start && end - this.#start - dropped + tail.length <= this.#room;
  }

  #lineBorder(): number | undefined {
    let paragraph: number | undefined;
    let line: number | undefined;
    let codeLine: number | undefined;
    let at = this.#start;
    for (;;) {
      const next = this.#text.indexOf("\n", at) + 1;
      if (next === 0 || next - 1 - this.#start > this.#room) return paragraph ?? line ?? codeLine;
      if (this.#fits(next)) {
        if (fenceAround(this.#fences, next)) codeLine = next;
        else {
          line = next;
          if (isBlank(this.#text.slice(at, next))) paragraph = next;
        }
      }
      at = next;
    }
  }

  #sentenceBorder(): number | undefined {
    const window = this.#text.slice(this.#start, this.#start + this.#room + 1);
    const ends = Array.from(
      window.matchAll(SENTENCE_END),
      (match) => this.#start + match.index + match[0].length,
    );
    return ends.findLast((end) => this.#fits(end) && !fenceAround(this.#fences, end));
  }

  #wordBorder(): number | undefined {
    for (let end = this.#start + this.#room + 1; end > this.#start; end--) {
      if (/\s/u.test(this.#text[end - 1] ?? "") && this.#fits(end)) return end;
    }
    return undefined;
  }

  #graphemeBorder(): number {
    let least = this.#start;
    let most = Math.min(this.#start + this.#room, this.#text.length - 1);
    const fence = fenceAround(this.#fences, most);
    if (fence) {
      const inside = Math.min(most - closing(fence).length, fence.contentTo - 1);
      if (inside > fence.contentFrom) {
        least = Math.max(least, fence.contentFrom);
        most = inside;
      } else if (fence.from > this.#start) most = fence.from;
    }
    const border = beforeMention(this.#text, graphemeBorder(this.#text, this.#start, most));
    return border > least ? border : most - (splitsPair(this.#text, most) ? 1 : 0);
  }
}

const SENTENCE_END = /[.!?…]["'”’)\]]*\s|[。！？]["'”’」』）]*/gu;

/**
 * The last border between graphemes at or before `most`, as long as it is near; `start` when there
 * is none.
 */
function graphemeBorder(text: string, start: number, most: number): number {
  const window = text.slice(start, most + LONGEST_GRAPHEME);
  return start + (GRAPHEMES.segment(window).containing(most - start)?.index ?? window.length);
}

/** `end`, or the beginning of the mention `<@agent-id>` that a cut there would break. */
function beforeMention(text: string, end: number): number {
  const from = text.lastIndexOf("<@", end - 1);
  const mention =
    from < 0 || end - from > 100 ? null : /^<@[^\s<>]{1,100}>/u.exec(text.slice(from, from + 103));
  return mention && from + mention[0].length > end ? from : end;
}

function splitsPair(text: string, at: number): boolean {
  return /[\ud800-\udbff]/.test(text[at - 1] ?? "") && /[\udc00-\udfff]/.test(text[at] ?? "");
}

/** A fenced code block of a text; positions are UTF-16 units. */
export interface CodeFence {
  /** Of the line that opens it. */
  readonly from: number;
  /** After the opening line. */
  readonly contentFrom: number;
  /** Of what closes it; the end of the text when nothing does. */
  readonly contentTo: number;
  readonly to: number;
  readonly isClosed: boolean;
  /** "```" or longer, or "~~~". */
  readonly marker: string;
  /** `""` when none is named. */
  readonly language: string;
}

/**
 * The fenced code blocks of a text, in linear time. A block begins on a line of its own and ends at
 * the next run of as many backticks, wherever that stands (as people write it in chats), a block of
 * tildes on a line of its own; else with the text.
 */
export function codeFences(text: string): readonly CodeFence[] {
  const fences: CodeFence[] = [];
  for (let at = 0; at < text.length;) {
    const end = lineEnd(text, at);
    const [, marker, language] = FENCE.exec(text.slice(at, Math.min(end, at + 200))) ?? [];
    if (
      marker === undefined ||
      (marker.startsWith("`") && text.slice(at, end).trimStart().slice(marker.length).includes("`"))
    ) {
      at = end + 1;
      continue;
    }
    const contentFrom = Math.min(end + 1, text.length);
    const close = marker.startsWith("`")
      ? closingBackticks(text, contentFrom, marker)
      : closingTildes(text, contentFrom, marker);
    const to = close?.to ?? text.length;
    fences.push({
      from: at,
      contentFrom,
      contentTo: close?.from ?? text.length,
      to,
      isClosed: close !== undefined,
      marker,
      language: language ?? "",
    });
    at = lineEnd(text, to) + 1;
  }
  return fences;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[^\S\n]*([^\s`]{0,40})/u;

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function closingBackticks(
  text: string,
  from: number,
  marker: string,
): { from: number; to: number } | undefined {
  const start = text.indexOf(marker, from);
  if (start < 0) return undefined;
  let to = start + marker.length;
  while (text[to] === "`") to++;
  return { from: start, to };
}

function closingTildes(
  text: string,
  from: number,
  marker: string,
): { from: number; to: number } | undefined {
  for (let at = from; at < text.length; at = lineEnd(text, at) + 1) {
    const line = text.slice(at, lineEnd(text, at));
    if (line.trimStart().startsWith(marker) && /^~+$/u.test(line.trim())) {
      return { from: at, to: at + line.length };
    }
  }
  return undefined;
}

/** The block that `at` stands inside of, its fences included; borders are outside. */
function fenceAround(fences: readonly CodeFence[], at: number): CodeFence | undefined {
  let low = 0;
  let high = fences.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((fences[middle]?.from ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  const fence = fences[low - 1];
  return fence && at < fence.to ? fence : undefined;
}

/** A block whose fences would fill a part is cut like any other text. */
function leavesRoom(fence: CodeFence, limit: number): boolean {
  const fencing = [
    fence.contentFrom - fence.from,
    fence.to - fence.contentTo,
    opening(fence).length,
    closing(fence).length,
  ];
  return Math.max(...fencing) <= limit / 4;
}

function opening(fence: CodeFence): string {
  return `${fence.marker}${fence.language}\n`;
}

function closing(fence: CodeFence): string {
  return `\n${fence.marker}`;
}
