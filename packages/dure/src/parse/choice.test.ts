import { describe, expect, test } from "vitest";
import { boundMs } from "../kernel/test-bounds.ts";
import { choiceReader, spellingOf } from "./choice.ts";
import { truthReader } from "./truth.ts";

describe("one of several", () => {
  const { parse, find } = choiceReader([
    { value: "small", names: ["소회의실", "small room", "작은 방"] },
    { value: "large", names: ["대회의실", "large room"] },
    { value: "lobby", names: ["로비"] },
    { value: "B1", names: [] },
  ]);

  test.each([
    ["small", "small"],
    ["소 회의실로 할게요", "small"],
    ["작은방이요", "small"],
    ["로비", "lobby"],
    ["로비로요", "lobby"],
    ["b1", "B1"],
    ["Large-Room please", "large"],
    ["대회의실 말고 소회의실", "small"],
    ["대회의실… 아니 소회의실로 할게", "small"],
    ["the large room, no wait, the small room", "small"],
  ] as const)("%j is %s", (words, value) => {
    expect(parse(words)).toEqual({ ok: true, value, sure: "exact", others: [], words });
  });

  test("is ambiguous where two are named, and none where none is", () => {
    expect(parse("소회의실이나 로비")).toMatchObject({ sure: "ambiguous", others: ["lobby"] });
    expect(parse("회의실")).toMatchObject({ ok: false, because: "not-a-choice" });
    expect(parse("")).toMatchObject({ ok: false, because: "empty" });
    expect(parse("a".repeat(81))).toMatchObject({ ok: false, because: "not-a-choice" });
  });

  test.each([
    ["내일 소회의실 3시에 잡아줘", ["소회의실"]],
    ["소회의실은 필요 없고 로비에서", ["로비"]],
    ["instead of the small room take the lobby, B1", ["B1"]],
    ["로비스트를 만나요", []],
    ["소회의실 소회의실", ["소회의실"]],
  ] as const)("finds in %j: %j", (sentence, words) => {
    const found = find(sentence);

    expect(found.map((one) => one.words)).toEqual(words);
    for (const one of found) expect(sentence.slice(one.at)).toContain(one.words);
  });

  test("compares names however they are written", () => {
    expect(spellingOf(" Ｄebit-Card ")).toBe("debitcard");
    expect(spellingOf("!")).toBe("!");
  });
});

describe("a yes or a no", () => {
  const { parse, find } = truthReader({ no: ["room only"] });

  test.each([
    ["네, 없어요", false],
    ["아니요 있어요", true],
    ["room only", false],
    ["조식 필요하지 않아요", false],
    ["주차 있어요", true],
  ] as const)("%j is %j", (words, value) => {
    expect(parse(words)).toMatchObject({ ok: true, value, sure: "exact" });
  });

  test.each([
    ["조식은 필요하고 주차는 필요 없어요", [true, false]],
    ["a room with breakfast", [true]],
    ["정말 맛있어요", []],
    ["상관없어요", []],
  ] as const)("finds in %j: %j", (sentence, values) => {
    expect(find(sentence).map((one) => one.ok && one.value)).toEqual(values);
  });

  test("takes no longer for a long text than for several short ones", () => {
    const started = performance.now();
    for (const piece of ["없", "필요 ", "지 ", "not ", "네 ", "room only "]) {
      const text = piece.repeat(Math.floor(1_000 / piece.length));
      find(text);
      parse(text.slice(0, 80));
    }
    expect(performance.now() - started).toBeLessThan(boundMs(1_000));
  });
});
