import type { Locale } from "../kernel/locales.ts";
import {
  classifyReply,
  isYesToCancel,
  REFUSING_KINDS,
  type Reply,
} from "../parse/replies/reply.ts";
import { isSkip } from "../parse/lexicon/answers.ts";
import type { Lexicon } from "../parse/lexicon/index.ts";
import { spokenWords } from "../parse/lexicon/spoken.ts";
import { fold } from "../parse/text.ts";
import { DEED_SLOT } from "./deed-slot.ts";
import { standsIn } from "../parse/people/names-said.ts";
import { deedButtons, isCancellingDeed, saysCancel, saysNotTo } from "./deeds.ts";
import { openSlotsOf, readSlot, type FormContext } from "./entries.ts";
import type { SlotForm, SlotSpecs, SlotValue } from "./form.ts";
import type { FormState } from "./form-state.ts";

/** What an answer is read with. */
interface ReplyContext {
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
export function replyIn(message: string, state: FormState, asked: ReplyContext): Reply {
  const reply = classifyReply(message, asked.lexicon);
  if (state.stage !== "READY" && state.stage !== "FILLING") return reply;
  if (REFUSING_KINDS.has(reply.kind) && reply.sure !== "exact") {
    const isOther = namesAnotherValue(message, state, asked.context);
    if (isOther) return { ...reply, kind: "other", because: "nothing-of-these" };
  }
  if (REFUSING_KINDS.has(reply.kind) && isTruth(message, state, asked.context)) {
    return { ...reply, kind: "other", because: "nothing-of-these" };
  }
  if (state.stage === "FILLING" && isSkip(spokenWords(message), asked.lexicon)) {
    return { ...reply, kind: "other", because: "skips" };
  }
  if (state.stage !== "READY") return reply;
  return byButton(reply, state, asked) ?? saidAgain(reply, state, asked) ?? reply;
}

/** A no to what is asked with yes or no is its value: 아니요 to 조식을 드릴까요? */
function isTruth(message: string, state: FormState, context: FormContext): boolean {
  const { asked } = openSlotsOf(state, context.specs);
  if (state.stage !== "FILLING" || asked === undefined) return false;
  return context.specs[asked]?.type === "boolean" && readSlot(asked, message, context).ok;
}

/** The buttons of a deed say what they say; 취소 can mean both, where the deed is to cancel. */
function byButton(
  reply: Reply,
  state: FormState,
  { form, locale, lexicon }: ReplyContext,
): Reply | undefined {
  const buttons = deedButtons(form, state.slots, locale);
  if (!buttons) return undefined;
  const deed = form.deeds?.[String(state.slots[DEED_SLOT])];
  if (!ASKS_OR_CHANGES.has(reply.kind) && deed && saysNotTo(reply.words, [deed])) {
    return { ...reply, kind: "cancel-one", because: "says-not-to" };
  }
  const pressed = buttons.findIndex((label) => fold(label) === fold(reply.words));
  if (pressed === 0) return { ...reply, kind: "yes", because: "listed-words", sure: "exact" };
  if (pressed === 1) {
    return { ...reply, kind: "cancel-one", because: "listed-words", sure: "exact" };
  }
  if (!isCancellingDeed(form, state.slots)) return undefined;
  if (isYesToCancel(reply.words, lexicon)) return { ...reply, kind: "yes", sure: "exact" };
  if (!REFUSING_KINDS.has(reply.kind) || !saysCancel(reply.words)) return undefined;
  return { ...reply, kind: "unsure", because: "yes-and-no", sure: "ambiguous" };
}

/** 취소하지 말고 12월 1일로 바꿔줘 says what is wanted instead. */
const ASKS_OR_CHANGES: ReadonlySet<Reply["kind"]> = new Set(["question", "change"]);

/** A yes with the values that were shown, and no others. */
function saidAgain(reply: Reply, { slots }: FormState, asked: ReplyContext): Reply | undefined {
  if (reply.kind === "yes" || REFUSING_KINDS.has(reply.kind)) return undefined;
  const rest = withoutKnown(reply.words, slots, asked);
  if (rest === reply.words) return undefined;
  const read = classifyReply(rest, asked.lexicon);
  return read.kind === "yes" ? { ...read, words: reply.words } : undefined;
}

function withoutKnown(
  words: string,
  slots: FormState["slots"],
  { specs, context }: Pick<ReplyContext, "specs" | "context">,
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
    return typeof value === "string" ? (nameIn(text, value) ?? []) : [];
  }
  const found = spec?.reader?.(context).find(text) ?? [];
  return found.flatMap((one) =>
    one.ok && one.sure === "exact" && one.value === value ? [one.words] : [],
  );
}

/** A name as it stands in a text, with what says that the entry of it is meant: 엄마 거, Mom's. */
function nameIn(text: string, name: string): readonly string[] | undefined {
  const at = text.toLowerCase().indexOf(name.toLowerCase());
  if (at < 0) return undefined;
  const of = OF_A_NAME.exec(text.slice(at + name.length))?.[0] ?? "";
  return [text.slice(at, at + name.length) + of];
}

const OF_A_NAME = /^(?:['’]s(?: one| is)?| ?(?:거|것|건|꺼)(?![가-힣]))/iu;

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
