import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { publishTarget } from "../../kernel/publish-target.ts";
import type {
  PublishOutcome,
  ResultFinding,
  ReviewNeeded,
  RunReport,
  Approvals,
} from "../../wire/runs.ts";
import { concealerOf } from "../agents/given-secrets.ts";
import { reviewBeforeLeaving, reviewNeededFor } from "../leaving/review.ts";
import { exitWordsOf, type Tried } from "../merge/integration.ts";
import type { MayLeave } from "../plan.ts";
import type { Reach } from "../plan-reach.ts";
import type { Approval } from "../rows/approval-rows.ts";
import type { PlanRun } from "../rows/run.ts";
import { diffTrees, type EntryChange } from "../workspace/listing.ts";
import type { BranchMerge, MergeConflict, SolvedConflict } from "../workspace/merge-into-branch.ts";
import { textOf } from "../workspace/paths.ts";
import { personOf } from "../workspace/person.ts";
import { pushBranch } from "../workspace/push-branch.ts";
import { withoutPassword } from "../workspace/remote.ts";
import type { Repository } from "../workspace/repository.ts";
import { folderName } from "../workspace/repository-facts.ts";
import { deliveredCommit } from "./delivered-commit.ts";
import type { MergeGate } from "./merge-gate.ts";
import {
  findMerge,
  solvedIn,
  undoMerge,
  type FoundMerge,
  type MergeSearch,
  type SolvedMerge,
} from "../workspace/undo-merge.ts";
import { openPullRequest } from "./pull-request.ts";
import { RememberedLooks } from "./remembered-looks.ts";
import type { ConflictingMerge, RunConflicts } from "./run-conflicts.ts";
import type { Runs } from "./runs.ts";
import { SharedWork } from "./shared-work.ts";
import type { TeamGuard } from "./team-guard.ts";

interface DeliveryParts {
  readonly runs: Pick<Runs, "noteDelivery" | "trials">;
  readonly team: Pick<TeamGuard, "assertMayChange">;
  readonly gate: Pick<MergeGate, "approve" | "assertMayMerge" | "state">;
  readonly conflicts: Pick<RunConflicts, "failed" | "settle" | "solve">;
  readonly clock: Clock;
  /** Throws `RUN_CLEANED`, `RUN_ELSEWHERE`. */
  readonly open: (run: PlanRun, signal: AbortSignal) => Promise<Repository>;
  /** Everything that dure was started with. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the team lets leave without a person's yes, beside what the plan lets. */
  readonly mayLeave?: readonly MayLeave[] | undefined;
}

/** What a person says to findings in a result: the `confirm` of `RESULT_NEEDS_REVIEW`. */
export interface Confirmed {
  readonly confirm?: string | undefined;
  /** Is told what the person said yes to, before it leaves. */
  readonly onConfirmed?: ((findings: readonly ResultFinding[]) => void) | undefined;
}

/** What became of a merge. `trying`: its tests go on; the same request asks for them again. */
export interface DeliveredMerge extends Omit<BranchMerge, "kind"> {
  readonly kind: BranchMerge["kind"] | "trying";
  readonly target: string;
  readonly solved?: SolvedMerge | undefined;
}

/** A request waits so long for the tests of its merge, milliseconds. */
const ANSWER_MS = 20_000;
/** As above, where another process tries it. */
const ELSEWHERE_MS = 2_000;
/** Merges of one process whose tests go on at once. */
const MAX_MERGES = 20;

/** Brings results of runs out, because a person asks for it: into a branch, or to a remote. */
export class RunDelivery {
  readonly #parts: DeliveryParts;
  /** Merges that go on, by run and branch. */
  readonly #merges = new Map<string, SharedWork<DeliveredMerge>>();
  readonly #looks = new RememberedLooks();

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /**
   * Where the branch has moved since the run began, the tests run on the merged tree first; it moves
   * only when they pass. What both have changed the orchestrator writes once; where it cannot, a
   * question is asked. What takes longer than a request waits goes on: `trying`. Throws as
   * `mergeIntoBranch`, and `RUN_NO_RESULT`, `RESULT_NEEDS_REVIEW`, `MERGED_TREE_FAILED`,
   * `RUN_GOING`, `TEAM_FILES_CHANGED`, and as {@link MergeGate.assertMayMerge}.
   */
  async merge(
    run: PlanRun,
    { into, ...asked }: DeliveryCaller & { into: string | undefined },
  ): Promise<DeliveredMerge> {
    const report = resultOf(run);
    await this.#parts.gate.assertMayMerge({ ...run, commit: report.commit }, asked);
    const repository = await this.#parts.open(run, asked.signal);
    const target = into ?? branchOf(repository, run.plan.base);
    // A yes is part of what was asked: a request without it shares no merge that has one.
    const key = `${run.id} ${target} ${asked.confirm}`;
    const known = this.#merges.get(key);
    const going =
      known === undefined || known.isLeft
        ? this.#begin(key, { run, target, repository, ...asked })
        : known;
    const trying = { kind: "trying", target, commit: report.commit, updated: undefined } as const;

    return within(this.#parts.clock, ANSWER_MS, going.for(asked.signal), trying);
  }

  #begin(key: string, asked: AskedMerge): SharedWork<DeliveredMerge> {
    if (this.#merges.size >= MAX_MERGES) throw tooManyMerges();
    const going = new SharedWork(async (signal) => {
      try {
        return await this.#merge({ ...asked, signal });
      } finally {
        if (this.#merges.get(key) === going) this.#merges.delete(key);
      }
    });
    this.#merges.set(key, going);

    return going;
  }

  async #merge(asked: AskedMerge): Promise<DeliveredMerge> {
    const { run, target, repository, signal } = asked;
    const { env, clock } = this.#parts;
    const report = resultOf(run);
    const how = { env, signal };
    const { commit, identity, message } = await deliveredCommit(run, report, repository, how);
    const found = await findMerge(repository, searchFor(run, { target, commit, signal }));
    if (found?.undone !== undefined) throw runUndone(run, target);
    const solving: { conflict?: MergeConflict } = {};
    try {
      const outcome = await repository.mergeInto({
        target,
        result: commit,
        message: `Merge ${report.branch ?? run.id}\n\n${message}`,
        identity,
        scratch: join(run.folder, "scratch"),
        look: (changes) => this.#look(changes, asked),
        review: (tip, leaving) => this.#review(leaving, [tip], asked),
        solve: (conflict) => this.#solve((solving.conflict = conflict), asked),
        tryOut: (merged) => this.#tryOut(merged, asked, solving.conflict),
        signal,
      });

      const { before } = outcome;
      const merged = before === undefined ? found : { ...outcome, before };
      const solved = merged && (await solvedIn(repository, merged.commit, { signal }));
      await this.#noteMerged(run, target, merged && { ...merged, solved });

      return { ...outcome, target, solved };
    } catch (error) {
      if (codeOf(error) !== TRIED_ELSEWHERE) throw error;
      await clock.sleep(ELSEWHERE_MS, { signal });
      return { kind: "trying", target, commit, updated: undefined };
    }
  }

  /** What was there before was noted before, or by git alone. */
  async #noteMerged(
    run: PlanRun,
    target: string,
    merged:
      | (Pick<FoundMerge, "commit" | "before"> & { solved: SolvedMerge | undefined })
      | undefined,
  ): Promise<void> {
    const { runs, clock, conflicts } = this.#parts;
    await conflicts.settle(run, target);
    if (merged === undefined || run.report?.merged?.commit === merged.commit) return;
    const { commit, before, solved } = merged;
    const at = clock.now();
    await runs.noteDelivery(run.id, { merged: { target, commit, before, at, solved } });
  }

  /** Throws `MERGE_CONFLICT`, `RUN_GOING`. */
  async #solve(conflict: MergeConflict, asked: AskedMerge): Promise<SolvedConflict> {
    const { run } = asked;
    if (run.finishedAt === null) throw runGoing(run);
    const solved = await this.#parts.conflicts.solve(conflict, await this.#conflicting(asked));
    if (solved === undefined) throw triedElsewhere(run);

    return solved;
  }

  async #conflicting(asked: AskedMerge): Promise<ConflictingMerge> {
    const { run, signal } = asked;
    const { gate, runs } = this.#parts;
    const { needed } = await gate.state({ ...run, commit: resultOf(run).commit }, { signal });
    const solve: ConflictingMerge["solve"] = (moved) =>
      runs.trials.solve(run.id, moved, { signal });

    return { ...asked, isApproved: needed > 0, solve };
  }

  /**
   * Takes the result out of a branch again, by one commit upon it; what came later stays. Done once:
   * the branch itself says whether it was. Throws as `undoMerge`, and `RUN_NO_RESULT`,
   * `RUN_NOT_MERGED`, `TEAM_FILES_CHANGED`, and as {@link MergeGate.assertMayMerge}.
   */
  async undo(
    run: PlanRun,
    { from, ...asked }: DeliveryCaller & { from: string | undefined },
  ): Promise<UndoneMerge> {
    const { env, gate, open, clock } = this.#parts;
    const { signal } = asked;
    const report = resultOf(run);
    await gate.assertMayMerge({ ...run, commit: report.commit }, asked);
    const repository = await open(run, signal);
    const target = from ?? report.merged?.target ?? branchOf(repository, run.plan.base);
    const { commit } = await deliveredCommit(run, report, repository, { env, signal });
    const search = searchFor(run, { target, commit, signal });
    const found = await findMerge(repository, search);
    if (found === undefined) throw notMerged(run, target);
    const done =
      found.undone === undefined
        ? await undoMerge(repository, found, {
            target,
            message: undoMessage(run, report, { commit: found.commit, mark: search.mark }),
            identity: await personOf(repository, env, { now: clock.now(), signal }),
            scratch: join(run.folder, "scratch"),
            look: (changes) => this.#look(changes, { ...asked, repository }),
            signal,
          })
        : { commit: found.undone, updated: undefined };
    const isNew = found.undone === undefined;
    if (isNew || report.undone === undefined) {
      const undone = { target, commit: done.commit, at: clock.now() };
      await this.#parts.runs.noteDelivery(run.id, { undone });
    }

    return { target, commit: done.commit, updated: done.updated, isNew };
  }

  /** Throws `RUN_NO_RESULT`, and as {@link MergeGate.approve}. */
  approve(run: PlanRun, { commit, who, signal }: ApprovalRequest): Promise<Approvals> {
    const result = { ...run, commit: resultOf(run).commit };
    return this.#parts.gate.approve(result, commit, who, { signal });
  }

  /**
   * What a merge would bring into a branch, before it is asked for. Throws `RUN_NO_RESULT`,
   * `BASE_UNKNOWN`.
   */
  async leaving(
    run: PlanRun,
    { into, signal }: { into: string | undefined; signal: AbortSignal },
  ): Promise<RunLeaving> {
    const report = resultOf(run);
    const { env, gate, open } = this.#parts;
    const state = await gate.state({ ...run, commit: report.commit }, { signal });
    const repository = await open(run, signal);
    const { base } = run.plan;
    const target = into ?? (base === "HEAD" ? repository.facts.branch : base) ?? null;
    const tip = target === null ? run.baseCommit : `refs/heads/${target}`;
    const known = await repository.resolve(tip, { signal });
    const { commit } = await deliveredCommit(run, report, repository, { env, signal });
    const key = `${run.id} ${commit} ${known}`;
    const review = await this.#looks.get(key, { tenant: run.tenant, signal }, (shared) =>
      reviewNeededFor(repository, { ...this.#lookAt(run, commit, [known]), signal: shared }),
    );

    return { target, review: review ?? null, allowed: this.#allowed(run), gate: state };
  }

  #allowed({ plan }: PlanRun): RunLeaving["allowed"] {
    const { mayLeave: ofTeam = [] } = this.#parts;
    return [
      ...ofTeam.map((one) => ({ ...one, by: "team" as const })),
      ...(plan.mayLeave ?? []).map((one) => ({ ...one, by: "plan" as const })),
    ];
  }

  /** Before anything is changed. Throws `TEAM_FILES_CHANGED`. */
  async #look(
    changes: readonly EntryChange[],
    asked: DeliveryCaller & Pick<AskedDelivery, "repository">,
  ): Promise<void> {
    const paths = changes.map(({ key }) => textOf(key));
    const { root, facts } = asked.repository;
    await this.#parts.team.assertMayChange(paths, { root, isBare: facts.isBare }, asked);
  }

  /** Throws `RESULT_NEEDS_REVIEW`. */
  async #review(
    commit: string,
    known: readonly string[],
    { run, repository, confirm, onConfirmed, signal }: AskedDelivery,
  ): Promise<void> {
    const result = { ...this.#lookAt(run, commit, known), signal };
    const confirmed = await reviewBeforeLeaving(repository, { ...result, confirmed: confirm });
    if (confirmed.length > 0) onConfirmed?.(confirmed);
  }

  #lookAt(run: PlanRun, commit: string, known: readonly string[]) {
    const { clock, env } = this.#parts;
    const given = concealerOf(run.plan, env);
    return { run: run.id, commit, known, mayLeave: this.#allowed(run), clock, env, given };
  }

  async #tryOut(
    commit: string,
    asked: AskedMerge,
    conflict: MergeConflict | undefined,
  ): Promise<void> {
    const { run, target, signal } = asked;
    const tried = await this.#parts.runs.trials.tryOut(run.id, commit, { signal });
    if (tried === undefined) throw run.finishedAt === null ? runGoing(run) : triedElsewhere(run);
    if (tried.feedback.success) return;
    const question =
      conflict &&
      (await this.#parts.conflicts.failed(conflict, await this.#conflicting(asked), tried));
    throw mergedTreeFailed(run, target, { ...tried, question });
  }

  /**
   * Pushes the result as the plan says, and opens a pull request. Each step looks whether it was
   * done: it may be called again after a crash. Throws `PUBLISH_NOT_CONFIGURED`, `RUN_NO_RESULT`,
   * `RESULT_NEEDS_REVIEW`, `TEAM_FILES_CHANGED`, `MERGE_NOT_APPROVED`, `PUSH_FAILED`,
   * `PULL_REQUEST_FAILED`.
   */
  async publish(run: PlanRun, { tenant, signal, ...yes }: DeliveryCaller): Promise<PublishOutcome> {
    const report = resultOf(run);
    const target = publishTarget(run.plan, report.branch);
    if (target === undefined) throw notConfigured(run);
    await this.#parts.gate.assertMayMerge({ ...run, commit: report.commit }, { signal });
    const { env, open, runs } = this.#parts;
    const repository = await open(run, signal);
    const { remote, branch, title, pullRequest } = target;
    const { commit, message } = await deliveredCommit(run, report, repository, {
      env,
      signal,
    });
    const { git, at } = repository;
    const changes = await diffTrees(git, at, { from: run.baseCommit, to: commit, signal });
    await this.#look(changes, { repository, tenant, signal });
    const ref = `refs/dure/${run.id}/published/${branch}`;
    const isNew = await pushBranch(repository, {
      remote,
      branch,
      commit,
      ref,
      review: (tips) =>
        this.#review(commit, tips.length > 0 ? tips : [run.baseCommit], {
          run,
          repository,
          tenant,
          signal,
          ...yes,
        }),
      env,
      signal,
    });
    const pushed = { remote: withoutPassword(remote), branch, commit };
    if (pullRequest === "none") {
      await runs.noteDelivery(run.id, { published: pushed });
      return { ...pushed, isNew };
    }

    const base = branchOf(repository, run.plan.base);
    const request = { branch, base, title, body: message };
    const place = { cwd: repository.root, env, signal };
    const url = await openPullRequest(pullRequest, request, place);
    const published = { ...pushed, pullRequest: url };
    await runs.noteDelivery(run.id, { published });

    return { ...published, isNew };
  }
}

/** Which merge of a result a branch has. Pure. */
function searchFor(
  { id, report, baseCommit }: PlanRun,
  { commit, ...where }: Pick<MergeSearch, "target" | "signal"> & { readonly commit: string },
): MergeSearch {
  const noted = report?.merged;
  const base = noted?.target === where.target ? noted.before : baseCommit;

  return { ...where, result: commit, base, mark: `Undoes: ${id} ${commit}` };
}

/** Pure. */
function undoMessage(
  { id }: PlanRun,
  { branch = id }: RunReport,
  { commit, mark }: { readonly commit: string; readonly mark: string },
): string {
  return `Revert "Merge ${branch}"\n\nThis reverts commit ${commit}.\n\n${mark}\n`;
}

/** A merge that was taken back. */
export interface UndoneMerge extends Pick<BranchMerge, "commit" | "updated"> {
  readonly target: string;
  /** False: it was taken back before. */
  readonly isNew: boolean;
}

/** A result before it leaves its run. */
export interface RunLeaving {
  /** Null: the base of the run. */
  readonly target: string | null;
  readonly review: ReviewNeeded | null;
  readonly allowed: readonly (MayLeave & { readonly by: "team" | "plan" })[];
  readonly gate: Approvals;
}

interface DeliveryCaller extends Reach, Confirmed {
  readonly signal: AbortSignal;
}

export interface ApprovalRequest {
  /** The result that the person has looked at. */
  readonly commit: string;
  readonly who: Pick<Approval, "person" | "by">;
  readonly signal: AbortSignal;
}

/** A delivery that a person asked for. */
interface AskedDelivery extends DeliveryCaller {
  readonly run: PlanRun;
  readonly repository: Repository;
}

interface AskedMerge extends AskedDelivery {
  readonly target: string;
}

/** What the work comes to, or `late` when that takes longer. */
async function within<T>(clock: Clock, ms: number, work: Promise<T>, late: T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const cancel = clock.after(ms, () => resolve(late));
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
  }
}

function resultOf({ id, status, report }: PlanRun): RunReport & { readonly commit: string } {
  const commit = report?.commit;
  if (commit !== undefined) return { ...report!, commit };
  throw new DureError("RUN_NO_RESULT", `The run ${id} has no result; it is ${status}.`, {
    class: "conflict",
    hint: "Wait for its end, or retry what failed.",
  });
}

function branchOf(repository: Repository, base: string): string {
  const name = base === "HEAD" ? repository.facts.branch : base;
  if (name !== undefined) return name;
  throw new DureError("BRANCH_UNKNOWN", `${folderName(repository.root)} stands at no branch.`, {
    class: "input",
    hint: "Say into which branch: --into main",
  });
}

function notMerged({ id }: PlanRun, target: string): DureError {
  return new DureError("RUN_NOT_MERGED", `${target} does not have the result of the run ${id}.`, {
    class: "conflict",
    hint: `Name the branch that has it: dure plan undo ${id} --from BRANCH`,
  });
}

function runUndone({ id }: PlanRun, target: string): DureError {
  return new DureError("RUN_UNDONE", `${target} had the result of the run ${id}; it was undone.`, {
    class: "conflict",
    hint: "To have it again, revert the commit that undid it (git revert), or run the plan again.",
  });
}

function notConfigured({ id, plan }: PlanRun): DureError {
  return new DureError(
    "PUBLISH_NOT_CONFIGURED",
    `The plan ${plan.name} of the run ${id} does not say where to publish.`,
    {
      class: "conflict",
      hint: "Add to the plan, before it runs: publish: { remote: origin, pull_request: gh }",
    },
  );
}

const TRIED_ELSEWHERE = "MERGE_TRIED_ELSEWHERE";
/** Names of failing tests that an error gives. */
const MAX_FAILING = 20;
/** Characters of the end of an output that an error gives. */
const MAX_SAID = 2_000;

function triedElsewhere({ id }: PlanRun): DureError {
  return new DureError(TRIED_ELSEWHERE, `Another process works on the run ${id}.`, {
    class: "conflict",
  });
}

function runGoing({ id, status }: PlanRun): DureError {
  return new DureError("RUN_GOING", `The run ${id} is worked on; it is ${status}.`, {
    class: "conflict",
    hint: "Merge it when it has ended: its tests run on the merged tree first.",
  });
}

function tooManyMerges(): DureError {
  const message = `The tests of ${MAX_MERGES} merges run already.`;
  return new DureError("MERGES_BUSY", message, {
    class: "unavailable",
    hint: "Try again when one of them has ended.",
  });
}

function mergedTreeFailed(
  { id }: PlanRun,
  target: string,
  { question, ...tried }: Tried & { readonly question: string | undefined },
): DureError {
  const next =
    question === undefined
      ? `Mend ${target}, or run the plan from it: dure plan status ${id}`
      : `What was solved is asked: dure escalations show ${question}`;
  const tests = tried.feedback.failedTests.slice(0, MAX_FAILING).map(({ name }) => name);
  return new DureError(
    "MERGED_TREE_FAILED",
    `${target} has moved, and merged with it this fails: ${tried.command} (${exitWordsOf(tried)}).`,
    {
      class: "conflict",
      hint: `Nothing was changed. ${next}`,
      details: { command: tried.command, tests, output: tried.output.slice(-MAX_SAID) },
    },
  );
}
