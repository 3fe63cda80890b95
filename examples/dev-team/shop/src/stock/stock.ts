import { StockError } from "./errors.ts";

/** What is on the shelf, and what is set aside for carts. */
export class Stock {
  readonly #have = new Map<string, number>();
  readonly #aside = new Map<string, number>();

  put(article: string, quantity: number): void {
    this.#have.set(article, (this.#have.get(article) ?? 0) + quantity);
  }

  knows(article: string): boolean {
    return this.#have.has(article);
  }

  /** For sale to anybody. */
  free(article: string): number {
    return this.#have.get(article) ?? 0;
  }

  setAside(article: string, quantity: number): void {
    if (quantity > this.free(article))
      throw new StockError("TOO_FEW", `${article}: ${quantity} wanted, ${this.free(article)} free`);
    this.#aside.set(article, (this.#aside.get(article) ?? 0) + quantity);
  }

  giveBack(article: string, quantity: number): void {
    this.#aside.set(article, (this.#aside.get(article) ?? 0) - quantity);
  }

  sell(article: string, quantity: number): void {
    this.#have.set(article, (this.#have.get(article) ?? 0) - quantity);
  }
}
