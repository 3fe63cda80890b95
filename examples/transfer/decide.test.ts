import type { Answering, Question } from "dure";
import { classifyReply } from "dure/slots";
import { expect, test } from "vitest";
import {
  decideCancel,
  decideContinue,
  decideReady,
  type ReadyAttempt,
} from "../../packages/dure/src/slots/decide.ts";

const question: Question = {
  id: "now",
  turn: "now",
  service: "transfer",
  asks: "CONFIRM",
  text: "",
  slots: {},
  amounts: {},
  holdsMs: 1,
};
const shown: Answering = { question };
const early: Answering = { because: "written-before-shown" };
const otherButton: Answering = { because: "other-button" };
const open: ReadyAttempt = {
  reply: classifyReply(""),
  answering: shown,
  isAsShown: true,
  isBatch: false,
  hasSlots: false,
};

test.each([
  [{ text: "네" }, "confirm", "listed-words"],
  [{ text: "확인" }, "confirm", "listed-words"],
  [{ text: "전부 취소해줘", isBatch: true, answering: early }, "cancel", "listed-words"],
  [{ text: "확인", answering: otherButton }, "ask", "other-button"],
  [{ text: "네", answering: early }, "ask", "written-before-shown"],
  [{ text: "네", answering: { because: "expired" } }, "ask", "expired"],
  [{ text: "네", answering: { because: "nothing-shown" } }, "ask", "nothing-shown"],
  [
    { text: "네", answering: { question: { ...question, asks: "ASK_CONTINUE" } } },
    "ask",
    "nothing-shown",
  ],
  [{ text: "네", isAsShown: false }, "ask", "not-what-was-shown"],
  [{ text: "네 ❌" }, "ask", "yes-and-no"],
  [{ text: "네", hasSlots: true, isAsShown: false }, "ask", "edited"],
  [{ text: "", hasSlots: true }, "ask", "edited"],
  [{ text: "네?" }, "listen", "question-mark"],
  [{ text: "3만원으로 바꿔줘" }, "listen", "asks-to-change"],
  [{ text: "취소" }, "cancel", "listed-words"],
  [{ text: "취소", answering: early }, "cancel", "listed-words"],
  [{ text: "취소", answering: { because: "expired" } }, "cancel", "listed-words"],
  [{ text: "취소" }, "cancel", "listed-words"],
  [{ text: "취소", answering: otherButton }, "ask", "other-button"],
  [{ text: "취소", isBatch: true, answering: early }, "ask", "written-before-shown"],
] as const)("while a confirmation is asked for, %j means %s: %s", (attempt, action, because) => {
  const { text, ...more } = attempt;
  const reply = classifyReply(text);

  expect(decideReady({ ...open, ...more, reply })).toMatchObject({ do: action, because });
});

test("words that cancel nothing are left to the next rule", () => {
  expect(decideCancel({ ...open, reply: classifyReply("방금 이체 됐어?") })).toEqual({
    do: "none",
    because: "question-mark",
  });
});

test.each([
  ["계속 진행", "shown", "continue"],
  ["네", "shown", "continue"],
  ["취소", "shown", "stop"],
  ["음 글쎄", "shown", "ask"],
  ["계속 진행", "early", "ask"],
  ["취소", "early", "ask"],
  ["네", "gone", "ask"],
  ["취소", "gone", "stop"],
] as const)("after a failure, %j to a question that is %s means %s", (text, asked, action) => {
  const standing: Record<typeof asked, Answering> = {
    shown: { question: { ...question, asks: "ASK_CONTINUE" } },
    early,
    gone: { because: "nothing-shown" },
  };
  expect(decideContinue({ text, answering: standing[asked] }).do).toBe(action);
});
