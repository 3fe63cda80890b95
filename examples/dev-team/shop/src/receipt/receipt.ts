import type { Line } from "../cart/cart.ts";
import { write } from "../money/money.ts";
import { COLUMNS } from "./layout.ts";

/** A sale as it is printed, one string per line. */
export function print(lines: readonly Line[], total: number): string[] {
  return [...lines.map((line) => row(line.article, write(line.price))), row("합계", write(total))];
}

function row(name: string, amount: string): string {
  return name + " ".repeat(Math.max(1, COLUMNS - name.length - amount.length)) + amount;
}
