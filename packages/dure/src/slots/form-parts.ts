import type { Locale } from "../kernel/locales.ts";
import { createHash } from "node:crypto";
import type { DonePayload } from "../engine/service/service.ts";
import type { StateManager } from "../engine/turn/state.ts";
import type { TurnContext } from "../engine/turn/turn-context.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { UiHint } from "../kernel/turn-events.ts";
import type { Lexicon } from "../parse/lexicon/index.ts";
import { deedButtons, isCancellingDeed, specsOf, withDeedNames } from "./deeds.ts";
import {
  currentOf,
  foreignSlots,
  identityOf,
  openSlotsOf,
  withCurrent,
  withoutSlot,
  type FormContext,
} from "./entries.ts";
import type { Reply } from "../parse/replies/reply.ts";
import { cardOf } from "./form-report.ts";
import { FormSpeech } from "./form-speech.ts";
import type { FormTexts, SlotForm, SlotSpecs } from "./form.ts";
import type { FormState } from "./form-state.ts";
import { spokenLocale } from "./languages.ts";
import { choicesOf, openOffer, type OpenOffer } from "./offers.ts";
import { isTerminal } from "./stages.ts";

/** What one turn of a form works with: its state, its words, and what is said so far. */
export class FormParts {
  readonly turn: TurnContext;
  readonly form: SlotForm;
  readonly specs: SlotSpecs;
  readonly locale: Locale;
  readonly texts: FormTexts;
  readonly speech: FormSpeech;
  readonly lexicon: Lexicon;
  readonly #manager: StateManager<FormState>;
  /** Said before whatever this turn ends with, in order. */
  readonly #said: string[] = [];

  constructor(turn: TurnContext, form: SlotForm, lexicon: Lexicon) {
    this.turn = turn;
    this.form = form;
    this.#manager = turn.state as StateManager<FormState>;
    this.specs = specsOf(form);
    this.locale = spokenLocale(turn.locale, form.texts);
    this.texts = withDeedNames(form.texts[this.locale]!, this.specs, this.locale);
    this.speech = new FormSpeech(turn, this);
    this.lexicon = lexicon;
  }

  get state(): FormState {
    return this.#manager.value;
  }

  get context(): FormContext {
    return { specs: this.specs, today: this.speech.today };
  }

  /** The machine knows no step from an end to a question: the reset lies between. */
  put(next: FormState): void {
    if (isTerminal(this.state.stage) && !isTerminal(next.stage)) this.#manager.transition("INIT");
    this.#manager.update(() => next);
  }

  say(...words: readonly string[]): void {
    this.#said.push(...words);
  }

  /** All that is said. */
  message(): string {
    return this.#said.filter(Boolean).join("\n");
  }

  /** What is open and must be answered first; undefined where nothing is. */
  offer(): OpenOffer | undefined {
    const { state, specs, texts } = this;
    return openOffer(state, { texts, specs, identity: identityOf(specs) });
  }

  /** Ends the turn with a question, and the buttons of what is open or asked for. */
  ask(question: string): DonePayload {
    this.say(question);
    const uiHint = this.offered();
    return { message: this.message(), nextAction: "ASK", uiHint, slotsCard: this.card(true) };
  }

  /**
   * The buttons under what is asked, bound to it. Their id is made of what is asked: it answers the
   * same question as long as that stands, whatever was said in between, and no other.
   */
  offered(): Pick<Required<UiHint>, "buttons" | "confirmId"> | undefined {
    const { state, context } = this;
    const offer = this.offer();
    const buttons = offer?.buttons ?? choicesOf(state, context, this);
    if (buttons.length === 0) return undefined;
    const about = offer?.question ?? openSlotsOf(state, context.specs).asked;
    const asked = JSON.stringify([state.meta.flow_id, state.index, about, buttons]);
    const id = createHash("sha256").update(asked).digest("hex");
    return { buttons, confirmId: `ask_${id.slice(0, 32)}` };
  }

  /** What was said and has no place in this entry is shown in no question, and that is said. */
  leaveOut(): void {
    const { texts, context, state } = this;
    const foreign = foreignSlots(state, context);
    if (foreign.length === 0) return;
    const kept = foreign.reduce(withoutSlot, currentOf(state));
    this.put(withCurrent(state, kept, context));
    this.say(texts.leftOut(foreign.map((slot) => texts.slotNames[slot] ?? slot)));
  }

  /** Why a yes or a no did not count: 취소, where the deed is a cancelling, can mean both. */
  asksAgain({ because }: Reply): string {
    const { form, texts, locale, state } = this;
    const buttons = deedButtons(form, state.slots, locale);
    const isBoth = because === "yes-and-no" && isCancellingDeed(form, state.slots);
    return (buttons && isBoth ? texts.cancelsWhich?.(buttons) : undefined) ?? texts.confirmAgain;
  }

  tellProgress({ index, total, slots } = this.state): void {
    if (total > 1) this.turn.taskProgress(index, total, slots);
  }

  card(editable: boolean): JsonObject {
    return cardOf(this.state, { editable, specs: this.specs, texts: this.texts });
  }
}
