/**
 * Whatever a reader may take for the end of a line: what Unicode names so (UAX #14: LF, VT, FF, CR,
 * NEL, LS, PS) and the separators at which some programs break.
 */
const LINE_END = /\r\n|[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/gu;

/** Foreign words with a mark before each line: no text can end its quote. Pure. */
export function quoteLines(text: string): string {
  return `> ${text.replace(LINE_END, "\n> ")}`;
}

/** The mark before those lines alone that could pass for a heading of ours. Pure. */
export function quoteLinesLike(text: string, heading: RegExp): string {
  const lines = text.split(LINE_END);
  if (!lines.some((line) => heading.test(line))) return text;
  return lines.map((line) => (heading.test(line) ? `> ${line}` : line)).join("\n");
}

/** Foreign words on one line. Pure. */
export function oneLine(text: string): string {
  return text.replace(LINE_END, " ");
}

/** A foreign name that ends where it ends: on one line, without the colon after a speaker. Pure. */
export function speakerName(name: string): string {
  return (
    oneLine(name)
      .replace(/\s+/gu, " ") // first: a blank before a sign is then one, also of a name of blanks
      .replace(/ ?[:：︓﹕] ?/gu, " ")
      .trim() || "?"
  );
}

/**
 * `name: words`, each further line with the mark of a quote: no line begins as another speaker. Pure.
 */
export function spokenBy(name: string, words: string): string {
  return `${speakerName(name)}: ${words.replace(LINE_END, "\n> ")}`;
}
