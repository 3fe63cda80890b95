import { fold } from "../parse/text.ts";

/** What may follow a Korean name in its word. */
const PARTICLE =
  /^(?:님|씨)?(?:에게서|한테서|에게|한테|께서|께|앞으로|으로|로|이랑|랑|하고|와|과|은|는|이|가|을|를|도|만|의|요|이요|이야|야|이?었(?:어요?|다|네요?|지|는데)|였(?:어요?|다|네요?|지|는데)|이?고요?|이?라고요?|임|인데요?|입니다|이에요|예요|꺼|거|네){0,3}(?:로|도|는|만|다|다가|요)?(?:보내|이체|송금|입금|부쳐|쏴|줘|\d|$)/u;

/**
 * Whether a name stands in a message as a word of its own: 길동 does not stand in 홍길동한테, and 만원
 * not in 김만원. Korean particles and amounts may follow it. Pure.
 */
export function standsIn(name: string, message: string): boolean {
  const line = fold(message);
  const wanted = fold(name).trim();
  if (wanted === "") return false;
  for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + 1)) {
    const before = line.slice(0, at);
    if (/[\p{L}\p{N}]$/u.test(before) && !ENDED.test(before)) continue;
    if (endsThere(wanted, line.slice(at + wanted.length))) return true;
  }
  // 홍 길동, as it was written without the space.
  return wanted.includes(" ") && standsIn(bare(wanted), line);
}

/** Behind these a name may begin without a space: 아니엄마한테. */
const ENDED = /(?:아니|내일|오늘|모레|그럼|그냥|우리|울|랑|하고|한테|에게|\d만|원)$/u;

function endsThere(name: string, rest: string): boolean {
  if (!/^[\p{L}\p{N}]/u.test(rest)) return true;
  const word = /^[\p{L}\p{N}]+/u.exec(rest)![0];
  if (/[가-힣]$/u.test(name)) return PARTICLE.test(word);
  // John에게; an account is not cut.
  return /\p{L}$/u.test(name) && /^[가-힣]/u.test(rest) && PARTICLE.test(word);
}

function bare(text: string): string {
  return text.replaceAll(" ", "");
}
