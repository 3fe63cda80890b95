import { describe, expect, test } from "vitest";
import { lexiconWith } from "../../parse/lexicon/index.ts";
import { slot } from "./slot.ts";

/** As JavaScript, and a spread in TypeScript, give them. */
type Given = Readonly<Record<string, unknown>>;
const KINDS = slot as unknown as Readonly<Record<keyof typeof slot, (options?: unknown) => object>>;

const CHOICE = { options: [{ value: "debit", names: { en: "debit card" } }] };
/** Options with which each kind can be made. */
const FEWEST: Readonly<Record<keyof typeof slot, Given>> = {
  text: {},
  number: {},
  money: {},
  date: {},
  dateRange: {},
  time: {},
  choice: CHOICE,
  boolean: {},
  person: {},
  phone: {},
  address: {},
  file: {},
  recurrence: {},
};
const WRONG: readonly Given[] = [
  { required: "no" },
  { askOnce: 1 },
  { description: "a day" },
  { description: { de: "ein Tag" } },
  { needed: true },
  { identifies: null },
  { isAmount: "yes" },
  { examples: "내일" },
  { examples: [1] },
  { errors: { NO: "no" } },
  { errors: { en: { NO: 1 } } },
  { validate: /no/ },
];
const NAMES = Object.keys(FEWEST) as (keyof typeof slot)[];

describe.each(NAMES)("slot.%s", (kind) => {
  const make = (more: Given): object => KINDS[kind]({ ...FEWEST[kind], ...more });

  test("an option that does not exist is refused with the ones that do", () => {
    expect(() => make({ requird: false })).toThrow(
      expect.objectContaining({
        code: "SLOT_INVALID",
        message: `slot.${kind}: unknown option "requird".`,
        hint: expect.stringMatching(/^Did you mean required\? Known are: required, .*validate/u),
      }),
    );
  });

  test("an option that every kind has is refused with what it takes", () => {
    for (const option of WRONG) {
      const [name] = Object.keys(option);
      expect(() => make(option)).toThrow(
        expect.objectContaining({
          code: "SLOT_INVALID",
          message: expect.stringMatching(
            new RegExp(`^slot\\.${kind}: ${name} cannot be .+\\.$`, "u"),
          ),
          hint: expect.stringMatching(new RegExp(`^Give ${name} as .+\\. Known are: `, "u")),
        }),
      );
    }
  });

  test("options that are no object are refused", () => {
    for (const options of [null, 5, "09:00", [], () => ({})]) {
      expect(() => KINDS[kind](options)).toThrow(/: its options are .+\./u);
    }
  });

  test("an option may be undefined, and a slot that people may leave empty is not required", () => {
    expect(make({ needed: undefined, min: undefined })).toMatchObject({ required: true });
    expect(make({ askOnce: true })).toMatchObject({ required: false, askOnce: true });
  });
});

const MANY = Array.from({ length: 51 }, (_, at) => ({ value: `v${at}`, names: {} }));

test.each([
  ["text", { min: -1 }, "min cannot be -1."],
  ["text", { max: "9" }, 'max cannot be "9".'],
  ["text", { min: 9, max: 3 }, "no value is at least 9 and at most 3."],
  ["text", { min: 300 }, "no value is at least 300 and at most 200."],
  ["text", { pattern: "^a$" }, 'pattern cannot be "^a$".'],
  ["text", { pattern: /^a$/g }, "pattern cannot be {}."],
  ["number", { minn: 1 }, 'unknown option "minn".'],
  ["number", { min: 5, max: 1 }, "no value is at least 5 and at most 1."],
  ["number", { min: 1.2, max: 1.8 }, "no value is at least 2 and at most 1."],
  ["number", { max: Number.NaN }, "max cannot be NaN."],
  ["number", { unit: "명" }, 'unit cannot be "명".'],
  ["money", { max: 0 }, "no value is at least 1 and at most 0."],
  ["money", { max: 1.5 }, "max cannot be 1.5."],
  ["money", { limit: 30_000 }, "limit cannot be 30000."],
  ["money", { per: "week" }, 'per cannot be "week".'],
  ["date", { past: true }, "past cannot be true."],
  ["dateRange", { past: "always" }, 'past cannot be "always".'],
  ["time", { from: 9 }, "from cannot be 9."],
  ["time", { to: "9:00" }, 'to cannot be "9:00".'],
  ["time", { step: 0 }, "step cannot be 0."],
  ["time", { from: "09:05", to: "09:10", step: 30 }, "no time from 09:05 to 09:10"],
  ["choice", { options: undefined }, "options is missing."],
  ["choice", { options: [] }, "a choice has 1 to 50 options, and this one has 0."],
  ["choice", { options: MANY }, "a choice has 1 to 50 options, and this one has 51."],
  ["choice", { options: ["debit"] }, 'options cannot be ["debit"].'],
  ["choice", { options: [{ value: "debit" }] }, 'options cannot be [{"value":"debit"}].'],
  [
    "choice",
    { options: [...CHOICE.options, ...CHOICE.options] },
    'two of its options have the value "debit".',
  ],
  ["boolean", { yes: ["네"] }, 'yes cannot be ["네"].'],
  ["person", { contacts: "엄마" }, 'contacts cannot be "엄마".'],
  ["phone", { region: "US" }, 'region cannot be "US".'],
  ["address", { askOnce: true, required: true }, "it is required, and askOnce lets people"],
] as const)("slot.%s(%j) is refused where it is made", (kind, options, message) => {
  expect(() => KINDS[kind]({ ...FEWEST[kind], ...options })).toThrow(
    expect.objectContaining({
      code: "SLOT_INVALID",
      message: expect.stringContaining(`slot.${kind}: ${message}`),
      hint: expect.stringMatching(/\w/u),
    }),
  );
});

test("narrow hours and bounds with one value are taken", () => {
  expect(slot.time({ from: "09:15", to: "10:15", step: 30 }).examples).toEqual([
    "오전 9시 30분",
    "9:30 am",
  ]);
  expect(slot.number({ min: 2.5, max: 3.5 }).limits).toEqual({ min: 3, max: 3 });
  expect(slot.number({ min: 0.5, max: 0.75, integer: false }).limits).toEqual({
    min: 0.5,
    max: 0.75,
  });
});

test.each([
  [{ yess: [] }, 'unknown option "yess".', /^Did you mean yes\?.*Known are: .*goAheads.*swaps/u],
  [{ noYes: ["as if"] }, 'unknown option "noYes".', /Known are: yes/u],
  [{ yes: "ship it" }, 'yes cannot be "ship it".', /^Give yes as a list of phrases/u],
  [{ fillers: [1] }, "fillers cannot be [1].", /^Give fillers as a list of phrases/u],
  [null, "its options are null.", /^Give them as an object\./u],
])("a lexicon with %j is refused with the lists that there are", (words, message, hint) => {
  expect(() => lexiconWith(words as never)).toThrow(
    expect.objectContaining({
      code: "LEXICON_INVALID",
      message: `lexiconWith: ${message}`,
      hint: expect.stringMatching(hint),
    }),
  );
});
