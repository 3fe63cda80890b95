import { describe, expect, test } from "vitest";
import { pageLimit, pageOf, readCursor } from "./page.ts";

const SHAPE = /^(\d{1,15})\/(.+)$/s;
const rows = [1, 2, 3].map((at) => ({ at, id: `a/${at}` }));
const orderOf = ({ at, id }: (typeof rows)[number]): readonly (string | number)[] => [at, id];

describe("a page", () => {
  test("names its last row where there are more rows, and gives its values back", () => {
    const page = pageOf(rows, 2, orderOf);

    expect(page.items).toEqual(rows.slice(0, 2));
    expect(readCursor(page.nextCursor!, SHAPE)).toEqual(["2", "a/2"]);
  });

  test("has no cursor where the list ends with it", () => {
    expect(pageOf(rows, 3, orderOf)).toEqual({ items: rows, nextCursor: null });
    expect(pageOf([], 3, orderOf)).toEqual({ items: [], nextCursor: null });
  });

  test("has at least one item and at most what a list allows", () => {
    const size = { usual: 50, most: 200 };

    expect([undefined, 0, 7, 1_000].map((asked) => pageLimit(asked, size))).toEqual([
      50, 1, 7, 200,
    ]);
  });
});

describe("a cursor", () => {
  test("of an older release, which gave out the values as they are, is read too", () => {
    expect(readCursor("9", /^(\d{1,15})$/)).toEqual(["9"]);
    expect(readCursor("9.escalation_1", /^(\d{1,18})[/.](\w{1,100})$/)).toEqual([
      "9",
      "escalation_1",
    ]);
  });

  test("may be left out", () => {
    expect(readCursor(undefined, SHAPE)).toBeUndefined();
  });

  test.each([
    ["nonsense"],
    [""],
    ["1; drop table"],
    [Buffer.from("x/a").toString("base64url")],
    [Buffer.from("1/").toString("base64url")],
    [Buffer.from("1/a\0").toString("base64url")],
    [Buffer.from("1".repeat(16) + "/a").toString("base64url")],
  ])("that no list has given out is refused: %s", (cursor) => {
    expect(() => readCursor(cursor, SHAPE)).toThrow(
      expect.objectContaining({ code: "CURSOR_INVALID", class: "input" }),
    );
  });
});
