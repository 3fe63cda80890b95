import { modelName } from "./card.ts";
import { DEFAULT_MAX_OUTPUT_TOKENS, type LlmRef } from "./model.ts";

/**
 * Tokens of a request with its answer. Sources: platform.openai.com, "Models", page of each model;
 * docs.claude.com, "Context windows". A model that is not listed may have any.
 */
const WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/^anthropic:claude-(?:3|opus-4|sonnet-4|haiku-4)/u, 200_000],
  [/^openai:gpt-5/u, 400_000],
  [/^openai:gpt-4\.1/u, 1_047_576],
  [/^openai:gpt-4o/u, 128_000],
];

/** Of the window, the share that estimated tokens may fill: an estimate is none of the provider. */
const SHARE = 0.9;

/** Estimated tokens that a request to a model may have; undefined: that is not known. Pure. */
export function requestTokensFor(llm: LlmRef, window: number | undefined): number | undefined {
  const name = modelName(llm);
  const known = window ?? WINDOWS.find(([names]) => names.test(name))?.[1];
  if (known === undefined) return undefined;
  const answer = llm.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS;

  return Math.max((known - Math.min(answer, known / 2)) * SHARE, 0);
}
