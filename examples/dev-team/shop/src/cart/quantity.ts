/** Throws a `RangeError` for what is no quantity. */
export function checkQuantity(quantity: number): void {
  if (!Number.isInteger(quantity) || quantity < 1 || quantity > 999)
    throw new RangeError(`${quantity} is no quantity from 1 to 999`);
}
