import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { canonicalJson, type JsonObject } from "../kernel/json.ts";
import { strictSchema } from "./json-schema.ts";
import type { LlmRef, OutputSpec, ProviderName } from "./model.ts";

/**
 * How JSON is asked for, from the tightest way to the loosest:
 *
 * - `strict`: the provider binds each token to the schema;
 * - `json_schema`: the provider knows the schema;
 * - `tool`: the answer is the input of a tool;
 * - `json_object`: the answer is JSON, the schema stands in the prompt;
 * - `text`: the schema stands in the prompt, and the JSON is read out of what comes.
 */
export type OutputFormat = "strict" | "json_schema" | "tool" | "json_object" | "text";

/**
 * The ways that each provider may know. Sources: OpenAI, "Structured model outputs" (strict, JSON
 * mode); Anthropic, "Structured outputs" (`output_config.format`, older models by a tool).
 */
const FORMATS = {
  openai: ["strict", "json_schema", "json_object", "text"],
  "openai-compatible": ["strict", "json_schema", "json_object", "text"],
  anthropic: ["json_schema", "tool", "text"],
  "ai-sdk": ["json_schema", "json_object", "text"],
  offline: ["json_schema"],
} as const satisfies Record<ProviderName, readonly OutputFormat[]>;

/** How one request is made, by what is known of its endpoint. */
export interface RequestWay {
  /** Absent: no JSON is asked for. */
  readonly format: OutputFormat | undefined;
  readonly hasTemperature: boolean;
}

/** What a refusal taught. */
interface KnownFormats {
  /** Position in the list of the provider's formats: none before it is taken. */
  readonly format: number;
  readonly refusesTemperature: boolean;
  /** Monotonic, milliseconds: a server that was brought up to date is asked again. */
  readonly until: number;
}

const NOTHING_KNOWN = { format: 0, refusesTemperature: false } as const;

/** Endpoints and schemas that are remembered, the oldest goes first. */
const MAX_KNOWN = 512;
/** A refusal is believed for this long, milliseconds: as long as a provider's own cache, an hour. */
const KNOWN_FOR_MS = 3_600_000;

/** An endpoint: the same model at two addresses is two. */
export interface Endpoint {
  readonly llm: LlmRef;
  readonly baseUrl: string;
}

/**
 * Which way of asking for JSON an endpoint takes. It begins with the tightest and goes down with
 * each refusal; what it learned is kept in memory, for this process and for an hour.
 */
export class OutputFormats {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #known = new Map<string, KnownFormats>();

  constructor(options: { clock: Pick<Clock, "monotonic"> }) {
    this.#clock = options.clock;
  }

  wayOf(endpoint: Endpoint, output: OutputSpec | undefined): RequestWay {
    const { hasTemperature, position } = this.#state(endpoint, output?.schema);
    if (output === undefined) return { format: undefined, hasTemperature };
    return { format: formatAt(endpoint, position, output.schema), hasTemperature };
  }

  /**
   * Notes what a refusal says about the endpoint. Whether the request can be made in another way
   * now; never twice in the same one.
   */
  learn(
    endpoint: Endpoint,
    way: RequestWay,
    output: OutputSpec | undefined,
    error: unknown,
  ): boolean {
    const refusal = refusalOf(error);

    if (refusal === undefined) return false;

    if (refusal.about === "temperature" && way.hasTemperature) {
      this.#note(keyOf(endpoint), { refusesTemperature: true });

      return true;
    }

    if (refusal.about !== "format") return false;
    if (way.format === undefined || output === undefined) return false;

    const formats: readonly OutputFormat[] = FORMATS[endpoint.llm.provider];
    const next = formats.indexOf(way.format) + 1;

    if (next >= formats.length) return false;

    const schema = refusal.ofSchema ? output.schema : undefined;
    this.#note(keyOf(endpoint, schema), { format: next });

    return true;
  }

  #state(
    endpoint: Endpoint,
    schema: JsonObject | undefined,
  ): { hasTemperature: boolean; position: number } {
    const general = this.#read(keyOf(endpoint));
    const special = schema ? this.#read(keyOf(endpoint, schema)) : NOTHING_KNOWN;

    return {
      hasTemperature: !general.refusesTemperature,
      position: Math.max(general.format, special.format),
    };
  }

  #read(key: string): Pick<KnownFormats, "format" | "refusesTemperature"> {
    const known = this.#known.get(key);

    if (known === undefined) return NOTHING_KNOWN;
    if (known.until > this.#clock.monotonic()) return known;

    this.#known.delete(key);

    return NOTHING_KNOWN;
  }

  #note(key: string, learned: Partial<KnownFormats>): void {
    const before = this.#read(key);
    const until = this.#clock.monotonic() + KNOWN_FOR_MS;
    this.#known.delete(key);
    this.#known.set(key, { ...NOTHING_KNOWN, ...before, ...learned, until });

    if (this.#known.size <= MAX_KNOWN) return;

    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }
}

function formatAt({ llm }: Endpoint, position: number, schema: JsonObject): OutputFormat {
  const formats: readonly OutputFormat[] = FORMATS[llm.provider];
  const format = formats[Math.min(position, formats.length - 1)]!;

  return format === "strict" && !strictSchema(schema).ok ? "json_schema" : format;
}

function keyOf({ llm, baseUrl }: Endpoint, schema?: JsonObject): string {
  const endpoint = `${llm.provider} ${baseUrl} ${llm.model}`;

  return schema === undefined ? endpoint : `${endpoint} ${canonicalJson(schema)}`;
}

type FormatRefusal =
  | { readonly about: "temperature" }
  | { readonly about: "format"; readonly ofSchema: boolean };

/** Words of a refusal of the way, not of the request. */
const ABOUT_FORMAT =
  /response_format|json_schema|json_object|output_config|output_format|response_schema|response_?mime_?type|structured.?outputs?|json.?mode|guided|grammar|invalid schema|input_schema|schema at|specified schema/i;
/** Words of a refusal of this schema: another one may pass. */
const ABOUT_SCHEMA =
  /invalid schema|additionalproperties|'?required'? is required|context=|not permitted|not supported for|too (?:many|large|complex|deep)|nesting|levels|keyword|properties|compiled grammar|too many states|when \$ref is present/i;
const ABOUT_TOOLS = /for function|tools\[/i;
const ABOUT_TEMPERATURE = /temperature/i;

/** What a 400 says about the way in which it was asked; undefined where it says nothing of it. */
function refusalOf(error: unknown): FormatRefusal | undefined {
  if (codeOf(error) !== "MODEL_REQUEST_INVALID" || !(error instanceof DureError)) return undefined;

  const said = `${error.message} ${bodyOf(error.cause)}`;

  if (ABOUT_TEMPERATURE.test(said)) return { about: "temperature" };
  if (ABOUT_TOOLS.test(said) || !ABOUT_FORMAT.test(said)) return undefined;

  return { about: "format", ofSchema: ABOUT_SCHEMA.test(said) };
}

/** What the provider's answer said, besides the message that the AI SDK took out of it. */
function bodyOf(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  const body = (cause as { responseBody?: unknown }).responseBody;

  return typeof body === "string" ? body.slice(0, 4_000) : messageOf(cause);
}

/** What stands in the system text where the provider does not know the schema. */
export function schemaText({ schema }: OutputSpec): string {
  return [
    "Answer with one JSON object and nothing else. It fits this JSON Schema:",
    JSON.stringify(schema),
  ].join("\n");
}
