/** Agents that may read a message and are not told of it. */

import type { NewEntry } from "../../durable/outbox.ts";
import type { Queryable } from "../../durable/database.ts";
import type { ChannelAdapter } from "../channel-adapter.ts";
import { decideIn, type SpokenMessage } from "./consequences.ts";
import { SHUT_OUT } from "../in/unreadable-places.ts";
import type { Directory } from "../directory.ts";
import { isPrivateThread, type Place } from "../place.ts";
import type { RoleDecision } from "./role.ts";
import { orderingOf, topicOf } from "../out/notices.ts";

/** What a message makes of agents that may read it and are not told of it. */
export interface Aside {
  /** They record it, as every agent that does not answer. */
  readonly records: ReadonlyMap<string, RoleDecision>;
  /** It is for them: their accounts are called to the thread, and read it there themselves. */
  readonly calls: readonly NewEntry[];
}

/**
 * Where a platform tells of a thread only who is in it: what the accounts in the thread hear is told
 * aside to the other agents of the channel. Pure. Source: docs/spec/collaboration §9.
 */
export function asideOf(
  spoken: SpokenMessage,
  bystanders: readonly string[],
  setting: { directory: Directory; allowBots: boolean },
): Aside {
  if (bystanders.length === 0) return { records: new Map(), calls: [] };
  const decided = [...decideIn({ ...spoken, agents: bystanders }, setting)];
  const { place, message } = spoken;

  return {
    records: new Map(decided.filter(([, { role }]) => role === "OBSERVER")),
    // Who takes part is in the thread already.
    calls: decided
      .filter(([agent, { role }]) => role === "HANDLER" && !isThere(spoken, agent))
      .flatMap(([agent]) => {
        const account = setting.directory.account(place.adapter, agent);
        if (!account) return [];

        return {
          topic: topicOf(place.adapter, account.id, false),
          ordering: orderingOf(account.id, place.id),
          key: `${message.id}/call/${agent}`,
          payload: { kind: "join", place: place.id, agent },
        };
      }),
  };
}

function isThere({ place, joins = [] }: SpokenMessage, agent: string): boolean {
  return place.participants.includes(agent) && !joins.includes(agent);
}

/** Agents that may read a thread of this platform and are perhaps not in it. */
export async function bystandersOf(
  place: Place,
  self: string,
  parts: { adapter: ChannelAdapter; directory: Directory; database: Queryable },
): Promise<readonly string[]> {
  const { adapter, directory, database } = parts;
  if (!adapter.joinThread || place.kind !== "thread" || isPrivateThread(place.id)) return [];
  const others = directory
    .accountsOf(adapter.name)
    .map(({ agent }) => agent)
    .filter((agent) => agent !== self);
  if (others.length === 0) return [];
  const shutOut = await shutOutOf(place, database);

  return others.filter((agent) => !shutOut.has(agent));
}

/** Agents that may not view the channel of this place. The web rooms show all to all. */
async function shutOutOf(
  { adapter, kind, parent, id }: Pick<Place, "adapter" | "kind" | "parent" | "id">,
  database: Queryable,
): Promise<ReadonlySet<string>> {
  if (adapter === "web") return new Set();
  const channel = kind === "thread" ? parent : id;
  const rows = await database.query<{ agent: string }>(SHUT_OUT_OF, [channel, SHUT_OUT]);

  return new Set(rows.map(({ agent }) => agent));
}

/**
 * Agents that hear what is said: all of the platform that may view the channel, in a private thread
 * its members.
 */
export async function listenersIn(
  tx: Queryable,
  place: SpokenMessage["place"],
  {
    message,
    directory,
  }: { message: Pick<SpokenMessage["message"], "mentions">; directory: Directory },
): Promise<readonly string[]> {
  const shutOut = await shutOutOf(place, tx);
  const agents = directory
    .accountsOf(place.adapter)
    .map(({ agent }) => agent)
    .filter((agent) => !shutOut.has(agent));
  if (!isPrivateThread(place.id)) return agents;
  const readers = await tx.query<{ agent: string }>(READERS, [place.id]);
  const members = new Set([
    ...place.participants,
    ...message.mentions,
    ...readers.map(({ agent }) => agent),
  ]);

  return agents.filter((agent) => members.has(agent));
}

/** Whose account has heard something there. */
const READERS = {
  name: "bystanders.readers",
  text: `
    select a.agent
    from dure.account_reads r
    join dure.accounts a on a.adapter = r.adapter and a.id = r.account
    where r.place = $1`,
};
const SHUT_OUT_OF = {
  name: "bystanders.shut_out",
  text: `
    select context->>'agent' as agent
    from dure.escalations
    where status = 'open'
      and starts_with(subject, 'room:deaf:')
      and context->>'place' = $1
      and context->>'because' = $2`,
};

/**
 * Which of `agents` hear a message. A platform tells the members of a private thread alone; the web
 * rooms are told for all.
 */
export async function membersAmong(
  agents: readonly string[],
  heard: Parameters<typeof listenersIn>[2] & {
    readonly tx: Queryable;
    readonly place: SpokenMessage["place"];
  },
): Promise<readonly string[]> {
  const { tx, place, message, directory } = heard;
  if (place.kind !== "thread" || place.person === null) return agents;
  const members = await listenersIn(tx, place, { message, directory });
  return agents.filter((agent) => members.includes(agent));
}
