/** Marks of quotes, opening or closing, in whatever spelling. */
const MARK = /<(?=\s*\/?\s*(?:passage|summary|context|done|calls|decision|notice|file)\b)/giu;

/** A text that cannot end the quote in which it stands. Pure. */
export function quoted(text: string): string {
  return text.replaceAll(MARK, "&lt;");
}
