import { describe, expect, test } from "vitest";
import { isCancel, isConfirm, parseContinue } from "./phrases.ts";

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
  "「네」",
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
  "okey dokey",
  "book",
  "okayish",
  "ㅇ",
  "ㅋㅋ",
  "ㄱㄱ",
  "ㄴㄴ",
  "확.인",
  "네 ❌",
  "👎 네",
  "",
  "   ",
  "!!!",
  "👍",
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

describe("isConfirm", () => {
  test.each(CONFIRMS)("takes %j as a yes", (text) => {
    expect(isConfirm(text, "ko")).toEqual({ confirm: true, because: "listed-words" });
    expect(isConfirm(text.normalize("NFD"), "ko")).toEqual({
      confirm: true,
      because: "listed-words",
    });
    expect(isCancel(text, "ko").cancel).toBe(false);
  });

  test.each(NO_CONFIRMS)("does not take %j as a yes", (text) => {
    expect(isConfirm(text, "ko").confirm).toBe(false);
    expect(isConfirm(text, "en").confirm).toBe(false);
  });

  test("says why it is none", () => {
    expect(isConfirm("네？", "ko")).toEqual({ confirm: false, because: "question" });
    expect(isConfirm("👍", "ko")).toEqual({ confirm: false, because: "empty" });
    expect(isConfirm("네 ❌", "ko")).toEqual({ confirm: false, because: "refusing-emoji" });
    expect(isConfirm("이체 확인해줘", "ko")).toEqual({ confirm: false, because: "other-words" });
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
    "네",
  ])("takes %j as a yes in English", (text) => {
    expect(isConfirm(text, "en").confirm).toBe(true);
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
  ])("does not take %j as a yes in English", (text) => {
    expect(isConfirm(text, "en").confirm).toBe(false);
  });
});

describe("isCancel", () => {
  test.each(CANCELS)("takes %j as a no, whatever the locale", (text) => {
    expect(isCancel(text, "ko").cancel).toBe(true);
    expect(isCancel(text.normalize("NFD"), "en").cancel).toBe(true);
    expect(isConfirm(text, "en").confirm).toBe(false);
  });

  test.each(NO_CANCELS)("does not take %j as a no", (text) => {
    expect(isCancel(text, "ko").cancel).toBe(false);
  });
});

test("an essay is neither, and is told so at once", () => {
  const essay = "네 취소 ".repeat(10_000);
  const started = performance.now();

  expect(isConfirm(essay, "ko").confirm || isCancel(essay, "ko").cancel).toBe(false);
  expect(performance.now() - started).toBeLessThan(500);
});

describe("parseContinue", () => {
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
    expect(parseContinue(text, "ko").choice).toBe("continue");
  });

  test.each(["취소", "그만", "아니요", "됐어요", "네 취소해주세요", "stop"])(
    "stops after %j",
    (text) => {
      expect(parseContinue(text, "ko").choice).toBe("stop");
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
    expect(parseContinue(text, "ko").choice).toBe("none");
  });
});
