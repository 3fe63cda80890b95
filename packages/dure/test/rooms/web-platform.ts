import type { RoomChannel } from "../../src/rooms/directory.ts";
import { WebAdapter } from "../../src/channels/web/web-adapter.ts";
import { WebFaultSwitch } from "@dure/testing";
import { NAMES, type Name } from "./team.ts";
import { ANONYMOUS } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";

const CHANNELS: readonly RoomChannel[] = [
  { key: "general", adapter: "web", name: "general", channel: "general", collaborate: true },
  { key: "quiet", adapter: "web", name: "quiet", channel: "quiet", collaborate: false },
];

export function webPlatform(): TestPlatform {
  const faults = new WebFaultSwitch();
  return {
    name: "web",
    agents: (Object.keys(NAMES) as Name[]).map((id) => ({
      id,
      displayName: NAMES[id],
      service: id,
      leads: id === "ruda",
      accounts: { web: { id } },
    })),
    channels: CHANNELS,
    adapter: (database) => new WebAdapter({ database, faults }),
    ready: async () => {},
    say: async (
      team,
      text,
      { thread, channel = "general", person = "민준", replyToLast = false, replyTo, below } = {},
    ) => {
      const place = thread ?? `web:${channel}`;
      const last = replyToLast
        ? (await team.rooms.reader.messages(place, { limit: 1 })).at(-1)
        : undefined;
      return (
        await team.rooms.post(
          { tenant: "", person },
          {
            place,
            text,
            ...(last && { replyTo: last.id }),
            ...(replyTo !== undefined && { replyTo }),
            ...(below !== undefined && { below }),
          },
        )
      ).messageId;
    },
    edit: async (team, message, text) => {
      const { author } = await team.rooms.message(message, ANONYMOUS);
      await team.rooms.own.edit(message, { tenant: "", person: author }, text);
    },
    remove: async (team, message) => {
      const { author } = await team.rooms.message(message, ANONYMOUS);
      await team.rooms.own.delete(message, { tenant: "", person: author });
    },
    shown: async (team, place) => {
      const rows = await team.database.query<{ author_name: string; text: string }>(
        {
          text: `select m.author_name, m.text from dure.room_messages m
                  where m.place = $1 and (m.author_kind <> 'agent' or exists (select 1 from dure.room_parts p join dure.web_posts w on w.id = p.platform_id where p.message = m.id)) order by m.seq`,
        },
        [place],
      );
      return rows.map(
        ({ author_name, text }) =>
          `${author_name}: ${text.replace(/<@(\w+)>/g, (_all, id: string) => `@${NAMES[id as Name] ?? id}`)}`,
      );
    },
    fail: (what, failure, options = {}) => faults.add({ what, failure, ...options }),
    posts: () => faults.calls.filter((call) => call.what === "post").length,
  };
}
