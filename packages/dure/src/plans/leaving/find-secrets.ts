/** Secrets in a text, also in what is encoded there. */

import {
  ENV_SECRET,
  GENERAL_RULES,
  isEnvFile,
  isStandIn,
  SECRET_RULES,
  type SecretRule,
} from "./secret-rules.ts";

/** A secret in a text, without the secret. */
export interface FoundSecret {
  readonly rule: string;
  /** 1-based. */
  readonly line: number;
  /** What everyone may read of it, and its length. */
  readonly excerpt: string;
}

/** A secret with its words, which stay here. */
interface SecretForm {
  readonly rule: string;
  readonly at: number;
  readonly words: string;
  readonly shown: string;
}

/** Characters that are looked at in one go. */
const SLICE = 65_536;
/** Longer than any secret that a rule finds. */
const OVERLAP = 8_192;
/** Characters of an excerpt before the mask. */
const MAX_SHOWN = 60;
const ENCODED = "base64: ";

/**
 * Secrets of a text that are not in the one before it, also where they stand in base64. Other work
 * goes on between the slices of a long text.
 */
export async function findSecrets(
  path: string,
  text: string,
  before: string,
): Promise<readonly FoundSecret[]> {
  const found = await secretsOf(path, text);
  if (found.size === 0) return [];
  const known = before === "" ? new Map<string, SecretForm>() : await secretsOf(path, before);
  const fresh = [...found].filter(([key, { words }]) => !known.has(key) && !before.includes(words));

  return inWords(
    fresh.map(([, secret]) => secret),
    text,
  );
}

/** Each secret once. */
async function secretsOf(path: string, text: string): Promise<Map<string, SecretForm>> {
  const rules = isEnvFile(path) ? [...SECRET_RULES, ENV_SECRET] : SECRET_RULES;
  const found = new Map<string, SecretForm>();
  for (let start = 0; start < text.length; start += SLICE) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve));
    const slice = text.slice(start, start + SLICE + OVERLAP);
    for (const secret of secretsInSlice(slice, rules, start > 0)) {
      const key = `${secret.rule} ${secret.words}`;
      if (!found.has(key)) found.set(key, { ...secret, at: start + secret.at });
    }
  }

  return found;
}

function secretsInSlice(
  slice: string,
  rules: readonly SecretRule[],
  isInside: boolean,
): readonly SecretForm[] {
  const formed = matchesIn(slice, rules);
  const general = matchesIn(slice, GENERAL_RULES).filter(
    (one) => !formed.some((other) => overlap(one, other)),
  );
  const encoded = encodedTexts(slice, isInside).flatMap(({ at, decoded }) =>
    matchesIn(decoded, SECRET_RULES).map((one) => ({ ...one, at, shown: ENCODED + one.shown })),
  );

  return [...formed, ...general, ...encoded];
}

function matchesIn(text: string, rules: readonly SecretRule[]): readonly SecretForm[] {
  return rules.flatMap(({ rule, pattern, accepts }) =>
    [...text.matchAll(pattern)].flatMap((match) => {
      const [words] = match;
      const shown = match.groups?.["shown"] ?? "";
      const value = words.slice(shown.length);
      const isSecret = !isStandIn(value) && (accepts?.(value) ?? true);
      return isSecret ? [{ rule, at: match.index, words, shown }] : [];
    }),
  );
}

function overlap(one: SecretForm, other: SecretForm): boolean {
  return one.at < other.at + other.words.length && other.at < one.at + one.words.length;
}

function inWords(found: readonly SecretForm[], text: string): readonly FoundSecret[] {
  let line = 1;
  let counted = 0;
  return found
    .toSorted((a, b) => a.at - b.at)
    .map(({ rule, at, words, shown }) => {
      for (; counted < at; counted++) if (text.charCodeAt(counted) === 10) line++;
      const isEncoded = shown.startsWith(ENCODED);
      const hidden = words.length - shown.length + (isEncoded ? ENCODED.length : 0);

      return { rule, line, excerpt: masked(shown, hidden) };
    });
}

/** Control characters of a file do not reach a terminal. */
function masked(shown: string, hidden: number): string {
  const readable = shown.trim().slice(0, MAX_SHOWN).replace(/\p{C}/gu, "?");

  return `${readable}… (+${hidden})`;
}

/** Base64 of a text, joined where it is broken into lines. */
interface Encoded {
  /** Where it begins. */
  readonly at: number;
  readonly decoded: string;
}

/** Characters of one line; shorter ones hold no secret of their own. */
const LINE = /[A-Za-z0-9+/_-]{40,}={0,2}/g;
/** Between lines of one value: the line end, an indent, a quote of another language. */
const BETWEEN = /^(?:\\n|[\s"'+,]){1,40}$/;
/** The last line of a value may be this short. */
const TAIL = /^(?:\\n|[\s"'+,]){1,40}([A-Za-z0-9+/_-]{1,80}={0,2})(?![A-Za-z0-9+/_=-])/;
/** Of a value that began before, each place in four may be where a character begins. */
const OFFSETS = [0, 1, 2, 3];
/** Characters by which a text is known. */
const HEAD = 24;

/**
 * Texts that stand in a text as base64. `isInside`: the text is a part of a longer one. Each
 * character is looked at a fixed number of times.
 */
function encodedTexts(text: string, isInside: boolean): readonly Encoded[] {
  return joined(text).flatMap(({ at, value }) => {
    const offsets = isInside && at === 0 ? OFFSETS : [0];
    const texts = offsets.map((offset) => decodedText(value.slice(offset)));
    return texts.flatMap((decoded) => (decoded === undefined ? [] : [{ at, decoded }]));
  });
}

function joined(text: string): readonly { readonly at: number; readonly value: string }[] {
  const values: { at: number; parts: string[]; end: number }[] = [];
  for (const { 0: line, index } of text.matchAll(LINE)) {
    const last = values.at(-1);
    const end = index + line.length;
    if (last !== undefined && isNextLine(text, last.end, index)) {
      last.parts.push(line);
      last.end = end;
    } else values.push({ at: index, parts: [line], end });
  }

  return values.map(({ at, parts, end }) => {
    const [, tail = ""] = TAIL.exec(text.slice(end, end + 128)) ?? [];
    return { at, value: parts.join("") + tail };
  });
}

function isNextLine(text: string, end: number, next: number): boolean {
  return next - end <= 40 && BETWEEN.test(text.slice(end, next));
}

/** Undefined: it is no text. Node reads both alphabets of base64. */
function decodedText(value: string): string | undefined {
  const head = Buffer.from(value.slice(0, HEAD * 2), "base64").toString("latin1", 0, HEAD);
  if (!/^[\t\n\r\x20-\x7e]+$/.test(head)) return undefined;

  return Buffer.from(value, "base64").toString("latin1");
}
