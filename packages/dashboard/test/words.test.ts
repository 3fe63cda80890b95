import { describe, expect, test } from "vitest";
import { differences, readCatalogue } from "../catalogue.ts";
import { LANGUAGES, spoken, type Sayable } from "../src/words.ts";

function said(message: string, values: Readonly<Record<string, Sayable>>, language = "en"): string {
  const { word } = spoken({ word: message }, language as "en") as {
    readonly word: string | ((values: object) => string);
  };
  return typeof word === "string" ? word : word(values);
}

test.each(LANGUAGES)("the words in %s have the keys and names of all others", (language) => {
  const [first, own] = [readCatalogue(LANGUAGES[0]), readCatalogue(language)];

  expect(Object.keys(own.words)).not.toEqual([]);
  expect(differences(first.words, own.words)).toEqual([]);
});

test("a key or a name that one language lacks is found, and one that it has alone", () => {
  const first = { page: { title: "Plans of {who}", empty: "None" } };
  const other = { page: { title: "계획: {whom}", none: "없음" } };

  expect(differences(first, other)).toEqual([
    "page.title has {whom}, not {who}",
    "page.empty is missing",
    "page.none is not in the other languages",
  ]);
});

describe("a message", () => {
  test.each([
    ["{count} files", { count: 1_234 }, "1234 files"],
    ["{count, number} files", { count: 1_234 }, "1,234 files"],
    ["{count, plural, =0 {none} one {1 file} other {{count} files}}", { count: 0 }, "none"],
    ["{count, plural, =0 {none} one {1 file} other {{count} files}}", { count: 1 }, "1 file"],
    ["{count, plural, =0 {none} one {1 file} other {{count} files}}", { count: 21 }, "21 files"],
    ["by {who, select, none {a person} other {{who}}}", { who: "" }, "by a person"],
    ["by {who, select, none {a person} other {{who}}}", { who: "Ruda" }, "by Ruda"],
    ["by {who, select, none {a person} other {{who}}}", { who: "constructor" }, "by constructor"],
    ["{isOn, select, true {on} other {off}}", { isOn: false }, "off"],
    ["{names}; {names, join →}", { names: ["a", "b"] }, "a, b; a → b"],
    ["`{ remote: origin }` of {who}", { who: "{who}" }, "`{ remote: origin }` of {who}"],
  ] as const)("%s is said of %o as “%s”", (message, values, words) => {
    expect(said(message, values)).toBe(words);
  });

  test("has the Korean particle that follows how a word ends", () => {
    const both = (one: string, other: string): string =>
      said("{one, 이/가}{other, 이/가} {one, 을/를}", { one, other }, "ko");

    expect(both("이든", "루다")).toBe("이든이루다가 이든을");
    expect(both("team", "Ruda")).toBe("team이Ruda가 team을");
  });
});
