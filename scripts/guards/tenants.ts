import type { Guard } from "../mutate.ts";
import { eventLog, testsIn } from "./tests-in.ts";

const EVENT_FILTER = "packages/dure/src/durable/event-filter.ts";
const ROOMS = "packages/dure/src/rooms";
const SESSIONS = "packages/dure/src/engine/turn/sessions.ts";
const roomSql = testsIn("packages/dure/src/rooms/room-sql.test.ts");
const rooms = testsIn("packages/dure/test/tenants/rooms.test.ts");
const sessions = testsIn("packages/dure/src/engine/turn/sessions.test.ts");
const keptResults = testsIn("packages/dure/test/conversation/kept-results.test.ts");
const access = testsIn("packages/dure/src/server/access.test.ts");

/** Whose events, rooms and sessions are seen. */
export const TENANT_GUARDS: readonly Guard[] = [
  // --- results
  {
    id: "results.session",
    at: { file: "packages/dure/src/durable/turns.ts" },
    find: "join dure.turns t on t.session_id = n.session_id",
    replace: "join dure.turns t on true",
    tests: keptResults("no other session, no other tenant and no later session of its id"),
    why: "an agent that learns a handle reads what another conversation was told",
  },
  // --- events
  {
    id: "events.tenant.stored",
    at: { file: EVENT_FILTER },
    find: "and (${parameter(7)} is null or e.tenant = ${parameter(7)})`",
    replace: "and (${parameter(7)} is null or true)`",
    tests: eventLog("the filter of a page and the filter of a follower are one"),
    why: "a tenant reads the stored events of others",
  },
  {
    id: "events.tenant.live",
    at: { file: EVENT_FILTER },
    find: "if (tenant !== undefined && event.tenant !== tenant) return false;",
    replace: "",
    tests: eventLog("the filter of a page and the filter of a follower are one"),
    why: "a tenant reads the events of others as they happen",
  },
  {
    id: "events.tenant.view",
    at: { file: "packages/dure/src/server/tenants.ts" },
    find: 'return tenant === "" && hasScope(principal!, "admin") ? null : tenant;',
    replace: 'return hasScope(principal!, "admin") ? null : tenant;',
    tests: access("a reader of the event log is told what its tenant's are"),
    why: "a tenant's admin sees the things of all tenants",
  },
  {
    id: "events.tenant.anybody",
    at: { file: "packages/dure/src/server/tenants.ts" },
    find: 'return tenant === "" && hasScope(principal!, "admin") ? null : tenant;',
    replace: 'return tenant === "" ? null : tenant;',
    tests: access("a reader of the event log is told what its tenant's are"),
    why: "any token without a tenant sees the things of all tenants",
  },

  // --- sessions
  {
    id: "sessions.list.tenant",
    at: { file: SESSIONS },
    find: "where ($1::text is null or tenant = $1) and id not like 'room:%'",
    replace: "where ($1::text is null or true) and id not like 'room:%'",
    tests: sessions("a tenant lists its own sessions"),
    why: "a tenant lists the sessions of others",
  },
  {
    id: "sessions.row.tenant",
    at: { file: SESSIONS },
    find:
      "select *, extract(epoch from updated_at)::float8 * 1000 as updated_at from dure.sessions " +
      "where id = $1 and ($2::text is null or tenant = $2)",
    replace:
      "select *, extract(epoch from updated_at)::float8 * 1000 as updated_at from dure.sessions " +
      "where id = $1 and ($2::text is null or true)",
    tests: sessions("another tenant's session is not there, by its key either"),
    why: "a caller without a tenant reads a tenant's session by its key",
  },
  {
    id: "sessions.running.tenant",
    at: { file: SESSIONS },
    find:
      "select running_turn, tenant from dure.sessions where id = $1 and ($2::text is null or " +
      "tenant = $2)",
    replace:
      "select running_turn, tenant from dure.sessions where id = $1 and ($2::text is null or true)",
    tests: sessions("another tenant's session is not there, by its key either"),
    why: "a caller without a tenant stops and forgets a tenant's session by its key",
  },
  {
    id: "sessions.turn.tenant",
    at: { file: SESSIONS },
    find: "where t.id = $1 and ($2::text is null or s.tenant = $2)",
    replace: "where t.id = $1 and ($2::text is null or true)",
    tests: sessions("another tenant's session is not there, by its key either"),
    why: "a tenant reads the turns of others",
  },
  {
    id: "take_back_question.tenant",
    at: { file: "packages/dure/src/durable/sessions.ts" },
    find: "and ($2::text is null or tenant = $2) and running_turn is null",
    replace: "and ($2::text is null or true) and running_turn is null",
    tests: sessions("a question is taken back by its own tenant, once, and by no other id"),
    why: "a caller without a tenant takes back the question of a tenant's session",
  },
  {
    id: "sessions.forget.tenant",
    at: { file: "packages/dure/src/durable/sessions.ts" },
    find: "where id = $1 and tenant = $2 and running_turn is null returning id",
    replace: "where id = $1 and $2::text is not null and running_turn is null returning id",
    tests: sessions("another tenant's session is not there, by its key either"),
    why: "a caller without a tenant forgets a tenant's session by its key",
  },
  {
    id: "sessions.key.tenant",
    at: { file: "packages/dure/src/kernel/tenant.ts" },
    find: "return `${tenant}/${session}`;",
    replace: "return session;",
    tests: sessions("another tenant's session is not there, by its key either"),
    why: "two tenants who use one id share a session",
  },

  // --- rooms
  {
    id: "rooms.see.tenant",
    at: { file: `${ROOMS}/look/room-person.ts` },
    find: "return who.seesAll === true || place.tenant === who.tenant;",
    replace: 'return who.seesAll === true || place.tenant !== "-";',
    tests: rooms("another tenant's room, message and thread are not there"),
    why: "a tenant reads and writes in the rooms of others",
  },
  {
    id: "rooms.list.tenant",
    at: { file: `${ROOMS}/look/reading.ts` },
    find: "where p.kind <> 'thread' and dure.may_see_place(p, $1, $2, $8)",
    replace: "where p.kind <> 'thread' and ($8::boolean or true)",
    tests: rooms("the same channel is another room for each tenant"),
    why: "a tenant lists the rooms of others",
  },
  {
    id: "rooms.threads.tenant",
    at: { file: `${ROOMS}/look/reading.ts` },
    find: "and ($5::text is null or p.id = $5) and dure.may_see_place(p, $2, $3, $8)",
    replace: "and ($5::text is null or p.id = $5)",
    tests: rooms("what an agent hands on in a tenant's room stays with that tenant"),
    why: "a tenant reads the threads of others",
  },
  {
    id: "rooms.answers.tenant",
    at: { file: `${ROOMS}/look/recent-answers.ts` },
    find: "and dure.may_see_place(p, $2, $3, $4)",
    replace: "",
    tests: ["packages/dure/test/rooms/private.test.ts > is read by its person alone"],
    why: "an agent's page shows what it answered in private, or to another tenant",
  },
  {
    id: "rooms.list.see.tenant",
    at: { sql: "may_see_place" },
    find: "then p_sees_all or p.tenant = p_tenant",
    replace: "then true",
    tests: roomSql("lists show the places that maySee shows, to everyone alike"),
    why: "a tenant lists the threads and answers of others",
  },
  {
    id: "rooms.observations.tenant",
    at: { file: `${ROOMS}/look/reading.ts` },
    find: "and ($3::text is null or p.tenant = $3) and ($5::boolean",
    replace: "and ($3::text is null or true) and ($5::boolean",
    tests: rooms("what agents overhear in a tenant's room"),
    why: "a tenant reads what agents overheard of others",
  },
  {
    id: "rooms.collaborate.tenant",
    at: { file: `${ROOMS}/in/configured-places.ts` },
    find: 'return row?.tenant ?? "";',
    replace: 'return row?.tenant.slice(0, 0) ?? "";',
    tests: rooms("what an agent hands on in a tenant's room stays with that tenant"),
    why: "what an agent hands on for a tenant is said in a room of others",
  },
];
