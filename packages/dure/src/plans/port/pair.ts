/** The pair of a port, with all that it needs to begin. */

import { DureError, messageOf } from "../../kernel/errors.ts";
import type { PortOutcome } from "../rows/outcomes.ts";
import { DirectChannel } from "../rows/channel.ts";
import type { PairParts, PortWork } from "./pair-parts.ts";
import { PortAccount } from "./port-account.ts";
import { failedOutcome, PortFailure } from "./port-failure.ts";
import { PortSteps } from "./port-steps.ts";
import { workOnPort } from "./port-tries.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";

/**
 * Works on one port: `start → set up → (implement → test → accept)*`. Each step is a row, its work a
 * commit under a name that tells the step; so a port that is taken up again goes on behind the last
 * step that ended, and no try is made twice.
 */
export async function buildPort(
  run: PlanRun,
  port: PlanPort,
  parts: PairParts,
  { signal }: { signal: AbortSignal },
): Promise<PortOutcome> {
  // With what earlier work on it has written.
  const now = await parts.records.port(run.id, port.id);
  return new TimedPort(run, now ?? port, parts).build(signal);
}

/** A port that is worked on as long as it has time. */
class TimedPort {
  readonly #run: PlanRun;
  readonly #parts: PairParts;
  readonly #account: PortAccount;
  /** Aborts when the port's time is over. */
  readonly #late = new AbortController();

  constructor(run: PlanRun, port: PlanPort, parts: PairParts) {
    this.#run = run;
    this.#parts = parts;
    this.#account = new PortAccount(run, port, parts);
  }

  get #port(): PortWork["port"] {
    return this.#run.plan.ports[this.#account.port.position]!;
  }

  /** Rejects with the abort of `outer`, and for faults of our own. */
  async build(outer: AbortSignal): Promise<PortOutcome> {
    const end = new AbortController();
    const watching = this.#watchTime(end.signal);
    try {
      const outcome = await this.#outcome(outer);
      // Stored with it.
      return { ...outcome, spentMs: this.#account.takeTime() };
    } catch (error) {
      // A leader that has lost the run writes nothing.
      await this.#account.countTime().catch(() => {});
      throw error;
    } finally {
      end.abort();
      await watching;
    }
  }

  async #outcome(outer: AbortSignal): Promise<PortOutcome> {
    const { modules } = this.#parts;
    modules.forget(this.#port.id);
    let isIn = false;
    try {
      const outcome = await this.#work(AbortSignal.any([outer, this.#late.signal]));
      isIn = outcome.status === "succeeded";
      return outcome;
    } catch (error) {
      if (outer.aborted) throw error;
      const timeOver = new PortFailure("time-over", {
        code: "PORT_TIMEOUT",
        message: `It took longer than ${this.#seconds} s.`,
        hint: "Give it more time, or make it smaller.",
      });
      const failure = this.#late.signal.aborted ? timeOver : error;
      if (failure instanceof PortFailure) return failedOutcome(this.#run, this.#port, failure);
      throw error;
    } finally {
      if (!isIn) modules.forget(this.#port.id);
    }
  }

  async #work(signal: AbortSignal): Promise<PortOutcome> {
    const run = this.#run;
    const port = this.#port;
    const parts = this.#parts;
    const account = this.#account;
    const files = await parts.files(port);
    const channel = new DirectChannel({ ...parts, run: run.id, port: port.id });
    const steps = new PortSteps({ run, port, parts, account, files, signal });
    return workOnPort({ run, port, parts, account, files, channel, steps, signal });
  }

  /**
   * Aborts the work when the port's time is over; time that was given meanwhile counts. Never
   * rejects.
   */
  async #watchTime(signal: AbortSignal): Promise<void> {
    try {
      for (let left = this.#account.timeLeft; ; left = this.#account.timeLeft) {
        if (left > 0) await this.#parts.clock.sleep(left, { signal });
        else await this.#account.reloadAllowances();
        if (left <= 0 && this.#account.timeLeft <= 0) break;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#parts.logger.warn(
        { run: this.#run.id, port: this.#port.id, error: messageOf(error) },
        `whether ${this.#port.id} got more time could not be read`,
      );
    }
    const message = `The port ${this.#port.id} has used up its ${this.#seconds} s.`;
    this.#late.abort(new DureError("PORT_TIMEOUT", message));
  }

  get #seconds(): number {
    return Math.round(this.#account.port.timeMs / 1_000);
  }
}
