import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const QUESTION = "packages/dure/src/engine/turn/question.ts";
const DECIDE = "packages/dure/src/slots/decide.ts";
const CHECK = "packages/dure/src/parse/check.ts";
const question = testsIn("packages/dure/src/engine/turn/question.test.ts");
const decide = testsIn("examples/transfer/decide.test.ts");
const check = testsIn("packages/dure/src/parse/check.test.ts");
const proposals = testsIn("examples/transfer/proposals.test.ts");
const REFEREE = "packages/dure/src/slots/referee.ts";
const referee = testsIn("packages/dure/src/slots/referee.test.ts");
const moves = testsIn("packages/dure/src/slots/moves.test.ts");
const words = testsIn("packages/dure/test/words/words.test.ts");
const look = testsIn("examples/transfer/look-at-bank.test.ts");
const doorApprovals = testsIn("packages/dure/test/repeats/door-approvals.test.ts");
const NOTHING = "answers nothing:";

/** What a yes counts for, and what a model's value counts for. */
export const ANSWER_GUARDS: readonly Guard[] = [
  // --- a yes
  {
    id: "question.service",
    at: { file: QUESTION },
    find: 'if (question.service !== answer.service) return { because: "other-service" };',
    replace: "",
    tests: question(NOTHING),
    why: "a yes to one service confirms the question of another",
  },
  {
    id: "question.shown-last",
    at: { file: QUESTION },
    find: "if (lastQuestion !== undefined && lastQuestion !== question.id) {",
    replace: 'if (lastQuestion === "") {',
    tests: question(NOTHING),
    why: "a service that was left takes a yes that was meant for something else",
  },
  {
    id: "question.taken-back",
    at: { file: "packages/dure/src/durable/sessions.ts" },
    find: "and e.context->>'by' = 'person'",
    replace: "and e.context->>'by' = ''",
    tests: doorApprovals("an A2A task that is cancelled asks for no yes any more"),
    why: "a call that its client took back can still be allowed in the inbox",
  },
  {
    id: "question.expiry",
    at: { file: QUESTION },
    find: 'if (hasExpired(question, answer.acceptedAt)) return { because: "expired" };',
    replace: "",
    tests: question(NOTHING),
    why: "a yes of tomorrow confirms the question of today",
  },
  {
    id: "question.button",
    at: { file: QUESTION },
    find: 'if (isPressed(answer) && confirmId !== question.id) return { because: "other-button" };',
    replace: "",
    tests: question(NOTHING),
    why: "the button of an older question confirms the present one",
  },
  {
    id: "question.seen",
    at: { file: QUESTION },
    find: 'if (!answer.sawPrevious) return { because: "written-before-shown" };',
    replace: "",
    tests: question(NOTHING),
    why: "a yes that was written before the question confirms it",
  },
  {
    id: "question.failed-turn",
    at: { file: QUESTION },
    find: "if (error) return undefined;",
    replace: "",
    tests: question("a DONE that asks makes a question of its turn; one with an error makes none"),
    why: "a change that failed leaves a question that a yes answers",
  },
  {
    id: "question.key",
    at: { file: QUESTION },
    find: 'const key = call === undefined ? undefined : [turn.effects, call, id].join("/");',
    replace: 'const key = call === undefined ? undefined : [turn.effects, call, "once"].join("/");',
    tests: question("a DONE that asks makes a question of its turn; one with an error makes none"),
    why: "two questions lead to one effect, and the second deed is never done",
  },
  {
    id: "decide.whole-yes",
    at: { file: DECIDE },
    find: 'if (reply.kind !== "yes") return { do: "listen", because: reply.because };',
    replace: "",
    tests: decide("while a confirmation is asked for,"),
    why: "words that are no plain yes confirm",
  },
  {
    id: "decide.as-shown",
    at: { file: DECIDE },
    find: 'if (!isAsShown) return { do: "ask", unseen: true, because: "not-what-was-shown" };',
    replace: "",
    tests: decide("while a confirmation is asked for,"),
    why: "a yes confirms values that were not shown",
  },
  {
    id: "look.refused",
    at: { file: "packages/dure/src/slots/form-look.ts" },
    find: "return { state: withoutWrong(state, errors, { specs }), isUnchecked: false };",
    replace: "return { state, isUnchecked: false };",
    tests: look("no yes is asked for"),
    why: "a yes is asked for what the outside refuses",
  },
  {
    id: "look.unanswered",
    at: { file: "packages/dure/src/slots/form-look.ts" },
    find: 'if (seen.status === "failed") return { state, isUnchecked: true };',
    replace: 'if (seen.status === "failed") return { state, isUnchecked: false };',
    tests: look("a bank that cannot say it"),
    why: "a question passes for checked that was not",
  },

  // --- what a model proposes
  {
    id: "proposal.quoted",
    at: { file: CHECK },
    find: 'const isQuoted = words !== "" && isQuoteOf(words, message);',
    replace: 'const isQuoted = words !== "";',
    tests: check("cannot judge"),
    why: "a model quotes what was not said",
  },
  {
    id: "proposal.whole-message",
    at: { file: CHECK },
    find: 'if (agreed) return inTheMessage({ verdict: "agree", ...agreed, words }, message, reader);',
    replace: 'if (agreed) return { verdict: "agree", ...agreed, words };',
    tests: check("does not count in"),
    why: "50,000 is read out of 150,000",
  },
  {
    id: "proposal.cut-out",
    at: { file: CHECK },
    find: "if (isWhole(check, message, reader)) return check;",
    replace: "return check;",
    tests: check("is cut out of a word"),
    why: "10,000 is read out of the name 김만원",
  },
  {
    id: "amount.glued",
    at: { file: "packages/dure/src/parse/money/glued-money.ts" },
    find: "if (isEnded) return { starts: isParticle(letters, before) ? [at, at + 1] : [at], isEnded };",
    replace: "if (isEnded) return { starts: [at], isEnded };",
    tests: check("is not sure in"),
    why: "15,000 is read where 5,000 may be meant",
  },
  {
    id: "referee.rough",
    at: { file: REFEREE },
    find: 'rough: "ask",\n    computed: "derived",\n    other: "ask",\n    refused: "refuse",\n    nothing: "derived",',
    replace:
      'rough: "accept",\n    computed: "derived",\n    other: "ask",\n    refused: "refuse",\n    nothing: "derived",',
    tests: proposals("the person is asked where the model takes"),
    why: "a rough amount is booked as if it were exact",
  },
  {
    id: "referee.other",
    at: { file: REFEREE },
    find: 'other: "ask",\n    refused: "refuse",\n    nothing: "derived",',
    replace: 'other: "accept",\n    refused: "refuse",\n    nothing: "derived",',
    tests: words("with a rude model nothing that was not meant is shown without a mark"),
    why: "another amount than the words say is shown as if they said it",
  },
  {
    id: "referee.pair",
    at: { file: REFEREE },
    find: "const other = seePair(proposed, against);",
    replace: "const other = undefined as Sight | undefined;",
    tests: referee("two people whose sums the model has exchanged are asked about"),
    why: "two people get each other's sums",
  },
  {
    id: "referee.name",
    at: { file: "packages/dure/src/parse/people/names-said.ts" },
    find: String.raw`if (/[\p{L}\p{N}]$/u.test(before) && !BEFORE_A_NAME.test(before)) continue;`,
    replace: "",
    tests: referee("no name is cut out of another word"),
    why: "길동 is paid where 홍길동 was said",
  },
  {
    id: "moves.another",
    at: { file: "packages/dure/src/slots/moves.ts" },
    find: 'return manner === "adds" ? { at: "new" } : { at: "open", other };',
    replace: 'return { at: "new" };',
    tests: moves("a bare name beside a known one is asked about"),
    why: "who was replaced is asked first, and paid",
  },
  {
    id: "reply.marks",
    at: { file: "packages/dure/src/slots/heard-reply.ts" },
    find: 'return read.kind === "yes" ? { ...read, words: reply.words } : undefined;',
    replace: 'return { ...read, kind: "yes", words: reply.words };',
    tests: words("with a competent model nothing wrong is shown, and few are asked in vain"),
    why: "any words beside what was shown are a yes",
  },
];
