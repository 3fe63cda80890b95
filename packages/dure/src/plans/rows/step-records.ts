import type { Database, Transaction } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import { storable } from "../../durable/storable.ts";
import type { ContextManifest, StepWaiting } from "../../wire/runs.ts";
import type { ProcessIdentity } from "../sandbox/sandbox.ts";
import { hashHookToken, newHookToken } from "./hook-token.ts";
import type { RunRecords } from "./records.ts";
import { stepOf, type StepRow } from "./run-rows.ts";
import type { NewStep } from "./run-changes.ts";
import type { PlanStep } from "./run.ts";
import * as sql from "./run-statements.ts";

/** Characters kept of what a step printed, its end. */
const MAX_LOG = 32_000;

/** The rows of steps: what a worker does at a try of a port, and how it went. */
export class StepRecords {
  readonly #database: Database;
  readonly #records: Pick<RunRecords, "write">;

  constructor(database: Database, records: Pick<RunRecords, "write">) {
    this.#database = database;
    this.#records = records;
  }

  /**
   * Ports that have an outcome now: steps that were under way have stopped, and the operator is
   * asked about the others.
   */
  async stop(tx: Transaction, run: string, ports: readonly string[]): Promise<void> {
    if (ports.length > 0) await tx.query(sql.STOP_STEPS, [run, [...ports]]);
  }

  async of(run: string, port?: string): Promise<PlanStep[]> {
    return (await this.#database.query<StepRow>(sql.STEPS, [run, port ?? null])).map(stepOf);
  }

  /**
   * Tries that were begun, by port; a port without one is absent. `isBroken`: what another port
   * made broke its check once. `waiting`: what its step waits for.
   */
  async triesMade(run: string): Promise<ReadonlyMap<string, PortTriesMade>> {
    const rows = await this.#database.query<{
      port: string;
      tries: number;
      is_broken: boolean;
      waiting: StepWaiting | null;
      is_unproven: boolean | null;
    }>(sql.TRIES_MADE, [run]);
    return new Map(
      rows.map(({ port, tries, is_broken: isBroken, waiting, is_unproven: isUnproven }) => [
        port,
        { made: tries, isBroken, waiting, unproven: isUnproven === true },
      ]),
    );
  }

  /** Tries of a port that its pair has made. */
  async pairTries(run: string, port: string, tx?: Transaction): Promise<number> {
    const [row] = await (tx ?? this.#database).query<{ tries: number }>(sql.PAIR_TRIES, [
      run,
      port,
    ]);
    return row!.tries;
  }

  /** The step's row: made now, found running (a crash lies between), or found done. */
  async begin(lease: Lease, step: NewStep): Promise<PlanStep> {
    return this.#records.write(lease, async (tx) => {
      const hookToken = newHookToken();
      const [row] = await tx.query<StepRow>(sql.BEGIN_STEP, [
        step.run,
        step.port,
        step.try,
        step.kind,
        step.member ?? null,
        step.worker ?? null,
        step.manifest === undefined ? null : storable(step.manifest),
        hashHookToken(hookToken),
      ]);
      return { ...stepOf(row!), hookToken };
    });
  }

  async noteProcess(lease: Lease, id: number, identity: ProcessIdentity): Promise<void> {
    await this.#records.write(lease, (tx) => tx.query(sql.STEP_PROCESS, [id, storable(identity)]));
  }

  /** The conversation that the agent of a step has opened. */
  async noteSession(tx: Transaction, id: number, session: string): Promise<void> {
    await tx.query(sql.STEP_SESSION, [id, session]);
  }

  /** A sign of a worker. `tokensIn`: of all starts of the step so far. */
  async sign(
    tx: Transaction,
    id: number,
    sign: { progress: number; task: string; tokensIn: number; log: string },
  ): Promise<void> {
    await tx.query(sql.STEP_SIGN, [id, sign.progress, sign.task, sign.tokensIn, tail(sign.log)]);
  }

  async end(
    tx: Transaction,
    id: number,
    end: {
      output: unknown;
      tokensIn?: number | undefined;
      tokensOut?: number | undefined;
      log?: string | undefined;
    },
  ): Promise<void> {
    await tx.query(sql.END_STEP, [
      id,
      storable(end.output),
      end.tokensIn ?? null,
      end.tokensOut ?? null,
      end.log === undefined ? null : tail(end.log),
    ]);
  }

  /** Processes of steps that did not end: they belong to a leader that is gone. */
  async strayProcesses(
    run: string,
  ): Promise<readonly { step: number; process: ProcessIdentity }[]> {
    return this.#database.query<{ step: number; process: ProcessIdentity }>(sql.STRAYS, [run]);
  }

  async manifest(run: string, step: number): Promise<ContextManifest | null> {
    const [row] = await this.#database.query<{ manifest: ContextManifest }>(sql.MANIFEST, [
      run,
      step,
    ]);
    return row?.manifest ?? null;
  }

  /**
   * What the integration command failed with is tried again when it is asked for: something else
   * may have changed.
   */
  async forgetFailedIntegrations(tx: Transaction, run: string, port: string): Promise<void> {
    await tx.query(sql.FORGET_FAILED, [run, port]);
  }
}

interface PortTriesMade {
  readonly made: number;
  readonly isBroken: boolean;
  readonly waiting: StepWaiting | null;
  /** Its tests pass without its work too. */
  readonly unproven: boolean;
}

function tail(text: string): string {
  return text.length > MAX_LOG ? `…${text.slice(-MAX_LOG)}` : text;
}
