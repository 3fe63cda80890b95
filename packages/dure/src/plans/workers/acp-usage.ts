import type { PromptResponse } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { WorkerResult } from "./worker.ts";

/** A count as agents tell it; not every one is. */
const count = z.number().int().nonnegative().max(1e12).optional().catch(undefined);
/** Not stable in the protocol yet: absent, or told by some agents. */
const usage = z.object({
  usage: z.object({
    inputTokens: count,
    outputTokens: count,
    thoughtTokens: count,
    cachedReadTokens: count,
    cachedWriteTokens: count,
  }),
});
/** How Gemini CLI tells it. Seen with 0.61.0. */
const quota = z.object({
  _meta: z.object({
    quota: z.object({ token_count: z.object({ input_tokens: count, output_tokens: count }) }),
  }),
});

/** How Qwen Code tells each call, beside a piece of its words. Seen with 0.24.4. */
const piece = z.object({
  _meta: z.object({
    usage: z.object({ inputTokens: count, outputTokens: count, cachedReadTokens: count }),
  }),
});

/** What one call used, where a piece of the agent's words tells it. What was cached is in the input. Pure. */
export function usageOfPiece(update: unknown): AcpTokens | undefined {
  const read = piece.safeParse(update);
  if (!read.success) return undefined;
  const { inputTokens = 0, outputTokens = 0, cachedReadTokens = 0 } = read.data._meta.usage;
  if (inputTokens + outputTokens === 0) return undefined;

  return { input: inputTokens, cached: cachedReadTokens, output: outputTokens };
}

type AcpTokens = WorkerResult["tokens"];

/** Of two turns. Undefined: neither says it. Pure. */
export function addUsage(
  one: AcpTokens | undefined,
  other: AcpTokens | undefined,
): AcpTokens | undefined {
  if (!one || !other) return one ?? other;
  const isEstimate = one.isEstimate === true || other.isEstimate === true ? true : undefined;

  const cached = (one.cached ?? 0) + (other.cached ?? 0);

  return {
    input: one.input + other.input,
    cached,
    output: one.output + other.output,
    isEstimate,
  };
}

/** How to read what an agent tells at the end of its turn. */
export interface UsageReading {
  /** It tells of its last call alone. */
  readonly ofLastCall?: boolean | undefined;
  /** Calls of its model that were heard in the turn. */
  readonly calls: number;
}

/**
 * What the turn used, where its answer says so. An agent that tells of its last call alone counts
 * with that call times all that were heard: no call before it read more. That is an estimate. Pure.
 */
export function usageIn(
  answer: PromptResponse,
  { ofLastCall = false, calls }: UsageReading,
): AcpTokens | undefined {
  const tokens = usageTold(answer) ?? quotaTold(answer);
  if (tokens === undefined || tokens.input + tokens.output === 0) return undefined;
  if (!ofLastCall || calls <= 1) return tokens;

  const { input, cached = 0, output } = tokens;
  const all = { input: input * calls, cached: cached * calls, output: output * calls };

  return { ...all, isEstimate: true };
}

function usageTold(answer: PromptResponse): AcpTokens | undefined {
  const read = usage.safeParse(answer);
  if (!read.success) return undefined;
  const { inputTokens = 0, outputTokens = 0, ...more } = read.data.usage;
  const { thoughtTokens = 0, cachedReadTokens = 0, cachedWriteTokens = 0 } = more;

  return {
    input: inputTokens + cachedReadTokens + cachedWriteTokens,
    cached: cachedReadTokens,
    output: outputTokens + thoughtTokens,
  };
}

function quotaTold(answer: PromptResponse): AcpTokens | undefined {
  const read = quota.safeParse(answer);
  if (!read.success) return undefined;
  const { input_tokens: input = 0, output_tokens: output = 0 } = read.data._meta.quota.token_count;

  return { input, output };
}
