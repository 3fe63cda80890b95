import { Cart } from "../cart/cart.ts";
import type { Stock } from "../stock/stock.ts";
import { failure, type Answer } from "./answers.ts";

export interface TillRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: { readonly article?: string; readonly quantity?: number };
}

/** One till: its cart, and the stock that it shares with others. */
export class Till {
  readonly #cart = new Cart();
  readonly #stock: Stock;
  readonly #prices: ReadonlyMap<string, number>;

  constructor(stock: Stock, prices: ReadonlyMap<string, number>) {
    this.#stock = stock;
    this.#prices = prices;
  }

  handle({ method, path, body }: TillRequest): Answer {
    if (method === "GET" && path === "/cart") return { status: 200, body: this.#shown() };
    if (method === "POST" && path === "/lines") {
      const { article = "", quantity = 0 } = body ?? {};
      this.#cart.add({ article, quantity, price: this.#prices.get(article) ?? 0 });
      this.#stock.setAside(article, quantity);
      return { status: 200, body: this.#shown() };
    }
    return failure(404, "NOT_FOUND", `${method} ${path}`);
  }

  #shown(): { lines: readonly unknown[]; total: number } {
    return { lines: this.#cart.lines, total: this.#cart.total };
  }
}
