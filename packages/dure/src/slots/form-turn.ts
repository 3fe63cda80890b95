import { isAbout, type QuestionDetails } from "../engine/turn/question.ts";
import type { DonePayload } from "../engine/service/service.ts";
import type { StateManager } from "../engine/turn/state.ts";
import type { EffectOutcome, TurnContext } from "../engine/turn/turn-context.ts";
import type { JsonObject } from "../kernel/json.ts";
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
import { addsAnother } from "./claims.ts";
import { decideCancel, decideContinue, decideReady, type ReadyAttempt } from "./decide.ts";
import { applyDelta, unchanged, type DeltaContext, type DeltaOutcome } from "./delta.ts";
import { lookBefore, type Looked } from "./form-look.ts";
import { cardOf, endingText, receiptOf, receiptsOf, summaryText } from "./form-report.ts";
import { FormSpeech } from "./form-speech.ts";
import type { FormTexts, SlotContext, SlotForm } from "./form.ts";
import type { FormResult, FormState, SlotValues } from "./form-state.ts";
import type { SlotDoubt } from "./held.ts";
import { todayIn } from "../parse/days.ts";
import { classifyReply, REFUSING_KINDS, type Reply } from "../parse/reply.ts";
import type { Locale } from "../parse/text.ts";
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
  readonly #turn: TurnContext;
  readonly #manager: StateManager<FormState>;
  readonly #form: SlotForm;
  readonly #texts: FormTexts;
  readonly #locale: Locale;
  readonly #speech: FormSpeech;
  readonly #reply: Reply;
  /** Said before whatever this turn ends with, in order. */
  readonly #said: string[] = [];
  /** What this message left unsure. */
  #doubts: readonly SlotDoubt[] = [];

  constructor(turn: TurnContext, form: SlotForm) {
    this.#turn = turn;
    this.#manager = turn.state as StateManager<FormState>;
    this.#form = form;
    this.#locale = turn.locale.startsWith("en") ? "en" : "ko";
    this.#texts = form.texts[this.#locale];
    this.#speech = new FormSpeech(turn, form, this.#locale);
    this.#reply = classifyReply(turn.message);
  }

  async run(): Promise<DonePayload> {
    const { stage, meta } = this.#state;
    if (stage === "CONFIRMED") return this.#resume();
    if (this.#turn.author === "system") return this.#answerOperator();
    if (stage === "INIT") return this.#begin();
    if (meta.awaiting_continue) return this.#goOnOrStop();
    return stage === "READY" ? this.#decide() : this.#fill();
  }

  /** Words outside of a flow. */
  async chat(): Promise<DonePayload> {
    if (this.#state.stage !== "INIT" || this.#turn.slots) return this.run();
    if (this.#turn.author === "system") return this.#answerOperator();
    const nothing = this.#nothingOpen();
    if (nothing) return nothing;
    return { message: await this.#speech.aside(this.#state, this.#reply), nextAction: "ASK" };
  }

  // --- what a message can mean, stage by stage

  async #begin(): Promise<DonePayload> {
    const nothing = this.#nothingOpen();
    if (nothing) return nothing;
    const answer = this.#speech.refusal() ?? (await this.#speech.status(this.#reply));
    if (answer !== undefined) return { message: answer, nextAction: "ASK" };
    this.#put(startFlow(this.#turn.id("flow")));
    return this.#fill();
  }

  /** A yes or a no where there is nothing to confirm or to cancel. */
  #nothingOpen(): DonePayload | undefined {
    const { kind } = this.#reply;
    if (REFUSING_KINDS.has(kind)) return { message: this.#texts.nothingToCancel };
    const isButton = this.#turn.confirmId !== undefined;
    return isButton && kind === "yes" ? { message: this.#texts.nothingToConfirm } : undefined;
  }

  async #fill(): Promise<DonePayload> {
    if (this.#state.stage === "FILLING") {
      const cancel = decideCancel(this.#attempt());
      if (cancel.do === "cancel") return this.#cancel(cancel.all);
      if (cancel.do === "ask") return this.#ask();
      const refusal = this.#speech.refusal();
      if (refusal !== undefined) return this.#askAfter(refusal);
    }

    const before = this.#state;
    const { requests, kind } = await this.#read();
    if (requests.has("cancel_flow")) return this.#cancel(kind === "cancel_all");
    if (kind === "unsupported") return this.#sayUnsupported();
    const isAside = this.#reply.kind === "question" && before.stage === "FILLING";
    if (isAside && sameSlots(before, this.#state)) {
      return this.#askAfter(await this.#speech.aside(this.#state, this.#reply));
    }
    return this.#ask();
  }

  /** What the model sees to be beyond these slots starts nothing, and costs no patience. */
  async #sayUnsupported(): Promise<DonePayload> {
    const answer = await this.#speech.aside(this.#state, this.#reply);
    if (this.#state.stage !== "INIT") return this.#askAfter(answer);
    return { message: answer, nextAction: "ASK" };
  }

  async #decide(): Promise<DonePayload> {
    if (this.#turn.answering.question?.begun) return this.#confirm();
    if (this.#turn.slots) this.#edit(this.#turn.slots);
    const decision = decideReady(this.#attempt());
    if (decision.do === "cancel") return this.#cancel(decision.all);
    if (this.#state.stage !== "READY") return this.#ask();
    switch (decision.do) {
      case "confirm":
        return this.#confirm();
      case "ask":
        if (decision.unseen) this.#said.push(this.#texts.confirmAgain);
        return this.#ask();
      case "listen":
        return this.#listen();
    }
    return decision satisfies never;
  }

  /** The slots are looked at once more: since they were shown, midnight may have passed. */
  async #confirm(): Promise<DonePayload> {
    const step = confirmEntry(this.#state, {
      specs: this.#form.slots,
      today: todayIn(this.#turn.timeZone, this.#turn.now()),
      question: this.#turn.answering.question!.id,
    });
    this.#put(step.state);
    return step.ok ? this.#execute() : this.#ask();
  }

  /**
   * Words that neither confirm nor cancel: a change, one more, or small talk; either way the
   * confirmation is asked again.
   */
  async #listen(): Promise<DonePayload> {
    const refusal = this.#speech.refusal();
    if (refusal !== undefined) return this.#askAfter(refusal);
    const before = this.#state;
    const { requests, kind } = await this.#read();
    const isSame = sameSlots(before, this.#state);
    if (isSame && requests.has("cancel_flow")) return this.#cancel(kind === "cancel_all");
    if (isSame) this.#said.push(await this.#speech.aside(this.#state, this.#reply, kind));
    return this.#ask();
  }

  /** After a failure among several: 계속 진행, or not. */
  async #goOnOrStop(): Promise<DonePayload> {
    const { message: text, answering } = this.#turn;
    const decision = decideContinue({ text, answering });
    if (decision.do === "stop") return this.#cancel(true);
    if (decision.do === "ask") return this.#askContinue();
    this.#put(continueBatch(this.#state));
    return this.#ask();
  }

  // --- what the person's words change

  /** A page's edits count as they are; what a model reads is held against the words. */
  async #read(): Promise<DeltaOutcome & { readonly kind?: MessageKind | undefined }> {
    const { slots } = this.#turn;
    if (slots) return this.#edit(slots);
    const replaces = mannerOf(this.#reply) === "changes";
    const held = await this.#speech.hear(this.#state, replaces);
    this.#doubts = held?.doubts ?? [];
    for (const remark of held?.remarks ?? []) this.#said.push(this.#texts.slotError(remark));
    if (held?.kind === "unsupported") return { ...unchanged(this.#state), kind: held.kind };
    return { ...this.#apply(held, "agent"), kind: held?.kind };
  }

  /** What was sent with a value and is not kept is said. */
  #edit(slots: JsonObject): DeltaOutcome {
    const outcome = this.#apply(editsOf(slots), "code");
    const remarks = remarksOn(slots, outcome.state, { ...this.#form, today: this.#speech.today });
    this.#said.push(...remarks.map((remark) => this.#texts.slotError(remark)));
    return outcome;
  }

  #apply(delta: unknown, from: DeltaContext["from"]): DeltaOutcome {
    const { message } = this.#turn;
    const manner = mannerOf(this.#reply);
    const context = { specs: this.#form.slots, today: this.#speech.today, from, manner, message };
    const outcome = applyDelta(this.#state, delta, context);
    const wasOpen = this.#state.stage !== "INIT";
    this.#put(outcome.state);
    if (outcome.added.length === 0) return outcome;
    this.#tellProgress();
    if (wasOpen) for (const { slots } of outcome.added) this.#said.push(this.#texts.added(slots));
    return outcome;
  }

  // --- the deed

  /**
   * A confirmed entry whose outcome is not known yet: nothing that is said changes it, so it is
   * settled first.
   */
  async #resume(): Promise<DonePayload> {
    if (this.#turn.author === "person" && this.#reply.kind !== "yes") {
      this.#said.push(this.#texts.resumed);
    }
    return this.#execute();
  }

  /**
   * The key names the question that was answered yes, so a crash, a second node and a later turn
   * all speak of the same deed. While the outcome is unknown this throws: the turn ends with
   * `EFFECT_UNKNOWN` and the stage stays CONFIRMED.
   */
  async #execute(): Promise<DonePayload> {
    const state = this.#state;
    const { deed } = this.#form;
    let ended: FormResult[] = [];
    await this.#turn.call(deed.call, deed.tool, deed.input(state.slots), {
      key: [state.meta.confirmed],
      // What follows from the outcome is written here, where it outlives a stop.
      onSettled: (outcome) => {
        ended = this.#close(settleEntry(this.#state, answerOf(outcome, deed)));
      },
    });
    return this.#report(state, ended);
  }

  // --- ends

  /** The current entry, or all that are left. */
  async #cancel(all: boolean): Promise<DonePayload> {
    const isRest = all && this.#state.total > 1;
    if (isRest) this.#said.push(this.#texts.restCancelled);
    const state = this.#state;
    return this.#report(state, this.#close(all ? stopBatch(state) : cancelEntry(state)));
  }

  /** Notes how the current entry ended and loads the next one. Gives the results that are new. */
  #close(step: FlowStep): FormResult[] {
    if (!step.ok) throw new Error(`${step.code}: ${step.because}`);
    const known = this.#state.results.length;
    this.#put(recordResult(step.state));
    const ended = this.#state.results.slice(known);
    for (const result of ended) {
      this.#turn.complete(finishedOf(result, this.#form, this.#state));
    }
    const next = nextEntry(this.#state, { specs: this.#form.slots, today: this.#speech.today });
    if (next.ok) this.#put(next.state);
    return ended;
  }

  /** Says how it ended, then asks what comes next; at the end of several it counts. */
  async #report(before: FormState, ended: readonly FormResult[]): Promise<DonePayload> {
    const [result] = ended;
    if (ended.length === 1 && result) this.#said.push(endingText(result, before, this.#texts));
    const receipt = result?.outcome === "done" ? { receipt: receiptOf(result) } : {};
    const { stage, results, total } = this.#state;

    if (isTerminal(stage)) {
      if (total > 1) this.#said.push(summaryText(results, this.#texts));
      return {
        message: this.#message(),
        nextAction: "DONE",
        ...receipt,
        ...receiptsOf(results),
        slotsCard: this.#card(false),
      };
    }
    this.#tellProgress();
    const next = this.#state.meta.awaiting_continue ? this.#askContinue() : await this.#ask();
    return { ...next, ...receipt };
  }

  // --- questions

  /**
   * The question that the stage asks: the confirmation, or one missing slot; or the end of
   * patience.
   */
  async #ask(): Promise<DonePayload> {
    if (this.#state.stage === "READY") return this.#askForYes();
    return this.#askForSlot(() => this.#speech.question(this.#state, this.#doubts));
  }

  /** The end of patience, or the question that `words` gives. */
  async #askForSlot(words: () => Promise<string> | string): Promise<DonePayload> {
    const limit = this.#form.maxFillTurns ?? this.#turn.limits.maxFillTurns;
    const counted = countFillTurn(this.#state, limit);
    this.#put(counted);
    if (counted.stage === "UNSUPPORTED") {
      return this.#report(this.#state, this.#close({ ok: true, state: counted }));
    }
    return this.#askNow(await words());
  }

  /** An answer on the way, then the same question again; that costs no patience. */
  async #askAfter(answer: string): Promise<DonePayload> {
    this.#said.push(answer);
    if (this.#state.stage === "READY") return this.#askForYes();
    return this.#askNow(this.#speech.plainSlotQuestion(this.#state));
  }

  #askNow(question: string): DonePayload {
    this.#said.push(question);
    return { message: this.#message(), nextAction: "ASK", slotsCard: this.#card(true) };
  }

  /** What the outside would refuse is said before the question, and asked for anew. */
  async #askForYes(): Promise<DonePayload> {
    const looked = await lookBefore(this.#turn, this.#form, this.#state);
    this.#put(looked.state);
    if (this.#state.stage !== "READY") {
      return this.#askForSlot(() => this.#speech.plainQuestion(this.#state));
    }
    this.#said.push(...confirmWords(looked, this.#texts));
    return {
      message: this.#message(),
      nextAction: "CONFIRM",
      uiHint: { buttons: this.#texts.buttons.confirm },
      question: questionAbout(this.#state.slots, this.#form),
      slotsCard: this.#card(true),
    };
  }

  #askContinue(): DonePayload {
    this.#said.push(this.#texts.askContinue(this.#state.tasks.length + 1));
    return {
      message: this.#message(),
      nextAction: "ASK_CONTINUE",
      uiHint: { buttons: this.#texts.buttons.askContinue },
    };
  }

  /** An operator has answered, and there is nothing (any more) that waits for it. */
  async #answerOperator(): Promise<DonePayload> {
    this.#said.push(this.#texts.alreadySettled);
    const { stage, meta } = this.#state;
    if (meta.awaiting_continue) return this.#askContinue();
    return stage === "READY" ? this.#ask() : { message: this.#message(), nextAction: "ASK" };
  }

  // --- small things

  get #state(): FormState {
    return this.#manager.value;
  }

  /** The machine knows no step from an end to a question: the reset lies between. */
  #put(next: FormState): void {
    if (isTerminal(this.#state.stage) && !isTerminal(next.stage)) this.#manager.transition("INIT");
    this.#manager.update(() => next);
  }

  #attempt(): ReadyAttempt {
    return attemptOf(this.#turn, this.#state, this.#reply);
  }

  #message(): string {
    return this.#said.filter(Boolean).join("\n");
  }

  #tellProgress({ index, total, slots } = this.#state): void {
    if (total > 1) this.#turn.taskProgress(index, total, slots);
  }

  #card(editable: boolean): JsonObject {
    return cardOf(this.#state, { editable, specs: this.#form.slots, texts: this.#texts });
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

/** How words speak of another person, or whatever identifies an entry. */
function mannerOf({ words, kind, because }: Reply): DeltaContext["manner"] {
  if (addsAnother(words)) return "adds";
  return kind === "change" && because !== "names-a-value" ? "changes" : undefined;
}

function answerOf(
  outcome: EffectOutcome<unknown>,
  deed: SlotForm["deed"],
): Parameters<typeof settleEntry>[1] {
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
    texts.confirmQuestion(slots, { index, total }),
  ];
}

/** What is stored with the question, and what its yes leads to. */
function questionAbout(slots: SlotValues, { slots: specs, deed }: SlotForm): QuestionDetails {
  const amounts: Record<string, number> = {};
  for (const [slot, value] of Object.entries(slots)) {
    if (specs[slot]?.isAmount && typeof value === "number") amounts[slot] = value;
  }
  return { call: deed.call, slots, amounts };
}

/** Slots of a page as operations: what is null or empty is taken out. */
function editsOf(slots: JsonObject): { operations: unknown[] } {
  return {
    operations: Object.entries(slots).map(([slot, value]) =>
      value === null || value === "" ? { op: "clear", slot } : { op: "set", slot, value },
    ),
  };
}

/** Keys of words about what a page sent beside the values that count. */
function remarksOn(
  sent: JsonObject,
  { slots: kept }: FormState,
  { slots: specs, today }: Pick<SlotForm, "slots"> & SlotContext,
): readonly string[] {
  return Object.entries(sent).flatMap(([slot, value]) => {
    if (typeof value !== "string" || kept[slot] === undefined) return [];
    return specs[slot]?.remark?.(value, { today }) ?? [];
  });
}

function sameSlots(a: FormState, b: FormState): boolean {
  const seen = ({ slots, meta, total }: FormState): string =>
    JSON.stringify([slots, meta.slot_errors, total]);
  return seen(a) === seen(b);
}
