import { expect, test } from "vitest";
import type { TeamConfig } from "./config.ts";
import { needsRestart } from "./reload.ts";

const started = {
  services: {},
  agents: { ruda: { displayName: "루다" } },
  rooms: { adapters: ["web", "discord"], channels: { general: { discord: "1" } } },
  server: { port: 4_600 },
} as unknown as TeamConfig;

test.each<[string, object, readonly string[]]>([
  ["nothing", {}, []],
  ["an agent's name", { agents: { ruda: { displayName: "누다" } } }, []],
  [
    "a channel of the web",
    { rooms: { adapters: ["web", "discord"], channels: { general: { discord: "1" }, quiet: {} } } },
    [],
  ],
  ["the memory", { memory: { keepRecentTurns: 2 } }, []],
  ["the port", { server: { port: 4_601 } }, ["server"]],
  [
    "the budgets and the locale",
    { budgets: { turn: { tokens: 1 } }, locale: "en" },
    ["locale", "budgets"],
  ],
  [
    "the adapters",
    { rooms: { adapters: ["web"], channels: { general: { discord: "1" } } } },
    ["rooms.adapters"],
  ],
  [
    "a channel of Discord",
    { rooms: { adapters: ["web", "discord"], channels: { general: { discord: "2" } } } },
    [],
  ],
  [
    "an agent that is on Discord too",
    { agents: { ruda: { displayName: "루다" }, eden: {} } },
    ["agents.*.accounts.discord"],
  ],
  ["the last agent gone", { agents: {} }, ["agents.*.accounts.discord", "agents"]],
])("%s changed: %j needs a restart for %j", (_, change, keys) => {
  expect(needsRestart(started, { ...started, ...change })).toEqual(keys);
});
