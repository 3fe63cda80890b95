import { sum, type Cents } from "../money/money.ts";
import { checkQuantity } from "./quantity.ts";

export interface Line {
  readonly article: string;
  readonly quantity: number;
  /** Of one piece. */
  readonly price: Cents;
}

/** The lines of one sale. */
export class Cart {
  #lines: readonly Line[] = [];

  get lines(): readonly Line[] {
    return this.#lines;
  }

  get total(): Cents {
    return sum(this.#lines.map((line) => line.price));
  }

  add(line: Line): void {
    checkQuantity(line.quantity);
    this.#lines = [...this.#lines, line];
  }

  /** False when there is no such line. */
  remove(article: string): boolean {
    const before = this.#lines.length;
    this.#lines = this.#lines.filter((line) => line.article !== article);
    return this.#lines.length < before;
  }
}
