import { expect, test } from "vitest";
import { decideRoute, ROUTE_AFTER_MS, type EscalationRoutes } from "./route.ts";

const ALL: EscalationRoutes = {
  operator: true,
  room: true,
  webhook: true,
  afterMs: ROUTE_AFTER_MS,
};
const NONE: EscalationRoutes = {
  operator: false,
  room: false,
  webhook: false,
  afterMs: ROUTE_AFTER_MS,
};

test.for([
  [
    "the operator agent is asked first",
    { type: "test_failure", severity: "high", step: "worker" },
    ALL,
    { step: "operator", tell: ["operator"], nextMs: 1_800_000, because: "operator-first" },
  ],
  [
    "what is critical goes on after 5 minutes",
    { type: "conflict", severity: "critical", step: "worker" },
    ALL,
    { step: "operator", tell: ["operator"], nextMs: 300_000, because: "operator-first" },
  ],
  [
    "what is medium goes on after 4 hours",
    { type: "timeout", severity: "medium", step: "worker" },
    ALL,
    { step: "operator", tell: ["operator"], nextMs: 14_400_000, because: "operator-first" },
  ],
  [
    "people come after the operator, and it stays with them",
    { type: "test_failure", severity: "high", step: "operator" },
    ALL,
    { step: "person", tell: ["room", "webhook"], nextMs: null, because: "operator-done" },
  ],
  [
    "without an operator people are told at once",
    { type: "test_failure", severity: "high", step: "worker" },
    { ...ALL, operator: false },
    { step: "person", tell: ["room", "webhook"], nextMs: null, because: "no-operator" },
  ],
  [
    "an approval is a person's yes, never an agent's",
    { type: "decision", severity: "high", step: "worker" },
    ALL,
    { step: "person", tell: ["room", "webhook"], nextMs: null, because: "people-only" },
  ],
  [
    "an unknown outcome is looked for by a person",
    { type: "effect_unknown", severity: "high", step: "worker" },
    ALL,
    { step: "person", tell: ["room", "webhook"], nextMs: null, because: "people-only" },
  ],
  [
    "a turn that diverged is a person's",
    { type: "turn_diverged", severity: "high", step: "worker" },
    ALL,
    { step: "person", tell: ["room", "webhook"], nextMs: null, because: "people-only" },
  ],
  [
    "an account is a person's",
    { type: "account", severity: "high", step: "worker" },
    ALL,
    { step: "person", tell: ["room", "webhook"], nextMs: null, because: "people-only" },
  ],
  [
    "where no target is configured it stands in the dashboard",
    { type: "test_failure", severity: "high", step: "worker" },
    NONE,
    { step: "person", tell: [], nextMs: null, because: "no-operator" },
  ],
  [
    "what is low bothers no person",
    { type: "token_exhausted", severity: "low", step: "worker" },
    ALL,
    { step: "worker", tell: [], nextMs: null, because: "stays" },
  ],
  [
    "what is with people stays with them",
    { type: "timeout", severity: "critical", step: "person" },
    ALL,
    { step: "person", tell: [], nextMs: null, because: "stays" },
  ],
] as const)("%s", ([, escalation, routes, decision]) => {
  expect(decideRoute(escalation, routes)).toEqual(decision);
});
