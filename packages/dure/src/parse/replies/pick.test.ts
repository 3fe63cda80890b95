import { describe, expect, test } from "vitest";
import { lexiconWith } from "../lexicon/index.ts";
import { pickOf } from "./pick.ts";

const AMOUNTS = [{ words: ["50,000원", "5만원"] }, { words: ["70,000원", "7만원"] }];
const PEOPLE = [{ words: ["김영희"] }, { words: ["이영희"] }, { words: ["박철수", "철수"] }];
const NAMES = [{ words: ["Amy"] }, { words: ["Bob Smith", "Bob"] }];
const EACH_OR_TOTAL = [{ words: ["각각", "each"] }, { words: ["합쳐서", "in total", "total"] }];
const ONE = [{ words: ["50,000원", "5만원"] }];

describe("an option is picked by its own words", () => {
  test.each([
    ["5만원", 0],
    ["5만원이요", 0],
    ["5만원이요!", 0],
    ["5만 원", 0],
    ["5만원요", 0],
    ["50,000원", 0],
    ["50000원이요", 0],
    ["7만원입니다", 1],
    ["7만원으로", 1],
    ["7만원으로 해주세요", 1],
    ["7만원으로 보내줘", 1],
    ["네 7만원이요", 1],
    ["아니 7만원", 1],
    ["아 7만원이요", 1],
    ["음.. 5만원", 0],
    ["make it 7만원", 1],
    ["7만원 부탁드려요", 1],
    ["8만원", undefined],
    ["5만원 7만원", undefined],
    ["5만원 아니면 7만원", undefined],
    ["5만원?", undefined],
    ["5만원 말고", undefined],
  ] as const)("of two amounts, %j is %s", (message, place) => {
    expect(pickOf(message, AMOUNTS)).toBe(place);
    expect(pickOf(message.normalize("NFD"), AMOUNTS)).toBe(place);
  });

  test.each([
    ["김영희", 0],
    ["김영희요", 0],
    ["김영희 님이요", 0],
    ["김영희한테요", 0],
    ["김영희로 해주세요", 0],
    ["이영희 씨요", 1],
    ["철수", 2],
    ["박철수로", 2],
    ["영희", undefined],
    ["최영희", undefined],
    ["엄마", undefined],
  ] as const)("of three people, %j is %s", (message, place) => {
    expect(pickOf(message, PEOPLE)).toBe(place);
  });

  test.each([
    ["Amy", 0],
    ["amy please", 0],
    ["to Amy", 0],
    ["send it to Bob", 1],
    ["Bob Smith", 1],
    ["it's Bob", 1],
    ["I meant Bob", 1],
    ["no, Bob", 1],
    ["I'll take Amy", 0],
    ["Bobby", undefined],
    ["Amy and Bob", undefined],
  ] as const)("of two names, %j is %s", (message, place) => {
    expect(pickOf(message, NAMES)).toBe(place);
  });

  test.each([
    ["각각", 0],
    ["각각이요", 0],
    ["each", 0],
    ["합쳐서요", 1],
    ["in total", 1],
    ["합쳐서 보내줘", 1],
  ] as const)("of each and in total, %j is %s", (message, place) => {
    expect(pickOf(message, EACH_OR_TOTAL)).toBe(place);
  });
});

describe("an option is picked by its place", () => {
  test.each([
    ["첫 번째", 0],
    ["첫번째요", 0],
    ["첫 번째 거요", 0],
    ["첫째", 0],
    ["1번", 0],
    ["1번이요", 0],
    ["1", 0],
    ["1번으로 해주세요", 0],
    ["전자", 0],
    ["전자요", 0],
    ["앞에 거", 0],
    ["앞에 거요", 0],
    ["앞의 것", 0],
    ["맨 앞", 0],
    ["위에 거", 0],
    ["처음 거요", 0],
    ["두 번째", 1],
    ["두번째 거요", 1],
    ["두 번째 걸로", 1],
    ["두번째로 해줘", 1],
    ["둘째", 1],
    ["2번", 1],
    ["2번째", 1],
    ["2", 1],
    ["#2", 1],
    ["option 2", 1],
    ["number 2", 1],
    ["후자", 1],
    ["후자로 할게요", 1],
    ["뒤에 거", 1],
    ["뒤에 거요", 1],
    ["아래 거", 1],
    ["마지막", 1],
    ["마지막 거요", 1],
    ["네 두 번째요", 1],
    ["음 두 번째 거", 1],
    ["the first one", 0],
    ["first", 0],
    ["the first", 0],
    ["1st", 0],
    ["former", 0],
    ["the former", 0],
    ["number one", undefined],
    ["the second one", 1],
    ["the second one please", 1],
    ["second", 1],
    ["2nd", 1],
    ["latter", 1],
    ["the latter", 1],
    ["the last one", 1],
    ["last", 1],
    ["I'll take the second", 1],
    ["no, the second one", 1],
    ["세 번째", undefined],
    ["3번", undefined],
    ["3", undefined],
    ["0", undefined],
    ["2만원", undefined],
    ["2만", undefined],
    ["20", undefined],
    ["2 3", undefined],
    ["second thoughts", undefined],
    ["첫 번째 두 번째", undefined],
  ] as const)("of two, %j is %s", (message, place) => {
    expect(pickOf(message, AMOUNTS)).toBe(place);
  });

  test("the third and the last are places of a longer list", () => {
    expect(pickOf("세 번째", PEOPLE)).toBe(2);
    expect(pickOf("3번이요", PEOPLE)).toBe(2);
    expect(pickOf("the third one", PEOPLE)).toBe(2);
    expect(pickOf("마지막이요", PEOPLE)).toBe(2);
    expect(pickOf("후자", PEOPLE)).toBe(1);
  });

  test("a bare number that an option begins with may mean either, and picks none", () => {
    const options = [{ words: ["2만원", "20,000원"] }, { words: ["3만원", "30,000원"] }];

    expect(pickOf("2", options)).toBeUndefined();
    expect(pickOf("2번", options)).toBe(1);
    expect(pickOf("2만원", options)).toBe(0);
    expect(pickOf("1", options)).toBe(0);
  });

  test("an option that is named as a number comes before the place", () => {
    expect(pickOf("2", [{ words: ["2"] }, { words: ["3"] }])).toBe(0);
  });
});

describe("a plain answer", () => {
  test.each(["네", "네 맞아요", "ㅇㅇ", "yes", "that's right", "👍"])(
    "that says yes picks the only option: %j",
    (message) => {
      expect(pickOf(message, ONE)).toBe(0);
      expect(pickOf(message, AMOUNTS)).toBeUndefined();
    },
  );

  test.each([
    "아니요",
    "아니",
    "ㄴㄴ",
    "no",
    "nope",
    "둘 다 아니야",
    "둘 다 아니에요",
    "다 아니에요",
    "아니요 둘 다 아니에요",
    "둘다 아닌데요",
    "neither",
    "neither of them",
    "no, neither",
    "none of them",
    "none of the above",
  ])("that says no picks none: %j", (message) => {
    expect(pickOf(message, AMOUNTS)).toBe("none");
    expect(pickOf(message, ONE)).toBe("none");
  });

  test.each([
    "",
    "둘 다",
    "둘 다요",
    "둘 다 보내줘",
    "both",
    "both of them",
    "취소",
    "나중에 할게요",
    "글쎄",
    "수수료 얼마야?",
    "네?",
    "안녕하세요",
    "9만원",
    "두 번째 아니면 첫 번째",
    "either",
    "anything",
    "5만원 ".repeat(30),
  ])("that says something else picks nothing: %j", (message) => {
    expect(pickOf(message, AMOUNTS)).toBeUndefined();
  });

  test("without options there is nothing to pick", () => {
    expect(pickOf("네", [])).toBeUndefined();
    expect(pickOf("마지막", [])).toBeUndefined();
    expect(pickOf("첫 번째", [])).toBeUndefined();
  });
});

test("a service's own words stand around a choice", () => {
  const lexicon = lexiconWith({ fillers: ["사장님"], choosing: ["주문이요"] });

  expect(pickOf("사장님 두 번째 주문이요", AMOUNTS, lexicon)).toBe(1);
  expect(pickOf("사장님 두 번째 주문이요", AMOUNTS)).toBeUndefined();
});
