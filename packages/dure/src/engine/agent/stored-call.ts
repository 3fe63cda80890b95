import type { StoredModelCall } from "../../durable/turns.ts";
import type { AGENT_PROVIDER } from "../../kernel/plans.ts";
import type { ModelCallRecord } from "../../models/model.ts";

/** A call of ours, or calls that an agent has made by itself. */
export type StoredCallRecord = Omit<ModelCallRecord, "provider"> & {
  readonly provider: ModelCallRecord["provider"] | typeof AGENT_PROVIDER;
};

/** A model call as its row; `place` when it stands in a turn's journal. */
export function storedCall(
  agent: string,
  record: StoredCallRecord,
  place?: string,
): StoredModelCall {
  return {
    at: record.at,
    place,
    agent,
    provider: record.provider,
    model: record.model,
    attempt: record.attempt,
    prompt_hash: record.promptHash,
    tokens_in: record.usage.tokensIn,
    tokens_out: record.usage.tokensOut,
    estimated: record.usage.estimated,
    cost_micro_usd: record.costMicroUsd ?? null,
    latency_ms: record.latencyMs,
    error: record.error ?? null,
  };
}
