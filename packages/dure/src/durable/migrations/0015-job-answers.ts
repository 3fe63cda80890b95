/** What an exchange has answered, so that no reader has to guess it from its last words. */
export const sql = /* sql */ `
alter table dure.jobs
  -- {how, by, text}; null: the target has said nothing.
  add column answer jsonb,
  -- What the tool finish was given in the present attempt: {turn, text}.
  add column finish jsonb;

update dure.jobs j
set answer = (
  select jsonb_build_object('how', 'message', 'by', t.speaker, 'text', t.text)
  from dure.job_turns t
  where t.job_id = j.id and t.speaker = j.target and t.text <> ''
  order by t.number desc
  limit 1
)
where j.turns_done > 0;
`;
