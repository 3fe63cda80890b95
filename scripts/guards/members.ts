import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const MEMBERS = "packages/dure/src/server/members.ts";
const roomSql = testsIn("packages/dure/src/rooms/room-sql.test.ts");
const known = testsIn("packages/dure/src/server/members.test.ts");
const routes = testsIn("packages/dure/test/tenants/members.test.ts");

const PRIVATE = "what is private is known to its person alone, and so is the work that began there";
const PAGE = "a page is full of what its reader may know, whatever private things stand between";
const ALONE = "is known to its person and to operators alone";
const OPERATORS = "a direct message and a private thread of a platform are for operators alone";

/** Who may know of direct rooms, private threads and the work that began there. */
export const MEMBER_GUARDS: readonly Guard[] = [
  // --- in lists
  {
    id: "may_know_place.private-thread",
    at: { sql: "may_know_place" },
    find: "p_place !~ '^(direct|private)_'",
    replace: "p_place !~ '^direct_'",
    tests: roomSql(PRIVATE),
    why: "lists show what was said in a private thread",
  },
  {
    id: "may_know_place.adapter",
    at: { sql: "may_know_place" },
    find: "and p.adapter = 'web'",
    replace: "",
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
    find: "return dure.may_know_session(v_session, p_tenant, p_person);",
    replace: "return true;",
    tests: roomSql(PRIVATE),
    why: "lists show what was asked for in a direct room",
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
    find: '[room, placeOfSession(session)?.place ?? ""].filter(isPrivatePlace)',
    replace: '[placeOfSession(session)?.place ?? ""].filter(isPrivatePlace)',
    tests: known(ALONE),
    why: "events of a direct room are told to all",
  },
  {
    id: "members.session",
    at: { file: MEMBERS },
    find: '[room, placeOfSession(session)?.place ?? ""].filter(isPrivatePlace)',
    replace: "[room].filter(isPrivatePlace)",
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
    id: "members.owner",
    at: { file: MEMBERS },
    find: "if ((await this.#personOf(place)) !== owner) return false;",
    replace: "if ((await this.#personOf(place)) === undefined) return false;",
    tests: known(ALONE),
    why: "a direct room is known to all",
  },
  {
    id: "members.platform",
    at: { file: MEMBERS },
    find: 'room.adapter === "web" ? ownerOf(room.tenant, room.person ?? undefined) : null',
    replace: "ownerOf(room.tenant, room.person ?? undefined)",
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
];
