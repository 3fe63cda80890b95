import fc from "fast-check";
import { expect, test } from "vitest";
import { findPayments, namedRecipients } from "./payments.ts";
import { parsePerson } from "./person.ts";

/** `엄마 50000, 아빠 -`. */
function shown(sentence: string): string {
  return findPayments(sentence)
    .payments.map(({ to, amount }) =>
      [to, amount === undefined ? "-" : amount.ok ? amount.value : amount.because].join(" "),
    )
    .join(", ");
}

test.each([
  ["엄마한테 5만원 보내줘", "엄마 50000"],
  ["5만원 엄마한테 보내줘", "엄마 50000"],
  ["엄마에게 5만원을 이체해 주세요", "엄마 50000"],
  ["홍길동님께 3만 5천원 송금", "홍길동 35000"],
  ["홍길동 5만원", "홍길동 50000"],
  ["우리 엄마한테 5만원", "엄마 50000"],
  ["김 대리한테 만원", "김 대리 10000"],
  ["박 선생님께 10만원", "박 선생님 100000"],
  ["민수 엄마한테 5만원", "민수 엄마 50000"],
  ["내일 엄마한테 5만원 보내줘", "엄마 50000"],
  ["엄마한테 내일 5만원", "엄마 50000"],
  ["국민 110-234-567890으로 5만원 보내줘", "국민 110-234-567890 50000"],
  ["엄마한테 5만원, 아니 6만원 보내줘", "엄마 60000"],
  ["김민재한테 30만 아 잠깐 3만원", "김민재 30000"],
  ["send 50k, no wait, 60k to John", "John 60000"],
  ["아빠껜 십만원", "아빠 100000"],
  ["엄마 7만원이야 7만원", "엄마 70000"],
  ["커피 4500원짜리 두 잔 값 선우한테", "선우 9000"],
  ["3만원 더하기 1만 2천원 규리한테", "규리 42000"],
  ["Grace gets 3 x 15,000", "Grace 45000"],
  ["2번은 2만원", ""],
  ["엄마, 아빠, 동생한테 각각 3만원", "엄마 30000, 아빠 30000, 동생 30000"],
  ["엄마랑 아빠한테 5만원씩", "엄마 50000, 아빠 50000"],
  ["엄마 아빠한테 5만원씩 보내줘", "엄마 50000, 아빠 50000"],
  ["5만원씩 엄마랑 아빠한테", "엄마 50000, 아빠 50000"],
  ["엄마하고 아빠한테 각각 5만원", "엄마 50000, 아빠 50000"],
  ["민수, 영희, 철수에게 만원씩 보내줘", "민수 10000, 영희 10000, 철수 10000"],
  ["엄마한테, 아빠한테, 동생한테 3만원씩", "엄마 30000, 아빠 30000, 동생 30000"],
  ["엄마한테 보내고, 아빠한테 3만원", "엄마 -, 아빠 30000"],
  ["아내 계좌로 30만원 옮겨줘", "아내 300000"],
  ["신한 110123456789로 만원", "신한 110123456789 10000"],
  ["엄마 말고 아빠한테 3만원", "아빠 30000"],
  ["엄마한테 점심값 5만원", "엄마 50000"],
  ["매일유업에 5만원", "매일유업 50000"],
  ["엄마 3만, 아빠 2만, 동생 1만", "엄마 30000, 아빠 20000, 동생 10000"],
  ["엄마한테 3만원 아빠한테 2만원", "엄마 30000, 아빠 20000"],
  ["엄마한테 3만원, 아빠한테는 2만원 보내줘", "엄마 30000, 아빠 20000"],
  ["3만원을 엄마한테, 2만원을 아빠한테", "엄마 30000, 아빠 20000"],
  ["아빠한테도 2만원", "아빠 20000"],
  ["이번엔 아빠한테 만원 보내줘", "아빠 10000"],
  ["그럼 이제 아빠한테도 2만원", "아빠 20000"],
  ["다음은 동생한테 만원", "동생 10000"],
  ["마지막으로 할머니께 5만원", "할머니 50000"],
  ["now send 50k to mom", "mom 50000"],
  ["엄마한테 보내줘", "엄마 -"],
  ["엄마랑 아빠한테 보내줘", "엄마 -, 아빠 -"],
  ["엄마한테 3만원 그리고 아빠한테도", "엄마 30000, 아빠 -"],
  ["존한테 30달러", "존 foreign-currency"],
  ["send 50k to mom", "mom 50000"],
  ["Send 50,000 won to John Smith tomorrow", "John Smith 50000"],
  ["five hundred thousand won to Oh Se-young. Thank you, Margaret", "Oh Se-young 500000"],
  ["10k each to Mom and Dad", "Mom 10000, Dad 10000"],
  ["send Mom, Dad and Kim 10k each", "Mom 10000, Dad 10000, Kim 10000"],
  ["pay Kim 30,000 won", "Kim 30000"],
  ["send 5만원 to 엄마", "엄마 50000"],
  ["30k to mom and 20k to dad", "mom 30000, dad 20000"],
  ["5만원 보내줘", ""],
  ["돈 보내줘", ""],
  ["배고프다", ""],
  ["오늘 날씨 어때", ""],
  ["누구한테 보냈지", ""],
  ["안녕하세요", ""],
] as const)("reads in %j: %s", (sentence, payments) => {
  expect(shown(sentence)).toBe(payments);
});

test.each([
  ["엄마랑 아빠한테 5만원", ["each-or-total"]],
  ["엄마랑 아빠한테 총 5만원", ["each-or-total"]],
  ["민수 영희한테 5만원", ["one-name-or-two"]],
  ["엄마한테 5만원 3만원", ["several-amounts"]],
  ["5만원 보내줘", ["amount-without-person"]],
  ["엄마랑 아빠한테 5만원씩", []],
  ["엄마한테 5만원", []],
  ["send 10k to Mom and Dad", ["each-or-total"]],
  ["split 60,000 between Tom and Ann", ["each-or-total"]],
  ["엄마나 아빠한테 5만원", ["each-or-total"]],
  ["철수랑 영희 각각 5만원 3만원", ["several-amounts"]],
  ["30k to Mom and twice that to Dad", []],
  ["add 10,000 won", ["amount-without-person"]],
  ["엄마한테 3만원 받았어", []],
  ["엄마한테 3만원, 엄마한테 2만원", ["several-amounts"]],
] as const)("doubts in %j: %j", (sentence, doubts) => {
  expect(findPayments(sentence).doubts).toEqual(doubts);
});

test.each([
  ["엄마", "엄마"],
  ["엄마요", "엄마"],
  ["홍길동님에게", "홍길동"],
  ["우리 엄마한테 보내줘", "엄마"],
  ["김 선생님이요", "김 선생님"],
  ["to John Smith", "John Smith"],
  ["my brother", "brother"],
  ["국민 110-234-567890", "국민 110-234-567890"],
  ["민지", "민지"],
  ["영희 씨", "영희"],
  ["엄마 ❤️", "엄마"],
  ["다음이", "다음이"],
  ["Will Smith", "Will Smith"],
  ["Bank of America", "Bank of America"],
  ["Mr. Smith", "Mr. Smith"],
  ["김 대리", "김 대리"],
] as const)("takes %j for %s", (words, name) => {
  expect(parsePerson(words)).toMatchObject({ ok: true, value: name });
});

test.each([
  "배고프다",
  "뭐라고?",
  "5만원",
  "오늘 너무 피곤한데 어떡하지 진짜",
  "보내줘",
  "",
  "👍",
  "3",
  "음",
  "아차",
  "um",
  "Okay",
  "make it",
])("does not take %j for a person", (words) => {
  expect(parsePerson(words).ok).toBe(false);
});

test("drops no person of a list, however long and however it is joined", () => {
  const people = fc.uniqueArray(
    fc.constantFrom("엄마", "아빠", "동생", "민수", "영희", "철수", "이모"),
    {
      minLength: 2,
      maxLength: 7,
    },
  );
  fc.assert(
    fc.property(people, fc.constantFrom(", ", "랑 ", "하고 ", ",", "와 "), (names, joiner) => {
      const { payments, doubts } = findPayments(`${names.join(joiner)}한테 3만원씩 보내줘`);

      expect(payments.map(({ to }) => to)).toEqual(names);
      expect(doubts).toEqual([]);
    }),
  );
});

test("never throws and never names a person that was not written", () => {
  const pieces =
    "엄마 아빠 한테 랑 , 5만원 3만 씩 각각 내일 to and Mom send 110-234-567890 ? ! 👍".split(" ");
  const rubble = fc
    .array(fc.constantFrom(...pieces, " "), { maxLength: 30 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(rubble, fc.string()), (sentence) => {
      const line = sentence.normalize("NFC").replaceAll(/[\p{C}\p{Z}\s]+/gu, " ");
      for (const { to } of findPayments(sentence).payments) {
        for (const word of to.split(" ")) expect(line).toContain(word);
      }
    }),
  );
});

test.each([
  ["엄마한테 5만원 보내줘", ["엄마"]],
  ["엄마한테 보내줘", ["엄마"]],
  ["철수는 5만원, 영희는 3만원", ["철수", "영희"]],
  ["엄마 3만원 아빠 2만원", ["엄마", "아빠"]],
  ["민수 3만원 지연 2만원", ["민수", "지연"]],
  ["엄마 말고 아빠한테 5만원", ["아빠"]],
  ["엄마 앞으로 5만원, 아빠 앞으로 3만원", ["엄마", "아빠"]],
  ["send 20k to Jane and 10k to Bob", ["Jane", "Bob"]],
  ["20k for Jane", ["Jane"]],
  ["Mr. Smith 50k", ["Mr. Smith"]],
  // what only stands beside an amount
  ["토스 5만원", []],
  ["민수 영희한테 5만원", []],
  ["send 20k to john", []],
  // reports, questions, quotations
  ["엄마한테 3만원 받았어", []],
  ["엄마한테 5만원 보내면 수수료 얼마야?", []],
  ["what if I send 20k to Bob", []],
  ["not to Bob but to Amy", ["Amy"]],
  ["엄마한테 5만원 메모는 '아빠한테 3만원'", ["엄마"]],
  ['엄마가 "아빠한테 3만원"이라고 했어', []],
  ["5만원 보내줘", []],
] as const)("names as recipients beyond doubt in %j: %j", (sentence, names) => {
  expect(namedRecipients(sentence)).toEqual(names);
});

test("an unread fraction before an amount does not hide its person", () => {
  const { payments } = findPayments("half a million won to Mark");

  expect(payments.map(({ to }) => to)).toEqual(["Mark"]);
});
