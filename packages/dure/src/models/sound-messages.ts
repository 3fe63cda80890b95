import { createHash } from "node:crypto";
import { type Json, type JsonObject, onlyDefined } from "../kernel/json.ts";
import type { ModelMessage, ToolCall, ToolMessage } from "./model.ts";
import type { Dialect } from "./model-object.ts";
import { takesName } from "./tool-schema.ts";

/**
 * The messages as every provider takes them, whatever is stored of a conversation:
 *
 * - no message without words. Source: docs.claude.com, "Messages" (400 `text content blocks must be
 *   non-empty`);
 * - each call is followed by its one result, and no result stands without its call. Sources:
 *   docs.claude.com, "Tool use"; platform.openai.com, "Function calling";
 * - ids of calls are different ones, of letters that all take. Source: docs.claude.com, "Tool use"
 *   (`^[a-zA-Z0-9_-]+$`); platform.openai.com, "Chat" (40 characters);
 * - names of called tools have letters that all take: a model may call what there is not, and another
 *   provider's model under a name with dots. Sources: platform.openai.com, "Chat"; docs.claude.com,
 *   "Messages"; ai.google.dev, "FunctionDeclaration";
 * - no words of the model directly before its calls in a message of their own. Source: Gemini's 400
 *   `function call turn comes immediately after a user turn or after a function response turn`;
 * - no half of a surrogate pair: it cannot be written in UTF-8;
 * - a person or a tool has the last word, and a person the first.
 *
 * What is sound stays as it is. Pure.
 */
export function soundMessages(
  messages: readonly ModelMessage[],
  dialect: Dialect = "offline",
): readonly ModelMessage[] {
  const sound = new Sound(dialect);
  for (const message of messages) sound.add(message);
  return sound.ended();
}

/** A call that has no result yet. */
interface OpenCall {
  /** As it is stored. */
  readonly id: string;
  readonly call: ToolCall;
}

class Sound {
  readonly #messages: ModelMessage[] = [];
  readonly #ids: CallIds;
  /** Calls of the last message of the model, in their order. */
  #open: OpenCall[] = [];

  constructor(dialect: Dialect) {
    this.#ids = new CallIds(dialect);
  }

  add(message: ModelMessage): void {
    if (message.role === "tool") return this.#addResult(message);
    this.#closeOpen();
    if (!saysSomething(message)) return;
    const text = message.text.toWellFormed();
    if (message.role === "user") {
      this.#messages.push({ role: "user", text, ...onlyDefined({ files: message.files }) });
      return;
    }
    const calls = (message.toolCalls ?? []).map((call) => this.#ids.sound(call));
    this.#open = calls.map((call, index) => ({ id: message.toolCalls![index]!.id, call }));
    const { reasoning } = message;
    const called = calls.length > 0 ? onlyDefined({ toolCalls: calls, reasoning }) : {};
    const said = calls.length > 0 ? this.#takeLastWords() : [];
    this.#messages.push({
      role: "assistant",
      text: [...said, text].join("\n\n").trim(),
      ...called,
    });
  }

  /** What the model has said directly before. */
  #takeLastWords(): readonly string[] {
    const last = this.#messages.at(-1);
    if (last?.role !== "assistant" || last.toolCalls) return [];
    this.#messages.pop();
    return [last.text];
  }

  ended(): readonly ModelMessage[] {
    this.#closeOpen();
    const messages = this.#messages;
    if (messages[0]?.role === "assistant") messages.unshift(GO_ON);
    if (messages.length === 0 || messages.at(-1)?.role === "assistant") messages.push(GO_ON);
    return messages;
  }

  /** Of two calls with one id each has its own, in their order. */
  #addResult(message: ToolMessage): void {
    const index = this.#open.findIndex(({ id }) => id === message.callId);
    const [open] = index < 0 ? [] : this.#open.splice(index, 1);
    if (!open) return;
    const { id: callId, name } = open.call;
    this.#messages.push({ ...message, callId, name, result: soundJson(message.result) });
  }

  #closeOpen(): void {
    for (const { call } of this.#open) this.#messages.push(withoutResult(call));
    this.#open = [];
  }
}

/** Where a provider wants a person's words and there are none. */
const GO_ON: ModelMessage = { role: "user", text: "(…)" };

function saysSomething(message: Exclude<ModelMessage, ToolMessage>): boolean {
  if (message.text.trim() !== "") return true;
  if (message.role === "user") return Boolean(message.files?.length);
  return Boolean(message.toolCalls?.length);
}

/** A call that was not made, as the model reads it. */
function withoutResult({ id, name }: ToolCall): ToolMessage {
  const result = "There is no result: the call was not made, or was cut off.";
  return { role: "tool", callId: id, name, result, isError: true };
}

/** Ids in one request: each is there once. */
class CallIds {
  readonly #taken = new Set<string>();
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  sound(call: ToolCall): ToolCall {
    const wanted = SOUND_ID.test(call.id) ? call.id : `call_${hash(call.id)}`;
    let id = wanted;
    for (let copy = 2; this.#taken.has(id); copy++) id = `call_${hash(`${wanted}/${copy}`)}`;
    this.#taken.add(id);
    return { ...call, id, name: soundName(call.name, this.#dialect), args: soundJson(call.args) };
  }
}

function soundName(name: string, dialect: Dialect): string {
  if (takesName(dialect, name)) return name;
  const letters = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  return (takesName(dialect, letters.slice(0, 64)) ? letters : `_${letters}`).slice(0, 64);
}

const SOUND_ID = /^[a-zA-Z0-9_-]{1,40}$/;

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}

const HALF = /\\ud[89a-f]/u;

function soundJson(value: Json): Json {
  // JSON.stringify writes half of a pair as an escape.
  return HALF.test(JSON.stringify(value)) ? mapStrings(value) : value;
}

function mapStrings(value: Json): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(mapStrings);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value as JsonObject);
  return Object.fromEntries(
    members.map(([key, item]) => [key.toWellFormed(), mapStrings(item ?? null)]),
  );
}
