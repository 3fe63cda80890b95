import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { codeOf } from "../../kernel/errors.ts";
import type { JournalRow } from "../../durable/turns.ts";
import { TurnJournal } from "./journal.ts";
import { decideStep, Places } from "./step.ts";

const START = { type: "AGENT_START", data: { agent: "a", label: "…" } } as const;
const SAME = { began: "1", now: "1" };
const NEWER = { began: "1", now: "2" };

const begun = { name: "step:a", events: [START] };
const ended = { ...begun, record: { value: 7 } };

test.each([
  ["nothing", undefined, {}, { is: "new" }],
  ["a beginning", begun, {}, { is: "begun", events: [START] }],
  ["a record", ended, {}, { is: "recorded", events: [START], value: 7 }],
  ["the record of this release", ended, { versions: SAME }, { is: "recorded", value: 7 }],
  ["a record of nothing", { ...begun, record: { value: null } }, {}, { is: "recorded" }],
  ["another step", ended, { name: "step:b" }, { recorded: "step:a", now: "step:b" }],
  ["another release", ended, { versions: NEWER }, { recorded: "version 1", now: "version 2" }],
  ["nothing of another release", undefined, { versions: NEWER }, { is: "new" }],
])("a step that finds %s decides by it", (_found, past, now, decided) => {
  expect(decideStep(past, { name: "step:a", ...now })).toMatchObject(decided);
});

/** A life of a turn over the rows that lives before it have written. */
function lifeOf(rows: JournalRow[]): { journal: TurnJournal; places: Places } {
  const journal = new TurnJournal({
    clock: systemClock,
    rows: [...rows],
    store: {
      append: (added) => {
        rows.push(...added);
        return Promise.resolve({ stop: false });
      },
    },
  });
  return { journal, places: new Places(journal) };
}

test("work is done once over all lives, at its place and inside of it", async () => {
  const rows: JournalRow[] = [];
  const done: string[] = [];
  const live = async (name: string) => {
    const work = (text: string) => () => {
      done.push(`${name} ${text}`);
      return `${name}:${text}`;
    };
    const { journal, places } = lifeOf(rows);
    const outer = places.next("agent:a");
    const [one, two] = await outer.once(async () => {
      const inner = outer.inside();
      return [
        await inner.next("model:a").once(work("model")),
        await inner.next("tool:t").once(work("tool")),
      ];
    });
    const now = places.next("now").onceNow(() => name, { cheap: true });
    await journal.flush();
    journal.checkComplete();
    return [one, two, now];
  };

  const first = await live("first");
  const second = await live("second");

  expect(second).toEqual(first);
  expect(done).toEqual(["first model", "first tool"]);
  expect(rows.map(({ place }) => place)).toEqual([
    "1.1 model:a",
    "1.2 tool:t",
    "1 agent:a",
    "2 now",
  ]);
});

test("work that failed left no record and is done again", async () => {
  const rows: JournalRow[] = [];
  const failing = lifeOf(rows);
  const lost = failing.places.next("step:a").once(() => Promise.reject(new Error("cut")));
  await expect(lost).rejects.toThrow("cut");
  await failing.journal.flush();

  const next = lifeOf(rows);
  expect(await next.places.next("step:a").once(() => "done")).toBe("done");
});

test("a beginning is stored before the work, once, and names what is unfinished", async () => {
  const rows: JournalRow[] = [];
  for (const _life of [1, 2]) await lifeOf(rows).places.next("remote:far").begins();

  expect(rows.map(({ place }) => place)).toEqual(["1.0 remote:far"]);
  const { journal, places } = lifeOf(rows);
  expect(journal.unfinished("remote:")).toEqual([{ path: "1", name: "remote:far" }]);
  const other = places.next("remote:near").begins();
  expect(codeOf(await other.catch((error: unknown) => error))).toBe("TURN_DIVERGED");
});

test("a handler that catches the divergence of a step still ends with it", () => {
  const rows = [{ seq: 1, place: "1 step:a", type: "RECORD" as const, data: 7 }];
  const { journal, places } = lifeOf(rows);

  expect(() => places.next("step:b")).toThrow("the journal has step:a, the handler does step:b");
  expect(() => journal.checkComplete()).toThrow("step:b");
});
