import { expect, test } from "vitest";
import {
  MOST_LEVELS,
  MOST_THINGS,
  walkTrace,
  type CauseBook,
  type TracedThing,
} from "./trace-walk.ts";

function thing(id: string): TracedThing {
  return {
    ...{ id, kind: "turn", title: "", who: "", status: "done", at: 0, endedAt: 0, tokens: null },
    ...{ agents: [], tenant: "", session: null, place: null, job: null },
  };
}

/** A book of these causes: effect by cause. */
function bookOf(causes: Readonly<Record<string, string | undefined>>): CauseBook {
  return {
    find: async (id) => (id in causes ? thing(id) : undefined),
    causeOf: async ({ id }) => causes[id],
    effectsOf: async (ids, most) =>
      Object.entries(causes)
        .filter(([, cause]) => cause !== undefined && ids.includes(cause))
        .map(([id, cause]) => ({ from: cause!, thing: thing(id) }))
        .slice(0, most),
  };
}

const all = async (): Promise<boolean> => true;

test("the whole chain is found from any of its things", async () => {
  const book = bookOf({ a: undefined, b: "a", c: "b", d: "b", e: "a" });

  for (const asked of ["a", "b", "c", "d", "e"]) {
    const trace = await walkTrace(asked, { book, maySee: all });
    const found = trace!.items.map(({ id, beganBy }) => `${beganBy ?? ""}${id}`);
    expect(found.toSorted()).toEqual(["a", "ab", "ae", "bc", "bd"]);
    expect(trace!.isCut).toBe(false);
  }
});

test("what one may not see hides all that is behind it, on the way up and down", async () => {
  const book = bookOf({ a: undefined, b: "a", c: "b", d: "c" });
  const maySee = async ({ id }: TracedThing): Promise<boolean> => id !== "b";

  expect((await walkTrace("d", { book, maySee }))!.items.map(({ id }) => id)).toEqual(["c", "d"]);
  expect((await walkTrace("a", { book, maySee }))!.items.map(({ id }) => id)).toEqual(["a"]);
  expect(await walkTrace("b", { book, maySee })).toBeUndefined();
  expect(await walkTrace("z", { book, maySee })).toBeUndefined();
});

test("things that began each other do not go round, and all is bounded", async () => {
  const round = bookOf({ a: "c", b: "a", c: "b" });
  expect((await walkTrace("a", { book: round, maySee: all }))!.items).toHaveLength(3);

  const wide = bookOf({
    a: undefined,
    ...Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`w${n}`, "a"])),
  });
  const trace = await walkTrace("w499", { book: wide, maySee: all });
  expect(trace!.items).toHaveLength(MOST_THINGS);
  expect(trace!.items.map(({ id }) => id)).toContain("w499");
  expect(trace!.isCut).toBe(true);

  const deep = bookOf(
    Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [`d${n}`, n === 0 ? undefined : `d${n - 1}`]),
    ),
  );
  const down = await walkTrace("d0", { book: deep, maySee: all });
  expect(down!.items).toHaveLength(MOST_LEVELS + 1);
  expect(down!.isCut).toBe(true);
  expect((await walkTrace("d59", { book: deep, maySee: all }))!.isCut).toBe(true);
  const whole = bookOf(
    Object.fromEntries(
      Array.from({ length: 21 }, (_, n) => [`d${n}`, n === 0 ? undefined : `d${n - 1}`]),
    ),
  );
  expect((await walkTrace("d0", { book: whole, maySee: all }))!.isCut).toBe(false);
});
