/** The merge, as the leader of a run does it. */

import { codeOf, messageOf } from "../../kernel/errors.ts";
import { Faults } from "../../durable/faults.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import { becauseOf, type MergeVerdict } from "../rows/outcomes.ts";
import { FAULTS, reportOf, type LeaderParts } from "./leader-parts.ts";
import type { RunBook } from "./run-book.ts";
import type { PlanPort, PlanStep, PlanRun } from "../rows/run.ts";
import { BISECT_TRIES } from "../port/tries.ts";
import { aboutRun, escalationFor, type TriggerName } from "../ask/triggers.ts";
import { emit, stepEnded, writeIn } from "../rows/records.ts";
import type { Lease } from "../../durable/leases.ts";
import type { RunOutcome } from "../../kernel/plans.ts";
import type { Because } from "../../wire/plans.ts";
import type { RunReport } from "../../wire/runs.ts";

type Recalled = Extract<MergeVerdict, { recalled: unknown }>["recalled"];
type Without = Extract<MergeVerdict, { without: unknown }>["without"];
type MergedVerdict = Extract<MergeVerdict, { report: unknown }>;

/** Failures of a merge after which the operator is asked about a build. */
const BUILD_FAILURES: ReadonlySet<string> = new Set([
  "INTEGRATION_FAILED",
  "SETUP_FAILED",
  "HOST_REFUSED",
  "SHARED_CHANGES_FAILED",
]);

/** Merges what has succeeded of a run, and records the outcome. */
export class LeaderMerge {
  readonly #book: RunBook;
  readonly #lease: Lease;
  readonly #parts: LeaderParts;

  constructor(book: RunBook, lease: Lease, parts: LeaderParts) {
    this.#book = book;
    this.#lease = lease;
    this.#parts = parts;
  }

  /**
   * A fault of our own is met by merging again, a few times; then what succeeded is kept as it is,
   * tried or not.
   */
  async merge(ports: readonly PlanPort[], signal: AbortSignal): Promise<MergeVerdict> {
    const { merge, clock, logger } = this.#parts;
    const { run } = this.#book;
    const faults = new Faults({ ...FAULTS, clock, logger });
    for (;;) {
      signal.throwIfAborted();
      try {
        return await merge(run, ports, { signal });
      } catch (error) {
        if (signal.aborted) throw error;
        const what = `run ${run.id} could not be merged`;
        const fault = { error, what, fields: { run: run.id } };
        const after = await faults.recordAndWait(run.id, fault, signal);
        if (after === "left") throw error;
        if (after === "given-up") return this.#untried(ports, becauseOf(error), signal);
      }
    }
  }

  /** Writes the verdict. True when the run has ended; false when ports are to be built again. */
  async settle(ports: readonly PlanPort[], verdict: MergeVerdict): Promise<boolean> {
    if ("recalled" in verdict) {
      await this.#recall(verdict.recalled);
      return false;
    }
    if ("without" in verdict) {
      await this.#leaveOut(verdict.without);
      return false;
    }
    await this.#end(ports, verdict);
    return true;
  }

  /** What succeeded, put together and not tried; else each port keeps its own commit. */
  async #untried(
    ports: readonly PlanPort[],
    untried: Because,
    signal: AbortSignal,
  ): Promise<MergeVerdict> {
    const { merge, logger } = this.#parts;
    const { run } = this.#book;
    try {
      return await merge(run, ports, { signal, untried });
    } catch (error) {
      signal.throwIfAborted();
      const what = `what succeeded of run ${run.id} could not be put together`;
      logger.error(
        { run: run.id, code: codeOf(error), error: messageOf(error) },
        `${what}; each port keeps its own commit`,
      );
      return { report: reportOf(ports), dropped: [], because: untried };
    }
  }

  async #end(
    ports: readonly PlanPort[],
    { report, dropped, because }: MergedVerdict,
  ): Promise<void> {
    const { run } = this.#book;
    const missing = [...reportOf(ports).missing, ...dropped];
    const isWhole = because === undefined && missing.length === 0;
    const event = this.#book.event("merge.done", {
      branch: report.branch ?? null,
      commit: report.commit ?? null,
      conflicts: report.conflicts.length,
    });
    await this.#book.end(
      {
        status: outcomeOf(report, isWhole),
        phase: "over",
        report: { ...report, missing },
        because: because ?? null,
      },
      { events: [event], raised: because ? [mergeQuestion(run, because, report)] : [] },
    );
  }

  /** Gives the port back to its pair, with one try more. */
  async #recall({ port: id, feedback }: Recalled): Promise<void> {
    const { records, announce } = this.#parts;
    const { run } = this.#book;
    const port = this.#book.port(id);
    const step = await this.#integrateStep(id);
    await this.#book.transaction(async (tx) => {
      await writeIn(tx, stepEnded(step.id, { output: feedback }));
      await records.changePorts(tx, run.id, [
        {
          position: port.position,
          status: "waiting",
          triesPair: port.triesPair + BISECT_TRIES,
          because: null,
          resultCommit: null,
        },
      ]);
      await records.changeRun(tx, run.id, { phase: "building" });
      const because = "the merged tree failed with it";
      await emit(tx, [this.#book.event("port.recalled", { port: id, because })]);
    });
    announce();
    this.#book.note({ run: { phase: "building" } });
  }

  /** The port has failed after all. */
  async #leaveOut({ port: id, because, feedback }: Without): Promise<void> {
    const { records, inbox, announce } = this.#parts;
    const { run } = this.#book;
    const { position } = this.#book.port(id);
    const { message, code } = because;
    const step = await this.#integrateStep(id);
    await this.#book.transaction(async (tx) => {
      await writeIn(tx, stepEnded(step.id, { output: feedback }));
      await records.changePorts(tx, run.id, [{ position, status: "failed", because }]);
      const question = escalationFor(code === "CONFLICT" ? "same-file" : "build-failed", {
        ...aboutRun(run),
        port: id,
        title: `${run.plan.name} › ${id}: ${message}`.slice(0, 300),
      });
      await inbox.raise(tx, [question]);
      await emit(tx, [this.#book.event("port.failed", { port: id, because: message, code })]);
    });
    inbox.announce();
    announce();
  }

  /**
   * In addition to the last try of the port, which passed alone: its outcome together with the
   * others.
   */
  async #integrateStep(port: string): Promise<PlanStep> {
    const { records } = this.#parts;
    const { id } = this.#book.run;
    const steps = await records.steps.of(id, port);
    const last = Math.max(0, ...steps.map((step) => step.try));
    return records.steps.begin(this.#lease, { run: id, port, try: last, kind: "integrate" });
  }
}

function outcomeOf(report: RunReport, isWhole: boolean): RunOutcome {
  if (isWhole) return "success";
  return report.commit === undefined ? "failed" : "partial";
}

function mergeQuestion(run: PlanRun, because: Because, report: RunReport): NewEscalation {
  const trigger: TriggerName = BUILD_FAILURES.has(because.code) ? "build-failed" : "worker-lost";
  return escalationFor(trigger, {
    ...aboutRun(run),
    title: `${run.plan.name}: ${because.message}`.slice(0, 300),
    context: { code: because.code, output: report.integration?.output.slice(-2_000) ?? "" },
  });
}
