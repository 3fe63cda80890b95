import { z } from "zod";
import type { Clock } from "../kernel/clock.ts";
import { withTimeout } from "../kernel/clock.ts";
import { codeOf, DureError, isAbort, messageOf, type ErrorClass } from "../kernel/errors.ts";
import { isObject, jsonCopy, type Json, type JsonObject } from "../kernel/json.ts";
import type { TraceAgent, TurnEvent } from "../kernel/turn-events.ts";
import { runAttempts } from "../models/attempts.ts";
import type { Llm } from "../models/card.ts";
import { formatError, type FailureClass } from "../models/failures.ts";
import { parseModelJson, PartialJsonText } from "../models/json.ts";
import type {
  ModelAnswer,
  ModelCall,
  ModelCallRecord,
  ModelMessage,
  ModelRequest,
  ToolCall,
  ToolSpec,
} from "../models/model.ts";
import { inAgentSpan, inToolSpan } from "../models/telemetry.ts";
import { AgentResult, type Agent } from "./agent.ts";
import { buildMessages, type AgentContext } from "./agent-context.ts";
import type { OnceCall } from "./effects.ts";
import type { TurnJournal } from "./journal.ts";
import type { Memory } from "./memory.ts";
import { Places } from "./places.ts";
import type { AnyTool } from "./tool.ts";
import {
  handed,
  type AgentCallOptions,
  type AgentOutcome,
  type EffectOutcome,
  type TurnFacts,
} from "./turn-context.ts";

/** What running an agent needs from its turn. */
export interface AgentRunEnvironment {
  readonly facts: TurnFacts;
  readonly journal: TurnJournal;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly state: () => JsonObject;
  /** Aborts on a stop and when the turn is lost. */
  readonly signal: AbortSignal;
  readonly defaultLlm: Llm;
  readonly everyLlm: Llm | undefined;
  /** Go before the policy of every card. */
  readonly attemptRules: AttemptRules | undefined;
  resolve(llm: Llm | Llm["fallbacks"][number]): ModelCall;
  /** Throws `BUDGET_EXCEEDED`; called before each model call. */
  reserve(agent: Agent, request: ModelRequest, model: ModelCall, place: string): Promise<void>;
  /**
   * Before each model call; the end of the turn waits until the returned function is called, so
   * that no record comes too late.
   */
  callBegins(): () => void;
  noteCall(agent: string, record: ModelCallRecord, place: string): void;
  noteAgent(trace: TraceAgent): void;
  /**
   * Before each call that is not recorded, but for `once`; throws where somebody has asked for the
   * end of the turn.
   */
  beginsWork(): void;
  /** Directly before a model call, a tool or a step; throws where another process has the turn. */
  goesOutside(): Promise<void>;
  once(call: OnceCall): Promise<EffectOutcome<unknown>>;
  /** The yes for exactly these arguments, or a turn that ends by asking for it. */
  approvalFor(name: string, tool: AnyTool, input: unknown): Promise<{ id: string }>;
}

/**
 * How often the model calls of a session are made, whatever the cards say: of a job, whose own
 * rules count attempts.
 */
export interface AttemptRules {
  readonly maxAttempts: number;
  /** The pause after the n-th failed attempt, milliseconds. */
  readonly pauseMs: (attempt: number) => number;
  /** Used where a card has no `idleTimeoutSec`. */
  readonly idleTimeoutSec: number;
  /**
   * Whether a call is made again although text of it was shown; the text is voided by `AGENT_START`
   * with `restart`.
   */
  readonly repeatsShown: boolean;
  /** Failures that are not repeated although they pass. */
  readonly finals: readonly FailureClass[];
}

/**
 * What is recorded for an agent that ended: enough to make its outcome and its last events again.
 */
type AgentRecord =
  | {
      readonly trace: TraceAgent;
      readonly result: AgentResult;
      /** Where it is not the result's message. */ readonly text?: string;
    }
  | {
      readonly trace: TraceAgent;
      /** Place of the model call whose recorded answer is the whole outcome: a text is not stored twice. */ readonly saidAt: string;
    }
  | { readonly trace: TraceAgent; readonly error: StoredError };

interface StoredError {
  readonly code: string;
  readonly message: string;
  readonly class: ErrorClass;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
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
  readonly #label: string;
  readonly #options: AgentCallOptions;
  readonly #emit: (event: TurnEvent) => void;
  readonly #places: Places;
  readonly #shown: boolean;
  #retries = 0;
  #tokensIn = 0;
  #tokensOut = 0;
  readonly #startedAt: number;
  /** See `AgentRecord`. */
  #saidAt: string | undefined;

  constructor(options: {
    environment: AgentRunEnvironment;
    agent: Agent;
    key: string;
    label: string;
    call: AgentCallOptions;
    path: string;
    /** Gets the events of this run in order; the caller stores them. */
    emit: (event: TurnEvent) => void;
  }) {
    this.#environment = options.environment;
    this.#agent = options.agent;
    this.#key = options.key;
    this.#label = options.label;
    this.#options = options.call;
    this.#emit = options.emit;
    this.#places = Places.inside(options.path);
    this.#shown = options.call.show ?? true;
    this.#path = options.path;
    this.#startedAt = options.environment.clock.monotonic();
  }
  readonly #path: string;
  /** Data of this turn that the model reads before the person's message. */
  #background: string | undefined;

  async run(): Promise<AgentOutcome> {
    const { journal, signal } = this.#environment;
    const name = `agent:${this.#key}`;
    const past = journal.past(this.#path, name);
    if (past?.record) return this.#fromPast(past.record.value as AgentRecord, past.events);

    const attempt = 1 + (past?.events.filter((event) => event.type === "AGENT_START").length ?? 0);
    const start = { agent: this.#key, label: this.#label };
    this.#emit({
      type: "AGENT_START",
      data: attempt > 1 ? { ...start, attempt, restart: true } : start,
    });
    let outcome: AgentOutcome | undefined;
    let failure: unknown;
    try {
      outcome = await inAgentSpan(this.#key, () => this.#work());
    } catch (error) {
      if (signal.aborted || isControl(error)) {
        this.#environment.noteAgent(this.trace(codeOf(error) ?? "TURN_STOPPED"));
        throw error;
      }
      failure = error;
    }
    const trace = this.trace(outcome ? null : (codeOf(failure) ?? "INTERNAL"));
    const record: AgentRecord = outcome
      ? { trace, ...(this.#saidAt === undefined ? compact(outcome) : { saidAt: this.#saidAt }) }
      : { trace, error: storedError(failure) };
    journal.record(this.#path, name, record);
    this.#environment.noteAgent(trace);
    for (const event of this.#endEvents(trace, outcome)) this.#emit(event);
    if (outcome) return outcome;
    throw failure;
  }

  /**
   * As it stands now. `error`: the code with which it ended, or was ended; null: it has succeeded.
   */
  trace(error: string | null): TraceAgent {
    return {
      agent: this.#key,
      elapsedMs: Math.round(this.#environment.clock.monotonic() - this.#startedAt),
      success: error === null,
      retries: this.#retries,
      error,
      tokensIn: this.#tokensIn,
      tokensOut: this.#tokensOut,
    };
  }

  /** The recorded end; its events are sent now if they were never stored. */
  #fromPast(record: AgentRecord, stored: readonly TurnEvent[]): AgentOutcome {
    const types = new Set(stored.map((event) => event.type));
    const outcome = this.#pastOutcome(record);
    for (const event of this.#endEvents(record.trace, outcome)) {
      if (!types.has(event.type)) this.#emit(event);
    }
    this.#environment.noteAgent(record.trace);
    if (outcome) return outcome;
    throw revive((record as { error: StoredError }).error);
  }

  #pastOutcome(record: AgentRecord): AgentOutcome | undefined {
    if ("error" in record) return undefined;
    if ("result" in record) return outcomeOf(record.result, record.text);
    const said = this.#environment.journal.past(record.saidAt, `model:${this.#key}`)?.record;
    return chatOutcome((said!.value as { answer: ModelAnswer }).answer.text);
  }

  #endEvents(trace: TraceAgent, outcome: AgentOutcome | undefined): readonly TurnEvent[] {
    const done: TurnEvent = {
      type: "AGENT_DONE",
      data: {
        agent: this.#key,
        label: this.#label,
        success: trace.success,
        // A chat agent's result is its text, which LLM_DONE has said.
        ...(outcome && this.#agent.kind !== "chat" && { result: outcome.result }),
        ...(trace.error !== null && { error: trace.error }),
        retryCount: trace.retries,
        elapsedMs: trace.elapsedMs,
      },
    };
    return outcome && this.#shown ? [{ type: "LLM_DONE", data: llmDone(outcome) }, done] : [done];
  }

  async #work(): Promise<AgentOutcome> {
    const agent = this.#agent;
    this.#background = await this.#told();
    if (agent.stream) return this.#streamCustom(agent.stream);
    if (agent.run) return outcomeOf(await agent.run(this.#context()));
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
  async #told(): Promise<string | undefined> {
    const { facts } = this.#environment;
    const parts = [facts.background];
    for (const [name, { told }] of Object.entries(this.#offeredTools())) {
      if (told) {
        parts.push(
          (await this.#step(
            `told:${name}`,
            async (signal) =>
              (await told({ session: facts.session, turn: facts.turnId }, { signal })) ?? null,
          )) ?? undefined,
        );
      }
    }
    return parts.filter(Boolean).join("\n\n") || undefined;
  }

  async #streamCustom(stream: NonNullable<Agent["stream"]>): Promise<AgentOutcome> {
    const texts = stream(this.#context());
    let text = "";
    for (;;) {
      const next = await texts.next();
      if (next.done) {
        const outcome = outcomeOf(next.value);
        return outcome.text === "" ? { ...outcome, text } : outcome;
      }
      text += next.value;
      if (this.#shown) this.#emit({ type: "LLM_TOKEN", data: next.value });
    }
  }

  /** Model, tools, model … until the model answers in words. */
  async #converse(): Promise<AgentOutcome> {
    const agent = this.#agent;
    const prompt = await this.#messages();
    const messages = [...prompt.messages];
    const tools = this.#offeredTools();
    const specs = Object.entries(tools).map(([name, tool]): ToolSpec => toolSpec(name, tool));
    const output = agent.schema
      ? { schema: z.toJSONSchema(agent.schema, { io: "input" }) as JsonObject }
      : undefined;
    const texts: string[] = [];
    await this.#approved(messages);
    for (let round = 0; ; round++) {
      const last = round >= agent.card.policy.maxToolRounds;
      const request: ModelRequest = {
        system: prompt.system,
        messages,
        ...(specs.length > 0 && { tools: specs, ...(last && { toolChoice: "none" as const }) }),
        ...(output && { output }),
      };
      const { answer, data, place } = await this.#ask(request, texts.length > 0);
      if (answer.toolCalls.length === 0 || last) {
        if (agent.schema) {
          const message =
            isObject(data) && typeof data["message"] === "string" ? data["message"] : "";
          return { text: message, data, result: AgentResult.success(data) };
        }
        texts.push(answer.text);
        const text = texts.filter(Boolean).join("\n");
        if (text === answer.text) this.#saidAt = place;
        return chatOutcome(text);
      }
      if (answer.text !== "" && !agent.schema) texts.push(answer.text);
      messages.push({ role: "assistant", text: answer.text, toolCalls: answer.toolCalls });
      for (const call of answer.toolCalls) messages.push(await this.#answerTool(call));
    }
  }

  /** One model call under the card's policy: attempts, each journaled, output checked. */
  async #ask(
    request: ModelRequest,
    continues: boolean,
  ): Promise<{ answer: ModelAnswer; data: unknown; place: string }> {
    const { journal, clock, signal, defaultLlm } = this.#environment;
    const agent = this.#agent;
    let complaint: string | undefined;
    const rules = this.#environment.attemptRules;
    const plan = {
      llm: chooseLlm(agent.card.llm, defaultLlm, this.#environment.everyLlm),
      policy: { ...agent.card.policy, ...rules },
    };
    const idleTimeoutSec = agent.card.policy.idleTimeoutSec ?? rules?.idleTimeoutSec;
    const { value } = await runAttempts(
      plan,
      async (attempt) => {
        const path = this.#places.next();
        const name = `model:${this.#key}`;
        const past = journal.past(path, name)?.record?.value as
          | { answer: ModelAnswer }
          | { error: StoredError }
          | undefined;
        if (past && "error" in past) throw revive(past.error);
        let answer = past?.answer;
        if (!answer) {
          const asked: ModelRequest =
            complaint === undefined
              ? request
              : { ...request, messages: [...request.messages, { role: "user", text: complaint }] };
          const model = this.#environment.resolve(attempt.llm);
          this.#environment.beginsWork();
          await this.#environment.reserve(agent, asked, model, path);
          await this.#environment.goesOutside();
          const callEnded = this.#environment.callBegins();
          let noted: ModelCallRecord | undefined;
          const show = this.#shower(attempt.firstTokenSeen, continues);
          try {
            answer = await model.stream(asked, {
              signal: attempt.signal,
              attempt: attempt.attempt,
              idleTimeoutMs: idleTimeoutSec === undefined ? undefined : idleTimeoutSec * 1_000,
              ...(show && { onText: show }),
              labels: {
                turn: this.#environment.facts.turnId,
                session: this.#environment.facts.session,
                agent: this.#key,
              },
              onRecord: (record) => (noted = record),
            });
          } catch (error) {
            if (!signal.aborted && !isAbort(error)) {
              journal.record(path, name, { error: storedError(error) });
            }
            throw error;
          } finally {
            // In one go with the record of its answer, so that one statement holds both.
            if (noted) this.#environment.noteCall(this.#key, noted, path);
            callEnded();
          }
          journal.record(path, name, { answer });
        }
        this.#tokensIn += answer.usage.tokensIn;
        this.#tokensOut += answer.usage.tokensOut;
        if (answer.toolCalls.length > 0) return { answer, data: undefined, place: path };
        const checked = this.#check(answer.text);
        if ("complaint" in checked) {
          complaint = checked.complaint;
          throw formatError(`${this.#key}: ${checked.complaint}`);
        }
        return { answer, data: checked.data, place: path };
      },
      {
        clock,
        signal,
        onRetry: ({ attempt }) => {
          this.#retries += 1;
          this.#emit({
            type: "AGENT_START",
            data: {
              agent: this.#key,
              label: this.#label,
              attempt: attempt + 1,
              ...(rules?.repeatsShown && { restart: true as const }),
            },
          });
        },
      },
    );
    return value;
  }

  /** Shows text as it comes: all of it for chat, the growing `message` for JSON. */
  #shower(firstTokenSeen: () => void, continues: boolean): ((delta: string) => void) | undefined {
    if (!this.#shown) return undefined;
    const partial = this.#agent.schema ? new PartialJsonText("message") : undefined;
    let first = true;
    return (delta) => {
      const text = partial ? partial.push(delta) : delta;
      if (text === "") return;
      if (first) {
        firstTokenSeen();
        if (continues && !partial) this.#emit({ type: "LLM_TOKEN", data: "\n" });
      }
      first = false;
      this.#emit({ type: "LLM_TOKEN", data: text });
    };
  }

  /**
   * By schema, then by validator; plain text is `{message}` for the validator. Members that begin
   * with an underscore survive.
   */
  #check(text: string): { data: unknown } | { complaint: string } {
    const { kind, schema, validate } = this.#agent;
    if (!schema) {
      const objection = kind === "chat" ? validate?.({ message: text }) : undefined;
      return objection === undefined ? { data: undefined } : { complaint: objection };
    }
    let raw: Json;
    try {
      raw = parseModelJson(text);
    } catch (error) {
      return {
        complaint: `The answer is not readable JSON (${messageOf(error)}). Answer with one JSON object only.`,
      };
    }
    const parsed = schema.safeParse(raw);
    if (!parsed.success) {
      const issues = parsed.error.issues
        .slice(0, 5)
        .map((issue) => `${issue.path.join(".") || "answer"}: ${issue.message}`);
      return {
        complaint: `The answer does not fit: ${issues.join("; ")}. Answer again in the asked-for shape.`,
      };
    }
    const data = keepUnderscored(raw, parsed.data);
    const objection = validate?.(data);
    return objection === undefined ? { data } : { complaint: objection };
  }

  /** A tool's result as the model reads it. Errors are told to the model; it may do better. */
  async #answerTool(call: ToolCall): Promise<ModelMessage> {
    const tell = (result: Json, isError = false): ModelMessage => ({
      role: "tool",
      callId: call.id,
      name: call.name,
      result: bounded(result),
      ...(isError && { isError }),
    });
    const tools = this.#offeredTools();
    const tool = tools[call.name];
    if (!tool) {
      return tell(
        `There is no tool "${call.name}". Tools: ${Object.keys(tools).join(", ") || "none"}.`,
        true,
      );
    }
    if (call.invalidArgs !== undefined) {
      return tell("The arguments are no JSON. Call the tool again with a JSON object.", true);
    }
    const parsed = tool.inputSchema.safeParse(call.args);
    if (!parsed.success) {
      const issues = parsed.error.issues
        .slice(0, 5)
        .map((issue) => `${issue.path.join(".") || "arguments"}: ${issue.message}`);
      return tell(`The arguments do not fit: ${issues.join("; ")}.`, true);
    }
    const outcome = await this.#callTool(call.name, tool, parsed.data);
    return outcome.status === "done"
      ? tell((outcome.result ?? null) as Json)
      : tell(`${outcome.error.code}: ${outcome.error.message}`, true);
  }

  #offeredTools(): Readonly<Record<string, AnyTool>> {
    const { session } = this.#environment.facts;
    return Object.fromEntries(
      Object.entries(this.#agent.tools).filter(([, tool]) => tool.offered?.({ session }) ?? true),
    );
  }

  async #callTool(
    name: string,
    tool: AnyTool,
    input: unknown,
    approved?: { id: string },
  ): Promise<EffectOutcome<unknown>> {
    const { journal, facts, signal } = this.#environment;
    const path = this.#places.next();
    const stepName = `tool:${name}`;
    const past = journal.past(path, stepName);
    if (past?.record) return past.record.value as EffectOutcome<unknown>;

    const context = { session: facts.session, turn: facts.turnId, agent: this.#key };
    const key = tool.key
      ? [facts.effects, name, ...tool.key(input)].join("/")
      : `${facts.effects}/${facts.turnId}/${path}`;
    let outcome: EffectOutcome<unknown>;
    if (tool.effect === "once") {
      const needed =
        approved ??
        (tool.approval && (tool.approval.when?.(input) ?? true)
          ? await this.#environment.approvalFor(name, tool, input)
          : undefined);
      const call = needed
        ? { key: `${facts.effects}/approval/${needed.id}`, approval: needed.id }
        : { key, repeatsFailed: tool.key !== undefined };
      outcome = await this.#environment
        .once({ tool, name, input, context, ...call })
        .catch((error: unknown) => {
          if (codeOf(error) !== "EFFECT_KEY_REUSED") throw error;
          return {
            status: "failed",
            error: {
              code: "EFFECT_KEY_REUSED",
              message: `${name} was called for the same thing with other arguments before.`,
            },
          } as const;
        });
    } else {
      this.#environment.beginsWork();
      await this.#environment.goesOutside();
      const call = { ...context, key, attempt: 1 };
      outcome = await inToolSpan(
        name,
        () => this.#callPlain(name, tool, input, call),
        (ended) => (ended.status === "failed" ? ended.error.code : undefined),
      );
    }
    signal.throwIfAborted();
    journal.record(path, stepName, outcome);
    return outcome;
  }

  async #callPlain(
    name: string,
    tool: AnyTool,
    input: unknown,
    context: { key: string; attempt: number; session: string; turn: string; agent: string },
  ): Promise<EffectOutcome<unknown>> {
    const { clock, signal } = this.#environment;
    try {
      const result = await withTimeout(
        clock,
        tool.timeoutMs,
        () =>
          new DureError("TOOL_TIMEOUT", `${name} did not answer within ${tool.timeoutMs} ms.`, {
            class: "unavailable",
          }),
        async (callSignal) =>
          tool.execute(input, { ...context, signal: callSignal }, { signal: callSignal }),
        { signal },
      );
      return { status: "done", result: jsonCopy(result, `What the tool "${name}" gave`) };
    } catch (error) {
      signal.throwIfAborted();
      return {
        status: "failed",
        error: { code: codeOf(error) ?? "TOOL_FAILED", message: messageOf(error) },
      };
    }
  }

  /**
   * A yes from the inbox started this turn: the call that it allows is made first, with exactly its
   * arguments.
   */
  async #approved(messages: ModelMessage[]): Promise<void> {
    const { escalation } = this.#environment.facts;
    if (escalation?.type !== "decision") return;
    const { tool: name, input } = escalation.context as { tool?: unknown; input?: Json };
    const tool = typeof name === "string" ? this.#agent.tools[name] : undefined;
    if (!tool || typeof name !== "string") return;
    const callId = `approved-${escalation.id}`;
    messages.push({
      role: "assistant",
      text: "",
      toolCalls: [{ id: callId, name, args: input ?? {} }],
    });
    if (escalation.answer !== "approve") {
      messages.push({
        role: "tool",
        callId,
        name,
        result: "A person refused this call.",
        isError: true,
      });
      return;
    }
    const outcome = await this.#callTool(name, tool, input, { id: escalation.id });
    messages.push(
      outcome.status === "done"
        ? { role: "tool", callId, name, result: bounded((outcome.result ?? null) as Json) }
        : {
            role: "tool",
            callId,
            name,
            result: bounded(`${outcome.error.code}: ${outcome.error.message}`),
            isError: true,
          },
    );
  }

  async #messages(
    contextBlock = this.#options.context,
    lastNTurns = this.#options.lastTurns,
  ): Promise<{ system: string; messages: ModelMessage[] }> {
    const { facts, memory } = this.#environment;
    const message = this.#options.input ?? facts.message;
    const passages = this.#agent.retriever ? await this.#passages(message) : undefined;
    return buildMessages({
      agent: this.#agent,
      message,
      background: this.#background,
      memory,
      contextBlock,
      passages,
      lastNTurns,
    });
  }

  async #passages(query: string): Promise<readonly string[]> {
    const passages = await this.#step("retrieve", (signal) =>
      this.#agent.retriever!.search(query, { signal }),
    );
    return passages.slice(0, MAX_PASSAGES);
  }

  async #step<T>(name: string, work: (signal: AbortSignal) => Promise<T> | T): Promise<T> {
    const { journal, signal } = this.#environment;
    const path = this.#places.next();
    const past = journal.past(path, `step:${name}`);
    if (past?.record) return past.record.value as T;
    this.#environment.beginsWork();
    await this.#environment.goesOutside();
    const value = await work(signal);
    signal.throwIfAborted();
    journal.record(path, `step:${name}`, value);
    return jsonCopy(value, name) as T; // what a replay will give
  }

  #context(): AgentContext {
    const { facts, memory, state, signal } = this.#environment;
    const agent = this.#agent;
    const message = this.#options.input ?? facts.message;
    return {
      agent: this.#key,
      session: facts.session,
      turn: facts.turnId,
      message,
      locale: facts.locale,
      timeZone: facts.timeZone,
      state: state(),
      memory,
      signal,
      buildMessages: (contextBlock, lastNTurns) =>
        buildMessages({
          agent,
          message,
          background: this.#background,
          memory,
          contextBlock: contextBlock ?? this.#options.context,
          lastNTurns,
        }),
      model: (request) => {
        const prompt = buildMessages({
          agent,
          message,
          background: this.#background,
          memory,
          contextBlock: this.#options.context,
        });
        return handed(this.#ask({ ...prompt, ...request }, false).then(({ answer }) => answer));
      },
      tool: (name, input) => handed(this.#useTool(name, input)),
      step: (name, work) => handed(this.#step(name, work)),
    };
  }

  async #useTool(name: string, input: unknown): Promise<unknown> {
    const { tools } = this.#agent;
    const tool = tools[name];
    if (!tool) {
      throw new DureError("TOOL_UNKNOWN", `The agent ${this.#key} has no tool "${name}".`, {
        class: "input",
        hint: `Its tools are: ${Object.keys(tools).join(", ") || "none"}.`,
      });
    }
    const outcome = await this.#callTool(name, tool, tool.inputSchema.parse(input));
    if (outcome.status === "failed") throw new DureError(outcome.error.code, outcome.error.message);
    return outcome.result;
  }
}

/**
 * The model of an agent: the one for every agent, else its card's, else the team's. An offline
 * model in a card is a stand-in: it gives way as soon as the team has a real one. Source:
 * docs/spec/platform §2 (`DURE_MODEL`).
 */
export function chooseLlm(own: Llm | undefined, team: Llm, every: Llm | undefined): Llm {
  if (every) return every;
  if (!own || (own.provider === "offline" && team.provider !== "offline")) return team;
  return own;
}

/** Passages that are used of a retriever's answer. Source: our choice; eight fit any context. */
const MAX_PASSAGES = 8;

/**
 * Bytes of UTF-8 of a tool's result that a model reads; JSON counts as written. Source: our choice,
 * as much as a message may hold.
 */
const MAX_RESULT = 65_536;

/** A result that fits; of a longer one its beginning, marked as such. Pure. */
function bounded(result: Json): Json {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_RESULT) return result;
  const beginning = Buffer.from(text)
    .subarray(0, MAX_RESULT)
    .toString()
    .replace(/\uFFFD+$/u, "");
  return `${beginning}\n[cut: the first ${MAX_RESULT} of ${bytes} bytes]`;
}

/** Errors that end the turn in their own way and are no failure of the agent. */
const CONTROL_CODES: ReadonlySet<string> = new Set([
  "TURN_DIVERGED",
  "TURN_FENCED",
  "TURN_STOPPED",
  "TURN_CLOSED",
  "APPROVAL_PENDING",
  "EFFECT_UNKNOWN",
]);

function isControl(error: unknown): boolean {
  return CONTROL_CODES.has(codeOf(error) ?? "");
}

function llmDone(outcome: AgentOutcome): { message: string; action?: string } {
  const { data } = outcome;
  const extra = isObject(data) ? data : {};
  return { ...extra, message: outcome.text };
}

function outcomeOf(result: AgentResult, text = messageIn(result)): AgentOutcome {
  return { text, data: "data" in result ? result.data : undefined, result };
}

function chatOutcome(text: string): AgentOutcome {
  const data = { message: text };
  return { text, data, result: AgentResult.success(data) };
}

function compact({ result, text }: AgentOutcome): { result: AgentResult; text?: string } {
  return text === messageIn(result) ? { result } : { result, text };
}

function messageIn(result: AgentResult): string {
  if (result.status === "need_info") return result.message;
  const data = "data" in result ? result.data : undefined;
  return isObject(data) && typeof data["message"] === "string" ? data["message"] : "";
}

function keepUnderscored(raw: unknown, parsed: unknown): unknown {
  if (!isObject(raw) || !isObject(parsed)) return parsed;
  const underscored = Object.entries(raw).filter(([key]) => key.startsWith("_"));
  return underscored.length === 0 ? parsed : { ...Object.fromEntries(underscored), ...parsed };
}

function toolSpec(name: string, tool: AnyTool): ToolSpec {
  return {
    name,
    description: tool.description,
    inputSchema: z.toJSONSchema(tool.inputSchema, { io: "input" }) as JsonObject,
  };
}

function storedError(error: unknown): StoredError {
  return {
    code: codeOf(error) ?? "INTERNAL",
    message: messageOf(error),
    class: error instanceof DureError ? error.class : "internal",
    ...(error instanceof DureError && error.details && { details: error.details }),
  };
}

function revive(error: StoredError): DureError {
  return new DureError(error.code, error.message, {
    class: error.class,
    ...(error.details && { details: error.details }),
  });
}
