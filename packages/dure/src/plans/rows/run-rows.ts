import type { RowOf } from "../../durable/rows.ts";
import type { Plan } from "../plan.ts";
import type { NewRun, PortChange } from "./run-changes.ts";
import type { PlanPort, PlanRun, PlanStep, StoredUse } from "./run.ts";
import { workerNode } from "./tree.ts";

/**
 * Tokens that a run may use where its plan names none, for each port: 250 calls of a model that reads
 * a full window of 200,000 tokens. It asks a person then; it is there for loops, not for work.
 */
const TOKENS_PER_PORT = 50_000_000;

/**
 * Calls of models that a run may make where its plan names none, for each port. Source: three tries of
 * two members, each of some 150 calls, and a start of each.
 */
const CALLS_PER_PORT = 1_000;

/** Calls of models that the whole run may make. Pure. */
export function callsOfRun({ limits, ports }: Plan): number {
  return limits.maxCalls ?? ports.length * CALLS_PER_PORT;
}

/** Tokens that the whole run may use. Pure. */
export function tokensOfRun({ limits, ports }: Plan): number {
  return limits.budget?.tokens ?? ports.length * TOKENS_PER_PORT;
}

/** The ports of a new run, as `plan.create_ports` takes them. Pure. */
export function newPorts({ plan, triesOrchestrator }: NewRun): readonly Record<string, unknown>[] {
  return plan.ports.map((port, position) => ({
    position,
    id: port.id,
    tries_pair: plan.limits.tries,
    tries_orchestrator: triesOrchestrator,
    time_ms: port.timeoutMs,
    tokens_most: port.budget?.tokens ?? null,
  }));
}

/** A change as the function `dure.change_ports` takes it. Pure. */
export function portParameter(change: PortChange): Record<string, unknown> {
  const {
    position,
    triesPair,
    triesOrchestrator,
    addSpentMs,
    timeMs,
    addTokensIn,
    addTokensCached,
    addTokensOut,
    tokensMost,
    startCommit,
    resultCommit,
    weakerTestsAccepted,
    ...same
  } = change;
  const named = {
    tries_pair: triesPair,
    tries_orchestrator: triesOrchestrator,
    add_spent_ms: addSpentMs === undefined ? undefined : Math.round(addSpentMs),
    time_ms: timeMs,
    add_tokens_in: addTokensIn,
    add_tokens_cached: addTokensCached,
    add_tokens_out: addTokensOut,
    tokens_most: tokensMost,
    start_commit: startCommit,
    result_commit: resultCommit,
    weaker_tests_accepted: weakerTestsAccepted,
  };

  return { position, ...same, ...named };
}

export type RunRow = RowOf<
  Omit<PlanRun, "plan" | "cleanedAt">,
  "createdAt" | "updatedAt" | "finishedAt"
> & { readonly definition: Plan; readonly clean_began_at: Date | null };

export function runOf(row: RunRow): PlanRun {
  return {
    id: row.id,
    tenant: row.tenant,
    plan: row.definition,
    file: row.file,
    repository: row.repository,
    folder: row.folder,
    host: row.host,
    baseCommit: row.base_commit,
    startCommit: row.start_commit,
    status: row.status,
    statusBefore: row.status_before,
    phase: row.phase,
    listenSlot: row.listen_slot,
    isolation: row.isolation,
    promises: row.promises,
    mode: row.mode,
    report: row.report,
    supersededBy: row.superseded_by,
    because: row.because,
    tokensIn: row.tokens_in,
    tokensCached: row.tokens_cached,
    tokensOut: row.tokens_out,
    tokensMost: row.tokens_most,
    calls: row.calls,
    callsMost: row.calls_most,
    startedBy: row.started_by,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
    finishedAt: row.finished_at?.getTime() ?? null,
    cleanedAt: row.clean_began_at?.getTime() ?? null,
  };
}

/** What a run has used. */
export type UseRow = Pick<
  RunRow,
  "tokens_in" | "tokens_out" | "tokens_most" | "calls" | "calls_most"
>;

/** Pure. */
export function useOf(row: UseRow): StoredUse {
  return {
    tokens: { used: row.tokens_in + row.tokens_out, most: row.tokens_most },
    calls: { used: row.calls, most: row.calls_most },
  };
}

export type PortRow = RowOf<PlanPort, "startedAt" | "finishedAt">;

export function portOf(row: PortRow): PlanPort {
  return {
    position: row.position,
    id: row.id,
    status: row.status,
    attempt: row.attempt,
    because: row.because,
    triesPair: row.tries_pair,
    triesOrchestrator: row.tries_orchestrator,
    spentMs: row.spent_ms,
    timeMs: row.time_ms,
    tokensIn: row.tokens_in,
    tokensCached: row.tokens_cached,
    tokensOut: row.tokens_out,
    tokensMost: row.tokens_most,
    hint: row.hint,
    grants: row.grants,
    weakerTestsAccepted: row.weaker_tests_accepted,
    startCommit: row.start_commit,
    resultCommit: row.result_commit,
    startedAt: row.started_at?.getTime() ?? null,
    finishedAt: row.finished_at?.getTime() ?? null,
  };
}

export type StepRow = RowOf<
  Omit<PlanStep, "output" | "session" | "hookToken">,
  "startedAt" | "seenAt" | "finishedAt"
> & { readonly run: string; readonly output: unknown; readonly session: string | null };

export function stepOf(row: StepRow): PlanStep {
  return {
    id: row.id,
    node: workerNode(row.run, row),
    port: row.port,
    try: row.try,
    kind: row.kind,
    member: row.member,
    worker: row.worker,
    status: row.status,
    told: row.told,
    starts: row.starts,
    progress: row.progress,
    task: row.task,
    tokensIn: row.tokens_in,
    tokensCached: row.tokens_cached,
    tokensOut: row.tokens_out,
    output: row.output,
    log: row.log,
    session: row.session ?? undefined,
    waiting: row.waiting,
    startedAt: row.started_at.getTime(),
    seenAt: row.seen_at.getTime(),
    finishedAt: row.finished_at?.getTime() ?? null,
  };
}
