/** What the slots of `slot` have in common. */

import type { Locale } from "../../kernel/locales.ts";
import type { Reading } from "../../parse/reading.ts";
import type { SlotContext, SlotRead, SlotSpec, SlotType, SlotValue } from "../form.ts";
import { specProblem } from "./check.ts";
import { slotError } from "./options.ts";

/** Texts of both languages, by key. */
export type KindErrors = Readonly<Record<Locale, Readonly<Record<string, string>>>>;

/** What an author may say of a slot of any kind. */
export interface KindOptions<Value extends SlotValue> {
  /** Default: true; false for `askOnce`. */
  readonly required?: boolean | undefined;
  /** See `SlotSpec.askOnce`. */
  readonly askOnce?: boolean | undefined;
  /** What it means, for the model; how it is written is added. */
  readonly description?: Readonly<Partial<Record<Locale, string>>> | undefined;
  /** See `SlotSpec.needed`. */
  readonly needed?: SlotSpec["needed"] | undefined;
  /** See `SlotSpec.identifies`. */
  readonly identifies?: boolean | undefined;
  /** See `SlotSpec.isAmount`. Default: true for money. */
  readonly isAmount?: boolean | undefined;
  /** In place of the kind's own. */
  readonly examples?: readonly string[] | undefined;
  /** Sentences of errors, in place of the kind's own and for those of `validate`. */
  readonly errors?: SlotSpec["errors"];
  /** What is refused beside what the kind refuses: the key of an error. */
  readonly validate?: ((value: Value, context: SlotContext) => string | undefined) | undefined;
}

/** A slot as its kind makes it, before an author's options. */
export interface Kind<Value extends SlotValue> extends Pick<
  SlotSpec<Value>,
  "type" | "reader" | "remark" | "parse" | "schema" | "schemaError" | "options" | "limits"
> {
  /** How the value is written, for the model. */
  readonly format?: Readonly<Record<Locale, string>> | undefined;
  readonly errors: KindErrors;
  readonly examples: readonly string[];
  show(value: Value, locale: Locale): string;
}

/** The whole slot. Throws `SLOT_INVALID` for one that can never be filled. */
export function slotOf<Value extends SlotValue>(
  { format, errors, examples, ...kind }: Kind<Value>,
  own: KindOptions<Value>,
): SlotSpec<Value> {
  const spec: SlotSpec<Value> = {
    ...kind,
    required: own.required ?? own.askOnce !== true,
    askOnce: own.askOnce,
    description: described(own.description, format),
    needed: own.needed,
    identifies: own.identifies,
    isAmount: own.isAmount,
    // An author's check may refuse what the kind takes.
    examples: own.examples ?? (own.validate ? [] : examples),
    errors: {
      ko: { ...errors.ko, ...own.errors?.ko },
      en: { ...errors.en, ...own.errors?.en },
    },
    validate: own.validate ?? takesAll,
  };
  const problem = specProblem(spec);
  if (problem) throw slotError(nameOf(kind.type), problem);
  return spec;
}

/** The kind's name in `slot`: `dateRange`. */
function nameOf(type: SlotType): string {
  if (type === "integer") return "number";
  return type === "date_range" ? "dateRange" : type;
}

function takesAll(): undefined {
  return undefined;
}

function described(
  own: KindOptions<SlotValue>["description"],
  format: Kind<SlotValue>["format"],
): SlotSpec["description"] {
  if (!own || !format) return own ?? format;
  const withFormat = (locale: Locale): string =>
    [own[locale], format[locale]].filter((one) => one !== undefined).join(". ");
  return { ko: withFormat("ko"), en: withFormat("en") };
}

/**
 * A reading as a slot takes it. What is rough, or can mean two things, is asked for again:
 * `unclear`. `becauses`: the errors of what cannot be taken; any other reason is `unclear` too.
 */
export function takeExact<Value>(
  read: Reading<Value>,
  unclear: string,
  becauses: Readonly<Record<string, string>> = {},
): SlotRead<Value> {
  if (!read.ok) return { ok: false, error: becauses[read.because] ?? unclear };
  return read.sure === "exact" ? { ok: true, value: read.value } : { ok: false, error: unclear };
}

/** Whether the form has a slot of a type, where the form is known. */
export function hasSlot(type: SlotType, { specs = {} }: SlotContext): boolean {
  return Object.values(specs).some((spec) => spec.type === type);
}

/** A text in one line, in one spelling of Unicode; "" for anything else. Pure. */
export function lineOf(raw: unknown): string {
  if (typeof raw !== "string" && typeof raw !== "number") return "";
  return String(raw)
    .toWellFormed()
    .normalize("NFC")
    .replace(/[\p{C}\p{Z}\s]+/gu, " ")
    .trim();
}
