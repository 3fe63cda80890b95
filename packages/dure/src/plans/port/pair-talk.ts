import { retryUntilAnswered } from "../../durable/retry-until-answered.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import type { Member } from "../../kernel/plans.ts";
import type { ChannelMessage } from "../../wire/runs.ts";
import type { MemberPlace } from "../agents/member-home.ts";
import { wordsIn } from "../rows/channel-message.ts";
import { type ChannelMember } from "../rows/channel.ts";
import type { PlanStep } from "../rows/run.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import { endsTry } from "../workers/worker-error.ts";
import type { Letter, TranscriptEntry, WorkerFailure } from "../workers/worker.ts";
import { InteractiveWorker } from "./interactive-worker.ts";
import type { PortWork } from "./pair-parts.ts";

/** Questions that a member may ask in one step. */
const MAX_QUERIES = 5;

/** Failures of a worker's model, about which its partner has no say. */
const MODEL_AWAY: ReadonlySet<string> = new Set<WorkerFailure>([
  "WORKER_RATE_LIMITED",
  "WORKER_MODEL",
]);

interface PairWords {
  readonly text: string;
}

/** A member that works, and may ask its partner. */
export interface AskingMember {
  readonly member: Member;
  readonly step: PlanStep;
  readonly place: MemberPlace;
  /** Of the tree, as the working member sees it. */
  readonly confinement: Confinement;
  /** Questions that an earlier start of the step has left without an answer. */
  readonly left: readonly ChannelMessage[];
  /** Writes into the working member's transcript. */
  readonly note: (entry: TranscriptEntry) => void;
}

/** Ends with the work of the member that asks. */
interface PairListening {
  readonly signal: AbortSignal;
  /** Aborted when no more questions are answered. */
  readonly mute: AbortController;
}

/** What a member asks while it works, and what its partner answers. */
export class PairTalk {
  readonly #work: PortWork;
  readonly #asking: AskingMember;
  readonly #partner: ChannelMember;
  readonly #living: InteractiveWorker;
  readonly #listening: PairListening;
  readonly #answering: Promise<unknown>;
  /** Answers to questions of an earlier start, by the question. */
  readonly #known = new Map<string, string>();
  /** Questions whose answer is not known in this process's time, and is not stored. */
  readonly #unanswered = new Map<number, PromiseWithResolvers<PairWords>>();
  #asked = 0;
  #answered = 0;

  /** Answers until `signal` is aborted; takes no slot. */
  constructor(work: PortWork, asking: AskingMember, signal: AbortSignal) {
    this.#work = work;
    this.#asking = asking;
    this.#partner = partnerOf(asking.member);
    this.#living = new InteractiveWorker(work, this.#partner);
    this.#listening = { signal, mute: new AbortController() };
    this.#answering = Promise.all([this.#answerAll(), this.#deliverAll()]);
  }

  /** Resolves when the last answer was given. Never rejects. */
  get finished(): Promise<unknown> {
    return this.#answering;
  }

  /**
   * What was asked before the process died, with the answers that came since: the worker that
   * waited for them is gone. Undefined: nothing was.
   */
  async leftWords(signal: AbortSignal): Promise<string | undefined> {
    const told: string[] = [];
    for (const { id, payload } of this.#asking.left) {
      const question = wordsIn(payload);
      const answer = await this.#answerTo(() => this.#heardAbout(id, signal), signal);
      this.#known.set(question, answer);
      told.push(`You asked the ${this.#partner}: ${question}\nIt answered: ${answer}`);
    }

    return told.length === 0 ? undefined : told.join("\n\n");
  }

  /** Asks the partner. Rejects with the abort of `signal`, or with trouble of dure's own. */
  async ask(text: string, signal: AbortSignal): Promise<string> {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const { member: from, step } = this.#asking;
    const number = ++this.#asked;
    if (number > MAX_QUERIES) {
      return `No more than ${MAX_QUERIES} questions are answered in one step.`;
    }
    const question = {
      key: `${step.id}.${step.starts}:query:${from}:${number}`,
      from,
      to: this.#partner,
      type: "query",
      payload: { text },
    } as const;

    return this.#answerTo(
      async () => this.#heardAbout(await this.#work.channel.send(question), signal),
      signal,
    );
  }

  /** What the operator has said to the member. Rejects as `ask` does. */
  async letters(signal: AbortSignal): Promise<readonly Letter[]> {
    const { channel } = this.#work;
    const letters = await this.#retryUntilAnswered(
      () => channel.letters(this.#asking.member),
      signal,
    );

    return letters.map(({ id, payload }) => ({
      from: "operator",
      text: wordsIn(payload),
      read: () => this.#retryUntilAnswered(() => channel.processed(id), signal),
    }));
  }

  /** The answer; or at once that it is not known. */
  async #heardAbout(question: number, signal: AbortSignal): Promise<unknown> {
    const end = new AbortController();
    const until = AbortSignal.any([signal, this.#listening.mute.signal, end.signal]);
    try {
      const answer = this.#work.channel.answer(question, { signal: until });
      return await Promise.race([answer, this.#notKnown(question).promise]);
    } finally {
      end.abort();
    }
  }

  #notKnown(question: number): PromiseWithResolvers<PairWords> {
    const known = this.#unanswered.get(question) ?? Promise.withResolvers<PairWords>();
    this.#unanswered.set(question, known);
    return known;
  }

  /** A database that is away is waited for: a question and its answer are the same when asked again. */
  async #answerTo(wait: () => Promise<unknown>, signal: AbortSignal): Promise<string> {
    try {
      return wordsIn(await this.#retryUntilAnswered(wait, signal));
    } catch (error) {
      if (signal.aborted || !endsTry(error)) throw error;
      return cannotAnswer(this.#partner, error);
    }
  }

  #retryUntilAnswered<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock } = this.#work.parts;
    return retryUntilAnswered(work, { clock, signal });
  }

  /** Ends with `signal`; aborts `mute` when questions cannot be read any more. */
  async #answerAll(): Promise<void> {
    const { signal, mute } = this.#listening;
    try {
      await this.#retryUntilAnswered(() => this.#answerEach(), signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#warn(error);
      mute.abort(error);
    }
  }

  /** Ends with `signal`; where it cannot store that words have come, they are read all the same. */
  async #deliverAll(): Promise<void> {
    const { signal } = this.#listening;
    const deliver = () => this.#work.channel.deliverLetters(this.#asking.member, { signal });
    await this.#retryUntilAnswered(deliver, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#warn(error, "what a person says cannot be shown as delivered");
    });
  }

  async #answerEach(): Promise<void> {
    const { channel } = this.#work;
    const { signal } = this.#listening;
    for await (const question of channel.inbox(this.#partner, "query", { signal })) {
      // Its answer may be stored, and nothing else of it, when a process dies.
      if (!(await channel.answerTo(question.id))) await this.#answer(++this.#answered, question);
    }
  }

  /** Sends the answer, or why there is none. Where the partner's model is away, it sends nothing. */
  async #answer(number: number, { id, payload }: ChannelMessage): Promise<void> {
    const { channel } = this.#work;
    const { signal } = this.#listening;
    const { member, note } = this.#asking;
    const text = wordsIn(payload);
    const answer = await this.#askLiving(number, text);
    if (answer === undefined) {
      this.#notKnown(id).resolve({ text: cannotAnswerNow(this.#partner) });
      return;
    }
    const ack = {
      key: `ack:${id}`,
      from: this.#partner,
      to: member,
      type: "ack",
      payload: answer,
      replyTo: id,
    } as const;
    // Not asked again: the answer is there, and has its price.
    await this.#retryUntilAnswered(() => channel.send(ack), signal);
    note({ kind: "asked", title: this.#partner, text });
    note({ kind: "heard", title: this.#partner, text: answer.text });
  }

  /** Undefined: its model could not be asked, so nothing is known of what it would say. */
  async #askLiving(
    number: number,
    text: string,
  ): Promise<(PairWords & { readonly session?: string | undefined }) | undefined> {
    const { signal } = this.#listening;
    try {
      const asked = { number, text, asker: this.#asking };
      const answer = await this.#living.answer(asked, signal);

      return answer.session === undefined ? { text: answer.text } : answer;
    } catch (error) {
      signal.throwIfAborted();
      if (!endsTry(error)) throw error;
      this.#warn(error);

      return MODEL_AWAY.has(codeOf(error) ?? "")
        ? undefined
        : { text: cannotAnswer(this.#partner, error) };
    }
  }

  #warn(
    error: unknown,
    what = `the ${this.#partner} of ${this.#work.port.id} could not answer`,
  ): void {
    const { run, port, parts } = this.#work;
    parts.logger.warn({ run: run.id, port: port.id, error: messageOf(error) }, what);
  }
}

/** Who answers a member. */
function partnerOf(member: Member): ChannelMember {
  return member === "implementer" ? "tester" : "implementer";
}

function cannotAnswer(member: ChannelMember, error: unknown): string {
  return `The ${member} cannot answer: ${messageOf(error)}. Decide by yourself.`;
}

function cannotAnswerNow(member: ChannelMember): string {
  return `The ${member} cannot answer now: its model is not reachable. Its answer is not known. Decide by yourself.`;
}
