import { expect, test } from "vitest";
import {
  answeringOf,
  isAbout,
  lastQuestionFor,
  questionAsked,
  readQuestion,
  type Answer,
  type Question,
} from "./question.ts";

const shown: Question = {
  id: "q1",
  turn: "q1",
  service: "transfer",
  asks: "CONFIRM",
  text: "Shall I?",
  slots: { amount: 1 },
  amounts: {},
  holdsMs: 1_000,
  shownAt: 10_000,
  after: { text: "네", at: 9_700 },
};
const yes: Answer = {
  service: "transfer",
  confirmId: undefined,
  lastQuestion: undefined,
  sawPrevious: true,
  acceptedAt: 10_500,
  message: "응",
};

test.each([
  [undefined, {}, "nothing-shown"],
  [undefined, { confirmId: "q0" }, "other-button"],
  [shown, { service: "faq" }, "other-service"],
  [shown, { lastQuestion: null }, "not-shown-last"],
  [shown, { lastQuestion: "q0" }, "not-shown-last"],
  [shown, { acceptedAt: 11_001 }, "expired"],
  [shown, { acceptedAt: 11_001, confirmId: "q1" }, "expired"],
  [{ ...shown, shownAt: undefined }, {}, "expired"],
  [shown, { confirmId: "q0" }, "other-button"],
  [shown, { acceptedAt: 11_001, confirmId: "q0" }, "other-button"],
  [shown, { sawPrevious: false }, "written-before-shown"],
  [shown, { message: "네" }, "said-twice"],
] as const)("of %j the answer %j answers nothing: %s", (question, answer, because) => {
  expect(answeringOf(question, { ...yes, ...answer })).toEqual({ because });
});

test.each([
  [shown, {}],
  [shown, { acceptedAt: 11_000 }],
  [shown, { message: "네", acceptedAt: 10_700 }],
  [shown, { message: "네", confirmId: "q1" }],
  [shown, { lastQuestion: "q1" }],
  [shown, { confirmId: "q1", sawPrevious: false }],
  [
    { ...shown, begun: true },
    { acceptedAt: 99_999, sawPrevious: false, confirmId: "q0" },
  ],
] as const)("of %j the answer %j answers it", (question, answer) => {
  expect(answeringOf(question, { ...yes, ...answer })).toEqual({ question });
});

test("another server hears of its question only if that was shown last, and was read", () => {
  expect(lastQuestionFor(shown, yes)).toBe("q1");
  expect(lastQuestionFor(shown, { ...yes, confirmId: "q0", sawPrevious: false })).toBe("q1");
  expect(lastQuestionFor(shown, { ...yes, sawPrevious: false })).toBeNull();
  expect(lastQuestionFor(shown, { ...yes, service: "faq" })).toBeNull();
});

test("a DONE that asks makes a question of its turn; one with an error makes none", () => {
  const turn = {
    id: "turn_1",
    service: "transfer",
    effects: "mina/abc",
    state: { slots: { to: "Kim" } },
    holdsMs: 600_000,
    approvals: [],
  };
  const asking = { message: "Shall I?", nextAction: "CONFIRM", question: { call: "pay" } } as const;

  expect(questionAsked(asking, turn)).toEqual({
    id: "turn_1",
    turn: "turn_1",
    service: "transfer",
    asks: "CONFIRM",
    text: "Shall I?",
    slots: { to: "Kim" },
    amounts: {},
    key: "mina/abc/pay/turn_1",
    holdsMs: 600_000,
  });
  expect(questionAsked({ ...asking, error: { code: "X", message: "x" } }, turn)).toBeUndefined();
  expect(questionAsked({ message: "Where?", nextAction: "ASK" }, turn)).toBeUndefined();
});

test("what was shown is compared by value, and what cannot be read is no question", () => {
  const question = { ...shown, slots: { a: 1, b: { c: 2 } } };

  expect(isAbout(question, { b: { c: 2 }, a: 1 })).toBe(true);
  expect(isAbout(question, { a: 1, b: { c: 3 } })).toBe(false);
  expect(readQuestion(JSON.parse(JSON.stringify(question)))).toEqual(question);
  expect(readQuestion({ id: 1 })).toBeUndefined();
});
