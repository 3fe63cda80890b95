import { isAbout, type QuestionDetails } from "../engine/turn/question.ts";
import type { DonePayload } from "../engine/service/service.ts";
import type { EffectOutcome, TurnContext } from "../engine/turn/turn-context.ts";
import {
  cancelEntry,
  confirmEntry,
  continueBatch,
  countFillTurn,
  nextEntry,
  recordResult,
  settleEntry,
  startFlow,
  stopBatch,
  type FlowStep,
} from "./batch.ts";
import { decideCancel, decideContinue, decideReady, type ReadyAttempt } from "./decide.ts";
import { cancelsByName, deedButtons, deedOf } from "./deeds.ts";
import { withStageOfSlots } from "./entries.ts";
import { lookBefore, type Looked } from "./form-look.ts";
import { FormParts } from "./form-parts.ts";
import { FormReading, sameSlots } from "./form-reading.ts";
import { endingText, receiptOf, receiptsOf, summaryText } from "./form-report.ts";
import type { Deed, FormTexts, SlotForm, SlotSpecs } from "./form.ts";
import type { FormResult, FormState, SlotValues } from "./form-state.ts";
import { namesAnotherValue, namesAValue, replyIn } from "./heard-reply.ts";
import { answerTo, type OpenOffer } from "./offers.ts";
import { todayIn } from "../parse/days/days.ts";
import type { Lexicon } from "../parse/lexicon/index.ts";
import { REFUSING_KINDS, type Reply } from "../parse/replies/reply.ts";
import type { MessageKind } from "./prompts.ts";
import { isTerminal, type TerminalStage } from "./stages.ts";

/**
 * One turn of a form. The stage says what a message can mean; models read and word it, code
 * decides:
 *
 *     INIT       what is wanted?                             → FILLING, READY
 *     FILLING    one slot after the other                    → READY, CANCELLED, UNSUPPORTED
 *     READY      yes, no, a change, or small talk            → CONFIRMED, FILLING, CANCELLED
 *     CONFIRMED  the outside is asked until it is known      → EXECUTED, FAILED
 *
 * Several entries are one flow: when one has ended the next one is loaded in the same turn.
 */
export class FormTurn {
  readonly #parts: FormParts;
  readonly #reading: FormReading;
  readonly #reply: Reply;

  /** @param lexicon words of answers, with those of the form. */
  constructor(turn: TurnContext, form: SlotForm, lexicon: Lexicon) {
    this.#parts = new FormParts(turn, form, lexicon);
    this.#reading = new FormReading(this.#parts);
    this.#reply = replyIn(turn.message, this.#parts.state, this.#parts);
  }

  async run(): Promise<DonePayload> {
    const { stage, meta } = this.#parts.state;
    if (stage === "CONFIRMED") return this.#resume();
    if (this.#parts.turn.author === "system") return this.#answerOperator();
    if (stage === "INIT") return this.#begin();
    if (meta.awaiting_continue) return this.#goOnOrStop();
    const answered = this.#outdated() ?? this.#answerOffer();
    if (answered) return answered;
    if (this.#reading.decline()) return this.#ask();
    return stage === "READY" ? this.#decide() : this.#fill();
  }

  /** Words outside of a flow. */
  async chat(): Promise<DonePayload> {
    if (this.#parts.state.stage !== "INIT" || this.#parts.turn.slots) return this.run();
    if (this.#parts.turn.author === "system") return this.#answerOperator();
    const nothing = this.#nothingOpen();
    if (nothing) return nothing;
    return {
      message: await this.#parts.speech.aside(this.#parts.state, this.#reply),
      nextAction: "ASK",
    };
  }

  // --- what a message can mean, stage by stage

  async #begin(): Promise<DonePayload> {
    const nothing = this.#nothingOpen();
    if (nothing) return nothing;
    const answer = this.#parts.speech.refusal() ?? (await this.#parts.speech.status(this.#reply));
    if (answer !== undefined) return { message: answer, nextAction: "ASK" };
    this.#parts.put(startFlow(this.#parts.turn.id("flow")));
    return this.#fill();
  }

  /** A yes or a no where there is nothing to confirm or to cancel. */
  #nothingOpen(): DonePayload | undefined {
    const { kind } = this.#reply;
    const isRefusal = REFUSING_KINDS.has(kind) && !cancelsByName(this.#parts.form);
    if (isRefusal) return { message: this.#parts.texts.nothingToCancel };
    if (this.#parts.turn.confirmId === undefined) return undefined;
    const { nothingToConfirm, outdated } = this.#parts.texts;
    return { message: kind === "yes" ? nothingToConfirm : outdated };
  }

  /** The button of an earlier question answers none: not this one, and no form that is new. */
  #outdated(): Promise<DonePayload> | undefined {
    const { answering, confirmId } = this.#parts.turn;
    if (confirmId === undefined || answering.question) return undefined;
    const isOffered = confirmId === this.#parts.offered()?.confirmId;
    if (isOffered || answering.because === "expired") return undefined;
    const { outdated, confirmAgain } = this.#parts.texts;
    const isYesAsked = this.#parts.state.stage === "READY" && !this.#parts.offer();
    return this.#askAfter(isYesAsked ? confirmAgain : outdated);
  }

  /** An answer to what is open: which value, whether another or one more. */
  #answerOffer(): Promise<DonePayload> | undefined {
    const offer = this.#parts.offer();
    if (!offer || this.#parts.turn.slots) return undefined;
    const { message } = this.#parts.turn;
    // 바꿔줘 says which; 7만원으로 바꿔줘 is about something else.
    const isMore = namesAValue(message, this.#parts.context);
    const manner = isMore ? undefined : this.#reading.manner;
    const words = { manner, lexicon: this.#parts.lexicon };
    const picked = answerTo(message, offer, words);
    // A yes to two things is none to either.
    if (picked === undefined) return this.#reply.kind === "yes" ? this.#ask() : undefined;
    if (picked === "none" && this.#reply.kind !== "no") return undefined;
    this.#reading.take(offer.settle(picked, this.#parts.context));
    return this.#ask();
  }

  async #fill(): Promise<DonePayload> {
    if (this.#parts.state.stage === "FILLING") {
      const cancel = decideCancel(this.#attempt());
      if (cancel.do === "cancel") return this.#cancel(cancel.all);
      if (cancel.do === "ask") return this.#ask();
      const refusal = this.#parts.speech.refusal();
      if (refusal !== undefined) return this.#askAfter(refusal);
    }

    const before = this.#parts.state;
    const { kind, moved } = await this.#reading.read();
    if (moved?.leavesCurrent) return this.#cancel(false);
    const isSame = sameSlots(before, this.#parts.state);
    if (isSame && this.#isLeaving(kind)) return this.#leave(kind);
    if (kind === "unsupported") return this.#sayUnsupported();
    this.#parts.put(withStageOfSlots(this.#parts.state, this.#parts.context));
    const isAside = this.#reply.kind === "question" || kind === "question";
    if (isAside && isSame && before.stage === "FILLING") {
      return this.#askAfter(await this.#parts.speech.aside(this.#parts.state, this.#reply));
    }
    return this.#ask();
  }

  /** What the model sees to be beyond these slots starts nothing, and costs no patience. */
  async #sayUnsupported(): Promise<DonePayload> {
    const answer = await this.#parts.speech.aside(this.#parts.state, this.#reply);
    if (this.#parts.state.stage !== "INIT") return this.#askAfter(answer);
    return { message: answer, nextAction: "ASK" };
  }

  /** Whether the message gives up what is open; a refusal of another value does not. */
  #isLeaving(kind: MessageKind | undefined): boolean {
    if (this.#reply.because === "skips") return false;
    if (kind !== "refuse") return kind === "cancel" || kind === "cancel_all";
    return !namesAnotherValue(this.#parts.turn.message, this.#parts.state, this.#parts.context);
  }

  /** The person gives up; where nothing is open yet, that is said. */
  async #leave(kind: MessageKind | undefined): Promise<DonePayload> {
    if (this.#parts.state.stage === "INIT") return { message: this.#parts.texts.nothingToCancel };
    return this.#cancel(kind === "cancel_all");
  }

  async #decide(): Promise<DonePayload> {
    if (this.#parts.turn.answering.question?.begun) return this.#confirm();
    if (this.#parts.turn.slots) this.#reading.edit(this.#parts.turn.slots);
    const decision = decideReady(this.#attempt());
    if (decision.do === "cancel") return this.#cancel(decision.all);
    if (this.#parts.state.stage !== "READY") return this.#ask();
    switch (decision.do) {
      case "confirm":
        return this.#confirm();
      case "ask":
        if (decision.unseen) this.#parts.say(this.#parts.asksAgain(this.#reply));
        return this.#ask();
      case "listen":
        return this.#listen();
    }
    return decision satisfies never;
  }

  /** The slots are looked at once more: since they were shown, midnight may have passed. */
  async #confirm(): Promise<DonePayload> {
    const step = confirmEntry(this.#parts.state, {
      specs: this.#parts.specs,
      today: todayIn(this.#parts.turn.timeZone, this.#parts.turn.now()),
      question: this.#parts.turn.answering.question!.id,
    });
    this.#parts.put(step.state);
    return step.ok ? this.#execute() : this.#ask();
  }

  /**
   * Words that neither confirm nor cancel: a change, one more, or small talk; either way the
   * confirmation is asked again.
   */
  async #listen(): Promise<DonePayload> {
    const refusal = this.#parts.speech.refusal();
    if (refusal !== undefined) return this.#askAfter(refusal);
    const before = this.#parts.state;
    const { kind, moved, isHeard } = await this.#reading.read();
    if (moved?.leavesCurrent) return this.#cancel(false);
    const isSame = sameSlots(before, this.#parts.state);
    if (isSame && this.#isLeaving(kind)) return this.#cancel(kind === "cancel_all");
    if (isSame && kind === "confirm") this.#parts.say(this.#parts.texts.confirmAgain);
    else if (isSame && !isHeard) {
      this.#parts.say(await this.#parts.speech.aside(before, this.#reply));
    }
    return this.#ask();
  }

  /** After a failure among several: 계속 진행, or not. */
  async #goOnOrStop(): Promise<DonePayload> {
    const { message: text, answering } = this.#parts.turn;
    const decision = decideContinue({ text, answering });
    if (decision.do === "stop") return this.#cancel(true);
    if (decision.do === "ask") return this.#askContinue();
    this.#parts.put(continueBatch(this.#parts.state));
    return this.#ask();
  }

  // --- the deed

  /**
   * A confirmed entry whose outcome is not known yet: nothing that is said changes it, so it is
   * settled first.
   */
  async #resume(): Promise<DonePayload> {
    if (this.#parts.turn.author === "person" && this.#reply.kind !== "yes") {
      this.#parts.say(this.#parts.texts.resumed);
    }
    return this.#execute();
  }

  /**
   * The key names the question that was answered yes, so a crash, a second node and a later turn
   * all speak of the same deed. While the outcome is unknown this throws: the turn ends with
   * `EFFECT_UNKNOWN` and the stage stays CONFIRMED.
   */
  async #execute(): Promise<DonePayload> {
    const state = this.#parts.state;
    const deed = deedOf(this.#parts.form, state.slots);
    if (!deed) {
      throw new Error(`No deed of ${this.#parts.form.flow} has the name that was confirmed.`);
    }
    let ended: FormResult[] = [];
    await this.#parts.turn.call(deed.call, deed.tool, deed.input(state.slots), {
      key: [state.meta.confirmed],
      // What follows from the outcome is written here, where it outlives a stop.
      onSettled: (outcome) => {
        ended = this.#close(settleEntry(this.#parts.state, answerOf(outcome, deed)));
      },
    });
    return this.#report(state, ended);
  }

  // --- ends

  /** The current entry, or all that are left. */
  async #cancel(all: boolean): Promise<DonePayload> {
    const isRest = all && this.#parts.state.total > 1;
    if (isRest) this.#parts.say(this.#parts.texts.restCancelled);
    const state = this.#parts.state;
    return this.#report(state, this.#close(all ? stopBatch(state) : cancelEntry(state)));
  }

  /** Notes how the current entry ended and loads the next one. Gives the results that are new. */
  #close(step: FlowStep): FormResult[] {
    if (!step.ok) throw new Error(`${step.code}: ${step.because}`);
    const known = this.#parts.state.results.length;
    this.#parts.put(recordResult(step.state));
    const ended = this.#parts.state.results.slice(known);
    for (const result of ended) {
      this.#parts.turn.complete(finishedOf(result, this.#parts.form, this.#parts.state));
    }
    const next = nextEntry(this.#parts.state, this.#parts.context);
    if (next.ok) this.#parts.put(next.state);
    return ended;
  }

  /** Says how it ended, then asks what comes next; at the end of several it counts. */
  async #report(before: FormState, ended: readonly FormResult[]): Promise<DonePayload> {
    const [result] = ended;
    if (ended.length === 1 && result) {
      this.#parts.say(endingText(result, before, this.#parts.texts));
    }
    const receipt = result?.outcome === "done" ? { receipt: receiptOf(result) } : {};
    const { stage, results, total } = this.#parts.state;

    if (isTerminal(stage)) {
      if (total > 1) this.#parts.say(summaryText(results, this.#parts.texts));
      return {
        message: this.#parts.message(),
        nextAction: "DONE",
        ...receipt,
        ...receiptsOf(results),
        slotsCard: this.#parts.card(false),
      };
    }
    this.#parts.tellProgress();
    const next = this.#parts.state.meta.awaiting_continue ? this.#askContinue() : await this.#ask();
    return { ...next, ...receipt };
  }

  // --- questions

  /**
   * What is asked next: what is open, the confirmation, or what is missing; or the end of patience.
   */
  async #ask(): Promise<DonePayload> {
    const offer = this.#parts.offer();
    if (offer) return this.#askOffer(offer);
    if (this.#parts.state.stage === "READY") return this.#askForYes();
    return this.#askForSlot();
  }

  async #askOffer({ question }: OpenOffer): Promise<DonePayload> {
    return (await this.#endOfPatience()) ?? this.#parts.ask(question);
  }

  async #askForSlot(): Promise<DonePayload> {
    const ended = await this.#endOfPatience();
    return ended ?? this.#parts.ask(this.#parts.speech.question(this.#parts.state));
  }

  /** Too many turns in a row without anything new: the entry is given up. */
  async #endOfPatience(): Promise<DonePayload | undefined> {
    const limit = this.#parts.form.maxFillTurns ?? this.#parts.turn.limits.maxFillTurns;
    const counted = countFillTurn(this.#parts.state, this.#reading.isNew, limit);
    this.#parts.put(counted);
    if (counted.stage !== "UNSUPPORTED") return undefined;
    return this.#report(this.#parts.state, this.#close({ ok: true, state: counted }));
  }

  /** An answer on the way, then the same question again; that costs no patience. */
  async #askAfter(answer: string): Promise<DonePayload> {
    this.#parts.say(answer);
    const offer = this.#parts.offer();
    if (offer) return this.#parts.ask(offer.question);
    if (this.#parts.state.stage === "READY") return this.#askForYes();
    return this.#parts.ask(this.#parts.speech.slotQuestion(this.#parts.state));
  }

  /** What the outside would refuse is said before the question, and asked for anew. */
  async #askForYes(): Promise<DonePayload> {
    const { turn, form, specs, texts, locale, context } = this.#parts;
    this.#parts.leaveOut();
    const looked = await lookBefore(turn, form.look, this.#parts.state, context);
    this.#parts.put(looked.state);
    const { stage, slots } = this.#parts.state;
    if (stage !== "READY") return this.#askForSlot();
    this.#parts.say(...confirmWords(looked, texts));
    return {
      message: this.#parts.message(),
      nextAction: "CONFIRM",
      uiHint: { buttons: deedButtons(form, slots, locale) ?? texts.buttons.confirm },
      question: questionAbout(slots, form, specs),
      slotsCard: this.#parts.card(true),
    };
  }

  #askContinue(): DonePayload {
    this.#parts.say(this.#parts.texts.askContinue(this.#parts.state.tasks.length + 1));
    return {
      message: this.#parts.message(),
      nextAction: "ASK_CONTINUE",
      uiHint: { buttons: this.#parts.texts.buttons.askContinue },
    };
  }

  /** An operator has answered, and there is nothing (any more) that waits for it. */
  async #answerOperator(): Promise<DonePayload> {
    this.#parts.say(this.#parts.texts.alreadySettled);
    const { stage, meta } = this.#parts.state;
    if (meta.awaiting_continue) return this.#askContinue();
    return stage === "READY" ? this.#ask() : { message: this.#parts.message(), nextAction: "ASK" };
  }

  // --- small things

  #attempt(): ReadyAttempt {
    return attemptOf(this.#parts.turn, this.#parts.state, this.#reply);
  }
}

const STAGE_OF = {
  done: "EXECUTED",
  failed: "FAILED",
  cancelled: "CANCELLED",
  unsupported: "UNSUPPORTED",
} as const satisfies Record<FormResult["outcome"], TerminalStage>;

function attemptOf(
  { answering, slots }: TurnContext,
  state: FormState,
  reply: Reply,
): ReadyAttempt {
  const { question } = answering;
  return {
    reply,
    answering,
    isAsShown: question !== undefined && isAbout(question, state.slots),
    isBatch: state.total > 1,
    hasSlots: slots !== undefined,
  };
}

function answerOf(outcome: EffectOutcome<unknown>, deed: Deed): Parameters<typeof settleEntry>[1] {
  if (outcome.status === "failed") return { code: outcome.error.code };
  return { details: deed.details(outcome) };
}

/** How an entry ended, for the session's finished flows. */
function finishedOf(result: FormResult, { flow }: SlotForm, { total }: FormState) {
  return { flow, stage: STAGE_OF[result.outcome], data: { ...result, total } };
}

/** The question for a yes, behind what was not understood and what could not be looked at. */
function confirmWords({ state, isUnchecked }: Looked, texts: FormTexts): readonly string[] {
  const { slots, meta, index, total } = state;
  const { _unclear: unclear } = meta.slot_errors;
  return [
    unclear === undefined ? "" : texts.slotError(unclear),
    isUnchecked ? (texts.unchecked ?? "") : "",
    ...new Set(Object.values(meta.derived)),
    texts.confirmQuestion(slots, { index, total }),
  ];
}

/** What is stored with the question, and what its yes leads to. */
function questionAbout(slots: SlotValues, form: SlotForm, specs: SlotSpecs): QuestionDetails {
  const amounts: Record<string, number> = {};
  for (const [slot, value] of Object.entries(slots)) {
    if (specs[slot]?.isAmount && typeof value === "number") amounts[slot] = value;
  }
  return { call: deedOf(form, slots)?.call, slots, amounts };
}
