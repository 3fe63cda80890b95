/**
 * Lists of phrases in short form. `_` marks a place where people may or may not put a space:
 * `보내_줘` is 보내줘 and 보내 줘. Commas and ends of
 * lines divide phrases.
 */
export function phrases(...lists: readonly string[]): Set<string> {
  const all = new Set<string>();
  for (const spelling of lists.flatMap(divided)) {
    const parts = spelling.split("_");
    for (let spaces = 0; spaces < 2 ** (parts.length - 1); spaces++) {
      all.add(
        parts.reduce(
          (text, part, index) => `${text}${(spaces >> (index - 1)) & 1 ? " " : ""}${part}`,
        ),
      );
    }
  }
  return all;
}

/** Every stem with every ending: 진행 and 해_줘 are 진행_해_줘. */
export function each(stems: string, endings: string): string {
  return pairs(stems, endings, "_");
}

/** Every first word with every second, with a space: cancel it, stop it. */
export function eachWord(firsts: string, seconds: string): string {
  return pairs(firsts, seconds, " ");
}

function pairs(firsts: string, seconds: string, between: string): string {
  const ends = divided(seconds);
  return divided(firsts)
    .flatMap((first) => ends.map((second) => `${first}${between}${second}`))
    .join(", ");
}

/** Names of one place in a list. */
export function ordinal(place: number, names: string): readonly (readonly [string, number])[] {
  return [...phrases(names)].map((name) => [name, place] as const);
}

function divided(list: string): string[] {
  return list
    .split(/[,\n]/u)
    .map((one) => one.trim())
    .filter((one) => one !== "");
}
