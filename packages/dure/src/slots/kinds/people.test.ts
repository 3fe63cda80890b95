import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { slot } from "./slot.ts";
import { expectNoSurprise, expectReadBack, taken, TODAY } from "./test-kinds.ts";

describe("a person", () => {
  const person = slot.person({ contacts: ["민지", "이 팀장님"] });
  const unclear = "! PERSON_UNCLEAR";

  test.each([
    ["홍길동", "홍길동"],
    ["홍길동님", "홍길동"],
    ["홍길동님에게", "홍길동"],
    ["홍길동한테", "홍길동"],
    ["엄마", "엄마"],
    ["엄마요", "엄마"],
    ["우리 엄마한테", "엄마"],
    ["음 아빠", "아빠"],
    ["선생님", "선생님"],
    ["민지", "민지"],
    ["민지요", "민지"],
    ["이팀장님", "이 팀장님"],
    ["국민 110-234-567890", "국민 110-234-567890"],
    ["110-234-567890", "110-234-567890"],
    ["John Smith", "John Smith"],
    ["to John Smith", "John Smith"],
    ["my mom", "mom"],
    ["Bob", "Bob"],
    ["졸려", unclear],
    ["배고프다", unclear],
    ["잠깐만", unclear],
    ["네", unclear],
    ["5만원", unclear],
    ["내일", unclear],
    ["누구", unclear],
    ["누구한테 보내지?", unclear],
    ["yes", unclear],
    ["", unclear],
    [12, unclear],
    [null, unclear],
    ["ㅎㅎ", unclear],
  ] as const)("takes %j as %j", (raw, value) => {
    expect(taken(person, raw)).toBe(value);
  });

  test("is found by its name where it is known, and by what marks it where it is not", () => {
    const { find } = person.reader!(TODAY);

    expect(find("민지 5만원")).toMatchObject([{ value: "민지", at: 0 }]);
    expect(find("민지랑 홍길동한테 5만원씩 보내줘").map((one) => one.ok && one.value)).toEqual([
      "민지",
      "홍길동",
    ]);
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(person, fc.constantFrom("엄마", "홍길동", "민지", "이 팀장님", "John Smith"));
    expectNoSurprise(person);
  });
});

describe("a phone number", () => {
  const phone = slot.phone();
  const unclear = "! PHONE_UNCLEAR";
  const length = "! PHONE_LENGTH";

  test.each([
    ["010-1234-5678", "01012345678"],
    ["01012345678", "01012345678"],
    ["010 1234 5678", "01012345678"],
    ["010.1234.5678", "01012345678"],
    ["０１０－１２３４－５６７８", "01012345678"],
    ["+82 10-1234-5678", "01012345678"],
    ["+82 (0)10-1234-5678", "01012345678"],
    ["공일공 일이삼사 오육칠팔", "01012345678"],
    ["공일공에 일이삼사에 오육칠팔이요", "01012345678"],
    ["010에 1234에 5678이에요", "01012345678"],
    ["제 번호는 010-1234-5678이에요", "01012345678"],
    ["my number is 010-1234-5678", "01012345678"],
    ["011-234-5678", "0112345678"],
    ["02-123-4567", "021234567"],
    ["(02) 1234-5678", "0212345678"],
    ["031-123-4567", "0311234567"],
    ["070-1234-5678", "07012345678"],
    ["0502-1234-5678", "050212345678"],
    ["1588-1234", "15881234"],
    ["+1 (415) 555-0123", "+14155550123"],
    ["+44 20 7946 0958", "+442079460958"],
    ["010-1234-567", length],
    ["010-1234-56789", length],
    ["공일공 일이삼사", length],
    ["+1 415", length],
    ["110-234-567890", unclear],
    ["1234", unclear],
    ["112", unclear],
    ["엄마 번호", unclear],
    ["same as before", unclear],
    ["2026-12-03", unclear],
    ["", unclear],
    [1_012_345_678, unclear],
    [null, unclear],
  ] as const)("takes %j as %j", (raw, value) => {
    expect(taken(phone, raw)).toBe(value);
  });

  test("is shown in groups", () => {
    expect(phone.show?.("01012345678", "ko")).toBe("010-1234-5678");
    expect(phone.show?.("021234567", "en")).toBe("02-123-4567");
    expect(phone.show?.("15881234", "ko")).toBe("1588-1234");
    expect(phone.show?.("+14155550123", "ko")).toBe("+14155550123");
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(
      phone,
      fc.oneof(
        fc.stringMatching(/^010\d{8}$/u),
        fc.stringMatching(/^02\d{7,8}$/u),
        fc.stringMatching(/^1[568]\d{6}$/u),
        fc.stringMatching(/^\+1\d{10}$/u),
      ),
    );
    expectNoSurprise(phone);
  });
});
