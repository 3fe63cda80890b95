/** What a handler does to the outside (`TurnEffects`) and reads from it (`readOutside`). */

import type { TurnParts } from "./turn-parts.ts";
import { DureError, codeOf, messageOf } from "../../kernel/errors.ts";
import { canonicalJson, jsonCopy } from "../../kernel/json.ts";
import type { TurnEffect } from "../../durable/turns.ts";
import { logFailure } from "../log-failure.ts";
import { inToolSpan } from "../../models/telemetry.ts";
import { Approvals, REFUSED } from "../effects/approvals.ts";
import {
  EffectUnknownError,
  OnceRunner,
  type EffectLedger,
  type OnceCall,
} from "../effects/effects.ts";
import { Transcript, type AgentWork } from "../agent/work.ts";
import type { EffectCallOptions, EffectOutcome } from "./turn-context.ts";
import { ApprovalPendingError } from "./turn-escalations.ts";
import { StoppedError } from "./turn-stop.ts";
import type { ToolCallView } from "../../kernel/turn-events.ts";
import { ToolCallEvents } from "../agent/tool-call-events.ts";
import type { AnyTool, ToolContext } from "../agent/tool.ts";
import type { Step } from "./step.ts";
import { withTimeout } from "../../kernel/clock.ts";
import { ownTroubleOf } from "../../durable/passing.ts";

/** What a person has to be asked before the turn can go on; it ends the turn. */
export type TurnQuestion = EffectUnknownError | ApprovalPendingError;

type OnSettled = EffectCallOptions<unknown>["onSettled"];

/**
 * What one life of a turn does to the outside: calls that run now, the approvals that they need,
 * and the questions that they leave.
 */
export class TurnEffects {
  readonly approvals: Approvals;
  readonly #turn: TurnParts;
  readonly #once: OnceRunner;
  readonly #running = new Set<Promise<unknown>>();
  /** Of the handler's own calls. */
  #transcript: Transcript | undefined;
  /**
   * By key of the effect, or subject of the approval. Asked even when the handler catches the
   * error.
   */
  readonly #questions = new Map<string, TurnQuestion>();
  /** Effects that earlier lives of the turn have begun; looked up at the first question. */
  #begunBefore: Promise<readonly TurnEffect[]> | undefined;

  constructor(turn: TurnParts) {
    const { held, facts, environment, stop, files } = turn;
    this.#turn = turn;
    this.approvals = new Approvals({
      held,
      facts,
      store: environment.store,
      reader: environment.approvals,
      signal: environment.lease,
      place: () => turn.route.place,
      locale: environment.locale,
    });
    this.#once = new OnceRunner({
      clock: environment.clock,
      isStopped: () => stop.isAsked,
      ledger: ledgerOf(turn),
      keepFiles: (...call) => files.keep(...call),
      onFailed: (part, { name, key }, error) => {
        const about = { turn: held.turn, session: held.session, tool: name, key };
        logFailure(environment.logger, `a ${part} of a tool failed`, { error, facts: about });
      },
    });
  }

  /** What people have to be asked; the first of them ends the turn. */
  get questions(): readonly TurnQuestion[] {
    return [...this.#questions.values()];
  }

  get question(): TurnQuestion | undefined {
    return this.questions[0];
  }

  /** What the handler itself has done, as the work of its service. */
  get work(): readonly AgentWork[] {
    const work = this.#transcript?.work;
    return work ? [work] : [];
  }

  /** A call that the handler itself makes. */
  async call(
    { tool, name, input, view }: HandlersCall,
    options: EffectCallOptions<unknown>,
  ): Promise<EffectOutcome<unknown>> {
    assertKey(name, options);
    const { key: parts, onSettled } = options;
    const { facts, steps, stop, route, files } = this.#turn;
    stop.signal.throwIfAborted();
    const step = steps.next(`call:${name}`);
    const key = [facts.effects, name, ...parts].join("/");
    const onOutcome = (ended: EffectOutcome<unknown>): void => {
      this.#transcript ??= new Transcript(route.place.service);
      files.note(ended);
      const changes = tool.effect !== "none";
      const known = { place: step.path, name, input, callId: undefined, changes };
      this.#transcript.knows(known, ended);
    };
    if (step.past.is === "recorded") {
      const past = step.past.value as EffectOutcome<unknown>;
      onOutcome(past);
      this.#settled(past, onSettled);
      this.#knows(key);
    }

    const told = toldAt(step, view, this.#turn);
    const outcome = await told.around(step, { tool, name, input }, () =>
      step.once(() => {
        const parsed: unknown = tool.inputSchema.parse(input);
        return this.#callPermitted({ tool, name, input: parsed, key, onOutcome }, onSettled);
      }),
    );
    stop.signal.throwIfAborted();
    return outcome;
  }

  async #callPermitted(
    call: Pick<OnceCall, "tool" | "name" | "input" | "key" | "onOutcome">,
    onSettled: OnSettled,
  ): Promise<EffectOutcome<unknown>> {
    const { session, turn } = this.#turn.held;
    const permit = await this.#asking(this.approvals.permitFor(call));
    if (permit.is === "refused") {
      this.#settled(REFUSED, onSettled);
      return REFUSED;
    }
    const context = { session, turn, agent: call.name };
    return this.once({ ...call, context, approval: permit.approval }, onSettled);
  }

  /** Does an effect, and keeps the end of the turn waiting for it. */
  async once(call: OnceCall, onSettled?: OnSettled): Promise<EffectOutcome<unknown>> {
    // A handler or a model may go on after a call whose outcome is unknown: not with this tool.
    for (const question of this.#questions.values()) {
      const isOpen = question instanceof EffectUnknownError && question.tool === call.name;
      if (isOpen && question.key !== call.key) throw question;
    }
    const work = this.#runOnce(call, onSettled);
    this.#running.add(work);
    try {
      return await work;
    } catch (error) {
      if (error instanceof EffectUnknownError) this.#questions.set(error.key, error);
      throw error;
    } finally {
      this.#running.delete(work);
    }
  }

  /**
   * The key under which an earlier life has begun this call as a _once_ effect. It stays one,
   * whatever its tool says of itself now. Undefined: none has.
   */
  async keyBegunBefore(call: BegunCall): Promise<string | undefined> {
    const { held, facts, environment } = this.#turn;
    if (held.rows.length === 0) return undefined; // the first life
    const { store, lease } = environment;
    this.#begunBefore ??= store.effectsOf(held.turn, { signal: lease });
    const approved = `${facts.effects}/approval/`;

    return (await this.#begunBefore).find((effect) => isBegunCall(effect, call, approved))?.key;
  }

  async #runOnce(call: OnceCall, onSettled: OnSettled): Promise<EffectOutcome<unknown>> {
    const { lease } = this.#turn.environment;
    const outcome = await inToolSpan(call.name, call.input, () =>
      this.#once.run(call, { signal: lease }),
    );
    if (outcome.status === "stopped") throw new StoppedError();
    if (outcome.status === "approval_used") {
      throw new DureError("APPROVAL_USED", `The approval for ${call.name} was used before.`, {
        class: "conflict",
        hint: "Ask again; each approval holds for one call.",
      });
    }
    call.onOutcome?.(outcome);
    this.#settled(outcome, onSettled);
    this.#knows(call.key);
    return outcome;
  }

  /** See `Approvals.of`. */
  approvalFor(...call: Parameters<Approvals["of"]>): ReturnType<Approvals["of"]> {
    return this.#asking(this.approvals.of(...call));
  }

  async #asking<T>(permit: Promise<T>): Promise<T> {
    try {
      return await permit;
    } catch (error) {
      if (error instanceof ApprovalPendingError) {
        this.#turn.stop.assertMayBegin(); // a stopped turn makes no call, so it asks for none
        this.#questions.set(error.escalation.subject, error);
      }
      throw error;
    }
  }

  /** A model call begins; the end of the turn waits until the returned function is called. */
  callBegins(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running.add(promise);
    return () => {
      this.#running.delete(promise);
      resolve();
    };
  }

  /** Waits for what runs now. Throws the error of an effect whose outcome is unknown. */
  async settleRunning(): Promise<void> {
    const effects = await Promise.allSettled(this.#running);
    for (const effect of effects) {
      if (effect.status === "rejected" && effect.reason instanceof EffectUnknownError) {
        throw effect.reason;
      }
    }
  }

  /** What the handler writes for a settled effect outlives a stop. */
  #settled(outcome: EffectOutcome<unknown>, onSettled: OnSettled): void {
    if (!onSettled) return;
    onSettled(outcome);
    const { output, route } = this.#turn;
    output.keep(route.state?.snapshot());
  }

  #knows(key: string): void {
    this.#questions.delete(key);
    this.#turn.stop.knows(key);
  }
}

/** `key`: what the call has where no approval was asked for. */
type BegunCall = Pick<OnceCall, "key" | "name" | "input">;

/** An approval gave its call a key of its own. Pure. */
function isBegunCall(effect: TurnEffect, { key, name, input }: BegunCall, approved: string) {
  if (effect.key === key) return true;
  if (effect.tool !== name || !effect.key.startsWith(approved)) return false;

  return canonicalJson(effect.input) === canonicalJson(JSON.parse(JSON.stringify(input ?? null)));
}

/** A handler in JavaScript may leave it out. Throws `EFFECT_KEY_MISSING`. */
function assertKey(name: string, options: Partial<EffectCallOptions<unknown>> | undefined): void {
  if (Array.isArray(options?.key)) return;
  throw new DureError("EFFECT_KEY_MISSING", `${name} was called without a key.`, {
    class: "internal",
    hint: `Say what the call is about: turn.call("${name}", tool, input, { key: [order.id] }).`,
  });
}

/** The ledger of one life; an intent is stored in one statement with the journal so far. */
function ledgerOf({ held, environment, journal }: TurnParts): EffectLedger {
  const { store, lease } = environment;
  const { turn, epoch } = held;
  return {
    intent: async (effect) => {
      const taken = await journal.take();
      try {
        const { rows, calls } = taken;
        const answer = await store.effectIntent(
          { ...effect, turn, epoch, rows, calls },
          { signal: lease },
        );
        taken.committed();
        return answer;
      } catch (error) {
        taken.refused();
        throw error;
      }
    },
    settle: (key, status, outcome) =>
      store.effectSettle({ turn, epoch, key, status, ...outcome }, { signal: lease }),
  };
}

/** A call as a handler makes it. */
interface HandlersCall {
  readonly tool: AnyTool;
  readonly name: string;
  readonly input: unknown;
  readonly view?: ToolCallView | undefined;
}

/**
 * Tells a handler's call under a place inside of its own: a call that was only told is none that
 * the next life has to make.
 */
function toldAt(
  step: Step,
  view: ToolCallView | undefined,
  { facts, environment, steps }: TurnParts,
): ToolCallEvents {
  const place = step.inside().next("told");
  return new ToolCallEvents({
    turnId: facts.turnId,
    clock: environment.clock,
    view,
    isShown: true,
    told: place.events,
    emit: (event) => steps.store(place, event),
  });
}

/**
 * What a handler reads from the outside: recorded, told, over after the tool's timeout, and cut off
 * by a stop. A read that fails fails no turn. Source: docs/spec/conversation §4.
 */
export async function readOutside(
  turn: TurnParts,
  call: HandlersCall,
): Promise<EffectOutcome<unknown>> {
  assertReads(call);
  const step = turn.steps.next(`read:${call.name}`);
  const told = toldAt(step, call.view, turn);
  const read = (signal: AbortSignal) =>
    inToolSpan(call.name, call.input, () => readOnce(turn, call, { path: step.path, signal }));
  const outcome = await told.around(
    step,
    call,
    () => turn.steps.doWork(step, read) as Promise<EffectOutcome<unknown>>,
  );
  turn.files.note(outcome);
  return outcome;
}

async function readOnce(
  { facts, environment, files }: TurnParts,
  { tool, name, input }: HandlersCall,
  { path, signal }: { path: string; signal: AbortSignal },
): Promise<EffectOutcome<unknown>> {
  const { clock, logger } = environment;
  const { turnId: turn, session, effects } = facts;
  const context: Omit<ToolContext, "signal"> = {
    session,
    turn,
    agent: name,
    key: `${effects}/${turn}/${path}`,
    attempt: 1,
  };
  const late = (): DureError =>
    new DureError("TOOL_TIMEOUT", `${name} did not answer within ${tool.timeoutMs} ms.`, {
      class: "unavailable",
    });
  try {
    const parsed: unknown = tool.inputSchema.parse(input);
    const patience = { ms: tool.timeoutMs, signal };
    const result: unknown = await withTimeout(clock, patience, late, async (callSignal) =>
      tool.execute(parsed, { ...context, signal: callSignal }, { signal: callSignal }),
    );
    const kept = jsonCopy(result, `What the tool "${name}" gave`);
    const made = await files.keep(name, result, { signal });
    return { status: "done", result: kept, files: made };
  } catch (error) {
    signal.throwIfAborted();
    if (ownTroubleOf(error)) throw error;
    logFailure(logger, "a read of a handler failed", { error, facts: { turn, session, name } });
    const code = codeOf(error) ?? "TOOL_FAILED";
    return { status: "failed", error: { code, message: messageOf(error) } };
  }
}

/** What has an effect is in the ledger, and a read is not. */
function assertReads({ tool, name }: HandlersCall): void {
  if (tool.effect === "none") return;
  throw new DureError("TOOL_INVALID", `${name} is read, and its tool has an effect.`, {
    class: "input",
    hint: `Call it with turn.call("${name}", tool, input, { key }), or declare effect: "none".`,
  });
}
