import type { Escalation } from "../wire/escalations.ts";
import type {
  AgentDone,
  Done,
  TaskProgress,
  ToolDone,
  ToolStart,
  DoneCall,
} from "../kernel/turn-events.ts";
import { toWire } from "../kernel/wire.ts";
import type { AgUiInput } from "../wire/ag-ui.ts";
import { canonicalJson, isObject, type Json } from "../kernel/json.ts";

/** The version that is spoken. */
const VERSION = "1.0";

/** A decision that a run waits for. */
export type AskedDecision = Pick<Escalation, "id" | "title" | "suggestedActions" | "expiresAt">;

/** One run in the events of AG-UI. Source: @ag-ui/core 1.0, `Event`. */
export class RunEvents {
  readonly #input: AgUiInput;
  readonly #turnId: string;
  readonly #steps = new Set<string>();
  readonly #tools = new ToolMessages();
  /** What stands in the messages of the run now. */
  #text = "";
  #messages = 0;
  /** Whether the last message goes on. */
  #isOpen = false;
  #isVoid = false;

  constructor(input: AgUiInput, turnId: string) {
    this.#input = input;
    this.#turnId = turnId;
  }

  begin(): string {
    const metadata = { turn_id: this.#turnId };
    return events({ type: "RUN_STARTED", ...this.#run, protocolVersion: VERSION, metadata });
  }

  /** An agent begins, or begins again: its first word takes the place of the words so far. */
  agentBegins(agent: string): string {
    this.#isVoid = this.#text !== "";
    if (this.#steps.has(agent)) return "";
    this.#steps.add(agent);

    return events({ type: "STEP_STARTED", stepName: agent });
  }

  agentEnds({ agent }: AgentDone): string {
    return this.#steps.delete(agent) ? events({ type: "STEP_FINISHED", stepName: agent }) : "";
  }

  progress(progress: TaskProgress): string {
    return events({
      type: "ACTIVITY_SNAPSHOT",
      messageId: `${this.#turnId}-tasks`,
      activityType: "TASK_PROGRESS",
      content: toWire(progress),
    });
  }

  say(delta: string): string {
    const before = this.#isVoid ? this.#takeBack() : "";
    const start = this.#isOpen ? "" : this.#startMessage();
    this.#text += delta;

    return before + start + events({ type: "TEXT_MESSAGE_CONTENT", messageId: this.#id, delta });
  }

  /** A tool is called: words that follow are a message of their own. */
  toolBegins(start: ToolStart): string {
    return this.#endMessage() + events(...this.#tools.begin(start));
  }

  toolEnds(end: ToolDone): string {
    return events(...this.#tools.end(end));
  }

  /** @param waits decisions of people that the turn waits for */
  end(done: Done, waits: readonly AskedDecision[]): string {
    const { error } = done;
    if (error?.code === "TURN_STOPPED") {
      return this.#close() + this.#finish({ outcome: { type: "cancelled" } });
    }
    if (error && waits.length === 0) {
      const { message, code } = error;
      return this.#close() + events({ type: "RUN_ERROR", message, code });
    }

    const said = this.#sayRest(done.message) + this.#close();
    const left = waits.length > 0 ? "" : events(...this.#tools.endLeft());
    const handed = events(...(done.calls ?? []).flatMap((call) => this.#tools.handOut(call)));
    const state = events(...stateChange(this.#input.state, done.stateSnapshot));
    const outcome = outcomeOf(done, waits);

    return (
      said +
      left +
      handed +
      state +
      this.#finish({ outcome, usage: usageOf(done), result: resultOf(done) })
    );
  }

  /** Nothing goes on: what waited for a decision is over. */
  endWithout(): string {
    return this.#finish({ outcome: { type: "success" } });
  }

  get #run(): { threadId: string; runId: string } {
    const { threadId, runId } = this.#input;
    return { threadId, runId };
  }

  get #id(): string {
    return this.#messages === 1 ? this.#turnId : `${this.#turnId}-${this.#messages}`;
  }

  #sayRest(message: string): string {
    const isWhole = message.startsWith(this.#text);
    const before = isWhole ? "" : this.#takeBack();
    this.#isVoid = false;
    const rest = message.slice(this.#text.length);

    return before + (rest === "" ? "" : this.say(rest));
  }

  #startMessage(): string {
    this.#messages += 1;
    this.#isOpen = true;
    return events({ type: "TEXT_MESSAGE_START", messageId: this.#id, role: "assistant" });
  }

  #endMessage(): string {
    if (!this.#isOpen) return "";
    this.#isOpen = false;

    return events({ type: "TEXT_MESSAGE_END", messageId: this.#id });
  }

  /** The messages as they were before the run, and the calls that it has made. */
  #takeBack(): string {
    this.#isVoid = false;
    this.#text = "";
    const messages = [...this.#input.messages, ...this.#tools.messages];

    return this.#endMessage() + events({ type: "MESSAGES_SNAPSHOT", messages });
  }

  #close(): string {
    const steps = [...this.#steps].map((stepName) => ({ type: "STEP_FINISHED", stepName }));
    this.#steps.clear();

    return this.#endMessage() + events(...steps);
  }

  #finish(more: object): string {
    return events({ type: "RUN_FINISHED", ...this.#run, ...more });
  }
}

/** Said when the server goes away: the turn goes on. */
export const FAREWELL = events({
  type: "RUN_ERROR",
  code: "SERVER_CLOSED",
  message: "The server closed during the run. It goes on: ask for the same runId again.",
});

/** Pure. */
function outcomeOf(done: Done, waits: readonly AskedDecision[]): object {
  if (waits.length > 0) return { type: "interrupt", interrupts: waits.map(decisionInterrupt) };

  const { confirmId: id, buttons = [] } = done.uiHint ?? {};
  if (done.nextAction !== "CONFIRM" || id === undefined) return { type: "success" };

  const responseSchema = choiceOf(buttons);
  const question = { id, reason: "confirmation", message: done.message, responseSchema };
  return { type: "interrupt", interrupts: [question] };
}

function decisionInterrupt({ id, title, suggestedActions, expiresAt }: AskedDecision): object {
  const values = suggestedActions.map(({ value }) => value);
  const actions = suggestedActions.map(({ value, label }) => ({ value, label }));

  return {
    id,
    reason: "approval",
    message: title,
    responseSchema: choiceOf(values),
    expiresAt: expiresAt === null ? undefined : new Date(expiresAt).toISOString(),
    metadata: { actions },
  };
}

function choiceOf(values: readonly string[]): object | undefined {
  return values.length === 0 ? undefined : { type: "string", enum: values };
}

/** All agents of the turn together. */
function usageOf({ trace }: Done): readonly object[] {
  const inputTokens = trace.agents.reduce((sum, { tokensIn }) => sum + tokensIn, 0);
  const outputTokens = trace.agents.reduce((sum, { tokensOut }) => sum + tokensOut, 0);

  return [{ inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }];
}

/** What a page offers beside the answer. */
function resultOf({ nextAction, uiHint, receipt }: Done): unknown {
  return toWire({ nextAction, uiHint, receipt });
}

function events(...given: readonly object[]): string {
  return given.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}

// --- tool messages

/** Calls of tools in one run: their events, and the messages that a client makes of them. */
class ToolMessages {
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

// --- state change

interface PatchOperation {
  readonly op: "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The events that make the state out of the one that the client has sent; none where it has it
 * already. A client without one gets it whole. What was sent comes first: a server between that keeps
 * each run by itself, as CopilotKit's does, knows no other. Pure.
 */
export function stateChange(
  known: unknown,
  state: Readonly<Record<string, unknown>>,
): readonly object[] {
  const isKnown = isObject(known) && Object.keys(known).length > 0;
  if (!isKnown) return [{ type: "STATE_SNAPSHOT", snapshot: state }];

  const delta = changesOf(known, JSON.parse(JSON.stringify(state)) as Record<string, Json>, "");
  if (delta.length === 0) return [];
  return [
    { type: "STATE_SNAPSHOT", snapshot: known },
    { type: "STATE_DELTA", delta },
  ];
}

/** By member, as JSON Patch (RFC 6902) has it. A list that differs is replaced whole. Pure. */
export function changesOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  at: string,
): readonly PatchOperation[] {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const gone = removed.map((key): PatchOperation => ({ op: "remove", path: pathOf(at, key) }));
  const changed = Object.entries(after).flatMap(([key, value]): readonly PatchOperation[] => {
    const path = pathOf(at, key);
    if (!Object.hasOwn(before, key)) return [{ op: "add", path, value }];
    const earlier = before[key];
    if (isObject(earlier) && isObject(value)) return changesOf(earlier, value, path);
    if (canonicalJson(earlier) === canonicalJson(value)) return [];

    return [{ op: "replace", path, value }];
  });

  return [...gone, ...changed];
}

function pathOf(at: string, key: string): string {
  return `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
