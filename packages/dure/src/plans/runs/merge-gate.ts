import type { Approvals } from "../../wire/runs.ts";
import type { Database } from "../../durable/database.ts";
import { DureError } from "../../kernel/errors.ts";
import { addApproval, approvalsOf, personOfActor, type Approval } from "../rows/approval-rows.ts";
import type { PlanRun } from "../rows/run.ts";
import type { NamedRepositories } from "./named-repositories.ts";

/** Who has to agree before a result is merged or published. */
export interface MergeRule {
  /** People who approved the very commit. Default 0. */
  readonly approvals?: number | undefined;
  /**
   * `author`: the person who began the run does not count. Where nothing names them, each approver
   * may be the author, so one approval more is needed. Source: docs/spec/platform §6.
   */
  readonly not?: "author" | undefined;
}

export interface MergeGateParts {
  readonly database: Database;
  readonly repositories: Pick<NamedRepositories, "settingsOf">;
  /** `plans.merge` of the configuration. */
  readonly rule: MergeRule | undefined;
}

/** A run with what came of it. */
type MergeCandidate = Pick<PlanRun, "id" | "repository" | "startedBy"> & {
  readonly commit: string;
};

/**
 * Who may let a result out of its run. An approval is of one commit: work that goes on makes
 * another one, which was approved by no person. Source: docs/spec/platform §6.
 */
export class MergeGate {
  readonly #parts: MergeGateParts;

  constructor(parts: MergeGateParts) {
    this.#parts = parts;
  }

  /** Throws `APPROVAL_STALE` where the person saw another commit. */
  async approve(
    result: MergeCandidate,
    seen: string,
    who: Pick<Approval, "person" | "by">,
    { signal }: { signal: AbortSignal },
  ): Promise<Approvals> {
    if (seen !== result.commit) throw approvalStale(result, seen);
    await addApproval(this.#parts.database, { run: result.id, result: seen }, who);

    return this.state(result, { signal });
  }

  /** Throws `MERGE_NOT_APPROVED`. */
  async assertMayMerge(result: MergeCandidate, { signal }: { signal: AbortSignal }): Promise<void> {
    const state = await this.state(result, { signal });
    if (state.counted < state.needed) throw notApproved(result, state);
  }

  async state(result: MergeCandidate, { signal }: { signal: AbortSignal }): Promise<Approvals> {
    const { database, repositories, rule } = this.#parts;
    const { id, repository, commit, startedBy } = result;
    const own = (await repositories.settingsOf(repository, signal)).flatMap(
      ({ merge }) => merge ?? [],
    );
    const { approvals: needed = 0, not = null } = strictest(own) ?? rule ?? {};
    const approvals = needed === 0 ? [] : await approvalsOf(database, id, commit);
    const author = await personOfActor(database, startedBy);
    const counted = countApprovals(approvals, { not, author });

    return { commit, needed, approvals, counted, not, author };
  }
}

/**
 * Approvals that count; a person counts once. Where the author does not count, neither does what
 * names no person: a shared token may be the author's. Pure.
 */
export function countApprovals(
  approvals: readonly Pick<Approval, "person" | "isNamed">[],
  { not, author }: Pick<Approvals, "not" | "author">,
): number {
  if (not === null) return new Set(approvals.map(({ person }) => person)).size;
  const named = approvals.filter(({ isNamed }) => isNamed);
  const people = new Set(named.map(({ person }) => person));
  if (author === null) return Math.max(0, people.size - 1);
  people.delete(author);

  return people.size;
}

/** What all names of one repository ask for together. Pure. */
function strictest(rules: readonly MergeRule[]): MergeRule | undefined {
  if (rules.length === 0) return undefined;
  return {
    approvals: Math.max(...rules.map(({ approvals = 0 }) => approvals)),
    not: rules.find(({ not }) => not !== undefined)?.not,
  };
}

function approvalStale({ id, commit }: MergeCandidate, seen: string): DureError {
  return new DureError(
    "APPROVAL_STALE",
    `The result of the run ${id} is ${commit.slice(0, 12)} by now, not ${seen.slice(0, 12)}.`,
    {
      class: "conflict",
      hint: `Look at it again, then approve that: dure plan diff ${id}`,
      details: { commit },
    },
  );
}

function notApproved(
  { id, commit }: MergeCandidate,
  { needed, counted, not, author }: Approvals,
): DureError {
  const isUnknown = not !== null && author === null;
  const more = isUnknown ? " Nothing names who began it, so one approval more is needed." : "";
  return new DureError(
    "MERGE_NOT_APPROVED",
    `The result ${commit.slice(0, 12)} of the run ${id} has ${counted} of ${needed} approvals.`,
    {
      class: "conflict",
      hint: `Another person looks at it and approves it: dure plan approve ${id}.${more}`,
      details: { commit, needed, counted },
    },
  );
}
