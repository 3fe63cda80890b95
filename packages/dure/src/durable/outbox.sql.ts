/** What is to leave. */
export const sql = /* sql */ `
-- Adds a JSON array of entries {topic, ordering, key, payload, delay_ms?};
-- a key that is there already is left alone.
create or replace function dure.enqueue(
  entries jsonb
) returns void language sql as $$
  insert into dure.outbox (topic, ordering, key, payload, next_at)
  select topic, ordering, key, coalesce(payload, 'null'),
    clock_timestamp() + coalesce(delay_ms, 0) * interval '1 millisecond'
    from rows from (jsonb_to_recordset(entries) as (
           topic text, ordering text, key text, payload jsonb,
             delay_ms double precision
         )) with ordinality as entry
   order by ordinality
  on conflict (key) do nothing
$$;
`;
