import { DureError } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { ClaimedTurn, TurnEffect } from "../../durable/turns.ts";
import { logFailure } from "../log-failure.ts";
import { inToolSpan } from "../../models/telemetry.ts";
import { Approvals, REFUSED } from "../effects/approvals.ts";
import {
  EffectUnknownError,
  OnceRunner,
  type EffectLedger,
  type FailedPart,
  type OnceCall,
} from "../effects/effects.ts";
import { Transcript, type AgentWork } from "../agent/work.ts";
import type { TurnJournal } from "./journal.ts";
import type { EffectCallOptions, EffectOutcome, TurnFacts } from "./turn-context.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { TurnFiles } from "./turn-files.ts";
import { ApprovalPendingError, type AskingPlace } from "./turn-escalations.ts";
import type { TurnSteps } from "./turn-steps.ts";
import { StoppedError, type TurnStop } from "./turn-stop.ts";
import { toldAt, type HandlersCall } from "./turn-told.ts";

/** What a person has to be asked before the turn can go on; it ends the turn. */
export type TurnQuestion = EffectUnknownError | ApprovalPendingError;

type OnSettled = EffectCallOptions<unknown>["onSettled"];

interface TurnEffectsOptions {
  readonly held: ClaimedTurn;
  readonly facts: TurnFacts;
  readonly environment: TurnEnvironment;
  readonly journal: TurnJournal;
  readonly stop: TurnStop;
  readonly steps: TurnSteps;
  readonly files: TurnFiles;
  readonly place: () => AskingPlace;
  /** Called after a handler's `onSettled`: the state that it left outlives a stop. */
  readonly onKept: () => void;
}

/**
 * What one life of a turn does to the outside: calls that run now, the approvals that they need,
 * and the questions that they leave.
 */
export class TurnEffects {
  readonly approvals: Approvals;
  readonly #options: TurnEffectsOptions;
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

  constructor(options: TurnEffectsOptions) {
    const { held, facts, environment, stop, files, place } = options;
    this.#options = options;
    this.approvals = new Approvals({
      held,
      facts,
      store: environment.store,
      reader: environment.approvals,
      signal: environment.lease,
      place,
      locale: environment.locale,
    });
    this.#once = new OnceRunner({
      clock: environment.clock,
      isStopped: () => stop.isAsked,
      ledger: ledgerOf(options),
      keepFiles: (...call) => files.keep(...call),
      onFailed: (part, call, error) => this.#tellFailed(part, call, error),
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

  #note(place: string, { tool, name, input }: HandlersCall, outcome: EffectOutcome<unknown>): void {
    this.#transcript ??= new Transcript(this.#options.place().service);
    this.#options.files.note(outcome);
    const changes = tool.effect !== "none";
    this.#transcript.knows({ place, name, input, callId: undefined, changes }, outcome);
  }

  #tellFailed(part: FailedPart, { name, key }: OnceCall, error: unknown): void {
    const { held, environment } = this.#options;
    const facts = { turn: held.turn, session: held.session, tool: name, key };
    logFailure(environment.logger, `a ${part} of a tool failed`, { error, facts });
  }

  /** A call that the handler itself makes. */
  async call(
    { tool, name, input, view }: HandlersCall,
    options: EffectCallOptions<unknown>,
  ): Promise<EffectOutcome<unknown>> {
    assertKey(name, options);
    const { key: parts, onSettled } = options;
    const { facts, steps, stop } = this.#options;
    stop.signal.throwIfAborted();
    const step = steps.next(`call:${name}`);
    const key = [facts.effects, name, ...parts].join("/");
    const onOutcome = (ended: EffectOutcome<unknown>): void =>
      this.#note(step.path, { tool, name, input }, ended);
    if (step.past.is === "recorded") {
      const past = step.past.value as EffectOutcome<unknown>;
      onOutcome(past);
      this.#settled(past, onSettled);
      this.#knows(key);
    }

    const told = toldAt(step, view, this.#options);
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
    const { session, turn } = this.#options.held;
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
    this.#assertNoneOpen(call);
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
    const { held, facts, environment } = this.#options;
    if (held.rows.length === 0) return undefined; // the first life
    const { store, lease } = environment;
    this.#begunBefore ??= store.effectsOf(held.turn, { signal: lease });
    const approved = `${facts.effects}/approval/`;

    return (await this.#begunBefore).find((effect) => isBegunCall(effect, call, approved))?.key;
  }

  /** A handler or a model may go on after a call whose outcome is unknown: not with this tool. */
  #assertNoneOpen({ name, key }: OnceCall): void {
    for (const question of this.#questions.values()) {
      const isOpen = question instanceof EffectUnknownError && question.tool === name;
      if (isOpen && question.key !== key) throw question;
    }
  }

  async #runOnce(call: OnceCall, onSettled: OnSettled): Promise<EffectOutcome<unknown>> {
    const { lease } = this.#options.environment;
    const outcome = await inToolSpan(
      call.name,
      () => this.#once.run(call, { signal: lease }),
      (ended) => (ended.status === "failed" ? ended.error.code : undefined),
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
        this.#options.stop.assertMayBegin(); // a stopped turn makes no call, so it asks for none
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
    this.#options.onKept();
  }

  #knows(key: string): void {
    this.#questions.delete(key);
    this.#options.stop.knows(key);
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
function ledgerOf({ held, environment, journal }: TurnEffectsOptions): EffectLedger {
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
