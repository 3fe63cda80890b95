import { BUDGET_RULES } from "../durable/budgets.ts";
import { DEFAULT_RULES, type RetentionRule } from "../durable/retention.ts";
import { journalRule, sessionRules } from "../durable/sessions.ts";
import type { Settings } from "./limits.ts";

/** What a process removes that has aged, besides the rules of rooms, jobs and plans. */
export function retentionRules(settings: Settings): readonly RetentionRule[] {
  return [
    ...DEFAULT_RULES.map((rule) =>
      rule.name === "events" ? { ...rule, keep: settings.keepEventsMs } : rule,
    ),
    journalRule(settings.keepTurnEventsMs),
    { name: "idempotency", table: "dure.idempotency", ageColumn: "at", keep: "24h" },
    { name: "model-calls", table: "dure.model_calls", ageColumn: "at", keep: "90d" },
    ...BUDGET_RULES,
    ...sessionRules({ sessions: settings.keepSessionsMs, turns: settings.keepTurnsMs }),
    {
      name: "escalations",
      table: "dure.escalations",
      ageColumn: "resolved_at",
      keep: "365d",
      where: "status <> 'open'",
    },
    { name: "logins", table: "dure.login_sessions", ageColumn: "expires_at", keep: "7d" },
    { name: "login-links", table: "dure.login_links", ageColumn: "expires_at", keep: "1h" },
    { name: "audit", table: "dure.audit", ageColumn: "at", keep: "365d" },
  ];
}
