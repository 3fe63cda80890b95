/**
 * What people put around a value that they answer with: `음 3명이요`, `그럼 010-1234-5678로 해주세요`,
 * `it's 3 please`.
 */

const LEADS = new RegExp(
  "^(?:음+|흠+|어+|아+|저기|저|네|예|넵|응|아니|그럼|그러면|그냥|일단|딱|정확히|" +
    "just|exactly|it'?s|it is|um+|uh+|well|ok(?:ay)?|yes)[,.…]* (?=\\S)",
  "u",
);

const WISH =
  "할게요?|할래요?|하겠습니다|해 ?(?:줘요?|주세요|주십시오)|하고 싶어요?|" +
  "부탁(?:해요?|드려요|드립니다|합니다)|주세요|줘요?";

const ENDS: readonly RegExp[] = [
  /(?:[\s.!~…,ㅎㅋㅠㅜ]|\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u{FE0F})+$/u,
  new RegExp(`(?<=[\\p{L}\\d)%]) ?(?:으로|로|을|를)? ?(?:${WISH})$`, "u"),
  /(?<=[\p{L}\d)%]) ?(?:이요|요|입니다|이에요|예요|에요|이야|인데요|이고요)$/u,
  /(?<=[\p{L}\d)%]) ?(?:으로|로)$/u,
  /[ ,]+(?:please|plz|pls)$/u,
];

/** No answer has more of them. */
const MOST = 6;

/** Folded words without them, step by step: the first is as it was said. Pure. */
export function answersIn(folded: string): readonly string[] {
  const steps = [folded.trim()];
  while (steps.length <= MOST) {
    const last = steps.at(-1)!;
    const pattern = [...ENDS, LEADS].find((one) => one.test(last));
    const shorter = pattern && last.replace(pattern, "").trim();
    if (shorter === undefined || shorter === "") break;
    steps.push(shorter);
  }
  return steps;
}

/** The value alone. Pure. */
export function plainAnswer(folded: string): string {
  return answersIn(folded).at(-1)!;
}
