import type {
  JSONValue,
  LanguageModelV4CallOptions,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { isObject, onlyDefined } from "../kernel/json.ts";
import { type Dialect as Speaking, dialectOf, MODEL_OBJECT } from "./model-object.ts";
import type { LlmRef } from "./model.ts";

/** How much a model thinks before it answers. What a model does not take, its package leaves out. */
export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;
/** How long its answers are. */
export const VERBOSITIES = ["low", "medium", "high"] as const;
/** At which price and speed it is asked. */
export const SERVICE_TIERS = ["auto", "default", "flex", "priority"] as const;
/** What one model reads besides text and another does not. */
export const READABLE_KINDS = ["image", "pdf", "audio"] as const;
export type ReadableKind = (typeof READABLE_KINDS)[number];

/** Settings of a model that not every provider has. */
export interface ModelSettings {
  readonly reasoningEffort?: (typeof REASONING_EFFORTS)[number] | undefined;
  readonly verbosity?: (typeof VERBOSITIES)[number] | undefined;
  readonly serviceTier?: (typeof SERVICE_TIERS)[number] | undefined;
  /** What it can read besides text. Absent: what is known of it (file-parts.ts). */
  readonly reads?: readonly ReadableKind[] | undefined;
  /** Of the AI SDK, by the name of the provider: handed on as they are, before those above. */
  readonly providerOptions?:
    | Readonly<Record<string, Readonly<Record<string, unknown>>>>
    | undefined;
}

/** How each provider calls what we name; absent: it has no such thing. */
interface AskedDialect {
  /** Under which its package reads options. */
  readonly key: string;
  /** Under which another package of the same maker reads them. */
  readonly otherKeys?: readonly string[];
  readonly verbosity?: string;
  readonly serviceTiers?: Partial<Record<(typeof SERVICE_TIERS)[number], string>>;
}

/**
 * Sources: OpenAI, API reference, "Create chat completion" (`verbosity`, `service_tier`);
 * Anthropic, "Service tiers" (`auto`, `standard_only`); ai-sdk.dev, "Google Generative AI provider",
 * `serviceTier`.
 */
const DIALECTS: Readonly<Record<Speaking, AskedDialect | undefined>> = {
  openai: {
    key: "openai",
    verbosity: "textVerbosity",
    serviceTiers: { auto: "auto", default: "default", flex: "flex", priority: "priority" },
  },
  anthropic: { key: "anthropic", serviceTiers: { auto: "auto", default: "standard_only" } },
  "openai-compatible": { key: "openaiCompatible", verbosity: "textVerbosity" },
  google: {
    key: "google",
    otherKeys: ["googleVertex", "vertex"],
    serviceTiers: { default: "standard", flex: "flex", priority: "priority" },
  },
  "ai-sdk": undefined,
  offline: undefined,
};

/** What a provider has not of the settings; undefined: nothing. Pure. */
export function settingsFault(llm: LlmRef): string | undefined {
  const { verbosity, serviceTier, providerOptions = {} } = llm;
  const provider = dialectOf(llm);
  const dialect = DIALECTS[provider];
  if (verbosity !== undefined && !dialect?.verbosity) return `${provider} has no verbosity`;
  if (serviceTier !== undefined && !dialect?.serviceTiers?.[serviceTier]) {
    const known = Object.keys(dialect?.serviceTiers ?? {}).join(", ") || "none";
    return `${provider} has no serviceTier "${serviceTier}"; it has ${known}`;
  }
  const keys = dialect && [dialect.key, ...(dialect.otherKeys ?? [])];
  const wrong = Object.keys(providerOptions).find((key) => keys && !keys.includes(key));
  if (wrong) return `providerOptions of ${provider} are under "${keys![0]}", not "${wrong}"`;

  return optionFault(providerOptions, "providerOptions", OPTION_LEVELS);
}

/** Levels of options that are looked at; one that holds itself has no end. */
const OPTION_LEVELS = 32;

/** What is sent is JSON: a value that is none would be left out without a word, or end each call. */
function optionFault(value: unknown, at: string, levels: number): string | undefined {
  if (levels === 0) return `${at} has too many levels`;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && !Number.isFinite(value)) return `${at} is ${value}, no JSON`;
  if (typeof value !== "object") {
    const isJson = ["string", "number", "boolean"].includes(typeof value);
    return isJson ? undefined : `${at} is a ${typeof value}, no JSON`;
  }
  const made: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && made !== Object.prototype && made !== null) {
    return `${at} is a ${value.constructor.name}, no JSON`;
  }
  return Object.entries(value)
    .map(([key, one]) => optionFault(one, `${at}.${key}`, levels - 1))
    .find((fault) => fault !== undefined);
}

/** The settings in the words of the AI SDK. Pure. */
export function settingOptions(
  llm: LlmRef,
): Pick<LanguageModelV4CallOptions, "reasoning" | "providerOptions"> {
  const { reasoningEffort: reasoning, verbosity, serviceTier, providerOptions } = llm;
  const dialect = DIALECTS[dialectOf(llm)];
  const own = onlyDefined({
    ...keepsNothing(llm),
    [dialect?.verbosity ?? ""]: dialect?.verbosity && verbosity,
    serviceTier: serviceTier && dialect?.serviceTiers?.[serviceTier],
  });
  const ours = dialect && Object.keys(own).length > 0 ? { [dialect.key]: own } : undefined;
  return onlyDefined({
    reasoning,
    providerOptions: merged(ours, providerOptions as SharedV4ProviderOptions | undefined),
  });
}

/**
 * The Responses API keeps what it is sent unless it is told not to. Then it gives reasoning in a
 * form that can be sent back. Source: platform.openai.com, "Conversation state", "Reasoning models".
 */
function keepsNothing({ [MODEL_OBJECT]: object }: LlmRef): { store?: false } {
  return object?.provider === "openai.responses" ? { store: false } : {};
}

/** Options of both; where both have one, that of the second. Pure. */
export function merged(
  one: SharedV4ProviderOptions | undefined,
  other: SharedV4ProviderOptions | undefined,
): SharedV4ProviderOptions | undefined {
  if (!one || !other) return one ?? other;
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, { ...one[key], ...other[key] } as Record<string, JSONValue>]),
  );
}

/** Whether a value is options by the name of a provider. Pure. */
export function areProviderOptions(value: unknown): value is ModelSettings["providerOptions"] {
  return isObject(value) && Object.values(value).every(isObject);
}
