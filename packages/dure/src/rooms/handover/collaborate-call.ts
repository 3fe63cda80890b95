/** A call for collaboration: what it says, where it comes from, and how it is refused. */

import type { RoomAgent, RoomChannel } from "../directory.ts";
import { defaultOn, defaultsInFull, type DefaultPlaces } from "../named-place.ts";
import type { FileRef } from "../../kernel/files.ts";
import type { CollaborateCode } from "../../kernel/rooms.ts";
import type { CollaborateAnswer } from "../../wire/rooms.ts";

/**
 * One agent hands work to another, where all members of the place can see it. Source:
 * docs/spec/collaboration §4.
 */
export interface CollaborateCall {
  /** Agent id, or account id. */
  readonly targetAgent: string;
  readonly message: string;
  /** Pairs have one thread per topic. Absent is a topic of its own. */
  readonly topic?: string | undefined;
  /** That thread, whatever its age: dure's id, or its platform's, such as `discord:123456789`. */
  readonly threadId?: string | undefined;
  /** Such as `web:general`; a key alone where one platform has it. */
  readonly channelId?: string | undefined;
  /** For a new thread; default: the beginning of the message. */
  readonly threadName?: string | undefined;
  readonly attachments?: readonly string[] | undefined;
  /** Names of files of the caller's session, shown with the message. Of one name the newest. */
  readonly files?: readonly string[] | undefined;
  /** From outside: the same key within 5 min gives the first result. */
  readonly idempotencyKey?: string | undefined;
}

/** Who calls, and from where. */
export interface CollaborateCaller {
  readonly agent: string;
  /** Of any kind: a room's, HTTP, CLI, a job's. */
  readonly session?: string;
  readonly turn?: string;
  readonly job?: string;
  /** Of the call itself, the same after every crash; kept as long as the turn. */
  readonly callKey?: string;
}

/** What `collaborate` gives. `queued`: the platform has it later. */
export type CollaborateResult = CollaborateAnswer;
export type RefusedCollaboration = Extract<CollaborateResult, { ok: false }>;
export type AcceptedCollaboration = Extract<CollaborateResult, { ok: true }>;

/** A call whose words and agents are checked. */
export interface Asking {
  readonly caller: CollaborateCaller;
  readonly call: CollaborateCall;
  /** Of the caller's session. */
  readonly tenant: string;
  readonly from: RoomAgent;
  readonly target: RoomAgent;
  /** The message, checked. */
  readonly text: string;
  readonly files: readonly FileRef[];
}

export function refuse(code: CollaborateCode, message: string, hint: string): RefusedCollaboration {
  return { ok: false, code, message, hint, escalated: false };
}

/** No topic is a topic of its own. */
export function topicKey(call: CollaborateCall): string {
  return (call.topic ?? "").trim().slice(0, 200);
}

export function pairOf(one: string, other: string): readonly [string, string] {
  return one < other ? [one, other] : [other, one];
}

/** Where a call for collaboration comes from. */
export interface Origin {
  readonly adapter: string;
  /** The allowed channel that it is in, or whose thread it is in. Absent: a direct room. */
  readonly channel?: RoomChannel | undefined;
}

export interface HandOver {
  /** Absent: HTTP chat, the CLI, a job. */
  readonly origin: Origin | undefined;
  readonly from: RoomAgent;
  readonly target: RoomAgent;
  /** Channels of the caller's tenant in which collaborations may begin. */
  readonly channels: readonly RoomChannel[];
  /** The team's. */
  readonly defaultChannel?: DefaultPlaces | undefined;
}

type ChannelDecision =
  | {
      readonly channel: RoomChannel;
      readonly because: "own-channel" | "agents-channel" | "teams-channel";
    }
  | UndecidedChannel;

/** No configured channel decides. */
export interface UndecidedChannel {
  readonly channel?: undefined;
  readonly because: "no-default" | "several-platforms";
  /** Where one of them would have to be set. */
  readonly platforms: readonly string[];
}

/** HTTP chat and the CLI belong to the web. */
const CHAT_PLATFORM = "web";

/**
 * Where a collaboration begins when the call names no place: where the asker is. Its channel, else
 * the configured channel of its platform; never another platform. Pure; the first rule that applies
 * wins. Source: docs/spec/collaboration §4.
 */
export function decideChannel(handOver: HandOver): ChannelDecision {
  const { origin, from, channels, defaultChannel } = handOver;
  const own = origin?.channel;
  if (own && channels.includes(own)) return { channel: own, because: "own-channel" };

  const inFull = origin ? undefined : defaultInFull(handOver);
  if (inFull) return inFull;
  const platforms = origin ? [origin.adapter] : platformsOfChat(handOver);
  const [platform = "", ...others] = platforms;
  if (others.length > 0) return { because: "several-platforms", platforms };

  const agents = defaultOn(platform, from.channel, channels);
  if (agents) return { channel: agents, because: "agents-channel" };
  const teams = defaultOn(platform, defaultChannel, channels);
  if (teams) return { channel: teams, because: "teams-channel" };
  return { because: "no-default", platforms };
}

/**
 * Where background work is reported: on the platform where it was asked for. Where there is no report
 * channel, and for what began on no platform, the web's, else the first one. Pure.
 */
export function decideReport(
  channels: readonly RoomChannel[],
  platform: string | undefined,
): RoomChannel | undefined {
  const on = (name: string | undefined): RoomChannel | undefined =>
    channels.find(({ adapter }) => adapter === name);
  return on(platform) ?? on(CHAT_PLATFORM) ?? channels[0];
}

/** Whether a channel is another one than that of the asker, or on another platform. Pure. */
export function isElsewhere(origin: Origin | undefined, channel: RoomChannel): boolean {
  if (!origin) return false;
  return origin.adapter !== channel.adapter || (origin.channel ?? channel) !== channel;
}

/**
 * A default with its platform decides for callers that stand on none: the first one of a platform
 * where both agents are, else the first one.
 */
function defaultInFull({
  from,
  target,
  channels,
  defaultChannel,
}: HandOver): ChannelDecision | undefined {
  const agents = defaultsInFull(from.channel, channels);
  const isAgents = agents.length > 0;
  const named = isAgents ? agents : defaultsInFull(defaultChannel, channels);
  const isShared = ({ adapter }: RoomChannel): boolean => isOnBoth(adapter, from, target);
  const channel = named.find(isShared) ?? named[0];
  return channel && { channel, because: isAgents ? "agents-channel" : "teams-channel" };
}

/** Where both agents can be met: the web, else what there is. */
function platformsOfChat({ from, target, channels }: HandOver): readonly string[] {
  const shared = channels
    .map(({ adapter }) => adapter)
    .filter((adapter) => isOnBoth(adapter, from, target));
  const platforms = [...new Set(shared)];
  return platforms.includes(CHAT_PLATFORM) ? [CHAT_PLATFORM] : platforms;
}

function isOnBoth(adapter: string, from: RoomAgent, target: RoomAgent): boolean {
  return from.accounts[adapter] !== undefined && target.accounts[adapter] !== undefined;
}
