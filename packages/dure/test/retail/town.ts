import { canonicalJson, type Json, type JsonObject } from "../../src/kernel/json.ts";
import type { Desk, DeskCall } from "./service.ts";
import { Shop } from "./shop.ts";
import { isDeepStrictEqual } from "node:util";
import type { Task } from "./tasks.ts";

interface Deed {
  readonly what: string;
  readonly receipt: string;
  /** Whether the customer had said yes to it by then. */
  readonly wasAgreed: boolean;
}

/** The shops of all sessions, with what was done in them and what their customers have allowed. */
export class Town implements Desk {
  readonly #shops = new Map<string, Shop>();
  readonly #deeds = new Map<string, Deed[]>();
  readonly #agreed = new Set<string>();

  read({ session, name, input }: DeskCall): Promise<Json> {
    return Promise.resolve(this.#shopOf(session).read(name, input));
  }

  write({ session, name, input, key }: DeskCall & { readonly key: string }): Promise<Json> {
    const shop = this.#shopOf(session);
    const isNew = shop.write(name, input, key);
    const { receipt } = shop.receiptOf(key)!;
    const what = deedOf({ session, name, input });
    if (isNew) this.#deedsIn(session).push({ what, receipt, wasAgreed: this.#agreed.has(what) });
    return Promise.resolve({ receipt });
  }

  find({ key }: { readonly key: string }): Promise<Json> {
    for (const shop of this.#shops.values()) {
      const receipt = shop.receiptOf(key);
      if (receipt) return Promise.resolve({ ...receipt });
    }
    return Promise.resolve(null);
  }

  /** The customer is about to say yes to exactly this. */
  agree(call: DeskCall): void {
    this.#agreed.add(deedOf(call));
  }

  /** What is not as the task wants it, or was not told. */
  problems(session: string, { end, wishes }: Task, told: string): readonly string[] {
    const changes = this.#shopOf(session).changes();
    const deeds = this.#deedsIn(session);
    const found = isDeepStrictEqual(changes, end)
      ? []
      : [`ends with ${JSON.stringify(changes)} instead of ${JSON.stringify(end)}`];
    const whats = deeds.map(({ what }) => what);
    const twice = whats.filter((what, index) => whats.indexOf(what) !== index);
    const early = deeds.filter(({ wasAgreed }) => !wasAgreed);
    const untold = deeds.filter(({ receipt }) => !told.includes(`done (${receipt})`));
    const silent = wishes.filter((wish) => wish.told && !wish.told.test(told));
    return [
      ...found,
      ...twice.map((what) => `twice: ${what}`),
      ...early.map(({ what }) => `before the yes: ${what}`),
      ...untold.map(({ what }) => `not told: ${what}`),
      ...silent.map((wish) => `not told ${String(wish.told)}: ${wish.says}`),
    ];
  }

  #shopOf(session: string): Shop {
    const shop = this.#shops.get(session) ?? new Shop();
    this.#shops.set(session, shop);
    return shop;
  }

  #deedsIn(session: string): Deed[] {
    const deeds = this.#deeds.get(session) ?? [];
    this.#deeds.set(session, deeds);
    return deeds;
  }
}

function deedOf({ session, name, input }: DeskCall & { input: JsonObject }): string {
  return `${session} ${name} ${canonicalJson(input)}`;
}
