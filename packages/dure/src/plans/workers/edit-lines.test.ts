import { expect, test } from "vitest";
import { editLines } from "./acp-updates.ts";

test("an edit shows the lines that it changed, and three around them", () => {
  const lines = Array.from({ length: 9 }, (_, index) => `line ${index + 1}`);
  const before = `${lines.join("\n")}\n`;

  expect(editLines(before, before.replace("line 5", "five\nand a half")).split("\n")).toEqual([
    " line 2",
    " line 3",
    " line 4",
    "-line 5",
    "+five",
    "+and a half",
    " line 6",
    " line 7",
    " line 8",
  ]);
});

test.each([
  ["a file that is new", "", "a\nb\n", "+a\n+b"],
  ["a file that is emptied", "a\n", "", "-a"],
  ["a line that stands there once more", "a\nb\n", "a\na\nb\n", " a\n+a\n b"],
  ["a piece without an end of line", "a - b", "a + b", "-a - b\n+a + b"],
  ["nothing", "a\n", "a\n", " a"],
])("an edit shows %s", (_, before, after, shown) => {
  expect(editLines(before, after)).toBe(shown);
});
