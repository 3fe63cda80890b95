import { BEFORE_A_NAME, BEHIND_A_NAME } from "../lexicon/particles.ts";
import { fold } from "../text.ts";
import { isTitle } from "./names.ts";

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
    if (/[\p{L}\p{N}]$/u.test(before) && !BEFORE_A_NAME.test(before)) continue;
    // 대리 of 김 대리 is a part of the name.
    if (isTitle(wanted) && SURNAME_BEFORE.test(before)) continue;
    if (endsThere(wanted, line.slice(at + wanted.length))) return true;
  }
  // 홍 길동, as it was written without the space.
  return wanted.includes(" ") && standsIn(bare(wanted), line);
}

const SURNAME_BEFORE = /(?<![가-힣])(?!우리|제|내|그)[가-힣]{1,4} $/u;

function endsThere(name: string, rest: string): boolean {
  if (!/^[\p{L}\p{N}]/u.test(rest)) return true;
  const word = /^[\p{L}\p{N}]+/u.exec(rest)![0];
  if (/[가-힣]$/u.test(name)) return BEHIND_A_NAME.test(word);
  // John에게; an account is not cut.
  return /\p{L}$/u.test(name) && /^[가-힣]/u.test(rest) && BEHIND_A_NAME.test(word);
}

function bare(text: string): string {
  return text.replaceAll(" ", "");
}
