import type { Database } from "../durable/database.ts";
import type { ChannelAdapter } from "../rooms/channel-adapter.ts";

/**
 * A platform where rooms can be: how a team names it, and how its adapter is opened. A team gives
 * its own beside those of dure: `rooms: { adapters: [web(), pigeons] }`.
 */
export interface ChannelKind {
  /**
   * Stands in `rooms.adapters`, in the `accounts` of agents and in addresses of places: 1 to 64
   * Latin letters, digits, `_` or `-`. The adapter that is opened has the same name.
   */
  readonly name: string;
  /**
   * How a room of the team says which channel of the platform it is. Absent: the platform knows the
   * room by its own key, and every room is there.
   */
  readonly channelIds?: ChannelIds | undefined;
  /** dure is the platform: there is nothing that a doctor could ask. Default false. */
  readonly isLocal?: boolean | undefined;
  /** Whether an agent has an account there. Absent: each agent has one. */
  readonly hasAccount?: ((agent: string, environment: ChannelEnvironment) => boolean) | undefined;
  /** What to set so that an agent has an account. Absent: its key in the configuration. */
  readonly accountHint?: ((agent: string) => string) | undefined;
  /** Opens the adapter. It connects when it is started. */
  readonly open: (parts: ChannelParts) => ChannelAdapter | Promise<ChannelAdapter>;
}

/** The key of a room that holds the platform's id of its channel. */
export interface ChannelIds {
  /** The id of a room; undefined: it is not on this platform. */
  readonly of: (room: RoomIds) => string | undefined;
  /** What to write where the id is missing. */
  readonly hint: string;
}

/** What a room says of platforms. */
export interface RoomIds {
  /** Of Discord. */
  readonly discord?: string | undefined;
  /** By the name of the kind: of Slack, and of platforms of the team's own. */
  readonly ids?: Readonly<Record<string, string>> | undefined;
}

/** What of the environment the kinds of dure look at. */
export interface ChannelEnvironment {
  /** By the agent's id in lower case, with `_` for `-`. */
  readonly discordTokens: Readonly<Record<string, string>>;
  readonly discordApiUrl?: string | undefined;
  /** One variable: an address or a token of a platform, such as `SLACK_BOT_TOKEN_RUDA`. */
  readonly variable?: ((name: string) => string | undefined) | undefined;
}

/** What an adapter is opened with. */
export interface ChannelParts {
  /** Of a kind that is local; a doctor looks at the others without one. */
  readonly database: Database | undefined;
  readonly environment: ChannelEnvironment;
  /** The ids of the agents' accounts on this platform, by the ids of the agents. */
  readonly accounts: Readonly<Record<string, string>>;
  /** The platform's ids of the team's channels, as they are now: a reload changes them. */
  readonly channels: () => readonly string[];
  /** Whether an agent joins threads that do not concern it, as its card says now. */
  readonly joinsThreads?: ((agent: string) => boolean) | undefined;
}
