import { codeOf, isAbort, DureError, messageOf, type ErrorClass } from "../../kernel/errors.ts";
import {
  runAttempts,
  type Attempt,
  type AttemptPlan,
  type FailedAttempts,
} from "../../models/attempts.ts";
import type { Llm } from "../../models/card.ts";
import { classify, FAILURES, formatError } from "../../models/failures.ts";
import { PartialJsonText } from "../../models/json.ts";
import type { ModelAnswer, ModelCallRecord, ModelRequest } from "../../models/model.ts";
import { isAway } from "../../models/outages.ts";
import { estimateRequestTokens } from "../../models/prices.ts";
import type { Agent } from "./agent.ts";
import type { AgentRunEnvironment } from "./agent-environment.ts";
import { checkOutput, type GoodFields } from "./agent-output.ts";
import type { AgentWords } from "./agent-words.ts";
import { withUnoffered } from "./tool-offer.ts";
import { canShrink, fitRequest } from "./fit-request.ts";
import { waitingForModel } from "../texts.ts";
import type { Places, Step } from "../turn/step.ts";

interface AgentModelOptions {
  readonly environment: AgentRunEnvironment;
  readonly agent: Agent;
  readonly key: string;
  readonly places: Places;
  /** Where the card says none. */
  readonly temperature: number | undefined;
  readonly words: AgentWords;
}

/** How an answer is shown while it comes. */
export interface AskOptions {
  readonly isShown: boolean;
  /** Text of this agent was shown before. */
  readonly continues: boolean;
  /** Where this turn's messages begin in the request. Default: the last one of the person. */
  readonly turnFrom?: number | undefined;
}

/** What is recorded of a call of the model: of a failed one, later lives throw its error again. */
export type CallRecord = { readonly answer: ModelAnswer } | { readonly error: StoredModelError };

/** A wait for a model that is away. */
interface ModelWait {
  /** Wall clock, milliseconds. */
  readonly since: number;
  waits: number;
  /** Of the call that ends it. */
  readonly step: Step;
}

/** The name of the steps at which an agent's calls of its model are recorded. */
export function modelStep(agent: string): string {
  return `model:${agent}`;
}

/** What one question to the model brought. */
export interface AgentAnswer {
  readonly answer: ModelAnswer;
  /** The checked output; absent for plain text and for calls of tools. */
  readonly data: unknown;
  /** Which members of the output did not fit and are missing; absent: none. */
  readonly leftOut?: string | undefined;
  /** In the journal. */
  readonly place: string;
}

/** The model of one agent in one turn: asked under the card's policy, each attempt journaled. */
export class AgentModel {
  readonly #options: AgentModelOptions;
  #retries = 0;
  #tokensIn = 0;
  #tokensOut = 0;
  #wait: ModelWait | undefined;
  /** The last attempt failed in an earlier life. */
  #isOldFailure = false;

  constructor(options: AgentModelOptions) {
    this.#options = options;
  }

  get used(): { readonly retries: number; readonly tokensIn: number; readonly tokensOut: number } {
    return { retries: this.#retries, tokensIn: this.#tokensIn, tokensOut: this.#tokensOut };
  }

  /**
   * Asks until an answer has passed the agent's checks. An answer that has not is followed by the
   * complaint; after the last one an agent that takes a part of an answer gets the good members of
   * the last answer that had some. A request that is too long for the model is made shorter, once.
   */
  async ask(request: ModelRequest, shown: AskOptions): Promise<AgentAnswer> {
    try {
      return await this.#ask(request, shown);
    } catch (error) {
      const isTooLong = codeOf(error) === FAILURES.context.code;
      if (!isTooLong || !canShrink(request, shown.turnFrom)) throw error;
      const half = estimateRequestTokens(request) / 2;
      return this.#ask(fitRequest(request, half, shown.turnFrom), shown);
    }
  }

  async #ask(request: ModelRequest, shown: AskOptions): Promise<AgentAnswer> {
    const { environment, agent, key } = this.#options;
    const { clock, signal } = environment;
    const temperature = this.#temperatureOf(request);
    let complaint: string | undefined;
    let usable: AgentAnswer | undefined;
    const made = runAttempts(
      this.#plan(),
      async (attempt) => {
        const asked = withComplaint({ ...request, temperature }, complaint);

        const { answer, place } = await this.#attempt(asked, attempt, shown);
        this.#tokensIn += answer.usage.tokensIn;
        this.#tokensOut += answer.usage.tokensOut;

        if (answer.toolCalls.length > 0) {
          this.#options.words.end();
          return { answer, data: undefined, place };
        }
        const checked = checkOutput(agent, answer.text);

        if ("complaint" in checked) {
          complaint = checked.complaint;
          const { good } = checked;
          if (good) usable = { answer, place, data: good.data, leftOut: leftOutText(good) };
          throw formatError(`${key}: ${checked.complaint}`);
        }

        this.#options.words.end();
        return { answer, data: checked.data, place };
      },
      {
        clock,
        signal,
        onRetry: ({ attempt }) => this.#beginsAgain(attempt + 1),
        outlasts: (failed) => this.#outlasts(failed),
      },
    );
    try {
      return (await made).value;
    } catch (error) {
      if (usable === undefined || codeOf(error) !== FAILURES.format.code) throw error;
      return usable;
    }
  }

  #temperatureOf(request: ModelRequest): number | undefined {
    const { agent, temperature } = this.#options;
    const { card } = agent;
    return request.temperature ?? card.temperature ?? card.llm?.temperature ?? temperature;
  }

  #plan(): AttemptPlan {
    const { agent, environment, words } = this.#options;
    const { defaultLlm, everyLlm, attemptRules } = environment;
    const repeatsShown = words.canBeTakenBack || (attemptRules?.repeatsShown ?? false);
    return {
      llm: chooseLlm(agent.card.llm, defaultLlm, everyLlm),
      policy: { ...agent.card.policy, ...attemptRules, repeatsShown },
    };
  }

  #beginsAgain(attempt: number): void {
    const { environment, words } = this.#options;
    this.#retries += 1;
    if (this.#wait) return; // the person reads that the agent waits
    words.beginAgain(attempt, environment.attemptRules?.repeatsShown ?? false);
  }

  /**
   * Waits where the model is away, as long as the session is patient. When the wait began is
   * recorded, so that a later life goes on with it. The calls of the wait have one place, and only
   * an answer is recorded there.
   */
  async #outlasts({ error, failure, llm }: FailedAttempts): Promise<boolean> {
    const { environment, words, places } = this.#options;
    const { patienceMs, outages, clock, signal, facts, journal } = environment;
    if (patienceMs === 0 || !isAway(failure.class)) return false;
    if (!this.#wait) {
      const step = places.next("wait:model");
      const since = step.onceNow(() => clock.now());
      this.#wait = { since, waits: 0, step: places.next(this.#stepName) };
    }
    const wait = this.#wait;
    if (wait.step.past.is === "recorded") return true;
    const leftMs = wait.since + patienceMs - clock.now();
    if (leftMs <= 0) return false;
    if (journal.owesResults) await journal.flushResults();
    words.wait(waitingForModel(facts.locale)); // who reads it may ask at once for the next call
    if (this.#isOldFailure) return true; // the model may be back since
    const { waits } = wait;
    await outages.untilRetry(llm, error, { waits, leftMs, signal, askedMs: failure.retryAfterMs });
    wait.waits += 1;
    return true;
  }

  get #stepName(): string {
    return modelStep(this.#options.key);
  }

  /** One call, or its record. */
  async #attempt(
    request: ModelRequest,
    attempt: Attempt,
    shown: AskOptions,
  ): Promise<{ answer: ModelAnswer; place: string }> {
    const { places, environment } = this.#options;
    const wait = this.#wait;
    const step = wait?.step ?? places.next(this.#stepName);
    const asked = this.#fitted(request, attempt, shown);
    environment.journal.replay?.asks({
      place: step.path,
      request: asked,
      turnFrom: turnFromIn(asked, request, shown),
    });
    this.#isOldFailure = step.past.is === "recorded";
    let failure: unknown;
    const onFailure = (error: unknown): void => void (failure = error);
    const said = await step.once(async () => {
      const record = await this.#call(asked, {
        attempt,
        shown,
        place: step.path,
        onFailure,
      });
      if (!("error" in record)) environment.outages.answered(attempt.llm);
      else if (wait && isAway(classify(failure, environment.clock.now()).class)) throw failure;
      return record;
    });
    this.#wait = undefined;

    if ("error" in said) {
      if (said.error.code === FAILURES.context.code) environment.room.refuses(attempt.llm, asked);
      throw (failure ?? revive(said.error)) as Error;
    }
    return { answer: said.answer, place: step.path };
  }

  /** As far as it is known what the model takes. */
  #fitted(request: ModelRequest, { llm }: Attempt, { turnFrom }: AskOptions): ModelRequest {
    const { agent, environment } = this.#options;
    const most = environment.room.mostFor(llm, agent.card.policy.contextTokens);
    if (most === undefined) return request;
    environment.room.asks(request, most);
    return fitRequest(request, most, turnFrom);
  }

  async #call(
    request: ModelRequest,
    call: {
      attempt: Attempt;
      shown: AskOptions;
      place: string;
      onFailure: (error: unknown) => void;
    },
  ): Promise<CallRecord> {
    const { environment, agent, key } = this.#options;
    const { signal, attemptRules, facts } = environment;
    const { attempt, place } = call;
    const model = environment.resolve(attempt.llm);
    environment.beginsWork();
    await this.#mayCall(attempt, () => environment.reserve?.(request, model, place));

    const callEnded = environment.callBegins();
    const idleSec = agent.card.policy.idleTimeoutSec ?? attemptRules?.idleTimeoutSec;
    let noted: ModelCallRecord | undefined;
    try {
      const answer = await model.stream(request, {
        signal: attempt.signal,
        attempt: attempt.attempt,
        idleTimeoutMs: idleSec === undefined ? undefined : idleSec * 1_000,
        onText: this.#shower(attempt.firstTokenSeen, call.shown),
        readFile: environment.readFile,
        labels: { turn: facts.turnId, session: facts.session, agent: key },
        onRecord: (record) => (noted = record),
      });
      return { answer: withUnoffered(answer, request.tools) };
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      call.onFailure(error);
      return { error: storedError(error) };
    } finally {
      // In one go with the record of its answer, so that one statement holds both.
      if (noted) environment.noteCall(key, noted, place);
      callEnded();
    }
  }

  /** Waits for all that stands before a call: a pause, the budget, the right to the turn. */
  async #mayCall(attempt: Attempt, reserve: () => Promise<void> | undefined): Promise<void> {
    const { environment } = this.#options;
    const { untilUnpaused } = environment;
    if (untilUnpaused) await this.#whileHeld(attempt, untilUnpaused);
    await reserve();
    await environment.goesOutside();
    while (untilUnpaused && environment.isPaused()) {
      await this.#whileHeld(attempt, untilUnpaused);
      await environment.goesOutside();
    }
  }

  /** The time of the attempt stands still meanwhile. */
  async #whileHeld({ hold }: Attempt, untilUnpaused: () => Promise<void>): Promise<void> {
    const goOn = hold();
    try {
      await untilUnpaused();
    } finally {
      goOn();
    }
  }

  /** Shows text as it comes: all of it for chat, the growing `message` for JSON. */
  #shower(
    firstTokenSeen: () => void,
    { isShown, continues }: AskOptions,
  ): ((delta: string) => void) | undefined {
    const { agent, words } = this.#options;
    if (!isShown) return undefined;
    const partial = agent.schema ? new PartialJsonText("message") : undefined;
    let isFirst = true;

    return (delta) => {
      const text = partial ? partial.push(delta) : delta;
      if (text === "") return;
      if (isFirst && continues && !partial) words.say("\n");
      isFirst = false;
      if (words.say(text) !== "") firstTokenSeen();
    };
  }
}

/** Where this turn's messages begin in what is left of a request. */
function turnFromIn(
  { messages }: ModelRequest,
  whole: ModelRequest,
  { turnFrom }: AskOptions,
): number | undefined {
  return turnFrom && Math.max(turnFrom - (whole.messages.length - messages.length), 0);
}

function leftOutText({ leftOut }: GoodFields): string {
  return `without ${leftOut.join(", ")}`;
}

function withComplaint(request: ModelRequest, complaint: string | undefined): ModelRequest {
  if (complaint === undefined) return request;
  return { ...request, messages: [...request.messages, { role: "user", text: complaint }] };
}

/**
 * The model of an agent: the one for every agent, else its card's, else the team's. An offline
 * model in a card is a stand-in: it gives way as soon as the team has a real one. How the card wants
 * to be asked (temperature, length) holds for another model too. Source: docs/spec/platform §2
 * (`DURE_MODEL`).
 */
export function chooseLlm(own: Llm | undefined, team: Llm, every: Llm | undefined): Llm {
  if (!own) return every ?? team;
  const isStandIn = own.provider === "offline" && team.provider !== "offline";
  const chosen = every ?? (isStandIn ? team : undefined);

  if (!chosen) return own;
  return {
    ...chosen,
    temperature: own.temperature ?? chosen.temperature,
    maxOutputTokens: own.maxOutputTokens ?? chosen.maxOutputTokens,
  };
}

/** An error as a journal keeps it. */
export interface StoredModelError {
  readonly code: string;
  readonly message: string;
  readonly class: ErrorClass;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export function storedError(error: unknown): StoredModelError {
  const known = error instanceof DureError ? error : undefined;
  return {
    code: codeOf(error) ?? "INTERNAL",
    message: messageOf(error),
    class: known?.class ?? "internal",
    details: known?.details,
  };
}

/** The error as it was thrown, for a later life that reads its record. */
export function revive(error: StoredModelError): DureError {
  const { code, message, details } = error;
  return new DureError(code, message, { class: error.class, details });
}
