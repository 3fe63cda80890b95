import type { ModelCall, ModelRequest } from "../models/model.ts";
import type { Agent } from "./agent.ts";

/** Whom a model call is charged to. */
export interface BudgetFacts {
  readonly session: string;
  readonly turn: string;
  readonly service: string;
  readonly tenant: string;
  readonly agent: Agent;
}

/** What may be spent. Throws `BUDGET_EXCEEDED` before a call that could go over a limit. */
export interface Budgets {
  reserve(facts: BudgetFacts, request: ModelRequest, model: ModelCall): Promise<void>;
}
