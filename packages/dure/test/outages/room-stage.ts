import { expect } from "vitest";
import type { EngineOptions } from "../../src/engine/engine.ts";
import type { OfflineReply } from "../../src/models/offline.ts";
import type { ChannelAdapter } from "../../src/rooms/channel-adapter.ts";
import { ANONYMOUS, readyTeamOn, settled, silent } from "../rooms/helpers.ts";
import type { Heard, TestTeam } from "../rooms/team.ts";
import { eventually } from "../until.ts";
import { webPlatform } from "../rooms/web-platform.ts";
import { bookingTool, OF_THE_DATABASE, REFUSED, type Moment, type Stage } from "./stage.ts";

/** 루다 books, hands over to 이든, and answers; both agents use the provider. */
export async function roomStage(moment: Moment, engine: Partial<EngineOptions>): Promise<Stage> {
  const { at, provider } = moment;
  const seen: unknown[] = [];
  const ruda = async (heard: Heard): Promise<OfflineReply> => {
    const { results, text } = heard;
    if (!text.startsWith("민준")) return provider.isAway ? REFUSED : silent(heard);
    seen.push(...results);
    if (results.length === 0) await at("turn");
    if (results.length === 1) await at("hand-over");
    // Of the hand-over the call itself is made: its work meets the outage.
    if (provider.isAway && results.length !== 1) return REFUSED;
    return RUDA[results.length]!;
  };
  const { book, booked } = bookingTool(() => at("tool"));
  const platform = webPlatform();
  const team = await readyTeamOn(platform, {
    behave: { ruda, eden: () => (provider.isAway ? REFUSED : "코드를 봤어요") },
    tools: { book },
    engine,
    adapter: (database) => met([platform.adapter(database)].flat()[0]!, () => at("outbox")),
  });
  await moment.opened(team.url);
  return {
    run: async () => {
      await platform.say(team, "예약하고 코드도 봐 줘");
      await moment.isOver;
      await settled(team);
    },
    assertDone: async () => {
      expect(await answersOf(team, "ruda", "web:general")).toEqual(["예약하고 이든에게 맡겼어요"]);
      expect(await answersOf(team, "eden")).toEqual(["코드를 봤어요"]);
    },
    assertHonest: async () => {
      expect([...booked.values()]).toEqual([1]);
      expect(JSON.stringify(seen) + (await allWords(team))).not.toMatch(OF_THE_DATABASE);
    },
    excuse: async () =>
      (await team.rooms.reader.messages("web:general", {})).at(-1)?.text ?? "no words",
    retry: async () => {
      for (const { place, answer } of await retriesOf(team)) {
        await team.rooms.retryIn(place, ANONYMOUS, answer);
      }
      await remind(team);
      await eventually(async () => expect(await answersOf(team, "eden")).not.toEqual([]));
      await settled(team);
    },
  };
}

const RUDA: readonly OfflineReply[] = [
  { toolCalls: [{ name: "book", args: {} }] },
  { toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "코드 좀 봐 줘" } }] },
  "예약하고 이든에게 맡겼어요",
];

/** The adapter, with a moment before it posts. */
function met(adapter: ChannelAdapter, before: () => Promise<void>): ChannelAdapter {
  return new Proxy(adapter, {
    get: (target, name) => {
      if (name === "post") {
        return async (...given: Parameters<ChannelAdapter["post"]>) => {
          await before();
          return target.post(...given);
        };
      }
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

async function answersOf(
  team: TestTeam,
  agent: string,
  place?: string,
): Promise<readonly string[]> {
  const rows = await team.database.query<{ text: string }>(
    {
      text: `
        select text from dure.room_messages
        where author = $1 and mark is null and request is null
          and ($2::text is null or place = $2)
        order by seq`,
    },
    [agent, place ?? null],
  );
  return rows.map(({ text }) => text);
}

async function allWords(team: TestTeam): Promise<string> {
  const rows = await team.database.query<{ text: string }>({
    text: "select text from dure.room_messages",
  });
  return rows.map(({ text }) => text).join("\n");
}

/** Five minutes have passed since an agent was asked: it is asked again, no person has a part in it. */
async function remind({ database }: TestTeam): Promise<void> {
  await database.query({
    text: "update dure.requests set next_at = clock_timestamp() where state = 'open'",
  });
}

/** The retry buttons of all places. */
async function retriesOf({
  database,
  rooms,
}: TestTeam): Promise<readonly { readonly place: string; readonly answer: string }[]> {
  const places = await database.query<{ place: string }>({
    text: "select distinct place from dure.room_messages",
  });
  const found = [];
  for (const { place } of places) {
    const messages = await rooms.reader.messages(place, {});
    const values = messages.flatMap(({ buttons }) => buttons ?? []).map(({ value }) => value);
    const answers = values.filter((value) => value.startsWith("retry:"));
    found.push(...answers.map((value) => ({ place, answer: value.slice("retry:".length) })));
  }
  return found;
}
