/**
 * Exchanges between agents (docs/spec/jobs). A job is a row, a finished exchange turn is a row;
 * what stands between two writes is an ordinary turn of a conversation (0001), accepted under a
 * key, with its own journal.
 *
 * A job is held by a process under an epoch on its own row: whoever takes it raises the epoch, and
 * every write of an exchange names the epoch that it was taken under. Taking a job is giving it its
 * permit: both are one statement. Locks are taken in the order process, permit, job (ancestors
 * first), turn.
 */
export const sql = /* sql */ `
-- How long the product has run, in milliseconds: grows while some process ticks, by bounded steps, so that neither a jump of the
-- machine's clock nor a night in which nothing ran makes anybody late.
create table dure.job_clock (
  singleton boolean primary key default true check (singleton),
  running_ms bigint not null default 0,
  ticked_at timestamptz not null default clock_timestamp()
);
insert into dure.job_clock default values;

create table dure.jobs (
  id text primary key,
  -- Order of arrival: permits are given by it, and pages are read by it.
  seq bigint generated always as identity,
  tenant text not null default '',
  status text not null default 'PENDING' check (status in ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'ABANDONED')),
  outcome text,
  last_error jsonb,
  requester text not null,
  target text not null check (target <> requester),
  message text not null,
  payload jsonb,
  topic text,
  intent text not null,
  conversation_id text not null,
  parent_id text,
  root_id text not null,
  -- What all of it is for: the parent's, or the session in which a person set it off.
  root_work text not null,
  depth integer not null default 0,
  retry_of text,
  max_turns integer not null check (max_turns >= 0),
  turns_done integer not null default 0,
  resume_count integer not null default 0,
  resumes integer not null default 0,
  ask_key text,
  body_hash text,
  origin_session text,
  origin_turn text,
  -- 'held': the caller still waits for the answer itself; 'answered': it has got it; 'told': the notice is in the outbox.
  announced text not null default 'open' check (announced in ('open', 'none', 'held', 'answered', 'told')),
  -- Nothing: nobody waits. By the database's clock; the caller's own began a little later, so whoever ends the job allows for that.
  wait_until timestamptz,
  holder text,
  epoch integer not null default 1,
  held_at timestamptz not null default clock_timestamp(),
  has_permit boolean not null default false,
  waiting text check (waiting in ('person')),
  -- The exchange turn under way: its attempt, what the agent is told, and the conversation turn that runs for it.
  attempt integer not null default 0,
  attempt_input jsonb,
  -- The session's first message that can be this attempt's.
  attempt_from bigint,
  turn_at timestamptz,
  current_turn text,
  attempt_turns text[] not null default '{}',
  -- The conversation turn in which end_conversation was called.
  ended_by_turn text,
  -- By dure.job_clock: since when it stands in line, and when it last got ahead.
  queued_ms bigint not null,
  progress_ms bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz,
  -- A job never claims an end that it did not have.
  constraint jobs_outcome check (case status
    when 'COMPLETED' then outcome in ('max_turns', 'explicit_skip', 'conclusion', 'repetition', 'empty_reply', 'minimal_content') and turns_done > 0
    when 'FAILED' then outcome in ('no_reply', 'blocked', 'turn_timeout', 'agent_error', 'agent_removed', 'budget') and last_error is not null
    when 'CANCELLED' then outcome = 'cancelled'
    when 'ABANDONED' then outcome in ('stale', 'resume_limit')
    else outcome is null end)
) with (fillfactor = 70);
create unique index jobs_seq on dure.jobs (tenant, seq desc);
create unique index jobs_ask on dure.jobs (tenant, ask_key) where ask_key is not null;
create index jobs_pending on dure.jobs (target, seq) where status = 'PENDING';
create index jobs_running on dure.jobs (holder) where status = 'RUNNING';
create index jobs_permits on dure.jobs (target) where has_permit;
create index jobs_status on dure.jobs (tenant, status, seq desc);
create index jobs_target on dure.jobs (tenant, target, seq desc);
create index jobs_requester on dure.jobs (tenant, requester, seq desc);
create index jobs_waiting on dure.jobs (target, seq) where waiting is not null;
create index jobs_conversation on dure.jobs (conversation_id, seq desc);
create index jobs_parent on dure.jobs (parent_id) where parent_id is not null;
create index jobs_root on dure.jobs (root_id);
create index jobs_work on dure.jobs (root_work, seq desc);
create index jobs_finished on dure.jobs (finished_at) where finished_at is not null;
create index jobs_held_notice on dure.jobs (wait_until) where announced = 'held';

create table dure.job_turns (
  job_id text not null references dure.jobs (id) on delete cascade,
  number integer not null,
  speaker text not null,
  text text not null,
  tokens_in bigint not null default 0,
  tokens_out bigint not null default 0,
  cost_micro_usd bigint,
  turn_id text,
  attempts integer not null default 1,
  started_at timestamptz not null,
  finished_at timestamptz not null default clock_timestamp(),
  primary key (job_id, number)
);

-- What persons said into an exchange; turn_number is the exchange turn that was told it.
create table dure.job_words (
  id bigint generated always as identity primary key,
  job_id text not null references dure.jobs (id) on delete cascade,
  author text not null,
  text text not null,
  turn_number integer,
  at timestamptz not null default clock_timestamp()
);
create index job_words_job on dure.job_words (job_id, id);

-- What came of background work that an agent asked for in this exchange: for its next turn in it; turn_number is the one that was told it.
create table dure.job_results (
  job_id text not null references dure.jobs (id) on delete cascade,
  child_id text not null,
  agent text not null,
  turn_number integer,
  at timestamptz not null default clock_timestamp(),
  primary key (job_id, child_id)
);
create index job_results_untold on dure.job_results (job_id) where turn_number is null;

-- What came of background work, for the next turn of the session in which it was asked, where no turn is made for it. turn_id is the one that tells it.
create table dure.job_notes (
  session_id text not null references dure.sessions (id) on delete cascade,
  job_id text not null references dure.jobs (id) on delete cascade,
  turn_id text,
  at timestamptz not null default clock_timestamp(),
  primary key (session_id, job_id)
);
create index job_notes_job on dure.job_notes (job_id);

-- Since when all permits of an agent are given away, by dure.job_clock. Nothing: some are free.
create table dure.job_lines (
  target text primary key,
  full_since_ms bigint not null
);

create index escalations_open_session on dure.escalations (session_id) where status = 'open';
create index escalations_job_retry on dure.escalations (id) where type = 'job_abandoned' and status = 'resolved' and used_at is null;

-- The table of statuses. Recovery alone takes a job back, and then from its holder.
create function dure.check_job_status() returns trigger language plpgsql as $$
begin
  if not (case old.status
    when 'PENDING' then new.status in ('RUNNING', 'CANCELLED', 'ABANDONED')
    when 'RUNNING' then new.status in ('COMPLETED', 'FAILED', 'CANCELLED', 'ABANDONED')
      or (new.status = 'PENDING' and new.holder is null and new.epoch > old.epoch and new.resumes > old.resumes)
    else false end)
  then
    raise exception using errcode = 'DU410', message = 'a job that is ' || old.status || ' cannot become ' || new.status;
  end if;
  return new;
end $$;
create trigger jobs_status before update of status on dure.jobs for each row when (new.status is distinct from old.status) execute function dure.check_job_status();

create function dure.job_event(j dure.jobs, p_type text, p_data jsonb) returns void language sql as $$
  select dure.emit(jsonb_build_array(jsonb_build_object('type', p_type, 'role', 'delegation', 'session', j.origin_session, 'agent', j.target, 'job', j.id,
    'data', jsonb_build_object('requester', j.requester, 'target', j.target, 'status', j.status, 'turnsDone', j.turns_done, 'maxTurns', j.max_turns,
      'conversationId', j.conversation_id, 'parentJobId', j.parent_id) || p_data)))
$$;

-- The notice for the place where it was asked, once per job. In an exchange that goes on it waits for the next turn of the agent that asked;
-- one that has ended sends it on to its own place of origin, where p_agent, who asked there, tells it.
create function dure.announce_job(j dure.jobs, p_session text, p_turn text, p_agent text) returns void language plpgsql as $$
declare
  v_session text := p_session;
  v_turn text := p_turn;
  v_agent text := p_agent;
  o dure.jobs;
begin
  while v_session like 'job:%' loop
    select * into o from dure.jobs where id = split_part(v_session, ':', 2);
    if not found or o.status = 'CANCELLED' then return; end if;
    if o.finished_at is null then
      insert into dure.job_results (job_id, child_id, agent) values (o.id, j.id, v_agent) on conflict do nothing;
      return;
    end if;
    v_session := o.origin_session;
    v_turn := o.origin_turn;
    v_agent := o.requester;
  end loop;
  if v_session is null then return; end if;
  perform dure.enqueue(jsonb_build_array(jsonb_build_object('topic', 'job.announce', 'ordering', v_session, 'key', 'job:' || j.id || ':announce',
    'payload', jsonb_build_object('jobId', j.id, 'tenant', j.tenant, 'session', v_session, 'turn', v_turn, 'requester', v_agent, 'target', j.target,
      'status', j.status, 'outcome', j.outcome, 'message', j.message, 'topic', j.topic, 'error', j.last_error,
      'reply', (select t.text from dure.job_turns t where t.job_id = j.id and t.speaker = j.target and t.text <> '' order by t.number desc limit 1)))));
end $$;

-- Makes a job. Refusals are raised, so they change nothing: DU422 key reused, DU404 parent unknown, DU409 parent over, DU413 too deep, DU429 too many.
create function dure.ask_job(p jsonb) returns jsonb language plpgsql as $$
declare
  v_id text := p->>'id';
  v_parent text := p->>'parent';
  v_root text := p->>'id';
  v_work text := coalesce(p->>'origin_session', p->>'id');
  v_depth integer := 0;
  v_now bigint := (select running_ms from dure.job_clock);
  v_conversation text := p->>'conversation';
  known dure.jobs;
  parent dure.jobs;
  old dure.jobs;
  j dure.jobs;
begin
  if p->>'key' is not null then
    select * into known from dure.jobs where tenant = p->>'tenant' and ask_key = p->>'key';
    if found then
      if known.body_hash <> p->>'body_hash' then raise exception using errcode = 'DU422', message = 'key reused'; end if;
      -- A caller that asks again waits again.
      update dure.jobs set wait_until = greatest(wait_until, clock_timestamp() + (p->>'wait_ms')::double precision * interval '1 millisecond')
      where id = known.id and finished_at is null and (p->>'wait_ms')::double precision > 0;
      return jsonb_build_object('outcome', 'repeated', 'id', known.id);
    end if;
  end if;
  if v_parent is not null then
    select root_id into v_root from dure.jobs where id = v_parent and tenant = p->>'tenant';
    if not found then raise exception using errcode = 'DU404', message = 'no such parent'; end if;
    perform 1 from dure.jobs where id = v_root for no key update;
    select * into parent from dure.jobs where id = v_parent for no key update;
    if parent.status not in ('PENDING', 'RUNNING') then raise exception using errcode = 'DU409', message = 'the parent is over'; end if;
    v_depth := parent.depth + 1;
    v_work := parent.root_work;
    if v_depth > (p->>'max_depth')::integer then raise exception using errcode = 'DU413', message = 'too deep'; end if;
    if (select count(*) from dure.jobs where root_id = v_root) >= (p->>'max_tree')::integer then
      raise exception using errcode = 'DU429', message = 'too many jobs for one root';
    end if;
    if least(parent.requester, parent.target) = least(p->>'requester', p->>'target') and greatest(parent.requester, parent.target) = greatest(p->>'requester', p->>'target') then
      v_conversation := coalesce(v_conversation, parent.conversation_id);
    end if;
  end if;
  if p->>'retry_of' is not null then
    -- It takes the place of the old one: under the same root, with the same budget, cancelled with the same parent.
    select root_id into v_root from dure.jobs where id = p->>'retry_of';
    perform 1 from dure.jobs where id = v_root for no key update;
    select * into old from dure.jobs where id = p->>'retry_of';
    v_parent := old.parent_id;
    v_work := old.root_work;
    v_depth := old.depth;
    if (select count(*) from dure.jobs where root_id = v_root) >= (p->>'max_tree')::integer then
      raise exception using errcode = 'DU429', message = 'too many jobs for one root';
    end if;
  end if;
  v_conversation := coalesce(v_conversation, (
    select c.conversation_id from dure.jobs c
    where c.root_work = v_work and c.tenant = p->>'tenant' and coalesce(c.topic, '') = coalesce(p->>'topic', '')
      and least(c.requester, c.target) = least(p->>'requester', p->>'target') and greatest(c.requester, c.target) = greatest(p->>'requester', p->>'target')
    order by c.seq desc limit 1), p->>'new_conversation');
  insert into dure.jobs (id, tenant, requester, target, message, payload, topic, intent, conversation_id, parent_id, root_id, root_work, depth, retry_of, max_turns,
    ask_key, body_hash, origin_session, origin_turn, wait_until, queued_ms, progress_ms)
  values (v_id, p->>'tenant', p->>'requester', p->>'target', p->>'message', nullif(p->'payload', 'null'), p->>'topic', p->>'intent', v_conversation, v_parent, v_root, v_work, v_depth,
    p->>'retry_of', (p->>'max_turns')::integer, p->>'key', p->>'body_hash', p->>'origin_session', p->>'origin_turn',
    clock_timestamp() + nullif((p->>'wait_ms')::double precision, 0) * interval '1 millisecond', v_now, v_now)
  on conflict do nothing
  returning * into j;
  if not found then
    -- Asked twice at once, or the answer to this very statement was lost.
    select * into known from dure.jobs where id = v_id or (tenant = p->>'tenant' and ask_key = p->>'key') order by id = v_id desc limit 1;
    if known.id <> v_id and known.body_hash <> p->>'body_hash' then raise exception using errcode = 'DU422', message = 'key reused'; end if;
    return jsonb_build_object('outcome', case when known.id = v_id then 'accepted' else 'repeated' end, 'id', known.id);
  end if;
  -- A job that takes up another one begins behind its finished turns; they are paid for there.
  if j.retry_of is not null then
    insert into dure.job_turns (job_id, number, speaker, text, turn_id, attempts, started_at, finished_at)
    select j.id, t.number, t.speaker, t.text, t.turn_id, 0, t.started_at, t.finished_at from dure.job_turns t where t.job_id = j.retry_of;
    -- So are the words of persons, but for those that no finished turn has heard.
    insert into dure.job_words (job_id, author, text, at)
    select j.id, w.author, w.text, w.at from dure.job_words w where w.job_id = j.retry_of and coalesce(w.turn_number, old.turns_done + 1) > old.turns_done order by w.id;
    update dure.jobs set turns_done = (select count(*) from dure.job_turns where job_id = j.id) where id = j.id returning * into j;
    perform dure.close_job_question(j.retry_of, 'retried');
  end if;
  perform dure.job_event(j, 'job.accepted', jsonb_build_object('message', j.message, 'intent', j.intent, 'depth', j.depth, 'topic', j.topic));
  return jsonb_build_object('outcome', 'accepted', 'id', j.id);
end $$;

-- Nobody has to decide any more what becomes of a job that was given up: it was tried again, or is gone.
create function dure.close_job_question(p_job text, p_why text) returns void language plpgsql as $$
declare
  e dure.escalations;
begin
  for e in select * from dure.escalations where subject = 'job/' || p_job and status = 'open' for update loop
    perform dure.close_escalation(e.id, 'dismissed', jsonb_build_object('value', p_why), 'job');
  end loop;
end $$;

-- The end of a job, with everything that follows from it. The caller has locked the row.
create function dure.end_job(p_job text, p_status text, p_outcome text, p_error jsonb, p_quiet boolean, p_by text) returns void language plpgsql as $$
declare
  j dure.jobs;
  e dure.escalations;
begin
  update dure.jobs set status = p_status, outcome = p_outcome, last_error = coalesce(p_error, last_error), holder = null, has_permit = false, waiting = null,
    updated_at = clock_timestamp(), finished_at = clock_timestamp(),
    announced = case when p_quiet or origin_session is null then 'none' when wait_until > clock_timestamp() - interval '2 seconds' then 'held' else 'told' end
  where id = p_job returning * into j;
  if j.announced = 'told' then perform dure.announce_job(j, j.origin_session, j.origin_turn, j.requester); end if;
  -- What a turn was told that never came to its end was told to nobody: dure.tend_jobs sends it on.
  update dure.job_results set turn_number = null where job_id = p_job and turn_number > j.turns_done;
  -- Nobody may allow any more what it had asked for. Whether something has happened may still be found out, and that starts nothing (see
  -- dure.guard_job_turn). An answer that comes at this moment is waited for, and its turn stopped with the others. Turns are locked before escalations, as by finish_turn.
  perform 1 from dure.turns where status = 'running' and session_id = j.attempt_input->>'session' for no key update;
  for e in select * from dure.escalations where session_id = j.attempt_input->>'session' and status = 'open' order by id for update loop
    if e.type = 'decision' then perform dure.close_escalation(e.id, 'dismissed', '{"value": "job"}', 'job'); end if;
  end loop;
  -- The conversation turn that still runs for it is stopped; one that stands parked goes to whoever ends it.
  update dure.turns set stop = coalesce(stop, jsonb_build_object('by', coalesce(p_by, 'job'))), holder = case when holder = 'parked' then null else holder end
  where status = 'running' and session_id = j.attempt_input->>'session';
  perform dure.job_event(j, 'job.' || lower(p_status), jsonb_build_object('outcome', p_outcome, 'error', p_error, 'by', p_by));
  if p_status = 'ABANDONED' then
    perform dure.raise_escalations(jsonb_build_array(jsonb_build_object('id', 'escalation_' || upper(left(replace(gen_random_uuid()::text, '-', ''), 26)), 'tenant', j.tenant,
      'type', 'job_abandoned', 'severity', 'medium', 'source', jsonb_build_object('job', j.id), 'subject', 'job/' || j.id,
      'title', j.requester || ' → ' || j.target || ': ' || coalesce(nullif(left(j.topic, 100), ''), left(j.message, 100)),
      'description', 'The job was given up after turn ' || j.turns_done || ': ' || coalesce(p_error->>'message', p_outcome) || ' Try it again?',
      'context', jsonb_build_object('jobId', j.id, 'outcome', p_outcome, 'requester', j.requester, 'target', j.target, 'message', left(j.message, 500), 'turnsDone', j.turns_done),
      'suggestedActions', '[{"value": "retry", "label": "다시 시도 / Try again", "style": "primary"}, {"value": "leave", "label": "그대로 두기 / Leave it"}]'::jsonb)));
  end if;
end $$;

-- Gives permits, and with them jobs, to a living process: what a person has answered, what waits in line, and its own jobs that it does not know.
-- Also ends what was not permitted in time. Gives {taken: [{id, quarantined}], lost: [ids that are no longer its]}.
create function dure.take_jobs(p jsonb) returns jsonb language plpgsql as $$
declare
  v_holder text := p->>'holder';
  v_room integer := (p->>'room')::integer;
  v_permits integer := (p->>'permits')::integer;
  v_known text[] := array(select jsonb_array_elements_text(p->'known'));
  v_agents text[] := array(select jsonb_array_elements_text(p->'agents'));
  -- In quarantine here.
  v_alone text[] := array(select jsonb_array_elements_text(p->'alone'));
  -- Who alone may begin now; null: everybody.
  v_only text[];
  v_now bigint := (select running_ms from dure.job_clock);
  v_taken jsonb := '[]';
  v_lost jsonb;
  v_target text;
  v_free integer;
  v_line text[];
  j dure.jobs;
begin
  -- Who waits, as it was before this transaction got its number: readers of events order by that number, so a job that is accepted
  -- only now must not be started in front of its own acceptance.
  v_line := array(
    select c.id || ':' || c.epoch from (select distinct target from dure.jobs where status = 'PENDING') t
    cross join lateral (select id, epoch from dure.jobs where status = 'PENDING' and target = t.target order by seq limit v_permits + 50) c);
  -- Whoever ends this process waits for us, or we see it.
  perform 1 from dure.processes where id = v_holder and ended_at is null for key share;
  if not found then return jsonb_build_object('taken', '[]'::jsonb, 'lost', to_jsonb(v_known)); end if;
  select coalesce(jsonb_agg(k), '[]') into v_lost from unnest(v_known) k
  where not exists (select 1 from dure.jobs where id = k and status = 'RUNNING' and holder = v_holder);

  for j in update dure.jobs set epoch = epoch + 1, held_at = clock_timestamp() where id in (
      select id from dure.jobs where status = 'RUNNING' and holder = v_holder and not (id = any(v_known)) and held_at < clock_timestamp() - interval '2 seconds' limit greatest(v_room, 0) for update skip locked)
    returning * loop
    v_taken := v_taken || jsonb_build_object('id', j.id, 'quarantined', j.resume_count >= 2);
  end loop;

  -- One that was resumed twice without progress runs alone; when it has waited long for that, nobody begins anything before it.
  -- But for the work that a running one has asked for and perhaps waits for: else it would wait in vain.
  if cardinality(v_alone) > 0 then
    v_only := dure.job_descendants(v_alone);
  elsif cardinality(v_known) > 0 and exists (select 1 from dure.jobs where status = 'PENDING' and resume_count >= 2 and held_at < clock_timestamp() - interval '60 seconds') then
    v_only := dure.job_descendants(v_known);
  end if;
  for v_target in select target from dure.jobs where status = 'PENDING' union select target from dure.jobs where waiting is not null and holder is null order by 1 loop
    continue when not pg_try_advisory_xact_lock(hashtextextended('dure:job-permits:' || v_target, 0));
    v_free := v_permits - (select count(*) from dure.jobs where target = v_target and has_permit);

    -- A person has answered. The waiting was no lack of progress.
    for j in select * from dure.jobs w where w.status = 'RUNNING' and w.waiting = 'person' and w.holder is null and w.target = v_target
        and (v_only is null or w.id = any(v_only))
        and not exists (select 1 from dure.escalations e where e.session_id = w.attempt_input->>'session' and e.status = 'open' and (e.expires_at is null or e.expires_at > clock_timestamp()))
        -- Agents that this process does not know may be known to a newer one; when nobody comes, the truth is told.
        and ((w.target = any(v_agents) and w.requester = any(v_agents)) or not exists (select 1 from dure.escalations e
          where e.session_id = w.attempt_input->>'session' and coalesce(e.resolved_at, e.expires_at) > clock_timestamp() - (p->>'unknown_agent_ms')::double precision * interval '1 millisecond'))
      order by w.seq limit greatest(least(v_free, v_room - jsonb_array_length(v_taken)), 0) for update skip locked
    loop
      update dure.jobs set epoch = epoch + 1, held_at = clock_timestamp(), holder = v_holder, has_permit = true, waiting = null, updated_at = clock_timestamp(), progress_ms = v_now
      where id = j.id returning * into j;
      perform dure.unpark_turns(j);
      v_taken := v_taken || jsonb_build_object('id', j.id, 'quarantined', j.resume_count >= 2);
      v_free := v_free - 1;
    end loop;

    for j in select * from dure.jobs where status = 'PENDING' and target = v_target and id || ':' || epoch = any(v_line)
        and (v_only is null or id = any(v_only))
        and (resume_count < 2 or (cardinality(v_known) = 0 and jsonb_array_length(v_taken) = 0) or (cardinality(v_alone) > 0 and id = any(v_only)))
        and ((target = any(v_agents) and requester = any(v_agents)) or queued_ms < v_now - (p->>'unknown_agent_ms')::bigint)
      order by seq limit greatest(least(v_free, v_room - jsonb_array_length(v_taken)), 0) for update skip locked
    loop
      continue when j.resume_count >= 2 and cardinality(v_alone) = 0 and jsonb_array_length(v_taken) > 0;
      update dure.jobs set status = 'RUNNING', epoch = epoch + 1, holder = v_holder, held_at = clock_timestamp(), has_permit = true,
        started_at = coalesce(started_at, clock_timestamp()), updated_at = clock_timestamp(), progress_ms = v_now
      where id = j.id returning * into j;
      perform dure.unpark_turns(j);
      perform dure.job_event(j, 'job.started', jsonb_build_object('turn', j.turns_done + 1, 'resumed', j.resumes > 0, 'quarantined', j.resume_count >= 2));
      v_taken := v_taken || jsonb_build_object('id', j.id, 'quarantined', j.resume_count >= 2);
      v_free := v_free - 1;
      if j.resume_count >= 2 and cardinality(v_alone) = 0 then return jsonb_build_object('taken', v_taken, 'lost', v_lost); end if;
    end loop;

    -- Only who waits behind permits that are all given away is blocked by them. Whatever else keeps a job back is not its agent's doing.
    if v_free > 0 then
      delete from dure.job_lines where target = v_target;
    else
      insert into dure.job_lines (target, full_since_ms) values (v_target, v_now) on conflict do nothing;
      for j in select * from dure.jobs where status = 'PENDING' and target = v_target and started_at is null
          and greatest(queued_ms, (select full_since_ms from dure.job_lines where target = v_target)) < v_now - (p->>'permit_wait_ms')::bigint
        order by seq limit 100 for update skip locked
      loop
        update dure.jobs set status = 'RUNNING' where id = j.id;
        perform dure.end_job(j.id, 'FAILED', 'blocked', jsonb_build_object('code', 'JOB_BLOCKED',
          'message', j.target || ' was busy with other exchanges (' || v_permits || ' at once) for ' || ((p->>'permit_wait_ms')::bigint / 1000) || ' s.'), false, null);
      end loop;
    end if;
  end loop;
  return jsonb_build_object('taken', v_taken, 'lost', v_lost);
end $$;

-- Open jobs that these have asked for, at whatever depth.
create function dure.job_descendants(p_jobs text[]) returns text[] language sql stable as $$
  with recursive d as (
    select id from dure.jobs where parent_id = any(p_jobs) and finished_at is null
    union select c.id from d join dure.jobs c on c.parent_id = d.id and c.finished_at is null)
  select coalesce(array_agg(id), '{}') from d
$$;

-- A conversation turn of a job that is over ends before it does anything; the one that a person's answer starts waits for the permit of its job.
-- The lock: between our look and our commit no job begins to wait (dure.wait_job), so no turn runs beside a permit that was given back.
create function dure.guard_job_turn() returns trigger language plpgsql as $$
declare
  o dure.jobs;
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('dure:job-answer:' || split_part(new.session_id, ':', 2), 0));
  select * into o from dure.jobs where id = split_part(new.session_id, ':', 2);
  if not found then return new; end if;
  if o.finished_at is not null then
    new.stop := coalesce(new.stop, '{"by": "job"}');
  elsif o.waiting is not null and o.holder is null and new.status = 'running' and new.holder is null then
    new.holder := 'parked';
  end if;
  return new;
end $$;
create trigger turns_job before insert on dure.turns for each row when (new.session_id like 'job:%') execute function dure.guard_job_turn();

-- Hands the conversation turn of a job to the process that holds the job, so that it runs there and nowhere else. Its engine finds it at the next look.
create function dure.unpark_turns(j dure.jobs) returns void language sql as $$
  update dure.turns set holder = j.holder, held_at = clock_timestamp() - interval '1 hour'
  where status = 'running' and holder = 'parked' and session_id = j.attempt_input->>'session'
$$;

-- The turns of a dead process that belong to jobs: taken from it like any other, but nobody runs them before their job runs again.
-- To be called before dure.release_turns. A job that another process holds keeps its turn with that one.
create function dure.park_job_turns(p_holder text) returns integer language plpgsql as $$
declare
  v_count integer;
begin
  update dure.turns t set epoch = t.epoch + 1, held_at = clock_timestamp() - interval '1 hour',
    holder = case when o.status in ('PENDING', 'RUNNING') then case when o.holder is distinct from p_holder and o.holder is not null then o.holder else 'parked' end end,
    stop = case when o.status in ('PENDING', 'RUNNING') then t.stop else coalesce(t.stop, jsonb_build_object('by', 'job')) end
  from dure.turns u left join dure.jobs o on o.id = split_part(u.session_id, ':', 2)
  where u.id = t.id and t.status = 'running' and t.holder = p_holder and t.session_id like 'job:%';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- The jobs of a dead process: back in line, or given up. p_counts is false for one that stopped in good order. Safe to repeat.
create function dure.release_jobs(p_holder text, p_counts boolean, p_resumes_most integer, p_stale_ms bigint) returns jsonb language plpgsql as $$
declare
  v_now bigint := (select running_ms from dure.job_clock);
  v_resumed integer := 0;
  v_abandoned integer := 0;
  j dure.jobs;
begin
  perform dure.park_job_turns(p_holder);
  for j in select * from dure.jobs where status = 'RUNNING' and holder = p_holder order by depth, id for update loop
    if p_counts and j.resume_count >= p_resumes_most then
      perform dure.end_job(j.id, 'ABANDONED', 'resume_limit', jsonb_build_object('code', 'JOB_RESUME_LIMIT',
        'message', 'It was resumed ' || j.resume_count || ' times in turn ' || (j.turns_done + 1) || ' without finishing it.'), false, null);
      v_abandoned := v_abandoned + 1;
    elsif v_now - j.progress_ms > p_stale_ms then
      perform dure.end_job(j.id, 'ABANDONED', 'stale', jsonb_build_object('code', 'JOB_STALE',
        'message', 'It made no progress for ' || (p_stale_ms / 60000) || ' minutes of running time.'), false, null);
      v_abandoned := v_abandoned + 1;
    else
      update dure.jobs set status = 'PENDING', holder = null, epoch = epoch + 1, has_permit = false, held_at = clock_timestamp(), queued_ms = v_now, updated_at = clock_timestamp(),
        resume_count = resume_count + p_counts::integer, resumes = resumes + 1
      where id = j.id returning * into j;
      perform dure.job_event(j, 'job.resuming', jsonb_build_object('turn', j.turns_done + 1, 'resumeCount', j.resume_count));
      v_resumed := v_resumed + 1;
    end if;
  end loop;
  return jsonb_build_object('resumed', v_resumed, 'abandoned', v_abandoned);
end $$;

-- Gives up what has made no progress for too long although its holder lives. Returns how many.
create function dure.abandon_stale_jobs(p_stale_ms bigint) returns integer language plpgsql as $$
declare
  v_now bigint := (select running_ms from dure.job_clock);
  v_count integer := 0;
  j dure.jobs;
begin
  for j in select * from dure.jobs where status = 'RUNNING' and waiting is null and progress_ms < v_now - p_stale_ms order by depth, id limit 100 for update skip locked loop
    update dure.jobs set epoch = epoch + 1 where id = j.id;
    perform dure.end_job(j.id, 'ABANDONED', 'stale', jsonb_build_object('code', 'JOB_STALE',
      'message', 'It made no progress for ' || (p_stale_ms / 60000) || ' minutes of running time.'), false, null);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;

-- Begins an attempt of the next exchange turn. False when the job is no longer ours. A repeated call changes nothing.
create function dure.begin_job_turn(p_job text, p_epoch integer, p_attempt integer, p_input jsonb, p_words bigint[], p_results text[]) returns boolean language plpgsql as $$
declare
  j dure.jobs;
begin
  select * into j from dure.jobs where id = p_job and epoch = p_epoch and status = 'RUNNING' for no key update;
  if not found then return false; end if;
  if j.attempt >= p_attempt then return true; end if;
  update dure.jobs set attempt = p_attempt, attempt_input = p_input, attempt_from = coalesce((select next_ordinal from dure.sessions where id = p_input->>'session'), 0), turn_at = coalesce(turn_at, clock_timestamp()),
    current_turn = null, ended_by_turn = null, updated_at = clock_timestamp()
  where id = p_job;
  update dure.job_words set turn_number = j.turns_done + 1 where job_id = p_job and id = any(p_words) and turn_number is null;
  update dure.job_results set turn_number = j.turns_done + 1 where job_id = p_job and child_id = any(p_results) and turn_number is null;
  return true;
end $$;

-- Notes the conversation turn that runs for the exchange turn. False when the job is no longer ours.
create function dure.note_job_turn(p_job text, p_epoch integer, p_turn text) returns boolean language plpgsql as $$
begin
  update dure.jobs set current_turn = p_turn, attempt_turns = case when p_turn = any(attempt_turns) then attempt_turns else attempt_turns || p_turn end
  where id = p_job and epoch = p_epoch and status = 'RUNNING';
  return found;
end $$;

-- Records a finished exchange turn, or the end of the job, or both: 'continues', 'over', or 'fenced' (another one has the job, or it was cancelled).
-- A person's words that nobody was told yet keep a job from its natural end. A repeated call says what the first one did.
create function dure.settle_job(p jsonb) returns text language plpgsql as $$
declare
  v_turn jsonb := p->'turn';
  v_end jsonb := p->'end';
  j dure.jobs;
  u record;
begin
  select * into j from dure.jobs where id = p->>'job' and epoch = (p->>'epoch')::integer for update;
  if not found then return 'fenced'; end if;
  if v_turn is not null and j.turns_done >= (v_turn->>'number')::integer then
    return case when j.status = 'RUNNING' then 'continues' else 'over' end;
  end if;
  if j.status <> 'RUNNING' then return case when v_turn is null and j.status = v_end->>'status' then 'over' else 'fenced' end; end if;
  if v_turn is not null then
    select coalesce(sum(tokens_in), 0) as tokens_in, coalesce(sum(tokens_out), 0) as tokens_out, sum(cost_micro_usd) as cost, coalesce(max(attempt), 1) as attempts into u
    from dure.model_calls where session_id = j.attempt_input->>'session' and turn_id = any(j.attempt_turns);
    insert into dure.job_turns (job_id, number, speaker, text, tokens_in, tokens_out, cost_micro_usd, turn_id, attempts, started_at)
    values (j.id, (v_turn->>'number')::integer, v_turn->>'speaker', v_turn->>'text', u.tokens_in, u.tokens_out, u.cost, j.current_turn, greatest(j.attempt, 1) + u.attempts - 1, coalesce(j.turn_at, clock_timestamp()));
    update dure.jobs set turns_done = (v_turn->>'number')::integer, resume_count = 0, attempt = 0, turn_at = null, current_turn = null, attempt_turns = '{}', ended_by_turn = null,
      progress_ms = (select running_ms from dure.job_clock), updated_at = clock_timestamp()
    where id = j.id returning * into j;
    perform dure.job_event(j, 'job.turn', jsonb_build_object('number', j.turns_done, 'speaker', v_turn->>'speaker', 'text', v_turn->>'text',
      'tokensIn', u.tokens_in, 'tokensOut', u.tokens_out, 'costMicroUsd', u.cost));
  end if;
  if v_end is null then return 'continues'; end if;
  if v_end->>'status' = 'COMPLETED' and exists (select 1 from dure.job_words where job_id = j.id and turn_number is null) then
    update dure.jobs set max_turns = greatest(max_turns, turns_done + 1) where id = j.id;
    return 'continues';
  end if;
  perform dure.end_job(j.id, v_end->>'status', v_end->>'outcome', v_end->'error', coalesce((v_end->>'quiet')::boolean, false), null);
  return 'over';
end $$;

-- The conversation turn that a person's answer has started behind another one. By the order of the session, never by a clock.
create function dure.turn_behind(p_session text, p_turn text) returns text language sql stable as $$
  select m.turn_id from dure.messages m join dure.turns t on t.id = m.turn_id
  where m.session_id = p_session and t.author = 'system' and m.ordinal > (select max(ordinal) from dure.messages where turn_id = p_turn)
  order by m.ordinal limit 1
$$;

-- The turn waits for a person: the permit is free for others, nobody holds the job. 'again': they have answered meanwhile, or are
-- answering, so there is something to follow; 'fenced': it is no longer ours.
create function dure.wait_job(p_job text, p_epoch integer) returns text language plpgsql as $$
declare
  j dure.jobs;
begin
  select * into j from dure.jobs where id = p_job and epoch = p_epoch and status = 'RUNNING' for no key update;
  if not found then return 'fenced'; end if;
  -- See guard_job_turn. Tried, never waited for: who answers may hold what a cancel of this job waits for.
  if not pg_try_advisory_xact_lock(hashtextextended('dure:job-answer:' || p_job, 0)) then return 'again'; end if;
  if dure.turn_behind(j.attempt_input->>'session', j.current_turn) is not null then
    return 'again';
  end if;
  update dure.jobs set waiting = 'person', has_permit = false, holder = null, updated_at = clock_timestamp() where id = p_job returning * into j;
  perform dure.job_event(j, 'job.waiting', jsonb_build_object('for', 'person', 'turn', j.turns_done + 1));
  return 'rests';
end $$;

-- Cancels a job and everything that it asked for, ancestors first. Null: no such job of this tenant. Gives its status before, and how many were cancelled.
create function dure.cancel_job(p_job text, p_tenant text, p_by text) returns jsonb language plpgsql as $$
declare
  v_before text;
  v_count integer := 0;
  v_round text[] := array[p_job];
  j dure.jobs;
begin
  select status into v_before from dure.jobs where id = p_job and tenant = p_tenant for update;
  if not found then return null; end if;
  if v_before not in ('PENDING', 'RUNNING') then return jsonb_build_object('before', v_before, 'cancelled', 0); end if;
  while cardinality(v_round) > 0 loop
    for j in select * from dure.jobs where id = any(v_round) and status in ('PENDING', 'RUNNING') order by id for update loop
      update dure.jobs set epoch = epoch + 1 where id = j.id;
      -- Who is told that the work was cancelled is told it once.
      perform dure.end_job(j.id, 'CANCELLED', 'cancelled', null, j.id <> p_job, p_by);
      v_count := v_count + 1;
    end loop;
    v_round := array(select id from dure.jobs where parent_id = any(v_round));
  end loop;
  return jsonb_build_object('before', v_before, 'cancelled', v_count);
end $$;

-- Words of a person for the next exchange turn. Null: no such job; 'full': one turn cannot be told so much, nothing changed; else its status before.
create function dure.speak_into_job(p_job text, p_tenant text, p_author text, p_text text, p_words_most integer, p_bytes_most integer) returns text language plpgsql as $$
declare
  j dure.jobs;
  v_id bigint;
  v_words integer;
  v_bytes bigint;
begin
  select * into j from dure.jobs where id = p_job and tenant = p_tenant for no key update;
  if not found then return null; end if;
  if j.status in ('PENDING', 'RUNNING') then
    select count(*), coalesce(sum(octet_length(text)), 0) into v_words, v_bytes from dure.job_words where job_id = p_job and turn_number is null;
    if v_words >= p_words_most or v_bytes + octet_length(p_text) > p_bytes_most then return 'full'; end if;
    insert into dure.job_words (job_id, author, text) values (p_job, p_author, p_text) returning id into v_id;
    perform dure.job_event(j, 'job.spoken', jsonb_build_object('id', v_id, 'by', p_author, 'text', p_text));
  end if;
  return j.status;
end $$;

-- Keeps a result for the next turn of a session. False: one of them is gone, and nobody is left to tell or to be told.
create function dure.keep_job_note(p_job text, p_session text) returns boolean language plpgsql as $$
begin
  insert into dure.job_notes (session_id, job_id) select s.id, j.id from dure.sessions s, dure.jobs j where s.id = p_session and j.id = p_job on conflict do nothing;
  return found;
end $$;

-- Gives the notes of a session to a turn: those that nobody told, those of turns that failed, and those it was given before. Gives their jobs.
create function dure.take_job_notes(p_session text, p_turn text, p_limit integer) returns jsonb language sql as $$
  with due as (
    select n.job_id from dure.job_notes n left join dure.turns t on t.id = n.turn_id
    where n.session_id = p_session and (n.turn_id is null or n.turn_id = p_turn or (t.status = 'done' and jsonb_typeof(t.done->'error') = 'object'))
    order by n.turn_id = p_turn desc nulls last, n.at, n.job_id limit p_limit),
  given as (update dure.job_notes n set turn_id = p_turn from due where n.session_id = p_session and n.job_id = due.job_id returning n.job_id)
  select coalesce(jsonb_agg(job_id), '[]') from given
$$;

-- The caller takes the answer itself, so no notice is needed: one that has not left is taken back. False: it is told by its notice, and by that alone.
create function dure.job_answered(p_job text) returns boolean language plpgsql as $$
declare
  v_announced text;
begin
  select announced into v_announced from dure.jobs where id = p_job for no key update;
  if v_announced = 'told' then
    delete from dure.job_results where child_id = p_job and turn_number is null;
    if not found then delete from dure.job_notes where job_id = p_job and turn_id is null; end if;
    if not found then delete from dure.outbox where topic = 'job.announce' and key = 'job:' || p_job || ':announce' and state = 'pending'; end if;
    if not found then return false; end if;
  end if;
  update dure.jobs set announced = 'answered' where id = p_job and announced in ('held', 'told');
  return true;
end $$;

-- What goes on beside the exchanges: running time, notices for callers that did not come back, conversation turns of jobs that are over.
create function dure.tend_jobs(p_step_most double precision) returns jsonb language plpgsql as $$
declare
  v_notices integer := 0;
  v_open integer;
  j dure.jobs;
  r record;
begin
  v_open := (select count(*) from dure.jobs where status = 'PENDING') + (select count(*) from dure.jobs where status = 'RUNNING');
  if v_open > 0 then
    update dure.job_clock set running_ms = running_ms + least(greatest(extract(epoch from clock_timestamp() - ticked_at) * 1000, 0), p_step_most), ticked_at = clock_timestamp()
    where abs(extract(epoch from clock_timestamp() - ticked_at)) >= 0.5;
  end if;
  for j in update dure.jobs set announced = 'told' where id in (
      select id from dure.jobs where announced = 'held' and wait_until < clock_timestamp() - interval '5 seconds' limit 100 for update skip locked)
    returning * loop
    perform dure.announce_job(j, j.origin_session, j.origin_turn, j.requester);
    v_notices := v_notices + 1;
  end loop;
  -- Results for an exchange that ended before the agent's next turn go on to where that one was asked. That its agents wanted no notice of
  -- their own result says nothing of these.
  for r in delete from dure.job_results x using dure.jobs o where o.id = x.job_id and x.turn_number is null and o.finished_at is not null
    returning x.child_id, o.origin_session, o.origin_turn, o.requester, o.status = 'CANCELLED' as dropped loop
    select * into j from dure.jobs where id = r.child_id;
    if not found or r.dropped then continue; end if;
    perform dure.announce_job(j, r.origin_session, r.origin_turn, r.requester);
    v_notices := v_notices + 1;
  end loop;
  -- Accepted when their job was ending; nobody waits for them.
  update dure.turns t set stop = jsonb_build_object('by', 'job'), holder = case when t.holder = 'parked' then null else t.holder end
  from dure.jobs o where t.status = 'running' and t.stop is null and t.session_id like 'job:%' and o.id = split_part(t.session_id, ':', 2) and o.status not in ('PENDING', 'RUNNING');
  return jsonb_build_object('open', v_open, 'notices', v_notices);
end $$;

-- Removes finished jobs older than p_keep_ms, with their sessions: at most p_limit. Returns how many.
create function dure.purge_jobs(p_keep_ms double precision, p_limit integer) returns integer language plpgsql as $$
declare
  v_jobs text[];
  v_sessions text[];
begin
  v_jobs := array(select id from dure.jobs where finished_at < clock_timestamp() - p_keep_ms * interval '1 millisecond' order by finished_at limit p_limit for update skip locked);
  if cardinality(v_jobs) = 0 then return 0; end if;
  v_sessions := array(select distinct t.session_id from dure.job_turns jt join dure.turns t on t.id = jt.turn_id where jt.job_id = any(v_jobs) and jt.attempts > 0
    union select attempt_input->>'session' from dure.jobs where id = any(v_jobs) and attempt_input is not null);
  v_sessions := array(select id from dure.sessions where id = any(v_sessions) and id like 'job:%' and running_turn is null);
  delete from dure.turn_events where turn_id in (select id from dure.turns where session_id = any(v_sessions));
  delete from dure.turns where session_id = any(v_sessions);
  delete from dure.messages where session_id = any(v_sessions);
  delete from dure.completed where session_id = any(v_sessions);
  delete from dure.effects where session_id = any(v_sessions) and status in ('done', 'failed');
  delete from dure.sessions where id = any(v_sessions);
  perform dure.close_job_question(id, 'gone') from unnest(v_jobs) id;
  delete from dure.jobs where id = any(v_jobs);
  return cardinality(v_jobs);
end $$;
`;
