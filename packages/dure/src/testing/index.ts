// Test doubles, public on purpose: what dure is tested with, for the tests of its users.

export { ScriptedModel } from "./scripted-model.ts";
export type { ScriptStep } from "./scripted-model.ts";

export { ScriptedWorker } from "./scripted-worker.ts";
export type { ScriptedRound } from "./scripted-worker.ts";

// Exchanges between agents that are functions, without engine and database
export { exchangeInMemory, MemoryJobs } from "../jobs/memory-exchange.ts";
export type { MemoryAgent, MemoryJobsOptions, MemoryTurn } from "../jobs/memory-exchange.ts";
export type { JobLimits } from "../jobs/limits.ts";

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
export type { FakePermission } from "./fake-discord/permissions.ts";
export type { RateLimits } from "./fake-discord/rate-limits.ts";
export type { LoggedRequest } from "./fake-discord/rest.ts";

export { WebFaultSwitch } from "./web-faults.ts";
export type { WebFault } from "./web-faults.ts";

export { PostgresProxy } from "./postgres-proxy.ts";
export type {
  Cut,
  MessageTest,
  ProxiedMessage,
  ProxiedStatement,
  StatementTest,
  Stop,
} from "./postgres-proxy.ts";
