import {
  ChannelError,
  type ChannelAccount,
  type ChannelFinding,
} from "../../rooms/channel-adapter.ts";
import type { AppApi } from "./app-api.ts";
import { channelAnswer, connectionAnswer } from "./wire.ts";

/**
 * What a bot needs to talk, to hear the stop sign and to take `/dure`. Source:
 * docs.slack.dev/reference/scopes.
 */
const NEEDED: readonly string[] = [
  "chat:write",
  "channels:history",
  "channels:read",
  "users:read",
  "reactions:read",
  "commands",
];
/** To read files and to share them. An app from before goes on without. */
const FOR_FILES: readonly string[] = ["files:read", "files:write"];
/** Channels that are looked at. */
const MAX_CHANNELS = 50;

/** One app, as a doctor looks at it. */
export interface CheckedApp {
  readonly api: AppApi;
  /** The same requests with the token of Socket Mode. */
  readonly socketApi: AppApi;
  readonly channels: readonly string[];
  /** Several agents speak through it, under their own names. */
  readonly hasPersonas: boolean;
}

/** What `check` finds of an account that nothing can be asked for. */
export function noTokens({ id }: ChannelAccount): ChannelFinding {
  return {
    ok: false,
    what: `${id}: there are no tokens.`,
    hint: "Name them in the configuration of the Slack adapter.",
  };
}

/**
 * What a doctor wants to know of one app: its two tokens, the scopes that it lacks, and the channels
 * that it is not in.
 */
export async function checkApp(
  { api, socketApi, channels, hasPersonas }: CheckedApp,
  account: ChannelAccount,
  signal: AbortSignal,
): Promise<ChannelFinding[]> {
  const findings: ChannelFinding[] = [await checkSocket(socketApi, account, signal)];
  try {
    const { name, userId, scopes } = await api.whoAmI(signal);
    findings.push({ ok: true, what: `${account.id}: the token belongs to ${name} (${userId}).` });
    findings.push(scopesOf(account, scopes, hasPersonas), ...fileScopesOf(account, scopes));
    for (const channel of channels.slice(0, MAX_CHANNELS)) {
      const finding = await checkChannel(api, account, { channel, app: name }, signal);
      findings.push({ ...finding, channel });
    }
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error;
    findings.push(failureOf(account, error));
  }
  return findings;
}

/** Whether a connection could be opened; none is. Source: …/methods/apps.connections.open. */
async function checkSocket(
  socketApi: AppApi,
  account: ChannelAccount,
  signal: AbortSignal,
): Promise<ChannelFinding> {
  try {
    await socketApi.call({
      method: "apps.connections.open",
      args: {},
      answer: connectionAnswer,
      doing: "offer a connection",
      signal,
    });
    return { ok: true, what: `${account.id}: the app-level token opens Socket Mode.` };
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error;
    const isRefused = error.failure === "credential";
    return {
      ok: false,
      what: isRefused
        ? `${account.id}: Slack does not accept the app-level token.`
        : `${account.id}: ${error.message}`,
      hint:
        "At api.slack.com/apps turn on Socket Mode, and make an app-level token (xapp-…) with the " +
        "scope connections:write.",
    };
  }
}

function scopesOf(
  account: ChannelAccount,
  scopes: readonly string[],
  hasPersonas: boolean,
): ChannelFinding {
  const needed = hasPersonas ? [...NEEDED, "chat:write.customize"] : NEEDED;
  const missing = needed.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return { ok: true, what: `${account.id}: the app has its scopes.` };
  return {
    ok: false,
    what: `${account.id}: the app lacks ${missing.join(", ")}.`,
    hint: HOW_TO_ADD,
  };
}

/** A warning, or nothing. */
function fileScopesOf(
  account: ChannelAccount,
  scopes: readonly string[],
): readonly ChannelFinding[] {
  const missing = FOR_FILES.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return [];
  const what = `${account.id}: without ${missing.join(", ")} files are passed on by name alone.`;
  return [{ ok: false, isWarning: true, what, hint: HOW_TO_ADD }];
}

const HOW_TO_ADD =
  "Add them at api.slack.com/apps under OAuth & Permissions, then install the app again.";

async function checkChannel(
  api: AppApi,
  account: ChannelAccount,
  { channel, app }: { channel: string; app: string },
  signal: AbortSignal,
): Promise<ChannelFinding> {
  try {
    const { channel: found } = await api.call({
      method: "conversations.info",
      args: { channel },
      answer: channelAnswer,
      doing: "show the channel",
      channel,
      signal,
    });
    const name = `#${found.name ?? channel}`;
    if (found.is_im === true || found.is_mpim === true) {
      return {
        ok: false,
        what: `${account.id}: ${channel} is a direct message, and nothing in it is heard as a channel.`,
        hint: "Take its id out of rooms.channels. An app in it is heard there without that.",
      };
    }
    if (found.is_archived === true) {
      return { ok: false, what: `${account.id}: ${name} is archived.`, hint: "Restore it." };
    }
    if (found.is_member === true) return { ok: true, what: `${account.id}: is in ${name}.` };
    return {
      ok: false,
      what: `${account.id}: is not in ${name} and hears nothing there.`,
      hint: `Write /invite @${app} in ${name}.`,
    };
  } catch (error) {
    if (!(error instanceof ChannelError) || error.failure === "credential") throw error;
    if (error.detail === "missing_scope") {
      return {
        ok: false,
        what: `${account.id}: cannot ask whether ${channel} is private, and keeps it as a private channel.`,
        hint: "Add channels:read and groups:read under OAuth & Permissions, then install the app again.",
      };
    }
    return {
      ok: false,
      what: `${account.id}: ${error.message}`,
      hint: `Invite @${app} to the channel, or correct its id.`,
    };
  }
}

function failureOf(account: ChannelAccount, error: ChannelError): ChannelFinding {
  if (error.failure !== "credential") return { ok: false, what: `${account.id}: ${error.message}` };
  return {
    ok: false,
    what: `${account.id}: Slack does not accept the bot token.`,
    hint: "Install the app again at api.slack.com/apps, and put the new token where the old one stands.",
  };
}
