// The door `dure/channels`: adapters between rooms and platforms.

// Names of adapters for `defineTeam`
export { discord, web } from "./kinds.ts";

// The web rooms
export { WebAdapter } from "../rooms/web-adapter.ts";
export type { WebFaults } from "../rooms/web-adapter.ts";

// Discord: needs discord.js beside dure
export { DiscordAdapter } from "../discord/discord-adapter.ts";
export type { DiscordOptions } from "../discord/discord-adapter.ts";

// What an adapter of another platform is written against
export type { AccountState } from "../kernel/rooms.ts";
export { ChannelError } from "../rooms/channel-adapter.ts";
export type {
  Attachment,
  ChannelAccount,
  ChannelAdapter,
  ChannelFailure,
  ChannelFinding,
  ChannelLimits,
  ChannelPort,
  FoundOnPlatform,
  InboundAuthor,
  InboundMessage,
  OutgoingPost,
  OutgoingThread,
  PlaceAddress,
  PlaceChange,
} from "../rooms/channel-adapter.ts";
