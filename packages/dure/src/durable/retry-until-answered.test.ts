import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { TestClock } from "../kernel/test-clock.ts";
import { retryUntilAnswered } from "./retry-until-answered.ts";

const lost = (): DureError => new DureError("DATABASE_UNAVAILABLE", "No answer.");

test("an answer that was lost is asked for again, with longer pauses up to a bound", async () => {
  const clock = new TestClock();
  const asked: { at: number; isRepeated: boolean }[] = [];

  const answer = retryUntilAnswered(
    async (isRepeated) => {
      asked.push({ at: clock.now(), isRepeated });
      if (asked.length < 5) throw lost();
      return "here";
    },
    { clock, backOff: { firstMs: 25, maxMs: 100 } },
  );
  await clock.pass(1_000);

  await expect(answer).resolves.toBe("here");
  expect(asked.map(({ at }) => at)).toEqual([0, 25, 75, 175, 275]);
  expect(asked.map(({ isRepeated }) => isRepeated)).toEqual([false, true, true, true, true]);
});

test.each([
  ["read-only", "25006"],
  ["full", "53100"],
  ["out of memory", "53200"],
  ["in a deadlock", "40P01"],
])("a database that is %s is asked again", async (_name, code) => {
  const clock = new TestClock();
  let asked = 0;
  const ask = async (): Promise<string> => {
    asked += 1;
    if (asked === 1) throw Object.assign(new Error("not now"), { code });
    return "here";
  };

  const answer = retryUntilAnswered(ask, { clock });
  await clock.pass(25);

  await expect(answer).resolves.toBe("here");
});

test("a statement that takes too long is the caller's at once", async () => {
  const late = Object.assign(new Error("canceling statement"), { code: "57014" });

  const answer = retryUntilAnswered(() => Promise.reject(late), { clock: new TestClock() });

  await expect(answer).rejects.toBe(late);
});

test("another error is the caller's at once", async () => {
  const refused = new DureError("FENCED", "Not yours.");

  const answer = retryUntilAnswered(() => Promise.reject(refused), { clock: new TestClock() });

  await expect(answer).rejects.toBe(refused);
});

test("the end of the right to write ends it, before a question and during a pause", async () => {
  const clock = new TestClock();
  const fence = new AbortController();
  const gone = new Error("fenced");
  let asked = 0;
  const ask = (): Promise<never> => ((asked += 1), Promise.reject(lost()));

  const pausing = retryUntilAnswered(ask, { clock, signal: fence.signal });
  await clock.pass(10);
  fence.abort(gone);

  await expect(pausing).rejects.toBe(gone);
  await expect(retryUntilAnswered(ask, { clock, signal: fence.signal })).rejects.toBe(gone);
  expect(asked).toBe(1);
});

test("a limited patience ends it with its own error, in the middle of a pause", async () => {
  const clock = new TestClock();
  const late = new Error("too late");
  let asked = 0;

  const answer = retryUntilAnswered(() => ((asked += 1), Promise.reject(lost())), {
    clock,
    backOff: { firstMs: 100, maxMs: 100 },
    within: { ms: 250, onOver: () => late },
  });
  answer.catch(() => {});
  await clock.pass(250);

  await expect(answer).rejects.toBe(late);
  expect(asked).toBe(3);
});
