import type {
  LanguageModelV4ReasoningPart,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { JsonObject } from "../kernel/json.ts";
import { modelName } from "./card.ts";
import type { LlmRef, ModelMessage } from "./model.ts";

/**
 * What a model has thought with its calls: for the same model alone, until its turn ends. People
 * never read it.
 */
export interface Reasoning {
  /** `provider:model`. */
  readonly by: string;
  readonly parts: readonly ReasoningPart[];
  /** Signatures of the calls, in their order; null: it has none. */
  readonly calls?: readonly (JsonObject | null)[] | undefined;
}

interface ReasoningPart {
  readonly text: string;
  /** With its signature, in the words of its package. */
  readonly metadata?: JsonObject | undefined;
  /** Calls of the answer that came before it; absent: none. */
  readonly callsBefore?: number | undefined;
}

/** Characters that are kept of one answer; signatures hold for the whole alone. */
const MAX_REASONING = 262_144;

/** The reasoning of one answer while it comes. */
export class ReasoningReader {
  readonly #parts = new Map<string, ReadPart>();
  readonly #calls: (SharedV4ProviderMetadata | null)[] = [];

  take(part: LanguageModelV4StreamPart): void {
    if (part.type === "tool-call") this.#calls.push(part.providerMetadata ?? null);
    if (!isReasoning(part)) return;
    const callsBefore = this.#calls.length || undefined;
    const { text, metadata, ...begun } = this.#parts.get(part.id) ?? { text: "", callsBefore };
    const delta = part.type === "reasoning-delta" ? part.delta : "";
    this.#parts.set(part.id, {
      text: text.length > MAX_REASONING ? text : text + delta,
      metadata: part.providerMetadata ?? metadata,
      ...begun,
    });
  }

  /** Undefined: there is none, or too much of it. */
  by(llm: LlmRef): Reasoning | undefined {
    const parts = [...this.#parts.values()];
    const isSigned = this.#calls.some((metadata) => metadata !== null);
    if (parts.length === 0 && !isSigned) return undefined;
    const reasoning = { by: modelName(llm), parts, calls: isSigned ? this.#calls : undefined };
    const written = JSON.stringify(reasoning);
    return written.length > MAX_REASONING ? undefined : (JSON.parse(written) as Reasoning);
  }
}

interface ReadPart {
  readonly text: string;
  readonly metadata?: SharedV4ProviderMetadata | undefined;
  readonly callsBefore: number | undefined;
}

function isReasoning(
  part: LanguageModelV4StreamPart,
): part is Extract<LanguageModelV4StreamPart, { type: `reasoning-${"start" | "delta" | "end"}` }> {
  return /^reasoning-(?:start|delta|end)$/.test(part.type);
}

type AssistantMessage = Extract<ModelMessage, { role: "assistant" }>;

/**
 * As this model reads it again, what it thought after so many calls; of another model, nothing. Among
 * several calls it stays where it was: OpenAI refuses a call without the reasoning before it. Pure.
 */
export function reasoningParts(
  { reasoning }: AssistantMessage,
  llm: LlmRef | undefined,
  after: number,
): readonly LanguageModelV4ReasoningPart[] {
  if (!llm || reasoning?.by !== modelName(llm)) return [];
  const parts = reasoning.parts.filter(({ callsBefore = 0 }) => callsBefore === after);
  return parts.map(({ text, metadata }) => {
    const part = { type: "reasoning", text } as const;
    return metadata ? { ...part, providerOptions: metadata as SharedV4ProviderMetadata } : part;
  });
}

/** The signature of a call, for the model that has made it. Pure. */
export function callOptionsOf(
  { reasoning }: AssistantMessage,
  at: number,
  llm: LlmRef | undefined,
) {
  if (!llm || reasoning?.by !== modelName(llm)) return undefined;
  return (reasoning.calls?.[at] ?? undefined) as SharedV4ProviderMetadata | undefined;
}

function isToThink({ reasoningEffort = "none", providerOptions }: LlmRef): boolean {
  return reasoningEffort !== "none" || providerOptions?.["anthropic"]?.["thinking"] !== undefined;
}

/** Before every setting. */
export const WITHOUT_THINKING: SharedV4ProviderMetadata = {
  anthropic: { thinking: { type: "disabled" } },
};

/**
 * Whether the model may think in this request. Anthropic's wants its thinking in front of the calls
 * whose results it gets; of calls that it has not thought about itself (another model's, or those
 * that a person has allowed) there is none. Source: docs.claude.com, "Extended thinking", "Toggling
 * thinking modes in conversations" (400 `Expected thinking or redacted_thinking, but found
 * tool_use`). Pure.
 */
export function mayThink(messages: readonly ModelMessage[], llm: LlmRef): boolean {
  if (llm.provider !== "anthropic" || !isToThink(llm)) return true;
  const since = messages.findLastIndex(({ role }) => role === "user");
  const calls = messages.slice(since + 1).filter((message) => message.role === "assistant");
  return calls.every((message) => reasoningParts(message, llm, 0).length > 0);
}
