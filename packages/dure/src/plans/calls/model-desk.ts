import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { CallOrder, PassedCall, ModelDesk, ModelWay } from "../sandbox/model-way.ts";
import { troubleOf, type ProviderTrouble } from "./provider-trouble.ts";
import { AnswerReader, errorIn, NO_TOKENS, type CallTokens } from "./read-usage.ts";

/** A call of a model that has passed dure's door, and was served. */
export interface SeenCall {
  readonly provider: string;
  /** As the provider names it; undefined: it did not say. */
  readonly model: string | undefined;
  readonly tokens: CallTokens;
  /** The provider did not tell all of its tokens. */
  readonly isEstimate: boolean;
}

/** What is told of calls while a worker works. */
export interface CallListener {
  /** A call goes out: from now on calls are known by what passes, not by what an agent says. */
  began(): void;
  /** Once for each call that was served. */
  seen(call: SeenCall): void;
  /** Undefined: the provider serves calls again. */
  trouble(trouble: ProviderTrouble | undefined): void;
  /** No call may be made any more. */
  usedUp(): void;
}

/** Who pays for calls that pass. Absent: they are counted, and no more. */
export interface CallPay {
  /** Throws why the next call may not be made. */
  before(): Promise<void>;
  /** Never rejects. */
  after(call: SeenCall): Promise<void>;
}

/** What several workers may use together; see `TokenMeter`. */
export interface CallGate {
  /** Waits for calls under way that may take all that is left. Undefined: nothing is left. */
  enter(tokens: number, options: { signal: AbortSignal }): Promise<(() => void) | undefined>;
}

export interface ModelDeskOptions {
  readonly ways: readonly ModelWay[];
  readonly gate: CallGate | undefined;
  readonly pay: CallPay | undefined;
  readonly clock: Clock;
  /** Its worker does nothing without its model. Default: a program, which may go on without. */
  readonly isAgent?: boolean | undefined;
}

/** Output of a call before it is known, tokens: most calls of coding agents write less. */
const USUAL_OUTPUT = 2_000;
/** Bytes of an error that are read. */
const ERROR_BYTES = 8_000;
/** What asks for tokens and uses none. */
const FREE = /\/count_tokens$|:countTokens$/;
/** What uses tokens whether it tells them or not. */
const PAID =
  /\/(?:messages|chat\/completions|completions|responses|embeddings)$|:(?:streamGenerate|generate|embed|batchEmbed)Contents?$/;

/**
 * Sees each call of a worker's models as it passes dure's door: lets it out while there is something
 * left to pay it from, counts what its answer tells, and says what keeps the provider from it.
 */
export class ModelCalls implements ModelDesk {
  readonly ways: readonly ModelWay[];
  readonly #options: ModelDeskOptions;
  readonly #listeners = new Set<CallListener>();
  #trouble: ProviderTrouble | undefined;
  #settling: Promise<void> = Promise.resolve();
  #underWay = 0;

  constructor(options: ModelDeskOptions) {
    this.ways = options.ways;
    this.#options = options;
  }

  /** Whether a provider that serves nothing is the end of its worker. */
  get isAgent(): boolean {
    return this.#options.isAgent === true;
  }

  /** Calls whose answer is not there yet, or not all of it. */
  get underWay(): number {
    return this.#underWay;
  }

  /**
   * Resolves when no call is under way any more: those of a process that has ended are cut at once,
   * and count. Waits a second at most.
   */
  async idle(): Promise<void> {
    for (let looks = 0; this.#underWay > 0 && looks < 100; looks += 1) {
      await this.#options.clock.sleep(10);
    }
  }

  listen(listener: CallListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async begin(
    { way, path, bytes }: CallOrder,
    { signal }: { signal: AbortSignal },
  ): Promise<PassedCall | string> {
    if (FREE.test(path)) return UNCOUNTED;
    const { gate, pay } = this.#options;
    const input = Math.ceil(bytes / 4);
    const leave = gate ? await gate.enter(input + USUAL_OUTPUT, { signal }) : () => {};
    try {
      await this.#settling;
      await pay?.before();
    } catch (error) {
      leave?.();
      this.#tell((listener) => listener.usedUp());
      return `the budget is used up: ${messageOf(error)}`;
    }
    if (leave === undefined) {
      this.#tell((listener) => listener.usedUp());
      return "the budget is used up: no call is left";
    }
    this.#underWay += 1;
    if (PAID.test(path)) this.#tell((listener) => listener.began());

    return new PassingCall({
      way,
      input,
      isPaid: PAID.test(path),
      now: () => this.#options.clock.now(),
      served: (call) => this.#served(call),
      troubled: (trouble) => this.#note(trouble),
      over: () => {
        this.#underWay -= 1;
        leave();
      },
    });
  }

  #served(call: SeenCall): void {
    const { pay } = this.#options;
    if (pay) this.#settling = Promise.all([this.#settling, pay.after(call)]).then(() => {});
    this.#tell((listener) => listener.seen(call));
  }

  #note(trouble: ProviderTrouble | undefined): void {
    const before = this.#trouble;
    if (before === undefined && trouble === undefined) return;
    const isSame = before !== undefined && trouble?.kind === before.kind;
    this.#trouble = trouble && {
      ...trouble,
      times: isSame ? before.times + 1 : 1,
      since: isSame ? before.since : trouble.since,
    };
    this.#tell((listener) => listener.trouble(this.#trouble));
  }

  #tell(say: (listener: CallListener) => void): void {
    for (const listener of this.#listeners) say(listener);
  }
}

const UNCOUNTED: PassedCall = { answered() {}, passed() {}, ended() {} };

interface PassingOptions {
  readonly way: ModelWay;
  /** Tokens of what is asked, where the answer does not tell them. */
  readonly input: number;
  /** It counts also where its answer tells nothing. */
  readonly isPaid: boolean;
  readonly now: () => number;
  readonly served: (call: SeenCall) => void;
  readonly troubled: (trouble: ProviderTrouble | undefined) => void;
  readonly over: () => void;
}

/** One call on its way. */
class PassingCall implements PassedCall {
  readonly #options: PassingOptions;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #reader: AnswerReader | undefined;
  #error = Buffer.alloc(0);

  constructor(options: PassingOptions) {
    this.#options = options;
  }

  answered(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (status < 300) this.#reader = new AnswerReader(headers["content-type"] ?? "");
  }

  passed(chunk: Buffer): void {
    if (this.#reader) this.#reader.push(chunk);
    else if (this.#error.length < ERROR_BYTES) this.#error = Buffer.concat([this.#error, chunk]);
  }

  ended(cause?: "cut" | Error): void {
    const { over } = this.#options;
    try {
      if (this.#reader) this.#count(this.#reader, cause);
      else this.#fail(cause);
    } finally {
      over();
    }
  }

  #count(reader: AnswerReader, cause: "cut" | Error | undefined): void {
    const { way, input, isPaid, served, troubled, now } = this.#options;
    const read = reader.end(cause === undefined);
    const { tokens, model, isWhole, error } = read;
    const isTold = tokens.input > 0 || isWhole;
    if (isTold || isPaid) {
      const counted = isTold ? tokens : { ...NO_TOKENS, input, output: tokens.output };
      served({ provider: way.provider, model, tokens: counted, isEstimate: !isWhole });
    }
    if (error !== undefined) {
      troubled(troubleOf({ status: 500, headers: {}, says: error, now: now() }));
    } else if (cause === undefined) troubled(undefined);
  }

  #fail(cause: "cut" | Error | undefined): void {
    const { troubled, now, way, input, isPaid, served } = this.#options;
    if (cause === "cut" && this.#status === 0) {
      // Its client went away before there was an answer. The provider has read it, and may bill it.
      const tokens = { ...NO_TOKENS, input };
      if (isPaid) served({ provider: way.provider, model: undefined, tokens, isEstimate: true });
      return;
    }
    if (this.#status === 0) {
      const says = messageOf(cause);
      return troubled(troubleOf({ status: undefined, headers: {}, says, now: now() }));
    }
    const [status, headers] = [this.#status, this.#headers];
    troubled(troubleOf({ status, headers, says: this.#words(), now: now() }));
  }

  #words(): string {
    const text = this.#error.toString("utf8").slice(0, ERROR_BYTES);
    try {
      const value: unknown = JSON.parse(text);
      return errorIn(Array.isArray(value) ? value[0] : value) ?? "";
    } catch {
      return /^\s*</.test(text) ? "" : text.replace(/\s+/g, " ").trim().slice(0, 300);
    }
  }
}
