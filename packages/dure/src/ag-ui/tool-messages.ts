import type { DoneCall, ToolDone, ToolStart } from "../kernel/turn-events.ts";

/** Calls of tools in one run: their events, and the messages that a client makes of them. */
export class ToolMessages {
  readonly #calls = new Map<string, { readonly call: object; result?: object }>();

  /** What a snapshot of the messages says of them. */
  get messages(): readonly object[] {
    return [...this.#calls.values()].flatMap(({ call, result }) =>
      result ? [call, result] : [call],
    );
  }

  begin({ callId: toolCallId, tool: toolCallName, args }: ToolStart): readonly object[] {
    const delta = JSON.stringify(args ?? {});
    const parentMessageId = `${toolCallId}-call`;
    const asked = { name: toolCallName, arguments: delta };
    const toolCalls = [{ id: toolCallId, type: "function", function: asked }];
    this.#calls.set(toolCallId, { call: { id: parentMessageId, role: "assistant", toolCalls } });

    return [
      { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId },
      { type: "TOOL_CALL_ARGS", toolCallId, delta },
      { type: "TOOL_CALL_END", toolCallId },
    ];
  }

  /** A call of a tool of the page, which makes it: its result comes with the next run. */
  handOut(call: DoneCall): readonly object[] {
    return this.begin({ ...call, effect: "none" });
  }

  /** One that waits for a person has no result yet. */
  end({ callId, status, result, error }: ToolDone): readonly object[] {
    if (status === "asks") return [];
    return this.#end(callId, status === "done" ? (result ?? null) : { error });
  }

  /** Without a result a client would take a call for one that it has to make. */
  endLeft(): readonly object[] {
    const left = [...this.#calls].filter(([, { result }]) => result === undefined);
    return left.flatMap(([callId]) => this.#end(callId, { error: { code: "NOT_TOLD" } }));
  }

  #end(toolCallId: string, value: unknown): readonly object[] {
    const known = this.#calls.get(toolCallId);
    if (!known) return [];
    const content = typeof value === "string" ? value : JSON.stringify(value);
    const message = { role: "tool", toolCallId, content };
    known.result = { id: `${toolCallId}-result`, ...message };

    return [{ type: "TOOL_CALL_RESULT", messageId: `${toolCallId}-result`, ...message }];
  }
}
