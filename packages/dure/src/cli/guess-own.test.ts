import { expect, test } from "vitest";
import { guessOwn } from "./guess-own.ts";

const FILES = [
  "README.md",
  "package.json",
  "src/cart/total.ts",
  "src/cart/total.test.ts",
  "src/login/session.ts",
  "src/prices.ts",
  "packages/web/src/index.ts",
  "test/cart/total.test.ts",
];

test.each<[string, string, readonly string[], readonly string[]]>([
  ["a file by its path", "Mend src/cart/total.ts.", ["src/cart/total.ts"], ["src/cart/total.ts"]],
  ["a file by its end", "`session.ts` forgets people", ["src/login/session.ts"], ["session.ts"]],
  ["a folder by its path", "Move packages/web/ to ESM", ["packages/web/**"], ["packages/web/"]],
  ["a file in Korean words", "src/prices.ts를 고쳐 줘", ["src/prices.ts"], ["src/prices.ts"]],
  ["a folder by its name", "The cart adds wrongly", ["src/cart/**"], ["cart"]],
  ["a file by its name, in the singular", "A price has no digits", ["src/prices.ts"], ["price"]],
  ["where code stands", "장바구니를 고쳐 줘", ["src/**"], []],
])("words name %s", (_what, words, own, from) => {
  expect(guessOwn(words, FILES)).toEqual({ own, from });
});

test("what a pattern would mean is escaped, and too many places are no guess", () => {
  expect(guessOwn("cart", ["a/[id]/cart/x.ts"])!.own).toEqual(["a/\\[id\\]/cart/**"]);
  const many = [1, 2, 3, 4, 5].map((number) => `src/${number}/cart/x.ts`);
  expect(guessOwn("cart", many)).toEqual({ own: ["src/**"], from: [] });
  expect(guessOwn("cart", ["README.md"])).toBeUndefined();
});
