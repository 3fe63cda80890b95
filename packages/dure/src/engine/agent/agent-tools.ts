import { withTimeout } from "../../kernel/clock.ts";
import { ownTroubleOf } from "../../durable/passing.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { jsonCopy, type Json } from "../../kernel/json.ts";
import type { ModelMessage, ToolCall, ToolSpec, ToolMessage } from "../../models/model.ts";
import { inToolSpan } from "../../models/telemetry.ts";
import type { Agent } from "./agent.ts";
import type { AgentRunEnvironment } from "./agent-environment.ts";
import { issuesOf } from "./agent-output.ts";
import { bounded } from "./bounded.ts";
import type { Places, Step } from "../turn/step.ts";
import { EffectUnknownError } from "../effects/effects.ts";
import { handleOf, READ_RESULT, readResult, shownResult } from "./kept-result.ts";
import type { ToolCallEvents } from "./tool-call-events.ts";
import type { AnyTool, ToolContext } from "./tool.ts";
import { FIND_TOOLS, findTools, firstTools, namedTools, type OfferedFrom } from "./tool-offer.ts";
import { resultOf, type Transcript } from "./work.ts";
import type { EffectOutcome, EscalationAnswer } from "../turn/turn-context.ts";
import { ApprovalPendingError, isUnderTerms } from "../turn/turn-escalations.ts";

interface AgentToolsOptions {
  readonly environment: AgentRunEnvironment;
  readonly agent: Agent;
  readonly key: string;
  readonly places: Places;
  readonly told: ToolCallEvents;
  /** Gets each call with its result. */
  readonly transcript: Transcript;
}

/** One call of a tool, with arguments that fit it. */
interface ToolUse {
  readonly name: string;
  readonly tool: AnyTool;
  readonly input: unknown;
  /** Of the model. Absent: code calls. */
  readonly callId?: string | undefined;
  /** Why it is not made, of a tool whose set may hold another one in the next life. */
  readonly refusal?: string | undefined;
}

/** What came of a call, and where the turn has recorded it. */
interface Called {
  readonly outcome: EffectOutcome<unknown>;
  readonly place?: string | undefined;
}

/** The tools of one agent in one turn: who may call them, and the record of each call. */
export class AgentTools {
  readonly #environment: AgentRunEnvironment;
  readonly #agent: Agent;
  readonly #key: string;
  readonly #places: Places;
  readonly #told: ToolCallEvents;
  readonly #transcript: Transcript;
  #first: readonly ToolSpec[] | undefined;

  constructor(options: AgentToolsOptions) {
    this.#environment = options.environment;
    this.#agent = options.agent;
    this.#key = options.key;
    this.#places = options.places;
    this.#told = options.told;
    this.#transcript = options.transcript;
  }

  /** Those that this session may use. */
  #usable(): Readonly<Record<string, AnyTool>> {
    const { session } = this.#environment.facts;
    const { tools, toolSets } = this.#agent;
    const all = toolSets
      ? Object.fromEntries([
          ...toolSets.flatMap((set) => Object.entries(set.tools())),
          ...Object.entries(tools),
        ])
      : tools;
    const entries = Object.entries(all);
    if (entries.every(([, tool]) => !tool.offered)) return all;
    return Object.fromEntries(entries.filter(([, tool]) => tool.offered?.({ session }) ?? true));
  }

  /** By its name, offered or not. */
  #find(name: string): AnyTool | undefined {
    const tool = this.#agent.tools[name] ?? this.#inSets(name);
    return tool ?? this.#ofEngine(name);
  }

  /** Tools by which the model reaches what a request does not hold. */
  #ofEngine(name: string): AnyTool | undefined {
    if (name === FIND_TOOLS) return findTools(this.#from());
    if (name !== READ_RESULT) return undefined;
    return readResult(async (at) => {
      const outcome = await this.#environment.resultAt(at);
      return outcome?.status === "done" ? ((outcome.result ?? null) as Json) : undefined;
    });
  }

  #inSets(name: string): AnyTool | undefined {
    for (const set of this.#agent.toolSets ?? []) {
      const found = set.find(name);
      if (found) return found;
    }
    return undefined;
  }

  /** Those that the model is offered from the first round on. */
  get first(): readonly ToolSpec[] {
    this.#first ??= firstTools(this.#from());
    return this.#first;
  }

  /** Those that it is offered behind them, as far as the conversation has come. */
  named(first = this.first): readonly ToolSpec[] {
    const { rawHistory } = this.#environment.memory;
    const before = rawHistory
      .flatMap(({ work = [] }) => work)
      .flatMap(({ agent, messages }) => (agent === this.#transcript.agent ? messages : []));
    const all = { [READ_RESULT]: this.#ofEngine(READ_RESULT)!, ...this.#usable() };
    return namedTools(all, first, [...before, ...this.#transcript.messages]);
  }

  #from(): OfferedFrom {
    const { tools: own, toolSets = [], card } = this.#agent;
    const sets = toolSets.map(({ name }) => name);
    return { all: this.#usable(), own, sets, most: card.policy.maxTools };
  }

  /** What the tools have to tell before the model is asked. `once` records it. */
  async told(
    once: <T>(name: string, work: (signal: AbortSignal) => Promise<T>) => Promise<T>,
  ): Promise<readonly (string | null)[]> {
    const { session, turnId: turn } = this.#environment.facts;
    const texts: (string | null)[] = [];
    for (const [name, { told }] of Object.entries(this.#usable())) {
      if (!told) continue;
      const tell = async (signal: AbortSignal): Promise<string | null> =>
        (await told({ session, turn }, { signal })) ?? null;
      texts.push(await once(`told:${name}`, tell));
    }
    return texts;
  }

  /** A tool's result as the model reads it. Errors are told to the model; it may do better. */
  async answer(call: ToolCall): Promise<ModelMessage> {
    const message = await this.#answer(call);
    this.#transcript.add(message);
    return message;
  }

  /** The same, but a call that needs a person's yes is left, and gives the error that asks. */
  async answerOrAsk(call: ToolCall): Promise<Error | undefined> {
    try {
      await this.answer(call);
      return undefined;
    } catch (error) {
      if (!(error instanceof ApprovalPendingError)) throw error;
      this.#transcript.add(toolMessage({ callId: call.id, name: call.name }, WAITS));
      return error;
    }
  }

  async #answer(call: ToolCall): Promise<ModelMessage> {
    const about = { callId: call.id, name: call.name };
    const use = this.#useOf(call);
    if (!("tool" in use)) return toolMessage(about, use.refusal, true);
    return this.#messageOf(about, await this.#call({ ...use, callId: call.id }));
  }

  /** What a model's call asks for, or why it cannot be made. */
  #useOf(call: ToolCall): ToolUse | { readonly refusal: string } {
    const { name } = call;
    const tools = this.#usable();
    const ofSet = this.#agent.tools[name] ? undefined : this.#inSets(name);
    const tool = tools[name] ?? ofSet ?? this.#ofEngine(name);
    if (call.unoffered && name in tools) return { refusal: notYet(name) };
    if (!tool || call.unoffered) {
      return { refusal: `There is no tool "${name}". Tools: ${this.#names()}.` };
    }
    const parsed = argumentsOf(call, tool);
    if ("input" in parsed) return { name, tool, input: parsed.input };
    // It may fit in the next life: the call has its place, and what is said now is recorded there.
    return ofSet ? { name, tool, input: call.args, refusal: parsed.refusal } : parsed;
  }

  #names(): string {
    return [...this.first, ...this.named()].map(({ name }) => name).join(", ") || "none";
  }

  /**
   * What a person has answered about a call that an earlier turn asked for: the call and what came
   * of it. After an approval it is made now, with exactly its arguments.
   */
  async answered(escalation: EscalationAnswer): Promise<void> {
    const { tool: name, input } = escalation.context as { tool?: unknown; input?: Json };
    const tool = typeof name === "string" ? this.#find(name) : undefined;
    if (!tool || typeof name !== "string") return;
    const callId = `answer_${escalation.id.replace(/^.*_/, "")}`;
    const toolCalls = [{ id: callId, name, args: input ?? {} }];
    this.#transcript.add({ role: "assistant", text: "", toolCalls });

    const called = await this.#decided(escalation, { name, tool, input, callId });
    const message = this.#messageOf({ callId, name }, called);
    this.#transcript.add(withWords(message, saidWithYes(escalation)));
  }

  async #decided(escalation: EscalationAnswer, use: ToolUse): Promise<Called> {
    const { id, type, answer, note } = escalation;
    const because = note === undefined ? "" : ` They said: ${note}`;
    if (type === "effect_unknown") {
      if (answer !== "happened") return notMade("NOT_HAPPENED", `${FOUND_UNDONE}${because}`);
      const outcome = { status: "done", result: `${FOUND_DONE}${because}` } as const;
      this.#note(`answer/${id}`, use, outcome);
      return { outcome };
    }
    if (answer === "approve") {
      return this.#call(use, isUnderTerms(use.tool, escalation.context) ? { id } : undefined);
    }
    const unanswered = UNANSWERED[answer];
    if (unanswered !== undefined) return notMade("APPROVAL_CLOSED", unanswered);
    return notMade("APPROVAL_REJECTED", `A person refused this call.${because}`);
  }

  #note(place: string, use: ToolUse, outcome: EffectOutcome<unknown>): void {
    const { name, tool, input, callId } = use;
    this.#environment.notesFiles(outcome);
    this.#transcript.knows(
      { place, name, input, callId, changes: tool.effect !== "none" },
      outcome,
    );
  }

  /** The result of a call that a custom agent makes. Throws the error of one that failed. */
  async use(name: string, input: unknown): Promise<unknown> {
    const tool = this.#find(name);
    if (!tool) {
      throw new DureError("TOOL_UNKNOWN", `The agent ${this.#key} has no tool "${name}".`, {
        class: "input",
        hint: `Its tools are: ${this.#names()}.`,
      });
    }
    const { outcome } = await this.#call({ name, tool, input: tool.inputSchema.parse(input) });
    if (outcome.status === "failed") throw new DureError(outcome.error.code, outcome.error.message);
    return outcome.result;
  }

  /** Makes a call, or gives its record back. `approved`: the approval that allows it. */
  async #call(use: ToolUse, approved?: { id: string }): Promise<Called> {
    const step = this.#places.next(`tool:${use.name}`);
    const { refusal } = use;
    if (refusal !== undefined) {
      return { outcome: await step.once(async () => failed("TOOL_ARGUMENTS", refusal)) };
    }
    const made = (): Promise<EffectOutcome<unknown>> => this.#callAt(step, use, approved);
    const outcome = await this.#told.around(step, use, made);
    this.#note(step.path, use, outcome);
    return { outcome, place: step.path };
  }

  /** What the model reads of a call: of a long result a part, with the handle of the whole. */
  #messageOf(about: AboutCall, { outcome, place }: Called): ToolMessage {
    const isReadable = !(READ_RESULT in this.#usable());
    if (outcome.status === "failed" || place === undefined || !isReadable) {
      return withFiles(outcomeMessage(about, outcome), outcome);
    }
    const handle = handleOf({ turn: this.#environment.facts.turnId, place });
    const most = this.#agent.card.policy.maxResultBytes;
    const shown = shownResult(resultOf(outcome), { handle, most });
    return withFiles({ role: "tool", ...about, ...shown }, outcome);
  }

  #callAt(
    step: Step,
    use: ToolUse,
    approved: { id: string } | undefined,
  ): Promise<EffectOutcome<unknown>> {
    return step.once(async (): Promise<EffectOutcome<unknown>> => {
      const { replay } = this.#environment.journal;
      const { name, tool, input } = use;
      if (replay) return replay.toolAnswer(this.#key, { name, tool, input });
      const key = this.#keyOf(use, step.path);
      const outcome =
        use.tool.effect === "once"
          ? await this.#callOnce(use, { place: step.path, key, approved })
          : await this.#callUnlessBegun(use, { place: step.path, key });
      this.#environment.signal.throwIfAborted();
      return outcome;
    });
  }

  /** A tool that names what it does has one key for it in the whole session. */
  #keyOf({ name, tool, input }: ToolUse, path: string): string {
    const { effects, turnId } = this.#environment.facts;
    return tool.key
      ? [effects, name, ...tool.key(input)].join("/")
      : `${effects}/${turnId}/${path}`;
  }

  async #callOnce(
    use: ToolUse,
    { place, key, approved }: { place: string; key: string; approved: { id: string } | undefined },
  ): Promise<EffectOutcome<unknown>> {
    const { name, tool, input } = use;
    const { effects } = this.#environment.facts;
    const needed = approved ?? (await this.#approvalFor(use, key));
    const call = needed
      ? { key: `${effects}/approval/${needed.id}`, approval: needed.id }
      : { key, repeatsFailed: tool.key !== undefined };
    try {
      const context = this.#context();
      const onOutcome = (outcome: EffectOutcome<unknown>): void => this.#note(place, use, outcome);
      return await this.#environment.once({ tool, name, input, context, onOutcome, ...call });
    } catch (error) {
      // Of another call of the tool whose outcome is unknown: then this one was not made.
      const isDoubtful = error instanceof EffectUnknownError && error.key === call.key;
      if (isDoubtful && use.callId !== undefined) this.#transcript.doubts(use.callId);
      if (codeOf(error) !== "EFFECT_KEY_REUSED") throw error;
      const message = `${name} was called for the same thing with other arguments before.`;
      return { status: "failed", error: { code: "EFFECT_KEY_REUSED", message } };
    }
  }

  async #approvalFor(
    { name, tool, input }: ToolUse,
    key: string,
  ): Promise<{ id: string } | undefined> {
    const isNeeded = tool.approval && (tool.approval.when?.(input) ?? true);
    return isNeeded ? this.#environment.approvalFor({ name, tool, input, key }) : undefined;
  }

  /** A tool that was _once_ before a crash, as a server of others may have said, is so still. */
  async #callUnlessBegun(
    use: ToolUse,
    { place, key }: { place: string; key: string },
  ): Promise<EffectOutcome<unknown>> {
    const { tool, name, input } = use;
    const onOutcome = (outcome: EffectOutcome<unknown>): void => this.#note(place, use, outcome);
    const begun = await this.#environment.keyBegunBefore({ key, name, input });
    if (begun !== undefined) {
      const context = this.#context();
      return this.#environment.once({ tool, name, input, context, onOutcome, key: begun });
    }
    const outcome = await this.#callPlain(use, key);
    onOutcome(outcome);
    return outcome;
  }

  async #callPlain(use: ToolUse, key: string): Promise<EffectOutcome<unknown>> {
    this.#environment.beginsWork();
    await this.#environment.goesOutside();
    return inToolSpan(use.name, use.input, () =>
      this.#execute(use, { ...this.#context(), key, attempt: 1 }),
    );
  }

  async #execute(
    { name, tool, input }: ToolUse,
    context: Omit<ToolContext, "signal">,
  ): Promise<EffectOutcome<unknown>> {
    const { clock, signal } = this.#environment;
    const late = (): DureError =>
      new DureError("TOOL_TIMEOUT", `${name} did not answer within ${tool.timeoutMs} ms.`, {
        class: "unavailable",
      });
    try {
      const result = await withTimeout(
        clock,
        { ms: tool.timeoutMs, signal },
        late,
        async (callSignal) =>
          tool.execute(input, { ...context, signal: callSignal }, { signal: callSignal }),
      );
      const kept = jsonCopy(result, `What the tool "${name}" gave`);
      const files = await this.#environment.keepFiles(name, result, { signal });
      return { status: "done", result: kept, files };
    } catch (error) {
      signal.throwIfAborted();
      if (ownTroubleOf(error)) throw error;
      const code = codeOf(error) ?? "TOOL_FAILED";
      return { status: "failed", error: { code, message: messageOf(error) } };
    }
  }

  #context(): Pick<ToolContext, "session" | "turn" | "agent"> {
    const { session, turnId } = this.#environment.facts;
    return { session, turn: turnId, agent: this.#key };
  }
}

/** What the tool is called with, or why that does not fit. */
function argumentsOf(
  call: ToolCall,
  tool: AnyTool,
): { readonly input: unknown } | { readonly refusal: string } {
  if (call.invalidArgs !== undefined) {
    return { refusal: "The arguments are no JSON. Call the tool again with a JSON object." };
  }
  const parsed = tool.inputSchema.safeParse(call.args);
  if (parsed.success) return { input: parsed.data };
  return { refusal: `The arguments do not fit: ${issuesOf(parsed.error, "arguments")}.` };
}

/** A call that a person has decided against, or that was found not to have happened. */
function notMade(code: string, message: string): Called {
  return { outcome: failed(code, message) };
}

function failed(code: string, message: string): EffectOutcome<never> {
  return { status: "failed", error: { code, message } };
}

interface AboutCall {
  readonly callId: string;
  readonly name: string;
}

function outcomeMessage(about: AboutCall, outcome: EffectOutcome<unknown>): ToolMessage {
  return toolMessage(about, resultOf(outcome), outcome.status === "done" ? undefined : true);
}

/** A result with the files that its tool has made, and with a line for each that is not kept. Pure. */
function withFiles(message: ToolMessage, outcome: EffectOutcome<unknown>): ToolMessage {
  if (outcome.status !== "done" || !outcome.files) return message;
  const { kept, refused } = outcome.files;
  const files = kept.length > 0 ? kept : undefined;
  return { ...message, files, result: withRefused(message.result, refused) };
}

function withRefused(result: Json, refused: readonly string[]): Json {
  if (refused.length === 0) return result;
  const lines = refused.map((line) => `[Not kept, so no person gets it: ${line}]`);
  return typeof result === "string"
    ? [result, ...lines].join("\n")
    : { result, files_not_kept: refused };
}

/** A result with what a person said of its call. Pure. */
function withWords(message: ModelMessage, said: string | undefined): ModelMessage {
  if (said === undefined || message.role !== "tool") return message;
  return { ...message, result: { said, result: message.result }, kept: undefined };
}

/** What a person said with a yes, for the model reads its call with the arguments that counted. */
function saidWithYes({ answer, note, context }: EscalationAnswer): string | undefined {
  if (answer !== "approve") return undefined;
  const asked = context["asked_input"];
  const changed =
    asked === undefined
      ? []
      : [`A person changed the arguments; you had ${JSON.stringify(asked)}.`];
  const words = [...changed, ...(note === undefined ? [] : [`They said: ${note}`])];
  return words.length === 0 ? undefined : words.join(" ");
}

/** What a model reads of a call that people decide, or have found out about. */
const WAITS = "Not done yet: it waits for a person's yes. Do not call it again.";
const FOUND_DONE = "A person has found that it was done.";
const FOUND_UNDONE = "A person has found that it was not done.";

/** Questions that were closed without an answer. */
const UNANSWERED: Readonly<Record<string, string>> = {
  left: "Not done: they took the question back, or said something else instead of yes. Call it again only if they still want it.",
  time: "Not done: no yes came in time. Call it again only if they still want it.",
};

/** What a model reads of a tool that it called by hearsay: arguments that fit may mean another thing. */
function notYet(name: string): string {
  return `Not called: you had not seen which arguments ${name} takes. It is offered from now on; call it again.`;
}

/** A call that is not made, as the model reads it. Pure. */
export function refusedCall({ id, name }: ToolCall, why: string): ModelMessage {
  return toolMessage({ callId: id, name }, why, true);
}

function toolMessage(about: AboutCall, result: Json, isError?: true): ToolMessage {
  return { role: "tool", ...about, result: bounded(result), isError };
}
