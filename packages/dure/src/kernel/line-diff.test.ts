import { expect, test } from "vitest";
import { lineDiff, unifiedPatch } from "./line-diff.ts";

const marks = (before: string, after: string): string =>
  lineDiff(before, after)
    .map(({ kind, text }) => `${{ added: "+", removed: "-", same: " " }[kind]}${text}`)
    .join("|");

test.each([
  ["", "", ""],
  ["", "one\n", "+one"],
  ["one\n", "", "-one"],
  ["one\ntwo\nthree\n", "one\n2\nthree\n", " one|-two|+2| three"],
  ["one\ntwo\n", "one\ntwo\nthree\n", " one| two|+three"],
  ["a\nb\nc\n", "b\nc\na\n", "-a| b| c|+a"],
])("%j to %j is %j", (before, after, expected) => {
  expect(marks(before, after)).toBe(expected);
});

test("each patch, applied to the text before, gives the text after", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const [before, after] = [textOf(seed), textOf(seed * 7 + 3)];
    const lines = lineDiff(before, after);

    expect(lines.filter(({ kind }) => kind !== "added").map(({ text }) => text)).toEqual(
      before === "" ? [] : before.split("\n"),
    );
    expect(lines.filter(({ kind }) => kind !== "removed").map(({ text }) => text)).toEqual(
      after === "" ? [] : after.split("\n"),
    );
  }
});

test("a patch is as git writes it, with three lines around and its numbers", () => {
  const before = ["1", "2", "3", "4", "5", "6", "7", "8", "9", ""].join("\n");

  expect(unifiedPatch("agents/eden/SOUL.md", before, before.replace("6\n", "six\n"))).toBe(
    [
      "diff --git a/agents/eden/SOUL.md b/agents/eden/SOUL.md",
      "--- a/agents/eden/SOUL.md",
      "+++ b/agents/eden/SOUL.md",
      "@@ -3,7 +3,7 @@",
      " 3",
      " 4",
      " 5",
      "-6",
      "+six",
      " 7",
      " 8",
      " 9",
      "",
    ].join("\n"),
  );
  expect(unifiedPatch("a", "x\n", "x\n")).toBe("");
  expect(unifiedPatch("a", null, "x\n")).toContain("--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n");
});

test("two long texts without a common line are told as replaced, in little time", () => {
  const before = Array.from({ length: 9_000 }, (_, n) => `a${n}`).join("\n");
  const after = Array.from({ length: 9_000 }, (_, n) => `b${n}`).join("\n");

  expect(lineDiff(before, after)).toHaveLength(18_000);
});

/** Few different lines, so that texts share some. */
function textOf(seed: number): string {
  let state = seed;
  const next = (most: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * most);
  };
  return Array.from({ length: next(12) }, () => "abcd"[next(4)]).join("\n");
}
