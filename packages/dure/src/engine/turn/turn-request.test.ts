import { expect, test } from "vitest";
import { lettersOf, detectLanguage } from "./turn-request.ts";
import { boundMs } from "../../kernel/test-bounds.ts";

test.each([
  "홍길동에게 5만원 보내줘",
  "안녕하세요",
  "안녕",
  "배고프다",
  "취소해줘",
  "네 보내주세요",
  "수수료 얼마야?",
  "방금 이체 됐어?",
  "로그인 module review 좀 해줘",
  "이 오류 왜 나요? TypeError: you cannot read this because it is not there",
  "엄마랑 아빠한테 5만원",
  "내일 오전 9시에 회의실 잡아줘",
])("%s is clearly Korean", (text) => {
  expect(detectLanguage(text)).toBe("ko");
});

test.each([
  "Send 50,000 won to Hong Gildong",
  "Hello",
  "hi there",
  "send money",
  "What does 배고프다 mean?",
  'How do you say "나는 배고파요" in English?',
  "I'd like a room for tomorrow",
  "Where is my parcel?",
  "50k from the savings account to John",
])("%s is clearly English", (text) => {
  expect(detectLanguage(text)).toBe("en");
});

test.each([
  "",
  "ok",
  "OK!",
  "yes",
  "sure",
  "send it",
  "thanks",
  "ㅋㅋ",
  "ㅇㅇ",
  "네",
  "응",
  "확인",
  "홍길동",
  "김철수 이영희",
  "5만원",
  "7만원으로",
  "John Smith",
  "Bank of America",
  "react-router",
  "git status",
  "TEST",
  "👍",
  "123-456",
  "https://example.com/is/this/your/page",
  "hello@example.com",
  "`what is this`",
  "@ruda @eden",
  "Ich möchte Geld",
  "こんにちは",
])("%j tells no language", (text) => {
  expect(detectLanguage(text)).toBeUndefined();
});

test.each([
  ["parcel status", "en"],
  ["wire 50k John", "en"],
  ["Ich möchte Geld", "en"],
  ["cancel", "en"],
  ["소포 조회", "ko"],
  ["홍길동 5만원", "ko"],
  ["parcel 조회", undefined],
  ["ok", undefined],
  ["홍길동", undefined],
  ["Seoul", undefined],
  ["お金 送る", undefined],
  ["`git status`", undefined],
  ["https://example.com/a/page", undefined],
  ["50 000", undefined],
] as const)("the letters of %j are of %s", (text, language) => {
  expect(lettersOf(text)).toBe(language);
});

test.each(["a", "`", "'", "@", "가"])("of 65,536 times %s only the beginning is read", (sign) => {
  const started = performance.now();

  const language = detectLanguage(sign.repeat(65_536));

  expect(language).toBeUndefined();
  expect(performance.now() - started).toBeLessThan(boundMs(2_000));
});
