import { PAYING_VERBS } from "../lexicon/names.en.ts";
import { MARKS } from "./marked-words.ts";

/**
 * What a sentence orders, apart from what it reports (`엄마한테 3만원 받았어`, `I got 30k from mom`) and
 * from what it forbids (`보내지 마`, `don't send 20,000 won to Bob`).
 */

/**
 * The clauses that order something, or say nothing about it; of the others nothing is left. `text` is a
 * marked line. Pure.
 */
export function ordersIn(text: string): string[] {
  const isRepaid = /갚|돌려/u.test(text);
  const owned = text.replaceAll(OWNED, ` ${MARKS.cut} `);
  const line = isRepaid ? owned : owned.replaceAll(WHENCE, ` ${MARKS.cut} `);
  return line
    .replaceAll(BOUNDARY, (end) => (OPENS.test(end) ? `\n${end}` : `${end}\n`))
    .split("\n")
    .filter((clause) => {
      const isReport = REPORT.test(clause) && !(isRepaid && OWED.test(clause));
      const isTalk = TALK.test(clause) && !clause.includes(MARKS.money);
      return !isReport && !isTalk && !FORBIDS.test(clause);
    });
}

/** Whether a sentence only asks what would be: 엄마한테 보내면 얼마야, what if I send 20k to Bob. Pure. */
export function isHypothetical(text: string): boolean {
  return HYPOTHETICAL.test(text);
}

const HYPOTHETICAL =
  /(?:보내|부치|쏘|주|송금하|이체하)(?:면(?! ?(?:돼|됩|된|되|좋))|려면)|보낼까|줄까|\b(?:if|should i|did i|do i)\b/iu;

// --- Korean

/** What was done: behind it the clause is over. 보냈으면 좋겠어 is a wish. */
const DONE =
  "(?:받았|받아야|받을게|받기로|받고 ?싶|빌렸|빌려 ?줬|빌려 ?갔|얻었|뜯겼|보냈|보내 ?줬|보내 ?주셨|보내 ?드렸|" +
  "줬|주었|주셨|주신다|준대|드렸|부쳤|부쳐 ?줬|쐈|쏴 ?줬|갚았|썼|냈|건넸|들어왔|나갔|" +
  "(?:송금|이체|입금|출금|지급|전달|결제) ?(?:했|됐|되었|받았|해 ?줬|해 ?주셨))(?!으면|더라면|던 )";
/** What is not to be done. 잊지 말고 and 걱정하지 말고 forbid no payment. */
const FORBIDDEN =
  "(?:(?:보내|보내 ?주|부치|쏘|쏴 ?주|주|하|드리|빌려 ?주|(?:송금|이체|입금) ?하)지(?:는|도)? ?(?:마|말|않|못)|" +
  "(?:안|못) (?:보내|보낼|보낸|부치|부칠|쏠|쏴|줘|줄|주고|해|할|이체|송금)|" +
  "(?:안|못)(?=보내|보낼|부칠|부쳐)|" +
  "(?:보내|주|부치|송금하|이체하)면 ?안|(?:보내|부치|송금하|이체하)려다가? ?말|빼 ?(?:줘|주세요)|제외해|취소(?!환불|하지|는|가|수수료))";
/** What is to be done, where the clause ends with it. */
const TO_DO =
  "(?:보내|부쳐|쏴|넣어|갚아|돌려|빌려|드려|(?:이체|송금|입금|전달)(?: ?해)?) ?" +
  "(?:주시고|주세요|주라|주고|줄래|줘요|줘|시고|드리고|드려|고|요|라|자|하고)";
/** A word begins here, and ends there. */
const KO_WORD = "(?<![가-힣])";
const KO_END = "[가-힣]{0,8}";

/** 엄마한테 (어제) 받은: whence it came. */
const WHENCE = new RegExp(
  `${KO_WORD}[^\\s,]{1,14}(?:한테서?|에게서?|께서?|가|이|께서)(?: (?:어제|아까|방금|전에|지난번에|저번에|${MARKS.day})){0,2} ` +
    "(?:받은|받을|받던|받았던|빌린|보낸|보내 ?준|보내 ?주신|보냈던|준|주신|줬던|부친|건넨|낸|산|쓴|사 ?준|결제한|계산한|" +
    "(?:송금|이체|입금) ?(?:한|해 ?준|했던))(?![가-힣])",
  "gu",
);
/** 5만원 있는데: an amount that is there. */
const OWNED = new RegExp(
  `${MARKS.money}\\d{1,2} {1,3}(?:정도 |쯤 |이 |밖에 ){0,2}` +
    "(?:있는데|있거든|있으니|있어서|남았|남는데)[가-힣]{0,3}",
  "gu",
);
const OWED = /(?<![가-힣])(?:빌렸|빌려)/u;

/** 엄마한테 물어볼게: no money goes there. */
const TALK_KO =
  "(?:전화|물어|말해|말했|말할|얘기|이야기|연락|카톡|문자|고백|자랑|혼났|혼나|배웠|들었|들은|인사|안부|편지|" +
  "소개|추천|알려|맡겼|졌어|이겼)";

// --- English

const VERB = `(?:${PAYING_VERBS}|split|divide)`;
const LEAD = "(?:and |then |now |so |also |please |just |can you |could you ){0,4}";
const HAD =
  "(?:got(?! to)|received|sent|paid|gave|transferred|wired|borrowed|lent|owes|owed|earned|spent|" +
  "did(?! not)|requested|collected|ask(?:ed)?\\b.{1,30}\\bfor)";
const NOT =
  "(?:don['’]?t|do not|never|not (?:going to|sending|paying)|won['’]?t|will not|can['’]?t|cannot|shouldn['’]?t|should not|" +
  "didn['’]?t|did not|haven['’]?t|stop|cancel|undo|without (?:sending|paying))";
const TALK_EN =
  "(?:talk|talked|talking|speak|spoke|say|said|listen|call|called|write|wrote|reply|belongs?|welcome|" +
  "happy|thanks|thank|went|go|goes|going|moved?|fly|drive|explain|introduce|married)\\b.{0,60}\\bto";

// --- both

const REPORT = new RegExp(
  `${KO_WORD}${DONE}${KO_END}\\s*$|(?<!${MARKS.money}\\d{1,2} {1,3})\\b${HAD}\\b`,
  "iu",
);
const FORBIDS = new RegExp(
  `${KO_WORD}${FORBIDDEN}[가-힣 ]{0,12}\\s*$|(?<!why )\\b${NOT}\\b(?! forget)(?! hesitate)`,
  "iu",
);
const TALK = new RegExp(`${KO_WORD}${TALK_KO}|\\b${TALK_EN}\\b`, "iu");

/** Where one clause ends and the next begins. */
const BOUNDARY = new RegExp(
  [
    `${KO_WORD}(?:${DONE}|${FORBIDDEN})${KO_END}`,
    `${KO_WORD}${TO_DO}(?![가-힣])`,
    "[.!?…]+(?=\\s|$)",
    ";",
    "\\bbut\\b",
    `${MARKS.joiner} +(?=${LEAD}${VERB}\\b)`,
    `${MARKS.joiner} +so\\b`,
    `${MARKS.joiner} +(?=${LEAD}(?:i|he|she|they|we)\\b (?!mean)[a-z])`,
    `\\b(?:so|and|then)\\b(?= ${LEAD}${VERB}\\b)`,
  ].join("|"),
  "giu",
);
/** A clause begins with these, instead of ending with them. */
const OPENS = new RegExp(`^(?:${MARKS.joiner}|but|so|and|then)`, "iu");
