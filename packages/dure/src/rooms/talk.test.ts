/** What follows from an agent's words, directly at the rows. */

import { expect, test, vi } from "vitest";
import { Outbox } from "../durable/outbox.ts";
import { joinTeam } from "../durable/test-members.ts";
import { testDatabase } from "../durable/test-database.ts";
import { systemClock as clock } from "../kernel/clock.ts";
import { Directory } from "./directory.ts";
import { GATHER, ROOM_LIMITS } from "./limits.ts";
import { RoomStore } from "./room-store.ts";
import { Talk } from "./talk.ts";
import { WebAdapter } from "../channels/web/web-adapter.ts";

const GENERAL = "web:general";

async function openTalk({ edits = false } = {}) {
  const db = await testDatabase();
  const member = await joinTeam(db.url);
  const { database, notifications, lease, logger } = member;
  await database.query(PLACE);
  const store = new RoomStore({ database, limits: ROOM_LIMITS });
  const web = new WebAdapter({ database });
  const talk = new Talk({
    database,
    store,
    notifications,
    clock,
    logger,
    outbox: new Outbox({ database, lease, logger, clock }),
    directory: new Directory({
      agents: [agentOf("ruda", "루다"), agentOf("eden", "이든")],
      channels: [CHANNEL],
    }),
    limits: ROOM_LIMITS,
    gather: GATHER,
    signs: false,
    locale: "ko",
    allowBots: false,
    adapters: new Map([["web", edits ? Object.assign(web, { edit: async () => {} }) : web]]),
    stream: false,
  });
  return {
    database,
    store,
    talk,
    notifications,
    async [Symbol.asyncDispose]() {
      await member[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
    },
  };
}

const PLACE = {
  text: `insert into dure.places (id, adapter, kind, name)
         values ('web:general', 'web', 'channel', 'general')`,
};
const CHANNEL = {
  key: "general",
  adapter: "web",
  name: "general",
  channel: "general",
  collaborate: true,
};

function agentOf(id: string, displayName: string) {
  return { id, displayName, service: id, leads: id === "ruda", accounts: { web: { id } } };
}

test("words of an agent that have left count once, and are heard once", async () => {
  await using world = await openTalk();
  const { database, store, talk } = world;
  const { messageId } = await database.transaction(async (tx) => {
    const place = await store.open(tx, GENERAL);
    return talk.say(tx, place!, { author: "ruda", text: "@이든 봐 줘" });
  });

  const first = await database.transaction((tx) => talk.posted(tx, messageId));
  const second = await database.transaction((tx) => talk.posted(tx, messageId));

  expect(first?.message.id).toBe(messageId);
  expect(second).toBeUndefined();
  const place = await database.transaction((tx) => store.open(tx, GENERAL));
  expect(place?.agentMessages).toBe(1);
  const work = await database.query({ text: "select agent from dure.handlings" });
  expect(work).toEqual([{ agent: "eden" }]);
});

test("words that were changed before their sending was recorded are said anew", async () => {
  await using world = await openTalk({ edits: true });
  const { database, store, talk } = world;
  const [pressed, left] = await database.transaction(async (tx) => {
    const place = await store.open(tx, GENERAL);
    const say = async (text: string) =>
      (await talk.say(tx, place!, { author: "ruda", text })).messageId;
    return [await say("못 했어요"), await say("다 했어요")];
  });
  await database.query(CHANGED, [pressed]);
  for (const id of [pressed, left]) await database.query(PART, [id]);

  for (const id of [pressed, left]) await database.transaction((tx) => talk.posted(tx, id));

  const anew = await database.query<{ key: string }>({
    text: "select key from dure.outbox where key like '%/anew'",
  });
  expect(anew).toEqual([{ key: `${pressed}/0/anew` }]);
});

const CHANGED = {
  text: "update dure.room_messages set text = '이어서 해요', edited_at = now() where id = $1",
};
const PART = {
  text: "insert into dure.room_parts (adapter, platform_id, message) values ('web', $1, $1)",
};

test("a message that no agent answers costs four statements, and wakes only those who watch", async () => {
  await using world = await openTalk();
  const { database, talk, notifications } = world;
  await database.query(THREAD_OF_PEOPLE);
  const publish = vi.spyOn(notifications, "publish");
  const costs: number[] = [];

  for (const text of ["점심 뭐 먹지", "김밥", "좋아"]) {
    const before = database.statements;
    await talk.hear(
      "thread_lunch",
      { authorKind: "person", author: "minjun", authorName: "민준", text },
      ["ruda", "eden"],
    );
    costs.push(database.statements - before);
  }

  // BEGIN, the look at the place, the message with all that follows, COMMIT; a lease may come between.
  expect(Math.min(...costs)).toBe(4);
  expect(new Set(publish.mock.calls.map(([topic]) => topic))).toEqual(new Set(["events"]));
});

const THREAD_OF_PEOPLE = {
  text: `insert into dure.places (id, adapter, kind, name, parent, thread)
         values ('thread_lunch', 'web', 'thread', '점심', 'web:general', 'thread_lunch')`,
};
