/**
 * The functions that store files. Locks are taken in the order turn, tenant (advisory), session, files,
 * bytes. Why so: docs/decisions/0022-files.md
 */
export const sql = /* sql */ `
-- A file of a session. Its bytes come along ('data'), are there already, or
-- must be put into the store outside first under the key that is returned
-- ('put'); then it is called again with that key. DU413: a bound is reached.
-- DU410: the bytes that were put are not waited for any more. With an epoch
-- 'fenced' where another process has the turn: a session that is gone gets no
-- file any more.
create or replace function dure.put_file(
  p jsonb, p_data bytea
) returns jsonb language plpgsql as $$
declare
  v_tenant text := p->>'tenant';
  v_session text := p->>'session';
  v_bytes bigint := (p->>'bytes')::bigint;
  b dure.file_bytes;
  f dure.files;
begin
  if p ? 'epoch'
    and (dure.lock_turn(p->>'turn', (p->>'epoch')::integer)).id is null
  then
    return jsonb_build_object('outcome', 'fenced');
  end if;
  perform pg_advisory_xact_lock(
    hashtextextended('dure.files/' || v_tenant, 0)
  );
  perform
  from dure.files
  where session_id = v_session
    and sha256 = p->>'sha256'
    and name = p->>'name'
  for update;
  insert into dure.file_bytes as o (
    tenant, sha256, bytes, store_key, data, stored_at
  )
  values (
    v_tenant, p->>'sha256', v_bytes, p->>'store_key', p_data,
    case when p_data is not null then clock_timestamp() end
  )
  on conflict (tenant, sha256) do update
  set touched_at = clock_timestamp()
  returning * into b;
  if b.stored_at is null then
    if not p ? 'put' then
      perform dure.check_file_bounds(p, v_bytes);
      return jsonb_build_object('outcome', 'put', 'store_key', b.store_key);
    end if;
    if b.store_key <> p->>'put' then
      raise exception using errcode = 'DU410', message = 'put again';
    end if;
    update dure.file_bytes
    set stored_at = clock_timestamp()
    where tenant = v_tenant and sha256 = b.sha256;
  end if;
  select * into f
  from dure.files
  where session_id = v_session
    and sha256 = b.sha256
    and name = p->>'name';
  if not found then
    perform dure.check_file_bounds(p, v_bytes);
  end if;
  insert into dure.files (
    id, tenant, session_id, sha256, name, type, turn_id
  )
  values (
    p->>'id', v_tenant, v_session, b.sha256, p->>'name', p->>'type',
    p->>'turn'
  )
  on conflict (session_id, sha256, name) do update
  set touched_at = clock_timestamp(),
    turn_id = coalesce(excluded.turn_id, dure.files.turn_id)
  returning * into f;
  return jsonb_build_object('outcome', 'stored', 'id', f.id);
end $$;

-- Raises DU413 with the bound that one more file would break.
create or replace function dure.check_file_bounds(
  p jsonb, p_bytes bigint
) returns void language plpgsql as $$
declare
  v_sum bigint;
begin
  select coalesce(sum(b.bytes), 0) into v_sum
  from dure.files f
  join dure.file_bytes b on b.tenant = f.tenant and b.sha256 = f.sha256
  where f.session_id = p->>'session';
  if v_sum + p_bytes > (p->>'session_bytes')::bigint then
    raise exception using errcode = 'DU413', message = 'session';
  end if;
  -- the row of these bytes is counted already
  select coalesce(sum(bytes), 0) into v_sum
  from dure.file_bytes
  where tenant = p->>'tenant';
  if v_sum > (p->>'tenant_bytes')::bigint then
    raise exception using errcode = 'DU413', message = 'tenant';
  end if;
end $$;

-- A message carries these files of its session. DU405: one of them is gone.
create or replace function dure.use_files(
  p_turn text, p_session text, p_files jsonb
) returns void language plpgsql as $$
declare
  v_ids text[];
  v_found integer;
begin
  select array_agg(distinct r->>'id') into v_ids
  from jsonb_array_elements(p_files) r;
  update dure.files
  set turn_id = p_turn, touched_at = clock_timestamp()
  where id = any(v_ids) and session_id = p_session;
  get diagnostics v_found = row_count;
  if v_found < coalesce(cardinality(v_ids), 0) then
    raise exception using errcode = 'DU405', message = 'file gone';
  end if;
end $$;

-- Files of one key as files of another as well, in their order; one that is
-- gone is left out. From any key where none is named. The same again is the
-- same files.
create or replace function dure.carry_files(
  p_files jsonb, p_from text, p_to text, p_turn text
) returns jsonb language plpgsql as $$
declare
  v_carried jsonb := '[]';
  v_ref jsonb;
  f dure.files;
  c dure.files;
begin
  for v_ref in
    select r
    from jsonb_array_elements(p_files) r
  loop
    -- as long as it is locked its bytes stay
    select * into f
    from dure.files
    where id = v_ref->>'id' and (p_from is null or session_id = p_from)
    for key share;
    continue when not found;
    insert into dure.files (
      id, tenant, session_id, sha256, name, type, turn_id
    )
    values (
      -- of one key, these bytes and this name there is one
      'file_' || upper(left(encode(sha256(
        convert_to(p_to || '/' || f.sha256 || '/' || f.name, 'UTF8')
      ), 'hex'), 26)),
      f.tenant, p_to, f.sha256, f.name, f.type, p_turn
    )
    on conflict (session_id, sha256, name) do update
    set turn_id = coalesce(excluded.turn_id, dure.files.turn_id),
      touched_at = clock_timestamp()
    returning * into c;
    v_carried := v_carried || jsonb_build_object(
      'id', c.id, 'name', c.name, 'type', c.type,
      'bytes', (v_ref->>'bytes')::bigint
    );
  end loop;
  return v_carried;
end $$;

create or replace function dure.forget_session_files(

) returns trigger language plpgsql as $$
begin
  delete from dure.files where session_id = old.id;
  return old;
end $$;

-- Bytes that no file has any more go with the last one. Those in a store
-- outside go by retention, which looks at the rows that stay here.
create or replace function dure.forget_file_bytes(

) returns trigger language plpgsql as $$
begin
  -- locked first: the statement after sees who has come to have them
  perform
  from dure.file_bytes b
  where (b.tenant, b.sha256) in (select tenant, sha256 from gone)
  order by b.tenant, b.sha256
  for update;
  delete from dure.file_bytes b
  where (b.tenant, b.sha256) in (select tenant, sha256 from gone)
    and b.data is not null
    and not exists (
      select
      from dure.files f
      where f.tenant = b.tenant and f.sha256 = b.sha256
    );
  update dure.file_bytes b
  set touched_at = '-infinity'
  where (b.tenant, b.sha256) in (select tenant, sha256 from gone)
    and b.data is null
    and not exists (
      select
      from dure.files f
      where f.tenant = b.tenant and f.sha256 = b.sha256
    );
  return null;
end $$;
`;
