/** The rooms of a team, with the platforms and agents that it has. */

import { readFile } from "node:fs/promises";
import path from "node:path";
import type { ChannelKind, ChannelParts } from "../channels/channel-kind.ts";
import type { Database } from "../durable/database.ts";
import type { Files } from "../durable/files/files.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { Leases } from "../durable/leases.ts";
import type { Notifications } from "../durable/notify.ts";
import type { Outbox } from "../durable/outbox.ts";
import type { Pauses } from "../durable/pauses.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { Conversations } from "../engine/api.ts";
import type { Inbox } from "../escalations/inbox.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { waitingWithoutAccount } from "../rooms/in/accounts.ts";
import type { ChannelAdapter, ChannelFinding, ChannelPort } from "../rooms/channel-adapter.ts";
import { Directory, noticeAuthor, type RoomAgent } from "../rooms/directory.ts";
import { ROOM_LIMITS, type RoomLimits } from "../rooms/limits.ts";
import { defaultOn, defaultPlaces } from "../rooms/named-place.ts";
import { Rooms } from "../rooms/rooms.ts";
import type { Conversation, SinkTargets } from "../rooms/handover/sink.ts";
import { threadTopic } from "../rooms/text.ts";
import { AGENT_MARKDOWN, instructionsOf } from "./agent-markdown.ts";
import type { LoadedTeam, TeamConfig } from "./config.ts";
import type { Environment } from "./environment.ts";
import type { Settings } from "./limits.ts";
import { defaultChannelOf, kindsOf, roomChannelsOf } from "./room-channels.ts";

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
    pauses: Pauses;
    conversations: Conversations;
    files: Files;
    inbox: Inbox;
    settings: Settings;
    directory: Directory;
    events: EventLog;
    jobs: Pick<Jobs, "get" | "originOf">;
    clock: Clock;
    logger: Logger;
  },
): Promise<Rooms> {
  const { config } = team;
  const adapters = await Promise.all(
    kindsOf(config).map(async (kind) =>
      kind.open(partsOf(kind, { config, environment, ...parts })),
    ),
  );

  const { settings, jobs, ...durable } = parts;

  return new Rooms({
    ...durable,
    adapters,
    limits: roomLimits(settings),
    signs: config.rooms?.signs,
    gather: {
      policy: settings.gatherPolicy,
      restMs: settings.gatherRestMs,
      mostMs: settings.gatherMostMs,
    },
    locale: settings.locale,
    alertAfterMs: settings.notifyAfterMs,
    allowBots: config.rooms?.allowBots ?? false,
    approvers: config.rooms?.approvers,
    roles: config.rooms?.roles,
    stream: config.rooms?.stream ?? false,
    personaOf: (agent) => readSoul(team.folder, agent),
    sink: sinkOf(team, environment, parts.directory),
    conversationOf: (job) => conversationOf(job, jobs, parts.directory),
  });
}

/** Characters of a persona that the directory shows. */
const MAX_SOUL = 8_000;

/** Read each time, for an agent's folder may change while the team runs. Undefined: it has none. */
async function readSoul(folder: string, agent: string): Promise<string | undefined> {
  const read = (file: string): Promise<string> =>
    readFile(path.join(folder, "agents", agent, file), "utf8").catch(() => "");
  const soul = await read("SOUL.md");
  const text = soul.trim() === "" ? instructionsOf(await read(AGENT_MARKDOWN)) : soul.trim();

  return text === "" ? undefined : text.slice(0, MAX_SOUL);
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
  if (!directory) return [];

  const findings: AccountFinding[] = [];

  for (const kind of kindsOf(team.config)) {
    findings.push(...missingAccounts(kind, directory));
    if (kind.isLocal) continue;
    const { config } = team;
    const parts = partsOf(kind, { config, environment, directory, database: undefined });
    const found = await askPlatform(await kind.open(parts), { team, directory }, options);
    findings.push(...found.map((finding) => placed(finding, team, directory)));
  }

  return findings;
}

function missingAccounts(kind: ChannelKind, { agents }: Directory): readonly AccountFinding[] {
  return agents
    .filter(({ accounts }) => !accounts[kind.name])
    .map(({ id, displayName }) => ({
      agent: id,
      adapter: kind.name,
      ok: false,
      what: `${displayName} has no account on ${kind.name}`,
      hint: accountHint(kind, id),
    }));
}

/** What a platform says of each account. */
async function askPlatform(
  adapter: ChannelAdapter,
  { team, directory }: { team: LoadedTeam; directory: Directory },
  { clock, logger, signal }: { clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<readonly AccountFinding[]> {
  const findings: AccountFinding[] = [];
  await adapter.start({ clock, logger } as ChannelPort);

  try {
    for (const account of directory.accountsOf(adapter.name)) {
      const notices = noticesOf(account.agent, adapter.name, { team, directory });
      for (const finding of (await adapter.check?.(account, { signal, notices })) ?? []) {
        findings.push({ ...finding, agent: account.agent, adapter: adapter.name });
      }
    }
  } finally {
    await adapter.stop();
  }

  return findings;
}

/** The platform's ids of channels where this agent tells people of escalations. Pure. */
function noticesOf(
  agent: string,
  adapter: string,
  { team, directory }: { team: LoadedTeam; directory: Directory },
): readonly string[] {
  if (noticeAuthor(directory, adapter)?.id !== agent) return [];
  const told = defaultOn(adapter, team.config.escalations?.room, directory.channels);
  return told ? [told.channel] : [];
}

/** A fault of a channel, with where the channel stands in the team's file. Pure. */
function placed(
  finding: AccountFinding,
  { document }: LoadedTeam,
  { channels }: Directory,
): AccountFinding {
  const key = channels.find(({ channel }) => channel === finding.channel)?.key;
  if (finding.ok || key === undefined || document === undefined) return finding;
  const path = finding.isOfNotices ? ["escalations", "room"] : ["rooms", "channels", key];
  const line = document.locate(path)?.line;
  const file = line === undefined ? document.file : `${document.file}:${line}`;
  return { ...finding, what: `${file} ${path.join(".")}: ${finding.what}` };
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

  const findings = kindsOf(config)
    .filter(({ isLocal }) => !isLocal)
    .map(async (kind) =>
      (await waitingWithoutAccount(database, kind.name, directory)).map(
        ({ agent, count }): AccountFinding => ({
          agent,
          adapter: kind.name,
          ok: false,
          what: `${count} ${count === 1 ? "message waits" : "messages wait"} to leave`,
          hint: accountHint(kind, agent),
        }),
      ),
    );

  return (await Promise.all(findings)).flat();
}

function accountHint(kind: ChannelKind, agent: string): string {
  return kind.accountHint?.(agent) ?? `Set agents.${agent}.accounts.${kind.name}.`;
}

/** The directory is asked each time: a reload adds channels and takes them away. */
function partsOf(
  { name }: ChannelKind,
  {
    config,
    environment,
    directory,
    database,
  }: {
    config: TeamConfig;
    environment: Environment;
    directory: Directory;
    database: Database | undefined;
  },
): ChannelParts {
  const accounts = Object.entries(config.agents ?? {}).map(([id, agent]) => [
    id,
    agent.accounts?.[name] ?? id,
  ]);
  return {
    database,
    environment,
    accounts: Object.fromEntries(accounts) as Record<string, string>,
    channels: () =>
      directory.channels.filter(({ adapter }) => adapter === name).map(({ channel }) => channel),
    // Without the one that leads, what people say in a thread of their own would stand nowhere.
    joinsThreads: (agent) => {
      const found = directory.find(agent);
      return found !== undefined && (found.threads === "all" || found.id === directory.lead?.id);
    },
  };
}

/** Who is who; undefined for a team without agents. Throws `ROOMS_WITHOUT_AGENTS`. */
export function directoryOf(
  config: TeamConfig,
  environment: Pick<Environment, "discordTokens" | "variable">,
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

  const kinds = kindsOf(config);

  const agents = Object.entries(config.agents ?? {}).map(([id, agent]): RoomAgent => ({
    id,
    displayName: agent.displayName ?? id,
    service: agent.service ?? id,
    leads: agent.leads ?? false,
    channel: agent.channel,
    line: agent.card?.line,
    threads: agent.card?.threads,
    accounts: Object.fromEntries(
      kinds
        .filter(({ hasAccount }) => hasAccount?.(id, environment) ?? true)
        .map(({ name }) => [name, { id: agent.accounts?.[name] ?? id }]),
    ),
  }));

  const channels = roomChannelsOf(config);
  return new Directory({ agents, channels, defaultChannel: defaultChannelOf(config) });
}

/** Where background work is reported; undefined: nowhere. */
function sinkOf(
  { config, folder }: LoadedTeam,
  { webhookSecret: secret }: Environment,
  directory: Directory,
): SinkTargets | undefined {
  const { channel, webhook, file, private: takesPrivate } = config.rooms?.sink ?? {};
  const channels = defaultPlaces(channel, directory.channels);
  if (channels.length === 0 && webhook === undefined && file === undefined) return undefined;
  return {
    channels,
    webhook,
    secret,
    file: file === undefined ? undefined : path.resolve(folder, file),
    private: takesPrivate,
  };
}

async function conversationOf(
  jobId: string,
  jobs: Pick<Jobs, "get" | "originOf">,
  directory: Directory,
): Promise<Conversation | undefined> {
  // Undefined: removed meanwhile, or another tenant's; there is nothing to report.
  const job = await jobs.get(jobId).catch(() => undefined);
  if (!job) return undefined;
  const names = `${directory.nameOf(job.requester)} ↔ ${directory.nameOf(job.target)}`;
  return {
    id: job.conversationId,
    subject: `${names} · ${threadTopic(job.topic ?? undefined, job.message)}`,
    session: await jobs.originOf(jobId),
  };
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
