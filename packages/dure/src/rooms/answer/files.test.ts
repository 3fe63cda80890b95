import { expect, test, vi } from "vitest";
import { Files } from "../../durable/files/files.ts";
import { PNG } from "../../durable/files/test-files.ts";
import { testDatabase } from "../../durable/test-database.ts";
import { DureError } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { TestClock } from "../../kernel/test-clock.ts";
import { systemClock } from "../../kernel/clock.ts";
import { eventually } from "../../../test/until.ts";
import { ChannelError, type ChannelAdapter } from "../channel-adapter.ts";
import { MessageFiles, refusalOf, type BroughtFiles } from "./files.ts";
import type { HandlingRow } from "./handling.ts";
import type { Place } from "../place.ts";
import type { StoredMessage } from "../room-store.ts";
import type { RoomsSetting } from "../talk.ts";

const MINUTE = 60_000;
const away = new ChannelError("transient", "The platform is away.");

test("a platform that is away for a minute is waited for, and its file is read", async () => {
  await using stage = await stageOf();
  const { clock, files } = stage;

  const brought = stage.bring(async () => {
    if (clock.monotonic() < MINUTE) throw away;
    return PNG;
  });
  const { files: ids, lines } = await stage.passUntil(brought);

  expect(lines.get("m")).toEqual(["[a.png]"]);
  const [id] = ids;
  expect(await files.read(id!, { session: "room:ruda" })).toHaveLength(PNG.length);
});

test("a platform that is away for longer than two minutes costs a line", async () => {
  await using stage = await stageOf();

  const brought = stage.bring(() => Promise.reject(away));
  expect(await stage.passUntil(brought)).toEqual({
    files: [],
    lines: new Map([["m", ["[a.png] (70 B, not read: the platform did not give it in time)"]]]),
  });
});

test("files of a platform that is away keep those of another one not waiting", async () => {
  await using stage = await stageOf();
  const waiting = Array.from({ length: 8 }, () => stage.bring(() => Promise.reject(away)));
  await eventually(() => expect(stage.clock.waiting).toHaveLength(8));

  const brought = await stage.bring(async () => PNG);

  expect(brought.files).toHaveLength(1);
  expect(await stage.passUntil(Promise.all(waiting))).toHaveLength(8);
});

test("an abort ends the wait for a platform, and throws its reason", async () => {
  await using stage = await stageOf();
  const over = new AbortController();
  const brought = stage.bring(() => Promise.reject(away), over.signal);
  await eventually(() => expect(stage.clock.waiting).toHaveLength(1));

  over.abort(new Error("fenced"));

  await expect(brought).rejects.toThrow("fenced");
});

test("a file beyond a bound of its message is not even asked for", () => {
  const because = [
    refusalOf({ size: 5 }, { index: 9, left: 5, most: 5 }),
    refusalOf({ size: 5 }, { index: 10, left: 5, most: 5 }),
    refusalOf({ size: 6 }, { index: 0, left: 9, most: 5 }),
    refusalOf({ size: 5 }, { index: 0, left: 4, most: 5 }),
  ];

  expect(because).toEqual([
    undefined,
    "a message takes 10 files",
    "larger than 5 B",
    "the files of this message are too large together",
  ]);
});

test("a store of files that is away for a moment is waited for", async () => {
  await using stage = await stageOf();
  const failed = new DureError("FILE_STORE_FAILED", "The bucket is away.");
  const put = vi.spyOn(stage.files, "put").mockRejectedValueOnce(failed);

  const brought = stage.bring(async () => PNG);
  expect((await stage.passUntil(brought)).files).toHaveLength(1);
  expect(put).toHaveBeenCalledTimes(2);
});

/** One message with a file, on a platform whose reading is handed in. */
async function stageOf() {
  const owned = await testDatabase();
  const { database } = owned;
  const clock = new TestClock();
  const files = new Files({ database, clock: systemClock });
  await database.query({ text: PLACE });
  await database.query({ text: MESSAGE });
  await database.query({ text: PART });
  const readings: NonNullable<ChannelAdapter["readFile"]>[] = [];
  const readFile: ChannelAdapter["readFile"] = (account, file, options) =>
    readings[Number(file.attachment.id)]!(account, file, options);
  const setting = {
    database,
    files,
    clock,
    logger: silentLogger,
    adapters: new Map([["x", { readFile }]]),
    directory: { account: () => ({ id: "ruda" }) },
  } as unknown as RoomsSetting;
  const all = new MessageFiles(setting);
  const place = { id: "x:general", adapter: "x", tenant: "", channel: "general" } as Place;
  const handling = { id: "h", agent: "ruda", session: "room:ruda" } as HandlingRow;

  return {
    clock,
    files,
    bring(
      read: () => Promise<Uint8Array>,
      signal: AbortSignal = new AbortController().signal,
    ): Promise<BroughtFiles> {
      const id = String(readings.push(read) - 1);
      const attachments = [{ id, name: "a.png", url: "", size: PNG.length }];
      const message = { id: "m", attachments } as unknown as StoredMessage;
      return all.bring(handling, place, [message], { signal });
    },
    /** From the first wait on, in small steps, since the database answers in between. */
    async passUntil<T>(ended: Promise<T>): Promise<T> {
      let isOver = false;
      void ended.finally(() => (isOver = true)).catch(() => {});
      await eventually(() => expect(clock.waiting).not.toEqual([]));
      while (!isOver) {
        await clock.pass(5_000);
        await systemClock.sleep(1);
      }
      return ended;
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

const PLACE = `
  insert into dure.places (id, adapter, kind, name, channel)
  values ('x:general', 'x', 'channel', 'general', 'general')`;
const MESSAGE = `
  insert into dure.room_messages (id, place, seq, author_kind, author, author_name, text)
  values ('m', 'x:general', 1, 'person', '민준', '민준', '')`;
const PART = `
  insert into dure.room_parts (adapter, platform_id, message, part)
  values ('x', '1', 'm', 0)`;
