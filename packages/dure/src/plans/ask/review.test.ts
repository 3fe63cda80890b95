import { expect, test } from "vitest";
import { feedbackText } from "../workers/feedback.ts";
import { assertInChange, reviewOf, withReview } from "./review.ts";

const LINE = { path: "src/a.ts", line: 12, side: "new", quote: "  let x = 1;", text: "Name it." };
const comment = (more: Partial<typeof LINE> = {}) => ({ ...LINE, ...more, side: "new" as const });

test("a review tells the words first, then each comment with its place and the line", () => {
  const old = { ...comment(), side: "old" as const, line: 3, quote: "", text: "Why gone?" };
  const file = { ...comment(), line: null, quote: "", text: "Too long." };

  const review = reviewOf("minjun", [comment(), old, file], " Nearly. ");

  expect(review.suggestions).toEqual([
    "Nearly.",
    "src/a.ts:12 `let x = 1;`: Name it.",
    "src/a.ts:3 (before this work): Why gone?",
    "src/a.ts: Too long.",
  ]);
});

test("a review that says nothing, or more than a prompt takes, is refused", () => {
  const many = Array.from({ length: 31 }, () => comment());
  const long = [comment({ text: "x".repeat(16_000) })];

  expect(() => reviewOf("minjun", [], "  ")).toThrow("A review says something");
  expect(() => reviewOf("minjun", many)).toThrow("at most 30 comments");
  expect(() => reviewOf("minjun", long)).toThrow("and 16000 characters; this has 1 and 160");
});

test.each([
  ["minjun", "minjun"],
  ["machine:민준", "민준"],
  ["127.0.0.1", "A person"],
  ["::1", "A person"],
])("a review by %s is told as one by %s", (by, told) => {
  expect(reviewOf(by, [comment()]).reviewedBy).toBe(told);
});

test("a prompt has a person's words before what the tests said, however much that is", () => {
  const review = reviewOf("minjun", [comment()]);
  const failedTests = [{ name: "adds", stackTrace: "y".repeat(30_000) }];
  const metrics = { total: 1, passed: 0, failed: 1, durationMs: 5 };
  const failed = { success: false, failedTests, suggestions: ["Old advice."], metrics };

  const text = feedbackText(withReview(review, failed));

  expect(text.indexOf("minjun reviewed this work and asks for changes:")).toBe(0);
  expect(text.indexOf("Name it.")).toBeLessThan(text.indexOf("1. adds"));
  expect(text.length).toBeLessThan(24_100);
});

test("a comment is on a file and a line of the change; else what is there is named", () => {
  const patch = [
    "diff --git a/src/a.ts b/src/a.ts",
    "--- a/src/a.ts",
    "+++ b/src/a.ts",
    "@@ -10,3 +10,4 @@ x",
    " x",
    "+y",
    "diff --git a/src/new.ts b/src/new.ts",
    "@@ -0,0 +1 @@",
    "+n",
    "",
  ].join("\n");
  const change = (path: string) => ({ path, kind: "modified" as const });
  const changes = ["src/a.ts", "src/new.ts", "src/x.png"].map(change);
  const on = (path: string, line: number | null, side: "new" | "old" = "new") =>
    assertInChange({ changes, patch, isCut: false }, { path, line, side });

  for (const line of [10, 13, null]) on("src/a.ts", line);
  on("src/new.ts", 1);
  on("src/x.png", 7);
  on("src/a.ts", 12, "old");
  const refused = (hint: string) => expect.objectContaining({ code: "COMMENT_OUTSIDE", hint });
  const all = "The change has src/a.ts, src/new.ts, src/x.png.";
  expect(() => on("src/b.ts", null)).toThrow(refused(all));
  expect(() => on("src/a.ts", 14)).toThrow(refused("The change shows these new lines: 10–13."));
  expect(() => on("src/a.ts", 13, "old")).toThrow(
    refused("The change shows these old lines: 10–12."),
  );
  expect(() => on("src/new.ts", 1, "old")).toThrow(
    refused("The change shows these old lines: none."),
  );
});
