import { expect, test } from "vitest";
import { boundMs } from "../kernel/test-bounds.ts";
import { findPhones, formatPhone, isPhone, parsePhone } from "./phone.ts";

test.each([
  ["010-1234-5678", "01012345678"],
  ["+82 10-1234-5678", "01012345678"],
  ["공일공에 일이삼사에 오육칠팔이요", "01012345678"],
  ["zero one zero one two three four five six seven eight", "01012345678"],
  ["call me at 010 1234 5678", "01012345678"],
  ["0082 10 1234 5678", "01012345678"],
] as const)("reads %j as the phone number %s", (words, value) => {
  expect(parsePhone(words)).toEqual({ ok: true, value, sure: "exact", others: [], words });
});

test.each([
  ["", "empty"],
  ["010-1234-567", "wrong-length"],
  ["02-12-34", "wrong-length"],
  ["110-234-567890", "not-a-phone"],
  ["엄마", "not-a-phone"],
  ["0".repeat(100), "not-a-phone"],
] as const)("refuses %j as a phone number: %s", (words, because) => {
  expect(parsePhone(words)).toMatchObject({ ok: false, because });
});

test.each([
  ["내 번호 010-1234-5678 로 연락줘", ["010-1234-5678"]],
  ["공일공 일이삼사 오육칠팔로 문자 주세요", ["공일공 일이삼사 오육칠팔"]],
  ["call +1 415 555 0123 or 02-123-4567", ["+1 415 555 0123", "02-123-4567"]],
  ["1588-1234로 전화했어요", ["1588-1234"]],
  ["01012345678번이요", ["01012345678"]],
  ["5만원 01012345678 10000", ["01012345678"]],
  ["국민 110-234-567890으로 보내줘", []],
  ["2026-12-03 15:00", []],
  ["1588-1234-5678", []],
  ["공장 일 이야기", []],
] as const)("finds in %j: %j", (sentence, words) => {
  const found = findPhones(sentence);

  expect(found.map((one) => one.words)).toEqual(words);
  for (const one of found) expect(sentence.slice(one.at)).toContain(one.words);
});

test("a number is shown in groups that are read back", () => {
  for (const number of ["01012345678", "0101234567".padEnd(11, "8"), "0212345678", "15881234"]) {
    expect(isPhone(number)).toBe(true);
    expect(parsePhone(formatPhone(number))).toMatchObject({ value: number });
  }
});

test("takes no longer for a long text than for several short ones", () => {
  const started = performance.now();
  for (const piece of ["0", "010-", "공", "공일공 ", "+1 ", "1588-", "( "]) {
    const text = piece.repeat(Math.floor(1_000 / piece.length));
    findPhones(text);
    parsePhone(text.slice(0, 80));
  }
  expect(performance.now() - started).toBeLessThan(boundMs(1_000));
});
