import { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import { canonicalJson, type Json } from "../../kernel/json.ts";
import type { KeptResult, ToolMessage } from "../../models/model.ts";
import { cutResult } from "./bounded.ts";
import { tool, type AnyTool } from "./tool.ts";

/** The tool by which a model reads a result that it was shown in part. */
export const READ_RESULT = "read_result";

/** Bytes that one reading gives: less than the least bound of a result. */
const PIECE_BYTES = 8_000;
/** Places that one search gives, and characters on each side of a place. */
const FOUND = { most: 5, around: 200 } as const;
const MAX_HANDLE = 200;
const MAX_SEARCH = 200;
/** Of what a model is shown, the share that is the beginning. */
const HEAD_SHARE = 0.75;
/** Bytes of the line between beginning and end. */
const LINE_BYTES = 400;

/** A result as the model reads it. */
type ShownResult = Pick<ToolMessage, "result" | "kept">;

/**
 * A result that fits, or of a longer one its beginning and its end, with the handle by which
 * `read_result` gives the rest. Pure.
 */
export function shownResult(
  result: Json,
  { handle, most }: { readonly handle: string; readonly most: number },
): ShownResult {
  const whole = Buffer.from(textOf(result));
  if (whole.length <= most) return { result };
  return excerpt({ handle, bytes: whole.length }, whole, most);
}

/** The same of a message whose result has to become shorter; its handle stays. Pure. */
export function shortened(message: ToolMessage, most: number): ToolMessage {
  const { result, kept } = message;
  if (kept === undefined || typeof result !== "string") {
    return { ...message, result: cutResult(result, most) };
  }
  if (Buffer.byteLength(result) <= most) return message;
  const [head = "", tail = ""] = result.split(lineOf(kept));
  const { result: shorter, kept: now } = excerpt(kept, Buffer.from(head), most, Buffer.from(tail));
  return { ...message, result: shorter, kept: now };
}

/** Beginning and end, of one text, or of what is still there of its two ends. */
function excerpt(
  { handle, bytes }: Pick<KeptResult, "handle" | "bytes">,
  head: Buffer,
  most: number,
  tail: Buffer = head,
): ShownResult {
  const room = most - LINE_BYTES;
  const first = textBetween(head, 0, Math.floor(room * HEAD_SHARE));
  const last = textBetween(tail, tail.length - (room - Math.floor(room * HEAD_SHARE)));
  const kept = { handle, bytes, from: first.to, to: bytes - (tail.length - last.from) };
  return { result: `${first.text}${lineOf(kept)}${last.text}`, kept };
}

function lineOf({ handle, bytes, from, to }: KeptResult): string {
  return (
    `\n[cut: bytes ${from} to ${to} of ${bytes} are left out. ${READ_RESULT} gives them: ` +
    `{"handle": ${JSON.stringify(handle)}, "offset": ${from}}, or with "search".]\n`
  );
}

/** The text of a result, the same before it was stored and after: there, members have no order. */
function textOf(result: Json): string {
  return typeof result === "string" ? result : canonicalJson(result);
}

interface TextBetween {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** Whole characters between two bytes. */
function textBetween(bytes: Buffer, from: number, to = bytes.length): TextBetween {
  const begin = borderFrom(bytes, Math.max(from, 0));
  const end = borderFrom(bytes, Math.max(to, begin));
  return { text: bytes.toString("utf8", begin, end), from: begin, to: end };
}

/** The first byte at `at` or behind it that begins a character. */
function borderFrom(bytes: Buffer, at: number): number {
  let border = Math.min(at, bytes.length);
  while (border < bytes.length && (bytes[border]! & 0xc0) === 0x80) border += 1;
  return border;
}

/** Where a result stands: a turn, and a place in its journal. */
export interface ResultPlace {
  readonly turn: string;
  readonly place: string;
}

export function handleOf({ turn, place }: ResultPlace): string {
  return `${turn}/${place}`;
}

/** Gives a result of this session, or undefined. */
export type FindResult = (at: ResultPlace) => Promise<Json | undefined>;

/** Made once: a schema costs more than the rest of a turn without calls. */
const READING = z.object({
  handle: z.string().min(1).max(MAX_HANDLE),
  offset: z.int().min(0).optional().describe("Byte from which on to read. Default 0."),
  search: z
    .string()
    .min(1)
    .max(MAX_SEARCH)
    .optional()
    .describe("Instead: words to find. Gives the places with their offsets."),
});

/** Reads what `shownResult` has left out. */
export function readResult(find: FindResult): AnyTool {
  return tool({
    description:
      "Reads on in a result of a tool that was shown in part, or searches in it. Takes the handle " +
      "that stands in the result.",
    inputSchema: READING,
    execute: async ({ handle, offset = 0, search }) => {
      const slash = handle.indexOf("/");
      const at = { turn: handle.slice(0, slash), place: handle.slice(slash + 1) };
      const result = slash < 0 ? undefined : await find(at);
      if (result === undefined) throw resultUnknown(handle);
      const text = textOf(result);
      return search === undefined ? pieceAt(text, offset) : placesOf(text, search, offset);
    },
  });
}

function pieceAt(text: string, offset: number): string {
  const bytes = Buffer.from(text);
  const { text: piece, from, to } = textBetween(bytes, offset, offset + PIECE_BYTES);
  const next = to < bytes.length ? `; go on with "offset": ${to}` : "; this is the end";
  return `[bytes ${from} to ${to} of ${bytes.length}${next}]\n${piece}`;
}

/** The first places behind `offset`; capital letters do not count. */
function placesOf(text: string, search: string, offset: number): string {
  const wanted = search.toLowerCase();
  const from = Buffer.from(text).toString("utf8", 0, offset).length;
  const places: string[] = [];
  const lower = text.toLowerCase();
  let at = lower.indexOf(wanted, from);
  while (at >= 0 && places.length < FOUND.most) {
    const around = text.slice(Math.max(at - FOUND.around, 0), at + wanted.length + FOUND.around);
    const byte = Buffer.byteLength(text.slice(0, at));
    places.push(`[at byte ${byte}]\n${around.toWellFormed()}`);
    at = lower.indexOf(wanted, at + wanted.length + FOUND.around);
  }
  if (places.length === 0) return `[${JSON.stringify(search)} is not in it]`;
  const more = at < 0 ? "" : `\n[more from byte ${Buffer.byteLength(text.slice(0, at))} on]`;
  return `${places.join("\n")}${more}`;
}

function resultUnknown(handle: string): DureError {
  return new DureError(
    "RESULT_UNKNOWN",
    `No result of this conversation has the handle ${JSON.stringify(handle)}, or it is kept no longer. Call the tool again that gave it.`,
    {
      class: "input",
      hint: "Results are kept as long as the journals of turns (keep.turnEvents).",
    },
  );
}
