// Text of agents and programs on its way into records: bounded, whole characters, nothing that
// PostgreSQL cannot store.

/** The beginning, with `…` where it was cut. @param longest characters, the mark included. */
export function headOf(text: string, longest: number): string {
  const cut = text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
  return storable(cut);
}

/** The end, with `…` where it was cut. */
export function tailOf(text: string, longest: number): string {
  const cut = text.length > longest ? `…${text.slice(text.length - longest + 1)}` : text;
  return storable(cut);
}

/** Beginning and end, with a mark where the middle was cut. */
export function headAndTail(text: string, longest: number): string {
  if (text.length <= longest) return storable(text);
  const half = Math.floor((longest - 40) / 2);
  const left = text.length - 2 * half;
  return storable(`${text.slice(0, half)}\n… ${left} characters …\n${text.slice(-half)}`);
}

/** Half of a surrogate pair and NUL are no text. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "�");
}
