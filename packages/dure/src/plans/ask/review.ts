import { isIP } from "node:net";
import { DureError } from "../../kernel/errors.ts";
import type { TestFeedback, PortComment, TreeDiff } from "../../wire/runs.ts";
import { namesOf } from "../rows/words.ts";

/** Comments of one review: what a prompt tells of a kind. */
export const MAX_COMMENTS = 30;
/** Characters of a review. All of it stands in the next prompt, with room for what tests said. */
const MAX_REVIEW = 16_000;
/** Characters of a line that is quoted. */
const MAX_QUOTE = 200;

type CommentContent = Pick<PortComment, "path" | "line" | "side" | "quote" | "text">;

/**
 * What a person wants changed, as the next try is told it. Pure. Throws `REVIEW_EMPTY`,
 * `REVIEW_TOO_LONG`.
 */
export function reviewOf(
  by: string,
  comments: readonly CommentContent[],
  text = "",
  most = MAX_REVIEW,
): TestFeedback {
  const words = text.trim();
  const suggestions = [...(words === "" ? [] : [words]), ...comments.map(commentWords)];
  if (suggestions.length === 0) {
    throw new DureError("REVIEW_EMPTY", "A review says something: a comment, or a text.", {
      class: "input",
      hint: "Comment on a line, or write what is to change.",
    });
  }
  const length = suggestions.join("").length;
  if (comments.length > MAX_COMMENTS || length > most) {
    throw new DureError(
      "REVIEW_TOO_LONG",
      `A review has at most ${MAX_COMMENTS} comments and ${most} characters; ` +
        `this has ${comments.length} and ${length}.`,
      { class: "input", hint: "Send the most important part first." },
    );
  }
  const metrics = { total: 0, passed: 0, failed: 0, durationMs: 0 };

  return { success: false, failedTests: [], suggestions, metrics, reviewedBy: nameOf(by) };
}

/**
 * A comment is on a file that the work changed, and on a line that its diff shows. Pure. Throws
 * `COMMENT_OUTSIDE`.
 */
export function assertInChange(
  { changes, patch, isCut }: TreeDiff,
  { path, line, side }: Pick<CommentContent, "path" | "line" | "side">,
): void {
  const paths = changes.map((change) => change.path);
  if (!paths.includes(path)) {
    throw new DureError("COMMENT_OUTSIDE", `${path} is no file of this change.`, {
      class: "conflict",
      hint: `The change has ${namesOf(paths)}.`,
    });
  }
  if (line === null || isCut) return;
  const shown = shownLines(patch, path, side);
  // A file without a patch of lines: its mode changed, or it is no text.
  if (shown === undefined || shown.some(([from, to]) => from <= line && line <= to)) return;
  const ranges = shown.slice(0, 20).map(([from, to]) => `${from}–${to}`);
  throw new DureError(
    "COMMENT_OUTSIDE",
    `Line ${line} (${side}) of ${path} is not in this change.`,
    {
      class: "conflict",
      hint: `The change shows these ${side} lines: ${ranges.join(", ") || "none"}.`,
    },
  );
}

/** First and last lines of the parts of a file that a patch shows; undefined: it shows none. Pure. */
function shownLines(
  patch: string,
  path: string,
  side: CommentContent["side"],
): readonly (readonly [number, number])[] | undefined {
  const files = patch.split(/^diff --git /m);
  const file = files.find((text) => text.slice(0, text.indexOf("\n")).endsWith(` b/${path}`));
  const hunks = [...(file ?? "").matchAll(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm)];
  if (hunks.length === 0) return undefined;

  return hunks.flatMap(([, oldFrom, oldCount = "1", newFrom, newCount = "1"]) => {
    const [from, count] =
      side === "old" ? [Number(oldFrom), Number(oldCount)] : [Number(newFrom), Number(newCount)];
    return count === 0 ? [] : [[from, from + count - 1] as const];
  });
}

/** As a worker is told it: a person at the machine who gave no name stands there by its address. */
function nameOf(by: string): string {
  const name = by.replace(/^machine:/, "");

  return isIP(name) === 0 ? name : "A person";
}

function commentWords({ path, line, side, quote, text }: CommentContent): string {
  const place = line === null ? path : `${path}:${line}`;
  const old = side === "old" ? " (before this work)" : "";
  const quoted = quote.trim().slice(0, MAX_QUOTE);
  const shown = quoted === "" ? "" : ` \`${quoted}\``;

  return `${place}${old}${shown}: ${text}`;
}

/** What the next try is told: the review first, then what the tests said of a failed try. Pure. */
export function withReview(review: TestFeedback, last: TestFeedback): TestFeedback {
  if (last.success) return review;
  return {
    ...last,
    reviewedBy: review.reviewedBy,
    suggestions: [...review.suggestions, ...last.suggestions],
  };
}
