import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { Database } from "../durable/database.ts";
import type { BudgetKeeper, OutsideFacts } from "../engine/money/budgets.ts";
import type { StoredCallRecord } from "../engine/agent/stored-call.ts";
import type { Clock } from "../kernel/clock.ts";
import { AGENT_PROVIDER } from "../kernel/plans.ts";
import type { CostScope } from "../plans/agents/agent-costs.ts";
import type { AgentCalls, AgentPay, AgentSpent } from "../plans/agents/paid-agent.ts";
import { costMicroUsd, type Price } from "../models/prices.ts";
import { PRESETS } from "../plans/agents/presets.ts";
import type { WorkerSpec } from "../plans/plan.ts";
import type { PlanRun } from "../plans/rows/run.ts";
import { boundsOfRun } from "./plan-pay.ts";

interface AgentPayParts {
  readonly budgets: Pick<BudgetKeeper, "chargeUnknown">;
  readonly database: Database;
  readonly clock: Clock;
  readonly priceOf: (llm: {
    readonly provider: string;
    readonly model: string;
  }) => Price | undefined;
  /** Throws when another process has the run by now. */
  readonly confirm: () => Promise<void>;
}

/**
 * Pays for calls that an agent of a run makes by itself, from the budgets that calls of dure's own
 * workers are paid from. They stand in the same book, as calls of the provider `agent`.
 */
export function payForAgent(run: PlanRun, spec: WorkerSpec, parts: AgentPayParts): AgentPay {
  const model = agentName(spec);
  const agent = `plan:${run.plan.name}`;
  const factsOf = ({ port, worker }: AgentCalls): OutsideFacts => ({
    session: run.id,
    path: worker,
    service: agent,
    agent,
    bounds: boundsOfRun(run, port),
  });

  return {
    require: async (calls) => {
      const charged = await parts.budgets.chargeUnknown(factsOf(calls));
      await parts.confirm();
      const settle = (spent: AgentSpent): Promise<void> =>
        charged.settle(recordOf(spent, model, parts.clock.now()));

      return { settle };
    },
    priceOf: ({ provider, model: called, tokens }) => {
      const price = called === undefined ? undefined : parts.priceOf({ provider, model: called });
      const { input: tokensIn, cached: cachedIn, cacheWrites, output: tokensOut } = tokens;

      return price && costMicroUsd(price, { tokensIn, cachedIn, cacheWrites, tokensOut });
    },
    recorded: async (id, conversation) => {
      const [row] = await parts.database.query<{ cost: number }>(RECORDED, [
        id,
        hashOf(conversation),
      ]);
      return row!.cost;
    },
  };
}

/**
 * What the sums of an agent stand for. Source: Claude Code counts from zero in each process, also
 * where it goes on with a conversation; opencode, and the Agent Client Protocol, mean all of it.
 */
export function costScopeOf(spec: WorkerSpec): CostScope {
  if (spec.kind !== "acp") return "process";
  return agentName(spec) === "claude" ? "process" : "session";
}

/** Its name among the presets, also where a plan writes its command; else its program. */
function agentName(spec: WorkerSpec): string {
  if (spec.agent !== undefined) return spec.agent;
  if (spec.kind === "own") return spec.name;
  if (spec.kind !== "acp" && spec.kind !== "command") return spec.kind;
  const program = basename(spec.command[0] ?? spec.kind);
  const known = Object.entries(PRESETS).find(([, { acp, exec }]) =>
    [acp.command[0], exec.command[0]].includes(program),
  );

  return known?.[0] ?? program;
}

function recordOf(spent: AgentSpent, model: string, at: number): StoredCallRecord {
  const { conversation, tokens, isEstimate, microUsd } = spent;
  return {
    at,
    provider: AGENT_PROVIDER,
    model,
    attempt: 1,
    labels: {},
    // No prompt of ours: it says which calls are of one conversation.
    promptHash: hashOf(conversation),
    usage: { tokensIn: tokens.input, tokensOut: tokens.output, estimated: isEstimate },
    costMicroUsd: microUsd,
    latencyMs: 0,
  };
}

function hashOf(conversation: string): string {
  return createHash("sha256").update(`conversation ${conversation}`).digest("hex");
}

const RECORDED = {
  name: "agent-pay.recorded",
  text: `select coalesce(sum(cost_micro_usd), 0)::bigint as cost
    from dure.model_calls
    where session_id = $1 and prompt_hash = $2`,
};
