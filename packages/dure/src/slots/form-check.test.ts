import { expect, test } from "vitest";
import { z } from "zod";
import { tool } from "../engine/agent/tool.ts";
import { assertForm } from "./form-check.ts";
import type { SlotForm, SlotOption, SlotSpec } from "./form.ts";
import { formTexts, type OwnTexts } from "./form-texts.ts";
import { slot } from "./kinds/slot.ts";
import { slotFlow } from "./slot-flow.ts";

const kind: SlotSpec<string> = {
  required: true,
  type: "text",
  parse: (raw) => ({ ok: true, value: String(raw) }),
  schema: z.string(),
  schemaError: "NO_TEA",
};

function teaWith(more: object, slot: object = {}, slotNames = { kind: "kind" }): SlotForm {
  const own: OwnTexts = {
    slotNames,
    questions: { kind: "Which tea?" },
    errors: { NO_TEA: "There is no such tea." },
    describe: () => "tea",
    confirmQuestion: () => "Shall I brew it?",
    receipt: () => "Brewed.",
  };
  const brew = tool({
    description: "Brews.",
    inputSchema: z.object({}),
    effect: "once",
    recover: "ask",
    execute: () => ({}),
  });
  return {
    flow: "TEA",
    slots: { kind: { ...kind, ...slot } },
    deed: { call: "brew", tool: brew, input: () => ({}), details: () => ({}) },
    texts: { ko: formTexts("ko", own), en: formTexts("en", own) },
    ...more,
  };
}

function lookWith(more: object): SlotForm {
  const see = tool({
    description: "Looks into the tin.",
    inputSchema: z.object({}),
    execute: () => ({}),
  });
  const look = { call: "look", tool: see, input: () => ({}), errors: () => ({}), ...more };
  return teaWith({ look });
}

const pours = tool({
  description: "Pours.",
  inputSchema: z.object({}),
  effect: "once",
  recover: "ask",
  execute: () => ({}),
});

function choiceOf(options: readonly SlotOption[]): SlotForm {
  return teaWith({}, { type: "choice", options });
}

const reads = tool({ description: "Reads.", inputSchema: z.object({}), execute: () => ({}) });

function deedOf(en: string, says: readonly string[], does = pours) {
  return {
    names: { en, ko: en },
    says,
    call: en,
    tool: does,
    input: () => ({}),
    details: () => ({}),
  };
}

const silent = lookWith({});
const wordless = { ...silent.texts.en!, unchecked: undefined };

test.each([
  ["an option of a slot", teaWith({}, { identifys: true }), /Slot kind.*"identifys"/, "identifies"],
  ["a type of a slot", teaWith({}, { type: "numbr" }), /Slot kind.*"numbr"/, "number"],
  ["an option of the form", teaWith({ exampels: {} }), /Form TEA: .*"exampels"/, "examples"],
  ["an option of a look", lookWith({ toool: 1 }), /look: .*"toool"/, "tool"],
  ["a look that does something", lookWith({ tool: pours }), /look: its tool/, "none"],
  [
    "a look without words for no answer",
    { ...silent, texts: { ...silent.texts, en: wordless } },
    /texts\.en\.unchecked/,
    "Say what",
  ],
  [
    "a deed that does nothing",
    teaWith({ deed: { call: "brew", tool: reads, input: () => ({}), details: () => ({}) } }),
    /Form TEA: its tool has no effect/,
    'effect: "once"',
  ],
  [
    "a deed that is asked for as another one is",
    teaWith({
      deed: undefined,
      deeds: { join: deedOf("Join", ["join"]), move: deedOf("Move", ["Join!"]) },
    }),
    /Deeds join and move: both are "Join!"/,
    "out of says",
  ],
  ["a slot without a name", teaWith({}, {}, {} as never), /no name for people/, "slotNames"],
  [
    "an example",
    teaWith({}, slot.time({ from: "09:00", to: "18:00", examples: ["오후 3시", "8pm"] })),
    /Slot kind of form TEA: it refuses its example "8pm" \(TIME_CLOSED\)/,
    "Take the example out",
  ],
  [
    "a slot that can never be filled",
    teaWith({}, { examples: ["green"], schema: z.string().max(3) }),
    /Slot kind.*never be filled.*"green" for "green"/,
    "Let schema take",
  ],
  ["a minimum", teaWith({}, { limits: { min: 9, max: 3 } }), /Slot kind.*least 9.*most 3/, "min"],
  [
    "a slot that is required and may be left empty",
    teaWith({}, { askOnce: true }),
    /Slot kind.*it is required, and askOnce/,
    "Take one of them out",
  ],
  ["a choice without options", choiceOf([]), /1 to 50 options, and this one has 0/, "options"],
  [
    "a choice with too many options",
    choiceOf(Array.from({ length: 51 }, (_, at) => ({ value: `v${at}`, names: {} }))),
    /1 to 50 options, and this one has 51/,
    "options",
  ],
  [
    "a value of two options",
    choiceOf([
      { value: "a", names: { en: "one" } },
      { value: "a", names: { en: "two" } },
    ]),
    /two of its options have the value "a"/,
    "of its own",
  ],
  [
    "a synonym of two options",
    choiceOf([
      { value: "a", names: { ko: "녹차" }, synonyms: ["Green Tea"] },
      { value: "b", names: { ko: "말차" }, synonyms: ["green-tea"] },
    ]),
    /"green-tea" means a and b/,
    "out of one",
  ],
] as const)("%s that is wrong is told with what was meant", (_, form, message, hint) => {
  expect(() => slotFlow(form)).toThrow(
    expect.objectContaining({
      code: "FORM_INVALID",
      message: expect.stringMatching(message),
      hint: expect.stringContaining(hint),
    }),
  );
});

test("a form whose options all exist is taken", () => {
  expect(Object.keys(slotFlow(teaWith({})).flows)).toEqual(["DEFAULT", "TEA"]);
  expect(Object.keys(slotFlow(lookWith({})).flows)).toEqual(["DEFAULT", "TEA"]);
});

test("the examples of each kind are taken on any day, and where hours and bounds are narrow", () => {
  const specs = [
    ...[slot.text(), slot.address(), slot.file(), slot.person(), slot.phone(), slot.recurrence()],
    ...[slot.number(), slot.number({ min: 40, max: 60, integer: false }), slot.boolean()],
    ...[slot.money(), slot.money({ min: 100_000, limit: true }), slot.money({ max: 10 })],
    ...[slot.time(), slot.time({ from: "18:00", to: "02:00" }), slot.time({ step: 40 })],
    ...(["refused", "only", "allowed"] as const).flatMap((past) => [
      slot.date({ past, needsYear: true }),
      slot.date({ past }),
      slot.dateRange({ past }),
    ]),
  ];
  for (const spec of specs) {
    for (const today of ["2026-11-18", "2028-02-29", "2026-12-03", "2026-12-31", "2027-01-01"]) {
      expect(() => assertForm(teaWith({}, spec), today)).not.toThrow();
    }
  }
});

test("an example that means a weekday is taken also on that day", () => {
  const form = teaWith({}, slot.date({ examples: ["금요일"] }));

  expect(() => assertForm(form, "2026-11-20")).not.toThrow();
});

test("a check of an author's own is held against the author's examples alone", () => {
  const validate = (date: string): string | undefined => (date > "2010" ? "TOO_YOUNG" : undefined);
  const own = slot.date({ past: "only", validate });

  expect(() => assertForm(teaWith({}, own))).not.toThrow();
  expect(() => assertForm(teaWith({}, { ...own, examples: ["어제"] }))).toThrow(/TOO_YOUNG/);
});
