import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const DECIDE = "packages/dure/src/alerts/decide-alerts.ts";
const ROWS = "packages/dure/src/alerts/alert-rows.ts";
const SENDING = "packages/dure/src/alerts/alert-sending.ts";
const decide = testsIn("packages/dure/src/alerts/decide-alerts.test.ts");
const alerts = testsIn("packages/dure/test/alerts/alerts.test.ts");
const tenants = testsIn("packages/dure/test/alerts/tenants.test.ts");

/** Who is told outside of the page, and how often. */
export const ALERT_GUARDS: readonly Guard[] = [
  {
    id: "alerts.author",
    at: { file: DECIDE },
    find: 'if (authorKind === "person" && author === person) return;',
    replace: "",
    tests: decide("a message waits for"),
    why: "people are told what they write themselves",
  },
  {
    id: "alerts.private",
    at: { file: DECIDE },
    find: "found.size < MOST_TOLD && mayRead(message, person)",
    replace: "found.size < MOST_TOLD",
    tests: decide("a message waits for"),
    why: "a name in a direct room tells another person of it",
  },
  {
    id: "alerts.many",
    at: { file: DECIDE },
    find: 'return lately >= perHour ? "many" : "told";',
    replace: 'return "told";',
    tests: decide("a person is told"),
    why: "agents that talk tell a person without end",
  },
  {
    id: "alerts.decider-tenant",
    at: { file: ROWS },
    find: "on s.tenant = e.tenant or (s.tenant = '' and s.is_operator)",
    replace: "on true",
    tests: tenants("an escalation is told to those who decide it"),
    why: "the operators of one tenant are told the escalations of another",
  },
  {
    id: "alerts.revoked",
    at: { file: ROWS },
    find: "where t.id = s.token and t.revoked_at is not null",
    replace: "where false",
    tests: tenants("a browser whose token is revoked is told no more"),
    why: "a revoked token goes on reading by its notifications",
  },
  {
    id: "alerts.read",
    at: { file: DECIDE },
    find: 'if (hasRead) return "read";',
    replace: "",
    tests: decide("a person is told"),
    why: "people are told what they look at",
  },
  {
    id: "alerts.late",
    at: { file: SENDING },
    find: 'return alert.age >= LIFETIME_MS ? "late" : next();',
    replace: "return next();",
    tests: alerts("a person is not told"),
    why: "after a long outage people are told what is long over",
  },
];
