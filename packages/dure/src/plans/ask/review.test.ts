import { expect, test } from "vitest";
import { feedbackText } from "../workers/feedback.ts";
import { reviewOf, withReview } from "./review.ts";

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
