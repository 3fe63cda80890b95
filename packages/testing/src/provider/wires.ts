import type { AnthropicAbilities } from "./anthropic-rules.ts";
import { anthropicWire } from "./anthropic-wire.ts";
import type { GeminiAbilities } from "./gemini-rules.ts";
import { geminiWire } from "./gemini-wire.ts";
import type { ProviderWire } from "./moods.ts";
import type { OpenAiAbilities } from "./openai-rules.ts";
import { openAiWire } from "./openai-wire.ts";
import type { Refusal } from "./refusal.ts";
import { responsesWire } from "./responses-wire.ts";
import type { WireCall, WireFormat } from "./wire-format.ts";

/** What the models of all formats can do. */
export type ProviderAbilities = OpenAiAbilities & AnthropicAbilities & GeminiAbilities;

export type SomeWire = WireFormat<ProviderAbilities>;

const WIRES = {
  openai: openAiWire,
  responses: responsesWire,
  anthropic: anthropicWire,
  gemini: geminiWire,
} as const satisfies Record<ProviderWire, SomeWire>;

export function formatOf(wire: ProviderWire): SomeWire {
  return WIRES[wire];
}

/** Undefined: no format has this path. */
export function wireOf({ path }: Pick<WireCall, "path">): ProviderWire | undefined {
  const [bare = ""] = path.split("?");
  const names = Object.keys(WIRES) as ProviderWire[];

  return names.find((name) => WIRES[name].path.test(bare));
}

export const NOT_FOUND: Refusal = {
  status: 404,
  body: { error: { message: "Unknown request URL.", type: "invalid_request_error" } },
};
