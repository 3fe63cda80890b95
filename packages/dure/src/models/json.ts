import { isObject, type Json } from "../kernel/json.ts";
import { formatError } from "./failures.ts";

/**
 * Reads the JSON that a model wrote: bare, in a code fence, with words around it, with a comma
 * before a closing bracket or a line break in a string. The whole text is tried first, then the first
 * object in it that parses, then the first list. Half an answer is no answer: closing its brackets
 * would make a list shorter, or an amount smaller. Throws `MODEL_FORMAT`, which may be retried.
 */
export function parseModelJson(text: string): Json {
  const whole = tryParse(text);

  if (whole.ok) return whole.value;

  const finished = text.slice(0, cutAt(text));

  for (const opener of ["{", "["]) {
    let start = finished.indexOf(opener);

    for (let tries = 0; start >= 0 && tries < MAX_CANDIDATES; tries++) {
      const end = endOfValue(finished, start);
      const found = end === undefined ? undefined : tryParse(finished.slice(start, end));

      if (found?.ok) return found.value;
      start = finished.indexOf(opener, start + 1);
    }
  }

  throw formatError(
    text.trim() === ""
      ? "The model answered nothing where JSON was asked for."
      : "The model's answer is no JSON.",
    {
      details: { beginsWith: text.slice(0, 80) },
    },
  );
}

/** A plain object, or `MODEL_FORMAT`: what most agents ask for. */
export function parseModelObject(text: string): Record<string, Json> {
  const value = parseModelJson(text);

  if (isObject(value)) return value as Record<string, Json>;
  throw formatError("The model's answer is JSON but no object.", {
    details: { beginsWith: text.slice(0, 80) },
  });
}

/**
 * Opening braces that are tried as the beginning of the answer, so that a text of braces costs
 * little.
 */
const MAX_CANDIDATES = 64;

function tryParse(text: string): { ok: true; value: Json } | { ok: false } {
  for (const candidate of [text, mended(text)]) {
    try {
      return { ok: true, value: JSON.parse(candidate) as Json };
    } catch {
      // the next one, if there is one
    }
  }

  return { ok: false };
}

/**
 * The text without what JSON forbids and models write all the same, where it has one meaning only: a
 * comma before a closing bracket, and line breaks and tabs inside of a string. Pure.
 */
function mended(text: string): string {
  let out = "";
  let inString = false;

  for (let index = 0; index < text.length; index++) {
    const char = text[index]!;

    if (inString) {
      if (char === "\\") out += char + (text[++index] ?? "");
      else out += CONTROLS[char] ?? char;

      if (char === '"') inString = false;
    } else if (char !== "," || !/^\s*[}\]]/.test(text.slice(index + 1, index + 200))) {
      out += char;

      if (char === '"') inString = true;
    }
  }

  return out;
}

/** Control characters as JSON wants them in a string. */
const CONTROLS: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Where a value begins that does not end; a whole object inside of it must not pass for the answer.
 */
function cutAt(text: string): number | undefined {
  for (let match = nextValue(text, 0); match;) {
    const end = endOfValue(text, match.index);

    if (end === undefined) return match.index;
    match = nextValue(text, end);
  }

  return undefined;
}

/**
 * The next object or list from `start` on; a bracket in prose, `{like this}` or `[1]`, begins none.
 */
function nextValue(text: string, start: number): RegExpExecArray | null {
  const beginning = /\{\s*"|\[\s*[[{"]/g;
  beginning.lastIndex = start;

  return beginning.exec(text);
}

/**
 * The position behind the bracket that closes the one at `start`; brackets in strings do not count.
 */
function endOfValue(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;

  for (let index = start; index < text.length; index++) {
    const char = text[index];

    if (inString) {
      if (char === "\\") index += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth += 1;
    else if ((char === "}" || char === "]") && --depth === 0) return index + 1;
  }

  return undefined;
}

/**
 * The value of one string member while the JSON around it is still arriving.
 *
 * Chunks go in as they come, cut anywhere; `push` returns what the member has grown by. All
 * returned pieces together are at any time a prefix of what `JSON.parse` will give for the member,
 * and equal to it in the end. A surrogate pair is never cut in two. Words and a code fence before
 * the object are skipped. Only a member of the outermost object counts; if it is there twice, the
 * first one is read (`JSON.parse` keeps the last: the finished answer is the truth).
 */
export class PartialJsonText {
  readonly #member: string;
  #place: ParserState = "before";
  /** Brackets that are open inside the value that is being skipped. */
  #depth = 0;
  #skippingString = false;
  #key = "";
  #string = new StringReader();
  #text = "";

  constructor(member = "message") {
    this.#member = member;
  }

  /** All of the member that has been returned so far. */
  get text(): string {
    return this.#text;
  }

  /** Whether the member's closing quote has been seen. */
  get isComplete(): boolean {
    return this.#place === "done";
  }

  push(chunk: string): string {
    let grown = "";

    for (let index = 0; index < chunk.length && this.#place !== "done"; index++) {
      grown += this.#step(chunk[index]!);
    }
    this.#text += grown;

    return grown;
  }

  /** Takes one UTF-16 unit; returns text of the member. */
  #step(unit: string): string {
    switch (this.#place) {
      case "before":
        if (unit === "{") this.#place = "object";
        return "";
      case "object":
        if (isSpace(unit)) return "";
        // Behind the opening brace of an object stands a key; of anything else ("{see below}") we
        // wait for the next brace.
        if (unit !== "{") this.#place = unit === '"' ? "key" : "before";
        if (this.#place === "key") this.#string = new StringReader();
        return "";
      case "next-key":
        if (unit === '"') {
          this.#string = new StringReader();
          this.#place = "key";
        } else if (unit === "}") this.#place = "before";

        return "";
      case "key": {
        this.#key += this.#string.push(unit);

        if (this.#string.isClosed) this.#place = "colon";
        return "";
      }
      case "colon":
        if (isSpace(unit)) return "";
        this.#place = unit === ":" ? "value" : "before";

        if (unit !== ":") this.#key = "";
        return "";
      case "value": {
        if (isSpace(unit)) return "";
        const isMember = this.#key === this.#member;
        this.#key = "";

        if (unit === '"' && isMember) {
          this.#string = new StringReader();
          this.#place = "member";

          return "";
        }
        this.#depth = 0;
        this.#skippingString = false;
        this.#place = "skip";
        this.#skip(unit);

        return "";
      }
      case "skip":
        this.#skip(unit);

        return "";
      case "member": {
        const text = this.#string.push(unit);

        if (this.#string.isClosed) this.#place = "done";
        return text;
      }
      case "done":
        return "";
      default:
        return this.#place satisfies never;
    }
  }

  /** Passes over a value that is not ours, up to the comma or brace behind it. */
  #skip(unit: string): void {
    if (this.#skippingString) {
      this.#string.push(unit);
      this.#skippingString = !this.#string.isClosed;
    } else if (unit === '"') {
      this.#string = new StringReader();
      this.#skippingString = true;
    } else if (unit === "{" || unit === "[") this.#depth += 1;
    else if (unit === "}" || unit === "]") {
      if (this.#depth === 0) this.#place = "before";
      else this.#depth -= 1;
    } else if (unit === "," && this.#depth === 0) this.#place = "next-key";
  }
}

type ParserState =
  | "before"
  | "object"
  | "next-key"
  | "key"
  | "colon"
  | "value"
  | "skip"
  | "member"
  | "done";

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/**
 * Decodes the inside of a JSON string unit by unit, up to its closing quote. A high surrogate waits
 * for its other half.
 */
class StringReader {
  isClosed = false;
  #escape: string | undefined;
  #high = "";

  push(unit: string): string {
    if (this.#escape !== undefined) return this.#pushEscape(unit);

    if (unit === "\\") {
      this.#escape = "";

      return "";
    }

    if (unit !== '"') return this.#emit(unit);

    this.isClosed = true;
    const rest = this.#high;
    this.#high = "";

    return rest;
  }

  #pushEscape(unit: string): string {
    this.#escape += unit;
    const escape = this.#escape!;

    if (escape.startsWith("u")) {
      if (escape.length < 5) return "";
      this.#escape = undefined;

      return this.#emit(String.fromCharCode(Number.parseInt(escape.slice(1), 16) || 0));
    }

    this.#escape = undefined;

    return this.#emit(ESCAPES[escape] ?? escape);
  }

  #emit(unit: string): string {
    const held = this.#high;
    this.#high = "";

    if (unit >= "\ud800" && unit <= "\udbff") {
      this.#high = unit;

      return held;
    }

    return held + unit;
  }
}

function isSpace(unit: string): boolean {
  return unit === " " || unit === "\n" || unit === "\r" || unit === "\t";
}
