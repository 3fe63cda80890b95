import type { ReviewNeeded } from "../../wire/runs.ts";
import { SharedWork } from "./shared-work.ts";

type FoundReview = ReviewNeeded | undefined;
type SharedReviewLook = SharedWork<FoundReview>;

/** Who asks for a look. */
interface ReviewLook {
  readonly tenant: string;
  /** Of this caller alone; the look goes on for others. */
  readonly signal: AbortSignal;
}

/** Looks at results that are remembered. */
const MAX_LOOKS = 100;

/**
 * What was found in a result that would leave. A look takes seconds, and a page asks again and
 * again; the same commits hold the same. A tenant has one look at a time.
 */
export class RememberedLooks {
  readonly #known = new Map<string, SharedReviewLook>();
  /** The last look of each tenant that has one. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** `key`: everything that decides what is found. What fails is not remembered. */
  get(
    key: string,
    { tenant, signal }: ReviewLook,
    look: (signal: AbortSignal) => Promise<FoundReview>,
  ): Promise<FoundReview> {
    const known = this.#known.get(key);
    const shared = known === undefined || known.isLeft ? this.#begin(key, tenant, look) : known;

    return shared.for(signal);
  }

  #begin(
    key: string,
    tenant: string,
    look: (signal: AbortSignal) => Promise<FoundReview>,
  ): SharedReviewLook {
    const before = this.#last.get(tenant) ?? Promise.resolve();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const shared: SharedReviewLook = new SharedWork(async (signal) => {
      await before;
      try {
        signal.throwIfAborted();
        return await look(signal);
      } catch (error) {
        this.#forget(key, shared);
        throw error;
      } finally {
        this.#forgetLast(tenant, ended);
        resolve();
      }
    });
    this.#known.delete(key);
    this.#known.set(key, shared);
    this.#last.set(tenant, ended);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_LOOKS) this.#known.delete(oldest!);

    return shared;
  }

  /** Under its key another look may be remembered by now. */
  #forget(key: string, failed: SharedReviewLook): void {
    if (this.#known.get(key) === failed) this.#known.delete(key);
  }

  #forgetLast(tenant: string, ended: Promise<unknown>): void {
    if (this.#last.get(tenant) === ended) this.#last.delete(tenant);
  }
}
