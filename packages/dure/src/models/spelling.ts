import { z } from "zod";
import { isObject } from "../kernel/json.ts";
import { camelCase } from "../kernel/wire.ts";

/** Unknown keys of one object that are compared with all known ones; of 80,000 keys it took 3 s. */
const MAX_SUGGESTIONS = 50;

/**
 * An object as people write it in files: keys in camelCase or snake_case, never both for one
 * setting, and no unknown key without a word about the one that was probably meant. `aliases` maps
 * another spelling to the key of the shape.
 */
export function fileObject<Shape extends z.ZodRawShape>(
  shape: Shape,
  aliases: Readonly<Record<string, string>> = {},
) {
  const known = Object.keys(shape);
  return z.preprocess((value, context) => {
    if (!isObject(value)) return value;

    const read: Record<string, unknown> = {};
    const spelledAs = new Map<string, string>();
    let suggestionsLeft = MAX_SUGGESTIONS;

    for (const [written, member] of Object.entries(value)) {
      const key = aliases[camelCase(written)] ?? camelCase(written);
      if (!known.includes(key)) {
        context.addIssue({
          code: "custom",
          path: [written],
          message: suggestionsLeft-- > 0 ? unknownKey(written, known) : `unknown key "${written}"`,
        });
        continue;
      }
      const earlier = spelledAs.get(key);
      if (earlier !== undefined) {
        context.addIssue({
          code: "custom",
          path: [written],
          message: `"${earlier}" and "${written}" are one setting; keep one of them`,
        });
        continue;
      }
      spelledAs.set(key, written);
      if (member !== undefined) read[key] = member;
    }

    return read;
  }, z.object(shape));
}

function unknownKey(written: string, known: readonly string[]): string {
  const meant = closest(camelCase(written), known);
  const help = meant ? `did you mean "${meant}"?` : `known are ${known.join(", ")}`;
  return `unknown key "${written}"; ${help}`;
}

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
