/** One life of one turn, from its claim to its end. */

import { codeOf, DureError } from "../../kernel/errors.ts";
import { ownTroubleOf } from "../../durable/passing.ts";
import type { ClaimedTurn } from "../../durable/turns.ts";
import type { Done } from "../../kernel/turn-events.ts";
import { inTurnSpan } from "../../models/telemetry.ts";
import { EffectUnknownError } from "../effects/effects.ts";
import type { LeafService } from "../service/combine.ts";
import type { DonePayload } from "../service/service.ts";
import { DivergedError, type TurnJournal } from "./journal.ts";
import { TurnFinish } from "./turn-finish.ts";
import { handleTurn } from "./turn-handler.ts";
import { TurnParts, type TurnStart } from "./turn-parts.ts";
import { StoppedError } from "./turn-stop.ts";
import { TurnTrouble, type RunEnd } from "./turn-trouble.ts";

/**
 * One life of one turn: its handler runs against the journal (`turn-handler.ts`), and it ends with
 * one `DONE` (`turn-finish.ts`, or `turn-trouble.ts` where something is in the way).
 *
 * A life ends in one of five ways: finished (the statement that stores `DONE` was committed),
 * fenced (another process holds the turn, nothing more is written), interrupted (the database could
 * not serve it), failed (its end could not be written), or cut off by the death of its process.
 * After the last three another life begins with the same journal.
 */
export class TurnRun {
  readonly held: ClaimedTurn;
  /**
   * Settles when this life is over; never rejects. `next` is the session's next turn, which this
   * process now holds.
   */
  readonly finished: Promise<RunEnd>;
  readonly #parts: TurnParts;
  readonly #finish: TurnFinish;
  readonly #trouble: TurnTrouble;

  constructor(start: TurnStart) {
    this.held = start.held;
    this.#parts = new TurnParts(start);
    this.#finish = new TurnFinish(this.#parts);
    this.#trouble = new TurnTrouble(this.#parts, this.#finish);
    this.finished = this.#run();
  }

  /** Readers of this process follow it. */
  get journal(): TurnJournal {
    return this.#parts.journal;
  }

  /** What this run stored, as the fold looks at it: exchanges, and the room that they have. */
  get memory(): { readonly turns: number; readonly room: number | undefined } {
    return { turns: this.#finish.memoryTurns, room: this.#parts.agents.room.tokens };
  }

  /** The service that answered; the fold looks at it. */
  get answeredBy(): LeafService | undefined {
    return this.#parts.route.leaf;
  }

  /** What was stored at its end; absent where this life has stored none. */
  get done(): Done | undefined {
    return this.#finish.done;
  }

  /** The end of the turn was asked for. */
  stop(): void {
    this.#parts.stop.ask();
  }

  /** This process may write no more. */
  leaseLost(): void {
    this.#parts.stop.leaseLost();
  }

  async #run(): Promise<RunEnd> {
    const { journal, environment } = this.#parts;
    try {
      // A microtask later: the engine attaches readers before the first event.
      await Promise.resolve();
      const { turn, session, service, epoch: life, trace_parent: traceParent } = this.held;
      const texts = environment.spanTexts;
      const next = await inTurnSpan({ turn, session, service, life, traceParent, texts }, () =>
        this.#toTheEnd(),
      );
      environment.budgets?.ended(turn);
      return { end: "done", next };
    } catch (error) {
      return await this.#trouble.endWithout(error);
    } finally {
      journal.close();
    }
  }

  async #toTheEnd(): Promise<string | null> {
    const { stop, journal, effects, environment } = this.#parts;
    if (this.held.stop) await stop.asked();
    const obstacle = obstacleTo(this.#parts);
    if (obstacle) return this.#trouble.end(obstacle);
    try {
      const payload = await this.#untilStopped(handleTurn(this.#parts));
      journal.checkComplete();
      if (effects.question) throw effects.question;
      if (this.#parts.facts.answers.length > 0) await assertYesUsed(this.#parts);
      const result = await this.#finish.asHandled(payload);
      if (!result.stopped) return result.next;
      return await this.#trouble.end(new StoppedError());
    } catch (error) {
      environment.lease.throwIfAborted();
      const isOver = ownTroubleOf(error) !== undefined || codeOf(error) === "TURN_CLOSED";
      if (isOver || this.#trouble.isEnding) throw error;
      return this.#trouble.end(effects.question ?? error);
    }
  }

  /**
   * The handler may ignore its signal; a stop does not wait for it, only for effects that are being
   * settled.
   */
  async #untilStopped(work: Promise<DonePayload>): Promise<DonePayload> {
    const { stop, effects, environment } = this.#parts;
    const { signal } = stop;
    work.catch(() => {});
    const stopped = new Promise<never>((_, reject) => {
      const cut = (): void => reject(signal.reason as Error);
      if (signal.aborted) cut();
      else signal.addEventListener("abort", cut, { once: true });
    });
    stopped.catch(() => {});
    try {
      return await Promise.race([work, stopped]);
    } catch (error) {
      // People are asked, stop or not.
      if (error instanceof EffectUnknownError || error instanceof DivergedError) throw error;
      // An effect whose outcome is unknown goes before the stop: its stage stays, a person is asked.
      await effects.settleRunning();
      throw stop.isAsked && !environment.lease.aborted ? new StoppedError() : error;
    }
  }
}

/** Why the handler cannot be run at all. */
function obstacleTo({ held, service, interruptions }: TurnParts): DureError | undefined {
  const { turn, epoch, stop, rows } = held;
  const recorded = rows.filter(({ type }) => type === "RECORD").length;
  if (epoch > MAX_EPOCHS + interruptions + 2 * recorded) {
    return new DureError(
      "TURN_POISONED",
      `The turn ${turn} was begun ${Math.floor(epoch / 2)} times and never reached its end.`,
      { hint: "Look into the log for what ended its processes." },
    );
  }
  if (service) return undefined;
  if (stop) return new StoppedError();
  return new DureError("SERVICE_UNAVAILABLE", `No process has the service ${held.service}.`, {
    class: "unavailable",
    hint: "Start a process that has it, or give its sessions another one.",
  });
}

/** An approval whose call is not made must not look used. */
async function assertYesUsed({ effects, route }: TurnParts): Promise<void> {
  const [unused] = await effects.approvals.unused();
  if (!unused) return;
  const tool = unused.context["tool"] as string;
  const flow = `${route.leaf!.name}/${route.flow}`;
  throw new DureError("APPROVAL_UNUSED", `${tool} was approved, but ${flow} did not call it.`, {
    hint: APPROVAL_UNUSED_HINT,
  });
}

/**
 * Lives of one turn that bring it no further: bounds a turn that ends its process each time. One
 * that goes on has one more for each step that is recorded.
 */
const MAX_LIVES = 10;
/** Release and claim raise the epoch by one each. */
const MAX_EPOCHS = 2 * MAX_LIVES;

const APPROVAL_UNUSED_HINT = [
  "When turn.escalation is there, let the flow run the agent that has the tool,",
  "or make the call itself: turn.call(name, tool, turn.escalation.context.input, { key }).",
  "turn.settleApproval() says that it is not needed any more.",
].join(" ");
