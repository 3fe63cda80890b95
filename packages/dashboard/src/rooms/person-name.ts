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

  choose(name: string): void {
    localStorage.setItem(STORED, name);
    for (const listener of this.#listeners) listener();
  }

  forget(): void {
    localStorage.removeItem(STORED);
    for (const listener of this.#listeners) listener();
  }
}
