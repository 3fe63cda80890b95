/**
 * What stands around a day or a time and says how it is meant: 내일까지 is 내일, 내일쯤 is a day near
 * it.
 */

/** The day or the time itself is said: by, until, from, 까지, 부터, 안으로. */
const EDGES: readonly RegExp[] = [
  /^(?:no later than|not later than|on or before|up until|starting(?: on| from)?|due(?: by| on)?|as of|by|until|till?|through|from|since) (?=\S)/u,
  / (?:at the latest|latest|onwards?)$/u,
  / ?(?:까지|부터|안으로|안에|내로|이내|(?<![나그])중(?:으로|에)|자로)(?:만|는|요|에|로)?$/u,
];

/** Something near it is said: around, before, after, 쯤, 정도, 이전, 이후. */
const ROUGH: readonly RegExp[] = [
  /^(?:around|about|roughly|approximately|some ?time|probably|maybe|before|after|대략|대충|아마|한(?! ?(?:달|주|해))) (?=\S)/u,
  /(?: (?:or so|or earlier|or later|or before|or after)|-?ish)$/u,
  / ?(?:쯤|경|정도|즈음|무렵|전후|이전|이후|전까지)(?:에|로|으로|까지|부터|는|요|이면|이요)?$/u,
];

/** A day or a time has no more of them. */
const MAX_MARKS = 4;

/** Folded words without their marks, and whether these say that it is rough. Pure. */
export function withoutMarks(folded: string): { readonly core: string; readonly isRough: boolean } {
  let core = folded.trim();
  let isRough = false;
  for (let taken = 0; taken < MAX_MARKS; taken++) {
    const rough = ROUGH.find((mark) => mark.test(core));
    const mark = rough ?? EDGES.find((edge) => edge.test(core));
    const rest = mark && core.replace(mark, "").trim();
    if (rest === undefined || rest === "") break;
    core = rest;
    isRough ||= rough !== undefined;
  }
  return { core, isRough };
}

/** Marks before a day or a time in a sentence. */
export const MARK_BEFORE =
  "(?:\\b(?:no later than|not later than|on or before|up until|starting(?: on| from)?|as of|" +
  "by|until|till?|from|since|around|(?<!\\bhow )about|before|after) )?";

/** Marks behind it. */
export const MARK_BEHIND =
  "(?:(?: ?(?:까지|부터|안으로|안에|내로|이내|중으로|중에|쯤|경|정도|즈음|무렵|전후|이전|이후|전까지)" +
  "(?:만|는|요|에|로|으로|까지|부터|이면|이요){0,2}(?![가-힣]))| at the latest\\b| or so\\b)?";

/** What may follow a Korean day that is written together with it. */
export const MARK_FOLLOWS =
  "까지|부터|쯤|경|정도|즈음|무렵|전후|이전|이후|안에|안으로|내로|이내|중으로|중에";
