import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const MEMBERS = "packages/dure/src/server/members.ts";
const roomSql = testsIn("packages/dure/src/rooms/room-sql.test.ts");
const known = testsIn("packages/dure/src/server/members.test.ts");
const routes = testsIn("packages/dure/test/tenants/members.test.ts");

const PRIVATE = "what is private is known to its person alone, and so is the work that began there";
const PAGE = "a page is full of what its reader may know, whatever private things stand between";
const ALONE = "is known to its person and to operators alone";
const KEPT = "the first job of some work is kept as long as one of the others";
const LEFT = "what is left of work and decisions that are gone is for operators alone";
const OPERATORS = "a direct message and a private thread of a platform are for operators alone";

/** Who may know of direct rooms, private threads and the work that began there. */
export const MEMBER_GUARDS: readonly Guard[] = [
  // --- in lists
  {
    id: "is_private.private-thread",
    at: { sql: "is_private" },
    find: "p.id ~ '^(direct|private)_'",
    replace: "p.id ~ '^direct_'",
    tests: roomSql(PRIVATE),
    why: "lists show what was said in a private thread",
  },
  {
    id: "may_know_place.gone",
    at: { sql: "may_know_place" },
    find: "return p_place !~ '^(direct|private)_';",
    replace: "return true;",
    tests: roomSql(PRIVATE),
    why: "what is left of a direct room that is gone is known to all",
  },
  {
    id: "may_know_place.adapter",
    at: { sql: "may_know_place" },
    find: "p.adapter = 'web' and p.tenant = p_tenant",
    replace: "p.tenant = p_tenant",
    tests: roomSql(PRIVATE),
    why: "a person of the web who has the name of one on Discord is shown that one's direct messages",
  },
  {
    id: "may_know_place.tenant",
    at: { sql: "may_know_place" },
    find: "and p.tenant = p_tenant",
    replace: "",
    tests: roomSql(PRIVATE),
    why: "a person of another tenant with the same name is shown a direct room",
  },
  {
    id: "may_know_place.person",
    at: { sql: "may_know_place" },
    find: "and p.person = p_person",
    replace: "",
    tests: roomSql(PRIVATE),
    why: "lists show every direct room of a tenant to all of it",
  },
  {
    id: "may_know_session.job",
    at: { sql: "may_know_session" },
    find: "if v_job is not null then",
    replace: "if false then",
    tests: roomSql(PRIVATE),
    why: "lists show the sessions of exchanges that began in a direct room",
  },
  {
    id: "may_know_job.root",
    at: { sql: "may_know_job" },
    find: "join dure.jobs r on r.id = j.root_id",
    replace: "join dure.jobs r on r.id = j.id",
    tests: roomSql(PRIVATE),
    why: "lists show the work that a private job has made",
  },
  {
    id: "may_know_job.session",
    at: { sql: "may_know_job" },
    find: "return found and dure.may_know_session(v_session, p_tenant, p_person);",
    replace: "return found;",
    tests: roomSql(PRIVATE),
    why: "lists show what was asked for in a direct room",
  },
  {
    id: "may_know_job.gone",
    at: { sql: "may_know_job" },
    find: "return found and dure.may_know_session(v_session, p_tenant, p_person);",
    replace: "return dure.may_know_session(v_session, p_tenant, p_person);",
    tests: roomSql(PRIVATE),
    why: "what is left of a private job is shown to all when the job is removed",
  },
  {
    id: "may_know_session.escalation",
    at: { sql: "may_know_session" },
    find: "if v_escalation is not null then",
    replace: "if false then",
    tests: roomSql(PRIVATE),
    why: "lists show what the operator agent was asked about a direct room",
  },
  {
    id: "purge_jobs.root",
    at: { sql: "purge_jobs" },
    find: "and (d.finished_at is null or d.finished_at >= v_before)",
    replace: "and false",
    tests: roomSql(KEPT),
    why: "it is forgotten to whom a job belongs that another one has asked for",
  },
  {
    id: "inbox.list.place",
    at: { file: "packages/dure/src/escalations/inbox.ts" },
    find: "dure.may_know_place(room, $13, $14::text)",
    replace: "dure.may_know_place(null, $13, $14::text)",
    tests: routes(PAGE),
    why: "a page of escalations is empty though more follow, or shows those of a direct room",
  },
  {
    id: "inbox.list.session",
    at: { file: "packages/dure/src/escalations/inbox.ts" },
    find: "and dure.may_know_session(session_id, $13, $14)",
    replace: "",
    tests: routes(PAGE),
    why: "a page of escalations holds those of another person's session",
  },
  {
    id: "inbox.list.job",
    at: { file: "packages/dure/src/escalations/inbox.ts" },
    find: "and dure.may_know_job(job, $13, $14)",
    replace: "",
    tests: routes(PAGE),
    why: "a page of escalations holds those of another person's work",
  },
  {
    id: "jobs.list.private",
    at: { file: "packages/dure/src/jobs/job-reader.ts" },
    find: "or dure.may_know_job(id, $9, $10::text)",
    replace: "or $10::text is not null",
    tests: routes(PAGE),
    why: "the list of jobs holds another person's private work",
  },

  // --- by id, and in events
  {
    id: "members.room",
    at: { file: MEMBERS },
    find: '[room, placeOfSession(session)?.place ?? ""].filter(',
    replace: '[placeOfSession(session)?.place ?? ""].filter(',
    tests: known(ALONE),
    why: "events of a direct room are told to all",
  },
  {
    id: "members.session",
    at: { file: MEMBERS },
    find: '[room, placeOfSession(session)?.place ?? ""].filter(',
    replace: "[room].filter(",
    tests: known(ALONE),
    why: "any token reads the session of an agent in a direct room",
  },
  {
    id: "members.job",
    at: { file: MEMBERS },
    find: "const work = job ?? jobOfSession(session);",
    replace: "const work = jobOfSession(session);",
    tests: known(ALONE),
    why: "any token reads a job that was asked for in a direct room",
  },
  {
    id: "members.exchange",
    at: { file: MEMBERS },
    find: "const work = job ?? jobOfSession(session);",
    replace: "const work = job;",
    tests: known(ALONE),
    why: "any token reads the exchange of a private job",
  },
  {
    id: "members.removed",
    at: { file: MEMBERS },
    find: "if (session === undefined) return [REMOVED];",
    replace: "if (session === undefined) return [];",
    tests: known(LEFT),
    why: "events of a private job are told to all when the job is removed",
  },
  {
    id: "members.decision",
    at: { file: MEMBERS },
    find: "return await this.#privatePlacesOf(source);",
    replace: "return source === undefined ? [REMOVED] : [];",
    tests: known(ALONE),
    why: "any token reads what the operator agent was asked about a direct room",
  },
  {
    id: "members.decision-gone",
    at: { file: MEMBERS },
    find: 'if (codeOf(error) === "ESCALATION_UNKNOWN") return [REMOVED];',
    replace: 'if (codeOf(error) === "ESCALATION_UNKNOWN") return [];',
    tests: known(LEFT),
    why: "what the operator agent was asked in private is told to all when the escalation is removed",
  },
  {
    id: "members.owner",
    at: { file: MEMBERS },
    find: 'if (person !== "all" && !isOwn) return false;',
    replace: 'if (person !== "all" && owner === "") return isOwn;',
    tests: known(ALONE),
    why: "a direct room is known to all",
  },
  {
    id: "members.platform",
    at: { file: MEMBERS },
    find: 'const isOwned = room.adapter === "web" && room.person !== null;',
    replace: "const isOwned = room.person !== null;",
    tests: known(OPERATORS),
    why: "a person of the web who has the name of one on Discord reads that one's direct messages",
  },
  {
    id: "members.view",
    at: { file: MEMBERS },
    find: "(await this.mayKnow(principal, of)) ? view : NO_TENANT",
    replace: "view",
    tests: known(ALONE),
    why: "what is private is looked for as if it were the caller's",
  },

  // --- where it would be told to others
  {
    id: "earlier.private",
    at: { file: "packages/dure/src/jobs/earlier-words.ts" },
    find: "or dure.private_origin_of(c.id) = dure.private_origin_of($1)",
    replace: "or dure.private_origin_of(c.id) <> $1",
    tests: testsIn("packages/dure/src/jobs/jobs.test.ts")(
      "what was asked for in private is told again there alone",
    ),
    why: "who names the conversation of a private job is told what was said in it",
  },
  {
    id: "orders.jobs.private",
    at: { file: "packages/dure/src/rooms/orders/orders.ts" },
    find: "(p.parent = $1 and not starts_with(p.id, 'private_'))",
    replace: "p.parent = $1",
    tests: testsIn("packages/dure/src/rooms/orders/orders.test.ts")("who asks for jobs"),
    why: "who asks for the jobs of a channel is told those of its private threads",
  },
  {
    id: "escalation.room.private",
    at: { file: "packages/dure/src/team/escalations.ts" },
    find: "if (escalation.is_private) return",
    replace: "if (id === '') return",
    tests: testsIn("packages/dure/src/team/private-escalations.test.ts")("what waits in private"),
    why: "what waits in a direct room is said to all in the room of decisions",
  },
  {
    id: "stop_jobs_of.line",
    at: { sql: "stop_jobs_of" },
    find: "on split_part(o.origin_session, '@@', 1)",
    replace: "on o.origin_session",
    tests: roomSql("a stop in a channel ends what was asked for there"),
    why: "a stop leaves the jobs that were asked for in the line of one person",
  },
];
