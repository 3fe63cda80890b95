import type { Locale } from "../kernel/locales.ts";
import { IDLE_MS } from "../durable/embedded/caretaker.ts";
import { valueAt } from "../engine/files/load-service-document.ts";
import { MEMORY_DEFAULTS, type SummaryPrompts } from "../engine/agent/memory.ts";
import { QUESTION_HOLDS_MS } from "../engine/turn/question.ts";
import type { BusyPolicy } from "../engine/service/service.ts";
import { ROUTE_AFTER_MS } from "../escalations/route.ts";
import { JOB_LIMITS } from "../jobs/limits.ts";
import { FILE_BOUNDS } from "../durable/files/files.ts";
import { durationMs } from "../kernel/duration.ts";
import { DureError } from "../kernel/errors.ts";
import { GATHER, ROOM_LIMITS, type GatherPolicy } from "../rooms/limits.ts";
import { defaultPlaces, fullNamesOf, type DefaultPlaces } from "../rooms/named-place.ts";
import {
  modelNames,
  parseCard,
  parseModelNames,
  type BudgetLimit,
  type Llm,
} from "../models/card.ts";
import { NO_MODEL } from "../models/no-model.ts";
import type { PriceTable } from "../models/prices.ts";
import {
  KEYED_PROVIDERS,
  keyFactsOf,
  type KeyedProvider,
  type ProviderSettings,
} from "../models/providers.ts";
import { SERVER_LIMITS } from "../server/limits.ts";
import type { ServerLimits } from "../server/server.ts";
import type { LoadedTeam, TeamConfig } from "./config.ts";
import { VARIABLES, type Environment, type VariableKey } from "./environment.ts";
import { defaultChannelOf, placeSettingsOf, roomChannelsOf } from "./room-channels.ts";

/** One setting: where it may stand, and what holds when it stands nowhere. */
interface Setting<Value> {
  /** In the configuration; absent for what only the environment sets. */
  readonly path?: readonly string[];
  /** Goes before the configuration. */
  readonly variable?: VariableKey;
  readonly fallback: Value;
  /** Of the fallback. */
  readonly source: string;
  readonly unit?: string;
}

const value = <Value>(setting: Setting<Value>): Setting<Value> => setting;

const serverLimit = (name: string, fallback: number, unit: string): Setting<number> =>
  value<number>({
    path: ["server", "limits", name],
    fallback,
    source: "docs/guides/limits.md",
    unit,
  });

/**
 * Every setting that has a default. The environment goes before the configuration, the
 * configuration before the default.
 */
export const SETTINGS = {
  locale: value<Locale>({ path: ["locale"], fallback: "en", source: "docs/spec/platform §2" }),
  timeZone: value<string>({
    path: ["timeZone"],
    fallback: "UTC",
    source: "the same on every machine",
  }),
  home: value<string>({ variable: "home", fallback: ".dure", source: "docs/spec/platform §2" }),
  port: value<number>({
    path: ["server", "port"],
    variable: "port",
    fallback: 4600,
    source: "docs/spec/platform §2",
  }),
  host: value<string>({
    path: ["server", "host"],
    variable: "host",
    fallback: "127.0.0.1",
    source: "docs/spec/platform §6",
  }),
  devMode: value<boolean>({
    path: ["server", "devMode"],
    variable: "devMode",
    fallback: false,
    source: "docs/spec/conversation §6",
  }),
  spanTexts: value<boolean>({
    path: ["telemetry", "texts"],
    fallback: false,
    source: "docs/spec/platform §7",
  }),
  origins: value<readonly string[]>({
    path: ["server", "origins"],
    fallback: [],
    source: "docs/spec/platform §6",
  }),
  allowedHosts: value<readonly string[]>({
    path: ["server", "allowedHosts"],
    fallback: [],
    source: "docs/spec/platform §6",
  }),
  trustProxy: value<readonly string[]>({
    path: ["server", "trustProxy"],
    fallback: [],
    source: "docs/guides/reverse-proxy.md",
  }),
  loginAlways: value<boolean>({
    path: ["server", "loginAlways"],
    variable: "loginAlways",
    fallback: false,
    source: "docs/spec/platform §6",
  }),
  drainMs: value<number>({
    path: ["server", "drain"],
    fallback: SERVER_LIMITS.drainMs,
    source: "docs/guides/limits.md",
    unit: "ms",
  }),
  requestsPerAddress: value<number>({
    path: ["server", "limits", "perAddress"],
    fallback: SERVER_LIMITS.perAddress,
    source: "docs/spec/platform §6",
    unit: "per minute",
  }),
  requestsPerLoopback: value<number>({
    path: ["server", "limits", "perLoopback"],
    fallback: SERVER_LIMITS.perLoopback,
    source: "docs/spec/platform §6",
    unit: "per minute",
  }),
  requestsPerToken: value<number | undefined>({
    path: ["server", "limits", "perToken"],
    fallback: undefined,
    source: "as for the token's address",
    unit: "per minute",
  }),
  logins: value<number>({
    path: ["server", "limits", "logins"],
    fallback: SERVER_LIMITS.logins,
    source: "docs/spec/platform §6",
    unit: "per minute",
  }),
  headBytes: serverLimit("headBytes", SERVER_LIMITS.headBytes, "bytes"),
  headMs: serverLimit("head", SERVER_LIMITS.headMs, "ms"),
  requestMs: serverLimit("request", SERVER_LIMITS.requestMs, "ms"),
  bodyIdleMs: serverLimit("bodyIdle", SERVER_LIMITS.bodyIdleMs, "ms"),
  keepAliveMs: serverLimit("keepAlive", SERVER_LIMITS.keepAliveMs, "ms"),
  planBytes: serverLimit("planBytes", SERVER_LIMITS.planBytes, "bytes"),
  planMs: serverLimit("planTime", SERVER_LIMITS.planMs, "ms"),
  jsonDepth: serverLimit("jsonDepth", SERVER_LIMITS.jsonDepth, "levels"),
  jsonValues: serverLimit("jsonValues", SERVER_LIMITS.jsonValues, "values"),
  slots: serverLimit("slots", SERVER_LIMITS.slots, "slots"),
  connections: serverLimit("connections", SERVER_LIMITS.connections, "connections"),
  connectionsPerAddress: serverLimit(
    "connectionsPerAddress",
    SERVER_LIMITS.connectionsPerAddress,
    "connections",
  ),
  connectionsPerLoopback: serverLimit(
    "connectionsPerLoopback",
    SERVER_LIMITS.connectionsPerLoopback,
    "connections",
  ),
  streams: serverLimit("streams", SERVER_LIMITS.streams, "streams"),
  streamsPerAddress: serverLimit("streamsPerAddress", SERVER_LIMITS.streamsPerAddress, "streams"),
  streamsPerLoopback: serverLimit(
    "streamsPerLoopback",
    SERVER_LIMITS.streamsPerLoopback,
    "streams",
  ),
  streamsPerToken: serverLimit("streamsPerToken", SERVER_LIMITS.streamsPerToken, "streams"),
  bufferBytes: serverLimit("streamBytes", SERVER_LIMITS.bufferBytes, "bytes"),
  streamsBytes: serverLimit("streamsBytes", SERVER_LIMITS.streamsBytes, "bytes"),
  stallMs: serverLimit("stall", SERVER_LIMITS.stallMs, "ms"),
  logLevel: value<string>({
    variable: "logLevel",
    fallback: "info",
    source: "docs/guides/observability.md",
  }),
  fileBytes: value<number>({
    path: ["files", "fileBytes"],
    fallback: FILE_BOUNDS.fileBytes,
    source: "docs/decisions/0022-files.md",
    unit: "bytes",
  }),
  sessionFileBytes: value<number>({
    path: ["files", "sessionBytes"],
    fallback: FILE_BOUNDS.sessionBytes,
    source: "docs/decisions/0022-files.md",
    unit: "bytes",
  }),
  tenantFileBytes: value<number>({
    path: ["files", "tenantBytes"],
    fallback: FILE_BOUNDS.tenantBytes,
    source: "docs/decisions/0022-files.md",
    unit: "bytes",
  }),
  databaseConnections: value<number>({
    path: ["database", "connections"],
    fallback: 16,
    source: "durable/database.ts",
  }),
  databaseWaitMs: value<number>({
    path: ["database", "wait"],
    fallback: 60_000,
    source: "docs/spec/platform §8",
    unit: "ms",
  }),
  databaseIdleMs: value<number>({
    path: ["database", "idle"],
    fallback: IDLE_MS,
    source: "docs/spec/platform §2",
    unit: "ms",
  }),
  busy: value<BusyPolicy>({
    path: ["sessions", "busy"],
    fallback: "queue",
    source: "docs/spec/conversation §3",
  }),
  notifyAfterMs: value<number>({
    path: ["notify", "after"],
    fallback: 5_000,
    source: "docs/spec/collaboration §12",
    unit: "ms",
  }),
  notifyPerHour: value<number>({
    path: ["notify", "perHour"],
    fallback: 60,
    source: "docs/spec/collaboration §12",
    unit: "per person",
  }),
  notifyText: value<boolean>({
    path: ["notify", "text"],
    fallback: true,
    source: "docs/spec/collaboration §12",
  }),
  notifyContact: value<string>({
    path: ["notify", "contact"],
    fallback: "mailto:dure@example.com",
    source: "RFC 8292 §2.1",
  }),
  pairCalls: value<number>({
    path: ["limits", "pair", "calls"],
    fallback: ROOM_LIMITS.pairCalls,
    source: "docs/spec/collaboration §5",
    unit: "calls",
  }),
  pairPerMs: value<number>({
    path: ["limits", "pair", "per"],
    fallback: ROOM_LIMITS.pairPerMs,
    source: "docs/spec/collaboration §5",
    unit: "ms",
  }),
  threadMessages: value<number>({
    path: ["limits", "thread", "messages"],
    fallback: ROOM_LIMITS.threadMessages,
    source: "docs/spec/collaboration §5",
    unit: "messages",
  }),
  threadPerMs: value<number>({
    path: ["limits", "thread", "per"],
    fallback: ROOM_LIMITS.threadPerMs,
    source: "docs/spec/collaboration §5",
    unit: "ms",
  }),
  suspendMs: value<number>({
    path: ["limits", "thread", "suspend"],
    fallback: ROOM_LIMITS.suspendMs,
    source: "docs/spec/collaboration §5",
    unit: "ms",
  }),
  exchangeMessages: value<number>({
    path: ["limits", "exchange"],
    fallback: ROOM_LIMITS.exchangeMessages,
    source: "docs/spec/collaboration §5",
    unit: "messages",
  }),
  chainDepth: value<number>({
    path: ["limits", "chainDepth"],
    fallback: ROOM_LIMITS.chainDepth,
    source: "docs/spec/collaboration §5",
    unit: "agents",
  }),
  threadsPerMinute: value<number>({
    path: ["limits", "threadsPerMinute"],
    fallback: ROOM_LIMITS.threadsPerMinute,
    source: "docs/spec/collaboration §5",
    unit: "threads",
  }),
  routeMs: value<number>({
    path: ["limits", "route"],
    fallback: ROOM_LIMITS.routeMs,
    source: "docs/spec/collaboration §4",
    unit: "ms",
  }),
  callKeyMs: value<number>({
    path: ["limits", "callKey"],
    fallback: ROOM_LIMITS.callKeyMs,
    source: "docs/spec/collaboration §4",
    unit: "ms",
  }),
  deliveryWaitMs: value<number>({
    path: ["limits", "deliveryWait"],
    fallback: ROOM_LIMITS.deliveryWaitMs,
    source: "docs/spec/collaboration §6",
    unit: "ms",
  }),
  firstReminderMs: value<number>({
    path: ["limits", "reminders", "first"],
    fallback: ROOM_LIMITS.reminderMs[0],
    source: "docs/spec/collaboration §4",
    unit: "ms",
  }),
  secondReminderMs: value<number>({
    path: ["limits", "reminders", "second"],
    fallback: ROOM_LIMITS.reminderMs[1],
    source: "docs/spec/collaboration §4",
    unit: "ms",
  }),
  unansweredMs: value<number>({
    path: ["limits", "reminders", "escalate"],
    fallback: ROOM_LIMITS.unansweredMs,
    source: "docs/spec/collaboration §4",
    unit: "ms",
  }),
  participantsMs: value<number>({
    path: ["limits", "participants"],
    fallback: ROOM_LIMITS.participantsMs,
    source: "docs/spec/collaboration §3",
    unit: "ms",
  }),
  gatherPolicy: value<GatherPolicy>({
    path: ["rooms", "gather", "policy"],
    fallback: GATHER.policy,
    source: "docs/spec/collaboration §2",
  }),
  gatherRestMs: value<number>({
    path: ["rooms", "gather", "rest"],
    fallback: GATHER.restMs,
    source: "docs/spec/collaboration §2",
    unit: "ms",
  }),
  gatherMostMs: value<number>({
    path: ["rooms", "gather", "most"],
    fallback: GATHER.mostMs,
    source: "docs/spec/collaboration §2",
    unit: "ms",
  }),
  secondaryWaitMs: value<number>({
    path: ["limits", "secondaryWait"],
    fallback: ROOM_LIMITS.secondaryWaitMs,
    source: "docs/spec/collaboration §2",
    unit: "ms",
  }),
  workingNoticeMs: value<number>({
    path: ["limits", "workingNotice"],
    fallback: ROOM_LIMITS.workingNoticeMs,
    source: "docs/spec/collaboration §9",
    unit: "ms",
  }),
  offlineAfterMs: value<number>({
    path: ["limits", "offlineAfter"],
    fallback: ROOM_LIMITS.offlineAfterMs,
    source: "docs/spec/collaboration §4",
    unit: "ms",
  }),
  missedMs: value<number>({
    path: ["limits", "missed", "age"],
    fallback: ROOM_LIMITS.missedMs,
    source: "docs/spec/collaboration §9",
    unit: "ms",
  }),
  missedPerPlace: value<number>({
    path: ["limits", "missed", "messages"],
    fallback: ROOM_LIMITS.missedPerPlace,
    source: "docs/spec/collaboration §9",
    unit: "messages",
  }),
  observations: value<number>({
    path: ["limits", "observations", "count"],
    fallback: ROOM_LIMITS.observations,
    source: "docs/spec/collaboration §7",
    unit: "records",
  }),
  observationsMs: value<number>({
    path: ["limits", "observations", "keep"],
    fallback: ROOM_LIMITS.observationsMs,
    source: "docs/spec/collaboration §7",
    unit: "ms",
  }),
  jobPermits: value<number>({
    path: ["jobs", "permits"],
    fallback: JOB_LIMITS.permits,
    source: "docs/spec/jobs §3",
    unit: "exchanges",
  }),
  jobTurns: value<number>({
    path: ["jobs", "maxTurns"],
    fallback: JOB_LIMITS.collaborationTurns,
    source: "docs/spec/jobs §3",
    unit: "turns",
  }),
  keepJobsMs: value<number>({
    path: ["jobs", "keep"],
    fallback: JOB_LIMITS.keepMs,
    source: "docs/spec/jobs §4",
    unit: "ms",
  }),
  jobTreeTokens: value<number | undefined>({
    path: ["jobs", "treeTokens"],
    fallback: undefined,
    source: "the team's budget bounds it",
    unit: "tokens",
  }),
  plansMemoryBytes: value<number | undefined>({
    path: ["plans", "memoryBytes"],
    fallback: undefined,
    source: "half of the machine's, and 4 GiB at most",
    unit: "bytes",
  }),
  plansCpus: value<number | undefined>({
    path: ["plans", "cpus"],
    fallback: undefined,
    source: "all of the machine's but half of one",
    unit: "CPUs",
  }),
  plansDiskBytes: value<number | undefined>({
    path: ["plans", "diskBytes"],
    fallback: undefined,
    source: "half of what is free, and 10 GiB at most",
    unit: "bytes",
  }),
  plansFilesByModes: value<boolean>({
    path: ["plans", "filesByModes"],
    fallback: false,
    source: "docs/spec/plans §5",
  }),
  plansRemote: value<string | undefined>({
    path: ["plans", "remote"],
    fallback: undefined,
    source: "docs/spec/plans §3: none",
  }),
  escalationCriticalMs: value<number>({
    path: ["escalations", "after", "critical"],
    fallback: ROUTE_AFTER_MS.critical,
    source: "docs/spec/plans §7",
    unit: "ms",
  }),
  escalationHighMs: value<number>({
    path: ["escalations", "after", "high"],
    fallback: ROUTE_AFTER_MS.high,
    source: "docs/spec/plans §7",
    unit: "ms",
  }),
  escalationMediumMs: value<number>({
    path: ["escalations", "after", "medium"],
    fallback: ROUTE_AFTER_MS.medium,
    source: "docs/spec/plans §7",
    unit: "ms",
  }),
  sessionQueue: value<number>({
    path: ["limits", "sessionQueue"],
    fallback: 20,
    source: "docs/spec/conversation §3",
    unit: "messages",
  }),
  messageBytes: value<number>({
    path: ["limits", "messageBytes"],
    fallback: SERVER_LIMITS.messageBytes,
    source: "docs/spec/conversation §6",
    unit: "bytes",
  }),
  maxFillTurns: value<number>({
    path: ["limits", "maxFillTurns"],
    variable: "maxFillTurns",
    fallback: 5,
    source: "docs/spec/conversation §8",
    unit: "turns",
  }),
  confirmMs: value<number>({
    path: ["limits", "confirm"],
    fallback: QUESTION_HOLDS_MS,
    source: "docs/spec/conversation §3",
    unit: "ms",
  }),
  patienceMs: value<number>({
    path: ["limits", "patience", "background"],
    fallback: durationMs("30m"),
    source: "docs/spec/conversation §4",
    unit: "ms",
  }),
  chatPatienceMs: value<number>({
    path: ["limits", "patience", "chat"],
    fallback: durationMs("1m"),
    source: "docs/spec/conversation §4",
    unit: "ms",
  }),
  repeatMs: value<number>({
    path: ["limits", "repeats"],
    fallback: 600_000,
    source: "docs/decisions/0018-requests-without-a-key.md",
    unit: "ms",
  }),
  summarizeThreshold: value<number>({
    path: ["memory", "summarizeThreshold"],
    variable: "memorySummarizeThreshold",
    fallback: MEMORY_DEFAULTS.summarizeThreshold,
    source: "docs/spec/conversation §5",
    unit: "turns",
  }),
  keepRecentTurns: value<number>({
    path: ["memory", "keepRecentTurns"],
    variable: "memoryKeepRecentTurns",
    fallback: MEMORY_DEFAULTS.keepRecentTurns,
    source: "docs/spec/conversation §5",
    unit: "turns",
  }),
  maxRawTurns: value<number>({
    path: ["memory", "maxRawTurns"],
    variable: "memoryMaxRawTurns",
    fallback: MEMORY_DEFAULTS.maxRawTurns,
    source: "docs/spec/conversation §5",
    unit: "turns",
  }),
  enableSummary: value<boolean>({
    path: ["memory", "enableSummary"],
    variable: "memoryEnableSummary",
    fallback: MEMORY_DEFAULTS.enableSummary,
    source: "docs/spec/conversation §5",
  }),
  summaryModel: value<string | undefined>({
    path: ["memory", "summaryModel"],
    variable: "memorySummaryModel",
    fallback: undefined,
    source: "the team's model",
  }),
  summaryPrompt: value<string | SummaryPrompts | undefined>({
    path: ["memory", "summaryPrompt"],
    fallback: undefined,
    source: "engine/agent/memory.ts",
  }),
  keepTurnEventsMs: value<number>({
    path: ["retention", "turnEvents"],
    fallback: durationMs("24h"),
    source: "docs/spec/conversation §6",
    unit: "ms",
  }),
  keepSessionsMs: value<number | undefined>({
    path: ["retention", "sessions"],
    fallback: undefined,
    source: "kept until they are forgotten",
    unit: "ms",
  }),
  keepTurnsMs: value<number | undefined>({
    path: ["retention", "turns"],
    fallback: undefined,
    source: "kept as long as their session",
    unit: "ms",
  }),
  keepEventsMs: value<number>({
    path: ["retention", "events"],
    fallback: durationMs("7d"),
    source: "docs/guides/operate.md",
    unit: "ms",
  }),
} as const;

export type SettingKey = keyof typeof SETTINGS;
/** What holds, each from its first origin. */
export type Settings = {
  readonly [Key in SettingKey]: (typeof SETTINGS)[Key] extends Setting<infer Value> ? Value : never;
};

/** Where a value comes from, in words that lead a person there. */
export type SettingOrigin =
  | { readonly kind: "default"; readonly source: string }
  | { readonly kind: "file"; readonly file: string; readonly line?: number | undefined }
  | { readonly kind: "environment"; readonly variable: string };

export interface ResolvedSetting {
  /** Its path in the configuration, or its variable. */
  readonly key: string;
  readonly value: unknown;
  readonly unit?: string;
  readonly origin: SettingOrigin;
}

type TeamValues = Pick<LoadedTeam, "config" | "document">;

/**
 * The settings of a team in this environment. Throws `SETTINGS_DISAGREE` when two of them cannot
 * both hold.
 */
export function settingsOf(config: TeamConfig, environment: Environment): Settings {
  const settings = Object.fromEntries(
    Object.entries<Setting<unknown>>(SETTINGS).map(([key, setting]) => [
      key,
      resolve(setting, { config, document: undefined }, environment).value,
    ]),
  ) as unknown as Settings;

  if (settings.keepRecentTurns < settings.summarizeThreshold) return settings;

  throw new DureError(
    "SETTINGS_DISAGREE",
    `memory.keepRecentTurns is ${settings.keepRecentTurns} and memory.summarizeThreshold ` +
      `is ${settings.summarizeThreshold}: nothing would ever be folded.`,
    {
      class: "input",
      hint: "Keep fewer turns than the threshold; dure doctor --settings shows where each value comes from.",
    },
  );
}

/**
 * Every limit and setting with its value and origin, for `dure doctor`. Secrets only say that they
 * are set.
 */
export function resolveLimits(team: TeamValues, environment: Environment): ResolvedSetting[] {
  const settings = Object.values<Setting<unknown>>(SETTINGS).map((setting) =>
    resolve(setting, team, environment),
  );
  return [
    ...settings,
    modelSetting(team, environment),
    ...placeSettings(team),
    ...budgetSettings(team),
    ...secretSettings(environment),
  ];
}

/** Used when a key is set and neither `DURE_MODEL` nor the configuration names a model. */
const MODEL_OF_KEY = {
  anthropic: "anthropic:claude-sonnet-4-5",
  openai: "openai:gpt-4.1-mini",
} as const satisfies Record<KeyedProvider, string>;

/**
 * The model of the team: `DURE_MODEL`, else the configuration's, else that of the key that is set,
 * else the offline one. `DURE_MODEL=offline` alone is that same offline one, key or no key.
 */
export function modelOf(config: TeamConfig, environment: Environment): Llm {
  if (environment.model === "offline") return offlineModelOf(config);
  if (environment.model !== undefined) {
    return parseModelNames(environment.model);
  }
  if (config.model) return config.model;

  const provider = keyThatIsSet(environment);
  if (provider === undefined) return offlineModelOf(config);

  return parseModelNames(MODEL_OF_KEY[provider]);
}

/** Whether the team, or an agent by its card in the configuration, has the model of a provider. */
export function hasProvider(config: TeamConfig, environment: Environment): boolean {
  const cards = Object.values(config.agents ?? {}).map(({ card }) => parseCard(card).llm);
  return [modelOf(config, environment), ...cards].some(
    (llm) => llm !== undefined && llm.provider !== "offline",
  );
}

/** The offline model that the configuration names, else its first, else the one that says how. */
function offlineModelOf({ model, offlineModels }: TeamConfig): Llm {
  if (model?.provider === "offline") return model;
  const own = typeof offlineModels === "function" ? undefined : offlineModels?.[0]?.name;
  return parseModelNames(own === undefined ? `offline:${NO_MODEL}` : `offline:${own}`);
}

/** The first one of `MODEL_OF_KEY`. */
function keyThatIsSet(environment: Environment): KeyedProvider | undefined {
  const providers = Object.keys(MODEL_OF_KEY) as KeyedProvider[];
  return providers.find((name) => environment[`${name}ApiKey`] !== undefined);
}

/** The model for every agent, whatever its card says: `DURE_MODEL` with a real provider. */
export function everyModelOf(environment: Environment): Llm | undefined {
  if (environment.model === undefined) return undefined;
  const llm = parseModelNames(environment.model);
  return llm.provider === "offline" ? undefined : llm;
}

/**
 * Prices that go before the built-in ones: the configuration speaks of USD per million tokens, the
 * table of micro-USD.
 */
export function pricesOf(config: TeamConfig): PriceTable {
  return Object.fromEntries(
    Object.entries(config.prices ?? {}).map(([model, { in: input, out, ...cache }]) => [
      model,
      {
        in: input * 1_000_000,
        out: out * 1_000_000,
        cachedIn: microUsd(cache.cachedIn),
        cacheWrite: microUsd(cache.cacheWrite),
      },
    ]),
  );
}

function microUsd(usd: number | undefined): number | undefined {
  return usd === undefined ? undefined : usd * 1_000_000;
}

/** The limits of the server, with what the team has set. Pure. */
export function serverLimitsOf(settings: Settings): ServerLimits {
  const {
    requestsPerAddress: perAddress,
    requestsPerLoopback: perLoopback,
    requestsPerToken: perToken,
    ...others
  } = settings;

  const known = Object.keys(SERVER_LIMITS).flatMap((key) =>
    key in others ? [[key, others[key as keyof typeof others]]] : [],
  );
  return { ...(Object.fromEntries(known) as ServerLimits), perAddress, perLoopback, perToken };
}

/** Keys and addresses of providers, for `Models`. */
export function providersOf(environment: Environment): ProviderSettings {
  const settingOf = (name: KeyedProvider) => ({
    apiKey: environment[`${name}ApiKey`],
    baseUrl: environment[`${name}BaseUrl`],
  });
  const keyed = KEYED_PROVIDERS.map((name) => [name, settingOf(name)] as const);
  return { ...Object.fromEntries(keyed), "openai-compatible": settingOf("openai") };
}

/** `default (docs/spec/platform §2)`, `dure.yaml:7`, `PORT`. */
export function originText(origin: SettingOrigin): string {
  switch (origin.kind) {
    case "default":
      return `default (${origin.source})`;
    case "file":
      return origin.line === undefined ? origin.file : `${origin.file}:${origin.line}`;
    case "environment":
      return origin.variable;
    default:
      return origin satisfies never;
  }
}

function resolve(
  setting: Setting<unknown>,
  { config, document }: TeamValues,
  environment: Environment,
): ResolvedSetting {
  const { path, variable, fallback, source, unit } = setting;
  const key = path?.join(".") ?? VARIABLES[variable!].name;
  const more = unit === undefined ? {} : { unit };

  if (variable !== undefined && environment[variable] !== undefined) {
    return {
      key,
      value: environment[variable],
      ...more,
      origin: { kind: "environment", variable: VARIABLES[variable].name },
    };
  }

  const given = path === undefined ? undefined : valueAt(config, path);
  if (given !== undefined) {
    return { key, value: given, ...more, origin: fileOrigin(document, path!) };
  }

  return { key, value: fallback, ...more, origin: { kind: "default", source } };
}

function fileOrigin(document: TeamValues["document"], path: readonly string[]): SettingOrigin {
  const line = document?.locate(path)?.line;
  return {
    kind: "file",
    file: document?.file ?? "defineTeam",
    line,
  };
}

function modelSetting({ config, document }: TeamValues, environment: Environment): ResolvedSetting {
  return { key: "model", value: modelNames(modelOf(config, environment)), origin: modelOrigin() };

  function modelOrigin(): SettingOrigin {
    if (environment.model !== undefined) {
      return { kind: "environment", variable: VARIABLES.model.name };
    }
    if (config.model) return fileOrigin(document, ["model"]);

    const provider = keyThatIsSet(environment);

    return provider === undefined
      ? { kind: "default", source: "docs/spec/platform §2" }
      : { kind: "environment", variable: keyFactsOf(provider).key };
  }
}

/** Default places as they are in force: in full, one for each platform. */
function placeSettings({ config, document }: TeamValues): ResolvedSetting[] {
  if (Object.keys(config.agents ?? {}).length === 0) return [];
  const inForce = (places: DefaultPlaces): readonly string[] =>
    fullNamesOf(defaultPlaces(places, roomChannelsOf(config)));

  const set = placeSettingsOf(config).map(({ path, places }): ResolvedSetting => ({
    key: path.join("."),
    value: inForce(places),
    origin: fileOrigin(document, path),
  }));
  if (config.rooms?.defaultChannel !== undefined) return set;
  const origin = { kind: "default", source: "the first of rooms.channels" } as const;
  return [
    { key: "rooms.defaultChannel", value: inForce(defaultChannelOf(config)), origin },
    ...set,
  ];
}

function budgetSettings({ config, document }: TeamValues): ResolvedSetting[] {
  const { turn, session, agent, team } = config.budgets ?? {};
  const rows: [readonly string[], BudgetLimit | undefined][] = [
    [["budgets", "turn"], turn],
    [["budgets", "session"], session],
    [["budgets", "agent", "day"], agent?.day],
    [["budgets", "team", "day"], team?.day],
  ];

  return rows.map(([path, limit]) => ({
    key: path.join("."),
    value: limit === undefined ? "no bound" : budgetText(limit),
    origin:
      limit === undefined
        ? { kind: "default", source: "docs/guides/budgets.md" }
        : fileOrigin(document, path),
  }));
}

function budgetText({ tokens, microUsd }: BudgetLimit): string {
  return [
    microUsd === undefined ? [] : `${microUsd / 1_000_000} USD`,
    tokens === undefined ? [] : `${tokens} tokens`,
  ]
    .flat()
    .join(", ");
}

function secretSettings(environment: Environment): ResolvedSetting[] {
  const keys = KEYED_PROVIDERS.map((name) => `${name}ApiKey` as const);
  return (["databaseUrl", "token", ...keys] as const).map((key) => {
    const isSet = environment[key] !== undefined;
    const variable = VARIABLES[key].name;

    return {
      key: variable,
      value: isSet ? "set" : "not set",
      origin: isSet
        ? { kind: "environment", variable }
        : { kind: "default", source: "secrets stand in the environment only" },
    };
  });
}
