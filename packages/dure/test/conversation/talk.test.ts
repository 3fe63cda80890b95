// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { expect, test } from "vitest";
import { MESSAGES } from "../../../../examples/transfer/messages.ts";
import { PROMPTS } from "../../../../examples/transfer/prompts.ts";
import { openOffice, type Desk, type Office } from "./desk.ts";

/** What people say around a transfer, over HTTP, with a bank that counts. */
const { ko } = MESSAGES;
const HONG = { target: "홍길동", amount: 50_000 };

async function openTransfer(): Promise<AsyncDisposable & { office: Office; desk: Desk }> {
  const office = await openOffice();
  const desk = await office.open();
  return { office, desk, [Symbol.asyncDispose]: () => office[Symbol.asyncDispose]() };
}

test("아빠한테도 2만원, while a transfer waits for its yes, adds a second one", FULL, async () => {
  await using place = await openTransfer();
  const { office, desk } = place;

  await desk.say({ message: "홍길동에게 5만원 보내줘", service: "transfer" });
  const added = await desk.say("아빠한테도 2만원");
  expect(added.message).toContain(ko.confirmQuestion(HONG, { index: 1, total: 2 }));
  await desk.say("네");
  const done = await desk.say("응");

  expect(done.message).toContain("모두 2건 중 완료 2건");
  expect(office.bank.bookings()).toMatchObject([
    { to: "홍길동", amount: 50_000 },
    { to: "아빠", amount: 20_000 },
  ]);
});

test("three people with one amount are three transfers, each asked", async () => {
  await using place = await openTransfer();
  const { office, desk } = place;

  const first = { message: "엄마, 아빠, 동생한테 각각 3만원 보내줘", service: "transfer" };
  expect((await desk.say(first)).state_snapshot).toMatchObject({ total: 3 });
  for (const yes of ["네", "응", "맞아"]) await desk.say(yes);

  expect(office.bank.bookings().map(({ to }) => to)).toEqual(["엄마", "아빠", "동생"]);
});

test.each(["안돼", "나중에 할게", "멈춰", "취소 부탁"])("%s cancels in READY", async (word) => {
  await using place = await openTransfer();
  const { office, desk } = place;

  await desk.say({ message: "홍길동에게 5만원 보내줘", service: "transfer" });

  expect(await desk.say(word)).toMatchObject({ message: ko.cancelled, next_action: "DONE" });
  expect(office.bank.bookings()).toEqual([]);
});

test("전부 취소해줘 cancels what waits, too", FULL, async () => {
  await using place = await openTransfer();
  const { office, desk } = place;

  await desk.say({ message: "엄마에게 5만원, 아빠에게 3만원 보내줘", service: "transfer" });
  const done = await desk.say("전부 취소해줘");

  expect(done.message).toContain("취소 2건");
  expect(office.bank.bookings()).toEqual([]);
});

test(
  "a question while slots are filled is answered, the slot asked again, as often as it comes",
  FULL,
  async () => {
    await using place = await openTransfer();
    const { desk } = place;

    await desk.say({ message: "홍길동에게 돈 보내줘", service: "transfer" });
    for (let times = 7; times > 0; times--) {
      const answer = await desk.say("수수료 얼마야?");
      expect(answer.message.split("\n").at(-1)).toBe("홍길동님에게 얼마를 보낼까요?");
      expect(answer.state_snapshot).toMatchObject({ stage: "FILLING" });
    }
  },
);

test("방금 이체 됐어? is answered from the record", FULL, async () => {
  await using place = await openTransfer();
  const { desk } = place;

  const ask = { message: "방금 이체 됐어?", service: "transfer" };
  expect((await desk.say(ask)).message).toBe(ko.status([]));
  await desk.say("홍길동에게 5만원 보내줘");
  await desk.say("네");

  expect((await desk.say(ask)).message).toContain("홍길동님 50,000원: 완료");
});

test("a model's claim that money was sent is not shown", async () => {
  await using place = await openTransfer();
  const { office, desk } = place;
  office.mood.answer = ({ system = "" }) =>
    isOf(system, PROMPTS.interaction)
      ? { object: { action: "chat", message: "홍길동님에게 50,000원을 보냈어요!" } }
      : undefined;

  const talk = await desk.say({ message: "안녕하세요", service: "transfer" });
  const filling = await desk.say("홍길동에게 돈 보내줘");

  expect(talk.message).toBe(ko.noAnswer);
  expect(filling.message).toBe("홍길동님에게 얼마를 보낼까요?");
  expect(office.bank.bookings()).toEqual([]);
});

test("매달 25일 자동이체 is refused in words, and starts nothing", async () => {
  await using place = await openTransfer();
  const { desk } = place;

  const done = await desk.say({
    message: "엄마에게 매달 25일 30만원 자동이체 해줘",
    service: "transfer",
  });

  expect(done).toMatchObject({ message: ko.noRepeats, state_snapshot: { stage: "INIT" } });
});

function isOf(system: string, { ko, en }: { readonly ko: string; readonly en: string }): boolean {
  return system.startsWith(ko) || system.startsWith(en);
}
