// @module-tag slow
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadTeam, readEnvironment, silentLogger, startTeam } from "dure/team";
import { expect, test } from "vitest";
import { FULL } from "../packages/dure/src/kernel/test-tiers.ts";
import { startBank } from "./transfer/bank/bank.ts";

test("no service imports the model that stands in for one", async () => {
  const files = await readdir(import.meta.dirname, { recursive: true });
  const services = files.filter((name) => /(?:^|\/)(?:service|agents|slots|flows)\.ts$/.test(name));
  expect(services.length).toBeGreaterThan(4);

  for (const name of services) {
    const text = await readFile(path.join(import.meta.dirname, name), "utf8");
    expect(text, name).not.toMatch(/from ".*offline/);
  }
});

/** The team of a folder with a bank of its own, both ended with the stack. */
async function startExample(stack: AsyncDisposableStack, folder: string) {
  const home = await mkdtemp(path.join(tmpdir(), "dure-team-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const bank = await startBank();
  stack.defer(() => bank.stop());
  const before = process.env["BANK_URL"];
  process.env["BANK_URL"] = bank.url;
  stack.defer(
    () =>
      void (before === undefined
        ? delete process.env["BANK_URL"]
        : (process.env["BANK_URL"] = before)),
  );
  const team = await startTeam(
    await loadTeam(folder),
    { ...readEnvironment({ PORT: "0" }), home },
    { logger: silentLogger },
  );
  stack.defer(() => team.stop());

  return { team, bank };
}

test("the example team starts as it stands, and every service answers", async () => {
  await using stack = new AsyncDisposableStack();
  const { team, bank } = await startExample(stack, import.meta.dirname);
  for (const { name, examples, translations } of team.engine.describe().slice(0, 5)) {
    const { ko, en } = { ko: examples, en: translations?.[0]?.examples ?? [] };
    expect([name, ko.every((one) => /[가-힣]/.test(one)), en.length > 0]).toEqual([
      name,
      true,
      true,
    ]);
    expect(en.filter((one) => /[가-힣]/.test(one))).toEqual([]);
  }
  const say = async (service: string, message: string) =>
    (await team.engine.turn({ session: `s-${service}`, service, message }).done).message;

  expect(await say("minimal", "안녕")).toContain("안녕");
  expect(await say("declared", "안녕")).toContain("안녕");
  expect(await say("faq", "이체 한도가 얼마예요?")).toContain("1,000만 원");
  expect(await say("transfer", "홍길동에게 5만원 보내줘")).toBe(
    "홍길동님에게 50,000원을 보낼까요?",
  );
  expect(await say("transfer", "네")).toContain("tx_000001");
  expect(bank.bookings()).toHaveLength(1);
  expect(await say("meeting-room", "내일 오후 3시에 소회의실 5명 예약해줘")).toContain(
    "예약할까요?",
  );
  expect(await say("meeting-room", "네")).toContain("예약했어요");
});

test("the English team has no word of Korean: names, services, answers, rooms", FULL, async () => {
  await using stack = new AsyncDisposableStack();
  const { team } = await startExample(stack, path.join(import.meta.dirname, "english"));
  const said: string[] = [];
  const say = async (service: string, message: string): Promise<void> => {
    const { done } = team.engine.turn({ session: `s-${service}`, service, message });
    said.push((await done).message);
  };

  for (const { name, title, description, examples } of team.engine.describe().slice(0, 4)) {
    said.push(title, description, ...examples);
    await say(name, examples[0]!);
  }
  const rooms = team.rooms!;
  const reader = { tenant: "", person: "Kim" };
  said.push(...(await rooms.reader.agents()).map(({ displayName }) => displayName));
  const general = "web:general";
  await rooms.post(reader, { place: general, text: "@Ada please get the login code reviewed" });
  const messages = (place: string) => rooms.reader.messages(place, {});
  await expect
    .poll(async () => (await rooms.reader.threads(general, reader)).length, { timeout: 20_000 })
    .toBe(1);
  const [thread] = await rooms.reader.threads(general, reader);
  await expect
    .poll(async () => (await messages(thread!.id)).some(({ text }) => text.includes("Swap the")), {
      timeout: 20_000,
    })
    .toBe(true);
  for (const place of [general, thread!.id]) {
    said.push(...(await messages(place)).map(({ authorName, text }) => `${authorName}: ${text}`));
  }

  expect(said.length).toBeGreaterThan(20);
  expect(said.filter((words) => /\p{Script=Hangul}/u.test(words))).toEqual([]);
});
