import type { DonePayload } from "../engine/service/service.ts";
import type { StateManager } from "../engine/turn/state.ts";
import type { TurnContext } from "../engine/turn/turn-context.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Lexicon } from "../parse/lexicon/index.ts";
import type { Locale } from "../parse/text.ts";
import { specsOf, withDeedNames } from "./deeds.ts";
import { identityOf, type FormContext } from "./entries.ts";
import { cardOf } from "./form-report.ts";
import { FormSpeech } from "./form-speech.ts";
import type { FormTexts, SlotForm, SlotSpecs } from "./form.ts";
import type { FormState } from "./form-state.ts";
import { spokenLocale } from "./languages.ts";
import { openOffer, type OpenOffer } from "./offers.ts";
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

  /** Ends the turn with a question. */
  ask(question: string): DonePayload {
    this.say(question);
    return { message: this.message(), nextAction: "ASK", slotsCard: this.card(true) };
  }

  tellProgress({ index, total, slots } = this.state): void {
    if (total > 1) this.turn.taskProgress(index, total, slots);
  }

  card(editable: boolean): JsonObject {
    return cardOf(this.state, { editable, specs: this.specs, texts: this.texts });
  }
}
