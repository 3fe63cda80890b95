/** Starts a port of a run, and reports its end. */

import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { Faults } from "../../durable/faults.ts";
import type { Logger } from "../../kernel/logger.ts";
import { becauseOf, type PortOutcome } from "../rows/outcomes.ts";
import type { SchedulerEvent } from "../schedule-state.ts";
import { FAULTS } from "./leader-parts.ts";
import { LEFT_OUT, type PlanRun } from "../rows/run.ts";
import { aboutPort, escalationFor } from "../ask/triggers.ts";

/** What one start of a port came to. */
export type PortReport = Extract<SchedulerEvent, { attempt: number }> & {
  readonly outcome: PortOutcome;
};

interface PortRunnerOptions {
  readonly run: () => PlanRun;
  readonly build: (
    port: string,
    options: { attempt: number; signal: AbortSignal },
  ) => Promise<PortOutcome>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when a report is there. */
  readonly onReport: () => void;
}

interface RunningPort {
  readonly controller: AbortController;
  readonly finished: Promise<void>;
}

/** The ports of a run that are worked on, and what those that ended came to. */
export class PortRunner {
  readonly #options: PortRunnerOptions;
  readonly #running = new Map<string, RunningPort>();
  readonly #reports: PortReport[] = [];
  readonly #faults: Faults;

  constructor(options: PortRunnerOptions) {
    this.#options = options;
    this.#faults = new Faults({ ...FAULTS, clock: options.clock, logger: options.logger });
  }

  get size(): number {
    return this.#running.size;
  }

  /** Takes at most `count` reports, oldest first. */
  takeReports(count: number): PortReport[] {
    return this.#reports.splice(0, count);
  }

  start(port: string, attempt: number): void {
    const controller = new AbortController();
    const finished = this.#built(port, attempt, controller.signal).then((outcome) => {
      this.#running.delete(port);
      this.#reports.push({ type: outcome.status, port, attempt, outcome });
      this.#options.onReport();
    });
    this.#running.set(port, { controller, finished });
  }

  /** The run was cancelled. */
  cancel(port: string): void {
    const reason = new DOMException("The run was cancelled.", "AbortError");
    this.#running.get(port)?.controller.abort(reason);
  }

  /** The port is left out: it will be reported as failed. */
  leaveOut(port: string): void {
    const reason = new DureError(LEFT_OUT.code, LEFT_OUT.message);
    this.#running.get(port)?.controller.abort(reason);
  }

  /** The operator lets the port try again: earlier faults count no more. */
  forgetFaults(port: string): void {
    this.#faults.forget(port);
  }

  /** Ends all work, and waits for its end. */
  async stop(reason: unknown): Promise<void> {
    for (const { controller } of this.#running.values()) controller.abort(reason);
    await Promise.allSettled([...this.#running.values()].map(({ finished }) => finished));
  }

  /**
   * Never rejects. A fault of our own is met by beginning again, behind the last step that ended, a
   * few times.
   */
  async #built(port: string, attempt: number, signal: AbortSignal): Promise<PortOutcome> {
    for (;;) {
      try {
        return await this.#options.build(port, { attempt, signal });
      } catch (error) {
        const gaveUp = signal.aborted ? undefined : await this.#onFault(port, error, signal);
        if (gaveUp) return gaveUp;
        if (!signal.aborted) continue;
        return codeOf(signal.reason) === LEFT_OUT.code
          ? { status: "failed", because: LEFT_OUT }
          : { status: "stopped" };
      }
    }
  }

  /** Waits. Gives the outcome after too many faults, and where another process leads the run. */
  async #onFault(
    port: string,
    error: unknown,
    signal: AbortSignal,
  ): Promise<PortOutcome | undefined> {
    const { run } = this.#options;
    const { id } = run();
    const what = `port ${port} of ${id} met a fault of dure`;
    const fault = { error, what, fields: { run: id, port } };
    const after = await this.#faults.recordAndWait(port, fault, signal);
    if (after === "left") return { status: "stopped" };
    return after === "given-up" ? faultyOutcome(run(), port, error) : undefined;
  }
}

function faultyOutcome(run: PlanRun, port: string, error: unknown): PortOutcome {
  const because = becauseOf(error);
  const escalation = escalationFor("worker-lost", {
    ...aboutPort(run, port),
    title: `${port}: ${because.message}`.slice(0, 300),
    context: { code: because.code },
  });
  return { status: "failed", because, escalation };
}
