import { unknownOption, unknownValue, type OptionProblem } from "../engine/known-options.ts";
import { DureError } from "../kernel/errors.ts";
import type { Deed, Look, SlotForm, SlotSpec } from "./form.ts";

const FORM_OPTIONS = {
  flow: true,
  slots: true,
  deed: true,
  look: true,
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

const LANGUAGES = ["ko", "en"] as const;

const DEED_OPTIONS = {
  call: true,
  tool: true,
  input: true,
  details: true,
} satisfies Record<keyof Deed, true>;

const LOOK_OPTIONS = {
  call: true,
  tool: true,
  input: true,
  errors: true,
} satisfies Record<keyof Look, true>;

/** Throws `FORM_INVALID` where an option is misspelt: nothing would read it. */
export function assertForm(form: SlotForm): void {
  check(`Form ${form.flow}`, unknownOption(form, FORM_OPTIONS));
  check(`Form ${form.flow}, deed`, unknownOption(form.deed, DEED_OPTIONS));
  check(`Form ${form.flow}, look`, form.look && lookProblem(form, form.look));
  for (const [name, slot] of Object.entries(form.slots)) {
    const problem =
      unknownOption(slot, SLOT_OPTIONS) ?? unknownValue("type", slot.type, SLOT_TYPES);
    check(`Slot ${name} of form ${form.flow}`, problem ?? nameless(form, name));
  }
}

function lookProblem({ texts }: SlotForm, look: Look): OptionProblem | undefined {
  const unknown = unknownOption(look, LOOK_OPTIONS);
  if (unknown) return unknown;
  if (look.tool.effect !== "none") {
    return { message: "its tool has an effect.", hint: 'A look changes nothing: effect: "none".' };
  }
  const language = LANGUAGES.find((one) => texts[one].unchecked === undefined);
  if (language === undefined) return undefined;
  return {
    message: `there are no words in texts.${language}.unchecked for a look without an answer.`,
    hint: "Say what is not known, and who decides it later.",
  };
}

function nameless({ texts }: SlotForm, name: string): OptionProblem | undefined {
  const language = LANGUAGES.find((one) => texts[one].slotNames[name] === undefined);
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
