/** Who the agents of a team are, and on which channels they are. */

import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ChannelAccount, ChannelAdapter } from "./channel-adapter.ts";
import { formerNames, MAX_KNOWN_NAMES, type KnownName } from "./decide/former-names.ts";
import { mentionDirectory, type MentionDirectory } from "./decide/mentions.ts";
import { channelPlaceId, namesIn, type DefaultPlaces } from "./named-place.ts";

/** An agent as rooms see it. */
export interface RoomAgent {
  readonly id: string;
  readonly displayName: string;
  /** The service that answers for it. */
  readonly service: string;
  /** Answers where no other agent is named. */
  readonly leads: boolean;
  /** Where its collaborations begin when the session has no channel. Absent: the team's. */
  readonly channel?: DefaultPlaces | undefined;
  /** `person`: in a channel, people do not wait for each other. Absent: `place`. */
  readonly line?: "place" | "person" | undefined;
  /** `all`: it joins every thread of its channels. Absent: `own`. */
  readonly threads?: "own" | "all" | undefined;
  /** By adapter. An adapter that is missing here does not know this agent. */
  readonly accounts: Readonly<
    Record<string, { readonly id: string; readonly platformId?: string }>
  >;
}

/** A channel on the allowlist. */
export interface RoomChannel {
  /** In the configuration. */
  readonly key: string;
  readonly adapter: string;
  readonly name: string;
  readonly defaultAgent?: string | undefined;
  /** Whether agents may begin collaborations in it. */
  readonly collaborate: boolean;
  readonly guild?: string;
  /** The platform's id; on the web the key. */
  readonly channel: string;
}

/**
 * Who is who: agent ↔ account ↔ platform's user ↔ name, and which channels are allowed. Made when
 * the team starts; what is added to the configuration later is not in here until a reload.
 */
export class Directory {
  #table: Table;
  /** Names of agents that were, and are. */
  #known: readonly KnownName[] = [];
  #former: MentionDirectory = mentionDirectory([]);

  constructor(options: TeamInRooms) {
    this.#table = tableOf(options);
  }

  get agents(): readonly RoomAgent[] {
    return this.#table.agents;
  }

  get channels(): readonly RoomChannel[] {
    return this.#table.channels;
  }

  /** Where collaborations begin that have no channel of their own. */
  get defaultChannel(): DefaultPlaces | undefined {
    return this.#table.defaultChannel;
  }

  /** Every name that a text may call an agent by. */
  get names(): MentionDirectory {
    return this.#table.names;
  }

  /** Names that a text may still call an agent by, and that are none's any more. */
  get formerNames(): MentionDirectory {
    return this.#former;
  }

  /** What agents were called before. */
  learnNames(known: readonly KnownName[]): void {
    this.#known = [...known, ...this.#known].slice(0, MAX_KNOWN_NAMES);
    const { names, byId } = this.#table;
    this.#former = formerNames(this.#known, { names, has: (agent) => byId.has(agent) });
  }

  /**
   * Takes over what another one says, all at once. What platforms have told of accounts that stay
   * is kept.
   */
  replace(next: TeamInRooms): void {
    const told = this.#table.platformIds;
    const before = namesOf(this.#table);
    this.#table = tableOf(next);
    this.learnNames(before);
    for (const [key, { id }] of told) {
      const agent = this.#table.byId.get(id);
      if (agent) this.#table.platformIds.set(key, agent);
    }
  }

  get lead(): RoomAgent | undefined {
    return this.agents.find((agent) => agent.leads) ?? this.agents[0];
  }

  /** By agent id, else by account id; undefined when neither is known. */
  find(idOrAccount: string): RoomAgent | undefined {
    return this.#table.byId.get(idOrAccount) ?? this.#table.byAccount.get(idOrAccount);
  }

  /** The same, or `AGENT_UNKNOWN` that says which ids exist and what to do. */
  get(idOrAccount: string): RoomAgent {
    const agent = this.find(idOrAccount);
    if (agent) return agent;
    throw new DureError("AGENT_UNKNOWN", `There is no agent "${idOrAccount}".`, {
      class: "not-found",
      hint: this.unknownHint(idOrAccount),
    });
  }

  unknownHint(id: string): string {
    const known =
      this.agents.map((agent) => `${agent.id} (${agent.displayName})`).join(", ") || "none";
    return (
      `Agents are: ${known}. A new one needs the key agents.${id} in dure.config.ts (and ` +
      `agents.${id}.accounts for other account ids), then dure reload or a restart`
    );
  }

  /** The agent that an account of the platform belongs to. */
  byPlatformId(adapter: string, platformId: string): RoomAgent | undefined {
    return this.#table.platformIds.get(`${adapter}:${platformId}`);
  }

  /** The platform has told which user an account is. */
  learnPlatformId(adapter: string, account: string, platformId: string): void {
    const agent = this.#table.byAccount.get(account);
    if (agent) this.#table.platformIds.set(`${adapter}:${platformId}`, agent);
  }

  platformIdOf(adapter: string, agent: string): string | undefined {
    for (const [key, known] of this.#table.platformIds) {
      if (known.id === agent && key.startsWith(`${adapter}:`)) return key.slice(adapter.length + 1);
    }
    return undefined;
  }

  account(adapter: string, agent: string): ChannelAccount | undefined {
    const found = this.#table.byId.get(agent);
    const account = found?.accounts[adapter];
    if (!found || !account) return undefined;
    const platformId = this.platformIdOf(adapter, agent);
    return {
      id: account.id,
      agent,
      displayName: found.displayName,
      platformId,
    };
  }

  accountsOf(adapter: string): readonly ChannelAccount[] {
    return this.agents.flatMap((agent) => this.account(adapter, agent.id) ?? []);
  }

  /** The channel whose place has this id, whichever tenant's room it is. */
  channelOf(placeId: string): RoomChannel | undefined {
    const [ofNobody] = placeId.split("@", 1);
    return this.channels.find((channel) => channelPlaceId(channel) === ofNobody);
  }

  nameOf(agent: string): string {
    return this.#table.byId.get(agent)?.displayName ?? agent;
  }

  /**
   * The table, one line per agent; an agent that a connected platform does not know is a warning
   * with the key to set.
   */
  log(logger: Logger, adapters: readonly AccountKeys[]): void {
    for (const agent of this.agents) {
      const accounts = Object.entries(agent.accounts).map(
        ([adapter, account]) => `${adapter}:${account.id}`,
      );
      const where = accounts.join(", ") || "nowhere";
      const places = namesIn(agent.channel).join(", ");
      const channel = places === "" ? "" : `, its channel is ${places}`;
      logger.info(
        { agent: agent.id },
        `agent ${agent.id} (${agent.displayName}) is ${where}${channel}`,
      );
      for (const { name: adapter, accountKey } of adapters) {
        if (agent.accounts[adapter]) continue;
        const key = accountKey?.(agent.id) ?? `agents.${agent.id}.accounts.${adapter}`;
        logger.warn(
          { agent: agent.id, adapter },
          `agent ${agent.id} has no account on ${adapter}: set ${key}`,
        );
      }
    }
  }
}

/** Who says on a platform what the team tells people: the agent that leads, else the first. Pure. */
export function noticeAuthor(directory: Directory, adapter: string): RoomAgent | undefined {
  return [directory.lead, ...directory.agents].find(
    (agent) => agent && directory.account(adapter, agent.id),
  );
}

/** A platform, and what to set so that an agent has an account there. */
export type AccountKeys = Pick<ChannelAdapter, "name" | "accountKey">;

/** What the configuration says of a team's rooms. */
interface TeamInRooms {
  readonly agents: readonly RoomAgent[];
  readonly channels: readonly RoomChannel[];
  readonly defaultChannel?: DefaultPlaces | undefined;
}

interface Table extends TeamInRooms {
  readonly names: MentionDirectory;
  readonly byId: ReadonlyMap<string, RoomAgent>;
  readonly byAccount: ReadonlyMap<string, RoomAgent>;
  /** `adapter:platformId`; grows as platforms tell. */
  readonly platformIds: Map<string, RoomAgent>;
}

/** What the agents are called, in words and on platforms. */
function namesOf({ agents, platformIds }: Table): readonly KnownName[] {
  const onPlatforms = [...platformIds].map(([key, { id, displayName }]) => ({
    agent: id,
    name: displayName,
    platform_id: key.slice(key.indexOf(":") + 1),
  }));
  return [
    ...agents.map(({ id, displayName }) => ({ agent: id, name: displayName })),
    ...onPlatforms,
  ];
}

function tableOf({ agents, channels, defaultChannel }: TeamInRooms): Table {
  const accounts = agents.flatMap((agent) =>
    Object.entries(agent.accounts).map(([adapter, account]) => ({ agent, adapter, ...account })),
  );
  return {
    agents,
    channels,
    defaultChannel,
    names: mentionDirectory(
      agents.map((agent) => ({
        agent: agent.id,
        names: [agent.displayName, ...Object.values(agent.accounts).map(({ id }) => id)],
      })),
    ),
    byId: new Map(agents.map((agent) => [agent.id, agent])),
    byAccount: new Map(accounts.map(({ agent, id }) => [id, agent])),
    platformIds: new Map(
      accounts.flatMap(({ agent, adapter, platformId }) =>
        platformId === undefined ? [] : [[`${adapter}:${platformId}`, agent] as const],
      ),
    ),
  };
}
