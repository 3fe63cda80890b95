/** What a handler sees of its turn, and what it can do through it. */

import type { FileRef, MadeFiles } from "../../kernel/files.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { RoomSpeaker } from "../../kernel/rooms.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { FinishedFlow } from "../../durable/turns.ts";
import { promptLanguage, promptText, type PromptName } from "../../models/prompt-files.ts";
import type { AgentResult } from "../agent/agent.ts";
import type { ShowWords } from "../agent/agent-words.ts";
import type { PlainResult } from "../agent/file-result.ts";
import type { CallerTools } from "../caller/caller-tools.ts";
import type { HandedCalls } from "../caller/handed-out.ts";
import type { Memory } from "../agent/memory.ts";
import type { Answering } from "./question.ts";
import type { DonePayload, Service } from "../service/service.ts";
import type { StateManager } from "./state.ts";
import type { Tool } from "../agent/tool.ts";
import { readOutside } from "./turn-effects.ts";
import type { TurnParts } from "./turn-parts.ts";

/** Result of an agent. Throws instead when no attempt succeeded and there is no fallback. */
export interface AgentOutcome<Data = unknown> {
  /** The text for the person; empty for agents that only decide. */
  readonly text: string;
  /**
   * The checked output: `{message}` for a chat agent, the schema's output for a conversational one.
   */
  readonly data: Data;
  readonly result: AgentResult<Data>;
  /** It has called tools of the caller: give this to `turn.done`, which ends the turn with them. */
  readonly handedCalls?: HandedCalls | undefined;
}

/** How a flow runs an agent; every member may be left out. */
export interface AgentCallOptions {
  /** Put between prompt and summary; for facts that the agent needs now. */
  readonly context?: string | undefined;
  /** The agent's prompt in this call, instead of its own: one that is made of what is known now. */
  readonly prompt?: string | undefined;
  /** Where the agent's card says none. 0 for a decision. */
  readonly temperature?: number | undefined;
  /** What the agent is asked instead of the person's message. */
  readonly input?: string | undefined;
  /** Exchanges of history. Default 6. Source: docs/spec/conversation §3. */
  readonly lastTurns?: number | undefined;
  /**
   * Whether its text is shown to the person while it comes. Default true; decide-only agents set
   * false. A function shows whole sentences, as long as it says yes to all that was said so far;
   * after a no, what was shown is taken back (`AGENT_START` with `restart`), and no event tells the
   * text.
   */
  readonly show?: ShowWords | undefined;
  /** Whether it may call the tools of the caller. Default false. */
  readonly callerTools?: boolean | undefined;
}

/** Outcome of a `once` effect, or of a read. */
export type EffectOutcome<Output> =
  | {
      readonly status: "done";
      readonly result: PlainResult<Output>;
      /** What the tool has made. Only our code sets it: no result of a tool stands here. */
      readonly files?: MadeFiles | undefined;
    }
  | {
      readonly status: "failed";
      readonly error: { readonly code: string; readonly message: string };
    };

/** What a call of a _once_ tool is about, and what to do when it is settled. */
export interface EffectCallOptions<Output> {
  /**
   * The thing decided, such as `[question.id]` of the question that was answered yes; the effect's
   * key is made of the session, the call's name and this.
   */
  readonly key: readonly (string | number)[];
  /**
   * Changes the state for a settled effect. What it writes is kept even when the turn is stopped
   * right after.
   */
  readonly onSettled?: ((outcome: EffectOutcome<Output>) => void) | undefined;
}

/** An answer from the inbox that started this turn, or one that the person gives with it. */
export interface EscalationAnswer {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly answer: string;
  /** What the person said with it. */
  readonly note?: string | undefined;
  readonly context: JsonObject;
}

export interface TurnFacts {
  readonly turnId: string;
  /** Unique over all tenants: a tenant's session is `<tenant>/<id>`. */
  readonly session: string;
  /** The session's id on other servers. */
  readonly sessionElsewhere: string;
  /**
   * How keys of effects begin: with this session, not with another that had its id before and may
   * be known to the outside.
   */
  readonly effects: string;
  readonly message: string;
  /** What the message carries. Agents get them with it. */
  readonly files: readonly FileRef[];
  readonly slots: JsonObject | undefined;
  readonly confirmId: string | undefined;
  /** From another server that stands between: the question that it showed last, `null` for none. */
  readonly lastQuestion: string | null | undefined;
  readonly locale: string;
  readonly timeZone: string;
  readonly author: "person" | "system";
  /** In a room: the person whose own words the message is. */
  readonly speaker: RoomSpeaker | undefined;
  /**
   * Whether the message was accepted after the session's previous `DONE` was stored, so that its
   * author can have seen it.
   */
  readonly sawPrevious: boolean;
  /** Wall clock of the accepting database, milliseconds. */
  readonly acceptedAt: number;
  /** The answer that decides where the turn goes: of the inbox, or of the person's own words. */
  readonly escalation: EscalationAnswer | undefined;
  /** What became of questions that were asked before: `escalation`, and those beside it. */
  readonly answers: readonly EscalationAnswer[];
  /** Quoted data that agents see before the message; see `TurnRequest.background`. */
  readonly background: string | undefined;
  /** See `TurnRequest.callerTools`. */
  readonly callerTools: CallerTools | undefined;
}

/**
 * A handler's view of its turn. After a crash the handler runs again from its top: what it did
 * through this object gives its recorded result, so everything that is not a function of the turn
 * belongs into `step`, `now`, `random` or `id`.
 */
export class TurnContext implements Omit<
  TurnFacts,
  "effects" | "sessionElsewhere" | "lastQuestion" | "callerTools" | "answers" | "speaker"
> {
  readonly turnId: string;
  /** Unique over all tenants: a tenant's session is `<tenant>/<id>`. */
  readonly session: string;
  readonly message: string;
  /** What the message carries. Agents get them with it. */
  readonly files: readonly FileRef[];
  readonly slots: JsonObject | undefined;
  readonly confirmId: string | undefined;
  readonly locale: string;
  readonly timeZone: string;
  readonly author: "person" | "system";
  readonly sawPrevious: boolean;
  readonly acceptedAt: number;
  readonly escalation: EscalationAnswer | undefined;
  readonly background: string | undefined;
  /** The flow's scenario; a state with stages keeps it until a terminal stage. */
  readonly scenario: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- typed by the service's own state definition
  readonly state: StateManager<any>;
  readonly memory: Memory;
  /** Aborts when the turn is stopped or no longer this process's. */
  readonly signal: AbortSignal;
  /**
   * The question that this message can answer, or why it can answer none. A yes counts for
   * `answering.question` alone, which is what the person was shown last; without it the handler
   * asks again.
   */
  readonly answering: Answering;
  /** Settings of the team that flows follow. */
  readonly limits: { readonly maxFillTurns: number };
  readonly #service: Service;
  readonly #parts: TurnParts;

  constructor(service: Service, parts: TurnParts) {
    const { facts, route, environment } = parts;
    this.turnId = facts.turnId;
    this.session = facts.session;
    this.message = facts.message;
    this.files = facts.files;
    this.slots = facts.slots;
    this.confirmId = facts.confirmId;
    this.locale = facts.locale;
    this.timeZone = facts.timeZone;
    this.author = facts.author;
    this.sawPrevious = facts.sawPrevious;
    this.acceptedAt = facts.acceptedAt;
    this.escalation = facts.escalation;
    this.background = facts.background;
    this.scenario = route.scenario;
    this.state = route.state!;
    this.memory = parts.memory;
    this.signal = parts.stop.signal;
    this.answering = route.answering;
    this.limits = environment.limits;
    this.#service = service;
    this.#parts = parts;
  }

  /**
   * The service's version when the turn began. A handler that branches on it can end turns of an
   * older release.
   */
  get version(): string {
    return this.#parts.steps.versionRead();
  }

  /**
   * A prompt of dure in the session's language, with its places open: the team's text, if it has
   * one, else ours. Fill it with `slotPrompt` and its like, and give it as `prompt` to an agent.
   */
  prompt(name: PromptName): string {
    const { prompts } = this.#parts.environment;
    return promptText(prompts, name, promptLanguage(this.locale));
  }

  /** Runs an agent; its events leave as they happen. Throws when it failed for good. */
  agent<Data = unknown>(
    key: string,
    label: string,
    options: AgentCallOptions = {},
  ): Promise<AgentOutcome<Data>> {
    const { agents, steps } = this.#parts;
    const call = { key, label, options };
    const outcome = agents.run(this.#service, call, (event) => steps.emit(event));
    return markHandled(outcome as Promise<AgentOutcome<Data>>);
  }

  /** The same for a generator handler: yields the agent's events, returns its result. */
  async *streamAgent<Data = unknown>(
    key: string,
    label: string,
    options: AgentCallOptions = {},
  ): AsyncGenerator<TurnEvent, AgentOutcome<Data>> {
    const events: TurnEvent[] = [];
    let wake = (): void => {};
    const notify = (): void => wake();
    let settled = false;
    const work = this.#parts.agents
      .run(this.#service, { key, label, options }, (event) => {
        events.push(event);
        notify();
      })
      .finally(() => {
        settled = true;
        notify();
      });
    work.catch(() => {});
    for (;;) {
      while (events.length > 0) yield events.shift()!;
      if (settled) return (await work) as AgentOutcome<Data>;
      await new Promise<void>((resolve) => (wake = resolve));
      wake = () => {};
    }
  }

  /**
   * Does a `once` effect that the code itself decided: at most once for its key, however often the
   * turn is run. A tool that needs a person's approval ends the turn by asking, unless its key has
   * been called before; a turn that an answer to it began (`escalation`) and that makes exactly the
   * call that was asked for (`name` and `input`) uses up the approval; after a rejection the call
   * fails with `APPROVAL_REJECTED`.
   */
  call<Input, Output>(
    name: string,
    tool: Tool<Input, Output>,
    input: Input,
    options: EffectCallOptions<Output>,
  ): Promise<EffectOutcome<Output>> {
    const outcome = this.#parts.effects.call(
      { tool, name, input, view: this.#service.toolCalls },
      options as EffectCallOptions<unknown>,
    );
    return markHandled(outcome as Promise<EffectOutcome<Output>>);
  }

  /**
   * Reads from the outside by a tool without effect. It is recorded and told like a call, and over
   * after the tool's timeout; what fails gives a `failed` outcome and ends no turn.
   */
  read<Input, Output>(
    name: string,
    tool: Tool<Input, Output>,
    input: Input,
  ): Promise<EffectOutcome<Output>> {
    const outcome = readOutside(this.#parts, {
      tool,
      name,
      input,
      view: this.#service.toolCalls,
    });
    return markHandled(outcome as Promise<EffectOutcome<Output>>);
  }

  /**
   * Runs `work` and records its result (plain JSON), so that it is not run again after it finished.
   * It may run more than once before.
   */
  step<T>(name: string, work: (signal: AbortSignal) => Promise<T> | T): Promise<T> {
    return markHandled(this.#parts.steps.run(name, work) as Promise<T>);
  }

  /** Wall clock in milliseconds, the same after a crash. */
  now(): number {
    return this.#parts.steps.now();
  }

  /** A number in [0, 1), the same after a crash. */
  random(): number {
    return this.#parts.steps.random();
  }

  /** A unique id, the same after a crash. */
  id(kind: string): string {
    return this.#parts.steps.id(kind);
  }

  taskProgress(index: number, total: number, slots: JsonObject): void {
    this.#parts.steps.emit({ type: "TASK_PROGRESS", data: { index, total, slots } });
  }

  /** Delivered at least once, in order, after `DONE` is stored. */
  hook(type: string, data: unknown): void {
    this.#parts.output.hooks.push({ type, data });
  }

  /**
   * Adds to the session's finished flows, for a turn that finishes more than its last stage tells
   * (one of a batch). A turn that calls this says all itself: its terminal stage adds no entry of
   * its own. Called in `onSettled` it outlives a stop.
   */
  complete(entry: {
    readonly flow?: string;
    readonly stage: string;
    readonly data: unknown;
  }): void {
    const { flow } = this.#parts.route;
    this.#parts.output.completed.push({ service: this.#service.name, flow, ...entry });
  }

  /** The service's finished flows in this session, the newest first, at most ten. */
  finishedFlows(): Promise<readonly FinishedFlow[]> {
    return markHandled(this.#finishedFlows());
  }

  async #finishedFlows(): Promise<readonly FinishedFlow[]> {
    const { environment, steps } = this.#parts;
    const { store, lease } = environment;
    const flows = (await steps.run("finished flows", () =>
      store.finishedFlows(this.session, { signal: lease }),
    )) as readonly FinishedFlow[];
    return flows.filter(({ service }) => service === this.#service.name);
  }

  /** What memory keeps as the answer, when it is not `DONE.message`. */
  remember(text: string): void {
    this.#parts.output.remembered = text;
  }

  /**
   * Settles the approval that began this turn without its call: the thing is done in another way,
   * or no longer wanted. `DONE` uses up the approval, and no missing call is reported. Does nothing
   * where no approval began the turn.
   */
  settleApproval(): void {
    this.#parts.effects.approvals.settle();
  }

  /** Back to the initial state; memory stays. */
  resetState(): void {
    this.state.reset();
  }

  done(payload: DonePayload): DonePayload {
    return payload;
  }
}

/**
 * A promise for a handler or an agent that may come to wait for it late, or never: that it fails
 * meanwhile, as everything does at a stop, is no unhandled rejection, which would end the process
 * and with it the turns of others.
 */
export function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
