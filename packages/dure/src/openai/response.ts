import type { Done, TurnError } from "../kernel/turn-events.ts";
import { acceptedAt, idFor } from "./answer-ids.ts";
import { SERVER_GONE, type Answering } from "./completion.ts";
import { turnFailure } from "./refusal.ts";
import type { Speaker } from "./speaker.ts";
import { tokensOf } from "./tokens.ts";

/** Whose answer is told, in which session. */
export interface Responding extends Answering {
  readonly session: string;
}

/** The answer of `/responses`. Pure. */
export function responseOf(responding: Responding, done: Done): object {
  if (done.error) return failedOf(responding, done.error);

  const item = itemOf(responding, done.message, "completed");
  const usage = usageOf(done);

  return { ...headOf(responding, "completed"), output: [item], output_text: done.message, usage };
}

/** The stream of `/responses`. */
export class ResponseSpeaker implements Speaker {
  readonly #responding: Responding;
  readonly #itemId: string;
  #seq = 0;

  constructor(responding: Responding) {
    this.#responding = responding;
    this.#itemId = idFor("msg", responding.turnId);
  }

  begin(): string {
    const response = headOf(this.#responding, "in_progress");
    const item = itemOf(this.#responding, undefined, "in_progress");
    const part = partOf("");

    return [
      this.#event("response.created", { response }),
      this.#event("response.in_progress", { response }),
      this.#event("response.output_item.added", { output_index: 0, item }),
      this.#event("response.content_part.added", { ...this.#place(), part }),
    ].join("");
  }

  text(delta: string): string {
    return this.#event("response.output_text.delta", { ...this.#place(), delta, logprobs: [] });
  }

  end(done: Done): string {
    const response = responseOf(this.#responding, done);
    if (done.error) return this.#event("response.failed", { response });

    const { message: text } = done;
    const item = itemOf(this.#responding, text, "completed");
    const part = partOf(text);

    return [
      this.#event("response.output_text.done", { ...this.#place(), text, logprobs: [] }),
      this.#event("response.content_part.done", { ...this.#place(), part }),
      this.#event("response.output_item.done", { output_index: 0, item }),
      this.#event("response.completed", { response }),
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
