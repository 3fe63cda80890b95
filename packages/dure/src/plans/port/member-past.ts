import type { Member } from "../../kernel/plans.ts";
import type { PlanStep } from "../rows/run.ts";
import type { PortWork } from "./pair-parts.ts";

/** What a member has of its earlier turns. */
export interface MemberPast {
  /** The conversation that it goes on with. */
  readonly session?: string | undefined;
  /** Its last words in a try. */
  readonly summary?: string | undefined;
  /** Its last step. */
  readonly step?: Pick<PlanStep, "id"> | undefined;
}

/**
 * What a member by this kind of worker goes on from: its last try, or its last answer to a question
 * where that came later. `before`: of the tries before this one.
 */
export async function pastOf(
  { run, port, parts }: Pick<PortWork, "run" | "port" | "parts">,
  member: Member,
  { worker, before }: { readonly worker: string; readonly before?: number | undefined },
): Promise<MemberPast> {
  const past = await parts.records.steps.past(run.id, port.id, { member, worker, before });
  const isLater = past.answeredAt !== null && past.answeredAt > (past.talkedAt ?? 0);

  return {
    session: (isLater ? past.answered : past.session) ?? undefined,
    summary: past.summary ?? undefined,
    step: past.step === null ? undefined : { id: past.step },
  };
}
