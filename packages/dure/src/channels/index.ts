// The door `dure/channels`: adapters between rooms and platforms.

// Platforms that a team can name in `rooms.adapters`
export { chatPlatform } from "./chat/chat.ts";
export type { ChatPlatformOptions } from "./chat/chat.ts";
export type { ChatAdapter, ChatState } from "./chat/chat-types.ts";
export type { ChatPlatform } from "./chat/platforms.ts";
export { discord } from "./discord/discord.ts";
export { slack } from "./slack/slack.ts";
export { web } from "./web/web.ts";

// Their adapters; those of Discord and Slack need the clients of these platforms beside dure
export { DiscordAdapter } from "./discord/discord-adapter.ts";
export type { DiscordOptions } from "./discord/discord-adapter.ts";
export { SlackAdapter } from "./slack/slack-adapter.ts";
export type { SlackOptions, SlackTokens } from "./slack/slack-adapter.ts";
export { WebAdapter } from "./web/web-adapter.ts";
export type { WebFaults } from "./web/web-adapter.ts";

// A platform of your own: a kind, and the adapter that it opens
export type { ChannelChoice } from "./kinds.ts";
export type {
  ChannelEnvironment,
  ChannelIds,
  ChannelKind,
  ChannelParts,
  RoomIds,
} from "./channel-kind.ts";
export type { AccountState } from "../kernel/rooms.ts";
export { ChannelError } from "../rooms/channel-adapter.ts";
export type {
  Attachment,
  AccountDetail,
  ChannelAccount,
  ChannelAdapter,
  ChannelFailure,
  ChannelFinding,
  ChannelLimits,
  Audience,
  ChannelPort,
  FoundOnPlatform,
  InboundAuthor,
  InboundMessage,
  OutgoingPost,
  OutgoingThread,
  PlaceAddress,
  PlaceChange,
} from "../rooms/channel-adapter.ts";
