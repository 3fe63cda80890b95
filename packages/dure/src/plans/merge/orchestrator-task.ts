import type { NewEscalation } from "../../kernel/escalation.ts";
import { policyOfWorker } from "../network-needs.ts";
import type { Port, WorkerSpec } from "../plan.ts";
import { makeScope, type ScopeInput } from "../scope.ts";
import { isGrave, sayViolation, type TreeViolation } from "../workspace/owned-changes.ts";
import type { Assignment } from "../workers/worker.ts";
import { aloneWith, assignmentOf, noMorePaths } from "../assign/assignment.ts";
import { waitForLimit } from "../assign/wait-for-limit.ts";
import { followWorker, type Violation, type WorkerEnd } from "../assign/follow-worker.ts";
import type { PairParts } from "../port/pair-parts.ts";
import { isNothing, useOfRun, useQuestions } from "../port/port-account.ts";
import type { PortFileChange, PortFiles, TakenWork } from "../port/port-files.ts";
import { useAdded, violationsFound, type Counting } from "../rows/records.ts";
import { ORCHESTRATOR, type PlanRun, type PlanStep, type Used } from "../rows/run.ts";
import { WorkerHeartbeats } from "../assign/heartbeats.ts";
import {
  uncounted,
  type StepEnd,
  type StepLog,
  type StepLogParts,
  type StepWritten,
} from "../rows/step-log.ts";
import { aboutRun, escalationFor, type TriggerName } from "../ask/triggers.ts";
import { namesOf } from "../rows/words.ts";
import type { WorkerStatus } from "../../kernel/plans.ts";

/** What the work of the orchestrator needs. */
export interface OrchestratorParts extends StepLogParts {
  readonly clock: PairParts["clock"];
  readonly logger: PairParts["logger"];
  /** The orchestrator's own tree. */
  readonly tree: () => Promise<PortFiles>;
  readonly worker: PairParts["worker"];
  readonly brief: PairParts["brief"];
  readonly environment: PairParts["environment"];
  readonly surroundings: PairParts["surroundings"];
  readonly tokens: PairParts["tokens"];
  readonly stalledMs?: number | undefined;
}

/** Work of the orchestrator on no port: contracts, files that several ports changed. */
export interface OrchestratorTask {
  /** Named in the prompt. What it owns the orchestrator may write. */
  readonly port: Port;
  readonly scope: ScopeInput;
  /** The commit that it works on. */
  readonly from: string;
  /** First line of the commit. */
  readonly title: string;
  /** Of the commit, below the orchestrator's. */
  readonly name: string;
}

/** Where a task is done. */
interface TaskPlace {
  readonly run: PlanRun;
  readonly spec: WorkerSpec;
  readonly step: PlanStep;
  readonly stepLog: StepLog;
  readonly files: PortFiles;
  readonly parts: OrchestratorParts;
  readonly signal: AbortSignal;
}

/** What a task came to. */
interface TaskEnd {
  readonly worked: WorkerEnd;
  readonly taken: TakenWork;
}

/** What every task of the orchestrator leaves in its step. */
export interface TaskOutput {
  readonly status: WorkerStatus;
  readonly changes: readonly PortFileChange[];
  readonly violations: readonly TreeViolation[];
}

export function outputOf({ worked, taken }: TaskEnd): TaskOutput {
  const { changes, violations } = taken;
  return { status: worked.result.status, changes, violations };
}

/** Violations of one step that are stored. */
const MAX_VIOLATIONS = 100;

/** Briefs the orchestrator, lets it work without a partner, and takes what it owns. */
export async function doTask(task: OrchestratorTask, place: TaskPlace): Promise<TaskEnd> {
  const { run, step, files, parts } = place;
  const { port, scope: scopeInput, from } = task;
  await files.checkout(from);
  const scope = makeScope(scopeInput);
  const now = await parts.records.run(run.id);
  if (now) parts.tokens.known(useOfRun(now));
  const { prompt } = await parts.brief(
    { run, port, member: "orchestrator", scope: scopeInput, try: 1, triesMost: 1 },
    from,
  );
  const assignment = await commission(task, prompt, place);
  const { stepLog, signal } = place;
  const who = { port: ORCHESTRATOR, member: "orchestrator" } as const;
  const untimed = (wait: () => Promise<void>): Promise<void> => wait();
  const waiting = { ...who, step, stepLog, clock: parts.clock, signal, untimed };
  const worked = await waitForLimit(waiting, (resumed) =>
    follow({ ...assignment, session: resumed.session }, { ...place, step: resumed.step }),
  );
  const taken = await files.take({
    parent: from,
    scope,
    message: `${task.title}\n\n${worked.result.summary}`,
    name: `${ORCHESTRATOR}/${task.name}`,
    at: step.startedAt,
  });
  return { worked, taken };
}

async function commission(
  { port, scope: scopeInput, from }: OrchestratorTask,
  prompt: string,
  { run, spec, step, files, parts }: TaskPlace,
): Promise<Assignment> {
  const scope = makeScope(scopeInput);
  const own = await files.place("orchestrator", spec);
  const tree = await files.confinement(from, scope, own);
  const beside = parts.surroundings(spec);
  return assignmentOf(
    {
      id: step.node.id,
      run,
      port: ORCHESTRATOR,
      member: "orchestrator",
      spec,
      try: 1,
      prompt,
      scope,
      tree: files.tree,
      scratch: own.folder,
      sandbox: parts.sandbox,
      confinement: {
        ...tree,
        writable: [...tree.writable, ...beside.writable],
        shown: beside.shown,
        network: policyOfWorker(spec, { plan: run.plan, port: undefined }, parts.network),
      },
      env: parts.environment(port, spec, own, step),
      timeMs: port.timeoutMs,
      meter: parts.tokens,
    },
    {
      hold: () => () => {}, // no port's time runs
      onStart: (identity) => parts.records.steps.noteProcess(parts.lease, step.id, identity),
      channel: aloneWith("No other worker runs beside you; decide by yourself."),
      requestAccess: noMorePaths("Only these files are yours."),
    },
  );
}

async function follow(assignment: Assignment, place: TaskPlace): Promise<WorkerEnd> {
  const { run, spec, step, stepLog, parts, signal } = place;
  const signs = new WorkerHeartbeats({
    ...parts,
    stepLog,
    step,
    port: ORCHESTRATOR,
    member: "orchestrator",
    count: (used) => counting(run, used, parts),
  });
  return followWorker(parts.worker(spec), assignment, {
    signs,
    onViolation: (violation) => storeViolation(violation, place),
    signal,
  });
}

async function storeViolation(
  { path, wanted, because, detail }: Violation,
  { run, step, parts }: TaskPlace,
): Promise<void> {
  await parts.records.violation(parts.lease, run.id, {
    port: ORCHESTRATOR,
    try: step.try,
    member: "orchestrator",
    path: path.slice(0, 1_000),
    wanted,
    because,
    detail,
    found: "request",
  });
}

/** Adds what the orchestrator has used to what the run has. */
function counting(
  run: PlanRun,
  used: Used | undefined,
  { tokens }: Pick<OrchestratorParts, "tokens">,
): Counting {
  const writes = used && !isNothing(used) ? [useAdded(run.id, used)] : [];
  return { writes, stored: (use) => tokens.known(use) };
}

// --- the end of the step

/** Written with the end of the orchestrator's step: used tokens, and paths that it does not own. */
export function taskEnd(
  run: PlanRun,
  number: number,
  parts: Pick<OrchestratorParts, "tokens">,
): (end: StepEnd<TaskOutput>) => StepWritten {
  return (end) => {
    const { status, changes, violations } = end.output;
    const found = violations.slice(0, MAX_VIOLATIONS).map(({ path, because }) => ({
      port: ORCHESTRATOR,
      try: number,
      member: "orchestrator" as const,
      path,
      wanted: "write" as const,
      because,
      detail: sayViolation(because),
      found: "commit" as const,
    }));
    const { writes, stored } = counting(run, uncounted(end), parts);
    const data = {
      port: ORCHESTRATOR,
      member: "orchestrator" as const,
      try: number,
      status,
      changed: changes.length,
      tokens: (end.tokens?.input ?? 0) + (end.tokens?.output ?? 0),
      violations: violations.length,
    };
    return {
      counting: { writes: [...writes, ...violationsFound(run.id, found)], stored },
      events: [{ type: "worker.complete" as const, data }],
      asks: (use) => [
        ...(use ? useQuestions(run, use) : []),
        ...ownershipQuestions(run, violations),
      ],
    };
  };
}

function ownershipQuestions(run: PlanRun, violations: readonly TreeViolation[]): NewEscalation[] {
  const grave = violations.filter(isGrave);
  if (grave.length === 0) return [];
  const paths = grave.map(({ path }) => path);
  const changed = `the orchestrator changed ${namesOf(paths)}, which it does not own`;
  const title = `${changed}; nothing of that was taken`;
  return [questionOf(run, "ownership-violated", title, { paths: paths.slice(0, 50) })];
}

function questionOf(
  run: PlanRun,
  trigger: TriggerName,
  title: string,
  context: Readonly<Record<string, unknown>>,
): NewEscalation {
  return escalationFor(trigger, {
    ...aboutRun(run),
    title: `${run.plan.name}: ${title}`.slice(0, 300),
    context,
  });
}
