/**
 * Where a line of a text begins and ends, in UTF-16 units; `line` is 1-based, and one that is not
 * there is the end. Pure.
 */
export function rangeOfLine(text: string, line: number): [from: number, to: number] {
  let from = 0;
  for (let number = 1; number < line; number++) {
    const end = text.indexOf("\n", from);
    if (end < 0) return [text.length, text.length];
    from = end + 1;
  }

  const to = text.indexOf("\n", from);

  return [from, to < 0 ? text.length : to];
}
