/** Korean particles by how the word before them ends. */
const PAIRS = {
  이: ["이", "가"],
  은: ["은", "는"],
  을: ["을", "를"],
  과: ["과", "와"],
} as const;

/** A word with its particle; of a word that is no Korean, the form for a vowel. Pure. */
export function withJosa(word: string, particle: keyof typeof PAIRS): string {
  const last = word.codePointAt(word.length - 1) ?? 0;
  const isHangul = last >= 0xac00 && last <= 0xd7a3;
  const [closed, open] = PAIRS[particle];

  return word + (isHangul && (last - 0xac00) % 28 > 0 ? closed : open);
}
