/**
 * Whole messages as sequences of phrases. Each part maps the places where it can begin to those
 * where it can end, so that nothing is tried twice and no message takes long.
 */
export type Part = (starts: ReadonlySet<number>, words: readonly string[]) => ReadonlySet<number>;

/** A longer message is never only a yes or a no. */
const MOST_WORDS = 12;
/** Words of the longest phrase that is compared. */
export const LONGEST_PHRASE = 8;

/** Whether a message is the part, from its first word to its last. Pure. */
export function isWhole(part: Part, words: readonly string[]): boolean {
  if (words.length === 0 || words.length > MOST_WORDS) return false;
  return part(new Set([0]), words).has(words.length);
}

/** One phrase of these lists. */
export function phraseOf(...lists: readonly ReadonlySet<string>[]): Part {
  return (starts, words) => {
    const ends = new Set<number>();
    for (const start of starts) {
      const last = Math.min(words.length, start + LONGEST_PHRASE);
      for (let end = start + 1; end <= last; end++) {
        const phrase = words.slice(start, end).join(" ");
        if (lists.some((list) => list.has(phrase))) ends.add(end);
      }
    }
    return ends;
  };
}

/** The parts one after the other. */
export function inOrder(...parts: readonly Part[]): Part {
  return (starts, words) => parts.reduce((places, part) => part(places, words), starts);
}

/** One of the parts. */
export function oneOf(...parts: readonly Part[]): Part {
  return (starts, words) =>
    parts.reduce<ReadonlySet<number>>(
      (ends, part) => ends.union(part(starts, words)),
      new Set<number>(),
    );
}

/** The part as often as it is there, also not at all. */
export function anyOf(part: Part): Part {
  return (starts, words) => {
    let all = starts;
    for (let fresh = starts; fresh.size > 0;) {
      fresh = part(fresh, words).difference(all);
      all = all.union(fresh);
    }
    return all;
  };
}

/** The part once or more often. */
export function someOf(part: Part): Part {
  return inOrder(part, anyOf(part));
}
