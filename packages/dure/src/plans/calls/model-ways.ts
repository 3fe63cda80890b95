import { basename } from "node:path";
import { isObject } from "../../kernel/json.ts";
import { variablesOf } from "../agents/given-variables.ts";
import type { WorkerSpec } from "../plan.ts";
import { MODELS_PATH, type ModelWay } from "../sandbox/model-way.ts";

/** How a worker is led to its models. */
export interface ModelWays {
  readonly ways: readonly ModelWay[];
  /** Variables that change: addresses inside, and what stands for keys. */
  readonly env: Readonly<Record<string, string>>;
  /** Goes behind the name of the agent's program. */
  readonly args: readonly string[];
}

const NO_WAYS: ModelWays = { ways: [], env: {}, args: [] };

/** What an agent has in files of its person. */
export interface ModelFiles {
  /** Its settings name addresses of models, which go before those of variables. */
  readonly hasAddresses?: boolean | undefined;
  /** `~/.codex/config.toml` */
  readonly codexSettings?: string | undefined;
  /** It is signed in with an account, whose calls go elsewhere. */
  readonly codexHasLogin?: boolean | undefined;
}

/** A provider that is led to by a variable with its address. */
interface ProviderVariables {
  readonly provider: string;
  readonly keys: readonly string[];
  readonly address: string;
  readonly base: string;
}

/** Source: the official clients of the providers. */
const PROVIDERS: readonly ProviderVariables[] = [
  {
    provider: "anthropic",
    keys: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    address: "ANTHROPIC_BASE_URL",
    base: "https://api.anthropic.com",
  },
  {
    provider: "openai",
    keys: ["OPENAI_API_KEY", "CODEX_API_KEY"],
    address: "OPENAI_BASE_URL",
    base: "https://api.openai.com/v1",
  },
  {
    provider: "google",
    keys: ["GEMINI_API_KEY"],
    address: "GOOGLE_GEMINI_BASE_URL",
    base: "https://generativelanguage.googleapis.com",
  },
];

/**
 * How a worker reaches its models through dure's door, which sees each call. A provider whose
 * address the plan itself sets is left as it is, with its key; so is one to which the worker has
 * neither a key nor an address. Pure.
 *
 * @param door the address of the door inside.
 */
export function modelWays(
  spec: WorkerSpec,
  given: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly door: string;
    readonly files: ModelFiles;
  },
): ModelWays {
  if (given.files.hasAddresses === true) return NO_WAYS;
  const variables = variablesOf(spec, given.env);
  const inside = (way: string): string => `${given.door}${MODELS_PATH}${way}`;
  const found = PROVIDERS.flatMap((known): readonly FoundWay[] => {
    const way = wayOf(known, spec, variables);
    return way === undefined ? [] : [{ known, way }];
  });
  const ofVariables: ModelWays = {
    ways: found.map(({ way }) => way),
    env: Object.fromEntries(
      found.flatMap(({ known, way }) => [
        [known.address, inside(way.name)] as const,
        ...standIns(spec, known, way),
      ]),
    ),
    args: [],
  };
  if (spec.agent === "opencode") return withOpencode(ofVariables, { variables, inside });
  if (spec.agent === "codex") return withCodex(ofVariables, { variables, inside, ...given });

  return ofVariables;
}

interface FoundWay {
  readonly known: ProviderVariables;
  readonly way: ModelWay;
}

type GivenVariables = Readonly<Record<string, string>>;

function wayOf(
  { provider, keys, address, base }: ProviderVariables,
  spec: WorkerSpec,
  variables: GivenVariables,
): ModelWay | undefined {
  if (spec.set?.[address] !== undefined) return undefined;
  const has = keys.filter((name) => variables[name]);
  const own = baseOf(variables[address]);
  if (has.length === 0 && own === undefined) return undefined;

  return {
    name: provider,
    base: own ?? base,
    provider,
    keys: Object.fromEntries(has.map((name) => [standInOf(name), variables[name]!])),
  };
}

/** What a process sees in the place of a key. Pure. */
function standInOf(name: string): string {
  return `dure-keeps-${name}`;
}

/** A key that the plan names by itself is given as it is: its worker may need it elsewhere. */
function standIns(
  spec: WorkerSpec,
  { keys }: ProviderVariables,
  way: ModelWay,
): readonly (readonly [string, string])[] {
  if (spec.agent === undefined) return [];
  return keys
    .filter((name) => way.keys[standInOf(name)] !== undefined && spec.set?.[name] === undefined)
    .map((name) => [name, standInOf(name)] as const);
}

/** An address of the web without a slash at its end; undefined for anything else. Pure. */
function baseOf(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const { protocol, username, password, search, hash, href } = new URL(text);
  const isPlain = username === "" && password === "" && search === "" && hash === "";
  if (!/^https?:$/.test(protocol) || !isPlain) return undefined;

  return href.replace(/\/+$/, "");
}

/** How an agent is led that has its addresses in settings. */
interface Leading {
  readonly variables: GivenVariables;
  readonly inside: (way: string) => string;
}

// --- opencode: its settings may stand in a variable

const OPENCODE = "OPENCODE_CONFIG_CONTENT";
const OPENCODE_PROVIDERS: Readonly<Record<string, string>> = {
  anthropic: "/v1",
  openai: "",
};

/** Its providers by their addresses: those that its settings name, else those of its keys. Pure. */
function withOpencode(found: ModelWays, { variables, inside }: Leading): ModelWays {
  const settings = objectIn(variables[OPENCODE]);
  if (settings === undefined) return NO_WAYS;
  const named = isObject(settings["provider"]) ? settings["provider"] : {};
  const ways = new Map(found.ways.map((way) => [way.name, way]));
  const led: Record<string, unknown> = { ...named };
  for (const [id, tail] of Object.entries(OPENCODE_PROVIDERS)) {
    const options = optionsOf(named[id]);
    if (!ways.has(id) || options["baseURL"] !== undefined) continue;
    led[id] = withOptions(named[id], { ...options, baseURL: `${inside(id)}${tail}` });
  }
  for (const [id, provider] of Object.entries(named)) {
    const { baseURL } = optionsOf(provider);
    const base = typeof baseURL === "string" ? baseOf(baseURL) : undefined;
    if (base === undefined || !/^[\w.-]{1,60}$/.test(id)) continue;
    const name = `opencode-${id}`;
    const keys = ways.get(id)?.keys ?? {};
    ways.set(name, { name, base, provider: id, keys });
    led[id] = withOptions(provider, { ...optionsOf(provider), baseURL: inside(name) });
  }
  const content = JSON.stringify({ ...settings, provider: led });

  return { ways: [...ways.values()], env: { ...found.env, [OPENCODE]: content }, args: [] };
}

/** Undefined: it cannot be read. */
function objectIn(text = "{}"): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // with comments, or broken: it is the agent's to say so
  }
}

function optionsOf(provider: unknown): Record<string, unknown> {
  return isObject(provider) && isObject(provider["options"]) ? provider["options"] : {};
}

function withOptions(provider: unknown, options: Record<string, unknown>): unknown {
  return Object.assign({}, provider, { options });
}

// --- codex: its settings stand in a file, and an argument goes before them

/** Pure. */
function withCodex(
  found: ModelWays,
  { variables, inside, files }: Leading & { readonly files: ModelFiles },
): ModelWays {
  // Its account goes elsewhere, and must not be led to the provider of the key.
  if (files.codexHasLogin === true) return NO_WAYS;
  const { codexSettings = "" } = files;
  const own = codexProviders(codexSettings).flatMap(({ id, base, key }): readonly ModelWay[] => {
    const value = key === undefined ? undefined : variables[key];
    const keys = key === undefined || value === undefined ? {} : { [standInOf(key)]: value };
    return [{ name: `codex-${id}`, base, provider: id, keys }];
  });
  const builtIn = baseOf(valueIn(codexSettings, "openai_base_url"));
  const keyed = found.ways.map((way) =>
    way.name === "openai" && builtIn !== undefined ? { ...way, base: builtIn } : way,
  );
  const isKeyed = keyed.some(({ name }) => name === "openai");
  const ways = [...keyed, ...own];
  const ofKey = isKeyed ? [`openai_base_url="${inside("openai")}"`] : [];
  const args = [
    ...ofKey,
    ...own.map(({ name, provider }) => `model_providers.${provider}.base_url="${inside(name)}"`),
  ].flatMap((setting) => ["-c", setting]);

  return { ways, env: found.env, args };
}

interface CodexProvider {
  readonly id: string;
  readonly base: string;
  /** Name of the variable with its key. */
  readonly key: string | undefined;
}

/** The tables `[model_providers.<id>]` that are written as people write them. Pure. */
function codexProviders(toml: string): readonly CodexProvider[] {
  const tables = toml.split(/^\s*\[(?=[^[\n]*\]\s*(?:#.*)?$)/m).slice(1);

  return tables.flatMap((table) => {
    const id = /^model_providers\.([\w-]{1,60})\]/.exec(table)?.[1];
    const base = baseOf(valueIn(table, "base_url"));
    return id === undefined || base === undefined
      ? []
      : [{ id, base, key: valueIn(table, "env_key") }];
  });
}

/** The text that a key of TOML has. Pure. */
function valueIn(toml: string, key: string): string | undefined {
  const match = new RegExp(`^\\s*${key}\\s*=\\s*(?:"([^"\\\\\\n]*)"|'([^'\\n]*)')`, "m").exec(toml);
  return match?.[1] ?? match?.[2];
}

/** A command line with arguments behind the program that they are for. Pure. */
export function withArgs(
  command: readonly string[],
  program: string | undefined,
  args: readonly string[],
): readonly string[] {
  const at = command.findIndex((part) => basename(part) === program);
  return at < 0 ? command : [...command.slice(0, at + 1), ...args, ...command.slice(at + 1)];
}
