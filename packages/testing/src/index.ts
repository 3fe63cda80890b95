// Test doubles: what dure is tested with, for the tests of its users. They know dure by its public
// doors alone.

// Models that know in advance what they are asked
export { ScriptedModel } from "./scripted-model.ts";
export type { ScriptStep } from "./scripted-model.ts";

// Workers that know in advance what they do
export { ScriptedWorker } from "./scripted-worker.ts";
export type { ScriptedTry } from "./scripted-worker.ts";

// Files that the platforms serve, and what goes wrong with them
export type { FileFault, FileRequest, ServedFile } from "./served-files.ts";

// A Discord server in memory
export { FakeDiscord } from "./fake-discord/fake-discord.ts";
export type {
  FakeBot,
  FakeBotOptions,
  FakeButton,
  FakeDiscordOptions,
  FakeGuild,
  FakeMessage,
  FakePerson,
  FakePlace,
  FakePostOptions,
  FakeThread,
} from "./fake-discord/fake-discord.ts";
export type { ArmedFault, FakeFault, FaultTarget } from "./fake-discord/faults.ts";
export type { FakeGateway } from "./fake-discord/gateway-control.ts";
export type { AlterPacket, GatewayEnding, GatewayPacket } from "./fake-discord/gateway.ts";
export type { InvalidRequestLimit } from "./fake-discord/invalid-requests.ts";
export type { FakePermission } from "./fake-discord/permissions.ts";
export type { RateLimits } from "./fake-discord/rate-limits.ts";
export type { LoggedRequest } from "./fake-discord/rest.ts";

// Faults of the web rooms
export { WebFaultSwitch } from "./web-faults.ts";
export type { WebFault } from "./web-faults.ts";

// A connection to PostgreSQL that can be cut at each statement
export { PostgresProxy } from "./postgres-proxy.ts";
export type {
  Cut,
  MessageTest,
  ProxiedMessage,
  ProxiedStatement,
  StatementTest,
  Stop,
} from "./postgres-proxy.ts";

// A provider of models that does what real ones do, and refuses what they refuse
export { UnfriendlyProvider } from "./provider/unfriendly-provider.ts";
export type { ProviderRequest, UnfriendlyProviderOptions } from "./provider/unfriendly-provider.ts";
export { MOODS } from "./provider/moods.ts";
export type { Mood, ProviderAnswer, ProviderAsked, ProviderWire } from "./provider/moods.ts";
export { strictFetch } from "./provider/strict-fetch.ts";
export type { StrictFetchOptions, StrictRequest } from "./provider/strict-fetch.ts";
export type { ProviderAbilities } from "./provider/wires.ts";

// A Slack workspace in memory
export { FakeSlack, FakeSlackPerson } from "./fake-slack/fake-slack.ts";
export type {
  FakeSlackApp,
  FakeSlackChannel,
  FakeSlackMessage,
  FakeSlackOptions,
  FakeSlackPlace,
} from "./fake-slack/fake-slack.ts";
export type { SlackFault, SlackFaultTarget } from "./fake-slack/faults.ts";
export type { SlackRateLimit, SlackRateLimits, SlackTier } from "./fake-slack/rate-limits.ts";
export type { Redelivery } from "./fake-slack/socket-mode.ts";
export type { SlackRequest } from "./fake-slack/web-api.ts";
