import {
  ChannelError,
  type ChannelAccount,
  type ChannelFinding,
} from "../../rooms/channel-adapter.ts";
import type { AccountApi } from "./account-api.ts";
import { nameOf } from "./mapping.ts";
import {
  isForum,
  NEEDED,
  neededIn,
  NEEDS,
  PERMISSIONS,
  permissionsOf,
  UNFIT_KINDS,
} from "./permissions.ts";
import {
  applicationForm,
  channelsForm,
  guildsForm,
  memberForm,
  rolesForm,
  selfForm,
  type WireChannel,
} from "./wire-forms.ts";

/**
 * Source: "Application: Application Flags": the message content switch, of a bot in many and in few
 * servers.
 */
const MESSAGE_CONTENT_FLAGS = (1 << 18) | (1 << 19);

/** Channels that are looked at when none are named. */
const MAX_CHANNELS = 50;

/** The channels that are looked at, by their ids. */
export interface CheckedChannels {
  /** Empty: the text channels of its servers, the first 50. */
  readonly channels: readonly string[];
  /** Where the bot tells people something outside of threads. */
  readonly notices: readonly string[];
}

/** What `check` finds of an account that nothing can be asked for. */
export function noToken({ id }: ChannelAccount): ChannelFinding {
  return {
    ok: false,
    what: `${id}: there is no bot token.`,
    hint: "Name it in the configuration of the Discord adapter.",
  };
}

/**
 * What a doctor wants to know of one bot: its token, the message content switch, and in each
 * channel the permissions that it lacks.
 */
export async function checkAccount(
  api: AccountApi,
  account: ChannelAccount,
  checked: CheckedChannels,
  signal: AbortSignal,
): Promise<ChannelFinding[]> {
  const findings: ChannelFinding[] = [];
  try {
    const self = await api.read(selfForm, {
      method: "GET",
      route: "/users/@me",
      doing: "tell who the bot is",
      signal,
    });
    findings.push({
      ok: true,
      what: `${account.id}: the token belongs to the bot ${nameOf(self)} (${self.id}).`,
    });
    findings.push(await checkContentSwitch(api, account, signal));
    findings.push(...(await checkChannels(api, account, { selfId: self.id, ...checked, signal })));
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error;
    findings.push(failureOf(account, error));
  }

  return findings;
}

function failureOf(account: ChannelAccount, error: ChannelError): ChannelFinding {
  if (error.failure !== "credential") return { ok: false, what: `${account.id}: ${error.message}` };
  return {
    ok: false,
    what: `${account.id}: Discord does not accept the token.`,
    hint:
      "Reset the token in the developer portal, under Bot, and put the new one where the " +
      "configuration names it.",
  };
}

async function checkContentSwitch(
  api: AccountApi,
  account: ChannelAccount,
  signal: AbortSignal,
): Promise<ChannelFinding> {
  const { flags = 0 } = await api.read(applicationForm, {
    method: "GET",
    route: "/applications/@me",
    doing: "show the application",
    signal,
  });
  if ((flags & MESSAGE_CONTENT_FLAGS) !== 0) {
    return { ok: true, what: `${account.id}: the Message Content Intent is on.` };
  }

  return {
    ok: false,
    what: `${account.id}: the Message Content Intent is off; the bot cannot connect with it.`,
    hint: "Switch it on in the developer portal, under Bot, Privileged Gateway Intents.",
  };
}

async function checkChannels(
  api: AccountApi,
  account: ChannelAccount,
  { selfId, channels, notices, signal }: CheckedChannels & { selfId: string; signal: AbortSignal },
): Promise<ChannelFinding[]> {
  const invite = inviteLink(selfId);
  const guilds = await api.read(guildsForm, {
    method: "GET",
    route: "/users/@me/guilds",
    doing: "list the bot's servers",
    signal,
  });
  if (guilds.length === 0) {
    return [
      { ok: false, what: `${account.id}: the bot is in no server.`, hint: `Invite it: ${invite}` },
    ];
  }

  const findings: ChannelFinding[] = [];
  const wanted = new Set(channels);
  for (const guild of guilds) {
    const all = await api.read(channelsForm, {
      method: "GET",
      route: `/guilds/${guild.id}/channels`,
      doing: "list channels",
      signal,
    });
    const looked =
      channels.length > 0
        ? all.filter(({ id }) => wanted.has(id))
        : all.filter(({ type }) => UNFIT_KINDS[type] === undefined).slice(0, MAX_CHANNELS);
    if (looked.length === 0) continue;
    const permissionsIn = await readPermissions(api, guild.id, selfId, signal);
    for (const channel of looked) {
      wanted.delete(channel.id);
      const name = `#${channel.name ?? channel.id} (${guild.name})`;
      const finding = findingOf(account, channel, { name, bits: permissionsIn(channel), invite });
      findings.push({ ...finding, channel: channel.id });
      if (notices.includes(channel.id) && isForum(channel.type)) {
        findings.push(forumOfNotices(account, channel.id, name));
      }
    }
  }
  for (const id of wanted) {
    findings.push({
      ok: false,
      channel: id,
      ...(await whyMissing(api, account, { id, invite, signal })),
    });
  }

  return findings;
}

/** A list leaves out what the bot may not view; a look at the channel itself tells them apart. */
async function whyMissing(
  api: AccountApi,
  account: ChannelAccount,
  { id, invite, signal }: { id: string; invite: string; signal: AbortSignal },
): Promise<Pick<ChannelFinding, "what" | "hint">> {
  const isHidden = await api.place(id, signal).then(
    () => false,
    (error: unknown) => error instanceof ChannelError && error.failure === "permission",
  );
  if (isHidden) {
    return {
      what: `${account.id}: lacks ${NEEDS.see} in the channel ${id}.`,
      hint: `Give it to its role there; if the server is missing, invite the bot: ${invite}`,
    };
  }

  return {
    what: `${account.id}: there is no channel ${id} in its servers.`,
    hint: `Check the id; if the server is missing, invite the bot: ${invite}`,
  };
}

/** One channel: its kind, then what the bot may do there. Pure. */
function findingOf(
  account: ChannelAccount,
  channel: WireChannel,
  { name, bits, invite }: { name: string; bits: bigint; invite: string },
): ChannelFinding {
  const unfit = UNFIT_KINDS[channel.type];
  if (unfit !== undefined) {
    return {
      ok: false,
      what: `${account.id}: ${name} is ${unfit}: agents cannot talk there.`,
      hint: "Name a text channel, an announcement channel or a forum in rooms.channels.",
    };
  }
  const needed = neededIn(channel.type);
  const missing = needed.filter((permission) => (bits & PERMISSIONS[permission]) === 0n);
  if (missing.length === 0) {
    return { ok: true, what: `${account.id}: has what it needs in ${name}: ${needed.join(", ")}.` };
  }

  return {
    ok: false,
    // A bot from before agents made files works on: their files are named instead.
    isWarning: missing.every((permission) => permission === NEEDS.attach),
    what: `${account.id}: lacks ${missing.join(", ")} in ${name}.`,
    hint: `Give them to its role there, or invite it again: ${invite}`,
  };
}

/** A forum has posts alone: a question with buttons for people cannot stand there. Pure. */
function forumOfNotices(account: ChannelAccount, channel: string, name: string): ChannelFinding {
  return {
    ok: false,
    what: `${account.id}: ${name} is a forum: no notice of an escalation can be posted there.`,
    hint: "Name a room in escalations.room that is a text channel or an announcement channel.",
    channel,
    isOfNotices: true,
  };
}

async function readPermissions(
  api: AccountApi,
  guild: string,
  selfId: string,
  signal: AbortSignal,
): Promise<(channel: WireChannel) => bigint> {
  const roles = await api.read(rolesForm, {
    method: "GET",
    route: `/guilds/${guild}/roles`,
    doing: "list roles",
    signal,
  });
  const member = await api.read(memberForm, {
    method: "GET",
    route: `/guilds/${guild}/members/${selfId}`,
    doing: "show the bot's membership",
    signal,
  });

  return (channel) =>
    permissionsOf({
      guild,
      selfId,
      memberRoles: member.roles,
      roles,
      overwrites: channel.permission_overwrites,
    });
}

/**
 * The page on which an owner of a server lets the bot in, with what it needs. Source: "OAuth2: Bot
 * Authorization Flow".
 */
function inviteLink(applicationId: string): string {
  const permissions = NEEDED.reduce((all, permission) => all | PERMISSIONS[permission], 0n);
  const query = `client_id=${applicationId}&scope=bot+applications.commands&permissions=${permissions}`;

  return `https://discord.com/oauth2/authorize?${query}`;
}
