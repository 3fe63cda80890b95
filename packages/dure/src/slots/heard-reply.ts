import { classifyReply, REFUSING_KINDS, type Reply } from "../parse/reply.ts";
import type { Lexicon } from "../parse/lexicon/index.ts";
import { fold, type Locale } from "../parse/text.ts";
import { DEED_SLOT } from "./deed-slot.ts";
import { standsIn } from "./names-said.ts";
import { deedButtons, isCancellingDeed, saysCancel } from "./deeds.ts";
import type { FormContext } from "./entries.ts";
import type { SlotForm, SlotSpecs, SlotValue } from "./form.ts";
import type { FormState } from "./form-state.ts";

/** What an answer is read with. */
interface Asked {
  readonly form: SlotForm;
  readonly specs: SlotSpecs;
  readonly locale: Locale;
  readonly lexicon: Lexicon;
  readonly context: FormContext;
}

/**
 * What a message means as an answer to what a form asks: by its words, by the buttons of a deed, and
 * with what was shown said again (네 홍길동 3만원 맞아요). A refusal that names another value refuses that
 * value alone. Pure.
 */
export function replyIn(message: string, state: FormState, asked: Asked): Reply {
  const reply = classifyReply(message, asked.lexicon);
  if (state.stage !== "READY" && state.stage !== "FILLING") return reply;
  if (REFUSING_KINDS.has(reply.kind) && reply.sure !== "exact") {
    const isOther = namesAnotherValue(message, state, asked.context);
    if (isOther) return { ...reply, kind: "other", because: "nothing-of-these" };
  }
  if (state.stage !== "READY") return reply;
  return byButton(reply, state, asked) ?? saidAgain(reply, state, asked) ?? reply;
}

/** The buttons of a deed say what they say; 취소 can mean both, where the deed is to cancel. */
function byButton(reply: Reply, state: FormState, { form, locale }: Asked): Reply | undefined {
  const buttons = deedButtons(form, state.slots, locale);
  if (!buttons) return undefined;
  const pressed = buttons.findIndex((label) => fold(label) === fold(reply.words));
  if (pressed === 0) return { ...reply, kind: "yes", because: "listed-words", sure: "exact" };
  if (pressed === 1) {
    return { ...reply, kind: "cancel-one", because: "listed-words", sure: "exact" };
  }
  const isEither = REFUSING_KINDS.has(reply.kind) && saysCancel(reply.words);
  if (!isEither || !isCancellingDeed(form, state.slots)) return undefined;
  return { ...reply, kind: "unsure", because: "yes-and-no", sure: "ambiguous" };
}

/** A yes with the values that were shown, and no others. */
function saidAgain(reply: Reply, { slots }: FormState, asked: Asked): Reply | undefined {
  if (reply.kind === "yes" || REFUSING_KINDS.has(reply.kind)) return undefined;
  const rest = withoutKnown(reply.words, slots, asked);
  if (rest === reply.words) return undefined;
  const read = classifyReply(rest, asked.lexicon);
  return read.kind === "yes" ? { ...read, words: reply.words } : undefined;
}

function withoutKnown(
  words: string,
  slots: FormState["slots"],
  { specs, context }: Pick<Asked, "specs" | "context">,
): string {
  let rest = words.normalize("NFC");
  for (const [slot, value] of Object.entries(slots)) {
    for (const said of saidAs(rest, value, specs[slot], context)) {
      rest = rest.replace(said, " ");
    }
  }
  return rest.replaceAll(/\s+/g, " ").trim();
}

/** The words that say this value, where it stands in the text; a name as it is. */
function saidAs(
  text: string,
  value: SlotValue,
  spec: SlotSpecs[string] | undefined,
  context: FormContext,
): readonly string[] {
  if (spec?.type === "person" || (spec?.type === "text" && !spec.reader)) {
    return typeof value === "string" && text.includes(value) ? [value] : [];
  }
  const found = spec?.reader?.(context).find(text) ?? [];
  return found.flatMap((one) =>
    one.ok && one.sure === "exact" && one.value === value ? [one.words] : [],
  );
}

/** Whether words name any value of a slot, be it a known one: 7만원으로 바꿔줘. Pure. */
export function namesAValue(message: string, context: FormContext): boolean {
  const specs = Object.values(context.specs).filter(({ type }) => type !== "person");
  return specs.some((spec) => (spec.reader?.(context).find(message) ?? []).length > 0);
}

/** Whether words name a value of a slot that is none of those which are known. Pure. */
export function namesAnotherValue(
  message: string,
  { slots, tasks }: FormState,
  context: FormContext,
): boolean {
  return Object.entries(context.specs).some(([slot, spec]) => {
    if (slot === DEED_SLOT || spec.type === "boolean") return false;
    // 아빠한테는 안 보낼래 is about the one who waits.
    const waits = spec.type === "person" ? tasks.map((task) => String(task.slots[slot])) : [];
    if (waits.some((name) => standsIn(name, message))) return true;
    const found = spec.reader?.(context).find(message) ?? [];
    return found.some((one) => one.ok && one.value !== slots[slot]);
  });
}
