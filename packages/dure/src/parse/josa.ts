/** A Korean particle by its two forms: after a final consonant / after a vowel. */
export type Josa = "을/를" | "이/가" | "은/는" | "과/와" | "으로/로" | "이에요/예요";

/**
 * The word with the right particle behind it: `50,000원을`, `메모를`, `서울로`, `Bob을`, `7로`. The sound is
 * taken from Hangul, from the Korean reading of digits, and from the usual Korean spelling of Latin
 * names (a rule of thumb); where it cannot be known both forms are written: `漢을(를)`.
 */
export function josa(word: string, particle: Josa): string {
  return `${word}${josaOnly(word, particle)}`;
}

/** Only the particle. */
export function josaOnly(word: string, particle: Josa): string {
  const [closed, open] = particle.split("/") as [string, string];
  const ending = endingOf(word);
  if (ending === "unknown") return particle === "으로/로" ? "(으)로" : `${closed}(${open})`;
  if (particle === "으로/로") return ending === "consonant" ? closed : open;
  return ending === "vowel" ? open : closed;
}

type Ending = "vowel" | "rieul" | "consonant" | "unknown";

function endingOf(word: string): Ending {
  const spoken = word.normalize("NFC").replace(/[^\p{L}\p{N}]+$/u, "");
  const last = spoken.at(-1);
  if (last === undefined) return "unknown";
  if (last >= "가" && last <= "힣") return endingOfFinal((last.charCodeAt(0) - 0xac00) % 28);
  if (last >= "0" && last <= "9") {
    return endingOfNumber(/[\d,]+$/.exec(spoken)![0].replaceAll(",", ""));
  }
  if (/[a-z]/i.test(last)) return endingOfLatin(/[a-z]+$/i.exec(spoken)![0]);
  return "unknown";
}

/** Final consonants count from 1 in the order of Unicode; 8 is ㄹ, after which (으)로 is 로. */
function endingOfFinal(final: number): Ending {
  return final === 0 ? "vowel" : final === 8 ? "rieul" : "consonant";
}

/** 영 일 이 삼 사 오 육 칠 팔 구; a number ending in zeros is read by its unit: 십 백 천 만 억 조. */
function endingOfNumber(digits: string): Ending {
  const zeros = /0*$/.exec(digits)![0].length;
  if (zeros > 0 && zeros < digits.length) return zeros >= 12 ? "vowel" : "consonant";
  return (
    [
      "consonant",
      "rieul",
      "vowel",
      "consonant",
      "vowel",
      "vowel",
      "consonant",
      "rieul",
      "rieul",
      "vowel",
    ] as const
  )[Number(digits.at(-1))]!;
}

function endingOfLatin(word: string): Ending {
  if (word === word.toUpperCase()) {
    if (/[LR]$/.test(word)) return "rieul";
    return /[MN]$/.test(word) ? "consonant" : "vowel";
  }
  const lower = word.toLowerCase();
  if (/(?:l|le)$/.test(lower)) return "rieul";
  if (/(?:m|n|ng|ck|[aeiou][bpkct])$/.test(lower)) return "consonant";
  return "vowel";
}
