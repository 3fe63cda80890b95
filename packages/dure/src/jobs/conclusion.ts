/**
 * Why two agents have nothing more to say to each other. Source: docs/spec/collaboration §5,
 * docs/spec/jobs §3.
 */
export type Conclusion = "empty_reply" | "repetition" | "acknowledgement" | "minimal_content";

/** From here on a reply counts as said before. Source: docs/spec/jobs §3.5. */
const REPETITION = 0.85;

/**
 * Whether a reply ends an exchange of two agents, and why. `previousOwn` is the same speaker's last
 * text, `previousOther` what the reply answers; undefined where there is none. Pure; the first
 * reason that applies wins.
 *
 * `minCharacters` (code points without the surrounding space) is for jobs, 20 there: a shorter reply that asks nothing
 * ends. Absent, length does not matter.
 */
export function concludes(
  previousOwn: string | undefined,
  previousOther: string | undefined,
  text: string,
  options: { minCharacters?: number } = {},
): Conclusion | undefined {
  if (isBlank(text)) return "empty_reply";
  if (previousOwn !== undefined && similarity(previousOwn, text) >= REPETITION) return "repetition";
  if (previousOther !== undefined && isAcknowledgement(previousOther) && isAcknowledgement(text)) {
    return "acknowledgement";
  }
  if (
    options.minCharacters !== undefined &&
    isShorterThan(text, options.minCharacters) &&
    !asksSomething(text)
  ) {
    return "minimal_content";
  }
  return undefined;
}

/**
 * Nothing that a person would see: white space, controls, zero-width and filler characters, the
 * blank Braille pattern.
 */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);
}

/**
 * From 0 to 1: the words that both texts have, each as often as it stands in both, divided by the
 * number of words of the longer one. A word is a run of letters and digits in any script (a Han or
 * kana character counts as a word of its own, since these scripts write no spaces); letter case
 * does not count, nor does the order. Texts without any word are alike only when they are the same.
 */
export function similarity(a: string, b: string): number {
  const wordsOfA = wordsOf(a);
  const wordsOfB = wordsOf(b);
  const larger = Math.max(wordsOfA.length, wordsOfB.length);
  if (larger === 0) return a.trim() === b.trim() ? 1 : 0;

  const left = new Map<string, number>();
  for (const word of wordsOfA) left.set(word, (left.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of wordsOfB) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    shared++;
  }
  return shared / larger;
}

/**
 * Whether a text does nothing but acknowledge, thank or say goodbye, in Korean or English: every
 * word of it belongs to a known phrase or only decorates one, names with `@` or 님 aside. A question
 * is none (`네?`), and neither is a text that says anything else (`네, 그런데 테스트가 실패했어요`).
 */
export function isAcknowledgement(text: string): boolean {
  if (text.length > LONGEST_ACKNOWLEDGEMENT || /[?？]/u.test(text)) return false;
  const plain = text
    .replace(/<@[^\s<>]*>/gu, " ")
    .replace(/(?<![\p{L}\p{N}])@[\p{L}\p{N}_-]+/gu, " ")
    .replace(/['’]/gu, "");
  const words = wordsOf(plain);
  let acknowledges = ACKNOWLEDGING_SIGN.test(plain);
  if (words.length === 0) return acknowledges && isOnlySigns(plain);

  for (let index = 0; index < words.length;) {
    const phrase = phraseAt(words, index);
    if (!phrase) return false;
    acknowledges ||= phrase.kind === "acknowledges";
    index += phrase.length;
  }
  return acknowledges;
}

/** One sentence, and it asks. */
export function isOneQuestion(text: string): boolean {
  return /^[^.!?。！？\n]*[?？]$/u.test(text.trim());
}

/** UTF-16 units; a longer text is more than an acknowledgement. */
const LONGEST_ACKNOWLEDGEMENT = 200;

function phraseAt(
  words: readonly string[],
  index: number,
): { kind: "acknowledges" | "decorates"; length: number } | undefined {
  for (let length = Math.min(LONGEST_PHRASE, words.length - index); length > 0; length--) {
    const phrase = words.slice(index, index + length).join(" ");
    if (ACKNOWLEDGING.has(phrase)) return { kind: "acknowledges", length };
    if (DECORATING.has(phrase)) return { kind: "decorates", length };
  }
  const word = words[index] ?? "";
  // 루다님, and laughter of any length: ㅎㅎ, ㅋㅋㅋ, haha.
  return /^(?:[\p{L}\p{N}]{1,10}님|[ㅎㅋㅠㅜ]+|(?:ha|he){2,})$/u.test(word)
    ? { kind: "decorates", length: 1 }
    : undefined;
}

/**
 * Without words: signs of assent and friendliness, beside punctuation. 😡 alone is no
 * acknowledgement.
 */
const ACKNOWLEDGING_SIGN = /[👍👌🙏🙌👏🤝🫡💪✅✔☑💯🎉🥳😀😃😄😁😆😊🙂😉😍🥰🤗❤💙💚💛🧡💜✨🔥👋]/u;

function isOnlySigns(text: string): boolean {
  return !/\p{Extended_Pictographic}/u.test(text.replace(new RegExp(ACKNOWLEDGING_SIGN, "gu"), ""));
}

/** Korean stems with the endings that politeness gives them; `""` is the bare stem. */
const KOREAN_STEMS: readonly (readonly [stem: string, endings: string])[] = [
  ["네", "|네|네네|넵"],
  ["넵", "|넵"],
  ["예", "|예"],
  ["넹", ""],
  ["옙", ""],
  ["응", "|응"],
  ["웅", ""],
  ["ㅇㅇ", ""],
  ["ㅇㅋ", ""],
  ["ㄱㅅ", ""],
  ["ㄳ", ""],
  ["오케이", "|요|입니다"],
  ["오키", "|요|도키"],
  ["굿", "|입니다|이에요"],
  ["그래", "|요"],
  ["그럼", "|요"],
  ["그렇", "습니다|죠|지요|네요|군요"],
  ["물론", "|이죠|이지요|입니다"],
  ["맞", "아|아요|습니다|네요|죠"],
  ["좋", "아|아요|습니다|네요|군요|죠|겠습니다|겠네요|겠어요"],
  ["알겠", "어|어요|습니다|네요|음|슴다"],
  ["알았", "어|어요|습니다|음"],
  ["이해", "했어요|했습니다|됐습니다|되었습니다|완료"],
  [
    "확인",
    "|했어요|했습니다|됐습니다|되었습니다|완료|할게요|하겠습니다|해볼게요|해보겠습니다|감사합니다",
  ],
  ["접수", "|했습니다|했어요|됐습니다|되었습니다|완료"],
  ["동의", "|해요|합니다"],
  ["진행", "할게요|하겠습니다"],
  ["기다릴게", "|요"],
  ["기다리", "겠습니다"],
  ["감사", "|해|해요|합니다|드려요|드립니다|했습니다"],
  ["고마", "워|워요|웠어요|웠습니다"],
  ["고맙", "다|습니다|네요"],
  ["천만", "에요|에"],
  ["별말씀", "을|을요|을 다 하세요"],
  ["아니에요", ""],
  ["다행", "이에요|입니다|이네요|이다"],
  [
    "수고",
    "|하세요|하셨어요|하셨습니다|했어요|했습니다|많으셨어요|많으셨습니다|많으십니다|많았어요",
  ],
  ["고생", "하셨어요|하셨습니다|했어요|했습니다|많으셨어요|많으셨습니다"],
  ["화이팅", "|입니다|이에요"],
  ["파이팅", "|입니다"],
  ["안녕히", " 계세요| 가세요"],
  ["또 ", "봐요|봬요|뵙겠습니다|만나요"],
  ["다음에 ", "봐요|봬요|또 봐요|뵙겠습니다|또 뵙겠습니다"],
];

const KOREAN_PHRASES = [
  "그렇게 할게요",
  "그렇게 하겠습니다",
  "그렇게 하시죠",
  "그렇게 하죠",
  "잘 알겠습니다",
  "잘 부탁드립니다",
  "잘 부탁드려요",
  "부탁드립니다",
  "부탁드려요",
  "수고 많으셨습니다",
  "수고 많으셨어요",
  "수고 많으십니다",
  "고생 많으셨습니다",
  "고생 많으셨어요",
  "좋은 하루 되세요",
  "좋은 하루 보내세요",
  "좋은 저녁 되세요",
  "좋은 시간 되세요",
  "언제든지 말씀해 주세요",
  "언제든지 말씀해주세요",
  "언제든 말씀해 주세요",
  "언제든 말씀해주세요",
  "언제든지 불러 주세요",
  "언제든 불러 주세요",
  "언제든지요",
  "도움이 되어 기뻐요",
  "도움이 되어 기쁩니다",
  "도움이 되었다니 기뻐요",
  "도움이 되었다니 기쁩니다",
  "도움이 되었다니 다행이에요",
  "도움이 되었다니 다행입니다",
  "도움이 되셨다니 다행입니다",
  "저도 감사합니다",
  "제가 더 감사합니다",
] as const;

const ENGLISH_PHRASES = listOf(`
  ok | okay | okey | k | kk | yes | yep
  yeah | yup | aye | sure | sure thing
  of course | certainly | absolutely
  definitely | right | alright | all right
  fine | good | great | perfect | excellent
  awesome | wonderful | fantastic | cool
  nice | neat | got it | i got it | gotcha
  understood | noted | acknowledged | ack
  roger | roger that | copy | copy that
  makes sense | that makes sense | i see
  i understand | i agree | agreed
  same here | exactly | indeed | confirmed
  received | will do | on it | im on it
  sounds good | that sounds good
  sounds great | that sounds great
  sounds perfect | looks good
  looks good to me | lgtm | works for me
  that works | fair enough | done | all good
  all set | were all set | good to go
  thanks | thank you | thank you too
  thanks a lot | many thanks | thx | ty
  tysm | much appreciated | appreciated
  appreciate it | i appreciate it
  i appreciate that | cheers | youre welcome
  you are welcome | youre very welcome
  welcome | no problem | np | no worries
  not a problem | my pleasure | pleasure
  anytime | any time | dont mention it
  happy to help | glad to help
  glad i could help | glad to hear it
  glad to hear that | likewise | you too
  same to you | good work | great work
  nice work | good job | great job
  nice job | well done | congrats
  congratulations | bye | goodbye | see you
  see you soon | see you later | see ya
  take care | talk soon | talk to you soon
  talk to you later | have a good day
  have a great day | have a nice day
  have a good one | have a great one
  good night | let me know
  let me know if you need anything
  let me know if you need anything else
  let me know if theres anything else
  just let me know | feel free to reach out
  feel free to ask | im here if you need me
  im here if you need anything
  looking forward to it | keep me posted
  keep up the good work
  keep up the great work
`);

/** May stand beside an acknowledgement; alone they acknowledge nothing. */
const DECORATING: ReadonlySet<string> = new Set(
  listOf(`
  정말 | 정말로 | 진짜 | 너무 | 아주 | 매우 | 무척 | 참 | 아
  아하 | 오 | 와 | 음 | 저도 | 저희도 | 모두 | 다들 | 다시
  한번 | 다시 한번 | 항상 | 늘 | 덕분에 | 덕분입니다 | 덕분이에요
  도와주셔서 | 도와 주셔서 | 알려주셔서 | 알려 주셔서 | 확인해주셔서
  확인해 주셔서 | 말씀해주셔서 | 말씀해 주셔서 | 공유해주셔서
  공유해 주셔서 | 빠른 | 빠르게 | 답변 | 회신 | 공유 | 도움
  피드백 | 설명 | 그럼 | 그러면 | so | very | much
  so much | very much | a lot | a bunch
  again | then | well | oh | ah | aha | wow
  hey | now | too | all | both | everyone
  everybody | guys | team | folks | friend
  sir | please | really | truly | always
  and | just | for that | for this | for it
  for your help | for the help
  for all your help | for your time
  for your support | for the update
  for the info | for the information
  for the feedback | for the clarification
  for clarifying | for confirming
  for letting me know | for sharing
  for the quick reply
  for the quick response | for checking
  for your understanding | to you
  to you too | to hear that | with that
`),
);

const ACKNOWLEDGING: ReadonlySet<string> = new Set([
  ...KOREAN_STEMS.flatMap(([stem, endings]) => endings.split("|").map((ending) => stem + ending)),
  ...KOREAN_PHRASES,
  ...ENGLISH_PHRASES,
]);

/** Words. */
const LONGEST_PHRASE = Math.max(
  ...[...ACKNOWLEDGING, ...DECORATING].map((phrase) => phrase.split(" ").length),
);

/** A mark, or the way in which Korean and English ask without one. */
function asksSomething(text: string): boolean {
  if (/[?？]/u.test(text)) return true;
  const words = wordsOf(text);
  const first = words[0] ?? "";
  const last = words.at(-1) ?? "";
  return (
    ENGLISH_QUESTIONS.has(first) ||
    /(?:(?<!니)까요|습니까|입니까|합니까|됩니까|나요|인가요|은가요|는가요|한가요|던가요|을까|할까|될까|볼까|줄래|줄래요|할래|할래요)$/u.test(
      last,
    )
  );
}

const ENGLISH_QUESTIONS: ReadonlySet<string> = new Set(
  listOf(`
  what | whats | which | who | whom | whose
  where | when | why | how | hows | can
  could | should | would | shall | may | is
  are | was | were | do | does | did | have
  has | am
`),
);

function isShorterThan(text: string, characters: number): boolean {
  const trimmed = text.trim();
  return trimmed.length < characters * 2 && Array.from(trimmed).length < characters;
}

/** Begins with a letter or digit: the variation selector of an emoji is no word. */
const WORD =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|(?!\p{M})(?:(?!\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana})[\p{L}\p{N}\p{M}])+/gu;

/**
 * UTF-16 units. A longer word is compared as it is: normalising an endless run of accents takes
 * quadratic time.
 */
const LONGEST_WORD = 100;

function wordsOf(text: string): readonly string[] {
  const visible = text.replace(/\p{Default_Ignorable_Code_Point}+/gu, "");
  return (visible.match(WORD) ?? []).map((word) =>
    word.length > LONGEST_WORD ? word : word.normalize("NFC").toLowerCase(),
  );
}

/** Phrases between bars, on any number of lines. */
function listOf(text: string): readonly string[] {
  return text.trim().split(/\s*[|\n]\s*/u);
}
