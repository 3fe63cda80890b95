import type { Done, TurnError } from "../kernel/turn-events.ts";
import { acceptedAt, idFor } from "./answer-ids.ts";
import { SERVER_GONE, type CompletionAnswering } from "./completion.ts";
import { turnFailure } from "./refusal.ts";
import type { Speaker } from "./speaker.ts";
import { tokensOf } from "./tokens.ts";

/** Whose answer is told, in which session. */
export interface Responding extends CompletionAnswering {
  readonly session: string;
}

/** The answer of `/responses`. Pure. */
export function responseOf(responding: Responding, done: Done): object {
  if (done.error) return failedOf(responding, done.error);

  const { message, calls = [] } = done;
  const said = itemOf(responding, message, "completed");
  const items = calls.map((_, index) => callItem(responding, done, index, "completed"));
  const output = saysWords(done) ? [said, ...items] : items;
  const usage = usageOf(done);

  return { ...headOf(responding, "completed"), output, output_text: message, usage };
}

/** A response that is not there yet. Pure. */
export function pendingOf(responding: Responding, status: "queued" | "running"): object {
  return headOf(responding, status === "queued" ? "queued" : "in_progress");
}

/** An answer that only calls tools of the caller has no message. */
function saysWords({ message, calls = [] }: Done): boolean {
  return message !== "" || calls.length === 0;
}

/** The stream of `/responses`. */
export class ResponseSpeaker implements Speaker {
  readonly #responding: Responding;
  readonly #itemId: string;
  #seq = 0;
  #isOpen = false;

  constructor(responding: Responding) {
    this.#responding = responding;
    this.#itemId = idFor("msg", responding.turnId);
  }

  begin(): string {
    const response = headOf(this.#responding, "in_progress");

    return [
      this.#event("response.created", { response }),
      this.#event("response.in_progress", { response }),
    ].join("");
  }

  text(delta: string): string {
    const event = { ...this.#place(), delta, logprobs: [] };
    return this.#open() + this.#event("response.output_text.delta", event);
  }

  end(done: Done): string {
    const response = responseOf(this.#responding, done);
    if (done.error) return this.#event("response.failed", { response });

    return [
      saysWords(done) || this.#isOpen ? this.#words(done.message) : "",
      ...(done.calls ?? []).map((_, index) => this.#call(done, index)),
      this.#event("response.completed", { response }),
    ].join("");
  }

  /** The message, before its first word. */
  #open(): string {
    if (this.#isOpen) return "";
    this.#isOpen = true;
    const item = itemOf(this.#responding, undefined, "in_progress");

    return [
      this.#event("response.output_item.added", { output_index: 0, item }),
      this.#event("response.content_part.added", { ...this.#place(), part: partOf("") }),
    ].join("");
  }

  #words(text: string): string {
    const item = itemOf(this.#responding, text, "completed");
    const part = partOf(text);

    return [
      this.#open(),
      this.#event("response.output_text.done", { ...this.#place(), text, logprobs: [] }),
      this.#event("response.content_part.done", { ...this.#place(), part }),
      this.#event("response.output_item.done", { output_index: 0, item }),
    ].join("");
  }

  #call(done: Done, index: number): string {
    const item = callItem(this.#responding, done, index, "completed");
    const begun = { ...item, arguments: "", status: "in_progress" };
    const output_index = index + (this.#isOpen ? 1 : 0);
    const place = { item_id: item.id, output_index };
    const { name, arguments: text } = item;

    return [
      this.#event("response.output_item.added", { output_index, item: begun }),
      this.#event("response.function_call_arguments.delta", { ...place, delta: text }),
      this.#event("response.function_call_arguments.done", { ...place, name, arguments: text }),
      this.#event("response.output_item.done", { output_index, item }),
    ].join("");
  }

  farewell(): string {
    return this.#event("error", SERVER_GONE.error);
  }

  #place(): object {
    return { item_id: this.#itemId, output_index: 0, content_index: 0 };
  }

  #event(type: string, data: object): string {
    const event = { type, sequence_number: this.#seq, ...data };
    this.#seq += 1;

    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }
}

function failedOf(responding: Responding, failure: TurnError): object {
  const { message, code } = turnFailure(failure).error;
  return { ...headOf(responding, "failed"), error: { message, code } };
}

function headOf({ turnId, model, session }: Responding, status: string): object {
  return {
    id: idFor("resp", turnId),
    object: "response",
    created_at: acceptedAt(turnId),
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model,
    conversation: { id: session },
    output: [],
    parallel_tool_calls: false,
    temperature: null,
    tool_choice: "none",
    tools: [],
    top_p: null,
  };
}

function itemOf({ turnId }: Responding, text: string | undefined, status: string): object {
  const content = text === undefined ? [] : [partOf(text)];
  return { id: idFor("msg", turnId), type: "message", status, role: "assistant", content };
}

interface CallItem {
  readonly id: string;
  readonly type: "function_call";
  readonly status: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

function callItem({ turnId }: Responding, done: Done, index: number, status: string): CallItem {
  const { callId: call_id, tool: name, args } = done.calls![index]!;
  const id = `${idFor("fc", turnId)}_${index}`;
  return { id, type: "function_call", status, call_id, name, arguments: JSON.stringify(args) };
}

function partOf(text: string): object {
  return { type: "output_text", text, annotations: [] };
}

function usageOf(done: Done): object {
  const { tokensIn, tokensOut } = tokensOf(done);
  return {
    input_tokens: tokensIn,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: tokensOut,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: tokensIn + tokensOut,
  };
}
