import type { Lease, Leases } from "../../durable/leases.ts";
import type { Database, Transaction } from "../../durable/database.ts";
import { storable } from "../../durable/storable.ts";
import type { Repository } from "../workspace/repository.ts";
import { emit } from "../rows/records.ts";
import type { PlanPort, PlanRun, PlanStep } from "../rows/run.ts";
import type { StepKind } from "../../kernel/plans.ts";
import { eventOfRun } from "../rows/run-event.ts";

/** Where another machine goes on with a run. */
export interface NewPlace {
  readonly host: string;
  /** Of the person, here. */
  readonly repository: string;
  /** Of the run, here; nothing is in it yet. */
  readonly folder: string;
  /** Where the plan stands here; null where it does not. */
  readonly file: string | null;
}

/** What of a run can be gone on with when only these commits are there. */
export interface Remains {
  /** The contracts are there, or there were none. */
  readonly keepsStart: boolean;
  /** Positions of ports whose result is lost: they are built again. */
  readonly lostPorts: readonly number[];
  /** Positions of ports that have to compose their start again. */
  readonly lostStarts: readonly number[];
  /** Steps that are done again. */
  readonly lostSteps: readonly number[];
}

/** A run that moves to another machine. */
export interface RunMove {
  readonly run: PlanRun;
  /** Held here. */
  readonly lease: Lease;
  readonly place: NewPlace;
  readonly remains: Remains;
  /** Writes in the same transaction. */
  readonly alsoWrite: (tx: Transaction) => Promise<void>;
}

/** A step, as far as it matters for what is left. */
export interface StepCommit {
  readonly id: number;
  readonly port: string;
  readonly kind: StepKind;
  readonly status: PlanStep["status"];
  /** Null: it made none. */
  readonly commit: string | null;
}

/**
 * A step whose commit is not there is done again, with all that came behind it in its port; what
 * did end stays ended, and no try is counted twice. What was merged of a lost port is merged again.
 * Pure.
 */
export function decideRemains(
  run: Pick<PlanRun, "startCommit" | "baseCommit">,
  ports: readonly PlanPort[],
  steps: readonly StepCommit[],
  isThere: (commit: string) => boolean,
): Remains {
  const gone = (commit: string | null): boolean => commit !== null && !isThere(commit);
  const keepsStart = !gone(run.startCommit);
  const lostPorts = ports.filter(
    ({ status, resultCommit, startCommit }) =>
      status === "succeeded" && (!keepsStart || gone(resultCommit) || gone(startCommit)),
  );
  const lostStarts = ports.filter(
    (port) =>
      port.startCommit !== null &&
      (!keepsStart || gone(port.startCommit) || lostPorts.includes(port)),
  );
  const restarted = new Set(lostStarts.map(({ id }) => id));
  const broken = new Set<string>();
  const lostSteps: number[] = [];
  for (const step of steps) {
    const isMerge = step.kind === "merge" || step.kind === "integrate";
    const isLost =
      step.status === "running" ||
      restarted.has(step.port) ||
      broken.has(step.port) ||
      gone(step.commit) ||
      (isMerge && lostPorts.length > 0);
    if (!isLost) continue;
    broken.add(step.port);
    lostSteps.push(step.id);
  }
  return {
    keepsStart,
    lostPorts: lostPorts.map(({ position }) => position),
    lostStarts: lostStarts.map(({ position }) => position),
    lostSteps,
  };
}

/** Commits that a run stands on. */
export function commitsOf(
  run: Pick<PlanRun, "startCommit" | "baseCommit">,
  ports: readonly PlanPort[],
  steps: readonly StepCommit[],
): readonly string[] {
  const all = [
    run.baseCommit,
    run.startCommit,
    ...ports.flatMap((port) => [port.startCommit, port.resultCommit]),
    ...steps.map(({ commit }) => commit),
  ];
  return [...new Set(all.filter((commit) => typeof commit === "string"))];
}

/** Every step of a run, in its order. */
export async function stepCommits(database: Database, run: string): Promise<readonly StepCommit[]> {
  return database.query<StepCommit & Record<string, unknown>>(STEP_COMMITS, [run]);
}

/** The run belongs to this machine from now on. The machine that had it finds its lease gone. */
export async function moveRun(
  parts: { database: Database; leases: Leases },
  { run, lease, place, remains, alsoWrite }: RunMove,
): Promise<void> {
  await parts.database.transaction(async (tx) => {
    await parts.leases.guard(tx, lease);
    await tx.query(MOVE_RUN, [
      run.id,
      place.host,
      place.repository,
      place.folder,
      place.file,
      remains.keepsStart,
    ]);
    await tx.query(RESET_PORTS, [
      run.id,
      storable(remains.lostPorts),
      storable(remains.lostStarts),
    ]);
    await tx.query(RESET_STEPS, [run.id, storable(remains.lostSteps)]);
    await alsoWrite(tx);
    await emit(tx, [
      eventOfRun(run, "run.resume", {
        because: "another machine goes on from what was pushed",
        host: place.host,
        again: remains.lostPorts.map((position) => run.plan.ports[position]!.id),
      }),
    ]);
  });
}

/** Those of the commits that the repository has, with their files. */
export async function commitsThere(
  repository: Repository,
  commits: readonly string[],
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<ReadonlySet<string>> {
  const { stdout } = await repository.git.run(
    ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
    { at: repository.at, input: `${commits.join("\n")}\n`, signal },
  );
  const lines = stdout.toString().split("\n");
  return new Set(commits.filter((commit) => lines.includes(`${commit} commit`)));
}

const STEP_COMMITS = {
  name: "plan.step_commits",
  text: `select id, port, kind, status, output->>'commit' as commit
    from dure.plan_steps
    where run = $1
    order by id`,
};
const MOVE_RUN = {
  name: "plan.move_run",
  text: `update dure.plan_runs set
      host = $2, repository = $3, folder = $4, file = $5,
      start_commit = case when $6 then start_commit end,
      phase = case when $6 and phase <> 'preparing' then 'building' else 'preparing' end,
      updated_at = clock_timestamp()
    where id = $1`,
};
const RESET_PORTS = {
  name: "plan.reset_ports",
  text: `with lost as (select value::integer as position from jsonb_array_elements_text($2)),
      restarted as (select value::integer as position from jsonb_array_elements_text($3))
    update dure.plan_ports set
      status = case when position in (select l.position from lost l) then 'waiting' else status end,
      result_commit
        = case when position not in (select l.position from lost l) then result_commit end,
      finished_at = case when position not in (select l.position from lost l) then finished_at end,
      start_commit = case
        when position not in (select s.position from restarted s) then start_commit end
    where run = $1`,
};
const RESET_STEPS = {
  name: "plan.reset_steps",
  text: `update dure.plan_steps set
      status = 'stopped', process = null, output = null, told = false, hook_hash = null
    where run = $1 and id in (select value::bigint from jsonb_array_elements_text($2))`,
};
