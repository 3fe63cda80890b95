/** The smallest PNG: one pixel. */
export const PNG = Uint8Array.from(
  Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
);

/** A PNG by its first bytes, of so many bytes; `mark` makes it another one. */
export function pngOf(bytes: number, mark = 0): Uint8Array {
  const made = new Uint8Array(bytes).fill(mark + 1);
  made.set(PNG.subarray(0, 8));
  return made;
}
