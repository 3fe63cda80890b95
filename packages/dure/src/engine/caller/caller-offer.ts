import { isObject } from "../../kernel/json.ts";
import type { ModelMessage, ToolCall, ToolChoice, ToolSpec } from "../../models/model.ts";
import type { Memory } from "../agent/memory.ts";
import type { Step } from "../turn/step.ts";
import type { TurnFacts } from "../turn/turn-context.ts";
import { misfitsOf } from "../../models/tool-arguments.ts";
import { bytesOf, CALLER_LIMITS, callIdOf, type CallerTools } from "./caller-tools.ts";
import { resultMessages, type HandedCalls, type HandedOut } from "./handed-out.ts";

/** What an agent's model is offered of its caller's tools in one turn; mostly nothing. */
export class CallerOffer {
  readonly #turnId: string;
  readonly #caller: CallerTools;
  /** The calls whose results this turn brings. */
  readonly #handedOut: HandedOut | undefined;
  readonly #own: readonly ToolSpec[];
  readonly #tools: readonly ToolSpec[];

  /** @param own the agent's tools, which go before. */
  constructor(
    { turnId, callerTools: caller = NONE }: Pick<TurnFacts, "turnId" | "callerTools">,
    { handedOut }: Memory,
    own: readonly ToolSpec[],
  ) {
    this.#turnId = turnId;
    this.#caller = caller;
    this.#handedOut = caller.results && handedOut;
    this.#own = own;
    this.#tools = caller.choice === "none" ? [] : caller.tools.filter((tool) => isNew(tool, own));
  }

  /** What was said since the person's message, with the results that this turn brings. */
  get told(): readonly ModelMessage[] {
    const open = this.#handedOut?.open;
    return open ? [...open.said, ...resultMessages(open, this.#caller.results ?? [])] : [];
  }

  /** The agent's tools and the caller's. */
  get specs(): readonly ToolSpec[] {
    return this.#tools.length === 0 ? this.#own : [...this.#own, ...this.#tools];
  }

  /** Whether the model has to answer in words: the question was passed on too often. */
  isOver(said: readonly ModelMessage[]): boolean {
    if (this.#tools.length === 0) return false;
    const { rounds = 0 } = this.#handedOut ?? {};
    return rounds >= CALLER_LIMITS.rounds || bytesOf(said) > CALLER_LIMITS.saidBytes;
  }

  /** Counts for the turn's first call of the model. */
  choice(round: number): ToolChoice | undefined {
    const { choice } = this.#caller;
    if (round > 0 || this.#tools.length === 0) return undefined;
    if (typeof choice !== "object") return choice;
    return this.#has(choice.tool) ? choice : undefined;
  }

  /** The calls that count. Of several of the caller's the first one, where it takes one at a time. */
  counted(calls: readonly ToolCall[]): readonly ToolCall[] {
    if (!this.#caller.oneAtATime) return calls;
    const first = calls.find(({ name }) => this.#has(name));
    return calls.filter((call) => call === first || !this.#has(call.name));
  }

  /** Which calls go to the caller, and why others of its tools do not: the model may do better. */
  sort(calls: readonly ToolCall[]): {
    readonly handed: readonly ToolCall[];
    readonly refused: ReadonlyMap<ToolCall, string>;
  } {
    const theirs = calls.filter(({ name }) => this.#has(name));
    const refused = new Map<ToolCall, string>();
    for (const call of theirs) {
      const why = refusalOf(call, theirs.length);
      if (why !== undefined) refused.set(call, why);
    }
    return { handed: theirs.filter((call) => !refused.has(call)), refused };
  }

  /**
   * Which calls have arguments that do not fit, and why. Recorded: what takes too long to check in
   * one life may not in the next one.
   */
  async misfits(
    calls: readonly ToolCall[],
    nextStep: () => Step,
  ): Promise<ReadonlyMap<ToolCall, string>> {
    if (!calls.some(({ name }) => saysSomething(this.#find(name)))) return new Map();
    const checked = calls.map(({ name, args }) => ({ tool: this.#find(name)!, args }));
    const found = await nextStep().once(() => misfitsOf(checked).map((why) => why ?? null));

    const misfits = new Map<ToolCall, string>();
    calls.forEach((call, index) => {
      const why = found[index];
      if (typeof why === "string") misfits.set(call, why);
    });
    return misfits;
  }

  /** What the turn ends with. */
  handOut(calls: readonly ToolCall[], said: readonly ModelMessage[]): HandedCalls {
    return {
      calls: calls.map(({ name, args }, index) => ({
        callId: callIdOf(this.#turnId, index),
        tool: name,
        args,
      })),
      providerIds: calls.map(({ id }) => id),
      said,
    };
  }

  #has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  #find(name: string): ToolSpec | undefined {
    return this.#tools.find((tool) => tool.name === name);
  }
}

const NONE: CallerTools = { tools: [] };

/** Keys of a schema that any object fits. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(["type", "properties"]);

function saysSomething(tool: ToolSpec | undefined): boolean {
  if (tool === undefined) return false;
  const { inputSchema } = tool;
  const { type, properties } = inputSchema;
  const named = isObject(properties) ? Object.keys(properties).length : 0;
  const others = Object.keys(inputSchema).filter((key) => !SAYS_NOTHING.has(key));
  return type !== "object" || named > 0 || others.length > 0;
}

function isNew({ name }: ToolSpec, own: readonly ToolSpec[]): boolean {
  return own.every((tool) => tool.name !== name);
}

function refusalOf({ name, args, invalidArgs }: ToolCall, atOnce: number): string | undefined {
  const { callsAtOnce, argumentBytes } = CALLER_LIMITS;
  if (invalidArgs !== undefined) return `The arguments of ${name} are no JSON: call it again.`;
  if (!isObject(args)) return `The arguments of ${name} are no object: call it again.`;
  if (bytesOf(args) > argumentBytes) return `At most ${argumentBytes} bytes of arguments.`;
  return atOnce > callsAtOnce ? `At most ${callsAtOnce} calls at once.` : undefined;
}
