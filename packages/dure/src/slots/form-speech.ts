import type { Locale } from "../kernel/locales.ts";
import { DureError } from "../kernel/errors.ts";
import type { TurnContext } from "../engine/turn/turn-context.ts";
import { promptMoment } from "../models/prompt-files.ts";
import { asksForStatus, reportsDeed } from "./claims.ts";
import { saysNotTo } from "./deeds.ts";
import { isNeeded, openSlotsOf, type FormContext } from "./entries.ts";
import { contextBlock, readingSchemaOf, type FormFacts } from "./form-agents.ts";
import type { Contact, FormTexts, SlotForm, SlotSpecs } from "./form.ts";
import type { FormResult, FormState, SlotValues } from "./form-state.ts";
import { hold, type HeldReading } from "./hearing.ts";
import { LEXICON } from "../parse/lexicon/index.ts";
import { has } from "../parse/lexicon/patterns.ts";
import { todayIn, type IsoDate } from "../parse/days/days.ts";
import { speaksOfAll } from "../parse/money/derived.ts";
import { findMoney } from "../parse/money/find-money.ts";
import { findRecurrence } from "../parse/days/recurrence.ts";
import type { Reply } from "../parse/replies/reply.ts";
import { fold } from "../parse/text.ts";
import { findWhen } from "../parse/days/when.ts";
import { slotPrompt, type SlotPromptFacts, type SlotReading } from "./prompts.ts";

/** The parts of a form that its speech needs. */
export interface Spoken {
  readonly form: SlotForm;
  readonly specs: SlotSpecs;
  readonly texts: FormTexts;
  readonly locale: Locale;
}

/** Most contacts that are looked at. */
const MAX_CONTACTS = 500;
/** Entries of before that the model is told. */
const MAX_FINISHED = 3;

/**
 * What the models of a form are asked, and what of their words is shown. A model reads, and answers
 * what is asked on the way. It decides nothing, and it never says that something was done.
 */
export class FormSpeech {
  readonly #turn: TurnContext;
  readonly #form: SlotForm;
  readonly #specs: SlotSpecs;
  readonly #locale: Locale;
  readonly #texts: FormTexts;

  constructor(turn: TurnContext, { form, specs, texts, locale }: Spoken) {
    this.#turn = turn;
    this.#form = form;
    this.#specs = specs;
    this.#locale = locale;
    this.#texts = texts;
  }

  /** The day on which the message was sent, where the person is: what 내일 is counted from. */
  get today(): IsoDate {
    return todayIn(this.#turn.timeZone, this.#turn.acceptedAt);
  }

  /**
   * What the slot agent reads in the message, held against the message; undefined where it gives
   * nothing that can be read.
   */
  async hear(state: FormState): Promise<HeldReading | undefined> {
    const finished = has(LEXICON.before, fold(this.#turn.message)) ? await this.#finished() : [];
    const whole = await this.#whole();
    const reading = await this.#reading(state, finished, whole);
    if (!reading) return undefined;
    const { message } = this.#turn;
    return hold(reading, {
      specs: this.#specs,
      texts: this.#texts,
      locale: this.#locale,
      message,
      state,
      last: finished[0],
      whole,
      contacts: await this.#contacts(reading),
      doubted: this.#form.doubts?.(message, reading.items.length) ?? {},
      isRefused: saysNotTo(message, Object.values(this.#form.deeds ?? {})),
      today: this.today,
    });
  }

  async #reading(
    state: FormState,
    finished: readonly SlotValues[],
    whole: number | undefined,
  ): Promise<SlotReading | undefined> {
    try {
      const { data } = await this.#turn.agent("slots", this.#texts.labels.slots, {
        show: false,
        context: this.#context("slots", state, "fill"),
        prompt: slotPrompt(this.#promptFacts(state, finished, whole), this.#turn.prompt("slots")),
      });
      // A turn that an older release began may have recorded another shape.
      return readingSchemaOf(this.#specs).safeParse(data).data;
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  /** Whom the person knows by which name; asked where the message may name one. */
  async #contacts({ items }: SlotReading): Promise<readonly Contact[]> {
    const { entities } = this.#form;
    const isPerson = ({ slot }: { slot: string }): boolean => this.#specs[slot]?.type === "person";
    if (!entities?.contacts || !items.some(({ changes }) => changes.some(isPerson))) return [];
    const found = await this.#turn.step("contacts", () => entities.contacts!(this.#turn));
    return found.slice(0, MAX_CONTACTS);
  }

  /** All there is; asked where the words speak of it. */
  async #whole(): Promise<number | undefined> {
    const { entities } = this.#form;
    if (!entities?.whole || !speaksOfAll(this.#turn.message)) return undefined;
    const whole = await this.#turn.step("whole", async () => {
      const known = await entities.whole!(this.#turn);
      return Number.isSafeInteger(known) && known! > 0 ? known! : null;
    });
    return whole ?? undefined;
  }

  async #finished(): Promise<readonly SlotValues[]> {
    const flows = await this.#turn.finishedFlows();
    const results = flows
      .filter(({ flow }) => flow === this.#form.flow)
      .map(({ data }) => data as FormResult)
      .filter(({ outcome }) => outcome === "done");
    return results.slice(0, MAX_FINISHED).map(({ slots }) => slots);
  }

  #promptFacts(
    state: FormState,
    finished: readonly SlotValues[],
    available: number | undefined,
  ): SlotPromptFacts {
    const { timeZone, acceptedAt } = this.#turn;
    const { slotNames } = this.#texts;
    return {
      language: this.#locale,
      today: promptMoment(acceptedAt, timeZone),
      zone: timeZone,
      slots: Object.entries(this.#specs).map(([name, spec]) => ({
        name,
        description: described(slotNames[name] ?? name, spec.description?.[this.#locale]),
        required: isNeeded(spec, state.slots),
      })),
      known: available === undefined ? knownIn(state) : { ...knownIn(state), available },
      finished,
      lastQuestion: this.#lastQuestion(state),
      examples: this.#form.examples?.[this.#locale],
    };
  }

  #lastQuestion(state: FormState): string | undefined {
    const { stage, slots, index, total } = state;
    if (stage === "READY") return this.#texts.confirmQuestion(slots, { index, total });
    return stage === "FILLING" ? this.slotQuestion(state) || undefined : undefined;
  }

  /** Asks for what is missing: the one that is wrong, else all that are needed at once, else the next. */
  slotQuestion(state: FormState): string {
    const { slots, meta, index, total } = state;
    const progress = { index, total };
    const { asked, missing } = openSlotsOf(state, this.#specs);
    if (asked === undefined) return "";
    const needed = missing.filter((slot) => isNeeded(this.#specs[slot]!, slots));
    const isPlain = meta.slot_errors[asked] === undefined && needed.length > 1;
    const all = isPlain ? this.#texts.askSlots?.(needed, slots, progress) : undefined;
    return all ?? this.#texts.askSlot(asked, slots, progress);
  }

  /** What is wrong, then what is asked: always in the form's own words, with every error. */
  question(state: FormState): string {
    const errors = this.#problems(state);
    return [...new Set(errors), this.slotQuestion(state)].filter(Boolean).join(" ");
  }

  /** What is wrong, in words. */
  #problems({ meta }: FormState): string[] {
    const errors = Object.entries(meta.slot_errors);
    return errors.map(([slot, error]) => this.#texts.slotError(error, slot));
  }

  /**
   * An answer to what the person said besides: what cannot be done and what became of earlier
   * entries by code, the rest by the agent. A change of what is asked about that was not understood
   * is said so: who hears small talk may say yes to what was not changed.
   */
  async aside(state: FormState, reply: Reply): Promise<string> {
    const byCode = this.refusal() ?? (await this.status(reply));
    if (byCode !== undefined) return byCode;
    if (state.stage === "READY" && this.#namesAChange(reply)) {
      return this.#texts.slotError("UNREADABLE");
    }
    return (await this.#words(state)) ?? this.#texts.noAnswer;
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
    const context = { specs: this.#specs, today: this.today };
    if (repeatsInVain(message, context)) return this.#texts.noRepeats;
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
  async #words(state: FormState): Promise<string | undefined> {
    const own = Object.values(this.#texts.slotNames);
    const mayBeShown = (text: string): boolean => !reportsDeed(text, own);
    try {
      const { text } = await this.#turn.agent("interaction", this.#texts.labels.interaction, {
        show: mayBeShown,
        context: this.#context("interaction", state, "answer"),
      });
      return text !== "" && mayBeShown(text) ? text : undefined;
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  #context(agent: FormFacts["agent"], state: FormState, moment: SpeechMoment): string {
    const { stage, slots, meta, index, total, tasks } = state;
    const { asked, missing } = openSlotsOf(state, this.#specs);
    const isFilling = stage === "FILLING";
    const isAnswering = isFilling && moment === "answer";
    return contextBlock({
      agent,
      locale: this.#locale,
      today: this.today,
      stage: isAnswering ? "ANSWERING" : stage,
      slots,
      waiting: tasks.length === 0 ? undefined : tasks.map((task) => task.slots),
      slot_errors: meta.slot_errors,
      problems: this.#problems(state),
      missing: [...missing],
      asked_slot: isFilling ? asked : undefined,
      progress: { index, total },
    });
  }
}

/** A slot's name for people, with what its author or its kind says of it. */
function described(name: string, description: string | undefined): string {
  if (description === undefined || description.includes(name)) return description ?? name;
  return `${name}. ${description}`;
}

/** The current entry, and those that wait behind it. */
function knownIn({ slots, tasks }: FormState): Readonly<Record<string, unknown>> {
  return tasks.length === 0 ? slots : { ...slots, waiting: tasks.map((task) => task.slots) };
}

/** Whether a message wants a repetition that no slot takes; 매달 is part of an amount of each month. */
function repeatsInVain(message: string, { specs, today }: FormContext): boolean {
  const takesIt = Object.values(specs).some(({ type }) => type === "recurrence");
  if (takesIt || findRecurrence(message).length === 0) return false;
  const amounts = Object.values(specs).filter(({ type }) => type === "money");
  const said = amounts.flatMap((spec) => spec.reader?.({ today, specs }).find(message) ?? []);
  const rest = said.reduce((line, { words }) => line.replace(words, " "), message.normalize("NFC"));
  return findRecurrence(rest).length > 0;
}

/** Whether the person's words fill the form, or are answered on the way. */
type SpeechMoment = "fill" | "answer";

/** Errors of a model that answered, but nothing that could be used; the others end the turn. */
function isUnreadable(error: unknown): boolean {
  return (
    error instanceof DureError && (error.code === "MODEL_FORMAT" || error.code === "MODEL_EMPTY")
  );
}
