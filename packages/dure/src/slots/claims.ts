import { fold } from "../parse/text.ts";

/**
 * Whether a text says that something was done: sent, booked, cancelled. Only code that has seen the
 * ledger may say so; a model's text that does is not shown. Too careful on purpose: what is held
 * back is replaced by a sentence of the form. Pure.
 */
export function claimsDeed(text: string): boolean {
  const said = fold(text);
  return CLAIMS.some((claim) => claim.test(said));
}

const DEEDS =
  "송금|이체|결제|예약|예매|주문|구매|신청|처리|전송|완료|접수|취소|확정|등록|출금|입금|집행|실행";
const CLAIMS = [
  /보[냈낸]|부[쳤친]|쐈|넘[겼긴]/u,
  new RegExp(
    `(?:${DEEDS})(?:이|가|을|를|은|는|도)? ?(?:이미 |방금 |모두 |다 |잘 )?(?:했|해 ?드렸|해 ?놨|됐|되었|됨|된|돼|완료|마쳤|끝|하였|시켰)`,
    "u",
  ),
  /(?:잡아|해|넣어) ?(?:뒀|두었|놓았|놨|드렸)|끝났|끝냈|마쳤|성공/u,
  /\b(?:sent|transferred|transfered|wired|paid|booked|reserved|ordered|purchased|cancell?ed|completed|processed|scheduled|executed|submitted|confirmed)\b/u,
  /\b(?:went|gone) through\b|\ball (?:done|set)\b|\bdone[!.]|\bit'?s done\b|\bsuccess/u,
];

/** Whether a question is about what became of something: 방금 이체 됐어?, did it go through? Pure. */
export function asksForStatus(text: string): boolean {
  const said = fold(text);
  return STATUS.some((pattern) => pattern.test(said));
}

const STATUS = [
  /(?:됐|되었|됬|됀|갔|보냈|보내졌|처리|끝났|완료|들어갔|예약됐|잡혔)[^?]*(?:어|나|니|까|지|요|죠|냐|는지)? ?\?/u,
  /(?:이체|송금|예약|주문|결제|돈).*(?:됐|되었|갔|잡혔)(?:어|나|니|을까|는지|나요|어요|습니까)/u,
  /\b(?:did|has|have|was|is|were)\b.*\b(?:go through|gone through|sent|work|arrive|done|complete|completed|booked|reserved|ordered|transferred)\b/u,
];

/** Whether words name one more, besides the current one: 아빠한테도, also to Dad. Pure. */
export function addsAnother(text: string): boolean {
  return ADDS.test(fold(text));
}

const ADDS =
  /(?:에게|한테|께|님|씨)도(?=[\s,.!?\d]|$)|(?<![\p{L}])(?:추가로|하나 더|한 명 더|한명 더|또|그리고)(?=\s)|\b(?:also|too|as well|another|plus|and)\b/u;
