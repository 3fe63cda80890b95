import { expect, test } from "vitest";
import { z } from "zod";
import { tool } from "../engine/agent/tool.ts";
import type { SlotForm, SlotSpec } from "./form.ts";
import { formTexts, type OwnTexts } from "./form-texts.ts";
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

const silent = lookWith({});
const wordless = { ...silent.texts.en, unchecked: undefined };

test.each([
  ["an option of a slot", teaWith({}, { identifys: true }), /Slot kind.*"identifys"/, "identifies"],
  ["a type of a slot", teaWith({}, { type: "number" }), /Slot kind.*"number"/, "integer"],
  ["an option of the form", teaWith({ exampels: {} }), /Form TEA: .*"exampels"/, "examples"],
  ["an option of a look", lookWith({ toool: 1 }), /look: .*"toool"/, "tool"],
  ["a look that does something", lookWith({ tool: pours }), /look: its tool/, "none"],
  [
    "a look without words for no answer",
    { ...silent, texts: { ...silent.texts, en: wordless } },
    /texts\.en\.unchecked/,
    "Say what",
  ],
  ["a slot without a name", teaWith({}, {}, {} as never), /no name for people/, "slotNames"],
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
