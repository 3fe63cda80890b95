import { FULL_NAME, KIN } from "../people/names.ts";

/**
 * Amounts that are written against the word before them: 홍길동5만, 엄마한테오만원. Digits end a word
 * by themselves. Numerals in letters may belong to it: 철수오만원 is 철수 and 50,000, or 철수오 and
 * 10,000, so each of both is a candidate.
 */

export const NUMERALS = "일이삼사오육칠팔구십백천만억조";

/** Behind it the word before has ended: 엄마한테, 엄마, 홍길동. */
const ENDED = new RegExp(
  `(?:한테|에게)$|(?<![\\p{L}\\p{N}])(?:${KIN})$|(?<![\\p{L}\\p{N}])${FULL_NAME}$`,
  "u",
);
const DATIVE = /(?:한테|에게)$/u;
const LEADING = new RegExp(`^[${NUMERALS}]+`, "u");

/** The word before a glued amount, and the places at which the amount may begin. */
export interface GluedStarts {
  readonly starts: readonly number[];
  /** Whether the word before has ended beyond doubt. */
  readonly isEnded: boolean;
}

/**
 * Where an amount may begin in the numerals at `at`, which stand against a Hangul word that began
 * after `from`. Pure.
 */
export function gluedStarts(line: string, at: number, from: number): GluedStarts {
  const before = line.slice(from, at);
  const letters = LEADING.exec(line.slice(at, at + MOST_LETTERS))?.[0] ?? "";
  const isEnded = ENDED.test(before);
  if (letters === "") return { starts: [at], isEnded };
  // 엄마한테만 오천원, 홍길동이 만원: the space says to which word the letter belongs.
  if (letters.length === 1 && line[at + 1] === " ") return { starts: [], isEnded };
  // 박성천5만원: no amount begins with 천5만; one may begin with 만5천.
  const digits = /^\d/u.test(line.slice(at + letters.length));
  if (digits && !letters.endsWith("만")) return { starts: [at + letters.length], isEnded };

  const word = /[가-힣]+$/u.exec(before)?.[0] ?? "";
  // 김만원 is a name.
  if (word.length < 2 && !isEnded) return { starts: [], isEnded };
  if (isEnded) return { starts: isParticle(letters, before) ? [at, at + 1] : [at], isEnded };
  return { starts: Array.from({ length: letters.length + 1 }, (_, more) => at + more), isEnded };
}

/** More numerals than these are no amount. */
const MOST_LETTERS = 20;

/** 홍길동이 and 엄마만: the first letter may belong to the word. */
function isParticle(letters: string, before: string): boolean {
  if (letters.startsWith("만")) return true;
  return letters.startsWith("이") && !DATIVE.test(before) && endsInConsonant(before);
}

function endsInConsonant(word: string): boolean {
  return (word.codePointAt(word.length - 1)! - 0xac00) % 28 > 0;
}

/**
 * The line up to `at` without the word that an amount there stands against, where that word may end
 * in the amount's numerals. Pure.
 */
export function withoutOpenWord(line: string, at: number): string {
  const before = line.slice(0, at);
  return ENDED.test(before) ? before : before.replace(/[가-힣]+$/u, "");
}

const GLUED_END =
  /^(?:$|[\s,.!~?]|씩|정도|쯤|만(?![가-힣])|보내|이체|송금|입금|부쳐|쏴|으로|을|를|이요|요|이야|ㄱ)/u;

/** Whether what begins against a word is an amount, and not a part of it: 신입사원, 아이폰15. Pure. */
export function isGluedAmount(
  core: string,
  kind: string,
  rest: string,
  { isEnded }: GluedStarts,
): boolean {
  if (kind === "foreign") return isEnded;
  if (/^\d/u.test(core)) return /[만천억원윈웡k]|마[넌논]/iu.test(core) || ROUND.test(core);
  return /[십백천만억]/u.test(core) && (kind === "won" || isEnded) && GLUED_END.test(rest);
}

/** 홍길동50000; 민수1004 is a name. */
const ROUND = /^\d{1,4},?000$/;
