import { expect, test } from "vitest";
import { decideCancel, decideContinue, decideReady, type ReadyAttempt } from "./decide.ts";

const open: ReadyAttempt = {
  text: "",
  locale: "ko",
  shownId: "now",
  currentId: "now",
  acceptedAfterShown: true,
  isBatch: false,
  hasSlots: false,
};

test.each([
  [{ text: "네" }, "confirm", "listed-words"],
  [{ text: "확인", confirmId: "now" }, "confirm", "button"],
  [{ text: "확인", confirmId: "now", acceptedAfterShown: false }, "confirm", "button"],
  [{ text: "확인", confirmId: "old" }, "ask", "not-what-was-shown"],
  [{ text: "네", acceptedAfterShown: false }, "ask", "written-before-shown"],
  [{ text: "네 ❌" }, "ask", "yes-and-no"],
  [{ text: "네", hasSlots: true, currentId: "edited" }, "ask", "edited"],
  [{ text: "", hasSlots: true }, "ask", "edited"],
  [{ text: "네?" }, "listen", "question-mark"],
  [{ text: "3만원으로 바꿔줘" }, "listen", "asks-to-change"],
  [{ text: "취소" }, "cancel", "listed-words"],
  [{ text: "취소", acceptedAfterShown: false }, "cancel", "listed-words"],
  [{ text: "취소", confirmId: "now" }, "cancel", "listed-words"],
  [{ text: "취소", confirmId: "old" }, "ask", "not-what-was-shown"],
  [{ text: "취소", isBatch: true, acceptedAfterShown: false }, "ask", "written-before-shown"],
  [
    { text: "취소", isBatch: true, acceptedAfterShown: false, confirmId: "now" },
    "cancel",
    "listed-words",
  ],
] as const)("while a confirmation is asked for, %j means %s: %s", (attempt, action, because) => {
  expect(decideReady({ ...open, ...attempt })).toMatchObject({ do: action, because });
});

test("words that cancel nothing are left to the next rule", () => {
  expect(decideCancel({ ...open, text: "방금 이체 됐어?" })).toEqual({
    do: "none",
    because: "question-mark",
  });
});

test.each([
  ["계속 진행", true, "continue"],
  ["네", true, "continue"],
  ["취소", true, "stop"],
  ["음 글쎄", true, "ask"],
  ["계속 진행", false, "ask"],
  ["취소", false, "ask"],
] as const)("after a failure, %j (seen: %s) means %s", (text, acceptedAfterShown, action) => {
  expect(decideContinue({ text, locale: "ko", acceptedAfterShown }).do).toBe(action);
});
