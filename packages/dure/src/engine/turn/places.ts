/**
 * Names the steps of a handler in the order in which they begin: `1`, `2`, and inside of `2`:
 * `2.1`, `2.2`.
 */
export class Places {
  readonly #prefix: string;
  #last = 0;

  constructor(prefix = "") {
    this.#prefix = prefix;
  }

  next(): string {
    return `${this.#prefix}${++this.#last}`;
  }

  static inside(path: string): Places {
    return new Places(`${path}.`);
  }
}
