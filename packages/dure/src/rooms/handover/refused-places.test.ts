import { expect, test } from "vitest";
import type { RoomAgent, RoomChannel } from "../directory.ts";
import { channelNamed } from "../named-place.ts";
import { refuseNamed, refuseThreadOf, refuseUndecided } from "./refused-places.ts";

const web = channelOf("web", "general");
const discord = channelOf("discord", "general");
const quiet = { ...channelOf("discord", "quiet"), collaborate: false };
const channels = [web, discord, quiet];
const from: RoomAgent = {
  id: "ruda",
  displayName: "루다",
  service: "ruda",
  leads: true,
  accounts: {},
};

test.each([
  [
    "that takes none",
    "discord:quiet",
    "CHANNEL_NOT_ALLOWED",
    "Allowed are: web:general, discord:general. " +
      "rooms.channels.quiet.collaborate is false; true allows them there.",
  ],
  [
    "that there is not",
    "lobby",
    "CHANNEL_NOT_ALLOWED",
    "Channels are: web:general, discord:general, discord:quiet. " +
      "Another one is added to rooms.channels.",
  ],
  [
    "that two platforms have",
    "general",
    "CHANNEL_REQUIRED",
    "Give channelId in full: web:general, discord:general.",
  ],
])("a channel %s is refused with what is allowed", (_what, name, code, hint) => {
  expect(refuseNamed(name, channelNamed(name, channels), channels)).toMatchObject({ code, hint });
});

test("without a default the keys are named, with what stands there and what may", () => {
  const asked = { from, channels: [web, discord], defaultChannel: ["discord:general"] };

  expect(refuseUndecided(asked, { because: "no-default", platforms: ["web"] })).toMatchObject({
    code: "CHANNEL_REQUIRED",
    message:
      'No default channel is on web (rooms.defaultChannel is ["discord:general"], ' +
      "agents.ruda.channel is not set).",
    hint:
      "Add one of these to rooms.defaultChannel or agents.ruda.channel, or give channelId: " +
      "web:general.",
  });
  expect(refuseUndecided(asked, { because: "no-default", platforms: ["slack"] }).hint).toBe(
    "Add a channel on slack to rooms.channels, or give channelId.",
  );
  expect(refuseUndecided(asked, { because: "no-default", platforms: [] }).message).toMatch(
    /^The agents share no platform/,
  );
});

test("a thread is refused with the key that shuts its channel", () => {
  expect(refuseThreadOf(quiet, "thread_1").hint).toContain("rooms.channels.quiet.collaborate");
  expect(refuseThreadOf(undefined, "thread_1").hint).toContain("not in rooms.channels");
});

function channelOf(adapter: string, key: string): RoomChannel {
  return { adapter, key, name: key, channel: `${adapter}-${key}`, collaborate: true };
}
