import { ENV_SECRET, isEnvFile, isStandIn, SECRET_RULES } from "./secret-rules.ts";

/** A secret in a text, without the secret. */
export interface FoundSecret {
  readonly rule: string;
  /** 1-based. */
  readonly line: number;
  /** What everyone may read of it, and its length. */
  readonly excerpt: string;
}

/** Characters that are looked at in one go. */
const SLICE = 262_144;
/** Longer than any secret that a rule finds. */
const OVERLAP = 1_024;
/** Characters of an excerpt before the mask. */
const MAX_SHOWN = 60;

/**
 * Secrets of a text that are not in the one before it. Other work goes on between the slices of a
 * long text.
 */
export async function findSecrets(
  path: string,
  text: string,
  before: string,
): Promise<readonly FoundSecret[]> {
  const rules = isEnvFile(path) ? [...SECRET_RULES, ENV_SECRET] : SECRET_RULES;
  const found = new Map<
    string,
    { readonly rule: string; at: number; words: string; shown: string }
  >();
  for (let start = 0; start < text.length; start += SLICE) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve));
    const slice = text.slice(start, start + SLICE + OVERLAP);
    for (const { rule, pattern } of rules) {
      for (const match of slice.matchAll(pattern)) {
        const words = match[0];
        const shown = match.groups?.["shown"] ?? "";
        if (isStandIn(words.slice(shown.length)) || before.includes(words)) continue;
        const key = `${rule} ${words}`;
        if (!found.has(key)) found.set(key, { rule, at: start + match.index, words, shown });
      }
    }
  }

  return inWords([...found.values()], text);
}

function inWords(
  found: readonly { rule: string; at: number; words: string; shown: string }[],
  text: string,
): readonly FoundSecret[] {
  let line = 1;
  let counted = 0;
  return found
    .toSorted((a, b) => a.at - b.at)
    .map(({ rule, at, words, shown }) => {
      for (; counted < at; counted++) if (text.charCodeAt(counted) === 10) line++;

      return { rule, line, excerpt: masked(shown, words.length - shown.length) };
    });
}

/** Control characters of a file do not reach a terminal. */
function masked(shown: string, hidden: number): string {
  const readable = shown.trim().slice(0, MAX_SHOWN).replace(/\p{C}/gu, "?");

  return `${readable}… (+${hidden})`;
}
