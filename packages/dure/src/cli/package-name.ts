/** What npm accepts is lower-case Latin letters, digits, _ and -. */
const USUAL = "my-team";
const MAX_LENGTH = 214;

// Revised Romanization of each syllable by itself: enough for a name that can be recognized.
const INITIALS = "g kk n d tt r m b pp s ss - j jj ch k t p h".split(" ");
const VOWELS = "a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i".split(" ");
const FINALS = "- k k k n n n t l k m l l l p l m p p t t ng t t k t p t".split(" ");
const FIRST_SYLLABLE = 0xac00;

/** The name of a team's package: its folder's, in the letters that npm takes. Pure. */
export function packageName(name: string): string {
  const latin = name
    .normalize("NFC")
    .replaceAll(/[가-힣]/g, romanized)
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^[-_]+|-+$/g, "");
  return /[a-z0-9]/.test(latin) ? latin.slice(0, MAX_LENGTH) : USUAL;
}

function romanized(syllable: string): string {
  const index = syllable.codePointAt(0)! - FIRST_SYLLABLE;
  const vowelAndFinal = index % (VOWELS.length * FINALS.length);
  const letters = [
    INITIALS[Math.floor(index / (VOWELS.length * FINALS.length))]!,
    VOWELS[Math.floor(vowelAndFinal / FINALS.length)]!,
    FINALS[vowelAndFinal % FINALS.length]!,
  ];
  return letters.filter((letter) => letter !== "-").join("");
}
