import { expect, test } from "vitest";
import { Directory, type RoomChannel } from "../directory.ts";
import { channelPlaceId } from "../named-place.ts";
import { channelsFor } from "./configured-places.ts";

const WEB = { key: "general", adapter: "web", name: "general", collaborate: true } as RoomChannel;
const DISCORD = { key: "1234", adapter: "discord", name: "ops", collaborate: true } as RoomChannel;

test("a tenant talks in its web channels, and in no channel of another platform", () => {
  const directory = new Directory({ agents: [], channels: [WEB, DISCORD] });

  expect(channelsFor("acme", directory)).toEqual([WEB]);
  expect(channelsFor("", directory)).toEqual([WEB, DISCORD]);
  expect(channelPlaceId(WEB, "acme")).toBe("web:general@acme");
  expect(channelPlaceId(DISCORD, "acme")).toBe("discord:1234");
});
