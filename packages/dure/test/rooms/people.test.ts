// @module-tag slow
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import type { RoomPeople } from "../../src/wire/rooms.ts";
import { eventually } from "../until.ts";
import { ownTeam } from "../tenants/own-team.ts";
import { discordPlatform } from "./discord-platform.ts";
import { readyTeamOn, settled, silent } from "./helpers.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const MINJUN = { tenant: "", person: "민준" };
const GENERAL = "web:general";
const QUIET = { here: [], hereCount: 0, typing: [], typingCount: 0 };

/** Two processes on one database, and what readers of the second one know of rooms. */
async function twoProcesses(): Promise<{ first: TestTeam; known: Map<string, RoomPeople> }> {
  const platform = webPlatform();
  const first = await readyTeamOn(platform);
  const second = await readyTeamOn(platform, { on: first });
  return { first, known: peopleOf(second) };
}

/** What a reader of this process is told, by room. */
function peopleOf(team: TestTeam): Map<string, RoomPeople> {
  const known = new Map<string, RoomPeople>();
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  team.rooms.people.follow(({ people }) => known.set(people.room, people), leave.signal);
  return known;
}

/** As if the last word of all visitors were so much older, milliseconds. */
async function age({ database }: TestTeam, ms: number): Promise<void> {
  const text = `
    update dure.room_visits
    set seen_at = seen_at - $1 * interval '1 millisecond',
      told_at = told_at - $1 * interval '1 millisecond',
      writes_until = writes_until - $1 * interval '1 millisecond'`;
  await database.query({ text }, [ms]);
}

/** Wake-ups of all processes about people from now on. */
async function wakeUps({ url }: TestTeam): Promise<readonly string[]> {
  const heard: string[] = [];
  const client = new pg.Client({ connectionString: url, application_name: "dure:test:listen" });
  await client.connect();
  onTestFinished(() => client.end());
  client.on("notification", ({ payload }) => payload === "people" && heard.push(payload));
  await client.query("listen dure; notify dure");
  return heard;
}

test("a person who looks and writes in one process is seen in another one at once", async () => {
  const { first, known } = await twoProcesses();

  await first.rooms.visit(MINJUN, { place: GENERAL, writes: false });
  await eventually(() => expect(known.get(GENERAL)).toMatchObject({ here: ["민준"], typing: [] }));
  await first.rooms.visit(MINJUN, { place: GENERAL, writes: true });

  await eventually(() =>
    expect(known.get(GENERAL)).toEqual({
      room: GENERAL,
      here: ["민준"],
      hereCount: 1,
      typing: ["민준"],
      typingCount: 1,
    }),
  );
});

test("whose writing is renewed stays, and who rests for 6 s writes no more", async () => {
  const { first, known } = await twoProcesses();
  await first.rooms.visit(MINJUN, { place: GENERAL, writes: true });
  await eventually(() => expect(known.get(GENERAL)?.typing).toEqual(["민준"]));

  await age(first, 5_900);

  await eventually(() => expect(known.get(GENERAL)).toMatchObject({ here: ["민준"], typing: [] }));
});

test("a person whose page or process was killed is gone within 30 s", async () => {
  const { first, known } = await twoProcesses();
  await first.rooms.visit(MINJUN, { place: GENERAL, writes: false });
  await eventually(() => expect(known.get(GENERAL)?.hereCount).toBe(1));

  await first.stop();
  const { database } = await readyTeamOn(webPlatform(), { on: first });
  await age({ database } as TestTeam, 19_900);

  await eventually(() => expect(known.get(GENERAL)).toEqual({ room: GENERAL, ...QUIET }), {
    patienceMs: 10_000,
  });
});

test("a burst of typing costs one wake-up in 3 s, over both processes", async () => {
  const platform = webPlatform();
  const first = await readyTeamOn(platform);
  const second = await readyTeamOn(platform, { on: first });
  const heard = await wakeUps(first);
  const known = peopleOf(second);
  const begunAt = systemClock.monotonic();

  for (let key = 0; key < 50; key++) {
    const team = key % 2 === 0 ? first : second;
    await team.rooms.visit(MINJUN, { place: GENERAL, writes: key % 5 !== 4 });
  }
  for (const _half of [1, 2]) {
    await age(first, 1_500);
    await first.rooms.visit(MINJUN, { place: GENERAL, writes: true });
  }
  await first.rooms.visit({ tenant: "", person: "서연" }, { place: GENERAL, writes: false });
  await eventually(() => expect(known.get(GENERAL)?.here).toEqual(["민준", "서연"]));

  const later = Math.floor((systemClock.monotonic() - begunAt) / 3_000); // on a busy machine
  expect(heard.length).toBeLessThanOrEqual(3 + later); // 민준 twice, 서연 once
  expect(heard.length).toBeGreaterThan(0);
});

test("of many people 20 names are told, of many writers 3, and the others are counted", async () => {
  const team = await readyTeamOn(webPlatform());
  const known = peopleOf(team);

  for (let index = 10; index < 35; index++) {
    const who = { tenant: "", person: `사람 ${index}` };
    await team.rooms.visit(who, { place: GENERAL, writes: index < 15 });
  }

  await eventually(() => expect(known.get(GENERAL)).toMatchObject({ hereCount: 25 }));
  expect(known.get(GENERAL)).toMatchObject({ typingCount: 5 });
  expect(known.get(GENERAL)?.here).toHaveLength(20);
  expect(known.get(GENERAL)?.typing).toEqual(["사람 10", "사람 11", "사람 12"]);
});

test("one person is counted in 20 rooms at most", async () => {
  const channels = Array.from({ length: 25 }, (_, index) => ({
    key: `room-${index}`,
    adapter: "web",
    name: `room-${index}`,
    channel: `room-${index}`,
    collaborate: true,
  }));
  const team = await readyTeamOn(webPlatform(), { channels, defaultChannel: "room-0" });

  for (const { key } of channels) {
    await team.rooms.visit(MINJUN, { place: `web:${key}`, writes: true });
  }

  const rows = await team.database.query({ text: "select from dure.room_visits" });
  expect(rows).toHaveLength(20);
});

test("a direct room tells of no one, and a room of another platform refuses", async () => {
  const team = await readyTeamOn(webPlatform());
  const { id } = await team.rooms.direct(MINJUN, "eden");
  const stage = await discordPlatform();
  const elsewhere = await readyTeamOn(stage);

  await team.rooms.visit(MINJUN, { place: id, writes: true });

  expect(await team.database.query({ text: "select from dure.room_visits" })).toEqual([]);
  await expect(
    elsewhere.rooms.visit(MINJUN, { place: "discord:general", writes: true }),
  ).rejects.toMatchObject({ code: "ROOM_NOT_OURS" });
});

test("typing reaches those who read the room, not another tenant nor who may not read rooms", async () => {
  const team = await ownTeam(".");
  const [writer, reader, stranger, chatter] = await Promise.all([
    team.client(["rooms"], "acme", "minjun"),
    team.client(["rooms", "chat"], "acme", "seoyeon"),
    team.client(["rooms", "chat"], "beta", "jiwoo"),
    team.client(["chat"], "acme", "chatter"),
  ]);
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  const heard = { reader: 0, stranger: 0, chatter: 0 };
  const seen: RoomPeople[] = [];
  for (const [name, client] of Object.entries({ reader, stranger, chatter })) {
    const events = client.events(
      { types: ["room.*"], people: true },
      {
        signal: leave.signal,
        onPeople: (people) => {
          heard[name as keyof typeof heard] += 1;
          if (name === "reader") seen.push(people);
        },
      },
    );
    void (async () => {
      for await (const _event of events);
    })().catch(() => {});
  }

  await writer.rooms().bePresent("web:general", { typing: true });
  await eventually(() => expect(seen.at(-1)).toMatchObject({ typing: ["minjun"] }));

  expect(seen.at(-1)).toMatchObject({ room: "web:general@acme", here: ["minjun"] });
  expect(heard).toMatchObject({ stranger: 0, chatter: 0 });
  await expect(chatter.rooms().bePresent("web:general", { typing: true })).rejects.toMatchObject({
    code: "SCOPE_MISSING",
    details: { status: 403 },
  });
  await expect(stranger.rooms().bePresent("web:general@acme")).rejects.toMatchObject({
    code: "PLACE_UNKNOWN",
  });
  await expect(
    writer.rooms("seoyeon").bePresent("web:general", { typing: true }),
  ).rejects.toMatchObject({ code: "PERSON_FORBIDDEN", details: { status: 403 } });
  await stranger.rooms().bePresent("web:general"); // it hears of its own room
  await eventually(() => expect(heard).toMatchObject({ stranger: 1, chatter: 0 }));
});

test("a page of messages with threads and signs costs as many statements as one message", async () => {
  const team = await readyTeamOn(webPlatform(), { behave: { ruda: silent } });
  const ids: string[] = [];
  for (let index = 0; index < 12; index++) {
    const { messageId } = await team.rooms.post(MINJUN, { place: GENERAL, text: `말 ${index}` });
    await team.rooms.post(MINJUN, { place: GENERAL, text: "스레드에서", below: messageId });
    await team.rooms.own.react(messageId, MINJUN, { emoji: "👍", isSet: true });
    ids.push(messageId);
  }
  await settled(team);
  const asked = vi.spyOn(team.database, "query");
  const statements = async (messages: readonly string[]): Promise<number> => {
    asked.mockClear();
    const below = await team.rooms.reader.below(messages, MINJUN);
    expect(below.size).toBe(messages.length);
    return asked.mock.calls.filter(([{ name }]) => name?.startsWith("rooms.") === true).length;
  };

  expect(await statements(ids)).toBe(1);
  expect(await statements(ids.slice(0, 1))).toBe(1);
});

test("a message says how much stands in the thread below it, to those who may see it", async () => {
  const team = await readyTeamOn(webPlatform(), { behave: { ruda: silent } });
  const { messageId } = await team.rooms.post(MINJUN, { place: GENERAL, text: "배포했어요" });
  const SEOYEON = { tenant: "", person: "서연" };

  const first = await team.rooms.post(MINJUN, { place: GENERAL, text: "하나", below: messageId });
  await team.rooms.post(SEOYEON, { place: first.place, text: "둘" });
  await settled(team);

  const below = (await team.rooms.reader.below([messageId], SEOYEON)).get(messageId);
  expect(below?.thread).toMatchObject({ id: first.place, messages: 2 });
  expect(await team.rooms.reader.thread(first.place, SEOYEON)).toMatchObject({
    people: ["서연", "민준"],
    unread: 2,
  });
  expect(await team.rooms.reader.below([messageId], { tenant: "beta", person: "서연" })).toEqual(
    new Map(),
  );
});

test("a thread below a message of Discord is found by the platform's id of the message", async () => {
  const stage = await discordPlatform();
  const team = await readyTeamOn(stage);
  const question = await stage.say(team, "배포했어요?");
  await settled(team);
  const [row] = await team.database.query<{ channel: string; platform_id: string }>(
    {
      text: `
        select c.channel, part.platform_id
        from dure.room_messages m
        join dure.places c on c.id = m.place
        join dure.room_parts part on part.message = m.id
        where m.id = $1`,
    },
    [question],
  );
  await team.database.query(
    {
      text: `
        insert into dure.places (id, adapter, kind, parent, name, channel, thread, next_seq)
        values ('thread_x', 'discord', 'thread', 'discord:general', '이어서', $1, $2, 4)`,
    },
    [row!.channel, row!.platform_id],
  );
  await team.database.query({
    text: "update dure.places set seen_by_all = true where id = 'discord:general'",
  });

  const below = await team.rooms.reader.below([question], { tenant: "", person: "민준" });

  expect(below.get(question)?.thread).toMatchObject({ id: "thread_x", messages: 3 });
});
