const STORED = "dure-drafts";
/** The oldest are forgotten first. */
const MAX_DRAFTS = 50;
/** Longer ones live only as long as the page. Source: browsers keep about 5 MB per site. */
const MAX_LENGTH = 20_000;

/**
 * What is being written, by place: kept over other pages and a reload, in this tab only, until it
 * is sent.
 */
export class Drafts {
  readonly #all = readStored();

  of(place: string): string {
    return this.#all.get(place) ?? "";
  }

  keep(place: string, text: string): void {
    this.#all.delete(place);
    if (text !== "") this.#all.set(place, text);
    for (const oldest of [...this.#all.keys()].slice(0, -MAX_DRAFTS)) this.#all.delete(oldest);
    const short = [...this.#all].filter(([, words]) => words.length <= MAX_LENGTH);
    sessionStorage.setItem(STORED, JSON.stringify(short));
  }

  /** Who comes next in this tab does not read them. */
  forgetAll(): void {
    this.#all.clear();
    sessionStorage.removeItem(STORED);
  }
}

function readStored(): Map<string, string> {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    return new Map(Array.isArray(stored) ? stored.filter(isDraft).slice(-MAX_DRAFTS) : []);
  } catch {
    return new Map(); // written by another release
  }
}

function isDraft(one: unknown): one is [string, string] {
  return Array.isArray(one) && typeof one[0] === "string" && typeof one[1] === "string";
}
