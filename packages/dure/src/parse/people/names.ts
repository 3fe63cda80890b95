import * as en from "../lexicon/names.en.ts";
import * as ko from "../lexicon/names.ko.ts";

/** Words for relatives, as a Korean calls them. */
export const KIN = [...ko.FAMILY, ...ko.PARTNERS].toSorted((a, b) => b.length - a.length).join("|");

/** A surname and two syllables: 홍길동. Also 정확히 and 고마워 look so. */
export const FULL_NAME = `[${ko.SURNAMES}][가-힣]{2}`;

const LOOKS_FULL = new RegExp(`^${FULL_NAME}$`, "u");
const LOOKS_GIVEN = new RegExp(`^[${ko.GIVEN_NAME_STARTS}][${ko.GIVEN_NAME_ENDS}]이?$`, "u");
/** How words end that are spoken or counted, and few names. */
const NO_NAMES_END =
  /[해요야지만도로서게고나까네다면워음임데줘라자어아여니든비값금세돈료분건것껏턱권히씩]$/u;
const NO_NAMES_BEGIN = /^(?:이체|송금|조금|지금|이번|이거|이것|고마|진행|정도|안녕|오늘)/u;

const FAMILY: ReadonlySet<string> = new Set([...ko.FAMILY, ...ko.PARTNERS, ...en.RELATIVES]);
const PARTNERS: ReadonlySet<string> = new Set(ko.PARTNERS);
const KNOWN: ReadonlySet<string> = new Set([...FAMILY, ...ko.ACQUAINTANCES, ...en.ACQUAINTANCES]);
const TITLE = new RegExp(`^(?:${ko.TITLES.join("|")})님?$`, "u");
const TITLED = new RegExp(`(?:^|[가-힣a-z] )(?:${ko.TITLES.join("|")})님?$`, "iu");
const EPITHETS: ReadonlySet<string> = new Set(ko.EPITHETS);
const PRONOUN = new RegExp(`^(?:${[...ko.PRONOUNS, ...en.PRONOUNS].join("|")})$`, "iu");

/**
 * Whether a word that nothing marks as a name is one beyond doubt: 50000 홍길동, but not 5만원 고마워.
 * Pure.
 */
export function isPlainName(word: string): boolean {
  if (isRelation(word) || TITLED.test(word)) return true;
  return LOOKS_FULL.test(word) && !NO_NAMES_END.test(word) && !NO_NAMES_BEGIN.test(word);
}

/** Whether a word is a plain name, or has the syllables of a given one: 민수, 영희, 수진이. Pure. */
export function isLikeName(word: string): boolean {
  return isPlainName(word) || (LOOKS_GIVEN.test(word) && !isSmallWord(word));
}

/** Mom, 이모, 친구: a person, by what they are to another. Pure. */
export function isRelation(word: string): boolean {
  return KNOWN.has(word.toLowerCase());
}

/** 엄마 아빠 are two people; 동생 아내 and 엄마 친구 are one. Pure. */
export function areTwoRelatives(first: string, second: string): boolean {
  const [one, other] = [first.toLowerCase(), second.toLowerCase()];
  if (!FAMILY.has(one) || !FAMILY.has(other)) return false;
  return !PARTNERS.has(other) || PARTNERS.has(one);
}

/** 대리, 과장님: it belongs to the name before it. Pure. */
export function isTitle(word: string): boolean {
  return TITLE.test(word);
}

/** Whether a surname can stand alone before a title: 김 of 김 대리. Pure. */
export function isSurname(word: string): boolean {
  return word.length === 1 && ko.SURNAMES.includes(word);
}

/** 큰 of 큰 이모. Pure. */
export function isEpithet(word: string): boolean {
  return EPITHETS.has(word);
}

/** 음, please, 금액: no name. Pure. */
export function isSmallWord(word: string): boolean {
  const small = word.toLowerCase().replaceAll(/['’]/gu, "");
  return en.SMALL_WORDS.has(small) || ko.SMALL_WORDS.has(small);
}

/** A small word, also with a particle: 금액은. Behind 다음이한테 stands a person. Pure. */
export function isSmallAlone(word: string): boolean {
  const stem = SMALL_WITH_PARTICLE.exec(word)?.[1];
  return isSmallWord(word) || (stem !== undefined && ko.SMALL_WORDS.has(stem));
}

const SMALL_WITH_PARTICLE =
  /^([가-힣]{2,8}?)(?:은|는|이|가|을|를|도|만|으로|로|에|에는|엔|의|요|이요)$/u;

/** 누구, 나, them: a person without a name. Pure. */
export function isPronoun(word: string): boolean {
  return PRONOUN.test(word);
}
