import assert from "node:assert/strict";
import { test } from "node:test";
import { Cart } from "../src/cart/cart.ts";
import { sum } from "../src/money/money.ts";

test("a new cart is empty and costs nothing", () => {
  const cart = new Cart();

  assert.deepEqual(cart.lines, []);
  assert.equal(cart.total, 0);
});

test("amounts add up", () => {
  assert.equal(sum([150, 250, 100]), 500);
});
