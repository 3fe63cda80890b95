import { MAX_PROBLEMS } from "../engine/files/load-service-document.ts";
import { closest } from "../kernel/closest.ts";

/** Names that are listed in one problem. */
const NAMES_SHOWN = 20;

function didYouMean(written: string, known: readonly string[]): string | undefined {
  const meant = closest(written, known);
  return meant === undefined ? undefined : `Did you mean "${meant}"?`;
}

/** Names in one line; of many the first ones. */
export function namesIn(names: readonly string[]): string {
  if (names.length <= NAMES_SHOWN) return names.join(", ");
  return `${names.slice(0, NAMES_SHOWN).join(", ")} and ${names.length - NAMES_SHOWN} more`;
}

/**
 * What was probably meant. Compares with every known name, so only for as many problems as are
 * listed.
 */
export class Suggestions {
  readonly #known: readonly string[];
  #left = MAX_PROBLEMS;

  constructor(known: readonly string[]) {
    this.#known = known;
  }

  nameFor(written: string): string | undefined {
    return this.#left-- > 0 ? didYouMean(written, this.#known) : undefined;
  }

  portFor(written: string): string {
    const others =
      this.#known.length > 10
        ? "Name a port of this plan."
        : `Ports are ${this.#known.join(", ")}.`;
    return this.nameFor(written) ?? others;
  }
}
