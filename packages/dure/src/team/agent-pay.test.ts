import { expect, test } from "vitest";
import { testDatabase } from "../durable/test-database.ts";
import { joinTeam } from "../durable/test-members.ts";
import { BudgetKeeper } from "../engine/money/budgets.ts";
import { systemClock as clock } from "../kernel/clock.ts";
import { FULL } from "../kernel/test-tiers.ts";
import { parsePlan } from "../plans/plan-file.ts";
import type { WorkerSpec } from "../plans/plan.ts";
import type { PlanRun } from "../plans/rows/run.ts";
import { costScopeOf, payForAgent } from "./agent-pay.ts";
import { teamCosts } from "./costs.ts";

const PLAN = `plan: login
roles: modules
limits: { budget: 1 USD }
workers: { default: { agent: claude } }
ports:
  - { id: core, role: core, goal: Sessions expire., owns: [src/core/**], acceptance: "true" }
`;
const RUN = { id: "run_1", plan: parsePlan("plan.yaml", PLAN) } as PlanRun;
const SPEC: WorkerSpec = { kind: "acp", agent: "claude", command: ["claude-agent-acp"] };
const CALLS = { run: "run_1", port: "core", worker: "run_1/core/1/implement" };
const SPENT = {
  conversation: "talk",
  tokens: { input: 2_000, output: 100 },
  isEstimate: true,
  microUsd: 600_000,
};

test(
  "what agents say that they cost is in the costs as reported, and binds the run before a call",
  FULL,
  async () => {
    await using place = await testDatabase();
    await using member = await joinTeam(place.url);
    const { database, notifications, logger, id: processId } = member;
    const lease = member.lease.signal;
    const shared = { database, notifications, clock, logger, processId, lease, timeZone: "UTC" };
    const budgets = new BudgetKeeper({
      ...shared,
      limits: { total: { microUsd: 5_000_000 } },
      priceOf: () => undefined,
    });
    const pay = payForAgent(RUN, SPEC, {
      budgets,
      database,
      clock,
      priceOf: () => undefined,
      confirm: async () => {},
    });

    await (await pay.require(CALLS)).settle(SPENT);
    await (await pay.require(CALLS)).settle({ ...SPENT, conversation: "other" });
    const refused = pay.require(CALLS);

    await expect(refused).rejects.toMatchObject({ code: "BUDGET_EXCEEDED" });
    expect(await pay.recorded("run_1", "talk")).toBe(600_000);
    expect(await budgets.standing()).toMatchObject([{ scope: "total", used: 1_200_000 }]);
    const itself = (name: string): string => name;
    const names = { agentName: itself, serviceName: itself };
    const book = teamCosts({ database, budgets: undefined, timeZone: "UTC", ...names });
    const none = `insert into dure.model_calls (at, session_id, turn_id, service, agent, provider, model, attempt,
        prompt_hash, tokens_in, tokens_out, estimated, latency_ms)
      select at, session_id, turn_id, service, agent, 'offline', 'none', 1, prompt_hash, 50, 40, true, 1
      from dure.model_calls limit 1`;
    await database.query({ text: none });
    const costs = await book.read(7);
    expect(costs.byModel).toEqual([
      {
        id: "agent:claude",
        name: "agent:claude",
        calls: 2,
        tokensIn: 4_000,
        tokensOut: 200,
        microUsd: 1_200_000,
        unpriced: 0,
        reportedMicroUsd: 1_200_000,
      },
    ]);
  },
);

test("claude counts its money by process, also where a plan writes its command; others by talk", () => {
  const written: WorkerSpec = { kind: "acp", command: ["/usr/bin/claude-agent-acp"] };
  const other: WorkerSpec = { kind: "acp", command: ["opencode", "acp"] };

  expect([SPEC, written, other].map(costScopeOf)).toEqual(["process", "process", "session"]);
});
