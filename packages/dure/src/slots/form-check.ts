import { unknownOption, unknownValue, type OptionProblem } from "../engine/known-options.ts";
import { DureError } from "../kernel/errors.ts";
import type { Deed, SlotForm, SlotSpec } from "./form.ts";

const FORM_OPTIONS = {
  flow: true,
  slots: true,
  deed: true,
  texts: true,
  examples: true,
  doubts: true,
  refuses: true,
  maxFillTurns: true,
} satisfies Record<keyof SlotForm, true>;

const SLOT_OPTIONS = {
  required: true,
  type: true,
  description: true,
  identifies: true,
  isAmount: true,
  reader: true,
  remark: true,
  parse: true,
  schema: true,
  schemaError: true,
  validate: true,
} satisfies Record<keyof SlotSpec, true>;
const SLOT_TYPES = [
  "text",
  "integer",
  "date",
  "recurrence",
] as const satisfies readonly SlotSpec["type"][];

const DEED_OPTIONS = {
  call: true,
  tool: true,
  input: true,
  details: true,
} satisfies Record<keyof Deed, true>;

/** Throws `FORM_INVALID` where an option is misspelt: nothing would read it. */
export function assertForm(form: SlotForm): void {
  check(`Form ${form.flow}`, unknownOption(form, FORM_OPTIONS));
  check(`Form ${form.flow}, deed`, unknownOption(form.deed, DEED_OPTIONS));
  for (const [name, slot] of Object.entries(form.slots)) {
    const problem =
      unknownOption(slot, SLOT_OPTIONS) ?? unknownValue("type", slot.type, SLOT_TYPES);
    check(`Slot ${name} of form ${form.flow}`, problem ?? nameless(form, name));
  }
}

function nameless({ texts }: SlotForm, name: string): OptionProblem | undefined {
  const language = (["ko", "en"] as const).find((one) => texts[one].slotNames[name] === undefined);
  if (language === undefined) return undefined;
  return {
    message: `it has no name for people in texts.${language}.slotNames.`,
    hint: `Give it one: slotNames: { ${name}: "…" }.`,
  };
}

function check(where: string, problem: OptionProblem | undefined): void {
  if (problem === undefined) return;
  const { message, hint } = problem;
  throw new DureError("FORM_INVALID", `${where}: ${message}`, { class: "input", hint });
}
