import { DureError } from "../kernel/errors.ts";
import type { TurnContext } from "../engine/turn/turn-context.ts";
import { promptMoment } from "../models/prompt-files.ts";
import { asksForStatus, claimsDeed } from "./claims.ts";
import { askedSlotOf, missingSlots } from "./delta.ts";
import { contextBlock, readingSchemaOf, type FormFacts } from "./form-agents.ts";
import type { FormTexts, SlotForm } from "./form.ts";
import type { FormResult, FormState } from "./form-state.ts";
import { holdReading, type HeldReading, type SlotDoubt } from "./held.ts";
import { todayIn, type IsoDate } from "../parse/days.ts";
import { findMoney } from "../parse/find-money.ts";
import { findRecurrence } from "../parse/recurrence.ts";
import type { Reply } from "../parse/reply.ts";
import type { Locale } from "../parse/text.ts";
import { findWhen } from "../parse/when.ts";
import { slotPrompt, type MessageKind, type SlotPromptFacts, type SlotReading } from "./prompts.ts";

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

  /**
   * What the slot agent reads in the message, held against the message; undefined where it gives
   * nothing that can be read.
   */
  async hear(state: FormState, replaces: boolean): Promise<HeldReading | undefined> {
    const reading = await this.#reading(state);
    if (!reading) return undefined;
    const { message } = this.#turn;
    const { slots: specs, doubts } = this.#form;
    const doubted = doubts?.(message) ?? {};
    return holdReading(reading, { specs, message, state, doubted, replaces, today: this.today });
  }

  async #reading(state: FormState): Promise<SlotReading | undefined> {
    try {
      const { data } = await this.#turn.agent("slots", this.#texts.labels.slots, {
        show: false,
        context: this.#context("slots", state, "fill"),
        prompt: slotPrompt(this.#promptFacts(state), this.#turn.prompt("slots")),
      });
      // A turn that an older release began may have recorded another shape.
      return readingSchemaOf(this.#form.slots).safeParse(data).data;
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  #promptFacts(state: FormState): SlotPromptFacts {
    const { timeZone, acceptedAt } = this.#turn;
    const { slots: specs, examples } = this.#form;
    const { slotNames } = this.#texts;
    return {
      language: this.#locale,
      today: promptMoment(acceptedAt, timeZone),
      zone: timeZone,
      slots: Object.entries(specs).map(([name, { description, required }]) => ({
        name,
        description: description?.[this.#locale] ?? slotNames[name] ?? name,
        required,
      })),
      known: state.slots,
      lastQuestion: this.#lastQuestion(state),
      examples: examples?.[this.#locale],
    };
  }

  /** In the words of the form: what it was asked in may have been a model's. */
  #lastQuestion(state: FormState): string | undefined {
    const { stage, slots, index, total } = state;
    if (stage === "READY") return this.#texts.confirmQuestion(slots, { index, total });
    return stage === "FILLING" ? this.plainSlotQuestion(state) || undefined : undefined;
  }

  /** Asks which value is meant: of the slot that is asked for, else of the first. */
  #doubtQuestion(state: FormState, doubts: readonly SlotDoubt[]): string {
    const { slots, meta } = state;
    const asked = askedSlotOf(slots, meta.slot_errors, this.#form.slots);
    const [doubt] = doubts.toSorted((a, b) => Number(b.slot === asked) - Number(a.slot === asked));
    return doubt ? this.#texts.doubt(doubt.slot, doubt.options) : this.plainSlotQuestion(state);
  }

  /** The words that ask for the next slot, after what was wrong; or which value is meant. */
  async question(state: FormState, doubts: readonly SlotDoubt[]): Promise<string> {
    if (doubts.length > 0) return this.#doubtQuestion(state, doubts);
    return (await this.#words(state, "fill")) ?? this.plainQuestion(state);
  }

  /** The next slot alone, in the form's own words: after an answer on the way. */
  plainSlotQuestion({ slots, meta, index, total }: FormState): string {
    const asked = askedSlotOf(slots, meta.slot_errors, this.#form.slots);
    return asked === undefined ? "" : this.#texts.askSlot(asked, slots, { index, total });
  }

  /**
   * An answer to what the person said besides: what cannot be done and what became of earlier
   * entries by code, the rest by the agent. A change of what is asked about, which the reader has
   * passed over (`kind`), is said not to be understood: who hears small talk may say yes to what was
   * not changed.
   */
  async aside(state: FormState, reply: Reply, kind?: MessageKind): Promise<string> {
    const byCode = this.refusal() ?? (await this.status(reply));
    if (byCode === undefined && state.stage === "READY" && this.#namesAChange(reply)) {
      return kind === "details" ? "" : this.#texts.slotError("UNREADABLE");
    }
    return byCode ?? (await this.#words(state, "answer")) ?? this.#texts.noAnswer;
  }

  #namesAChange({ kind, because, words }: Reply): boolean {
    if (kind !== "change") return false;
    if (because === "names-a-value") return true;
    return findMoney(words).length > 0 || findWhen(words, { today: this.today }).length > 0;
  }

  /** What this form cannot do, said instead of bent. */
  refusal(): string | undefined {
    const { slots, author, message } = this.#turn;
    if (slots || author !== "person") return undefined;
    if (repeatsInVain(message, this.#form)) return this.#texts.noRepeats;
    return this.#form.refuses?.(message, this.#locale);
  }

  /** What became of earlier entries, from the record, where the message asks for it. */
  async status({ kind, words }: Reply): Promise<string | undefined> {
    if (kind !== "question" || !asksForStatus(words)) return undefined;
    const flows = await this.#turn.finishedFlows();
    const own = flows.filter(({ flow }) => flow === this.#form.flow);
    return this.#texts.status(own.map(({ data }) => data as FormResult));
  }

  /** The agent's words; absent where it gives none that may be shown. */
  async #words(state: FormState, moment: Moment): Promise<string | undefined> {
    try {
      const { text } = await this.#turn.agent("interaction", this.#texts.labels.interaction, {
        show: mayBeShown,
        context: this.#context("interaction", state, moment),
      });
      return text !== "" && mayBeShown(text) ? text : undefined;
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  /** What is wrong, then the next slot, in the form's own words: of what only code has seen. */
  plainQuestion(state: FormState): string {
    const errors = Object.values(state.meta.slot_errors).map((error) =>
      this.#texts.slotError(error),
    );
    return [...errors, this.plainSlotQuestion(state)].filter(Boolean).join(" ");
  }

  #context(agent: FormFacts["agent"], state: FormState, moment: Moment): string {
    const { stage, slots, meta, index, total } = state;
    const { slots: specs } = this.#form;
    const isFilling = stage === "FILLING";
    const isAnswering = isFilling && moment === "answer";
    return contextBlock({
      agent,
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

/** Whether a model's words claim nothing that only the ledger can know. */
function mayBeShown(text: string): boolean {
  return !claimsDeed(text);
}

/** Whether a message wants a repetition that no slot takes. */
function repeatsInVain(message: string, { slots }: SlotForm): boolean {
  const takesIt = Object.values(slots).some(({ type }) => type === "recurrence");
  return !takesIt && findRecurrence(message).length > 0;
}

/** Whether the person's words fill the form, or are answered on the way. */
type Moment = "fill" | "answer";

/** Errors of a model that answered, but nothing that could be used; the others end the turn. */
function isUnreadable(error: unknown): boolean {
  return (
    error instanceof DureError && (error.code === "MODEL_FORMAT" || error.code === "MODEL_EMPTY")
  );
}
