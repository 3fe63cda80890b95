import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundMs } from "../kernel/test-bounds.ts";
import { concludes, isAcknowledgement, isBlank, similarity } from "./conclusion.ts";

describe("an exchange ends", () => {
  test("on a reply in which nothing can be seen", () => {
    for (const text of [
      "",
      " \n\t",
      "\u200b\u200d",
      "\u3164",
      "\u2800 \u2800",
      "\u0007",
      "\u00ad",
    ]) {
      expect(concludes("something", "something else", text)).toBe("empty_reply");
    }
  });

  test("on a reply that repeats the speaker's own last one, in other order and letter case too", () => {
    expect(
      concludes(
        "The login module is ready for review.",
        undefined,
        "the login module is READY for review!",
      ),
    ).toBe("repetition");
    expect(
      concludes(
        "로그인 모듈 검토가 끝났고 문제는 없습니다",
        "확인",
        "로그인 모듈 검토가 끝났고, 문제는 없습니다.",
      ),
    ).toBe("repetition");
  });

  test("not on a reply that repeats what the other one said", () => {
    expect(
      concludes(
        "나는 다른 말을 했다",
        "로그인 모듈 검토가 끝났습니다",
        "로그인 모듈 검토가 끝났습니다",
      ),
    ).toBeUndefined();
  });

  test("from 85 % of common words on, and not below", () => {
    const words = Array.from({ length: 20 }, (_, index) => `word${index}`);
    const changed = (count: number) =>
      [...words.slice(count), ...Array.from({ length: count }, (_, index) => `new${index}`)].join(
        " ",
      );

    expect(similarity(words.join(" "), changed(3))).toBe(0.85);
    expect(concludes(words.join(" "), undefined, changed(3))).toBe("repetition");
    expect(concludes(words.join(" "), undefined, changed(4))).toBeUndefined();
  });

  test("on an acknowledgement that answers an acknowledgement, never on the first one", () => {
    expect(concludes("코드 리뷰 해줘", "네, 감사합니다!", "넵 수고하세요 🙏")).toBe(
      "acknowledgement",
    );
    expect(concludes("please review", "Thanks!", "You're welcome 😊")).toBe("acknowledgement");
    expect(
      concludes(undefined, "리뷰를 마쳤습니다. 12번째 줄에 버그가 있어요.", "네, 감사합니다!"),
    ).toBeUndefined();
    expect(concludes(undefined, undefined, "네")).toBeUndefined();
    expect(concludes(undefined, "네, 감사합니다!", "그런데 12번째 줄은 고쳤나요?")).toBeUndefined();
  });

  test("on fewer than the wanted characters without a question, only where that is asked for", () => {
    expect(
      concludes(undefined, "리뷰 결과예요: 문제 없어요", "12번째 줄 수정", { minCharacters: 20 }),
    ).toBe("minimal_content");
    expect(concludes(undefined, "리뷰 결과예요: 문제 없어요", "12번째 줄 수정")).toBeUndefined();
    expect(concludes(undefined, "x", "a".repeat(19), { minCharacters: 20 })).toBe(
      "minimal_content",
    );
    expect(concludes(undefined, "x", "a".repeat(20), { minCharacters: 20 })).toBeUndefined();
    expect(concludes(undefined, "x", "😀".repeat(19), { minCharacters: 20 })).toBe(
      "minimal_content",
    );
  });

  test("not on a short question, with or without its mark", () => {
    for (const text of [
      "언제까지?",
      "어느 파일인가요",
      "제가 할까요",
      "which file",
      "is it done",
      "どれ？",
    ]) {
      expect(concludes(undefined, "x", text, { minCharacters: 20 })).toBeUndefined();
    }
    for (const text of ["파일이 없으니까", "thisWhat file", "somehow done"]) {
      expect(concludes(undefined, "x", text, { minCharacters: 20 })).toBe("minimal_content");
    }
  });
});

describe("an acknowledgement", () => {
  test.each([
    "네",
    "네!",
    "네네",
    "넵~",
    "네, 알겠습니다.",
    "네 알겠습니다. 감사합니다!!",
    "네, 루다님! 정말 감사합니다 😊",
    "@루다 네, 고맙습니다",
    "<@ruda> 확인했습니다 👍🏽",
    "좋아요 ㅎㅎ",
    "ㅇㅋ",
    "수고하셨습니다^^",
    "별말씀을요. 언제든지 말씀해 주세요!",
    "좋은 하루 되세요 :)",
    "확인해 주셔서 감사합니다",
    "감사합니다".normalize("NFD"),
    "OK",
    "Okay, got it. Thanks!",
    "Sounds good, thank you so much!",
    "You’re welcome!",
    "Great, thanks for the update.",
    "No problem, anytime. Have a great day!",
    "👍",
    "👍🏽",
    "🙏🙏 ❤️",
  ])("is %j", (text) => {
    expect(isAcknowledgement(text)).toBe(true);
  });

  test.each([
    "",
    "...",
    "네?",
    "ok?",
    "정말",
    "so much",
    "😡",
    "👍 😡",
    "네, 그런데 테스트가 실패했습니다",
    "감사합니다. 12번째 줄도 봐 주세요",
    "네트워크",
    "예외",
    "네트워크 확인",
    "좋아하는 음식",
    "booking",
    "token",
    "Thanksgiving",
    "thanks, but the build is red",
    "ok computer",
    "surely not",
    "아니요",
    "no",
    "42",
    "네 ".repeat(200),
  ])("is not %j", (text) => {
    expect(isAcknowledgement(text)).toBe(false);
  });
});

describe("similarity", () => {
  test("counts a word as often as it stands in both, against the longer text", () => {
    expect(similarity("a a b", "a b b")).toBeCloseTo(2 / 3);
    expect(similarity("a b", "a b c d")).toBe(0.5);
    expect(similarity("검토 완료", "검토 시작")).toBe(0.5);
    expect(similarity("東京都に行く", "東京都に来る")).toBeCloseTo(4 / 6);
    expect(similarity("네".normalize("NFD"), "네")).toBe(1);
  });

  test("of texts without words is whether they are the same", () => {
    expect(similarity("👍", " 👍 ")).toBe(1);
    expect(similarity("❤️", "☀️")).toBe(0);
    expect(similarity("...", "word")).toBe(0);
    expect(similarity("", "")).toBe(1);
  });

  test("is symmetric, between 0 and 1, and 1 for a text with itself", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (a, b) => {
        expect(similarity(a, b)).toBe(similarity(b, a));
        expect(similarity(a, b)).toBeGreaterThanOrEqual(0);
        expect(similarity(a, b)).toBeLessThanOrEqual(1);
        expect(similarity(a, a)).toBe(1);
      }),
    );
  });
});

test("texts made to be slow are decided quickly", () => {
  const hostile = [
    "a" + "\u0301\u0323".repeat(50_000),
    "네 ".repeat(50_000),
    "@".repeat(100_000),
    "<@".repeat(50_000),
    "\u200b".repeat(100_000),
    "ha".repeat(50_000),
    "ㄱ".repeat(100_000),
  ];

  const before = performance.now();
  for (const text of hostile) concludes(text, text, text + "!", { minCharacters: 20 });

  expect(performance.now() - before).toBeLessThan(boundMs(2_000));
});

test("blank is what cannot be seen", () => {
  expect([" ", "\u200b", "\ufeff", "\u2060\n"].every(isBlank)).toBe(true);
  expect(["a", ".", "👍", "\u0301"].some(isBlank)).toBe(false);
});
