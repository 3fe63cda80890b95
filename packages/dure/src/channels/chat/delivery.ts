/** One request of a platform: its answer waits until what it told is stored. */

import { AsyncLocalStorage } from "node:async_hooks";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { ChatAdapter, ChatState } from "./chat-types.ts";

/** Then the platform is told to send it again, milliseconds: the first of them gives up after 10 s. */
const STORE_MS = 8_000;
/** Requests of one account that are being stored; more are told to come again. */
const MOST_AT_ONCE = 100;

/** What one request has begun. */
interface Delivery {
  readonly tasks: Set<Promise<unknown>>;
  /** Keys by which the adapter knows that it had the request before. */
  readonly claims: Set<string>;
  failure: unknown;
  hasFailed: boolean;
}

/**
 * Hands requests of a platform to its adapter. An adapter answers before what it told is stored, and
 * takes a repetition for a duplicate. So the answer waits, and what was not stored is forgotten by
 * the adapter: then it is taken when it comes again.
 */
export class Deliveries {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #account: string;
  readonly #current = new AsyncLocalStorage<Delivery>();
  #open = 0;

  constructor(parts: { clock: Clock; logger: Logger; account: string }) {
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#account = parts.account;
  }

  /** Never rejects: a failure is an answer too. */
  async take(adapter: ChatAdapter, request: Request, state: ChatState): Promise<Response> {
    if (this.#open >= MOST_AT_ONCE) return again("too many at once");
    this.#open += 1;
    const delivery: Delivery = {
      tasks: new Set(),
      claims: new Set(),
      failure: undefined,
      hasFailed: false,
    };
    try {
      return await this.#answer(adapter, request, delivery);
    } catch (error) {
      await this.#forget(delivery, state);
      this.#logger.warn(
        { account: this.#account, err: error },
        `what a platform sent for ${this.#account} was not stored (${messageOf(error)}); it is ` +
          "asked to send it again",
      );
      return again("not stored");
    } finally {
      this.#open -= 1;
    }
  }

  /**
   * Keeps a task of the request that is being handled. What is returned never rejects within a
   * request, since adapters let such tasks go; a loop of an adapter that asks its platform itself
   * gets the failure and repeats (`isRepeated`).
   */
  keep(
    work: Promise<void>,
    {
      isRepeated,
      waitUntil,
    }: {
      isRepeated: boolean;
      waitUntil: ((task: Promise<unknown>) => void) | undefined;
    },
  ): Promise<void> {
    const delivery = this.#current.getStore();
    work.catch(() => {}); // it is looked at below, and by the adapter if it wants to
    waitUntil?.(work);
    if (delivery !== undefined) {
      delivery.tasks.add(work);
      return work.catch((error: unknown) => fail(delivery, error));
    }
    if (isRepeated) return work;

    return work.catch((error: unknown) => {
      this.#logger.warn(
        { account: this.#account, err: error },
        `something that ${this.#account} heard could not be stored (${messageOf(error)})`,
      );
    });
  }

  /** The state, with a note of what is claimed within a request. */
  noted(state: ChatState): ChatState {
    const current = this.#current;
    return new Proxy(state, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        if (name !== "setIfNotExists") return method.bind(target) as unknown;

        return async (key: string, value: unknown, ttlMs?: number): Promise<boolean> => {
          const isNew = await target.setIfNotExists(key, value, ttlMs);
          if (isNew) current.getStore()?.claims.add(key);
          return isNew;
        };
      },
    });
  }

  async #answer(adapter: ChatAdapter, request: Request, delivery: Delivery): Promise<Response> {
    const waitUntil = (task: Promise<unknown>): void => {
      delivery.tasks.add(task);
      task.catch((error: unknown) => fail(delivery, error));
    };
    const late = (): Error => new Error(`not stored within ${STORE_MS} ms`);

    return withTimeout(this.#clock, STORE_MS, late, async () => {
      const answer = await this.#current.run(delivery, () =>
        adapter.handleWebhook(request, { waitUntil }),
      );
      await settled(delivery);
      if (delivery.hasFailed) throw delivery.failure;

      return answer;
    });
  }

  async #forget({ claims }: Delivery, state: ChatState): Promise<void> {
    for (const key of claims) await state.delete(key).catch(() => {});
  }
}

/** A task may begin another one. */
async function settled({ tasks }: Delivery): Promise<void> {
  while (tasks.size > 0) {
    const begun = [...tasks];
    await Promise.allSettled(begun);
    for (const task of begun) tasks.delete(task);
  }
}

function fail(delivery: Delivery, error: unknown): void {
  delivery.hasFailed = true;
  delivery.failure ??= error;
}

function again(why: string): Response {
  return new Response(why, { status: 503, headers: { "retry-after": "5" } });
}
