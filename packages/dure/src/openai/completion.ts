import type { Done, DoneCall } from "../kernel/turn-events.ts";
import { acceptedAt, idFor } from "./answer-ids.ts";
import { turnFailure } from "./refusal.ts";
import type { Speaker } from "./speaker.ts";
import { tokensOf } from "./tokens.ts";

/** Whose answer is told. */
export interface CompletionAnswering {
  readonly turnId: string;
  /** As it was asked for. */
  readonly model: string;
}

/** The answer of `/chat/completions`. Pure. */
export function completionOf(answering: CompletionAnswering, done: Done): object {
  return {
    ...headOf(answering, "chat.completion"),
    choices: [
      { index: 0, message: messageOf(done), logprobs: null, finish_reason: finishOf(done) },
    ],
    usage: usageOf(done),
  };
}

/** The stream of `/chat/completions`. */
export class CompletionSpeaker implements Speaker {
  readonly #head: object;
  readonly #includeUsage: boolean;

  constructor(answering: CompletionAnswering, { includeUsage }: { includeUsage: boolean }) {
    this.#head = headOf(answering, "chat.completion.chunk");
    this.#includeUsage = includeUsage;
  }

  begin(): string {
    return this.#chunk({ role: "assistant", content: "", refusal: null });
  }

  text(content: string): string {
    return this.#chunk({ content });
  }

  end(done: Done): string {
    if (done.error) return dataOf({ error: turnFailure(done.error).error });

    const usage = dataOf({ ...this.#head, choices: [], usage: usageOf(done) });
    const end = `${this.#chunk({}, finishOf(done))}${this.#includeUsage ? usage : ""}`;
    return `${this.#calls(done)}${end}data: [DONE]\n\n`;
  }

  #calls({ calls = [] }: Done): string {
    return calls
      .map((call, index) => this.#chunk({ tool_calls: [{ index, ...callOf(call) }] }))
      .join("");
  }

  farewell(): string {
    return dataOf(SERVER_GONE);
  }

  #chunk(delta: object, finishReason: string | null = null): string {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finishReason };
    return dataOf({ ...this.#head, choices: [choice] });
  }
}

function messageOf({ message, calls = [] }: Done): object {
  const said = { role: "assistant", content: message, refusal: null };
  if (calls.length === 0) return said;
  return { ...said, content: message === "" ? null : message, tool_calls: calls.map(callOf) };
}

function callOf({ callId: id, tool: name, args }: DoneCall): object {
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function finishOf({ calls = [] }: Done): string {
  return calls.length > 0 ? "tool_calls" : "stop";
}

/** The turn goes on; the same key finds it. */
export const SERVER_GONE = {
  error: {
    message: "The server closed during the answer. Send it again with the same Idempotency-Key.",
    type: "server_error",
    param: null,
    code: "SERVER_DRAINING",
  },
} as const;

function headOf({ turnId, model }: CompletionAnswering, object: string): object {
  return { id: idFor("chatcmpl", turnId), object, created: acceptedAt(turnId), model };
}

function usageOf(done: Done): object {
  const { tokensIn, tokensOut } = tokensOf(done);
  return {
    prompt_tokens: tokensIn,
    completion_tokens: tokensOut,
    total_tokens: tokensIn + tokensOut,
  };
}

function dataOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
