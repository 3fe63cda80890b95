import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Database } from "../durable/database.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { Leases } from "../durable/leases.ts";
import type { Notifications } from "../durable/notify.ts";
import type { Outbox } from "../durable/outbox.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { Conversations } from "../engine/api.ts";
import type { Inbox } from "../escalations/inbox.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { waitingWithoutAccount } from "../rooms/accounts.ts";
import type { ChannelAdapter, ChannelFinding, ChannelPort } from "../rooms/channel-adapter.ts";
import { Directory, type RoomAgent, type RoomChannel } from "../rooms/directory.ts";
import { ROOM_LIMITS, type RoomLimits } from "../rooms/limits.ts";
import { Rooms } from "../rooms/rooms.ts";
import type { SinkTargets } from "../rooms/sink.ts";
import { threadTopic } from "../rooms/text.ts";
import { WebAdapter } from "../rooms/web-adapter.ts";
import type { LoadedTeam, TeamConfig } from "./config.ts";
import type { Environment } from "./environment.ts";
import type { Settings } from "./limits.ts";

/** The rooms of a team, with what they report of background work. */
export async function openRooms(
  team: LoadedTeam,
  environment: Environment,
  parts: {
    database: Database;
    outbox: Outbox;
    notifications: Notifications;
    lease: ProcessLease;
    leases: Leases;
    conversations: Conversations;
    inbox: Inbox;
    settings: Settings;
    directory: Directory;
    events: EventLog;
    jobs: Pick<Jobs, "get">;
    clock: Clock;
    logger: Logger;
  },
): Promise<Rooms> {
  const { config } = team;
  const adapters = await Promise.all(
    adapterNames(config).map((name) => openAdapter(name, config, environment, parts)),
  );
  const { settings, jobs, ...durable } = parts;
  return new Rooms({
    ...durable,
    adapters,
    limits: roomLimits(settings),
    locale: settings.locale,
    allowBots: config.rooms?.allowBots ?? false,
    approvers: config.rooms?.approvers,
    stream: config.rooms?.stream ?? false,
    defaultChannel: config.rooms?.defaultChannel ?? Object.keys(channelsOf(config))[0]!,
    personaOf: (agent) => readSoul(team.folder, agent),
    sink: sinkOf(team, parts.directory),
    conversationOf: (job) => conversationOf(job, jobs, parts.directory),
  });
}

/** Characters of a persona that the directory shows. */
const MAX_SOUL = 8_000;

/** Read each time, for an agent's folder may change while the team runs. Undefined: it has none. */
async function readSoul(folder: string, agent: string): Promise<string | undefined> {
  const text = await readFile(path.join(folder, "agents", agent, "SOUL.md"), "utf8").catch(
    () => "",
  );
  return text.trim() === "" ? undefined : text.trim().slice(0, MAX_SOUL);
}

/** One fact about an account, for the doctor. */
export interface AccountFinding extends ChannelFinding {
  readonly agent: string;
  readonly adapter: string;
}

/**
 * Whether every agent has an account wherever the team is, and what the platform says of each:
 * token, intents, permissions per channel.
 */
export async function checkAccounts(
  team: LoadedTeam,
  environment: Environment,
  options: { clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<readonly AccountFinding[]> {
  const directory = directoryOf(team.config, environment);
  const findings: AccountFinding[] = [];
  for (const name of directory ? adapterNames(team.config) : []) {
    for (const agent of directory!.agents) {
      if (!agent.accounts[name]) {
        findings.push({
          agent: agent.id,
          adapter: name,
          ok: false,
          what: `${agent.displayName} has no account on ${name}`,
          hint: accountHint(name, agent.id),
        });
      }
    }
    if (name !== "discord") continue;
    const adapter = await discordAdapter(team.config, environment, directory!);
    await adapter.start({ clock: options.clock, logger: options.logger } as ChannelPort);
    try {
      for (const account of directory!.accountsOf(name)) {
        for (const finding of (await adapter.check?.(account, { signal: options.signal })) ?? []) {
          findings.push({ ...finding, agent: account.agent, adapter: name });
        }
      }
    } finally {
      await adapter.stop();
    }
  }
  return findings;
}

/**
 * What agents have said and cannot leave, because the account has no token any more; for the
 * doctor.
 */
export async function checkWaiting(
  { config }: LoadedTeam,
  environment: Environment,
  database: Database,
): Promise<readonly AccountFinding[]> {
  const directory = directoryOf(config, environment);
  const [row] = await database.query<{ exists: boolean }>({
    text: "select to_regclass('dure.accounts') is not null as exists",
  });
  if (!directory || !row?.exists) return [];
  const findings = adapterNames(config)
    .filter((name) => name !== "web")
    .map(async (adapter) =>
      (await waitingWithoutAccount(database, adapter, directory)).map(
        ({ agent, count }): AccountFinding => ({
          agent,
          adapter,
          ok: false,
          what: `${count} ${count === 1 ? "message waits" : "messages wait"} to leave`,
          hint: accountHint(adapter, agent),
        }),
      ),
    );
  return (await Promise.all(findings)).flat();
}

function accountHint(adapter: string, agent: string): string {
  return adapter === "discord"
    ? `Set DISCORD_TOKEN_${agent.toUpperCase().replaceAll("-", "_")} to the token of its bot.`
    : `Set agents.${agent}.accounts.${adapter}.`;
}

async function openAdapter(
  name: "web" | "discord",
  config: TeamConfig,
  environment: Environment,
  { database, directory }: { database: Database; directory: Directory },
): Promise<ChannelAdapter> {
  return name === "web"
    ? new WebAdapter({ database })
    : discordAdapter(config, environment, directory);
}

/** The directory is asked each time: a reload adds channels and takes them away. */
async function discordAdapter(
  config: TeamConfig,
  environment: Environment,
  directory: Directory,
): Promise<ChannelAdapter> {
  const { DiscordAdapter } = await loadDiscord();
  const channels = directory.channels
    .filter(({ adapter }) => adapter === "discord")
    .map(({ channel }) => channel);
  return new DiscordAdapter({
    tokens: tokensOf(config, environment),
    channels,
    joinsThread: (place) =>
      directory.channels.some(
        ({ adapter, channel }) => adapter === "discord" && channel === place.channel,
      ),
    apiUrl: environment.discordApiUrl,
  });
}

/**
 * Apart, for the compiler leaves the path of an import as it stands in some functions; and only
 * teams on Discord load it.
 */
const loadDiscord = () => import("../discord/discord-adapter.ts");

function adapterNames(config: TeamConfig): readonly ("web" | "discord")[] {
  return [...new Set(config.rooms?.adapters ?? ["web" as const])];
}

function channelsOf(config: TeamConfig): NonNullable<NonNullable<TeamConfig["rooms"]>["channels"]> {
  const given = config.rooms?.channels ?? {};
  return Object.keys(given).length > 0 ? given : { general: {} };
}

/** By account. */
function tokensOf(
  config: TeamConfig,
  environment: Pick<Environment, "discordTokens">,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(config.agents ?? {}).flatMap(([id, agent]) => {
      const token = tokenOf(id, environment);
      return token === undefined ? [] : [[agent.accounts?.["discord"] ?? id, token]];
    }),
  );
}

/**
 * Variables know only capitals and underscores: `DISCORD_TOKEN_NIGHT_OWL` is that of `night-owl`.
 */
function tokenOf(
  agent: string,
  environment: Pick<Environment, "discordTokens">,
): string | undefined {
  return environment.discordTokens[agent.toLowerCase().replaceAll("-", "_")];
}

/** Who is who; undefined for a team without agents. Throws `ROOMS_WITHOUT_AGENTS`. */
export function directoryOf(
  config: TeamConfig,
  environment: Pick<Environment, "discordTokens">,
): Directory | undefined {
  if (Object.keys(config.agents ?? {}).length === 0) {
    if (config.rooms) {
      throw new DureError("ROOMS_WITHOUT_AGENTS", "The team has rooms and no agents.", {
        class: "input",
        hint: "Add agents: { … }, or remove rooms.",
      });
    }
    return undefined;
  }
  const adapters = adapterNames(config);
  const agents = Object.entries(config.agents ?? {}).map(([id, agent]): RoomAgent => ({
    id,
    displayName: agent.displayName ?? id,
    service: agent.service ?? id,
    leads: agent.leads ?? false,
    channel: agent.channel,
    accounts: Object.fromEntries(
      adapters
        .filter((adapter) => adapter === "web" || tokenOf(id, environment) !== undefined)
        .map((adapter) => [adapter, { id: agent.accounts?.[adapter] ?? id }]),
    ),
  }));
  const channels = Object.entries(channelsOf(config)).flatMap(([key, channel]) => {
    const wanted =
      channel.adapters ??
      (["web", ...(channel.discord === undefined ? [] : ["discord" as const])] as const);
    return adapters
      .filter((adapter) => wanted.includes(adapter))
      .map((adapter): RoomChannel => ({
        key,
        adapter,
        name: channel.name ?? key,
        collaborate: channel.collaborate ?? true,
        defaultAgent: channel.defaultAgent,
        channel: adapter === "discord" ? channel.discord! : key,
      }));
  });
  return new Directory({ agents, channels });
}

/** Where background work is reported; undefined: nowhere. */
function sinkOf({ config, folder }: LoadedTeam, directory: Directory): SinkTargets | undefined {
  const { channel, webhook, file } = config.rooms?.sink ?? {};
  const place = directory.channels.find(({ key }) => key === channel);
  if (!place && webhook === undefined && file === undefined) return undefined;
  return {
    channel: place,
    webhook,
    file: file === undefined ? undefined : path.resolve(folder, file),
  };
}

async function conversationOf(
  jobId: string,
  jobs: Pick<Jobs, "get">,
  directory: Directory,
): Promise<{ id: string; subject: string } | undefined> {
  // Undefined: removed meanwhile, or another tenant's; there is nothing to report.
  const job = await jobs.get(jobId).catch(() => undefined);
  return (
    job && {
      id: job.conversationId,
      subject:
        `${directory.nameOf(job.requester)} ↔ ${directory.nameOf(job.target)} · ` +
        threadTopic(job.topic ?? undefined, job.message),
    }
  );
}

/**
 * The numbers in force. Throws `SETTINGS_DISAGREE` when a later reminder would come before an
 * earlier one.
 */
export function roomLimits(settings: Settings): RoomLimits {
  const { firstReminderMs, secondReminderMs, unansweredMs } = settings;
  if (firstReminderMs >= secondReminderMs || secondReminderMs >= unansweredMs) {
    throw new DureError(
      "SETTINGS_DISAGREE",
      `limits.reminders must come one after another: first ${firstReminderMs} ms, second ` +
        `${secondReminderMs} ms, escalate ${unansweredMs} ms.`,
      {
        class: "input",
        hint: "Let each be longer than the one before; all count from the request.",
      },
    );
  }
  const set = Object.fromEntries(
    Object.keys(ROOM_LIMITS).flatMap((key) =>
      key in settings ? [[key, settings[key as keyof Settings]]] : [],
    ),
  );
  return {
    ...ROOM_LIMITS,
    ...(set as Partial<RoomLimits>),
    reminderMs: [firstReminderMs, secondReminderMs],
  };
}
