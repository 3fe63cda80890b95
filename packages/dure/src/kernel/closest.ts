/**
 * The candidate that was probably meant: at most two fifths of its letters differ (at least one
 * may), and at most `most`. Case does not count.
 */
export function closest(
  written: string,
  candidates: readonly string[],
  most = Infinity,
): string | undefined {
  let best: string | undefined;
  let bestDistance = Infinity;

  for (const candidate of candidates) {
    const distance = editDistance(written.toLowerCase(), candidate.toLowerCase());
    const allowed = Math.min(most, Math.max(1, Math.floor(candidate.length * 0.4)));
    if (distance < bestDistance && distance <= allowed) {
      best = candidate;
      bestDistance = distance;
    }
  }

  return best;
}

/**
 * Inserted, deleted, exchanged letters and swapped neighbours between two words (optimal string
 * alignment).
 */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);

  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let distance = Math.min(
        last[column]! + 1,
        current[column - 1]! + 1,
        last[column - 1]! + (same ? 0 : 1),
      );
      const swapped =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) distance = Math.min(distance, beforeLast[column - 2]! + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }

  return last[b.length]!;
}
