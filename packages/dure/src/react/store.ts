/** Something that a page shows and that changes by itself; it is followed while it has listeners. */
export interface Store<View> {
  /** As it stands: the same object until it changes. */
  readonly snapshot: () => View;
  /** The returned function ends it. */
  readonly subscribe: (listener: () => void) => () => void;
}

/** The listeners of a store: `begin` runs with the first one, `end` when the last one has gone. */
export class Listeners {
  readonly #all = new Set<() => void>();
  readonly #begin: () => void;
  readonly #end: () => void;

  constructor({ begin, end }: { begin: () => void; end: () => void }) {
    this.#begin = begin;
    this.#end = end;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#all.add(listener);
    if (this.#all.size === 1) this.#begin();

    return () => {
      if (this.#all.delete(listener) && this.#all.size === 0) this.#end();
    };
  };

  tell(): void {
    for (const listener of this.#all) listener();
  }
}
