import type { EmbeddingModelV4, LanguageModelV4 } from "@ai-sdk/provider";
import { DureError } from "../kernel/errors.ts";
import { fetchAtOrigin } from "../kernel/fetch-at-origin.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { LlmRef, ProviderName } from "./model.ts";
import { asNewestModel, MODEL_OBJECT } from "./model-object.ts";
import type { OfflineModels } from "./offline.ts";

/** Keys and addresses, handed in; this layer reads no environment. */
export type ProviderSettings = { readonly [Name in ProviderName]?: ProviderSetting };

export interface ProviderSetting {
  readonly apiKey?: string | undefined;
  /**
   * A card's `baseUrl` goes before it. Without a path, `/v1` is added; for `anthropic` also after a
   * path that lacks it.
   */
  readonly baseUrl?: string | undefined;
}

interface Provider {
  /** As people write it. Absent: as it is named here. */
  readonly title?: string;
  /**
   * Variables of the environment with its key and its address (team/environment.ts reads them).
   * Undefined: no key needed.
   */
  readonly variables: { readonly key: string; readonly baseUrl: string } | undefined;
  /** Absent: an address has to be given. */
  readonly defaultBaseUrl?: string;
  /**
   * Turns what people write into the address below which the provider package appends its paths.
   */
  readonly normalizeBaseUrl: (url: URL) => string;
  /**
   * Loads the package when it is first needed. The packages read missing options from the
   * environment, so all options are passed.
   */
  readonly open: (model: string, connection: ProviderConnection) => Promise<LanguageModelV4>;
  /** Absent: it has no model that turns texts into vectors. */
  readonly openEmbedding?: (
    model: string,
    connection: Omit<ProviderConnection, "offline">,
  ) => Promise<EmbeddingModelV4>;
}

/** A key stays at the address that it was set for. */
const fetch = fetchAtOrigin;

interface ProviderConnection {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly offline: OfflineModels;
}

/**
 * Every provider. A new one is one entry here and its name in `ProviderName`.
 *
 * `openai` uses Chat Completions, not Responses: it is what gateways and mocks understand alike,
 * the call carries the whole conversation (which we keep ourselves), and nothing is stored at the
 * provider, as Responses does unless told otherwise.
 */
const PROVIDERS = {
  openai: {
    title: "OpenAI",
    variables: { key: "OPENAI_API_KEY", baseUrl: "OPENAI_BASE_URL" },
    defaultBaseUrl: "https://api.openai.com/v1",
    normalizeBaseUrl: withVersionIfBare,
    open: async (model, { apiKey, baseURL }) => {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, fetch }).chat(model);
    },
    openEmbedding: async (model, { apiKey, baseURL }) => {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, fetch }).embeddingModel(model);
    },
  },
  anthropic: {
    title: "Anthropic",
    variables: { key: "ANTHROPIC_API_KEY", baseUrl: "ANTHROPIC_BASE_URL" },
    defaultBaseUrl: "https://api.anthropic.com/v1",
    // ANTHROPIC_BASE_URL as Anthropic's own tools read it has no version segment; the AI SDK wants
    // one.
    normalizeBaseUrl: (url) => (/\/v\d+$/.test(trimmed(url)) ? trimmed(url) : `${trimmed(url)}/v1`),
    open: async (model, { apiKey, baseURL }) => {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ apiKey, baseURL, fetch })(model);
    },
  },
  "openai-compatible": {
    variables: undefined,
    normalizeBaseUrl: withVersionIfBare,
    open: async (model, { apiKey, baseURL }) => {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      return createOpenAICompatible({
        name: "openai-compatible",
        baseURL,
        fetch,
        includeUsage: true,
        supportsStructuredOutputs: true,
        ...onlyDefined({ apiKey: apiKey === "" ? undefined : apiKey }),
      })(model);
    },
    openEmbedding: async (model, { apiKey, baseURL }) => {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const name = "openai-compatible";
      const key = onlyDefined({ apiKey: apiKey === "" ? undefined : apiKey });
      const provider = createOpenAICompatible({ name, baseURL, fetch, ...key });
      return provider.embeddingModel(model);
    },
  },
  /** Any other provider, whose model is given as an object. */
  "ai-sdk": {
    variables: undefined,
    defaultBaseUrl: "ai-sdk://",
    normalizeBaseUrl: String,
    open: () => Promise.reject(new Error("It is given as an object.")),
  },
  offline: {
    variables: undefined,
    defaultBaseUrl: "offline://",
    normalizeBaseUrl: String,
    open: async (model, { offline }) => offline.languageModel(model),
  },
} as const satisfies Record<ProviderName, Provider>;

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as readonly ProviderName[];

/** Those that want a key. */
export type KeyedProvider = {
  [Name in ProviderName]: (typeof PROVIDERS)[Name]["variables"] extends undefined ? never : Name;
}[ProviderName];

export const KEYED_PROVIDERS = PROVIDER_NAMES.filter(
  (name): name is KeyedProvider => PROVIDERS[name].variables !== undefined,
);

/** How people write a provider, and the variables with its key and its address. */
export function keyFactsOf(name: KeyedProvider) {
  const { title, variables } = PROVIDERS[name];
  return { title, ...variables };
}

/** Facts of a provider that its errors carry: how people write it, and its variables. */
export function providerFactsOf(name: ProviderName): Readonly<Record<string, string>> {
  const { title = name, variables }: Provider = PROVIDERS[name];
  return onlyDefined({
    title,
    keyVariable: variables?.key,
    addressVariable: variables?.baseUrl,
  });
}

/**
 * Checks that a model can be reached in principle and returns how to open it; nothing is loaded or
 * connected yet. Throws `MODEL_KEY_MISSING`, `MODEL_BASE_URL_MISSING`, `MODEL_BASE_URL_INVALID`,
 * `MODEL_OBJECT_MISSING`, `OFFLINE_MODEL_UNKNOWN`.
 */
export function connect(
  llm: LlmRef,
  settings: ProviderSettings,
  offline: OfflineModels,
): () => Promise<LanguageModelV4> {
  const { [MODEL_OBJECT]: object } = llm;
  if (object) return () => Promise.resolve(asNewestModel(object));
  if (llm.provider === "ai-sdk") throw objectMissing(llm.model);
  const provider: Provider = PROVIDERS[llm.provider];
  if (llm.provider === "offline") offline.assertKnown(llm.model);

  const connection = {
    apiKey: keyOf(llm, provider, settings),
    baseURL: baseUrlOf(llm, provider, settings),
    offline,
  };

  return () => provider.open(llm.model, connection);
}

/**
 * As `connect`, for a model that turns texts into vectors. Throws `EMBEDDING_NOT_SPOKEN` besides,
 * where the provider has none.
 */
export function connectEmbedding(
  llm: LlmRef,
  settings: ProviderSettings,
): () => Promise<EmbeddingModelV4> {
  const provider: Provider = PROVIDERS[llm.provider];
  const { openEmbedding } = provider;
  if (!openEmbedding) {
    throw new DureError("EMBEDDING_NOT_SPOKEN", `${llm.provider} has no embedding models here.`, {
      class: "input",
      hint: 'Name one of openai or openai-compatible, such as "openai:text-embedding-3-small".',
    });
  }
  const apiKey = keyOf(llm, provider, settings);
  const baseURL = baseUrlOf(llm, provider, settings);

  return () => openEmbedding(llm.model, { apiKey, baseURL });
}

/** Its name alone, such as in `DURE_MODEL`, does not make a model of another package. */
function objectMissing(model: string): DureError {
  return new DureError(
    "MODEL_OBJECT_MISSING",
    `The model ai-sdk:${model} is known by its name alone.`,
    {
      class: "input",
      hint: 'Give the object itself in code, such as model: google("gemini-2.5-flash").',
    },
  );
}

function keyOf(llm: LlmRef, provider: Provider, settings: ProviderSettings): string {
  const apiKey = settings[llm.provider]?.apiKey ?? "";
  if (provider.variables === undefined || apiKey !== "") return apiKey;
  const { key } = provider.variables;

  throw new DureError(
    "MODEL_KEY_MISSING",
    `The model ${llm.provider}:${llm.model} needs a key, and ${key} is not set.`,
    {
      class: "unavailable",
      hint: `Set ${key}, or use the model "offline".`,
      details: { provider: llm.provider, variable: key },
    },
  );
}

function baseUrlOf(llm: LlmRef, provider: Provider, settings: ProviderSettings): string {
  const written = llm.baseUrl ?? settings[llm.provider]?.baseUrl;
  if (written === undefined || written === "") {
    if (provider.defaultBaseUrl !== undefined) return provider.defaultBaseUrl;
    throw new DureError(
      "MODEL_BASE_URL_MISSING",
      `The model ${llm.provider}:${llm.model} has no address.`,
      {
        class: "input",
        hint: "Set llm.baseUrl in the card, such as http://127.0.0.1:11434/v1 for Ollama.",
      },
    );
  }

  const url = URL.parse(written);
  if (url && /^https?:$/.test(url.protocol)) return provider.normalizeBaseUrl(url);

  throw new DureError(
    "MODEL_BASE_URL_INVALID",
    `"${written}" is no http address for ${llm.provider}.`,
    {
      class: "input",
      hint: "Write the address with its scheme, such as https://gateway.example/v1.",
    },
  );
}

function withVersionIfBare(url: URL): string {
  return url.pathname === "/" ? `${trimmed(url)}/v1` : trimmed(url);
}

function trimmed(url: URL): string {
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}
