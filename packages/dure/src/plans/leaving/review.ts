import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { ResultFinding, ReviewNeeded } from "../../wire/runs.ts";
import type { MayLeave } from "../plan.ts";
import { globMatches, globOf } from "../glob.ts";
import type { Concealer } from "../workers/concealer.ts";
import type { Repository } from "../workspace/repository.ts";
import { findingsOf } from "./findings.ts";

/** Findings that a refusal gives; it counts all. */
const MAX_SHOWN = 200;
/** Findings that its sentence names. */
const MAX_NAMED = 5;

/** A result on its way out of its run. */
interface LeavingResult {
  readonly run: string;
  readonly commit: string;
  /** Commits that are there already. */
  readonly known: readonly string[];
  /** What an operator has allowed for good. */
  readonly mayLeave: readonly MayLeave[];
  readonly clock: Pick<Clock, "monotonic">;
  /** It leads to the person's settings of git. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Knows what workers of the run were given as secrets. */
  readonly given: Concealer;
  readonly signal: AbortSignal;
}

/**
 * Lets a result leave that holds no secret and nothing that runs where it arrives; else a person
 * has said yes to exactly these findings at exactly this commit. Gives the findings that they said
 * yes to. `confirmed`: the `confirm` of a refusal. Throws `RESULT_NEEDS_REVIEW`.
 */
export async function reviewBeforeLeaving(
  repository: Repository,
  result: LeavingResult & { readonly confirmed: string | undefined },
): Promise<readonly ResultFinding[]> {
  const findings = await findingsToSee(repository, result);
  const review = reviewOf(result, findings);
  if (review === undefined || result.confirmed === review.confirm) return findings;

  throw needsReview(result.run, review);
}

/** What a person would have to say yes to; undefined: nothing. */
export async function reviewNeededFor(
  repository: Repository,
  result: LeavingResult,
): Promise<ReviewNeeded | undefined> {
  return reviewOf(result, await findingsToSee(repository, result));
}

async function findingsToSee(
  repository: Repository,
  result: LeavingResult,
): Promise<readonly ResultFinding[]> {
  const findings = await findingsOf(repository, result);
  return findings.filter((finding) => !isAllowed(finding, result.mayLeave));
}

/** Pure. */
function reviewOf(
  { commit }: Pick<LeavingResult, "commit">,
  findings: readonly ResultFinding[],
): ReviewNeeded | undefined {
  if (findings.length === 0) return undefined;
  const confirm = digestOf(commit, findings);

  return { confirm, commit, count: findings.length, findings: findings.slice(0, MAX_SHOWN) };
}

/** Pure. */
function isAllowed({ rule, path }: ResultFinding, mayLeave: readonly MayLeave[]): boolean {
  return mayLeave.some(
    (allowed) => allowed.rule === rule && globMatches(globOf(allowed.path), path),
  );
}

/** A commit names its files and all its history, so a yes to it is a yes to nothing else. Pure. */
function digestOf(commit: string, findings: readonly ResultFinding[]): string {
  const places = findings.map(({ rule, path, line }) => [rule, path, line]);
  const text = JSON.stringify([commit, places]);

  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function needsReview(run: string, review: ReviewNeeded): DureError {
  const named = review.findings.slice(0, MAX_NAMED).map(placeOf).join(", ");
  const more = review.count > MAX_NAMED ? ` and ${review.count - MAX_NAMED} more` : "";
  return new DureError(
    "RESULT_NEEDS_REVIEW",
    `Look at what leaves with the run ${run} first: ${named}${more}.`,
    {
      class: "conflict",
      hint: [
        "Nothing was changed. Say yes to exactly these findings:",
        `dure plan merge ${run} --confirm ${review.confirm} (or dure plan publish).`,
      ].join(" "),
      details: { ...review },
    },
  );
}

function placeOf({ rule, path, line }: ResultFinding): string {
  return `${rule} in ${path}${line === null ? "" : `:${line}`}`;
}
