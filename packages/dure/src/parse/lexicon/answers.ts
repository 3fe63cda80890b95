import { anyOf, inOrder, isWhole, oneOf, phraseOf, someOf, type Part } from "./grammar.ts";
import type { Lexicon } from "./index.ts";
import { has } from "./patterns.ts";

/** How an answer is made of the phrases of a lexicon: nothing in it is left unread. */
type Words = readonly string[];

/**
 * Fillers, then yes, also several; in between how it is to be done, and behind it politeness. What
 * only looks so (yeah right) is none. Pure.
 */
export function isYes(words: Words, lexicon: Lexicon): boolean {
  const { yes, goAheads, fillers, manners, politeness } = lexicon;
  const goAhead = inOrder(anyOf(phraseOf(fillers, manners)), phraseOf(goAheads));
  const oneYes = oneOf(inOrder(anyOf(phraseOf(fillers)), phraseOf(yes)), goAhead);
  const whole = inOrder(oneYes, anyOf(oneOf(oneYes, phraseOf(politeness))));
  return isWhole(whole, words) && !has(lexicon.noYes, words.join(" "));
}

/** How a message gives up what was asked about, all of it or the current one. */
export type RefusalKind = "no" | "cancel-one" | "cancel-all";

/** The refusal that a message is, from its first word to its last. Pure. */
export function refusalIn(words: Words, lexicon: Lexicon): RefusalKind | undefined {
  if (isWhole(refused(lexicon), words)) return "no";
  const some = withoutAll(words, lexicon.all);
  if (some.length < words.length && some.length > 0) return refusalOfAll(some, lexicon);
  const isOne = isWhole(givenUp(lexicon), words) || isCancel(words, lexicon);
  return isOne ? "cancel-one" : undefined;
}

/** 전부 취소해줘, 다 하지 마; but 다 됐어 says that all is well. */
function refusalOfAll(words: Words, lexicon: Lexicon): RefusalKind | undefined {
  if (isCancel(words, lexicon)) return "cancel-all";
  if (isWhole(refused(lexicon), words)) return "no";
  const isRefused =
    isWhole(givenUp(lexicon), words) && !words.some((word) => word.startsWith("됐"));
  return isRefused ? "cancel-all" : undefined;
}

/** 아무한테도 보내지 마, don't send any of them. Pure. */
export function speaksOfAll(words: Words, lexicon: Lexicon): boolean {
  return withoutAll(words, lexicon.all).length < words.length;
}

/** Words without those for everything; the longest that fits. */
function withoutAll(words: Words, all: ReadonlySet<string>): Words {
  const rest: string[] = [];
  for (let start = 0; start < words.length;) {
    const length = [4, 3, 2, 1].find((count) =>
      all.has(words.slice(start, start + count).join(" ")),
    );
    if (length === undefined) rest.push(words[start]!);
    start += length ?? 1;
  }
  return rest;
}

/** 취소해줘, yes cancel it: a cancel by name, and nothing else. Pure. */
export function isCancel(words: Words, lexicon: Lexicon): boolean {
  return isWhole(cancelled(lexicon), words);
}

/** 취소해줄래?, could you cancel it, please? To stop is always safe. Pure. */
export function asksToCancel(words: Words, lexicon: Lexicon): boolean {
  return isWhole(politeCancel(lexicon), words);
}

/** 계속 진행해줘: yes, and to go on. Pure. */
export function isToGoOn(words: Words, lexicon: Lexicon): boolean {
  return isWhole(someOf(phraseOf(lexicon.yes, lexicon.goAheads, lexicon.continue)), words);
}

/** Answers that say two things: 응 아니, or several refusals in an order that opens them: 취소 안 할래. Pure. */
export function mixtureIn(words: Words, lexicon: Lexicon): "yes-and-no" | "refusals" | undefined {
  const { no, cancel, negators, fillers } = lexicon;
  const yes = phraseOf(lexicon.yes, lexicon.goAheads);
  const refusals = oneOf(phraseOf(no, cancel, negators), putOff(lexicon));
  const isMadeOf = (answer: Part): boolean =>
    isWhole(anyOf(oneOf(phraseOf(fillers), answer)), words);
  if (isMadeOf(yes)) return undefined;
  if (isMadeOf(refusals)) return "refusals";
  return isMadeOf(oneOf(yes, refusals)) ? "yes-and-no" : undefined;
}

/** 없어요, 아니요 괜찮아요, skip it please: one thing that was asked for is left empty. Pure. */
export function isDeclined(words: Words, lexicon: Lexicon): boolean {
  const { no, declines } = lexicon;
  const decline = inOrder(leads(lexicon), phraseOf(no, declines));
  return isWhole(inOrder(someOf(decline), ending(lexicon)), words);
}

/** 패스할게요, skip it please: what is asked for is passed over, and nothing is given up. Pure. */
export function isSkip(words: Words, lexicon: Lexicon): boolean {
  return isWhole(inOrder(leads(lexicon), phraseOf(lexicon.skips), ending(lexicon)), words);
}

// --- the parts of an answer

/** Gives up what was asked about: 이체 안 할래, never mind, don't send it. */
function putOff({ putOff, objects, undone, negators, negatedDeeds }: Lexicon): Part {
  return oneOf(
    phraseOf(putOff),
    inOrder(anyOf(phraseOf(objects)), phraseOf(undone)),
    inOrder(phraseOf(negators), phraseOf(negatedDeeds)),
  );
}

/** Words before a refusal that change nothing about it: no yes. */
function leads({ fillers, hesitations }: Lexicon): Part {
  return anyOf(phraseOf(fillers, hesitations));
}

function refused(lexicon: Lexicon): Part {
  return inOrder(someOf(inOrder(leads(lexicon), phraseOf(lexicon.no))), ending(lexicon));
}

/** 안 할래, 아니요 됐어요, no thanks; a negator alone is one where nothing follows: don't. */
function givenUp(lexicon: Lexicon): Part {
  const refusal = oneOf(phraseOf(lexicon.no), putOff(lexicon));
  const refusals = someOf(inOrder(leads(lexicon), refusal));
  const bare = inOrder(leads(lexicon), anyOf(inOrder(refusal, leads(lexicon))));
  return inOrder(oneOf(refusals, inOrder(bare, phraseOf(lexicon.negators))), ending(lexicon));
}

/**
 * Refusals, then what is said by name; never the other way round: 취소 안 할래, 취소 하지 마 and 취소 아니야
 * are made of cancelling words and mean the opposite.
 */
function cancelled(lexicon: Lexicon): Part {
  const { no, acknowledges, objects, wishes, cancel } = lexicon;
  const before = anyOf(
    oneOf(
      phraseOf(lexicon.fillers, lexicon.hesitations, acknowledges, objects, no),
      putOff(lexicon),
    ),
  );
  const once = oneOf(phraseOf(cancel), inOrder(phraseOf(wishes), phraseOf(cancel)));
  return inOrder(before, someOf(inOrder(leads(lexicon), once)), ending(lexicon));
}

function politeCancel(lexicon: Lexicon): Part {
  const { fillers, hesitations, acknowledges, objects, no, requests, cancel } = lexicon;
  const before = anyOf(phraseOf(fillers, hesitations, acknowledges, objects, no));
  const asked = inOrder(phraseOf(requests), phraseOf(cancel));
  return inOrder(before, oneOf(phraseOf(lexicon.cancelRequests), asked), ending(lexicon));
}

function ending({ politeness, hesitations }: Lexicon): Part {
  return anyOf(phraseOf(politeness, hesitations));
}
