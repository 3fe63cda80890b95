import type { Member } from "../../kernel/plans.ts";
import type { PlanStep } from "../rows/run.ts";
import type { PortWork } from "./pair-parts.ts";
import type { MemberOutput } from "./port-steps.ts";

/** What a member has of its earlier turns. */
export interface MemberPast {
  /** The conversation that it goes on with. */
  readonly session?: string | undefined;
  /** Its last words in a try. */
  readonly summary?: string | undefined;
  /** Its last step. */
  readonly step?: PlanStep | undefined;
}

/**
 * What a member by this kind of worker goes on from: its last try, or its last answer to a question
 * where that came later. `before`: of the tries before this one.
 */
export async function pastOf(
  { run, port, parts, channel }: Pick<PortWork, "run" | "port" | "parts" | "channel">,
  member: Member,
  { worker, before = Infinity }: { readonly worker: string; readonly before?: number | undefined },
): Promise<MemberPast> {
  const steps = await parts.records.steps.of(run.id, port.id);
  const own = steps.filter(
    (step) => step.member === member && step.try < before && step.worker === worker,
  );
  const talked = own.findLast(({ session }) => session !== undefined);
  const ended = own.findLast(({ output }) => output);
  const answered = await channel.answeringSession(member, worker);
  const isLater = answered !== undefined && answered.at > (talked?.startedAt ?? 0);
  const output = ended?.output as MemberOutput | undefined;

  return {
    session: isLater ? answered.session : talked?.session,
    summary: output?.result.summary,
    step: own.at(-1),
  };
}
