import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ChannelAccount } from "./channel-adapter.ts";
import { mentionDirectory, type MentionDirectory } from "./mentions.ts";

/** An agent as rooms see it. */
export interface RoomAgent {
  readonly id: string;
  readonly displayName: string;
  /** The service that answers for it. */
  readonly service: string;
  /** Answers where nobody else is named. */
  readonly leads: boolean;
  /** Key of the channel where its collaborations begin when the session has none. Absent: the team's. */
  readonly channel?: string;
  /** By adapter. An adapter that is missing here does not know this agent. */
  readonly accounts: Readonly<Record<string, { readonly id: string; readonly platformId?: string }>>;
}

/** A channel on the allowlist. */
export interface RoomChannel {
  /** In the configuration. */
  readonly key: string;
  readonly adapter: string;
  readonly name: string;
  readonly defaultAgent?: string;
  /** Whether agents may begin collaborations in it. */
  readonly collaborate: boolean;
  readonly guild?: string;
  /** The platform's id; on the web the key. */
  readonly channel: string;
}

/**
 * Who is who: agent ↔ account ↔ platform's user ↔ name, and which channels are allowed. Made when the team starts; what is
 * added to the configuration later is not in here until a reload.
 */
export class Directory {
  readonly agents: readonly RoomAgent[];
  readonly channels: readonly RoomChannel[];
  /** Every name that a text may call an agent by. */
  readonly names: MentionDirectory;
  readonly #byId: ReadonlyMap<string, RoomAgent>;
  readonly #byAccount = new Map<string, RoomAgent>();
  readonly #platformIds = new Map<string, RoomAgent>();

  constructor(options: { agents: readonly RoomAgent[]; channels: readonly RoomChannel[] }) {
    this.agents = options.agents;
    this.channels = options.channels;
    this.names = mentionDirectory(options.agents.map((agent) => ({ agent: agent.id, names: [agent.displayName, ...Object.values(agent.accounts).map(({ id }) => id)] })));
    this.#byId = new Map(options.agents.map((agent) => [agent.id, agent]));
    for (const agent of options.agents) {
      for (const [adapter, account] of Object.entries(agent.accounts)) {
        this.#byAccount.set(account.id, agent);
        if (account.platformId !== undefined) this.#platformIds.set(`${adapter}:${account.platformId}`, agent);
      }
    }
  }

  get lead(): RoomAgent | undefined {
    return this.agents.find((agent) => agent.leads) ?? this.agents[0];
  }

  /** By agent id, else by account id; undefined when neither is known. */
  find(idOrAccount: string): RoomAgent | undefined {
    return this.#byId.get(idOrAccount) ?? this.#byAccount.get(idOrAccount);
  }

  /** The same, or `AGENT_UNKNOWN` that says which ids exist and what to do. */
  get(idOrAccount: string): RoomAgent {
    const agent = this.find(idOrAccount);
    if (agent) return agent;
    throw new DureError("AGENT_UNKNOWN", `There is no agent "${idOrAccount}".`, { class: "not-found", hint: this.unknownHint(idOrAccount) });
  }

  unknownHint(id: string): string {
    const known = this.agents.map((agent) => `${agent.id} (${agent.displayName})`).join(", ") || "none";
    return `Agents are: ${known}. A new one needs the key agents.${id} in dure.config.ts (and agents.${id}.accounts for other account ids), then a restart`;
  }

  /** The agent that an account of the platform belongs to. */
  byPlatformId(adapter: string, platformId: string): RoomAgent | undefined {
    return this.#platformIds.get(`${adapter}:${platformId}`);
  }

  /** The platform has told which user an account is. */
  learnPlatformId(adapter: string, account: string, platformId: string): void {
    const agent = this.#byAccount.get(account);
    if (agent) this.#platformIds.set(`${adapter}:${platformId}`, agent);
  }

  platformIdOf(adapter: string, agent: string): string | undefined {
    for (const [key, known] of this.#platformIds) if (known.id === agent && key.startsWith(`${adapter}:`)) return key.slice(adapter.length + 1);
    return undefined;
  }

  account(adapter: string, agent: string): ChannelAccount | undefined {
    const found = this.#byId.get(agent);
    const account = found?.accounts[adapter];
    if (!found || !account) return undefined;
    const platformId = this.platformIdOf(adapter, agent);
    return { id: account.id, agent, displayName: found.displayName, ...(platformId !== undefined && { platformId }) };
  }

  accountsOf(adapter: string): readonly ChannelAccount[] {
    return this.agents.flatMap((agent) => this.account(adapter, agent.id) ?? []);
  }

  channel(adapter: string, key: string): RoomChannel | undefined {
    return this.channels.find((channel) => channel.adapter === adapter && channel.key === key);
  }

  /** The channel whose place has this id. */
  channelOf(placeId: string): RoomChannel | undefined {
    return this.channels.find((channel) => channelPlaceId(channel) === placeId);
  }

  nameOf(agent: string): string {
    return this.#byId.get(agent)?.displayName ?? agent;
  }

  /** The table, one line per agent; an agent that a connected platform does not know is a warning with the key to set. */
  log(logger: Logger, adapters: readonly string[]): void {
    for (const agent of this.agents) {
      const accounts = Object.entries(agent.accounts).map(([adapter, account]) => `${adapter}:${account.id}`);
      logger.info({ agent: agent.id }, `agent ${agent.id} (${agent.displayName}) is ${accounts.join(", ") || "nowhere"}${agent.channel === undefined ? "" : `, its channel is ${agent.channel}`}`);
      for (const adapter of adapters) {
        if (agent.accounts[adapter]) continue;
        const key = adapter === "discord" ? `DISCORD_TOKEN_${agent.id.toUpperCase().replaceAll("-", "_")}` : `agents.${agent.id}.accounts.${adapter}`;
        logger.warn({ agent: agent.id, adapter }, `agent ${agent.id} has no account on ${adapter}: set ${key}`);
      }
    }
  }
}

/** Id of the place of a configured channel: `web:general`. */
export function channelPlaceId(channel: Pick<RoomChannel, "adapter" | "key">): string {
  return `${channel.adapter}:${channel.key}`;
}
