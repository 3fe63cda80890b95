import type { JobStatements } from "./job-statements.ts";
import type { EarlierWords, Job } from "./job.ts";

/** Words of earlier exchanges that are told at the beginning of another one. */
const MAX_EARLIER = 3;

/**
 * What was said before in the conversation of a job: by the same pair alone, and what began in
 * private only there. A conversation's id is no secret.
 */
export function earlierWords(
  statements: JobStatements,
  { jobId, tenant, conversationId, requester, target }: Job,
): Promise<readonly EarlierWords[]> {
  return statements.many<EarlierWords>(
    "job.earlier",
    `
      select speaker, text
      from (
        select c.seq, w.number, w.speaker, w.text
        from dure.jobs c
        cross join lateral (
          select 0 as number, c.requester as speaker, c.message as text
          union all
          select t.number, t.speaker, t.text
          from dure.job_turns t
          where t.job_id = c.id and t.text <> ''
        ) w
        where c.conversation_id = $2
          and c.tenant = $3
          and c.seq < (select seq from dure.jobs where id = $1)
          and least(c.requester, c.target) = least($4::text, $5::text)
          and greatest(c.requester, c.target) = greatest($4::text, $5::text)
          and (
            dure.private_origin_of(c.id) is null
            or dure.private_origin_of(c.id) = dure.private_origin_of($1)
          )
        order by c.seq desc, w.number desc
        limit ${MAX_EARLIER}
      ) w
      order by seq, number`,
    [jobId, conversationId, tenant, requester, target],
  );
}
