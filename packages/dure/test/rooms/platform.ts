import type { Database } from "../../src/durable/database.ts";
import type { ChannelAdapter, ChannelFailure } from "../../src/rooms/channel-adapter.ts";
import type { RoomAgent, RoomChannel } from "../../src/rooms/directory.ts";
import type { DefaultPlaces } from "../../src/rooms/named-place.ts";
import type { TestTeam } from "./team.ts";

/**
 * A platform that the scenarios run on: how people speak there, what they see, and how it fails.
 * Each test gets its own.
 */
export interface TestPlatform {
  readonly name: string;
  readonly agents: readonly RoomAgent[];
  readonly channels: readonly RoomChannel[];
  /** Default: `general`. */
  readonly defaultChannel?: DefaultPlaces;
  /** Several: the team is on all of them. */
  adapter(database: Database): ChannelAdapter | readonly ChannelAdapter[];
  /** Resolves when every agent of the team is connected. */
  ready(team: TestTeam): Promise<void>;
  /** A person says something; resolves when the team has stored it. Gives dure's message id. */
  say(team: TestTeam, text: string, options?: SayOptions): Promise<string>;
  /** A person gives a message (dure's id) other words; resolves when the team has heard of it. */
  edit(team: TestTeam, message: string, text: string): Promise<void>;
  /** A person deletes it. */
  remove(team: TestTeam, message: string): Promise<void>;
  /** What people see in a place (dure's id), in order: `이든: 답입니다`; mentions as `@이든`. */
  shown(team: TestTeam, place: string): Promise<readonly string[]>;
  /** The next posts fail in this way. `afterDoing`: the platform has done it all the same. */
  fail(
    what: "post" | "thread",
    failure: ChannelFailure | "hang",
    options?: { times?: number; afterDoing?: boolean; retryAfterMs?: number; agent?: string },
  ): void;
  /** Attempts to post so far. */
  posts(): number;
}

export interface SayOptions {
  readonly thread?: string;
  readonly channel?: string;
  readonly person?: string;
  /** As a reply to the newest message of the place, where the platform has replies. */
  readonly replyToLast?: boolean;
  /** As a reply to this message (dure's id), where the platform has replies. */
  readonly replyTo?: string;
  /** In the thread below this message of the channel (dure's id), which is made if it is new. */
  readonly below?: string;
}
