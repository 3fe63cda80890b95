import type { Json } from "../../kernel/json.ts";
import { estimateTokens } from "../../models/prices.ts";
import type { ModelAnswer, ModelMessage, ToolCall, ToolMessage } from "../../models/model.ts";
import type { EffectOutcome } from "../turn/turn-context.ts";
import { shortened } from "./kept-result.ts";
import { quoted } from "../../kernel/quoted.ts";

/** What one agent did between a message and its answer. */
export interface AgentWork {
  /** `service/agent`. */
  readonly agent: string;
  /**
   * Its calls with their results, and what it said with them, as its model reads them again. Empty
   * where the work is long ago.
   */
  readonly messages: readonly ModelMessage[];
  /** What it has changed outside, a line each: stays when the messages go. */
  readonly deeds?: readonly string[] | undefined;
}

/** Bytes of one result that stay when its turn is over. The model may read the rest. */
const RESULT_BYTES = 4_096;

/** Characters of arguments and of a result in the line of a deed. */
const DEED_PART = 300;

/** Tokens of work that a session keeps whole; of older work its deeds stay. */
const WORK_TOKENS = 24_000;

/** Deeds of folded exchanges that a session keeps, in lines and characters; the newest. */
const DEEDS = { lines: 100, characters: 12_000 } as const;

/** `pay({"to":"Hong"}) → {"receipt":"tx_3"}`. Pure. */
function deedLine(name: string, input: unknown, result: unknown): string {
  return `${name}(${partOf(input)}) → ${partOf(result)}`;
}

function partOf(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  return text.length <= DEED_PART ? text : `${text.slice(0, DEED_PART).toWellFormed()}…`;
}

/** All calls of a work as short lines, for who sums it up. Pure. */
export function callLines({ messages, deeds = [] }: AgentWork): readonly string[] {
  const results = new Map(
    messages.flatMap((message) =>
      message.role === "tool" ? [[message.callId, message.result] as const] : [],
    ),
  );
  const lines = callsOf(messages).map(({ id, name, args }) =>
    deedLine(name, args, results.get(id) ?? null),
  );
  return [...new Set([...lines, ...deeds])];
}

function callsOf(messages: readonly ModelMessage[]): readonly ToolCall[] {
  return messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []) : [],
  );
}

/** The deeds that are kept of many. Pure. */
export function newestDeeds(deeds: readonly string[]): readonly string[] {
  let characters = 0;
  const from = deeds.findLastIndex((deed, index) => {
    characters += deed.length;
    return characters > DEEDS.characters || deeds.length - index > DEEDS.lines;
  });
  return from < 0 ? deeds : deeds.slice(from + 1);
}

/** About how many tokens a work is. Pure. */
export function tokensOf({ messages }: AgentWork): number {
  return messages.length === 0 ? 0 : estimateTokens(JSON.stringify(messages));
}

/** An exchange with work in it. */
interface Worked {
  readonly work?: readonly AgentWork[] | undefined;
}

/** The newest work whole as far as it fits, and of what is older the deeds alone. Pure. */
export function withinTokens<Entry extends Worked>(entries: readonly Entry[]): readonly Entry[] {
  let left = WORK_TOKENS;
  return entries
    .toReversed()
    .map((entry) => {
      if (!entry.work?.some(({ messages }) => messages.length > 0)) return entry;
      left -= entry.work.reduce((sum, work) => sum + tokensOf(work), 0);
      if (left >= 0) return entry;
      const work = entry.work.map(({ agent, deeds }) => ({ agent, deeds, messages: [] }));
      return { ...entry, work };
    })
    .toReversed();
}

/** What one agent does in one turn, while it does it. */
export class Transcript {
  /** `service/agent`. */
  readonly agent: string;
  readonly #messages: ModelMessage[] = [];
  /** By place: a call is noted where it happens and where it is told. */
  readonly #deeds = new Map<string, { readonly line: string; readonly isOfCode: boolean }>();
  /** Results by the call's id, also of those that the model was not told. */
  readonly #known = new Map<string, Json>();

  constructor(agent: string) {
    this.agent = agent;
  }

  /** In the order in which the model reads them. */
  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  add(...messages: readonly ModelMessage[]): void {
    this.#messages.push(...messages);
  }

  /** Calls of an answer, with what was said and thought before them. */
  addCalls(toolCalls: readonly ToolCall[], { text, reasoning }: ModelAnswer): void {
    this.add({ role: "assistant", text, toolCalls, reasoning });
  }

  /** The outcome of a call; told also where its turn is cut off before a model reads it. */
  knows({ place, name, input, callId, changes }: KnownCall, outcome: EffectOutcome<unknown>): void {
    if (callId !== undefined) this.#known.set(callId, resultOf(outcome));
    if (!changes || outcome.status !== "done") return;
    const line = deedLine(name, input, outcome.result);
    this.#deeds.set(place, { line, isOfCode: callId === undefined });
  }

  /** It is not known what came of a call. */
  doubts(callId: string): void {
    this.#known.set(callId, UNKNOWN);
  }

  /** Undefined: it has called nothing. */
  get work(): AgentWork | undefined {
    const deeds = [...this.#deeds.values()];
    if (callsOf(this.#messages).length === 0 && deeds.length === 0) return undefined;
    const lines = deeds.map(({ line }) => line);
    const ofCode = deeds.flatMap(({ line, isOfCode }) => (isOfCode ? [line] : []));
    return {
      agent: this.agent,
      messages: [...this.#settled(), ...doneNote(ofCode)],
      deeds: lines.length > 0 ? lines : undefined,
    };
  }

  /** Each call with its result, of long ones the beginning. */
  #settled(): readonly ModelMessage[] {
    const results = this.#messages.filter((message) => message.role === "tool");
    return this.#messages.flatMap((message): readonly ModelMessage[] => {
      if (message.role === "tool") return [];
      if (message.role === "user") return [message];
      const { reasoning: _, ...kept } = message; // a model reads it in its own turn alone
      return [kept, ...(message.toolCalls ?? []).map((call) => this.#resultOf(call, results))];
    });
  }

  /** Of two calls with one id each takes its own. */
  #resultOf(call: ToolCall, results: ToolMessage[]): ToolMessage {
    const index = results.findIndex(({ callId }) => callId === call.id);
    const [told] = index < 0 ? [] : results.splice(index, 1);
    const { id: callId, name } = call;
    const message: ToolMessage = told ?? { role: "tool", callId, name, result: this.#untold(call) };
    return shortened(message, RESULT_BYTES);
  }

  #untold({ id }: ToolCall): Json {
    return this.#known.get(id) ?? NOT_MADE;
  }
}

/** A call whose outcome is known. */
interface KnownCall {
  /** In the journal. */
  readonly place: string;
  readonly name: string;
  readonly input: unknown;
  /** Absent: code has called. */
  readonly callId: string | undefined;
  /** Whether it changes something outside. */
  readonly changes: boolean;
}

const NOT_MADE = "Not done: the turn ended before this call was made.";
const UNKNOWN = "It is not known whether it was done: a person is asked. Do not call it again.";

/** What a model reads of the end of a call. */
export function resultOf(outcome: EffectOutcome<unknown>): Json {
  if (outcome.status === "done") return (outcome.result ?? null) as Json;
  return `${outcome.error.code}: ${outcome.error.message}`;
}

/** Deeds that stand in no message of their own. `by`: of another agent. Pure. */
export function doneNote(deeds: readonly string[], by?: string): readonly ModelMessage[] {
  if (deeds.length === 0) return [];
  const whose = by === undefined ? "" : ` by="${quoted(by)}"`;
  return [{ role: "user", text: `<done${whose}>\n${deeds.map(quoted).join("\n")}\n</done>` }];
}
