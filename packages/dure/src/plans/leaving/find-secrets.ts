import { encodedTexts } from "./encoded.ts";
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
interface Secret {
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
  const known = before === "" ? new Map<string, Secret>() : await secretsOf(path, before);
  const fresh = [...found].filter(([key, { words }]) => !known.has(key) && !before.includes(words));

  return inWords(
    fresh.map(([, secret]) => secret),
    text,
  );
}

/** Each secret once. */
async function secretsOf(path: string, text: string): Promise<Map<string, Secret>> {
  const rules = isEnvFile(path) ? [...SECRET_RULES, ENV_SECRET] : SECRET_RULES;
  const found = new Map<string, Secret>();
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
): readonly Secret[] {
  const formed = matchesIn(slice, rules);
  const general = matchesIn(slice, GENERAL_RULES).filter(
    (one) => !formed.some((other) => overlap(one, other)),
  );
  const encoded = encodedTexts(slice, isInside).flatMap(({ at, decoded }) =>
    matchesIn(decoded, SECRET_RULES).map((one) => ({ ...one, at, shown: ENCODED + one.shown })),
  );

  return [...formed, ...general, ...encoded];
}

function matchesIn(text: string, rules: readonly SecretRule[]): readonly Secret[] {
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

function overlap(one: Secret, other: Secret): boolean {
  return one.at < other.at + other.words.length && other.at < one.at + one.words.length;
}

function inWords(found: readonly Secret[], text: string): readonly FoundSecret[] {
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
