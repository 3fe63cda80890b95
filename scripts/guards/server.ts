import type { Guard } from "../mutate.ts";
import { access, leader, testsIn } from "./tests-in.ts";

const SERVER = "packages/dure/src/server";
const RECORDS = "packages/dure/src/plans/rows/records.ts";
const STATEMENTS = "packages/dure/src/plans/rows/run-statements.ts";
const HOSTS = "packages/dure/src/plans/rows/host-records.ts";
const planRecords = testsIn("packages/dure/src/plans/rows/records.test.ts");
const channel = testsIn("packages/dure/src/plans/rows/channel.test.ts");
const together = testsIn("packages/dure/test/plans/together.test.ts");

/** Who comes in, and who leads a run. */
export const SERVER_GUARDS: readonly Guard[] = [
  {
    id: "access.scope",
    at: { file: `${SERVER}/access.ts` },
    find: 'if (scope === "known" || hasScope(principal, scope)) return;',
    replace: 'if (scope === "known" || principal.scopes.length > 0) return;',
    tests: access("scopes decide, admin includes all"),
    why: "any token may do everything",
  },
  {
    id: "access.stranger",
    at: { file: `${SERVER}/access.ts` },
    find: "if (principal === null) {",
    replace: 'if (principal === null && scope !== "known" && scope !== "chat") {',
    tests: access("without one nothing but the public is answered"),
    why: "strangers are answered",
  },
  {
    id: "access.all-tenants",
    at: { file: `${SERVER}/access.ts` },
    find: 'if (caller.tenant === "") return;',
    replace: "if (caller.tenant !== code) return;",
    tests: access("a tenant's admin is no admin of the other tenants"),
    why: "a tenant's admin acts on all tenants",
  },
  {
    id: "access.host",
    at: { file: `${SERVER}/access.ts` },
    find: "return allowedHosts.some(",
    replace: 'return host !== "" || allowedHosts.some(',
    tests: access("a rebound name is refused before anything happens"),
    why: "a page that rebinds its name speaks to this server",
  },
  {
    id: "access.origin",
    at: { file: `${SERVER}/access.ts` },
    find: "if (origin !== undefined && !isSameOrigin(origin, host)) { return",
    replace: 'if (origin === "" && !isSameOrigin(origin, host)) { return',
    tests: access("another page's GET or POST starts no turn"),
    why: "another site's page starts turns",
  },
  {
    id: "access.fetch-site",
    at: { file: `${SERVER}/access.ts` },
    find: 'if (secFetchSite === "cross-site" || secFetchSite === "same-site") { return',
    replace: 'if (secFetchSite === "nowhere") { return',
    tests: access("pages of other sites"),
    why: "another site's page starts turns where the browser sends no Origin",
  },
  {
    id: "own-sessions.write",
    at: { file: `${SERVER}/own-sessions.ts` },
    find: "const own = ownOf(session);\n  if (own === undefined) return;",
    replace: 'const own = ownOf(session);\n  if (own === undefined || session !== "") return;',
    tests: access("no caller writes into room:ruda:web:general or forgets it"),
    why: "a caller writes into sessions that dure leads",
  },
  {
    id: "own-sessions.read",
    at: { file: `${SERVER}/own-sessions.ts` },
    find: "(own === undefined || hasScope(principal, own.scope))",
    replace: '(own === undefined || session !== "")',
    tests: access("an exchange is read and stopped with the scope jobs"),
    why: "who may chat reads what agents say to each other",
  },

  // --- runs of plans
  {
    id: "plan.write.lease",
    at: { file: RECORDS },
    find: "await this.#leases.guard(tx, lease);",
    replace: "",
    tests: [
      ...planRecords("a leader that has lost its run writes nothing"),
      ...channel("after the death of a leader"),
    ],
    why: "a leader that lost its run writes on",
  },
  {
    id: "plan.create.key",
    at: { file: RECORDS },
    find: "if (made.length === 0) return false;",
    replace: "if (made.length === 0) return true;",
    tests: planRecords("a run is made once per key and tenant"),
    why: "a run that was not made is told as begun",
  },
  {
    id: "plan.by-key.tenant",
    at: { file: STATEMENTS },
    find: "from dure.plan_runs where tenant = $1 and start_key = $2",
    replace: "from dure.plan_runs where $1::text is not null and start_key = $2",
    tests: planRecords("a run is made once per key and tenant"),
    why: "a tenant is given the run of another under the same key",
  },
  {
    id: "plan.runs.tenant",
    at: { file: STATEMENTS },
    find: "where ($1::text is null or r.tenant = $1)",
    replace: "where ($1::text is null or true)",
    tests: planRecords("a run is made once per key and tenant"),
    why: "a tenant lists the runs of others",
  },
  {
    id: "plan.step.done",
    at: { file: STATEMENTS },
    find: "status = case when s.status = 'done' then s.status else 'running' end,",
    replace: "status = 'running',",
    tests: planRecords("a step that has ended stays as it ended"),
    why: "a step that has ended is done again",
  },
  {
    id: "plan.step.token",
    at: { file: STATEMENTS },
    find: "hook_hash = case when s.status = 'done' then null else excluded.hook_hash end",
    replace: "hook_hash = excluded.hook_hash",
    tests: planRecords("a step that has ended stays as it ended"),
    why: "a step that has ended takes reports again",
  },
  {
    id: "plan.step.sign",
    at: { file: STATEMENTS },
    find: "seen_at = clock_timestamp()\n    where id = $1 and status = 'running'`",
    replace: "seen_at = clock_timestamp()\n    where id = $1`",
    tests: planRecords("a step that has ended stays as it ended"),
    why: "a late sign of a worker changes what a step came to",
  },
  {
    id: "plan.waiting.lease",
    at: { file: HOSTS },
    find: [
      "and (l.holder is null",
      "        or l.renewed_at < clock_timestamp() - interval '6 seconds'",
      "        or exists (",
      "          select 1 from dure.processes p where p.id = l.holder and p.ended_at is not null",
      "        ))",
    ].join("\n"),
    replace: "",
    tests: planRecords("a run that is led by a living process waits for no leader"),
    why: "each process reaches for each run at every look",
  },
  {
    id: "plan.waiting.host",
    at: { file: HOSTS },
    find: "where r.host = $1 and r.id <> all($2::text[])",
    replace: "where $1::text is not null and r.id <> all($2::text[])",
    tests: leader("a run of another machine is left alone"),
    why: "a run is led where its files are not",
  },
  {
    id: "plan.listen.free",
    at: { file: HOSTS },
    find: [
      "where not exists (",
      "        select 1 from dure.plan_runs o where o.host = r.host and o.listen_slot = slot",
      "      ))",
    ].join("\n"),
    replace: "where slot >= 0)",
    tests: leader("two runs of one machine have TCP ports of their own"),
    why: "two runs listen on the same ports",
    hangs: true,
  },
  {
    id: "plan.clean.orders",
    at: { file: STATEMENTS },
    find: [
      "      and (clean_began_at is not null",
      "        or not exists (select 1 from dure.plan_orders o where o.run = r.id and o.outcome is null))",
      "    returning id",
    ].join("\n"),
    replace: "returning id",
    tests: planRecords("a run of which something is wanted is not cleaned"),
    why: "a run is removed while a person wants it to go on",
  },
  {
    id: "plan.cleanable.tenant",
    at: { file: HOSTS },
    find: "where host = $2 and ($1::text is null or tenant = $1) and cleaned_at",
    replace: "where host = $2 and ($1::text is null or $1 <> '-') and cleaned_at",
    tests: planRecords("a run of which something is wanted is not cleaned"),
    why: "a tenant cleans the runs of others",
  },
  {
    id: "plan.merge.base",
    at: { file: "packages/dure/src/plans/merge/integration.ts" },
    find: "return new Set(failuresOf(whole.feedback).filter((name) => !known.has(name)));",
    replace: "return new Set(failuresOf(whole.feedback).filter(() => known.size >= 0));",
    tests: together("a test that fails at the base too counts against no port"),
    why: "a port is blamed for what failed before it",
  },
];
