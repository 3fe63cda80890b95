import { existsSync } from "node:fs";
import path from "node:path";
import { DureError, messageOf } from "../kernel/errors.ts";
import { vapidKeysOf } from "../alerts/vapid-keys.ts";
import { parseModelNames } from "../models/card.ts";
import { KEYED_PROVIDERS, keyFactsOf, type KeyedProvider } from "../models/providers.ts";
import { BOT_TOKENS } from "../kernel/bot-tokens.ts";
import { closest } from "../kernel/closest.ts";

/** A variable that dure reads: what it is called, what may stand in it, and what for. */
export interface Variable<Value> {
  readonly name: string;
  /** Gives undefined, or throws, for a text that is not allowed. */
  readonly read: (text: string) => Value | undefined;
  readonly allowed: string;
  readonly description: string;
  /** Its value is never printed, logged or stored. */
  readonly secret?: true;
}

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const anyText = (text: string): string => text;
const address = (text: string): string | undefined =>
  /^https?:\/\/[^\s]+$/.test(text) && URL.canParse(text) ? text.replace(/\/+$/, "") : undefined;
const wholeNumber =
  (from: number, to: number) =>
  (text: string): number | undefined => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return value >= from && value <= to ? value : undefined;
  };
const yesOrNo = (text: string): boolean | undefined =>
  ({ true: true, "1": true, false: false, "0": false })[text.toLowerCase()];
const ADDRESS = "an address that begins with http:// or https://";

interface SecretVariable extends Variable<string> {
  readonly secret: true;
}

function keysOfProviders(): {
  readonly [Name in KeyedProvider as `${Name}ApiKey`]: SecretVariable;
} {
  const rows = KEYED_PROVIDERS.map((provider): [string, SecretVariable] => {
    const about = { allowed: "a key", description: `key for ${provider}: models` };
    const { key: name } = keyFactsOf(provider);
    return [`${provider}ApiKey`, { name, read: anyText, ...about, secret: true }];
  });
  return Object.fromEntries(rows) as ReturnType<typeof keysOfProviders>;
}

function addressesOfProviders(): {
  readonly [Name in KeyedProvider as `${Name}BaseUrl`]: Variable<string>;
} {
  const rows = KEYED_PROVIDERS.map((provider): [string, Variable<string>] => {
    const { title, baseUrl: name } = keyFactsOf(provider);
    const description = `address of the ${title} API or one that speaks like it`;
    return [`${provider}BaseUrl`, { name, read: address, allowed: ADDRESS, description }];
  });
  return Object.fromEntries(rows) as ReturnType<typeof addressesOfProviders>;
}

/**
 * Every variable that dure reads, and nothing else is read. Source: docs/spec/platform §2,
 * conversation §5 and §8.
 */
export const VARIABLES = {
  databaseUrl: {
    name: "DATABASE_URL",
    read: (text) => (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text) ? text : undefined),
    allowed: "an address such as postgres://user:password@host:5432/name",
    description: "PostgreSQL to use; without it a private one runs under DURE_HOME",
    secret: true,
  },
  port: {
    name: "PORT",
    read: wholeNumber(0, 65_535),
    allowed: "a whole number from 0 (any free one) to 65535",
    description: "port of the server",
  },
  host: {
    name: "HOST",
    read: (text) => (/^[\w.:-]+$/.test(text) ? text : undefined),
    allowed: "a host name or an IP address",
    description: "address that the server binds; other than this machine's own needs a token",
  },
  home: { name: "DURE_HOME", read: anyText, allowed: "a folder", description: "data folder" },
  devMode: {
    name: "DEV_MODE",
    read: yesOrNo,
    allowed: "true or false",
    description: "shows details of errors and opens /v1/agent/debug",
  },
  token: {
    name: "DURE_TOKEN",
    read: (text) => (text.length >= 16 ? text : undefined),
    allowed: "at least 16 characters",
    description: "bearer token with every scope; the CLI sends it",
    secret: true,
  },
  loginAlways: {
    name: "DURE_LOGIN_ALWAYS",
    read: yesOrNo,
    allowed: "true or false",
    description: "whether also the user who runs the server needs a token or a login",
  },
  serverUrl: {
    name: "DURE_URL",
    read: address,
    allowed: ADDRESS,
    description: "server that the commands of the CLI talk to",
  },
  model: {
    name: "DURE_MODEL",
    read: (text) => (parseModelNames(text) ? text : undefined),
    allowed: "offline, or provider:model such as anthropic:claude-sonnet-4-5; several with commas",
    description: "model of every agent, before the configuration and the cards",
  },
  ...keysOfProviders(),
  ...addressesOfProviders(),
  memorySummarizeThreshold: {
    name: "MEMORY_SUMMARIZE_THRESHOLD",
    read: wholeNumber(2, 1_000),
    allowed: "a whole number from 2 to 1000",
    description: "turns from which older ones are folded into the summary",
  },
  memoryKeepRecentTurns: {
    name: "MEMORY_KEEP_RECENT_TURNS",
    read: wholeNumber(1, 999),
    allowed: "a whole number from 1 to 999",
    description: "turns that stay word for word",
  },
  memoryMaxRawTurns: {
    name: "MEMORY_MAX_RAW_TURNS",
    read: wholeNumber(1, 1_000),
    allowed: "a whole number from 1 to 1000",
    description: "turns that are kept when a fold failed",
  },
  memoryEnableSummary: {
    name: "MEMORY_ENABLE_SUMMARY",
    read: yesOrNo,
    allowed: "true or false",
    description: "whether older turns are folded at all",
  },
  memorySummaryModel: {
    name: "MEMORY_SUMMARY_MODEL",
    read: (text) => (parseModelNames(text) ? text : undefined),
    allowed: "offline, or provider:model; several with commas",
    description: "model that writes the summary",
  },
  maxFillTurns: {
    name: "MAX_FILL_TURNS",
    read: wholeNumber(1, 100),
    allowed: "a whole number from 1 to 100",
    description: "turns that a person may take to fill the slots of a flow",
  },
  webhookSecret: {
    name: "DURE_WEBHOOK_SECRET",
    read: (text) => (text.length >= 16 ? text : undefined),
    allowed: "at least 16 characters",
    description: "signs what is sent to escalations.webhook and notify.webhook",
    secret: true,
  },
  vapidKey: {
    name: "DURE_VAPID_KEY",
    read: vapidKeysOf,
    allowed: "a private key of P-256: 32 bytes in base64url",
    description: "by which push services know the team; without it the database keeps one",
    secret: true,
  },
  a2aKeyFile: {
    name: "DURE_A2A_KEY_FILE",
    read: anyText,
    allowed: "a file with a private key of P-256 in PEM",
    description: "signs the cards that agents of others read over A2A",
  },
  hookUrl: {
    name: "DURE_HOOK_URL",
    read: address,
    allowed: ADDRESS,
    description: "where `dure hook` reports to; workers of plans get it",
  },
  hookSocket: {
    name: "DURE_HOOK_SOCKET",
    read: anyText,
    allowed: "a path",
    description:
      "way to the hooks of the step of a plan, where the worker has a network of its own; " +
      "workers of plans get it",
  },
  hookToken: {
    name: "DURE_HOOK_TOKEN",
    read: anyText,
    allowed: "a token",
    description: "secret of the step of a plan for `dure hook`; workers of plans get it",
    secret: true,
  },
  bankUrl: {
    name: "BANK_URL",
    read: address,
    allowed: ADDRESS,
    description: "bank of the transfer example; without it the example starts its own",
  },
  discordApiUrl: {
    name: "DISCORD_API_URL",
    read: address,
    allowed: ADDRESS,
    description: "address of Discord's API, for tests",
  },
  logLevel: {
    name: "LOG_LEVEL",
    read: (text) => LOG_LEVELS.find((level) => level === text.toLowerCase()),
    allowed: LOG_LEVELS.join(", "),
    description: "what is logged",
  },
} as const satisfies Record<string, Variable<unknown>>;

export type VariableKey = keyof typeof VARIABLES;
type ValueOf<Row> = Row extends { read: (text: string) => infer Value }
  ? Exclude<Value, undefined>
  : never;

/**
 * The environment, read and checked. A member that is absent was not set, or set to an empty text.
 */
export type Environment = { readonly [Key in VariableKey]?: ValueOf<(typeof VARIABLES)[Key]> } & {
  /** `DISCORD_TOKEN_RUDA=…` as `{ruda: …}`. */
  readonly discordTokens: Readonly<Record<string, string>>;
  /** A variable of a platform by its name: an address of its API, or a token. Others are not read. */
  readonly variable?: (name: string) => string | undefined;
  /** Sentences about variables that look like ours and are not read. */
  readonly warnings: readonly string[];
};

/** The agent's id in upper case stands behind it. */
const DISCORD_TOKEN = new RegExp(`^${BOT_TOKENS.discord[0]}_([A-Z0-9_]+)$`, "u");

/** What a platform of rooms may ask for. */
const CHANNEL_VARIABLE = /^[A-Z][A-Z0-9]*_(API_URL|(BOT_|APP_)?TOKEN(_[A-Z0-9_]+)?)$/;

/**
 * Reads the variables. Throws `ENVIRONMENT_INVALID` that names every wrong one. Only this folder
 * looks at `process.env`.
 */
export function readEnvironment(
  source: Readonly<Record<string, string | undefined>> = process.env,
): Environment {
  const problems: EnvironmentProblem[] = [];
  const values: Record<string, unknown> = {};

  for (const [key, variable] of Object.entries<Variable<unknown>>(VARIABLES)) {
    const text = source[variable.name]?.trim();
    if (text === undefined || text === "") continue;
    const { value, hint } = readVariable(variable, text);
    if (value !== undefined) values[key] = value;
    else {
      problems.push({
        variable: variable.name,
        found: variable.secret ? "a value that is not shown" : JSON.stringify(text),
        allowed: variable.allowed,
        hint,
      });
    }
  }

  if (problems.length > 0) throw environmentError(problems);

  return {
    ...values,
    discordTokens: discordTokens(source),
    variable: (name) => channelVariable(source, name),
    warnings: unknownVariables(source),
  };
}

export interface EnvironmentProblem {
  readonly variable: string;
  readonly found: string;
  readonly allowed: string;
  readonly hint?: string | undefined;
}

/**
 * Adds what a `.env` file in `folder` sets to `process.env`; what is set already stays. Returns the
 * file's path, or undefined when there is none. Node reads the file: one `NAME=value` per line, `#`
 * begins a comment.
 */
export function loadEnvFile(folder: string): string | undefined {
  const file = path.join(folder, ".env");
  if (!existsSync(file)) return undefined;

  try {
    process.loadEnvFile(file);
    return file;
  } catch (cause) {
    throw new DureError("ENVIRONMENT_INVALID", `${file} cannot be read: ${messageOf(cause)}.`, {
      class: "input",
      hint: "Write one NAME=value per line.",
      cause,
    });
  }
}

/**
 * Lines of a `.env` file that Node reads in silence and that do not set what they seem to. Pure.
 * @param file how the file is named to its reader
 */
export function envFileWarnings(text: string, file = ".env"): readonly string[] {
  const warnings: string[] = [];
  const lines = text.split(/\r?\n/);
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!.trim();
    const at = `${file}:${index + 1}`;
    if (line === "" || line.startsWith("#")) continue;
    const [, quote] = /^(?:export\s+)?[^=]*=\s*(["'`])/.exec(line) ?? [];
    if (!line.includes("=")) warnings.push(`${at} has no =, so it sets nothing. Write NAME=value.`);
    else if (quote !== undefined && !line.slice(line.indexOf(quote) + 1).includes(quote)) {
      // A quoted value may go on in the lines below.
      const end = lines.findIndex((below, at) => at > index && below.includes(quote));
      if (end < 0 || lines.slice(index + 1, end + 1).some((below) => /^\w+=/.test(below))) {
        warnings.push(`${at} opens a quote that is not closed, so its value is not what it seems.`);
      } else index = end;
    }
  }
  return warnings;
}

function readVariable(
  variable: Variable<unknown>,
  text: string,
): { value: unknown; hint?: string | undefined } {
  try {
    return { value: variable.read(text) };
  } catch (error) {
    return {
      value: undefined,
      hint: error instanceof DureError ? error.hint : undefined,
    };
  }
}

function environmentError(problems: readonly EnvironmentProblem[]): DureError {
  const lines = problems.map(
    ({ variable, found, allowed, hint }) =>
      `  ${variable}: found ${found}; allowed: ${allowed}${hint ? `; ${hint}` : ""}`,
  );
  return new DureError(
    "ENVIRONMENT_INVALID",
    "The environment has " +
      `${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n${lines.join("\n")}`,
    {
      class: "input",
      hint: "Change or unset these variables, then start again.",
      details: { problems },
    },
  );
}

function discordTokens(
  source: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(source).flatMap(([name, token]) => {
      const agent = DISCORD_TOKEN.exec(name)?.[1];
      return agent !== undefined && token ? [[agent.toLowerCase(), token]] : [];
    }),
  );
}

function channelVariable(
  source: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  return CHANNEL_VARIABLE.test(name) ? source[name]?.trim() || undefined : undefined;
}

/** Letters in which another program's variable may differ from ours and still be told as a slip. */
const FOREIGN_LETTERS = 2;

/** Settings of a model's provider; other programs have variables that only look alike. */
const PROVIDER_VARIABLE = /\w_(API_KEY|BASE_URL)$/;

/** A misspelt DURE_TOKEN would leave a server open or unreachable without a word. */
function unknownVariables(source: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.values(VARIABLES).map((variable): string => variable.name);
  return Object.keys(source)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const isOurs = /^(DURE|MEMORY)_/.test(name);
      const bare = name.replace(/^DURE_/, "");
      const isPrefixed = bare !== name && known.includes(bare);
      const meant = isPrefixed ? bare : closest(name, known, isOurs ? Infinity : FOREIGN_LETTERS);
      if (!isOurs && (meant === undefined || !PROVIDER_VARIABLE.test(name))) return [];
      return `${name} is set, but dure reads no such variable${meant ? `; did you mean ${meant}?` : "."}`;
    });
}

/**
 * The environment of a child process: ours, with `changes`; a variable set to undefined is taken
 * out.
 */
export function childEnvironment(
  changes: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return { ...process.env, ...changes };
}
