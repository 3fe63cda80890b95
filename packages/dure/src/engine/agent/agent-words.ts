import { compacted } from "../../kernel/json.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";

/**
 * Whether an agent's words are shown while they come. A function looks at all that was said so far:
 * each sentence is shown when it is whole, as long as the function says yes.
 */
export type ShowWords = boolean | ((said: string) => boolean);

export interface AgentWordsOptions {
  readonly agent: string;
  readonly label: string;
  readonly show: ShowWords;
  readonly emit: (event: TurnEvent) => void;
}

/**
 * What the person sees of one agent while it speaks. Words that are looked at before they are shown
 * can be taken back: `AGENT_START {restart: true}` voids what was shown.
 */
export class AgentWords {
  readonly #options: AgentWordsOptions;
  #gate: SentenceGate | undefined;
  #attempt = 1;
  /** Since they began, or began again. */
  #isSeen = false;
  /** The agent was announced as waiting for its model. */
  #waits = false;

  constructor(options: AgentWordsOptions) {
    this.#options = options;
    this.#gate = gateOf(options.show);
  }

  /** Whether anything is shown while it comes. */
  get areShown(): boolean {
    return this.#options.show !== false;
  }

  /** Whether an answer that failed may be asked for again although some of it was shown. */
  get canBeTakenBack(): boolean {
    return this.#gate !== undefined;
  }

  /** The agent begins, or begins again in another life. */
  begin(attempt: number): void {
    this.#start(attempt, attempt > 1);
  }

  /** The next attempt of this life. `isVoid`: what was shown of the last one does not count. */
  beginAgain(attempt: number, isVoid: boolean): void {
    this.#start(attempt, isVoid || (this.canBeTakenBack && this.#isSeen));
  }

  /** Its model cannot be reached. What was shown of an answer that was cut is void. */
  wait(label: string): void {
    if (this.#waits) return;
    this.#waits = true;
    this.#announce(this.#isSeen, label);
    this.#gate = gateOf(this.#options.show);
    this.#isSeen = false;
  }

  /** Gives what is shown of it now. */
  say(text: string): string {
    if (!this.areShown) return "";
    this.#goOn();
    const gate = this.#gate;
    if (!gate) return this.#show(text);
    const wasShut = gate.isShut;
    const whole = this.#show(gate.push(text));
    if (gate.isShut && !wasShut) this.#takeBack();
    return whole;
  }

  /** The answer is whole: its last sentence needs no mark. */
  end(): void {
    this.#goOn();
    const gate = this.#gate;
    if (!gate || gate.isShut) return;
    this.#show(gate.end());
    if (gate.isShut) this.#takeBack();
  }

  /**
   * The agent has ended with this text, or failed. Whether the text is told; if not, what was shown
   * of it is taken back.
   */
  conclude(text: string | undefined): boolean {
    const { show } = this.#options;
    const isTold = text !== undefined && (typeof show === "function" ? show(text) : show);
    if (!isTold) this.#takeBack();
    return isTold;
  }

  #show(text: string): string {
    if (text === "") return "";
    this.#isSeen = true;
    this.#options.emit({ type: "LLM_TOKEN", data: text });
    return text;
  }

  #takeBack(): void {
    if (!this.canBeTakenBack || !this.#isSeen) return;
    this.#isSeen = false;
    this.#announce(true);
  }

  #start(attempt: number, isRestart: boolean): void {
    const { show } = this.#options;
    this.#gate = gateOf(show);
    this.#attempt = attempt;
    this.#isSeen = false;
    this.#announce(isRestart);
  }

  /** The model is back. */
  #goOn(): void {
    if (!this.#waits) return;
    this.#waits = false;
    this.#attempt += 1;
    this.#announce(false);
  }

  #announce(isRestart: boolean, waiting?: string): void {
    const { agent, label, emit } = this.#options;
    emit({
      type: "AGENT_START",
      data: compacted({
        agent,
        label: waiting ?? label,
        attempt: this.#attempt > 1 ? this.#attempt : undefined,
        restart: isRestart ? true : undefined,
        waits: waiting === undefined ? undefined : "model",
      }),
    });
  }
}

function gateOf(show: ShowWords): SentenceGate | undefined {
  return typeof show === "function" ? new SentenceGate(show) : undefined;
}

/** Lets a text through by whole sentences, until the first that makes it unfit to be shown. */
export class SentenceGate {
  readonly #mayShow: (said: string) => boolean;
  #said = "";
  #passed = 0;
  #isShut = false;

  constructor(mayShow: (said: string) => boolean) {
    this.#mayShow = mayShow;
  }

  /** Whether a sentence did not pass; nothing passes any more. */
  get isShut(): boolean {
    return this.#isShut;
  }

  /** The sentences that this piece makes whole. */
  push(piece: string): string {
    this.#said += piece;
    return this.#pass(endOfSentences(this.#said, this.#passed));
  }

  /** What is left, where nothing follows. */
  end(): string {
    return this.#pass(this.#said.length);
  }

  #pass(end: number): string {
    if (this.#isShut || end <= this.#passed) return "";
    this.#isShut = !this.#mayShow(this.#said.slice(0, end));
    if (this.#isShut) return "";
    const passed = this.#said.slice(this.#passed, end);
    this.#passed = end;
    return passed;
  }
}

/** A mark that ends a sentence, closing quotes, and the space that shows that it is the end. */
const SENTENCE_END = /(?:[.!?…。！？]+["'”’」』)\]]*(?=\s)|\n)/gu;

/** Behind the last whole sentence; `from` where none has ended since. Pure. */
function endOfSentences(text: string, from: number): number {
  SENTENCE_END.lastIndex = from;
  let end = from;
  for (let found = SENTENCE_END.exec(text); found; found = SENTENCE_END.exec(text)) {
    end = found.index + found[0].length;
  }
  return end;
}
