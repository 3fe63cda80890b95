import type { Guard } from "../mutate.ts";
import { jobs, jobTable, recovery, testsIn } from "./tests-in.ts";

const STORE = "packages/dure/src/jobs/store.ts";
const EARLIER = "packages/dure/src/jobs/earlier-words.ts";
const READER = "packages/dure/src/jobs/job-reader.ts";
const jobRetries = testsIn("packages/dure/src/jobs/job-retry.test.ts");
const jobRoutes = testsIn("packages/dure/src/server/job-routes.test.ts");

const ASKED_AT_ONCE =
  "of two that ask at once under one key the later gets the tenant's own job, or is refused";

const FILES_READ =
  "files go with a request of who may read them, and are read by who may see the job";

/** Who leads an exchange, how many run, and who may look at it. */
export const JOB_GUARDS: readonly Guard[] = [
  {
    id: "jobs.files.scope",
    at: { file: "packages/dure/src/server/job-routes.ts" },
    find: 'assertMay(request.principal, "chat"); // as for the file itself',
    replace: "",
    tests: jobRoutes(FILES_READ),
    why: "a token that may not read a conversation gets its files through a job",
  },
  {
    id: "jobs.files.conversations",
    at: { file: "packages/dure/src/rooms/look/place-files.ts" },
    find: '!key.includes(" ") && ',
    replace: "",
    tests: jobRoutes(FILES_READ),
    why: "a file of a job is given to one who may not see the job",
  },
  {
    id: "take_jobs.paused",
    at: { sql: "take_jobs" },
    find: "and not dure.job_is_paused(jobs)",
    replace: "",
    tests: jobs("a job of a paused agent is not started, and goes on after the resume"),
    why: "a job of a paused agent takes a permit and begins",
  },
  {
    id: "check_job_status.pending",
    at: { sql: "check_job_status" },
    find: "when 'PENDING' then new.status in ('RUNNING', 'CANCELLED', 'ABANDONED')",
    replace: "when 'PENDING' then true",
    tests: jobTable("the database refuses every transition that the table does not have"),
    why: "a job that never began is called completed",
  },
  {
    id: "check_job_status.over",
    at: { sql: "check_job_status" },
    find: "old.status in ('FAILED', 'ABANDONED') and new.status = 'PENDING'",
    replace: "new.status = 'PENDING'",
    tests: jobTable("the database refuses every transition that the table does not have"),
    why: "a job that has ended goes on",
  },
  {
    id: "check_job_status.recovery",
    at: { sql: "check_job_status" },
    find:
      "(new.status = 'PENDING' and new.holder is null and new.epoch > old.epoch and new.resumes > " +
      "old.resumes)",
    replace: "new.status = 'PENDING'",
    tests: jobTable("the database refuses every transition that the table does not have"),
    why: "a running job is put back in line while its holder writes on",
  },
  {
    id: "retry_job.tenant",
    at: { sql: "retry_job" },
    find: "where id = p_job and tenant = p_tenant for update;",
    replace: "where id = p_job for update;",
    tests: jobRetries("a job of another tenant is not opened, whatever id is handed in"),
    why: "a tenant opens a job of another again",
  },
  {
    id: "retry_job.parked",
    at: { sql: "retry_job" },
    find: "set holder = 'parked'",
    replace: "set holder = holder",
    tests: jobRetries("a retried job waits for its permit, and its turn with it"),
    why: "an agent answers more at once than it may after retries",
  },
  {
    id: "retry_job.told-again",
    at: { sql: "retry_job" },
    find: "delete from dure.job_results where child_id = p_job;",
    replace: "",
    tests: jobRetries("an agent that was told in its exchange of a failure is told there"),
    why: "an agent that asked never hears what came of a retry",
  },
  {
    id: "job_retry.cancelled",
    at: { sql: "job_retry" },
    find: "if j.status in ('COMPLETED', 'CANCELLED') then return lower(j.status); end if;",
    replace: "",
    tests: jobRetries("a job that a person has cancelled or whose turn a person has stopped"),
    why: "what a person has cancelled is begun again",
  },
  {
    id: "job_retry.stopped",
    at: { sql: "job_retry" },
    find: "then return 'stopped'; end if;",
    replace: "then null; end if;",
    tests: jobRetries("a job that a person has cancelled or whose turn a person has stopped"),
    why: "what a person has stopped is begun again",
  },
  {
    id: "job_retry.acted",
    at: { sql: "job_retry" },
    find: "where u.id = any(j.attempt_turns || t.id) and dure.has_acted(u)",
    replace: "where false",
    tests: jobRetries("a turn that has acted and cannot go on is not led again"),
    why: "a retry does again what the turn before it has done",
  },
  {
    id: "retry_turn.job-over",
    at: { sql: "retry_turn" },
    find: "and id = split_part(t.session_id, ':', 2) and finished_at is not null",
    replace: "and false",
    tests: jobRetries("the turn of a job that is over is opened through its job alone"),
    why: "a turn runs whose job has ended",
  },
  {
    id: "ask_job.key-body",
    at: { sql: "ask_job" },
    find: "if known.body_hash <> p->>'body_hash' then raise",
    replace: "if false then raise",
    tests: jobs("the same key gives the same job, another request under it is refused"),
    why: "another request under a used key is taken for the first one",
  },
  {
    id: "ask_job.parent-tenant",
    at: { sql: "ask_job" },
    find: "select root_id into v_root from dure.jobs where id = v_parent and tenant = p->>'tenant';",
    replace: "select root_id into v_root from dure.jobs where id = v_parent;",
    tests: jobs("no other tenant cancels or speaks into a job that runs, or adds work to it"),
    why: "a tenant adds work to the jobs of another",
  },
  {
    id: "ask_job.parent-over",
    at: { sql: "ask_job" },
    find: "if parent.status not in ('PENDING', 'RUNNING') then raise",
    replace: "if false then raise",
    tests: jobs("requests are at most five deep, and the jobs of one root are counted together"),
    why: "work is begun for a job that was cancelled",
  },
  {
    id: "ask_job.depth",
    at: { sql: "ask_job" },
    find: "if v_depth > (p->>'max_depth')::integer then raise",
    replace: "if false then raise",
    tests: jobs("requests are at most five deep"),
    why: "agents ask each other without end",
  },
  {
    id: "ask_job.tree",
    at: { sql: "ask_job" },
    find:
      "    v_work := parent.root_work;\n    if v_depth > (p->>'max_depth')::integer then raise " +
      "exception using errcode = 'DU413', message = 'too deep'; end if;\n    if (select count(*) " +
      "from dure.jobs where root_id = v_root) >= (p->>'max_tree')::integer then",
    replace:
      "    v_work := parent.root_work;\n    if v_depth > (p->>'max_depth')::integer then raise " +
      "exception using errcode = 'DU413', message = 'too deep'; end if;\n    if false then",
    tests: jobs("requests are at most five deep, and the jobs of one root are counted together"),
    why: "one piece of work makes any number of jobs",
  },
  {
    id: "take_jobs.living",
    at: { sql: "take_jobs" },
    find: "perform 1 from dure.processes where id = v_holder and ended_at is null for key share;",
    replace: "perform 1;",
    tests: recovery("a process that is dead to the others is given no job"),
    why: "a dead process takes jobs",
  },
  {
    id: "take_jobs.permits",
    at: { sql: "take_jobs" },
    find: "v_free := v_permits - (select count(*) from dure.jobs where target = v_target and has_permit);",
    replace: "v_free := v_permits;",
    tests: jobs("of fifty requests to one agent never more than three run"),
    why: "an agent leads more exchanges at once than it may",
  },
  {
    id: "take_jobs.permit-count",
    at: { sql: "take_jobs" },
    find:
      "      perform dure.job_event(j, 'job.started', jsonb_build_object('turn', j.turns_done + 1, " +
      "'resumed', j.resumes > 0, 'quarantined', j.resume_count >= 2));",
    replace:
      "      update dure.jobs set has_permit = false where id = j.id; perform dure.job_event(j, " +
      "'job.started', jsonb_build_object('turn', j.turns_done + 1, 'resumed', j.resumes > 0, " +
      "'quarantined', j.resume_count >= 2));",
    tests: jobs("of fifty requests to one agent never more than three run"),
    why: "a permit that was given is not counted",
  },
  {
    id: "take_jobs.order",
    at: { sql: "take_jobs" },
    find:
      "      order by seq limit greatest(least(v_free, v_room - jsonb_array_length(v_taken)), 0) " +
      "for update skip locked",
    replace:
      "      order by seq desc limit greatest(least(v_free, v_room - jsonb_array_length(v_taken)), " +
      "0) for update skip locked",
    tests: jobs("of fifty requests to one agent never more than three run, in the order"),
    why: "younger requests overtake older ones",
  },
  {
    id: "take_jobs.agents",
    at: { sql: "take_jobs" },
    find:
      "        and ((target = any(v_agents) and requester = any(v_agents)) or queued_ms < v_now - " +
      "(p->>'unknown_agent_ms')::bigint)",
    replace: "",
    tests: recovery(
      "a job that was resumed long after it was asked is left to a process that knows its agents",
    ),
    why: "a process takes work for agents that it does not have",
  },
  {
    id: "take_jobs.alone",
    at: { sql: "take_jobs" },
    find:
      "and (resume_count < 2 or (cardinality(v_known) = 0 and jsonb_array_length(v_taken) = 0) or " +
      "(cardinality(v_alone) > 0 and id = any(v_only)))",
    replace: "",
    tests: recovery("a job resumed twice without progress waits until it can run alone"),
    why: "a job that kills its process kills the work of others with it",
  },
  {
    id: "take_jobs.epoch",
    at: { sql: "take_jobs" },
    find: "update dure.jobs set status = 'RUNNING', epoch = epoch + 1, holder = v_holder,",
    replace: "update dure.jobs set status = 'RUNNING', holder = v_holder,",
    tests: recovery("each taking of a job closes it to the holder before"),
    why: "the holder before writes on in a job that another leads",
  },
  {
    id: "begin_job_turn.epoch",
    at: { sql: "begin_job_turn" },
    find: " and epoch = p_epoch",
    replace: "",
    tests: recovery("every write of an exchange under an epoch that has passed is refused"),
    why: "a process that lost the job begins a turn of it",
  },
  {
    id: "begin_job_turn.again",
    at: { sql: "begin_job_turn" },
    find: "if j.attempt >= p_attempt then return true; end if;",
    replace: "",
    tests: recovery("an attempt that was begun keeps what its agent was told"),
    why: "an attempt that goes on says other words than before",
  },
  {
    id: "note_job_turn.epoch",
    at: { sql: "note_job_turn" },
    find: " and epoch = p_epoch",
    replace: "",
    tests: recovery("every write of an exchange under an epoch that has passed is refused"),
    why: "a process that lost the job changes the turn that runs for it",
  },
  {
    id: "settle_job.epoch",
    at: { sql: "settle_job" },
    find: " and epoch = (p->>'epoch')::integer",
    replace: "",
    tests: recovery("every write of an exchange under an epoch that has passed is refused"),
    why: "a process that lost the job ends it",
  },
  {
    id: "settle_job.again",
    at: { sql: "settle_job" },
    find: "if v_turn is not null and j.turns_done >= (v_turn->>'number')::integer then",
    replace: "if false then",
    tests: recovery("every write of an exchange may be repeated after a lost answer"),
    why: "a turn whose answer was lost is counted twice",
  },
  {
    id: "settle_job.words",
    at: { sql: "settle_job" },
    find:
      "if v_end->>'status' = 'COMPLETED' and exists (select 1 from dure.job_words where job_id = " +
      "j.id and turn_number is null) then",
    replace: "if false then",
    tests: jobs("a person's words reach the next turn"),
    why: "an exchange ends over a person's words that no agent was told",
  },
  {
    id: "wait_job.epoch",
    at: { sql: "wait_job" },
    find: " and epoch = p_epoch",
    replace: "",
    tests: recovery("every write of an exchange under an epoch that has passed is refused"),
    why: "a process that lost the job lets it rest",
  },
  {
    id: "wait_job.answered",
    at: { sql: "wait_job" },
    find: "if dure.turn_behind(j.attempt_input->>'session', j.current_turn) is not null then",
    replace: "if false then",
    tests: jobs("an answer that comes before the job has begun to wait"),
    why: "a job waits for an answer that was given",
  },
  {
    id: "guard_job_turn.over",
    at: { sql: "guard_job_turn" },
    find: "if o.finished_at is not null then",
    replace: "if false then",
    tests: jobs("a conversation turn of a job that is over is stopped before it asks"),
    why: "a job that is over does something",
  },
  {
    id: "guard_job_turn.parked",
    at: { sql: "guard_job_turn" },
    find:
      "elsif o.waiting is not null and o.holder is null and new.status = 'running' and new.holder " +
      "is null then",
    replace: "elsif false then",
    tests: jobs("who was answered waits for a permit as well"),
    why: "a job works without a permit",
  },
  {
    id: "release_jobs.limit",
    at: { sql: "release_jobs" },
    find: "if p_counts and j.resume_count >= p_resumes_most then",
    replace: "if false then",
    tests: recovery("a start says what it found"),
    why: "a job that kills its process is resumed for ever",
  },
  {
    id: "release_jobs.counts",
    at: { sql: "release_jobs" },
    find: "if p_counts and j.resume_count >= p_resumes_most then",
    replace: "if j.resume_count >= p_resumes_most then",
    tests: recovery("a job whose process stops in good order is never given up for it"),
    why: "restarts in good order give a job up",
  },
  {
    id: "release_jobs.stale",
    at: { sql: "release_jobs" },
    find: "elsif v_now - j.progress_ms > p_stale_ms then",
    replace: "elsif false then",
    tests: recovery(
      "a job of a dead process that made no progress for too long is given up at once",
    ),
    why: "a job without progress is resumed for ever",
  },
  {
    id: "release_jobs.epoch",
    at: { sql: "release_jobs" },
    find: "status = 'PENDING', holder = null, epoch = epoch + 1,",
    replace: "status = 'PENDING', holder = null,",
    tests: recovery("only the jobs of the dead process go back in line, closed to it"),
    why: "a process that is dead to the others writes on in its jobs",
  },
  {
    id: "release_jobs.holder",
    at: { sql: "release_jobs" },
    find: "where status = 'RUNNING' and holder = p_holder order by depth",
    replace: "where status = 'RUNNING' order by depth",
    tests: recovery("only the jobs of the dead process go back in line"),
    why: "one death takes the jobs of all processes away",
  },
  {
    id: "abandon_stale_jobs.waiting",
    at: { sql: "abandon_stale_jobs" },
    find: "status = 'RUNNING' and waiting is null and progress_ms",
    replace: "status = 'RUNNING' and progress_ms",
    tests: recovery("a job that was given up or cancelled is closed to its holder"),
    why: "a job is given up because a person thinks",
  },
  {
    id: "abandon_stale_jobs.progress",
    at: { sql: "abandon_stale_jobs" },
    find: " and progress_ms < v_now - p_stale_ms",
    replace: "",
    tests: recovery("a job that was given up or cancelled is closed to its holder"),
    why: "a job that works is given up",
  },
  {
    id: "abandon_stale_jobs.epoch",
    at: { sql: "abandon_stale_jobs" },
    find: "update dure.jobs set epoch = epoch + 1 where id = j.id;",
    replace: "",
    tests: recovery("a job that was given up or cancelled is closed to its holder"),
    why: "the holder of a job that was given up writes on",
  },
  {
    id: "park_job_turns.epoch",
    at: { sql: "park_job_turns" },
    find: "update dure.turns t set epoch = t.epoch + 1,",
    replace: "update dure.turns t set",
    tests: recovery("the turn of a job is closed to the dead process that ran it"),
    why: "a process that is dead to the others writes on in the turn of a job",
  },
  {
    id: "cancel_job.tenant",
    at: { sql: "cancel_job" },
    find: "where id = p_job and tenant = p_tenant for update;",
    replace: "where id = p_job for update;",
    tests: jobs("no other tenant cancels or speaks into a job that runs"),
    why: "a tenant cancels the jobs of others",
  },
  {
    id: "cancel_job.epoch",
    at: { sql: "cancel_job" },
    find: "update dure.jobs set epoch = epoch + 1 where id = j.id;",
    replace: "",
    tests: recovery("a job that was given up or cancelled is closed to its holder"),
    why: "the holder of a cancelled job writes on",
  },
  {
    id: "cancel_job.tree",
    at: { sql: "cancel_job" },
    find: "v_round := array(select id from dure.jobs where parent_id = any(v_round));",
    replace: "v_round := '{}';",
    tests: jobs("a cancelled job takes its three-deep tree with it"),
    why: "work that a cancelled job has asked for goes on",
  },
  {
    id: "speak_into_job.tenant",
    at: { sql: "speak_into_job" },
    find: "where id = p_job and tenant = p_tenant for no key update;",
    replace: "where id = p_job for no key update;",
    tests: jobs("no other tenant cancels or speaks into a job that runs"),
    why: "a tenant speaks into the jobs of others",
  },
  {
    id: "speak_into_job.bound",
    at: { sql: "speak_into_job" },
    find: "if v_words >= p_words_most or v_bytes + octet_length(p_text) > p_bytes_most then",
    replace: "if v_bytes + octet_length(p_text) > p_bytes_most then",
    tests: jobs("one turn is told twenty texts"),
    why: "one turn is told any number of texts",
  },
  {
    id: "speak_into_job.bytes",
    at: { sql: "speak_into_job" },
    find: "if v_words >= p_words_most or v_bytes + octet_length(p_text) > p_bytes_most then",
    replace: "if v_words >= p_words_most then",
    tests: jobs("one turn is told so many bytes of persons, and no more"),
    why: "one turn is told more than its model can read",
  },
  {
    id: "job_answered.told",
    at: { sql: "job_answered" },
    find: "if v_announced = 'told' and not dure.take_back_notice(p_job) then return false; end if;",
    replace: "perform dure.take_back_notice(p_job);",
    tests: jobs(
      "who asks again for a result that is about to be told gets it instead of the notice",
    ),
    why: "a result is told twice",
  },
  {
    id: "tend_jobs.step",
    at: { sql: "tend_jobs" },
    find: "least(greatest(extract(epoch from clock_timestamp() - ticked_at) * 1000, 0), p_step_most)",
    replace: "extract(epoch from clock_timestamp() - ticked_at) * 1000",
    tests: recovery("neither a jump of the clock nor a long night makes a job late"),
    why: "a jump of the clock gives every job up",
  },
  {
    id: "purge_jobs.age",
    at: { sql: "purge_jobs" },
    find: "where j.finished_at < v_before",
    replace: "where j.finished_at is not null",
    tests: recovery(
      "when another process died, old jobs are removed too",
      "a start says what it found",
    ),
    why: "jobs are removed before their time",
  },
  {
    id: "job_reader.find.tenant",
    at: { file: READER },
    find: "from dure.jobs where id = $1 and ($2::text is null or tenant = $2)`, [id, tenant]",
    replace: "from dure.jobs where id = $1 and ($2::text is null or true)`, [id, tenant]",
    tests: jobs(
      "what has ended can neither be cancelled nor spoken into; unknown and foreign jobs are unknown",
    ),
    why: "a tenant reads the jobs of others",
  },
  {
    id: "job_reader.list.tenant",
    at: { file: READER },
    find: "const LISTED = ` ($1::text is null or tenant = $1) and",
    replace: "const LISTED = ` ($1::text is null or true) and",
    tests: [
      ...jobs(
        "what has ended can neither be cancelled nor spoken into; unknown and foreign jobs are unknown",
      ),
      ...jobRoutes("another tenant's job is unknown"),
    ],
    why: "a tenant lists the jobs of others",
  },
  {
    id: "job_reader.audit.tenant",
    at: { file: READER },
    find: "from dure.jobs j where ($1::text is null or tenant = $1) and (status",
    replace: "from dure.jobs j where ($1::text is null or true) and (status",
    tests: recovery("the audit names what is stuck, orphaned, or was resumed often"),
    why: "a tenant sees in the audit what others work on",
  },
  {
    id: "job_store.held.holder",
    at: { file: STORE },
    find: "where id = $1 and holder = $2 and status = 'RUNNING'`, [id, holder]",
    replace: "where id = $1 and $2::text is not null and status = 'RUNNING'`, [id, holder]",
    tests: recovery("a job is given to its holder alone"),
    why: "a process leads a job that another holds",
  },
  {
    id: "job_store.earlier.pair",
    at: { file: EARLIER },
    find:
      "where c.conversation_id = $2 and c.tenant = $3 and c.seq < (select seq from dure.jobs where " +
      "id = $1)\n            and least(c.requester, c.target) = least($4::text, $5::text) and " +
      "greatest(c.requester, c.target) = greatest($4::text, $5::text)",
    replace:
      "where c.conversation_id = $2 and c.tenant = $3 and c.seq < (select seq from dure.jobs where " +
      "id = $1) and $4::text is not null and $5::text is not null",
    tests: jobs(
      "what the same two said before in a conversation is told again at the start, to them alone",
    ),
    why: "who guesses a conversation's id is told what others said in it",
  },
  {
    id: "job_store.earlier.tenant",
    at: { file: EARLIER },
    find: "where c.conversation_id = $2 and c.tenant = $3 and",
    replace: "where c.conversation_id = $2 and $3::text is not null and",
    tests: jobs("what was said in a conversation of another tenant is not told"),
    why: "a tenant is told what others said in a conversation of the same id",
  },
  {
    id: "ask_job.race.tenant",
    at: { sql: "ask_job" },
    find: "where id = v_id or (tenant = p->>'tenant' and ask_key = p->>'key')",
    replace: "where id = v_id or ask_key = p->>'key'",
    tests: jobs(ASKED_AT_ONCE),
    why: "who loses a race for a key is given another tenant's job",
  },
  {
    id: "ask_job.race.body",
    at: { sql: "ask_job" },
    find: "if known.id <> v_id and known.body_hash <> p->>'body_hash' then",
    replace: "if false then",
    tests: jobs(ASKED_AT_ONCE),
    why: "who loses a race for a key is given an answer to another request",
  },
  {
    id: "rest_paused_job.epoch",
    at: { sql: "rest_paused_job" },
    find: "where id = p_job and epoch = p_epoch and status = 'RUNNING'",
    replace: "where id = p_job and status = 'RUNNING'",
    tests: recovery("every write of an exchange under an epoch that has passed is refused"),
    why: "a process that lost a job lays it to rest under its new leader",
  },
  {
    id: "jobs.note.led",
    at: { file: "packages/dure/src/jobs/job-exchange-store.ts" },
    find: "const isOurs = await this.#options.store.note(this.#id, this.#held.epoch, turn); if (!isOurs) throw new JobFencedError(this.#id);",
    replace: "await this.#options.store.note(this.#id, this.#held.epoch, turn);",
    tests: recovery("does not stop the turn that it has just begun: another one follows it"),
    why: "a process that leads a job no more goes on with it",
  },
];
