/** What ids are called in sentences. */
export interface EventNames {
  readonly agent: (id: string) => string;
  /** A person, an agent or a program that did something; see `actorOf`. */
  readonly actor: (by: string | null | undefined) => string;
  readonly service: (name: string | undefined) => string;
  readonly place: (id: string | null | undefined) => string;
}

/** Characters of what was said that a sentence quotes. */
const QUOTED = 60;

/** The beginning of a text, on one line and without marks of bold and code. Pure. */
export function briefOf(text: string): string {
  const line = text
    .replaceAll(/`+|\*\*(?=\S[^*\n]*\*\*)|(?<=\*\*[^*\n]*\S)\*\*/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > QUOTED ? `${line.slice(0, QUOTED - 1)}…` : line;
}
