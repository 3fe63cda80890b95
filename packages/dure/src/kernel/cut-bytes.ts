/** The text in at most so many bytes of UTF-8, cut at a character's border with a mark. Pure. */
export function cutBytes(text: string, most: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= most) return text;

  const kept = bytes.subarray(0, Math.max(most - MARK_BYTES, 0));

  return `${new TextDecoder().decode(kept).replace(/\uFFFD+$/u, "")}…`;
}

/** Of the mark `…`. */
const MARK_BYTES = 3;
