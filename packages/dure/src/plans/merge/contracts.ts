import { DureError } from "../../kernel/errors.ts";
import { workerOf, type Port, type WorkerSpec } from "../plan.ts";
import { escaped } from "../ask/grants.ts";
import type { MergeParts } from "./merge.ts";
import {
  doTask,
  outputOf,
  taskEnd,
  type OrchestratorTask,
  type TaskOutput,
} from "./orchestrator-task.ts";
import { unwritable } from "../plan-ownership.ts";
import { ORCHESTRATOR, type PlanRun } from "../rows/run.ts";
import { StepLog } from "../rows/step-log.ts";

/** Time of the orchestrator for the contracts, in milliseconds. */
const CONTRACTS_MS = 30 * 60_000;

/** What the orchestrator made of the contracts. */
interface Written extends TaskOutput {
  readonly commit: string;
  readonly summary: string;
}

/**
 * Contracts are written and checked before the first port starts; without an orchestrator a port
 * writes one that it owns, and the ports work in order. Gives what ports start from. Throws `CONTRACTS_MISSING`.
 */
export async function writeContracts(
  run: PlanRun,
  parts: MergeParts,
  { signal }: { signal: AbortSignal },
): Promise<string> {
  const paths = run.plan.contracts.map(({ path }) => path);
  if (paths.length === 0) return run.baseCommit;
  const missing = await missingAt(run.baseCommit, paths, parts);
  const spec = workerOf(run.plan.workers, ORCHESTRATOR);
  if (!run.plan.workers.orchestrator || !spec) {
    const left = unwritable(run.plan, missing);
    if (left.length === 0) return run.baseCommit;
    const names = left.join(", ");
    const why = "no orchestrator, and no port in order, writes them";
    throw new DureError(
      "CONTRACTS_MISSING",
      `These contracts are not in the base, and ${why}: ${names}.`,
      { class: "input", hint: "Write them by hand and commit them, or name workers.orchestrator." },
    );
  }
  const written = await letWrite({ run, paths, spec, parts, signal });
  const left = await missingAt(written.commit, paths, parts);
  if (left.length === 0) return written.commit;
  const said = written.summary.slice(0, 300);
  throw new DureError(
    "CONTRACTS_MISSING",
    `The orchestrator has not written ${left.join(", ")}. It said: ${said}`,
    { class: "conflict", hint: "Write them by hand and commit them, or try another worker." },
  );
}

/** Paths that are not there, or empty. */
async function missingAt(
  commit: string,
  paths: readonly string[],
  { store }: Pick<MergeParts, "store">,
): Promise<string[]> {
  const texts = await Promise.all(paths.map((path) => store.read(commit, path)));
  return paths.filter((_path, index) => (texts[index] ?? "").trim() === "");
}

async function letWrite({
  run,
  paths,
  spec,
  parts,
  signal,
}: {
  run: PlanRun;
  paths: readonly string[];
  spec: WorkerSpec;
  parts: MergeParts;
  signal: AbortSignal;
}): Promise<Written> {
  const stepLog = new StepLog(run, ORCHESTRATOR, parts, signal);
  const task = contractsTask(run, paths);
  return stepLog.step<Written>(
    { try: 1, kind: "contracts", member: "orchestrator", worker: spec.kind },
    async (step) => {
      const files = await parts.tree();
      const place = { run, spec, step, stepLog, files, parts, signal };
      const { worked, taken } = await doTask(task, place);
      const { result, counted, log } = worked;
      const output: Written = {
        commit: taken.commit ?? run.baseCommit,
        summary: result.summary,
        ...outputOf({ worked, taken }),
      };
      return { output, tokens: result.tokens, calls: result.calls, counted, log };
    },
    taskEnd(run, 1, parts),
  );
}

function contractsTask({ plan, baseCommit }: PlanRun, paths: readonly string[]): OrchestratorTask {
  const goals = plan.ports.map(({ id, goal }) => `- ${id}: ${goal}`).join("\n");
  const wanted = "Write the interfaces that the ports share, and nothing else";
  const port: Port = {
    id: ORCHESTRATOR,
    title: "Contracts",
    goal: `${wanted}: ${paths.join(", ")}.\n\n${goals}`,
    role: ORCHESTRATOR,
    owns: paths,
    tests: [],
    dependsOn: [],
    acceptance: "every contract is there and not empty",
    timeoutMs: CONTRACTS_MS,
  };
  return {
    port,
    scope: { writes: paths.map(escaped), reads: ["**"], contracts: [] },
    from: baseCommit,
    title: "Write the contracts",
    name: "contracts",
  };
}
