/** Words for relatives, as a Korean calls them. */
export const KIN =
  "엄마|아빠|어머니|아버지|엄빠|할머니|할아버지|형|누나|오빠|언니|동생|남동생|여동생|" +
  "이모|삼촌|고모|아내|남편|와이프";

const SURNAMES =
  "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구" +
  "민진지엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국은편용";

/** A surname and two syllables: 홍길동. Also 정확히 and 고마워 look so. */
export const FULL_NAME = `[${SURNAMES}][가-힣]{2}`;

const LOOKS_FULL = new RegExp(`^${FULL_NAME}$`, "u");
/** How words end that are spoken or counted, and few names. */
const NO_NAMES_END =
  /[해요야지만도로서게고나까네다면워음임데줘라자어아여니든비값금세돈료분건것껏턱권히씩]$/u;
const NO_NAMES_BEGIN = /^(?:이체|송금|조금|지금|이번|이거|이것|고마|진행|정도|안녕|오늘)/u;

/**
 * Whether a word that nothing marks as a name is one beyond doubt: 50000 홍길동, but not 5만원 고마워.
 * Pure.
 */
export function isPlainName(word: string): boolean {
  if (new RegExp(`^(?:${KIN})$`, "u").test(word)) return true;
  return LOOKS_FULL.test(word) && !NO_NAMES_END.test(word) && !NO_NAMES_BEGIN.test(word);
}
