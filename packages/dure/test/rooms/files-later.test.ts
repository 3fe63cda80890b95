// @module-tag slow
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { folderStore } from "../../src/durable/files/folder-store.ts";
import { fileRules } from "../../src/durable/files/file-rules.ts";
import { Files, IN_DATABASE_BYTES } from "../../src/durable/files/files.ts";
import { PNG, pngOf } from "../../src/durable/files/test-files.ts";
import { Leases } from "../../src/durable/leases.ts";
import { Retention } from "../../src/durable/retention.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { joinTeam } from "../../src/durable/test-members.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { carryFiles, PlaceFiles } from "../../src/rooms/look/place-files.ts";
import type { Place } from "../../src/rooms/place.ts";
import type { RoomsSetting } from "../../src/rooms/talk.ts";
import { startTestServer } from "../../src/server/test-server.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { readyTeamOn, rolesOf, settled } from "./helpers.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, Heard, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const IMAGE = { name: "화면.png", bytes: PNG, contentType: "image/png" };
const MINJUN = { tenant: "", person: "민준" };
/** A dead process is noticed after 6 s. Source: docs/spec/collaboration §1. */
const TAKEN_OVER_MS = boundMs(10_000);

interface HeardFile {
  readonly text: string;
  readonly files: readonly string[];
}

/** What 루다 heard: the words, and names of files. */
function listener(): { heard: HeardFile[]; behave: Behave } {
  const heard: HeardFile[] = [];
  const behave = ({ text, request }: Heard): string => {
    const newest = request.messages.findLast(({ role }) => role === "user");
    const { files = [] } = (newest ?? {}) as { files?: readonly { name: string }[] };
    heard.push({ text, files: files.map(({ name }) => name) });
    return "봤어요";
  };
  return { heard, behave };
}

async function storedIn({ database }: Pick<TestTeam, "database">, like: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    { text: "select count(*)::int as count from dure.files where session_id like $1" },
    [like],
  );
  return row!.count;
}

/** What retention does to a file that waited for its turn for a day, between the two. */
async function sweptBeforeItsTurn({ database }: TestTeam, which: string): Promise<void> {
  await database.query({
    text: `
      create function dure.test_sweep() returns trigger language plpgsql as $$
      begin
        delete from dure.files where session_id like '${which}';
        return new;
      end $$`,
  });
  await database.query({
    text: `
      create trigger test_sweep after update of input on dure.handlings
      for each row when (old.input is null and new.input is not null)
      execute function dure.test_sweep()`,
  });
}

test("a file that went before its turn was accepted is read again at the platform", async () => {
  const stage = await discordPlatform();
  const { heard, behave } = listener();
  const team = await readyTeamOn(stage, { behave: { ruda: behave } });
  await sweptBeforeItsTurn(team, "room:%");

  stage.person("민준").post(stage.places.general, "이거", { attachments: [IMAGE] });

  await eventually(() => expect(heard).toHaveLength(1));
  expect(heard).toEqual([{ text: "민준: 이거\n> [화면.png]", files: ["화면.png"] }]);
  expect(stage.discord.files.requests.map(({ status }) => status)).toEqual([200, 200]);
});

test("a message whose file is gone everywhere is answered, and says so", async () => {
  const { heard, behave } = listener();
  const team = await readyTeamOn(webPlatform(), { behave: { ruda: behave } });
  await sweptBeforeItsTurn(team, "%");
  const file = await team.rooms.upload(MINJUN, { place: "web:general", ...IMAGE });

  await team.rooms.post(MINJUN, { place: "web:general", text: "이거", files: [file.id] });

  await eventually(() => expect(heard).toHaveLength(1));
  expect(heard[0]?.files).toEqual([]);
  expect(heard[0]?.text).toContain("이거\n> [화면.png] (70 B, not read: it is gone)");
});

test(
  "a message whose process was cut off while its file was read is answered once, its file kept once",
  FULL,
  async () => {
    const stage = await slackPlatform();
    const { heard, behave } = listener();
    const first = await readyTeamOn(stage, { behave: { ruda: behave } });
    stage.slack.files.fault(IMAGE.name, { kind: "stalled" });
    stage.person("민준").post({ channel: stage.places.general }, "봐 줘", { files: [IMAGE] });
    await eventually(() => expect(stage.slack.files.requests).toHaveLength(1));
    const second = await readyTeamOn(stage, { on: first, behave: { ruda: behave } });

    await fence(second, first);

    await eventually(() => expect(heard).toHaveLength(1), { patienceMs: TAKEN_OVER_MS + 5_000 });
    await settled(second);
    expect(heard.map(({ files }) => files)).toEqual([["화면.png"]]);
    expect(first.calls("ruda")).toBe(0);
    expect(await storedIn(second, "room:%")).toBe(1);
    const shown = await stage.shown(second, "slack:general");
    expect(shown.filter((line) => line.startsWith("루다"))).toEqual(["루다: 봤어요"]);
  },
);

async function fence(by: TestTeam, dead: TestTeam): Promise<void> {
  await by.database.query(
    {
      text: `
        update dure.processes
        set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'
        where id = $1`,
    },
    [dead.processId],
  );
}

test("agents that only record a message get the names of its files, and no bytes", async () => {
  const team = await readyTeamOn(webPlatform());
  const file = await team.rooms.upload(MINJUN, { place: "web:general", ...IMAGE });

  const { messageId } = await team.rooms.post(MINJUN, {
    place: "web:general",
    text: "@루다 이거",
    files: [file.id],
  });
  await settled(team);

  expect(await rolesOf(team, messageId)).toMatchObject({ ruda: "HANDLER", eden: "OBSERVER" });
  const recorded = await team.rooms.reader.observations({ tenant: "" });
  expect(JSON.stringify(recorded)).toContain("[화면.png]");
  const sessions = await team.database.query<{ session_id: string }>({
    text: "select session_id from dure.files where session_id like 'room:%'",
  });
  expect(sessions).toHaveLength(1);
  expect(sessions[0]!.session_id).toContain("ruda");
});

test("the route of conversations knows no file of a room, and none of an agent there", async () => {
  const team = await readyTeamOn(webPlatform());
  const { id: room } = await team.rooms.direct(MINJUN, "ruda");
  const file = await team.rooms.upload(MINJUN, { place: room, ...IMAGE });
  await team.rooms.post(MINJUN, { place: room, text: "이거", files: [file.id] });
  await settled(team);
  const of = { tenant: "", session: "mina", name: "b.png", bytes: PNG };
  const other = await team.engine.files.put(of);
  const server = await startTestServer({ rooms: team.rooms, files: team.engine.files });
  onTestFinished(() => server[Symbol.asyncDispose]());

  const all = await team.database.query<{ id: string; session_id: string }>({
    text: "select id, session_id from dure.files order by session_id",
  });

  const answers: Record<string, number> = {};
  for (const { id, session_id } of all) {
    const { status } = await server.fetch(`/v1/agent/files/${id}`);
    answers[session_id.replace(room, "here")] = status;
  }
  expect(answers).toEqual({ mina: 200, "place here": 404, "room:ruda:here": 404 });
  expect(other.name).toBe("b.png");
});

test("files of another place, tenant or message cannot be carried by a message", async () => {
  const team = await readyTeamOn(webPlatform());
  const post = (place: string, files: readonly string[]): Promise<unknown> =>
    team.rooms.post(MINJUN, { place, text: "이거", files });
  const here = await team.rooms.upload(MINJUN, { place: "web:general", ...IMAGE });
  const acme = { tenant: "acme", person: "민준" };
  const theirs = await team.rooms.upload(acme, { place: "web:general", ...IMAGE });

  await expect(post("web:quiet", [here.id])).rejects.toMatchObject({ code: "FILE_UNKNOWN" });
  await expect(post("web:general", [theirs.id])).rejects.toMatchObject({ code: "FILE_UNKNOWN" });
  await expect(
    post(
      "web:general",
      Array.from({ length: 11 }, () => here.id),
    ),
  ).rejects.toMatchObject({ code: "FILES_TOO_MANY" });
  expect(await team.rooms.reader.messages("web:general", {})).toEqual([]);
});

describe.each([
  ["the database", 100],
  ["a store outside", IN_DATABASE_BYTES + 1],
])("the bytes of a room's file in %s", (_where, size) => {
  test("go with the message that carries them, and not before", async () => {
    await using stage = await placeStage();
    const { files, database } = stage;
    const kept = await stage.said("msg_1", pngOf(size, 1));
    const gone = await stage.said("msg_2", pngOf(size, 2));

    await database.query({ text: "delete from dure.room_messages where id = 'msg_2'" });
    await stage.sweep();

    expect(await stage.bytes()).toBe(1);
    expect((await files.read(stage.place, kept)).content).toHaveLength(size);
    await expect(files.read(stage.place, gone)).rejects.toMatchObject({ code: "FILE_UNKNOWN" });
  });

  test("go with the room", async () => {
    await using stage = await placeStage();
    await stage.said("msg_1", pngOf(size));

    await stage.database.query({ text: "delete from dure.places" });
    await stage.sweep();

    expect(await stage.bytes()).toBe(0);
  });

  test("stay while a second message carries the same", async () => {
    await using stage = await placeStage();
    await stage.said("msg_1", pngOf(size));
    const again = await stage.said("msg_2", pngOf(size));

    await stage.database.query({ text: "delete from dure.room_messages where id = 'msg_1'" });
    await stage.sweep();

    expect((await stage.files.read(stage.place, again)).content).toHaveLength(size);
  });
});

/** A place with messages, and files in the database and in a folder. */
async function placeStage() {
  const owned = await testDatabase();
  const folder = await mkdtemp(path.join(tmpdir(), "dure-room-files-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { database, url } = owned;
  const store = folderStore(folder);
  const files = new PlaceFiles({
    files: new Files({ database, clock: systemClock, store }),
  } as unknown as RoomsSetting);
  const place = { id: "web:general", tenant: "" } as Place;
  await database.query({
    text: `
      insert into dure.places (id, adapter, kind, name, channel)
      values ('web:general', 'web', 'channel', 'general', 'general')`,
  });

  return {
    database,
    files,
    place,
    async said(message: string, bytes: Uint8Array): Promise<string> {
      const { id } = await files.upload(place, { name: "a.png", bytes });
      await database.transaction(async (tx) => {
        await tx.query({ text: MESSAGE }, [message]);
        await carryFiles(tx, message, { place: place.id, files: [id] });
      });
      return id;
    },
    async sweep(): Promise<void> {
      await using us = await joinTeam(url);
      const own = new Files({ database: us.database, clock: systemClock, store });
      await new Retention({ ...us, leases: new Leases(us), rules: fileRules(own) }).sweep();
    },
    async bytes(): Promise<number> {
      const [row] = await database.query<{ count: number }>({
        text: "select count(*)::int as count from dure.file_bytes",
      });
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const outside = entries.filter((entry) => entry.isFile()).length;
      return Math.max(row!.count, outside);
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

const MESSAGE = `
  insert into dure.room_messages (id, place, seq, author_kind, author, author_name, text)
  values ($1, 'web:general', (select count(*) + 1 from dure.room_messages), 'person', '민준', '민준', '')`;
