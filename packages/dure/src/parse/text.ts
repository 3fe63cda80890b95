/**
 * One form for what people type: composed Hangul (NFC), half-width ASCII, plain spaces, no
 * invisible characters, lower case. Deliberately not NFKC: it would turn ㅇㅇ (compatibility letters)
 * into something that no list contains.
 */
export function fold(text: string): string {
  return text
    .normalize("NFC")
    .replace(/[\uFF01-\uFF5E]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replace(/\uFFE6/g, "₩")
    .replace(/[\s\u3164\u3000]+/g, " ")
    .replace(/\p{Cf}/gu, "")
    .toLowerCase();
}

/** Without a vowel that a key gave twice: 네ㅔ, 보내줘ㅓ. ㅡㅡ is a face. Pure. */
export function withoutEchoes(folded: string): string {
  return folded.replaceAll(ECHO, (all: string, syllable: string, vowels: string) => {
    const heard = vowelsOf(syllable);
    return Array.from(vowels).every((vowel) => heard.includes(vowel)) ? syllable : all;
  });
}

const ECHO = /([가-힣])([ㅏ-ㅣ]{1,3})(?![ㅏ-ㅣ])/gu;

/** In the order of Unicode's syllables; of two that make one, both. */
const VOWELS = "ㅏ ㅐ ㅑ ㅒ ㅓ ㅔ ㅕ ㅖ ㅗ ㅘㅏ ㅙㅐ ㅚㅣ ㅛ ㅜ ㅝㅓ ㅞㅔ ㅟㅣ ㅠ - ㅢㅣ ㅣ".split(
  " ",
);

function vowelsOf(syllable: string): string {
  const place = syllable.codePointAt(0)! - 0xac00;
  return VOWELS[Math.floor((place % 588) / 28)]!;
}

/** Without the apostrophes inside of words: `don't` is `dont`. Pure. */
export function withoutApostrophes(folded: string): string {
  return folded.replaceAll(/(?<=\p{L})['’](?=\p{L})/gu, "");
}

/** Words between spaces, punctuation, symbols and emoji, without apostrophes inside of them. */
export function tokensOf(folded: string): string[] {
  return withoutApostrophes(folded)
    .split(/[\p{Z}\p{P}\p{S}\p{C}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0E\uFE0F\u20E3]+/u)
    .filter((token) => token !== "");
}
