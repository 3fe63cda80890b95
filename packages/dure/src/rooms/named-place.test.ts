import { describe, expect, test } from "vitest";
import type { RoomChannel } from "./directory.ts";
import { channelNamed, defaultOn, defaultPlaces, defaultsInFull, mayMean } from "./named-place.ts";

const web = channelOf("web", "general", "general");
const report = channelOf("web", "report", "report");
const discord = channelOf("discord", "general", "123456789012345678");
const slack = channelOf("slack", "general", "C0123456789");
const ops = channelOf("slack", "ops", "C9876543210");
const channels = [web, report, discord, slack, ops];

describe("a channel is named", () => {
  test.each([
    ["in full", "discord:general", discord],
    ["in full on Slack", "slack:general", slack],
    ["in full on the web", "web:general", web],
    ["by its platform's id in full", "discord:123456789012345678", discord],
    ["by its platform's id alone", "C0123456789", slack],
    ["by a key that one platform has", "ops", ops],
  ])("%s: %s", (_how, name, channel) => {
    expect(channelNamed(name, channels)).toEqual({ ok: true, channel });
  });

  test("by a key alone where more than one platform has it: refused with the full names", () => {
    expect(channelNamed("general", channels)).toEqual({
      ok: false,
      because: "several",
      allowed: ["web:general", "discord:general", "slack:general"],
    });
  });

  test.each(["lobby", "discord:ops", "web:general@acme", "", "web:"])(
    "as no channel is called, %j: refused with all that there are",
    (name) => {
      const named = channelNamed(name, channels);

      expect(named).toMatchObject({ ok: false, because: "unknown" });
      expect(named.ok ? [] : named.allowed).toHaveLength(channels.length);
    },
  );

  test("with a tenant for callers of that tenant alone", () => {
    const name = "web:general@acme";

    expect(channelNamed(name, [web], "acme")).toEqual({ ok: true, channel: web });
    expect(channelNamed(name, [web], "other")).toMatchObject({ ok: false, because: "unknown" });
    expect(mayMean(name, web, "acme")).toBe(true);
  });
});

describe("a default place", () => {
  test.each([
    ["a key alone is the channel on each platform", "general", [web, discord, slack]],
    ["a full name is one channel", "discord:general", [discord]],
    ["a list has one for each platform", ["slack:ops", "discord:general"], [discord, ops]],
    ["a full name goes before a key", ["general", "slack:ops"], [web, discord, ops]],
    ["one that is not there is none", "discord:ops", []],
  ])("%s", (_what, places, expected) => {
    expect(defaultPlaces(places, channels)).toEqual(expected);
    expect(defaultOn("discord", places, channels)).toEqual(
      expected.find(({ adapter }) => adapter === "discord"),
    );
  });

  test("in full keeps the order in which it was named", () => {
    expect(defaultsInFull(["slack:ops", "general", "web:general"], channels)).toEqual([ops, web]);
  });
});

function channelOf(adapter: string, key: string, channel: string): RoomChannel {
  return { adapter, key, name: key, channel, collaborate: true };
}
