import type { Line } from "./journal.ts";
import type { Violation } from "./violations.ts";

/** Longest story, lines; the whole journal is kept beside it. */
const MAX_LINES = 120;
/** Faults are part of the story from so long before its first line, milliseconds. */
const BEFORE_MS = 3_000;

/**
 * All that every party said about the subject of a violation, and the faults of that time, in
 * order. Pure.
 */
export function storyOf(violation: Violation, lines: readonly Line[]): readonly string[] {
  const own = lines.filter((line) => isAbout(line, violation.ids));
  const first = own[0]?.at;
  const last = own.at(-1)?.at;
  const told =
    first === undefined || last === undefined
      ? own
      : lines.filter((line) => isAbout(line, violation.ids) || isFaultOf(line, first, last));
  const begin = told[0]?.at ?? 0;
  const shown = told
    .slice(0, MAX_LINES)
    .map(
      ({ at, from, text }) =>
        `${seconds(at - begin).padStart(9)} ${from.padEnd(12)} ${readable(text)}`,
    );
  const rest = told.length - shown.length;
  return [
    `VIOLATION ${violation.invariant}: ${violation.text}`,
    ...shown,
    ...(rest > 0 ? [`          … ${rest} more lines in the journal`] : []),
  ];
}

function isFaultOf({ at, from, text }: Line, first: number, last: number): boolean {
  return (
    from === "faults" && !text.startsWith("VIOLATION") && at >= first - BEFORE_MS && at <= last
  );
}

function isAbout({ from, text }: Line, ids: readonly string[]): boolean {
  const named = `${from} ${text}`;
  return ids.some((id) => id !== "" && holdsWord(named, id));
}

/** `p7` is no part of `p70`. */
function holdsWord(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    if (!/\w/.test(text[at + id.length] ?? "") || !/\w/.test(id.at(-1)!)) return true;
  }
  return false;
}

function seconds(ms: number): string {
  return `+${(ms / 1_000).toFixed(3)}`;
}

/** A server's line is JSON: its words, and the code of what went wrong. */
function readable(text: string): string {
  if (!text.startsWith("{")) return text.slice(0, 300);
  try {
    const { msg, code, error } = JSON.parse(text) as {
      msg?: string;
      code?: string;
      error?: unknown;
    };
    if (msg === undefined) return text.slice(0, 300);
    return [msg, code, typeof error === "string" ? error : undefined]
      .filter((part) => part !== undefined)
      .join(" · ")
      .slice(0, 300);
  } catch {
    return text.slice(0, 300);
  }
}
