import {
  DureError,
  type DonePayload,
  type EffectOutcome,
  type JsonObject,
  type StateManager,
  type Tool,
  type TurnContext,
} from "dure";
import { classifyReply, isAbout, REFUSING_KINDS, todayIn, type Locale } from "dure/slots";
import { contextBlock, progressOf } from "./agents.ts";
import {
  cancelTransfer,
  confirmTransfer,
  continueBatch,
  countFillTurn,
  countResults,
  nextTransfer,
  recordResult,
  settleTransfer,
  startFlow,
  stopBatch,
  type FlowStep,
} from "./batch.ts";
import { decideCancel, decideContinue, decideReady, type ReadyAttempt } from "./decide.ts";
import { failureCodeOf, MESSAGES, type Texts } from "./messages.ts";
import { offlineReply } from "./offline-model.ts";
import { orderOf, type Order, type Sent } from "./send-money.ts";
import { applyDelta, SLOTS, type Delta } from "./slots.ts";
import { isTerminal, type TerminalStage } from "./stages.ts";
import { SLOT_NAMES, type TransferResult, type TransferState } from "./state.ts";

export interface TransferFlowOptions {
  readonly sendMoney: Tool<Order, Sent>;
  /** Turns in FILLING before a transfer is given up. */
  readonly maxFillTurns: number;
}

/**
 * One turn of a transfer. The stage says what a message can mean; models read and word it, code
 * decides:
 *
 *     INIT       what shall be sent?                         → FILLING, READY
 *     FILLING    one slot after the other                    → READY, CANCELLED, UNSUPPORTED
 *     READY      yes, no, a change, or small talk            → CONFIRMED, FILLING, CANCELLED
 *     CONFIRMED  the bank is asked until it is known         → EXECUTED, FAILED
 *
 * A batch is one flow: when a transfer has ended the next one is loaded in the same turn.
 */
export class TransferTurn {
  readonly #turn: TurnContext;
  readonly #manager: StateManager<TransferState>;
  readonly #options: TransferFlowOptions;
  readonly #locale: Locale;
  readonly #texts: Texts;
  /** Said before whatever this turn ends with, in order. */
  readonly #said: string[] = [];

  constructor(turn: TurnContext, options: TransferFlowOptions) {
    this.#turn = turn;
    this.#manager = turn.state as StateManager<TransferState>;
    this.#options = options;
    this.#locale = localeOf(turn.locale);
    this.#texts = MESSAGES[this.#locale];
  }

  async run(): Promise<DonePayload> {
    const { stage, meta } = this.#state;
    if (stage === "CONFIRMED") return this.#resume();
    if (this.#turn.author === "system") return this.#answerOperator();
    if (stage === "INIT") return this.#begin();
    if (meta.awaiting_continue) return this.#goOnOrStop();
    return stage === "READY" ? this.#decide() : this.#fill();
  }

  /** Small talk outside of a transfer. */
  async chat(): Promise<DonePayload> {
    if (this.#state.stage !== "INIT" || this.#turn.slots) return this.run();
    if (this.#turn.author === "system") return this.#answerOperator();
    return this.#nothingOpen() ?? { message: await this.#speak(), nextAction: "ASK" };
  }

  // --- what a message can mean, stage by stage

  async #begin(): Promise<DonePayload> {
    const nothing = this.#nothingOpen();
    if (nothing) return nothing;
    this.#put(startFlow(this.#turn.id("flow")));
    return this.#fill();
  }

  /** A yes or a no where there is nothing to confirm or to cancel. */
  #nothingOpen(): DonePayload | undefined {
    const { message, confirmId } = this.#turn;
    const { kind } = classifyReply(message);
    if (REFUSING_KINDS.has(kind)) return { message: this.#texts.nothingToCancel };
    if (confirmId !== undefined && kind === "yes") {
      return { message: this.#texts.nothingToConfirm };
    }
    return undefined;
  }

  async #fill(): Promise<DonePayload> {
    if (this.#state.stage === "FILLING") {
      const cancel = decideCancel(this.#attempt());
      if (cancel.do === "cancel") return this.#end(cancelTransfer(this.#state));
      if (cancel.do === "ask") return this.#ask();
    }

    const before = this.#state;
    const { slots } = this.#turn;
    const outcome = applyDelta(before, slots ? editsOf(slots) : await this.#readDelta(), {
      today: this.#today(),
      from: slots ? "code" : "agent",
    });
    this.#put(outcome.state);
    if (outcome.state.total > before.total) this.#tellProgress();
    if (outcome.requests.has("cancel_flow")) return this.#end(cancelTransfer(this.#state));
    return this.#ask();
  }

  async #decide(): Promise<DonePayload> {
    const shown = this.#state;
    const { slots } = this.#turn;
    if (slots) {
      this.#put(applyDelta(shown, editsOf(slots), { today: this.#today(), from: "code" }).state);
    }

    if (this.#turn.answering.question?.begun) return this.#confirm();
    const decision = decideReady(this.#attempt());
    if (decision.do === "cancel") return this.#end(cancelTransfer(this.#state));
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
    const step = confirmTransfer(this.#state, {
      today: todayIn(this.#turn.timeZone, this.#turn.now()),
      question: this.#turn.answering.question!.id,
    });
    this.#put(step.state);
    return step.ok ? this.#execute() : this.#ask();
  }

  /**
   * Words that neither confirm nor cancel: a change, or small talk; either way the confirmation is
   * asked again.
   */
  async #listen(): Promise<DonePayload> {
    const before = this.#state;
    const { state } = applyDelta(before, await this.#readDelta(), {
      today: this.#today(),
      from: "agent",
    });
    this.#put(state);
    if (sameSlots(before, state)) this.#said.push(await this.#speak());
    return this.#ask();
  }

  /** After a failure in a batch: 계속 진행, or not. */
  async #goOnOrStop(): Promise<DonePayload> {
    const { message: text, answering } = this.#turn;
    const decision = decideContinue({ text, locale: this.#locale, answering });
    if (decision.do === "stop") return this.#end(stopBatch(this.#state), this.#texts.restCancelled);
    if (decision.do === "ask") return this.#askContinue();
    this.#put(continueBatch(this.#state));
    return this.#ask();
  }

  // --- the bank

  /**
   * A confirmed transfer whose outcome is not known yet: nothing that is said changes it, so it is
   * settled first.
   */
  async #resume(): Promise<DonePayload> {
    const { author, message } = this.#turn;
    if (author === "person" && classifyReply(message).kind !== "yes") {
      this.#said.push(this.#texts.resumed);
    }
    return this.#execute();
  }

  /**
   * The key names the thing decided, so a crash, a second node and a later turn all speak of the
   * same transfer. While the outcome is unknown this throws: the turn ends with `EFFECT_UNKNOWN`
   * and the stage stays CONFIRMED.
   */
  async #execute(): Promise<DonePayload> {
    const state = this.#state;
    let ended: TransferResult[] = [];
    await this.#turn.call("transfer", this.#options.sendMoney, orderOf(state.slots), {
      key: [state.meta.confirmed],
      // Everything that follows from the bank's answer is written here, because what is written
      // here outlives a stop.
      onSettled: (outcome) => {
        ended = this.#close(settleTransfer(this.#state, answerOf(outcome)));
      },
    });
    return this.#report(state, ended);
  }

  // --- ends

  async #end(step: FlowStep, opening?: string): Promise<DonePayload> {
    const state = this.#state;
    if (opening !== undefined) this.#said.push(opening);
    return this.#report(state, this.#close(step));
  }

  /**
   * Notes how the current transfer ended and loads the next one. Gives the results that are new.
   */
  #close(step: FlowStep): TransferResult[] {
    if (!step.ok) throw new Error(`${step.code}: ${step.because}`);
    const known = this.#state.results.length;
    this.#put(recordResult(step.state));
    const ended = this.#state.results.slice(known);
    for (const result of ended) {
      this.#turn.complete({
        flow: "TRANSFER",
        stage: STAGE_OF[result.outcome],
        data: { ...result, total: this.#state.total },
      });
    }
    const next = nextTransfer(this.#state, { today: this.#today() });
    if (next.ok) this.#put(next.state);
    return ended;
  }

  /** Says how it ended, then asks what comes next; at the end of a batch it counts. */
  async #report(before: TransferState, ended: readonly TransferResult[]): Promise<DonePayload> {
    const [result] = ended;
    if (ended.length === 1 && result) this.#said.push(this.#textOf(result, before));
    const receipt = result?.outcome === "done" ? { receipt: receiptOf(result) } : {};
    const { stage, results, total } = this.#state;

    if (isTerminal(stage)) {
      const receipts = results.filter(({ outcome }) => outcome === "done").map(receiptOf);
      const all = receipts.length > 0 ? { receipts } : {};
      if (total > 1) {
        this.#said.push(
          [
            ...results.map((one) => this.#texts.result(one)),
            this.#texts.batchSummary(countResults(results)),
          ].join("\n"),
        );
      }
      return {
        message: this.#message(),
        nextAction: "DONE",
        ...receipt,
        ...all,
        slotsCard: this.#card(false),
      };
    }
    this.#tellProgress();
    const next = this.#state.meta.awaiting_continue ? this.#askContinue() : await this.#ask();
    return { ...next, ...receipt };
  }

  #textOf(
    { outcome, slots, transaction_id: number, code }: TransferResult,
    before: TransferState,
  ): string {
    const texts = this.#texts;
    const progress = progressOf(before);
    const place = (text: string): string =>
      [texts.progress(progress), text].filter(Boolean).join(" ");
    switch (outcome) {
      case "done":
        return texts.receipt(slots, number, progress);
      case "failed":
        return place(texts.failed(failureCodeOf(code), slots));
      case "cancelled":
        return before.total > 1 ? place(texts.cancelledOne) : texts.cancelled;
      case "unsupported":
        return place(texts.unsupported);
    }
    return outcome satisfies never;
  }

  // --- questions

  /**
   * The question that the stage asks: the confirmation, or one missing slot; or the end of
   * patience.
   */
  async #ask(): Promise<DonePayload> {
    const texts = this.#texts;
    if (this.#state.stage === "READY") {
      const { _unclear: unclear } = this.#state.meta.slot_errors;
      if (unclear !== undefined) this.#said.push(texts.slotError(unclear));
      this.#said.push(texts.confirmQuestion(this.#state.slots, progressOf(this.#state)));
      return {
        message: this.#message(),
        nextAction: "CONFIRM",
        uiHint: { buttons: texts.buttons.confirm },
        question: { call: "transfer", amounts: { amount: this.#state.slots.amount ?? 0 } },
        slotsCard: this.#card(true),
      };
    }

    const counted = countFillTurn(this.#state, this.#options.maxFillTurns);
    this.#put(counted);
    if (counted.stage === "UNSUPPORTED") return this.#end({ ok: true, state: counted });
    this.#said.push(await this.#speak());
    return { message: this.#message(), nextAction: "ASK", slotsCard: this.#card(true) };
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

  // --- models

  /** What the slot agent reads in the message; nothing that can be read is an answer too. */
  async #readDelta(): Promise<unknown> {
    try {
      const { data } = await this.#turn.agent<Delta>("slots", this.#texts.labels.slots, {
        show: false,
        context: this.#context(),
      });
      return data;
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  /**
   * The interaction agent's words for the moment; the texts of this example stand in when it gives
   * none that can be read.
   */
  async #speak(): Promise<string> {
    try {
      return (
        await this.#turn.agent("interaction", this.#texts.labels.interaction, {
          context: this.#context(),
        })
      ).text;
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      const { stage, slots, meta } = this.#state;
      return offlineReply({
        text: this.#turn.message,
        locale: this.#locale,
        stage,
        slots,
        slotErrors: meta.slot_errors,
        progress: progressOf(this.#state),
      });
    }
  }

  #context(): string {
    return contextBlock(this.#state, {
      locale: this.#locale,
      timeZone: this.#turn.timeZone,
      at: this.#turn.acceptedAt,
    });
  }

  // --- small things

  get #state(): TransferState {
    return this.#manager.value;
  }

  /** The machine knows no step from an end to a question: the reset lies between. */
  #put(next: TransferState): void {
    if (isTerminal(this.#state.stage) && !isTerminal(next.stage)) this.#manager.transition("INIT");
    this.#manager.update(() => next);
  }

  /** The day on which the message was sent, where the person is: what 내일 is counted from. */
  #today(): string {
    return todayIn(this.#turn.timeZone, this.#turn.acceptedAt);
  }

  #attempt(): ReadyAttempt {
    const { message: text, confirmId, answering, slots } = this.#turn;
    const { question } = answering;
    return {
      text,
      locale: this.#locale,
      answering,
      isAsShown: question !== undefined && isAbout(question, this.#state.slots),
      isButton: confirmId !== undefined,
      isBatch: this.#state.total > 1,
      hasSlots: slots !== undefined,
    };
  }

  #message(): string {
    return this.#said.filter(Boolean).join("\n");
  }

  #tellProgress(): void {
    const { index, total, slots } = this.#state;
    if (total > 1) this.#turn.taskProgress(index, total, slots);
  }

  /** The slots with their names, for a page that shows or edits them. */
  #card(editable: boolean): JsonObject {
    const { slots, meta, index, total } = this.#state;
    return {
      editable,
      index,
      total,
      slots: SLOT_NAMES.map((name) => {
        const error = meta.slot_errors[name];
        const mistake = error ? { error: this.#texts.slotError(error) } : {};
        return {
          name,
          label: this.#texts.slotNames[name],
          required: SLOTS[name].required,
          value: slots[name] ?? null,
          ...mistake,
        };
      }),
    };
  }
}

const STAGE_OF = {
  done: "EXECUTED",
  failed: "FAILED",
  cancelled: "CANCELLED",
  unsupported: "UNSUPPORTED",
} as const satisfies Record<TransferResult["outcome"], TerminalStage>;

export function localeOf(locale: string): Locale {
  return locale.startsWith("en") ? "en" : "ko";
}

/** Slots of a page as operations: what is null or empty is taken out. */
function editsOf(slots: JsonObject): { operations: unknown[] } {
  return {
    operations: Object.entries(slots).map(([slot, value]) =>
      value === null || value === "" ? { op: "clear", slot } : { op: "set", slot, value },
    ),
  };
}

function sameSlots(a: TransferState, b: TransferState): boolean {
  return (
    JSON.stringify([a.slots, a.meta.slot_errors]) === JSON.stringify([b.slots, b.meta.slot_errors])
  );
}

function answerOf(outcome: EffectOutcome<Sent>): Parameters<typeof settleTransfer>[1] {
  return outcome.status === "done"
    ? { transactionId: outcome.result?.transactionId }
    : { code: outcome.error.code };
}

function receiptOf({ slots, transaction_id: number }: TransferResult): JsonObject {
  const status = "booked";
  return number === undefined ? { status, ...slots } : { status, transaction_id: number, ...slots };
}

/** Errors of a model that answered, but nothing that could be used; the others end the turn. */
function isUnreadable(error: unknown): boolean {
  return (
    error instanceof DureError && (error.code === "MODEL_FORMAT" || error.code === "MODEL_EMPTY")
  );
}
