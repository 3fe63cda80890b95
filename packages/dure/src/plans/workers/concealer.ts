/** The name of a variable, and its value. */
export type Secret = readonly [name: string, value: string];

/** Variables whose values are secrets, by what they are called. */
const SECRET_NAME =
  /(?:^|_)(?:PAT|PASS|AUTH|DSN|COOKIE)(?:_|$)|(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?(?:_|$)/i;
/** Characters; what is shorter stands in other words too. */
const SHORTEST = 8;
/** Characters of a line within a value; the last of a key may be a few. */
const SHORTEST_LINE = 16;

/** Replaces values of secrets by their names. A value is also found as JSON and in addresses. */
export class Concealer {
  /** Each form of each value, the longest first. */
  readonly #values: readonly Secret[];

  constructor(variables: readonly Secret[]) {
    const secrets = variables.filter(
      ([name, value]) => SECRET_NAME.test(name) && value.length >= SHORTEST,
    );
    const forms = secrets.flatMap(([name, value]) =>
      formsOf(value).map((form) => [name, form] as const),
    );
    this.#values = forms.toSorted(([, a], [, b]) => b.length - a.length);
  }

  /** A whole text. Where it was cut within a value, its end is concealed too. */
  conceal(text: string): string {
    const seen = this.#replaced(text);
    const end = seen.endsWith("…") ? seen.slice(0, -1) : seen;
    const begun = this.begunIn(end);
    const name =
      begun >= SHORTEST
        ? this.#values.find(([, value]) => value.startsWith(end.slice(-begun)))?.[0]
        : undefined;

    return name === undefined ? seen : `${end.slice(0, -begun)}[${name}]`;
  }

  /** Names of the secrets of which a text holds a value, each where it stands first. */
  placesIn(text: string): ReadonlyMap<string, number> {
    const places = new Map<string, number>();
    for (const [name, value] of this.#values) {
      const at = text.indexOf(value);
      if (at >= 0) places.set(name, Math.min(at, places.get(name) ?? at));
    }

    return places;
  }

  /** Every text within a value of JSON. */
  concealAll<Value>(value: Value): Value {
    if (this.#values.length === 0) return value;
    return JSON.parse(JSON.stringify(value), (_, part: unknown) =>
      typeof part === "string" ? this.conceal(part) : part,
    ) as Value;
  }

  /** A text that comes in pieces. */
  inPieces(): ConcealedText {
    return new ConcealedText(
      (text) => this.#replaced(text),
      (text) => this.begunIn(text),
    );
  }

  /** Characters at the end of a text with which a value may have begun. */
  begunIn(text: string): number {
    const begun = this.#values.map(([, value]) => overlap(text, value));
    return Math.max(0, ...begun);
  }

  #replaced(text: string): string {
    let seen = text;
    for (const [name, value] of this.#values) seen = seen.replaceAll(value, `[${name}]`);

    return seen;
  }
}

/** Holds back what may be the beginning of a value, which is shorter than the longest one. */
export class ConcealedText {
  readonly #conceal: (text: string) => string;
  readonly #begunIn: (text: string) => number;
  #held = "";

  constructor(conceal: (text: string) => string, begunIn: (text: string) => number) {
    this.#conceal = conceal;
    this.#begunIn = begunIn;
  }

  push(piece: string): string {
    const seen = this.#conceal(this.#held + piece);
    const begun = this.#begunIn(seen);
    this.#held = seen.slice(seen.length - begun);

    return seen.slice(0, seen.length - begun);
  }

  /** What was held back, and was no value after all. */
  end(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }
}

function formsOf(value: string): readonly string[] {
  const asJson = JSON.stringify(value).slice(1, -1);
  const whole = [value, asJson, encodeURIComponent(value.toWellFormed())];

  return [...new Set([...whole, ...linesOf(value)])];
}

/** Lines that say something by themselves: a patch has them apart, each behind a sign. Pure. */
function linesOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n/);
  if (lines.length === 1) return [];
  return lines.filter((line) => line.length >= SHORTEST_LINE && !line.startsWith("-----"));
}

/** Characters at the end of a text that begin a value, fewer than the whole value. Pure. */
function overlap(text: string, value: string): number {
  const from = Math.max(0, text.length - value.length + 1);
  for (let at = text.indexOf(value[0]!, from); at >= 0; at = text.indexOf(value[0]!, at + 1)) {
    if (value.startsWith(text.slice(at))) return text.length - at;
  }

  return 0;
}
