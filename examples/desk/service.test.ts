import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { OfflineModel } from "dure";
import { readEnvironment, readTeam, silentLogger, startTeam, type TeamOptions } from "dure/team";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabaseUrl } from "../../packages/dure/src/durable/test-database.ts";
import { faqModel } from "../faq/offline.ts";
import { Calendar } from "../meeting-room/calendar.ts";
import { roomModel } from "../meeting-room/offline.ts";
import { createRoomService } from "../meeting-room/service.ts";
import { TEXTS } from "../meeting-room/texts.ts";
import { createDesk } from "./service.ts";

const calendar = new Calendar();
const stack = new AsyncDisposableStack();
let say: (message: string, session: string, locale?: string) => Promise<string>;

beforeAll(async () => {
  const rooms = { "meeting-room": createRoomService(calendar) };
  const office = await teamOf({ services: rooms }, roomModel);
  const front = await teamOf({ services: { desk: createDesk(office.url) } }, faqModel);
  say = async (message, session, locale = "ko") =>
    (await front.engine.turn({ session, message, locale }).done).message;
}, 120_000);

afterAll(() => stack.disposeAsync(), 60_000);

/** A server of its own, with a database of its own. */
async function teamOf(options: TeamOptions, model: OfflineModel) {
  const { url } = stack.use(await testDatabaseUrl());
  const home = await mkdtemp(path.join(tmpdir(), "dure-desk-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const read = await readTeam({ ...options, offlineModels: [model] }, home);
  const environment = { ...readEnvironment({ PORT: "0", DATABASE_URL: url }), home };
  const team = await startTeam(read, environment, { logger: silentLogger });
  stack.defer(() => team.stop());
  return team;
}

test("a question is answered here, a room is booked on the other server, once", async () => {
  expect(await say("영업시간이 언제예요?", "s1")).toContain("9");
  const asked = await say("내일 오후 3시에 소회의실 5명 예약해줘", "s1");
  expect(asked).toContain("예약할까요?");
  expect(calendar.bookings).toEqual([]);
  await say("네", "s1");

  expect(calendar.bookings).toMatchObject([{ room: "small", time: "15:00", people: 5 }]);
  expect(await say("수수료가 있어요?", "s1")).toContain("수수료");
});

test("in the middle of a booking a person stays with it, in English too", async () => {
  const begun = await say("Book the large room tomorrow at 4pm", "s2", "en");
  expect(begun).toBe(TEXTS.en.askSlot("people", {}));

  const asked = await say("8 people", "s2", "en");
  expect(asked).toContain("at 4:00 pm for 8 people?");
  expect(await say("no", "s2", "en")).toBe(TEXTS.en.cancelled);
  expect(calendar.bookings).toHaveLength(1);
});
