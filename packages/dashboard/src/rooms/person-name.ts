const STORED = "dure-person";

/** The name under which a person speaks without a login; asked once, kept in the browser. */
export class PersonName {
  readonly #listeners = new Set<() => void>();

  readonly snapshot = (): string | null => localStorage.getItem(STORED);

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    window.addEventListener("storage", listener); // another window of the same person

    return () => {
      this.#listeners.delete(listener);
      window.removeEventListener("storage", listener);
    };
  };

  /** Deeds say who does them, where no login does. */
  readonly around = (ask: typeof fetch): typeof fetch => {
    return (input, init) => {
      const name = this.snapshot();
      const isDeed = (init?.method ?? "GET") !== "GET";
      if (name === null || !isDeed) return ask(input, init);

      const headers = new Headers(init?.headers);
      headers.set("x-dure-person", encodeURIComponent(name));

      return ask(input, { ...init, headers });
    };
  };

  choose(name: string): void {
    localStorage.setItem(STORED, name);
    for (const listener of this.#listeners) listener();
  }

  forget(): void {
    localStorage.removeItem(STORED);
    for (const listener of this.#listeners) listener();
  }
}

/** Names as a list of people is said; of some of them a place knows that they are there alone. Pure. */
export function namesAndMore(names: readonly string[], count: number) {
  const [rest, last] = [names.slice(0, -1).join(", "), names.at(-1)];
  return { rest, last, more: count - names.length };
}
