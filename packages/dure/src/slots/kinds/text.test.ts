import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { slot } from "./slot.ts";
import { expectNoSurprise, expectReadBack, taken } from "./test-kinds.ts";

describe("a text", () => {
  const memo = slot.text({ max: 12 });
  const code = slot.text({ min: 3, max: 5, pattern: /^[A-Z0-9]+$/u });

  test.each([
    ["생일 축하해", "생일 축하해"],
    ["  띄어   쓰기  ", "띄어 쓰기"],
    ["줄\n바꿈", "줄 바꿈"],
    ["탭\t하나", "탭 하나"],
    ["happy birthday", "! TEXT_LENGTH"],
    ["happy bday", "happy bday"],
    ["열두 글자까지 됩니다", "열두 글자까지 됩니다"],
    ["열세 글자부터는 안 돼요", "! TEXT_LENGTH"],
    ["네", "네"],
    ["no", "no"],
    ["3만원", "3만원"],
    ["👍", "👍"],
    ["가", "가"],
    ["Ａ", "Ａ"],
    ["a\u200Bb", "a b"],
    [12, "12"],
    [0, "0"],
    ["", "! TEXT_UNREADABLE"],
    ["   ", "! TEXT_UNREADABLE"],
    ["\u0000", "! TEXT_UNREADABLE"],
    [undefined, "! TEXT_UNREADABLE"],
    [null, "! TEXT_UNREADABLE"],
    [true, "! TEXT_UNREADABLE"],
    [{}, "! TEXT_UNREADABLE"],
    [["a"], "! TEXT_UNREADABLE"],
  ] as const)("takes %j as the text %j", (raw, value) => {
    expect(taken(memo, raw)).toBe(value);
  });

  test.each([
    ["ABC", "ABC"],
    ["A1B2C", "A1B2C"],
    [1234, "1234"],
    [" ABC ", "ABC"],
    ["AB", "! TEXT_LENGTH"],
    ["ABCDEF", "! TEXT_LENGTH"],
    ["abc", "! TEXT_FORM"],
    ["가나다", "! TEXT_FORM"],
    ["A-B", "! TEXT_FORM"],
  ] as const)("takes %j as the code %j", (raw, value) => {
    expect(taken(code, raw)).toBe(value);
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(memo, fc.stringMatching(/^[가-힣a-z0-9]{1,6}$/u));
    expectNoSurprise(memo);
    expectNoSurprise(code);
  });
});

describe("an address", () => {
  const address = slot.address();

  test.each([
    ["서울시 강남구 테헤란로 152", "서울시 강남구 테헤란로 152"],
    [" 강남구  테헤란로 152 ", "강남구 테헤란로 152"],
    ["서울시 강남구", "서울시 강남구"],
    ["서울 마포구 연남동 223-14", "서울 마포구 연남동 223-14"],
    ["부산 해운대구 우동", "부산 해운대구 우동"],
    ["경기도 성남시 분당구 판교역로 235", "경기도 성남시 분당구 판교역로 235"],
    ["제주시 애월읍", "제주시 애월읍"],
    ["전남 순천시 서면", "전남 순천시 서면"],
    ["래미안아파트 101동 1502호", "래미안아파트 101동 1502호"],
    ["종로3가 12", "종로3가 12"],
    ["세종대로 110, 3층", "세종대로 110, 3층"],
    ["월드컵북로 400", "월드컵북로 400"],
    ["강남파이낸스센터 20층", "강남파이낸스센터 20층"],
    ["한빛마을 입구", "한빛마을 입구"],
    ["152 Teheran-ro, Gangnam-gu, Seoul", "152 Teheran-ro, Gangnam-gu, Seoul"],
    ["221B Baker Street", "221B Baker Street"],
    ["Baker Street", "Baker Street"],
    ["5th Ave, New York", "5th Ave, New York"],
    ["10 Downing St", "10 Downing St"],
    ["Apt 4B, 12 Main Rd", "Apt 4B, 12 Main Rd"],
    ["우리집", "! ADDRESS_UNCLEAR"],
    ["집으로 보내줘", "! ADDRESS_UNCLEAR"],
    ["home", "! ADDRESS_UNCLEAR"],
    ["my place", "! ADDRESS_UNCLEAR"],
    ["거기요", "! ADDRESS_UNCLEAR"],
    ["지난번 그곳", "! ADDRESS_UNCLEAR"],
    ["12", "! ADDRESS_UNCLEAR"],
    ["", "! ADDRESS_UNCLEAR"],
    [152, "! ADDRESS_UNCLEAR"],
    [null, "! ADDRESS_UNCLEAR"],
    [`${"가".repeat(200)} 1`, "! ADDRESS_LONG"],
  ] as const)("takes %j as the address %j", (raw, value) => {
    expect(taken(address, raw)).toBe(value);
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(address, fc.stringMatching(/^[가-힣]{2,8}(?:구|동) [1-9]\d{0,3}$/u));
    expectNoSurprise(address);
  });
});

describe("a file", () => {
  const file = slot.file();
  const wrong = "! FILE_MISSING";

  test.each([
    ["file_01JABCDEFGHJKMNPQRSTVWXYZ0", "file_01JABCDEFGHJKMNPQRSTVWXYZ0"],
    ["file_a", "file_a"],
    ["file_0", "file_0"],
    [" file_abc ", "file_abc"],
    ["file_abc\n", "file_abc"],
    [`file_${"a".repeat(60)}`, `file_${"a".repeat(60)}`],
    [`file_${"a".repeat(61)}`, wrong],
    ["file_", wrong],
    ["file", wrong],
    ["FILE_abc", wrong],
    ["files_abc", wrong],
    ["file_abc.pdf", wrong],
    ["file_a b", wrong],
    ["file_a-b", wrong],
    ["file_가", wrong],
    ["../file_abc", wrong],
    ["/v1/agent/files/file_abc", wrong],
    ["https://example.com/file_abc", wrong],
    ["report.pdf", wrong],
    ["보고서.pdf", wrong],
    ["첨부했어요", wrong],
    ["the one above", wrong],
    ["file_abc, file_def", wrong],
    ["file_abc?x=1", wrong],
    ["", wrong],
    [" ", wrong],
    [3, wrong],
    [null, wrong],
    [undefined, wrong],
    [{ id: "file_abc" }, wrong],
    [["file_abc"], wrong],
  ] as const)("takes %j as the file %j", (raw, value) => {
    expect(taken(file, raw)).toBe(value);
  });

  test("is found by its id in a sentence", () => {
    const found = file.reader?.({ today: "2026-11-18" }).find("여기 file_01AB 와 xfile_02");

    expect(found).toMatchObject([{ ok: true, value: "file_01AB", at: 3 }]);
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(file, fc.stringMatching(/^file_[0-9A-Za-z]{1,30}$/u));
    expectNoSurprise(file);
  });
});
