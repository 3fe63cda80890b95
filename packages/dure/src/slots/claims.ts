import { fold } from "../parse/text.ts";

/**
 * Whether a text reports a deed: that something was sent, booked, moved, issued. A model that answers
 * on the way has done nothing, and only code that has seen the ledger may say what was done; so a
 * text that reports a deed is not shown. What was done is known by its grammar and not by a list of
 * deeds: a finished form of a verb about something of the person's, of this service, or of no one.
 * What is negated, asked, supposed, or done by the person is no report. Too careful on purpose: a
 * sentence of the form stands in its place. Pure.
 *
 * @param own words of the service: names of its slots and deeds, and of what they are about.
 */
export function reportsDeed(text: string, own: readonly string[] = []): boolean {
  const words = own.map((word) => fold(word).trim()).filter((word) => word.length > 1);
  return sentencesOf(text).some((sentence) => isReport(sentence, words));
}

function sentencesOf(text: string): readonly string[] {
  return fold(text)
    .slice(0, LONGEST_TEXT)
    .split(/(?<=[.!?。！？\n])\s*|\n+/u)
    .filter((sentence) => sentence.trim() !== "");
}

/** Characters that are looked at; an answer on the way has 2,000 at most. */
const LONGEST_TEXT = 4_000;

function isReport(sentence: string, own: readonly string[]): boolean {
  if (/[?？]\s*$/u.test(sentence)) return false;
  return isKoreanReport(sentence, own) || isEnglishReport(sentence, own);
}

// --- Korean

/** A finished form: 했어요, 됐습니다, 되었음, 드렸고, 해 뒀어요, 완료예요. */
const FINISHED =
  /([가-힣]*(?:[했됐됬됀졌렸냈꼈뒀놨쳤났갔왔렀켰썼샀줬봤볐섰뺐깼팠꿨췄튔]|[가-힣][었았였]|됨|된 상태)(?:으니|으며|는데|지만|고|어요?|어|습니다|다|음|네요?|죠|지요|답니다|거든요)?)(?![가-힣])/gu;
const BARE_FINISHED = /(?:완료|성공|끝)(?:예요|이에요|입니다|됨|했음|!|\.|$)/u;

/** What is not done, what the person did, and what was understood or felt: no deed of the service. */
const NO_DEED =
  /(?:못|안|않|아니|없|모르|말씀하|하셨|주셨|시키셨|으셨|셨|이해|알아|확실|궁금|죄송|부족|늦|어려|달랐|같았|있었|좋았|싶었|바랐|기다렸|들었|생각|물어|받았|찾지|알겠|헷갈|그랬|였으면|됐으면|했으면|되었으면|했다면|됐다면|되었다면|았다면|었다면)/u;

function isKoreanReport(sentence: string, own: readonly string[]): boolean {
  if (!/[가-힣]/u.test(sentence)) return false;
  if (BARE_FINISHED.test(sentence) && !NO_DEED.test(sentence)) return true;
  return [...sentence.matchAll(FINISHED)].some((match) => {
    const [all, word = ""] = match;
    const before = sentence.slice(Math.max(0, match.index - 24), match.index);
    if (NO_DEED.test(word) || /(?:못|안|아직)\s*$/u.test(before)) return false;
    if (DEED_WORDS.test(word) || DEED_WORDS.test(before)) return true;
    return own.some((one) => before.includes(one) || all.includes(one));
  });
}

/** Verbs and nouns of doing something for a person. Words of the service stand beside them. */
const DEED_WORDS =
  /송금|이체|결제|예약|예매|주문|구매|신청|처리|전송|완료|접수|취소|확정|등록|출금|입금|집행|실행|발급|발송|변경|수정|삭제|추가|해지|가입|연장|환불|승인|배정|마련|준비|조치|적용|반영|저장|설정|보[냈낸]|부쳤|부친|넘겼|옮겼|바꿨|바꾸었|잡았|잡아|잡혔|넣었|넣어|열었|만들|지웠|끝냈|끝났|마쳤|드렸|올렸|내렸|맡겼|돌려|걸어|뺐|샀|쐈|해 ?[뒀놨]|두었|놓았|해결/u;

// --- English

const PARTICIPLE =
  "(?:[a-z]{2,}ed|sent|paid|made|done|put|set|got|gotten|given|bought|sold|cut|taken|begun|drawn|" +
  "withdrawn|split|found|kept|held|brought|written|chosen|built|left|moved|issued)";
/** I have sent, I've just moved, we already booked; not: I understood. */
const ACTIVE = new RegExp(
  `\\b(?:i|we)(?:'ve| have| had|'d)?(?: (?:just|already|now|also|successfully|gone ahead and|went ahead and))* (${PARTICIPLE})\\b`,
  "u",
);
/** is booked, has been secured, are all set, went through. */
const PASSIVE = new RegExp(
  `\\b(?:is|are|was|were|been|got|'s|'re)(?: (?:now|all|already|successfully|just|fully|safely))* (${PARTICIPLE})\\b`,
  "u",
);
/** Done! Booked. All set. Success! Sent it. */
const ELLIPTIC = new RegExp(
  `^(?:(?:ok|okay|great|sure|yes|alright|perfect|there|good news)[,!:. ]+)*(?:all )?(?:${PARTICIPLE}|success\\w*)(?: (?:it|that|them|for you))?[.!]*$`,
  "u",
);
const IDIOMS =
  /\b(?:went|gone|goes) through\b|\ball set\b|\bgood to go\b|\btaken care of\b|\bsuccess(?:ful|fully)?\b|\b(?:you have|you've) (?:now )?(?:\w+ )?(?:a |an |your )?(?:confirmed|booked|reserved)\b|\bon (?:its|the) way\b|\bit is done\b|\bit's done\b|\bdone[!.]/u;

/** Participles that report no deed of the service. */
const NO_PARTICIPLES = new Set(
  (
    "understood need needed used required supported limited allowed called based located interested " +
    "supposed expected asked wanted noticed heard thought meant wondered hoped looked checked read " +
    "received missed liked loved tried failed refused apologized misunderstood learned realized said " +
    "told mentioned agreed designed intended closed included related concerned excited pleased " +
    "delighted tired worried confused sorry set-up got found left kept"
  ).split(" "),
);
const NOT_DONE =
  /\b(?:not|never|n't|no|nothing|cannot|can't|could|would|should|if|once|when|until|before|after|as soon as|to be|must be|can be|may be|will be|needs? to|have to|yet)\b/u;

function isEnglishReport(sentence: string, own: readonly string[]): boolean {
  if (!/[a-z]/u.test(sentence)) return false;
  const line = sentence.replaceAll("’", "'").trim();
  if (NOT_DONE.test(line) || /n't\b/u.test(line)) return false;
  if (ELLIPTIC.test(line) || IDIOMS.test(line)) return true;
  const active = ACTIVE.exec(line)?.[1];
  if (active !== undefined && !NO_PARTICIPLES.has(active)) return true;
  const passive = PASSIVE.exec(line)?.[1];
  if (passive === undefined || NO_PARTICIPLES.has(passive)) return false;
  return (
    /\b(?:your|it|that|this|everything|you)\b|\d/u.test(line) ||
    own.some((one) => line.includes(one))
  );
}

/** Whether a question is about what became of something: 방금 이체 됐어?, did it go through? Pure. */
export function asksForStatus(text: string): boolean {
  const said = fold(text);
  return STATUS.some((pattern) => pattern.test(said));
}

const STATUS = [
  /(?:됐|되었|됬|됀|갔|보냈|보내졌|처리|끝났|완료|들어갔|예약됐|잡혔)[^?]*(?:어|나|니|까|지|요|죠|냐|는지)? ?\?/u,
  /(?:이체|송금|예약|주문|결제|돈|발급|신청).*(?:됐|되었|갔|잡혔)(?:어|나|니|을까|는지|나요|어요|습니까)/u,
  /\b(?:did|has|have|was|is|were)\b.*\b(?:go through|gone through|sent|work|arrive|done|complete|completed|booked|reserved|ordered|transferred|issued|moved|cancell?ed)\b/u,
];
