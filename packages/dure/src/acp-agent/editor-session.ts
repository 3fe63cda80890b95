import {
  methods,
  type AgentContext,
  type RequestPermissionRequest,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import type { DureClient, TurnFrame } from "../client/index.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Done, ToolDone, ToolStart } from "../kernel/turn-events.ts";
import { EditorTask } from "./editor-task.ts";
import { confirmationOf, decisionOf, type EditorQuestion, type EditorReply } from "./question.ts";
import { TASK_MODE, type TaskMode } from "./task-mode.ts";
import type { TaskRuns } from "./task-runs.ts";
import type { Following, TeamTurns } from "./team-turns.ts";
import { type AcpWords, refusalIn } from "./words.ts";
import { AppendOnlyText } from "../kernel/append-only-text.ts";
import type { Json } from "../kernel/json.ts";

/** Questions that one prompt may lead to. */
const MAX_QUESTIONS = 20;
/** Longest wait of a close for what it stops, milliseconds. */
const CLOSE_MS = 10_000;

export interface EditorSessionOptions {
  readonly id: string;
  readonly editor: AgentContext;
  readonly service: string;
  readonly turns: TeamTurns;
  readonly tasks: TaskRuns;
  /** Undefined: the editor begins no tasks. */
  readonly taskMode: TaskMode | undefined;
  /** That the editor has opened. */
  readonly folder: string;
  readonly words: AcpWords;
  readonly clock: Clock;
  readonly connect: () => Promise<DureClient>;
}

type ChunkKind = "user_message_chunk" | "agent_message_chunk";

/** One conversation of the editor's person with the team. One prompt at a time. */
export class EditorSession {
  /** Whom the next words are for. */
  service: string;
  readonly #options: EditorSessionOptions;
  #running: Promise<unknown> = Promise.resolve();
  #turnId: string | undefined;
  /** The task of an earlier process that is told. */
  #followed: string | undefined;
  /** The call that waits for a person's decision. */
  #askedCall: string | undefined;
  #cancelled = new AbortController();

  constructor(options: EditorSessionOptions) {
    this.#options = options;
    this.service = options.service;
  }

  /** Says words of the person, and asks it what the team asks. */
  prompt(text: string, signal: AbortSignal): Promise<StopReason> {
    const { taskMode: mode, folder } = this.#options;
    if (mode && this.service === TASK_MODE) {
      const task = { mode, words: text, folder };
      return this.#inLine(undefined, (cancelled) =>
        this.#task().prompt(task, { cancelled, asking: signal }),
      );
    }

    return this.#inLine(signal, (following) => {
      const said: EditorReply = { is: "words", message: text, confirmId: undefined };
      return this.#lead(said, following);
    });
  }

  /** Tells a turn that an earlier process of this agent has begun. */
  follow(turnId: string): void {
    const { turns } = this.#options;
    void this.#inLine(undefined, async (following) => {
      const done = await this.#tellTurn((how) => turns.follow(turnId, how), following);
      return this.#askOn(done, following);
    }).catch(() => undefined); // the next prompt says what is wrong with the team
  }

  /** Tells a task that an earlier process of this agent has begun. */
  followTask(run: string, { replays }: { readonly replays: boolean }): void {
    if (this.#followed === run) return;
    this.#followed = run;
    void this.#inLine(undefined, async (cancelled) => {
      const task = this.#task();
      if (!replays) await task.skipTold(run);
      return task.follow(run, { cancelled, asking: undefined });
    }).catch(() => undefined); // the next prompt says what is wrong with the team
  }

  #task(): EditorTask {
    const { id: session, editor, tasks: runs, clock, words } = this.#options;
    return new EditorTask({ session, editor, runs, clock, words });
  }

  /** Stops the turn, or the task, that runs. Its prompt ends as cancelled. */
  async cancel(): Promise<void> {
    this.#cancelled.abort();
    const turnId = this.#turnId;
    if (turnId === undefined) return;

    const client = await this.#options.connect();
    await client.stopTurn(turnId).catch((error: unknown) => {
      if (!(error instanceof DureError) || error.class !== "conflict") throw error;
    });
  }

  /** A task has its order to stop when this resolves, unless the team is away for long. */
  async close(): Promise<void> {
    const running = this.#running;
    await this.cancel();
    await Promise.race([running, this.#options.clock.sleep(CLOSE_MS)]);
  }

  async tell(speaker: ChunkKind, { text, of }: { text: string; of: string }): Promise<void> {
    const content = { type: "text" as const, text };
    await this.#update({ sessionUpdate: speaker, content, messageId: of });
  }

  async #update(update: SessionUpdate): Promise<void> {
    const { editor, id: sessionId } = this.#options;
    await editor.notify(methods.client.session.update, { sessionId, update });
  }

  async #inLine(
    signal: AbortSignal | undefined,
    work: (cancelled: AbortSignal) => Promise<StopReason>,
  ): Promise<StopReason> {
    const before = this.#running;
    const done = Promise.withResolvers<void>();
    this.#running = done.promise;
    await before;
    this.#cancelled = new AbortController();
    const { signal: cancelled } = this.#cancelled;
    const onAbort = (): void => void this.cancel().catch(() => undefined);
    signal?.addEventListener("abort", onAbort, { once: true });

    try {
      return await work(cancelled);
    } catch (error) {
      if (cancelled.aborted) return "cancelled";
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      this.#turnId = undefined;
      done.resolve();
    }
  }

  async #lead(first: EditorReply, cancelled: AbortSignal): Promise<StopReason> {
    const done = await this.#reply(first, cancelled);
    return this.#askOn(done, cancelled);
  }

  /** Asks the person what a turn has asked, until none asks. */
  async #askOn(first: Done | undefined, cancelled: AbortSignal): Promise<StopReason> {
    let done = first;
    for (let asked = 0; asked < MAX_QUESTIONS; asked++) {
      if (cancelled.aborted || done?.error?.code === "TURN_STOPPED") return "cancelled";
      const question = done && (await this.#questionOf(done));
      if (!question) return "end_turn";
      const reply = await this.#ask(question);
      if (!reply) return cancelled.aborted ? "cancelled" : "end_turn";
      done = await this.#reply(reply, cancelled);
    }

    return "max_turn_requests";
  }

  async #questionOf(done: Done): Promise<EditorQuestion | undefined> {
    const confirmation = confirmationOf(done);
    if (confirmation || !done.error) return confirmation;

    const client = await this.#options.connect();
    const { id: session } = this.#options;
    const { items } = await client.escalations({ session, status: "open", limit: 20 });
    const waits = items.find(({ source }) => source.turn === done.trace.turnId);

    return waits && decisionOf(waits, this.#options.words);
  }

  /** Undefined: the person has not chosen. Only a choice in the editor says yes. */
  async #ask({ id, title, choices, replies }: EditorQuestion): Promise<EditorReply | undefined> {
    const { editor, id: sessionId } = this.#options;
    const call = this.#askedCall;
    this.#askedCall = undefined;
    const asked: RequestPermissionRequest = {
      sessionId,
      toolCall: { toolCallId: call ?? id, title, kind: "other", status: "pending" },
      options: [...choices],
    };
    const permission = methods.client.session.requestPermission;
    const { outcome } = await editor.request(permission, asked);
    const chosen = outcome.outcome === "selected" ? outcome.optionId : undefined;
    if (call !== undefined) {
      const answer = choices.find(({ optionId }) => optionId === chosen);
      await this.#update(answeredUpdate(call, answer?.name));
    }

    return chosen === undefined ? undefined : replies.get(chosen);
  }

  async #reply(reply: EditorReply, cancelled: AbortSignal): Promise<Done | undefined> {
    const { turns, id: session, connect } = this.#options;
    if (reply.is === "words") {
      const { message, confirmId } = reply;
      const said = { session, service: this.service, message, confirmId };
      return this.#tellTurn((how) => turns.say(said, how), cancelled);
    }

    const client = await connect();
    const { turnId } = await client.answerEscalation(reply.escalation, { value: reply.value });
    if (turnId === null) return undefined;

    return this.#tellTurn((how) => turns.follow(turnId, how), cancelled);
  }

  /** Tells the editor a turn as it comes. */
  async #tellTurn(
    begin: (following: Following) => Promise<Done>,
    cancelled: AbortSignal,
  ): Promise<Done> {
    const words = new EditorTurn(this.#options.words);
    this.#askedCall = undefined;
    const tell = async (text: string): Promise<void> => {
      if (text === "") return;
      await this.tell("agent_message_chunk", { text, of: `${this.#turnId}-assistant` });
    };
    const following: Following = {
      signal: new AbortController().signal,
      onBegun: (turnId) => {
        this.#turnId = turnId;
        if (cancelled.aborted) void this.cancel().catch(() => undefined);
      },
      onFrame: async (frame) => {
        const update = toolUpdateOf(frame, this.#options.words);
        if (update) await this.#update(update);
        if (frame.type === "TOOL_DONE" && frame.data.status === "asks") {
          this.#askedCall = frame.data.callId;
        }
        await tell(words.hear(frame));
      },
    };
    const done = await begin(following);
    await tell(words.end(done));
    this.#turnId = undefined;

    return done;
  }
}

// --- editor turn

/**
 * The words of one turn for an editor, which can take nothing back: what is said again after a
 * restart is sent only behind them.
 */
class EditorTurn {
  readonly #said = new AppendOnlyText();
  readonly #words: AcpWords;

  constructor(words: AcpWords) {
    this.#words = words;
  }

  /** What to send of a frame. */
  hear(frame: TurnFrame): string {
    if (frame.type === "LLM_TOKEN") return this.#said.add(frame.data);
    if (frame.type === "AGENT_START") this.#said.begin();
    return "";
  }

  /** What to send so that the answer stands there whole. */
  end({ message, error }: Done): string {
    if (error?.code === "TURN_STOPPED") return "";
    return this.#said.rest(error && message === "" ? refusalIn(this.#words, error) : message);
  }
}

// --- tool update

/** What the editor is told of a call of a tool; undefined: the frame tells of none. Pure. */
function toolUpdateOf(frame: TurnFrame, words: AcpWords): SessionUpdate | undefined {
  if (frame.type === "TOOL_START") return begun(frame.data);
  if (frame.type === "TOOL_DONE") return ended(frame.data, words);
  return undefined;
}

/** The call that a person was asked about, when it was answered. The next turn makes it. Pure. */
function answeredUpdate(toolCallId: string, answer: string | undefined): SessionUpdate {
  const status = answer === undefined ? "failed" : "completed";
  return { sessionUpdate: "tool_call_update", toolCallId, status, content: textOf(answer) };
}

const KINDS = { none: "read", idempotent: "execute", once: "execute" } as const;

function begun({ callId: toolCallId, tool: title, effect, args }: ToolStart): SessionUpdate {
  return {
    sessionUpdate: "tool_call",
    toolCallId,
    title,
    kind: KINDS[effect],
    status: "in_progress",
    rawInput: args,
  };
}

function ended(
  { callId: toolCallId, status, result, error }: ToolDone,
  words: AcpWords,
): SessionUpdate {
  const update = { sessionUpdate: "tool_call_update", toolCallId } as const;
  if (status === "asks") return { ...update, status: "pending" };
  if (status === "done") {
    return { ...update, status: "completed", rawOutput: result, content: textOf(result) };
  }
  const { code = "", message = "" } = error ?? {};
  const said = [code, refusalIn(words, { code, message })].filter(Boolean).join(": ");
  return { ...update, status: "failed", rawOutput: error, content: textOf(said) };
}

function textOf(value: Json | undefined): { type: "content"; content: TextContent }[] {
  if (value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return [{ type: "content", content: { type: "text", text } }];
}

interface TextContent {
  readonly type: "text";
  readonly text: string;
}
