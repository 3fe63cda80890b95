import { expect, test } from "vitest";
import { asksForStatus, claimsDeed } from "./claims.ts";

test.each(["I have ordered it.", "주문했어요!", "구매 완료됐어요", "It was purchased."])(
  "a text that claims an order is a claim: %s",
  (text) => {
    expect(claimsDeed(text)).toBe(true);
  },
);

test.each(["Was it ordered?", "주문 됐나요?"])("asks what became of an order: %s", (text) => {
  expect(asksForStatus(text)).toBe(true);
});

test.each(["What shall I order?", "무엇을 주문할까요?"])(
  "a question claims nothing: %s",
  (text) => {
    expect(claimsDeed(text)).toBe(false);
  },
);
