import type { ReviewNeeded } from "../../wire/runs.ts";

type Look = Promise<ReviewNeeded | undefined>;

/** Looks at results that are remembered. */
const MAX_LOOKS = 100;

/**
 * What was found in a result that would leave. A look takes seconds, and a page asks again and
 * again; the same commits hold the same. A tenant has one look at a time.
 */
export class RememberedLooks {
  readonly #known = new Map<string, Look>();
  /** The last look of each tenant that has one. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** `key`: everything that decides what is found. What fails is not remembered. */
  get(key: string, tenant: string, look: () => Look): Look {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = (this.#last.get(tenant) ?? Promise.resolve()).then(look);
    this.#known.set(key, found);
    const ended: Promise<unknown> = found
      .catch(() => this.#forget(key, found))
      .then(() => this.#forgetLast(tenant, ended));
    this.#last.set(tenant, ended);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_LOOKS) this.#known.delete(oldest!);

    return found;
  }

  /** Under its key another look may be remembered by now. */
  #forget(key: string, failed: Look): void {
    if (this.#known.get(key) === failed) this.#known.delete(key);
  }

  #forgetLast(tenant: string, ended: Promise<unknown>): void {
    if (this.#last.get(tenant) === ended) this.#last.delete(tenant);
  }
}
