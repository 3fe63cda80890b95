import { SEPARATOR } from "./format.ts";

/** An amount in whole cents. */
export type Cents = number;

/** A share of an amount, rounded to whole cents. `percent` may have a fraction. */
export function shareOf(amount: Cents, percent: number): Cents {
  return Math.floor((amount * percent) / 100);
}

export function sum(amounts: readonly Cents[]): Cents {
  return amounts.reduce((total, amount) => total + amount, 0);
}

/** As people read it: two digits, thousands parted. */
export function write(amount: Cents): string {
  const whole = Math.floor(amount / 100);
  const rest = amount % 100;
  return `${String(whole).replace(/\B(?=(\d{3})+$)/g, SEPARATOR)}.${rest}`;
}
