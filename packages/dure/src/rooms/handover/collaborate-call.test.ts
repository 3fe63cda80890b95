import { describe, expect, test } from "vitest";
import type { RoomAgent, RoomChannel } from "../directory.ts";
import { decideChannel, isElsewhere, type HandOver } from "./collaborate-call.ts";

const web = channelOf("web", "general");
const webDev = channelOf("web", "dev");
const discord = channelOf("discord", "general");
const dev = channelOf("discord", "dev");
const quiet = { ...channelOf("discord", "quiet"), collaborate: false };

const asked: HandOver = {
  origin: undefined,
  from: agentOf("ruda", ["web", "discord"]),
  target: agentOf("eden", ["web", "discord"]),
  channels: [web, webDev, discord, dev],
  defaultChannel: "general",
};

describe("a hand-over that names no place", () => {
  test.each([
    ["a channel", { adapter: "discord", channel: dev }, dev, "own-channel"],
    ["a web channel", { adapter: "web", channel: webDev }, webDev, "own-channel"],
    ["a direct message", { adapter: "discord" }, discord, "teams-channel"],
    ["a direct web room", { adapter: "web" }, web, "teams-channel"],
    ["a closed channel", { adapter: "discord", channel: quiet }, discord, "teams-channel"],
    ["HTTP chat", undefined, web, "teams-channel"],
  ] as const)("from %s stays on its platform", (_from, origin, channel, because) => {
    expect(decideChannel({ ...asked, origin })).toEqual({ channel, because });
  });

  test("goes to the agent's own channel before the team's, on each platform", () => {
    const from = { ...asked.from, channel: "dev" };

    expect(decideChannel({ ...asked, from }).channel).toBe(webDev);
    expect(decideChannel({ ...asked, from, origin: { adapter: "discord" } }).channel).toBe(dev);
  });

  test("goes to the default of the asker's platform where there is one for each", () => {
    const listed = { ...asked, defaultChannel: ["discord:dev", "web:dev"] };

    expect(decideChannel({ ...listed, origin: { adapter: "web" } }).channel).toBe(webDev);
    expect(decideChannel({ ...listed, origin: { adapter: "discord" } }).channel).toBe(dev);
    expect(decideChannel({ ...listed, origin: { adapter: "slack" } }).channel).toBeUndefined();
  });

  test("never takes another platform because the own one has no channel", () => {
    const onWebAlone = { ...asked, channels: [web], origin: { adapter: "discord" } };

    expect(decideChannel(onWebAlone)).toEqual({ because: "no-default", platforms: ["discord"] });
  });

  test("from HTTP chat goes where both agents are", () => {
    const target = agentOf("eden", ["discord"]);

    expect(decideChannel({ ...asked, target }).channel).toBe(discord);
  });

  test("from HTTP chat does not choose between two platforms that are not the web", () => {
    const slack = channelOf("slack", "general");
    const channels = [discord, slack];
    const from = agentOf("ruda", ["discord", "slack"]);
    const target = agentOf("eden", ["discord", "slack"]);
    const both: HandOver = { ...asked, channels, from, target };

    expect(decideChannel(both)).toEqual({
      because: "several-platforms",
      platforms: ["discord", "slack"],
    });
    expect(decideChannel({ ...both, defaultChannel: "slack:general" }).channel).toBe(slack);
    const listed = ["slack:general", "discord:general"];
    expect(decideChannel({ ...both, defaultChannel: listed }).channel).toBe(slack);
    const onDiscord = { ...both, target: agentOf("eden", ["discord"]) };
    expect(decideChannel({ ...onDiscord, defaultChannel: listed }).channel).toBe(discord);
  });

  test("needs a default where the session has no channel", () => {
    expect(decideChannel({ ...asked, defaultChannel: undefined })).toEqual({
      because: "no-default",
      platforms: ["web"],
    });
  });
});

test.each([
  ["nowhere", undefined, discord, false],
  ["the same channel", { adapter: "discord", channel: dev }, dev, false],
  ["a direct message there", { adapter: "discord" }, dev, false],
  ["another channel", { adapter: "discord", channel: dev }, discord, true],
  ["another platform", { adapter: "web" }, discord, true],
] as const)("asked from %s, the place is said or not", (_from, origin, channel, isSaid) => {
  expect(isElsewhere(origin, channel)).toBe(isSaid);
});

function channelOf(adapter: string, key: string): RoomChannel {
  return { adapter, key, name: key, channel: `${adapter}-${key}`, collaborate: true };
}

function agentOf(id: string, adapters: readonly string[]): RoomAgent {
  const accounts = Object.fromEntries(adapters.map((adapter) => [adapter, { id }]));
  return { id, displayName: id, service: id, leads: id === "ruda", accounts };
}
