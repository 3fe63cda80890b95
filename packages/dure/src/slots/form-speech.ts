import { DureError } from "../kernel/errors.ts";
import type { TurnContext } from "../engine/turn/turn-context.ts";
import { claimsDeed } from "./claims.ts";
import { askedSlotOf, missingSlots, type Delta } from "./delta.ts";
import { contextBlock } from "./form-agents.ts";
import type { FormTexts, SlotForm } from "./form.ts";
import type { FormState } from "./form-state.ts";
import { todayIn, type IsoDate } from "./parse/days.ts";
import type { Locale } from "./parse/text.ts";

/**
 * What the models of a form are asked, and what of their words is shown. A model reads and words;
 * it decides nothing, and it never says that something was done.
 */
export class FormSpeech {
  readonly #turn: TurnContext;
  readonly #form: SlotForm;
  readonly #locale: Locale;
  readonly #texts: FormTexts;

  constructor(turn: TurnContext, form: SlotForm, locale: Locale) {
    this.#turn = turn;
    this.#form = form;
    this.#locale = locale;
    this.#texts = form.texts[locale];
  }

  /** The day on which the message was sent, where the person is: what 내일 is counted from. */
  get today(): IsoDate {
    return todayIn(this.#turn.timeZone, this.#turn.acceptedAt);
  }

  /** What the slot agent reads in the message; nothing that can be read is an answer too. */
  async delta(state: FormState): Promise<unknown> {
    try {
      const { data } = await this.#turn.agent<Delta>("slots", this.#texts.labels.slots, {
        show: false,
        context: this.#context(state, "fill"),
      });
      return data;
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  /** The words that ask for the next slot, after what was wrong. */
  async question(state: FormState): Promise<string> {
    return (await this.#words(state, "fill")) ?? this.#plainQuestion(state);
  }

  /** The next slot alone, in the form's own words: after an answer on the way. */
  plainSlotQuestion({ slots, meta, index, total }: FormState): string {
    const asked = askedSlotOf(slots, meta.slot_errors, this.#form.slots);
    return asked === undefined ? "" : this.#texts.askSlot(asked, slots, { index, total });
  }

  /** An answer to what the person said besides. */
  async answer(state: FormState): Promise<string> {
    return (await this.#words(state, "answer")) ?? this.#texts.noAnswer;
  }

  /** The agent's words; absent where it gives none that may be shown. */
  async #words(state: FormState, moment: Moment): Promise<string | undefined> {
    try {
      const { text } = await this.#turn.agent("interaction", this.#texts.labels.interaction, {
        // Not while it comes: a claim cannot be taken back.
        show: false,
        context: this.#context(state, moment),
      });
      return text === "" || claimsDeed(text) ? undefined : text;
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  #plainQuestion(state: FormState): string {
    const errors = Object.values(state.meta.slot_errors).map((error) =>
      this.#texts.slotError(error),
    );
    return [...errors, this.plainSlotQuestion(state)].filter(Boolean).join(" ");
  }

  #context({ stage, slots, meta, index, total }: FormState, moment: Moment): string {
    const { slots: specs } = this.#form;
    const isFilling = stage === "FILLING";
    const isAnswering = isFilling && moment === "answer";
    return contextBlock({
      locale: this.#locale,
      today: this.today,
      stage: isAnswering ? "ANSWERING" : stage,
      slots,
      slot_errors: meta.slot_errors,
      problems: Object.values(meta.slot_errors).map((error) => this.#texts.slotError(error)),
      missing: missingSlots(slots, specs),
      asked_slot: isFilling ? askedSlotOf(slots, meta.slot_errors, specs) : undefined,
      progress: { index, total },
    });
  }
}

/** Whether the person's words fill the form, or are answered on the way. */
type Moment = "fill" | "answer";

/** Errors of a model that answered, but nothing that could be used; the others end the turn. */
function isUnreadable(error: unknown): boolean {
  return (
    error instanceof DureError && (error.code === "MODEL_FORMAT" || error.code === "MODEL_EMPTY")
  );
}
