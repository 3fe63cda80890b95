/** What is wrong with the values that a slot says it takes; for the start of a service. */

import type { OptionProblem } from "../../kernel/known-options.ts";
import { spellingOf } from "../../parse/choice.ts";
import { addDays, type IsoDate } from "../../parse/days/days.ts";
import { readSlot } from "../entries.ts";
import type { SlotContext, SlotOption, SlotSpec, SlotSpecs } from "../form.ts";

/** The first thing that is wrong with a slot's limits, options or examples. Pure. */
export function valuesProblem(
  name: string,
  specs: SlotSpecs,
  today: IsoDate,
): OptionProblem | undefined {
  const spec: SlotSpec = specs[name]!;
  return specProblem(spec) ?? examplesProblem(name, specs, today);
}

/** What makes it impossible to fill a slot, or to ask for it. Pure. */
export function specProblem(
  spec: Pick<SlotSpec, "type" | "limits" | "options" | "required" | "askOnce">,
): OptionProblem | undefined {
  return limitsProblem(spec) ?? optionsProblem(spec) ?? askProblem(spec);
}

function limitsProblem({
  limits: { min, max } = {},
}: Pick<SlotSpec, "limits">): OptionProblem | undefined {
  if (min === undefined || max === undefined || min <= max) return undefined;
  return {
    message: `no value is at least ${min} and at most ${max}.`,
    hint: "Let min be the smaller one.",
  };
}

// --- options

/** Values of one choice. More are searched for, not chosen from. */
const MOST_OPTIONS = 50;

function askProblem({
  required,
  askOnce,
}: Pick<SlotSpec, "required" | "askOnce">): OptionProblem | undefined {
  if (!askOnce || !required) return undefined;
  return {
    message: "it is required, and askOnce lets people leave it empty.",
    hint: "Take one of them out: askOnce: true, or required: true.",
  };
}

function optionsProblem({
  type,
  options,
}: Pick<SlotSpec, "type" | "options">): OptionProblem | undefined {
  if (options === undefined && type !== "choice") return undefined;
  const count = options?.length ?? 0;
  if (options === undefined || count === 0 || count > MOST_OPTIONS) {
    return {
      message: `a choice has 1 to ${MOST_OPTIONS} options, and this one has ${count}.`,
      hint: "Give them as options: [{ value, names }].",
    };
  }
  const values = options.map(({ value }) => value);
  const twice = values.find((value, place) => values.indexOf(value) !== place);
  if (twice === undefined) return sharedName(options);
  return {
    message: `two of its options have the value "${twice}".`,
    hint: "Give each option a value of its own.",
  };
}

/** A name that means two options could never be taken. */
function sharedName(options: readonly SlotOption[]): OptionProblem | undefined {
  const known = new Map<string, string>();
  for (const { value, names, synonyms = [] } of options) {
    for (const name of [value, ...Object.values(names), ...synonyms]) {
      const other = known.get(spellingOf(name)) ?? value;
      if (other !== value) {
        return {
          message: `"${name}" means ${other} and ${value}.`,
          hint: "Take the name or synonym out of one of them.",
        };
      }
      known.set(spellingOf(name), value);
    }
  }
  return undefined;
}

// --- examples

/** 금요일 is no plain day on a Friday: an example counts that is taken on a day of the week to come. */
const DAYS_TRIED = [0, 1, 2, 3, 4, 5, 6];

function examplesProblem(
  name: string,
  specs: SlotSpecs,
  today: IsoDate,
): OptionProblem | undefined {
  const { examples = [] } = specs[name]!;
  const contexts = DAYS_TRIED.map((days) => ({ today: addDays(today, days) ?? today, specs }));
  const refused = examples.find((example) =>
    contexts.every((context) => errorOf(name, example, context) !== undefined),
  );
  if (refused === undefined) return undefined;
  return (
    neverFilled(specs[name]!, contexts[0]!) ?? {
      message: `it refuses its example "${refused}" (${errorOf(name, refused, contexts[0]!)}).`,
      hint: "Take the example out, or let parse, schema and validate take it.",
    }
  );
}

function errorOf(
  name: string,
  example: string,
  context: Required<SlotContext> & { readonly specs: SlotSpecs },
): string | undefined {
  const read = readSlot(name, example, context);
  return read.ok ? undefined : read.error;
}

/** A schema that takes nothing of what its parse gives. */
function neverFilled(spec: SlotSpec, context: SlotContext): OptionProblem | undefined {
  const parsed = (spec.examples ?? []).flatMap((example) => {
    const read = spec.parse(example, context);
    return read.ok ? [{ example, value: read.value }] : [];
  });
  const [first] = parsed;
  if (first === undefined || parsed.some(({ value }) => spec.schema.safeParse(value).success)) {
    return undefined;
  }
  return {
    message:
      `it can never be filled: its schema takes nothing that its parse gives, ` +
      `such as ${JSON.stringify(first.value)} for "${first.example}".`,
    hint: "Let schema take the values that parse gives, or give other examples.",
  };
}
