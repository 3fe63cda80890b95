import type { TurnFrame } from "../engine/api.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Done, ToolDone, ToolStart, TurnEvent } from "../kernel/turn-events.ts";
import { toWire } from "../kernel/wire.ts";
import type { SseStream } from "../server/sse.ts";
import { TokenBatch } from "../server/turn-stream.ts";

/** A turn in the frames of the AI SDK's UI message stream. Source: ai 7, `UIMessageChunk`. */
export class UiTurn {
  readonly #turnId: string;
  /** Calls of tools by their ids, with the frames that tell them. */
  readonly #tools = new Map<string, string>();
  /** What stands in the message now, in all its parts. */
  #text = "";
  #parts = 0;
  /** Whether the last part of text goes on. */
  #isOpen = false;
  #isVoid = false;

  constructor(turnId: string) {
    this.#turnId = turnId;
  }

  begin(): string {
    return frames({ type: "start", messageId: this.#turnId }, { type: "start-step" });
  }

  /** An agent begins, or begins again: its first word takes the place of the words so far. */
  agentBegins(): void {
    this.#isVoid = this.#text !== "";
  }

  say(delta: string): string {
    const before = this.#isVoid ? this.#reset() : "";
    const start = this.#isOpen ? "" : frames({ type: "text-start", id: this.#newPart() });
    this.#isOpen = true;
    this.#text += delta;

    return `${before}${start}${frames({ type: "text-delta", id: this.#part, delta })}`;
  }

  /** A tool is called: text that follows is a part of its own. */
  toolBegins({ callId: toolCallId, tool: toolName, args }: ToolStart): string {
    const call = { toolCallId, toolName, ...BY_DURE };
    const told = frames(
      { type: "tool-input-start", ...call },
      { type: "tool-input-available", ...call, input: args ?? {} },
    );
    this.#tools.set(toolCallId, told);

    return this.#closeText() + told;
  }

  /** One that waits for a person stays as it is. */
  toolEnds({ callId: toolCallId, status, result, error }: ToolDone): string {
    const begun = this.#tools.get(toolCallId);
    if (status === "asks" || begun === undefined) return "";

    const call = { toolCallId, ...BY_DURE };
    const told =
      status === "done"
        ? frames({ type: "tool-output-available", ...call, output: result ?? null })
        : frames({ type: "tool-output-error", ...call, errorText: wordsOf(error) });
    this.#tools.set(toolCallId, begun + told);

    return told;
  }

  end(done: Done): string {
    if (done.error) return frames({ type: "error", errorText: done.error.message }) + LAST;

    const { message } = done;
    const isWhole = message.startsWith(this.#text);
    const before = isWhole ? "" : this.#reset();
    this.#isVoid = false;
    const rest = message.slice(this.#text.length);
    const said = rest === "" ? "" : this.say(rest);
    const close = this.#closeText();
    const files = (done.files ?? []).map(({ id, type }) => ({
      type: "file",
      url: `/v1/agent/files/${encodeURIComponent(id)}`,
      mediaType: type,
    }));
    const finish = { type: "finish", finishReason: "stop", messageMetadata: metadataOf(done) };

    return `${before}${said}${close}${frames(...files, { type: "finish-step" }, finish)}${LAST}`;
  }

  get #part(): string {
    return `text-${this.#parts}`;
  }

  #newPart(): string {
    this.#parts += 1;
    return this.#part;
  }

  #closeText(): string {
    if (!this.#isOpen) return "";
    this.#isOpen = false;

    return frames({ type: "text-end", id: this.#part });
  }

  /** Words are taken back with all that stands in the step; calls that were made stay. */
  #reset(): string {
    this.#text = "";
    this.#isVoid = false;
    this.#isOpen = false;

    return frames({ type: "reset-step" }) + [...this.#tools.values()].join("");
  }
}

/** A tool of the team: the page is not asked to call it, and does not know its types. */
const BY_DURE = { dynamic: true, providerExecuted: true } as const;

function wordsOf(error: ToolDone["error"]): string {
  return [error?.code, error?.message].filter(Boolean).join(": ");
}

/** Said when the server goes away: the turn goes on, and can be read again. */
export const FAREWELL = frames({
  type: "error",
  errorText: "The server closed during the answer. It goes on: resume the stream.",
});

/** Sends a turn until its end or the reader's. What ends the reader leaves the turn alone. */
export async function tellTurn(
  events: AsyncIterable<TurnFrame>,
  turn: UiTurn,
  stream: SseStream,
  clock: Clock,
): Promise<void> {
  const batch = new TokenBatch(clock, (text) => stream.write(turn.say(text)));

  try {
    for await (const { event } of events) {
      if (stream.ended) return;

      if (event.type === "LLM_TOKEN") batch.add(event.data);
      else {
        batch.flush();
        stream.write(told(event, turn));
        if (event.type === "DONE") return;
      }

      if (stream.isFull) await stream.roomAgain();
    }
  } finally {
    batch.flush();
  }
}

function told(event: Exclude<TurnEvent, { type: "LLM_TOKEN" }>, turn: UiTurn): string {
  if (event.type === "TOOL_START") return turn.toolBegins(event.data);
  if (event.type === "TOOL_DONE") return turn.toolEnds(event.data);
  if (event.type === "DONE") return turn.end(event.data);
  if (event.type === "AGENT_START") turn.agentBegins();

  return "";
}

/** What a page offers beside the answer. */
function metadataOf({ nextAction, uiHint, trace }: Done): unknown {
  return toWire({ turnId: trace.turnId, nextAction, uiHint });
}

const LAST = "data: [DONE]\n\n";

function frames(...chunks: readonly object[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
}
