import { expect, test } from "vitest";
import { testDatabase } from "../../durable/test-database.ts";
import type { Database } from "../../durable/database.ts";
import { Orders } from "./orders.ts";
import { sessionIdOf, type Place } from "../place.ts";
import { RoomStore } from "../room-store.ts";
import { ROOM_LIMITS } from "../limits.ts";
import type { RoomsSetting } from "../talk.ts";

const MINA = { id: "U1", name: "Mina", adapter: "discord" };

test("who asks for jobs hears of those of the place, never of a private thread of its channel", async () => {
  await using db = await testDatabase();
  const { database } = db;
  const store = new RoomStore({ database, limits: ROOM_LIMITS });
  await database.query({
    text: `insert into dure.places (id, adapter, kind, parent, name, channel, thread) values
      ('discord:general', 'discord', 'channel', null, 'general', '1', null),
      ('thread_open', 'discord', 'thread', 'discord:general', 'open', '1', '2'),
      ('private_ours', 'discord', 'thread', 'discord:general', 'ours', '1', '3')`,
  });
  await ask(database, sessionIdOf("ruda", "discord:general"), "of the channel");
  await ask(database, sessionIdOf("ruda", "discord:general", "mina"), "of her line");
  await ask(database, sessionIdOf("ruda", "thread_open"), "of the thread");
  await ask(database, sessionIdOf("ruda", "private_ours"), "of us alone");
  const setting = { database, locale: "en", directory: { nameOf: (agent: string) => agent } };
  const orders = new Orders(setting as unknown as RoomsSetting, {} as never);
  const jobsIn = async (id: string): Promise<readonly string[]> => {
    const place = (await store.place(id)) as Place;
    const told = await orders.carryOut("jobs", MINA, { agent: "ruda", place });
    return told.split("\n").map((line) => line.replace(/^.*: (.*) \(.*$/, "$1"));
  };

  expect(await jobsIn("discord:general")).toEqual([
    "of the thread",
    "of her line",
    "of the channel",
  ]);
  expect(await jobsIn("private_ours")).toEqual(["of us alone"]);
});

let asked = 0;

async function ask(database: Database, session: string, message: string): Promise<void> {
  const id = `job_${String(++asked).padStart(26, "0")}`;
  await database.query(
    {
      text: `
        insert into dure.jobs (
          id, root_id, root_work, origin_session, requester, target, message, intent,
          conversation_id, max_turns, queued_ms, progress_ms
        )
        values ($1, $1, 'w', $2, 'ruda', 'eden', $3, 'QUESTION', 'c', 1, 0, 0)`,
    },
    [id, session, message],
  );
}
