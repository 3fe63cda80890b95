import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classifyContinue, classifyReply, isYesToCancel, REFUSING_KINDS } from "./reply.ts";
import { boundMs } from "../../kernel/test-bounds.ts";
import { NO_YESES, REFUSALS, YESES } from "./test-replies.ts";

const isCancel = (text: string): boolean => REFUSING_KINDS.has(classifyReply(text).kind);

const CONFIRMS = [
  // the list of the specification
  ..."확인 네 예 응 맞아 맞아요 맞습니다 그래 그래요 그럼 그럼요 좋아 좋아요 좋습니다 ok okay ㅇㅇ ㅇㅋ".split(
    " ",
  ),
  ..."진행 진행해 진행해줘 진행해주세요 진행할게요 진행하겠습니다 보내 보내줘 보내주세요 보내요".split(
    " ",
  ),
  ..."이체 이체해 이체해줘 이체해주세요 해줘 할게 할게요 하겠습니다 당연".split(" "),
  // its examples
  "네 보내주세요",
  "진행해줘",
  "응, 확인!",
  // as people type
  "네 보내 주세요",
  "네, 보내 주세요.",
  "진행 해 줘",
  "진행 해주세요",
  "이체 해 줘",
  "해 줘",
  "네!!!",
  "네~",
  "네~~~",
  "  네  ",
  "네\n보내줘",
  "네 👍",
  "👍 네",
  "네👍🏽",
  "확인✅",
  "OK",
  "Ok!",
  "ＯＫ",
  "네。",
  "네…",
  "넵",
  "네네",
  "네네네",
  "예예",
  "넵!",
  "오케이",
  "ㅇㅇ 보내줘",
  "ㅇㅋㅇㅋ",
  "네\u200b",
  "네\u3164",
  "네 네 네",
  "확인 확인",
  "그럼요, 보내주세요",
  "좋아요 진행해주세요",
  "당연 네",
  "okey dokey",
  "ㄱㄱ",
];

const NO_CONFIRMS = [
  // named by the specification
  "네?",
  "예??",
  "그래?",
  "보내요?",
  "확인해줘",
  "이체 확인해줘",
  "확인 해줘",
  "이체 확인 해 줘",
  "확인 할게요",
  "확인 해 주세요",
  // questions in every dress
  "네？",
  "네⁇",
  "네❓",
  "확인?!",
  "ㄱㄱ?",
  "보내?",
  "네 보내주세요?",
  "ok?",
  "그래 ?",
  "네﹖",
  // other words beside it
  "네 그런데 3만원으로",
  "3만원으로 보내줘",
  "홍길동에게 보내줘",
  "내일 보내줘",
  "네 내일요",
  "안 보내",
  "보내지마",
  "네 아니요",
  "응 취소",
  "확인 취소",
  "아니 보내줘",
  "네이버",
  "네트워크",
  "예금",
  "응원",
  "그래서",
  "그런데",
  "그럼에도",
  "맞아?",
  "확인중",
  "진행중",
  "보내지",
  "이체하지마",
  "예약",
  "좋아하는 사람",
  "당연하지 않아",
  "book",
  "okayish",
  "ㅇ",
  "ㅋㅋ",
  "「네」",
  "ㄴㄴ",
  "확.인",
  "네 ❌",
  "👎 네",
  "",
  "   ",
  "!!!",
  "🙂",
  "1",
  "네1",
  "네 5만원",
  "네네치킨",
  "보내줘요?",
  "네 ".repeat(20),
];

const CANCELS = [
  // named by the specification
  "취소",
  "취소해줘",
  "그만",
  "안 할래",
  "안 보낼래",
  "됐어",
  "필요 없어",
  "하지 마",
  "아니요",
  "싫어",
  // as people type
  "안할래",
  "안보낼래",
  "안 할래요",
  "하지마",
  "하지 마세요",
  "하지마요",
  "됐어요",
  "됐습니다",
  "필요없어",
  "필요없어요",
  "아니",
  "아니오",
  "아뇨",
  "아냐",
  "아니야",
  "싫어요",
  "취소할게요",
  "취소 할게요",
  "취소해 주세요",
  "취소요",
  "취소!",
  "취소~",
  "취소 ㅠㅠ",
  "취소할게요ㅠㅠ",
  "그만할래",
  "그만둘래요",
  "그만 둘게요",
  "보내지 마",
  "보내지마세요",
  "보내지 말아 주세요",
  "안 보내도 돼요",
  "아니 취소",
  "됐어요 취소해주세요",
  "아니요, 취소해주세요",
  "아니요 됐어요",
  "네 취소해주세요",
  "그냥 취소해줘",
  "그럼 취소할게요",
  "이체 취소해줘",
  "송금 취소",
  "ㄴㄴ",
  "취소 🙏",
  "「취소」",
  "cancel",
  "Cancel it.",
  "no",
  "No!",
  "stop",
  "never mind",
  "Nevermind",
  "don't send it",
  "don’t send",
  "no thanks",
  "please cancel",
  "forget it",
];

const NO_CANCELS = [
  // named by the specification
  "방금 이체 됐어?",
  "그만큼 보내줘",
  "메모에 취소환불이라고 써줘",
  // more of their kind
  "방금 이체 됐어",
  "이체 됐어",
  "됐어?",
  "취소?",
  "취소돼?",
  "취소할까?",
  "취소 수수료 얼마야",
  "취소환불",
  "취소선",
  "아니면 3만원",
  "아니 3만원",
  "아니 그게 아니라",
  "싫어하는 사람",
  "그만해도 될까요?",
  "취소하지 마",
  "취소 하지 마",
  "취소 하지마세요",
  "취소 아니야",
  "취소 됐어",
  "취소 필요 없어",
  "그만 하지 마",
  "don't cancel",
  "do not cancel",
  "don't stop",
  "취소 안 할래",
  "필요 없어 보이는 메모 지워줘",
  "하지 마을",
  "노트북",
  "노원구",
  "안 할래야 안 할 수 없어",
  "메모는 그만",
  "김취소에게 보내줘",
  "취소 확인",
  "네 됐어요",
  "네",
  "보내줘",
  "5만원",
  "",
  "??",
  "no one",
  "nobody",
  "stop by tomorrow",
  "cancellation fee",
  "note",
  "north",
];

describe("a yes", () => {
  test.each(CONFIRMS)("is %j", (text) => {
    expect(classifyReply(text)).toMatchObject({ kind: "yes", sure: "exact" });
    expect(classifyReply(text.normalize("NFD")).kind).toBe("yes");
  });

  test.each(NO_CONFIRMS)("is not %j", (text) => {
    expect(classifyReply(text).kind).not.toBe("yes");
  });

  test.each([
    "yes",
    "Yes!",
    "ok",
    "send it",
    "go ahead",
    "Yes, send it.",
    "yes please",
    "confirm",
    "sure, go ahead",
    "that's right",
    "that’s right",
    "👍",
    "👍🏽👍🏽",
    "확인요",
    "보내주십시오",
    "이체 부탁드립니다",
    "네 그대로 진행해 주세요",
    "yes 보내줘",
    "네ㅎㅎ",
  ])("is %j, whatever the session's language", (text) => {
    expect(classifyReply(text).kind).toBe("yes");
  });

  test.each([
    "yes?",
    "send it to John",
    "send 5",
    "yesterday",
    "okra",
    "no",
    "go",
    "yes but tomorrow",
    "ahead",
    "don't send it",
    "not ok",
    "do it tomorrow",
    "yes yes no",
    "확인 부탁드려요",
    "이체 확인 좀 부탁드립니다",
  ])("is not %j", (text) => {
    expect(classifyReply(text).kind).not.toBe("yes");
  });
});

describe("of the answers that were written down by hand", () => {
  const heardWrong = (texts: readonly string[], isRight: (text: string) => boolean): string[] =>
    texts.filter((text) => !isRight(text) || !isRight(text.normalize("NFD")));

  test("each list has at least 150, and each of them once", () => {
    for (const texts of [YESES, REFUSALS, NO_YESES]) {
      expect(texts.length).toBeGreaterThanOrEqual(150);
      expect(new Set(texts).size).toBe(texts.length);
    }
  });

  test("97 in 100 yeses are heard as yes", () => {
    const missed = heardWrong(YESES, (text) => classifyReply(text).kind === "yes");

    expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(YESES.length * 0.03);
  });

  test("97 in 100 refusals are heard as a no or a cancel", () => {
    const missed = heardWrong(REFUSALS, isCancel);

    expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(REFUSALS.length * 0.03);
  });

  test("no refusal is heard as a yes", () => {
    expect(heardWrong(REFUSALS, (text) => classifyReply(text).kind !== "yes")).toEqual([]);
  });

  test("none that only looks like a yes is heard as one", () => {
    expect(heardWrong(NO_YESES, (text) => classifyReply(text).kind !== "yes")).toEqual([]);
  });
});

describe("a no or a cancel", () => {
  test.each(CANCELS)("is %j", (text) => {
    expect(isCancel(text)).toBe(true);
    expect(isCancel(text.normalize("NFD"))).toBe(true);
  });

  test.each(NO_CANCELS)("is not %j", (text) => {
    expect(isCancel(text)).toBe(false);
  });
});

test.each([
  ["안돼", "no"],
  ["안 돼요", "no"],
  ["👎", "no"],
  ["nah", "no"],
  ["나중에 할게", "cancel-one"],
  ["음 다음에 할게요", "cancel-one"],
  ["취소 부탁", "cancel-one"],
  ["취소 부탁드립니다", "cancel-one"],
  ["멈춰", "cancel-one"],
  ["멈춰!!", "cancel-one"],
  ["잠깐 멈춰주세요", "cancel-one"],
  ["취소해줄래?", "cancel-one"],
  ["can you cancel it?", "cancel-one"],
  ["sorry, cancel that", "cancel-one"],
  ["maybe later", "cancel-one"],
  ["전부 취소해줘", "cancel-all"],
  ["다 취소할게요ㅠㅠ", "cancel-all"],
  ["그냥 다 취소", "cancel-all"],
  ["나머지도 취소해줘", "cancel-all"],
  ["전부 안 보낼래", "cancel-all"],
  ["cancel everything", "cancel-all"],
  ["cancel all of them", "cancel-all"],
  ["네 근데 7만원으로", "change"],
  ["7만원으로 바꿔줘", "change"],
  ["7만원으로 바꿔줄래?", "change"],
  ["아니 3만원", "change"],
  ["엄마 말고 아빠", "change"],
  ["아빠한테도 2만원", "change"],
  ["make it 70k", "change"],
  ["actually 70k", "change"],
  ["send it to John", "change"],
  ["메모에 취소환불이라고 써줘", "change"],
  ["네?", "question"],
  ["응?", "question"],
  ["수수료 얼마야", "question"],
  ["7만원 보내면 수수료 얼마야?", "question"],
  ["방금 이체 됐어?", "question"],
  ["취소할까?", "question"],
  ["취소하면 어떻게 돼?", "question"],
  ["how much is the fee", "question"],
  ["is that right?", "question"],
  ["안녕하세요", "other"],
  ["오늘 날씨 좋다", "other"],
  ["ㅋㅋㅋ", "other"],
  ["", "other"],
  ["🙂", "other"],
  ["응 아니", "unsure"],
  ["네 됐어요", "unsure"],
  ["아니 보내줘", "unsure"],
  ["네 그런데요", "unsure"],
  ["응 근데 잠깐만", "unsure"],
  ["yes but", "unsure"],
  ["네 ❌", "unsure"],
  ["👍👎", "unsure"],
  ["취소 안 할래", "unsure"],
  ["취소하지 마", "unsure"],
  ["yeah right", "unsure"],
  ["~~네~~", "unsure"],
  ["네 보내지 마", "unsure"],
  ["네 엄마한테 보내지 마", "unsure"],
  ["네 🙄", "unsure"],
  ["저기 취소해줘", "cancel-one"],
  ["좋아 그럼 취소하자", "cancel-one"],
  ["no, send nothing", "cancel-one"],
  ["don't", "cancel-one"],
  ["cancel, don't send it", "cancel-one"],
  ["cancel the transfer", "cancel-one"],
  ["엄마한테 5만원 보내지 마", "cancel-one"],
  ["don't send 20,000 won to Bob", "cancel-one"],
  ["cancel the 50k to Bob", "cancel-one"],
  ["전부 하지 마", "cancel-all"],
  ["아무한테도 보내지 마 전부 없던 일로", "cancel-all"],
  ["don't send any of them", "cancel-all"],
  ["Please do not send it. My son says he will pay.", "cancel-one"],
  ["둘 다 아니야", "no"],
  ["don't send 20k, send 30k", "change"],
  ["not to Bob but to Amy", "change"],
  ["영희로", "change"],
  ["아 영희였다", "change"],
  ["oh wait, send it to Lucy", "change"],
  ["recipient is Lucy", "change"],
  ["반대로요", "change"],
  ["영희는 빼줘", "change"],
  ["엄마한테 3만원 받았어", "other"],
  ["if I send 70k", "other"],
] as const)("hears %j as %s", (text, kind) => {
  expect(classifyReply(text).kind).toBe(kind);
});

test("says why", () => {
  expect(classifyReply(" 네？ ")).toEqual({
    kind: "question",
    sure: "exact",
    because: "question-mark",
    words: "네？",
  });
  expect(classifyReply("네 ❌").because).toBe("yes-and-no");
  expect(classifyReply("네 그런데요").because).toBe("yes-with-more");
  expect(classifyReply("엄마한테 보내지 마")).toMatchObject({
    sure: "approximate",
    because: "says-not-to",
  });
});

test("an essay is neither, and is told so at once", () => {
  const essay = "네 취소 ".repeat(10_000);
  const started = performance.now();

  expect(classifyReply(essay)).toMatchObject({ kind: "other", because: "too-long" });
  expect(performance.now() - started).toBeLessThan(boundMs(500));
});

test("a yes stays none whatever is put behind it that is no yes", () => {
  const yes = fc.constantFrom("네", "응", "확인", "yes", "보내줘", "ok", "👍 네");
  const more = fc.constantFrom(
    ..."아니 취소 말고 5만원 엄마한테 근데 내일 ? no but later 안 잠깐 7만원으로 왜 ❌ 아직 말아줘 아마 글쎄 만약 if maybe not unless 50k instead tomorrow 🙄".split(
      " ",
    ),
  );
  fc.assert(
    fc.property(
      fc.array(yes, { minLength: 1, maxLength: 4 }),
      more,
      fc.boolean(),
      (yeses, no, isFirst) => {
        const words = isFirst ? [no, ...yeses] : [...yeses, no];
        expect(classifyReply(words.join(" ")).kind).not.toBe("yes");
      },
    ),
  );
});

test("no yes in marks is one", () => {
  const marks = fc.constantFrom(
    ...[
      ["<b>", "</b>"],
      ["<", ">"],
      ["~~", "~~"],
      ["**", "**"],
      ["_", "_"],
      ["`", "`"],
      ['"', '"'],
      ["“", "”"],
      ["「", "」"],
      ["(", ")"],
      ["!", ""],
      ["> ", ""],
      ["- ", ""],
      ["# ", ""],
      ["1. ", ""],
      ["/", ""],
      ["", ";"],
      ["", "\\"],
    ],
  );
  fc.assert(
    fc.property(fc.constantFrom(...YESES), marks, (yes, [before, behind]) => {
      expect(classifyReply(`${before}${yes}${behind}`).kind).not.toBe("yes");
    }),
  );
});

describe("after a failure", () => {
  test.each([
    "계속 진행",
    "계속",
    "계속진행",
    "계속해줘",
    "계속 진행해 주세요",
    "네",
    "진행해줘",
    "네, 계속해 주세요",
    "ok",
    "continue",
  ])("goes on after %j", (text) => {
    expect(classifyContinue(text).choice).toBe("continue");
  });

  test.each(["취소", "그만", "아니요", "됐어요", "네 취소해주세요", "stop"])(
    "stops after %j",
    (text) => {
      expect(classifyContinue(text).choice).toBe("stop");
    },
  );

  test.each([
    "계속?",
    "계속 진행할까?",
    "계속 안 할래요?",
    "왜 실패했어",
    "계속 실패하네",
    "",
    "5만원",
  ])("waits after %j", (text) => {
    expect(classifyContinue(text).choice).toBe("none");
  });
});

test.each([
  ...["네 취소해 주세요", "응 취소", "응 없애줘", "yes cancel it", "yeah get rid of it"],
  ...["ok cancel this please", "어 취소 ㄱ", "fine, cancel it"],
])("%j is the yes to a question whether to cancel", (words) => {
  expect(isYesToCancel(words)).toBe(true);
});

test.each([
  ...[
    "취소",
    "취소해 주세요",
    "네 아니 취소",
    "네 그만둘게요 취소",
    "네 취소하지 마세요",
    "응 지우지 마",
  ],
  ...[
    "네 근데 메모 빼주세요",
    "네 시간만 빼줘",
    "네 취소?",
    "~~네~~ 취소해 주세요",
    "네 취소 말고 옮겨줘",
  ],
  ...["yes but don't remove it", "yeah remove the reminder", "yes don't cancel", "cancel it"],
])("%j is no yes to a question whether to cancel", (words) => {
  expect(isYesToCancel(words)).toBe(false);
});

test.each([
  ...["go on", "oh go on", "bet not", "wanna bet", "no worries", "no problem", "oh dear", "love"],
  ...[
    "오냐?",
    "그려?",
    "쏴라 말아라",
    "신청 ㄱ",
    "둘 다 안 보내",
    "all good, no need",
    "please do not",
  ],
])("%j pays nothing", (words) => {
  expect(classifyReply(words).kind).not.toBe("yes");
});
