/** The ports of a run. */
export const sql = /* sql */ `
-- Many ports change in one statement. Only what stands in an entry is
-- changed.
create or replace function dure.change_ports(
  p_run text, p jsonb
) returns void language sql as $$
  update dure.plan_ports o set
    status = coalesce(c->>'status', o.status),
    attempt = coalesce((c->>'attempt')::integer, o.attempt),
    because = case
      when c ? 'because' then nullif(c->'because', 'null')
      else o.because
    end,
    tries_pair = coalesce((c->>'tries_pair')::integer, o.tries_pair),
    tries_orchestrator = coalesce(
      (c->>'tries_orchestrator')::integer, o.tries_orchestrator
    ),
    spent_ms = o.spent_ms + coalesce((c->>'add_spent_ms')::bigint, 0),
    time_ms = coalesce((c->>'time_ms')::bigint, o.time_ms),
    tokens_in = o.tokens_in + coalesce((c->>'add_tokens_in')::bigint, 0),
    tokens_cached
      = o.tokens_cached + coalesce((c->>'add_tokens_cached')::bigint, 0),
    tokens_out = o.tokens_out + coalesce((c->>'add_tokens_out')::bigint, 0),
    tokens_most = case
      when c ? 'tokens_most' then (c->>'tokens_most')::bigint
      else o.tokens_most
    end,
    hint = case when c ? 'hint' then c->>'hint' else o.hint end,
    grants = coalesce(c->'grants', o.grants),
    weaker_tests_accepted = coalesce(
      (c->>'weaker_tests_accepted')::boolean, o.weaker_tests_accepted
    ),
    start_commit = case
      when c ? 'start_commit' then c->>'start_commit'
      else o.start_commit
    end,
    result_commit = case
      when c ? 'result_commit' then c->>'result_commit'
      else o.result_commit
    end,
    started_at = case
      when (c->>'attempt') is not null
        and o.started_at is null then clock_timestamp()
      else o.started_at
    end,
    finished_at
      = case when c->>'status' in ('succeeded', 'failed', 'cancelled') then clock_timestamp()
                       when c ? 'status' then null else o.finished_at end
  from (select value as c from jsonb_array_elements(p)) changes
  where o.run = p_run and o.position = (c->>'position')::integer
$$;
`;
