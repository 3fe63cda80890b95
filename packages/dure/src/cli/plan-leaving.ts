import {
  reviewNeeded,
  type DureClient,
  type ReviewNeeded,
  type RunLeaving,
} from "../client/index.ts";
import { DureError } from "../kernel/errors.ts";
import type { Output } from "./output.ts";

/** What a person is to look at stands above the refusal, each on a line. */
export async function namingFindings<T>(output: Output, leave: () => Promise<T>): Promise<T> {
  try {
    return await leave();
  } catch (error) {
    const review = reviewNeeded(error);
    if (review !== undefined) showFindings(review, output);
    throw error;
  }
}

function showFindings({ findings }: ReviewNeeded, output: Output): void {
  const { rules } = output.words.plans.leaving;
  output.table(
    findings.map(({ rule, path, line, excerpt }) => [
      rules[rule] ?? rule,
      line === null ? path : `${path}:${line}`,
      excerpt ?? "",
    ]),
  );
}

/** Undefined: the repository is not this reader's. */
export async function leavingOf(id: string, client: DureClient): Promise<RunLeaving | undefined> {
  try {
    return await client.plans.leaving(id);
  } catch (error) {
    if (error instanceof DureError && ["forbidden", "not-found"].includes(error.class)) {
      return undefined;
    }
    throw error;
  }
}

/** What a merge would ask about, and whose approval it waits for. */
export function showLeaving(
  id: string,
  { target, review, gate }: RunLeaving,
  output: Output,
): void {
  const { leaving: words } = output.words.plans;
  const branch = target ?? "";
  if (review === null) output.note(words.nothingFound(branch));
  else {
    output.note(words.found(review.count, branch));
    showFindings(review, output);
    output.note(words.yes(id, review.confirm));
  }
  if (gate.needed === 0) return;
  const people = [...new Set(gate.approvals.map(({ person }) => person))];
  output.note(words.approvals(gate.counted, gate.needed, people.join(", ")));
  if (gate.not !== null) output.note(words.notAuthor(gate.author));
}
