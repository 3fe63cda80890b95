import { ownTroubleOf } from "../../durable/passing.ts";
import { codeOf } from "../../kernel/errors.ts";
import { compacted } from "../../kernel/json.ts";
import type { ToolCallView, TraceAgent, TurnEvent } from "../../kernel/turn-events.ts";
import { jsonSchemaOf } from "../../models/json-schema.ts";
import type {
  ModelAnswer,
  ModelMessage,
  ModelRequest,
  ToolCall,
  ToolChoice,
  ToolSpec,
} from "../../models/model.ts";
import { promptLanguage } from "../../models/prompt-files.ts";
import { inAgentSpan } from "../../models/telemetry.ts";
import { AgentResult, type Agent } from "./agent.ts";
import { buildMessages } from "./agent-context.ts";
import type { AgentRunEnvironment } from "./agent-environment.ts";
import {
  AgentModel,
  modelStep,
  type AgentAnswer,
  revive,
  storedError,
  type StoredModelError,
} from "./agent-model.ts";
import { chatOutcome, compact, dataOutcome, llmDone, outcomeOf } from "./agent-output.ts";
import { AgentTools, refusedCall } from "./agent-tools.ts";
import { AgentWords } from "./agent-words.ts";
import { CustomAgent } from "./custom-agent.ts";
import { messageOrDecision } from "./decision.ts";
import { CallerOffer } from "../caller/caller-offer.ts";
import { filesAsked, questionOf, type HandedCalls } from "../caller/handed-out.ts";
import { ToolCallEvents } from "./tool-call-events.ts";
import { ToolRounds } from "./tool-rounds.ts";
import { Transcript, type AgentWork } from "./work.ts";
import { Step, type Places } from "../turn/step.ts";
import type { AgentCallOptions, AgentOutcome } from "../turn/turn-context.ts";

export interface AgentRunOptions {
  readonly environment: AgentRunEnvironment;
  readonly agent: Agent;
  readonly key: string;
  /** `service/agent`: whose calls its history holds. */
  readonly id: string;
  readonly label: string;
  readonly call: AgentCallOptions;
  /** See `AgentCall.tells`. */
  readonly tells?: ((outcome: AgentOutcome) => unknown) | undefined;
  readonly step: Step;
  /** Who reads what its tools are called with. */
  readonly view?: ToolCallView | undefined;
  /** Gets the events of this run in order; the caller stores them. */
  readonly emit: (event: TurnEvent) => void;
}

/**
 * What is recorded for an agent that ended: enough to make its outcome and its last events again.
 */
type AgentRecord = { readonly work?: AgentWork | undefined } & (
  | {
      readonly trace: TraceAgent;
      readonly result: AgentResult;
      /** Where it is not the result's message. */
      readonly text?: string;
      readonly handedCalls?: HandedCalls | undefined;
    }
  | {
      readonly trace: TraceAgent;
      /**
       * Place of the model call whose recorded answer is the whole outcome: a text is not stored
       * twice.
       */
      readonly saidAt: string;
    }
  | { readonly trace: TraceAgent; readonly error: StoredModelError }
);

/** How an agent ended in this life: either is there. */
interface AgentEnd {
  readonly outcome?: AgentOutcome | undefined;
  readonly failure?: unknown;
}

/**
 * One agent in one turn: `AGENT_START`, its work with journaled model and tool calls, `LLM_DONE`,
 * `AGENT_DONE`. What an earlier life finished is given back; what it had begun is begun again with
 * `restart: true`.
 */
export class AgentRun {
  readonly #environment: AgentRunEnvironment;
  readonly #agent: Agent;
  readonly #key: string;
  readonly #id: string;
  readonly #transcript: Transcript;
  readonly #label: string;
  readonly #step: Step;
  readonly #options: AgentCallOptions;
  readonly #tells: AgentRunOptions["tells"];
  readonly #emit: (event: TurnEvent) => void;
  readonly #words: AgentWords;
  readonly #places: Places;
  readonly #model: AgentModel;
  readonly #tools: AgentTools;
  readonly #startedAt: number;
  /** See `AgentRecord`. */
  #saidAt: string | undefined;
  /** Of one that has ended in an earlier life. */
  #pastWork: AgentWork | undefined;
  /** Data of this turn that the model reads before the person's message. */
  #background: string | undefined;

  constructor(options: AgentRunOptions) {
    const { environment, agent, key, id, label, emit } = options;
    this.#environment = environment;
    this.#agent = agent;
    this.#key = key;
    this.#id = id;
    this.#transcript = new Transcript(id);
    this.#label = label;
    this.#step = options.step;
    this.#options = options.call;
    this.#tells = options.tells;
    this.#emit = emit;
    const { show = true, temperature } = options.call;
    this.#words = new AgentWords({ agent: key, label, show, emit });
    const places = options.step.inside();
    this.#places = places;
    const about = { environment, agent, key, places };
    this.#model = new AgentModel({ ...about, temperature, words: this.#words });
    const told = new ToolCallEvents({
      turnId: environment.facts.turnId,
      clock: environment.clock,
      agent: key,
      view: options.view,
      isShown: show !== false,
      told: options.step.events,
      emit,
    });
    this.#tools = new AgentTools({ ...about, told, transcript: this.#transcript });
    this.#startedAt = environment.clock.monotonic();
  }

  async run(): Promise<AgentOutcome> {
    let end: AgentEnd | undefined;
    const record = await this.#step.once(async () => {
      this.#begin();
      end = await this.#toEnd();
      return this.#recordOf(end);
    });
    const { outcome, failure } = end ?? this.#pastEnd(record);
    this.#environment.noteAgent(record.trace);
    if (!end) this.#pastWork = record.work;

    // Of a recorded agent only those that were never stored.
    const before = end ? [] : this.#step.events;
    const stored = new Set(before.map((event) => event.type));
    for (const event of this.#endEvents(record.trace, outcome)) {
      if (!stored.has(event.type)) this.#emit(event);
    }
    if (outcome) return outcome;
    throw failure;
  }

  #begin(): void {
    const before = this.#step.events.filter((event) => event.type === "AGENT_START");
    this.#words.begin(1 + before.length);
  }

  async #toEnd(): Promise<AgentEnd> {
    try {
      return { outcome: await inAgentSpan(this.#key, () => this.#work()) };
    } catch (error) {
      this.#throwIfControl(error);
      return { failure: error };
    }
  }

  /** Errors that end the turn in their own way are no failure of the agent. */
  #throwIfControl(error: unknown): void {
    if (ownTroubleOf(error)) this.#environment.journal.interrupt(error as Error);
    else if (!this.#environment.signal.aborted && !isControl(error)) return;
    this.#environment.noteAgent(this.trace(codeOf(error) ?? "TURN_STOPPED"));

    throw error;
  }

  #recordOf({ outcome, failure }: AgentEnd): AgentRecord {
    const trace = this.trace(outcome ? null : (codeOf(failure) ?? "INTERNAL"));
    const { work } = this;
    if (!outcome) return { trace, work, error: storedError(failure) };
    if (this.#saidAt !== undefined) return { trace, work, saidAt: this.#saidAt };
    return { trace, work, ...compact(outcome), handedCalls: outcome.handedCalls };
  }

  /** What it has done so far; undefined: it has only spoken. */
  get work(): AgentWork | undefined {
    return this.#pastWork ?? this.#transcript.work;
  }

  /**
   * As it stands now. `error`: the code with which it ended, or was ended; null: it has succeeded.
   */
  trace(error: string | null): TraceAgent {
    return {
      agent: this.#key,
      elapsedMs: Math.round(this.#environment.clock.monotonic() - this.#startedAt),
      success: error === null,
      error,
      ...this.#model.used,
    };
  }

  #pastEnd(record: AgentRecord): AgentEnd {
    if ("error" in record) return { failure: revive(record.error) };
    if ("result" in record) {
      const { result, text, handedCalls } = record;
      return { outcome: { ...outcomeOf(result, text), handedCalls } };
    }
    const name = modelStep(this.#key);
    const { past } = new Step(this.#environment.journal, record.saidAt, { name });
    const said = (past as { value: { answer: ModelAnswer } }).value;

    return { outcome: chatOutcome(said.answer.text) };
  }

  #endEvents(trace: TraceAgent, outcome: AgentOutcome | undefined): readonly TurnEvent[] {
    const isTold = this.#words.conclude(outcome?.text);
    const done: TurnEvent = {
      type: "AGENT_DONE",
      data: compacted({
        agent: this.#key,
        label: this.#label,
        success: trace.success,
        result: isTold ? shownResult(this.#agent, outcome) : outcome && this.#tells?.(outcome),
        error: trace.error ?? undefined,
        retryCount: trace.retries,
        elapsedMs: trace.elapsedMs,
      }),
    };

    return outcome && isTold ? [{ type: "LLM_DONE", data: llmDone(outcome) }, done] : [done];
  }

  async #work(): Promise<AgentOutcome> {
    const agent = this.#agent;
    this.#background = await this.#backgroundOfTurn();

    if (agent.stream || agent.run) return this.#custom().work();
    try {
      return await this.#converse();
    } catch (error) {
      if (agent.fallbackMessage === undefined || codeOf(error) !== "MODEL_FORMAT") throw error;
      const data = { message: agent.fallbackMessage };

      return {
        text: agent.fallbackMessage,
        data,
        result: AgentResult.partial(data, "no readable answer"),
      };
    }
  }

  /** The turn's own data, and what its tools have to tell. */
  async #backgroundOfTurn(): Promise<string | undefined> {
    const told = await this.#tools.told((name, work) => this.#once(name, work));
    const parts = [this.#environment.facts.background, ...told];

    return parts.filter(Boolean).join("\n\n") || undefined;
  }

  /** Model, tools, model … until the model answers in words. */
  async #converse(): Promise<AgentOutcome> {
    const prompt = await this.#messages();
    const turnFrom = prompt.messages.length - (this.#background ? 2 : 1);
    const transcript = this.#transcript;
    const offer = this.#callerOffer();
    const texts: string[] = [];
    transcript.add(...offer.told);
    for (const answer of this.#environment.facts.answers) await this.#tools.answered(answer);

    const rounds = new ToolRounds(this.#key, this.#agent.card.policy.maxToolRounds);

    for (let round = 0; ; round++) {
      const isLast = rounds.areSpent || offer.isOver(transcript.messages);
      const choice = offer.choice(round);
      const said = [...prompt.messages, ...transcript.messages];
      const messages = isLast && round > 0 ? [...said, ...rounds.wrapUp] : said;
      const specs = [...offer.specs, ...this.#tools.named(offer.specs)];
      const request = this.#requestOf({ system: prompt.system, messages, specs, isLast, choice });

      const shown = { isShown: this.#words.areShown, continues: texts.length > 0, turnFrom };
      const asked = await this.#model.ask(request, shown);
      const { answer } = asked;
      if (isLast && answer.text.trim() === "") throw rounds.withoutWords();
      if (answer.toolCalls.length === 0 || isLast) return this.#outcomeOf(asked, texts);
      if (answer.text !== "" && !this.#agent.schema) texts.push(answer.text);
      const toolCalls = offer.counted(answer.toolCalls);
      transcript.addCalls(toolCalls, answer);

      const handed = await this.#answerCalls(toolCalls, offer);
      if (handed.length > 0) {
        const handedCalls = { ...offer.handOut(handed, transcript.messages), agent: this.#id };
        return { ...chatOutcome(texts.join("\n")), handedCalls };
      }
      transcript.add(...rounds.ended(toolCalls, transcript.messages));
    }
  }

  /**
   * Makes the calls of the agent's tools. Those that are left are the caller's. What needs a
   * person's yes is asked for all together, when the others are made.
   */
  async #answerCalls(calls: readonly ToolCall[], offer: CallerOffer): Promise<readonly ToolCall[]> {
    const { handed, refused } = offer.sort(calls);
    const misfits = await offer.misfits(handed, () => this.#places.next("check:caller-calls"));
    const whyNot = new Map([...refused, ...misfits]);
    let asks: unknown;
    for (const call of calls) {
      const why = whyNot.get(call);
      if (why !== undefined) this.#transcript.add(refusedCall(call, why));
      if (why !== undefined || handed.includes(call)) continue;
      const asked = await this.#tools.answerOrAsk(call);
      asks ??= asked;
    }
    if (asks !== undefined) throw asks as Error;
    return handed.filter((call) => !misfits.has(call));
  }

  #callerOffer(): CallerOffer {
    const { facts, memory } = this.#environment;
    const { turnId } = facts;
    const callerTools = this.#options.callerTools ? facts.callerTools : undefined;
    return new CallerOffer({ turnId, callerTools }, memory, this.#tools.first);
  }

  /** In the last round the model may call no tool any more. */
  #requestOf(round: {
    system: string;
    messages: readonly ModelMessage[];
    specs: readonly ToolSpec[];
    isLast: boolean;
    choice: ToolChoice | undefined;
  }): ModelRequest {
    const { system, messages, specs, isLast, choice } = round;
    const { schema } = this.#agent;
    const hasTools = specs.length > 0;

    return {
      system,
      messages,
      tools: hasTools ? specs : undefined,
      toolChoice: hasTools && isLast ? "none" : choice,
      output: schema && { schema: jsonSchemaOf(schema) },
    };
  }

  /** The outcome of the answer in words, behind the `texts` that came with calls of tools. */
  #outcomeOf(asked: AgentAnswer, texts: readonly string[]): AgentOutcome {
    if (this.#agent.schema) return dataOutcome(asked.data, asked.leftOut);
    const { answer, place } = asked;
    const text = [...texts, answer.text].filter(Boolean).join("\n");

    if (text === answer.text) this.#saidAt = place;
    return chatOutcome(text);
  }

  async #messages(): Promise<{ system: string; messages: ModelMessage[] }> {
    const { context: contextBlock, lastTurns: lastNTurns } = this.#options;
    const passages = this.#agent.retriever ? await this.#passages(this.#message()) : undefined;

    return this.#prompt({ contextBlock, passages, lastNTurns });
  }

  async #passages(query: string): Promise<readonly string[]> {
    const passages = await this.#once("retrieve", (signal) =>
      this.#agent.retriever!.search(query, { signal }),
    );

    return passages.slice(0, MAX_PASSAGES);
  }

  #once<T>(name: string, work: (signal: AbortSignal) => Promise<T> | T): Promise<T> {
    const step = this.#places.next(`step:${name}`);

    return this.#environment.doWork(step, work) as Promise<T>;
  }

  #custom(): CustomAgent {
    const message = this.#message();

    return new CustomAgent({
      environment: this.#environment,
      agent: this.#agent,
      key: this.#key,
      message,
      words: this.#words,
      model: this.#model,
      tools: this.#tools,
      transcript: this.#transcript,
      buildMessages: (contextBlock, lastNTurns) =>
        this.#prompt({ contextBlock: contextBlock ?? this.#options.context, lastNTurns }),
      step: (name, work) => this.#once(name, work),
    });
  }

  #message(): string {
    const { facts, memory } = this.#environment;
    const continues = facts.callerTools?.results !== undefined;

    const message = messageOrDecision(facts);
    return this.#options.input ?? questionOf(memory, { continues, message });
  }

  #prompt(
    given: Pick<Parameters<typeof buildMessages>[0], "contextBlock" | "passages" | "lastNTurns">,
  ): { system: string; messages: ModelMessage[] } {
    const { facts, memory } = this.#environment;
    const { prompts } = this.#agent;

    return buildMessages({
      agent: this.#agent,
      id: this.#id,
      prompt: this.#options.prompt ?? prompts?.[promptLanguage(facts.locale)],
      message: this.#message(),
      files: filesAsked(memory, facts),
      background: this.#background,
      memory,
      ...given,
    });
  }
}

/**
 * What is not shown is for the handler alone: its words may claim what never happened. A chat
 * agent's result is its text, which LLM_DONE has said.
 */
function shownResult({ kind }: Agent, outcome: AgentOutcome | undefined): AgentResult | undefined {
  return kind === "chat" ? undefined : outcome?.result;
}

/** Passages that are used of a retriever's answer. Source: docs/spec/conversation §3. */
const MAX_PASSAGES = 8;

/** Errors that end the turn in their own way and are no failure of the agent. */
const CONTROL_CODES: ReadonlySet<string> = new Set([
  "TURN_DIVERGED",
  "TURN_STOPPED",
  "TURN_CLOSED",
  "APPROVAL_PENDING",
  "EFFECT_UNKNOWN",
]);

function isControl(error: unknown): boolean {
  return CONTROL_CODES.has(codeOf(error) ?? "");
}
