/** Korean particles by how the word before them ends. */
const PAIRS = {
  이: ["이", "가"],
  은: ["은", "는"],
  을: ["을", "를"],
  과: ["과", "와"],
} as const;

/** Endings of other words that Korean says with a last consonant: `team`, `stock`, `run-7`. */
const CLOSED = /(?:[lmn]|ng|ck|[aeiou]p|[013678])$/i;

/** A word with its particle. Pure. */
export function withJosa(word: string, particle: keyof typeof PAIRS): string {
  const last = word.codePointAt(word.length - 1) ?? 0;
  const isHangul = last >= 0xac00 && last <= 0xd7a3;
  const isClosed = isHangul ? (last - 0xac00) % 28 > 0 : CLOSED.test(word);
  const [closed, open] = PAIRS[particle];

  return word + (isClosed ? closed : open);
}
