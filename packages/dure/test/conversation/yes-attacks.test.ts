// @module-tag slow
import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { MESSAGES } from "../../../../examples/transfer/messages.ts";
import { openOffice, type Desk, type Office, type WireDone } from "./desk.ts";

/**
 * Attempts to make money move on a yes that answered nothing, over HTTP, with a bank that counts.
 * Each ends with what the bank has booked. More of them: docs/decisions/0015.
 */
const { ko } = MESSAGES;
const HONG = { target: "홍길동", amount: 50_000 };
const ORDER = { message: "홍길동에게 5만원 보내줘", service: "transfer" };

interface Place extends AsyncDisposable {
  readonly office: Office;
  readonly desk: Desk;
  /** 50,000 won to 홍길동, waiting for a yes. */
  readonly asked: WireDone;
}

async function asked(): Promise<Place> {
  await using stack = new AsyncDisposableStack();
  const office = stack.use(await openOffice());
  const desk = await office.open();
  const question = await desk.say(ORDER);
  expect(question).toMatchObject({ next_action: "CONFIRM", message: ko.confirmQuestion(HONG) });
  const kept = stack.move();
  return { office, desk, asked: question, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("a yes that carries another sum shows that sum first", async () => {
  await using place = await asked();
  const { office, desk } = place;
  const { confirm_id } = place.asked.ui_hint;

  const again = await desk.say({ message: "네", confirm_id, slots: { amount: 9_000_000 } });

  expect(office.bank.bookings()).toEqual([]);
  expect(again).toMatchObject({ next_action: "CONFIRM" });
  expect(again.message).toContain(ko.confirmQuestion({ ...HONG, amount: 9_000_000 }));
});

test.each([
  ["a change", "7만원으로 바꿔줘"],
  ["a question", "네?"],
  ["a no", "아니요"],
  ["two things", "네 아니요"],
  ["nothing at all", "."],
])("the id of a button does not make a yes of %s", FULL, async (_what, message) => {
  await using place = await asked();
  const { office, desk } = place;

  await desk.say({ message, confirm_id: place.asked.ui_hint.confirm_id });

  expect(office.bank.bookings()).toEqual([]);
});

test("the id of a button with empty slots and no words is no yes", FULL, async () => {
  await using place = await asked();
  const { office, desk } = place;

  await desk.say({ message: "", slots: {}, confirm_id: place.asked.ui_hint.confirm_id });

  expect(office.bank.bookings()).toEqual([]);
});

test("the button of one session books nothing in another", async () => {
  await using place = await asked();
  const { office, desk } = place;
  const { confirm_id } = place.asked.ui_hint;

  const stranger = await desk.say({ message: "확인", confirm_id, session_id: "eve" });
  await desk.say({ ...ORDER, session_id: "eve" });
  await desk.say({ message: "확인", confirm_id, session_id: "eve" });

  expect(stranger.next_action).toBe("ASK");
  expect(office.bank.bookings()).toEqual([]);
});

test("the button of a session that was forgotten books nothing in its next life", async () => {
  await using place = await asked();
  const { office, desk } = place;

  await fetch(`${desk.url}/v1/agent/sessions/mina`, { method: "DELETE" });
  await desk.press("확인", place.asked);
  const again = await desk.say(ORDER);
  await desk.press("확인", place.asked);

  expect(again.ui_hint.confirm_id).not.toBe(place.asked.ui_hint.confirm_id);
  expect(office.bank.bookings()).toEqual([]);
});

test("one tap that is sent twice under one idempotency key books once", async () => {
  await using place = await asked();
  const { office, desk } = place;
  const { confirm_id } = place.asked.ui_hint;
  const tap = async (): Promise<string> => {
    const answer = await fetch(`${desk.url}/v1/agent/chat/stream`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "tap" },
      body: JSON.stringify({ session_id: "mina", message: "확인", confirm_id }),
    });
    return answer.text();
  };

  const both = await Promise.all([tap(), tap()]);
  await tap();

  for (const text of both) expect(text).toContain("보냈어요");
  expect(office.bank.bookings()).toHaveLength(1);
});

test("a link to a yes, as another page can hold one, is refused", async () => {
  await using place = await asked();
  const { office, desk } = place;
  const query = new URLSearchParams({
    session_id: "mina",
    message: "네",
    confirm_id: place.asked.ui_hint.confirm_id!,
  });

  const answer = await fetch(`${desk.url}/v1/agent/chat/stream?${query}`);

  expect(answer.status).toBe(403);
  expect(office.bank.bookings()).toEqual([]);
});

test("two yeses in one breath confirm one of two transfers", FULL, async () => {
  await using office = await openOffice();
  const desk = await office.open();
  await desk.say({ message: "엄마에게 3만원, 아빠에게 2만원 보내줘", service: "transfer" });

  // At once: one that comes after the next question answers that one.
  const turns = await Promise.all([desk.begin({ message: "네" }), desk.begin({ message: "네" })]);
  const done = await Promise.all(turns.map((turn) => turn.done));

  for (const answer of done) expect(answer).toMatchObject({ next_action: "CONFIRM" });
  expect(office.bank.bookings()).toMatchObject([{ to: "엄마", amount: 30_000 }]);
});

test("the same yes again, just after the next transfer was shown, books nothing", async () => {
  await using office = await openOffice();
  const desk = await office.open();
  await desk.say({ message: "엄마에게 3만원, 아빠에게 2만원 보내줘", service: "transfer" });

  await desk.say("네");
  await office.saidAgo(-60_000); // so that a slow machine is in time
  const twice = await desk.say("네");
  expect(twice).toMatchObject({ next_action: "CONFIRM" });
  expect(office.bank.bookings()).toMatchObject([{ to: "엄마", amount: 30_000 }]);

  await office.saidAgo(1_000);
  expect(await desk.say("네")).toMatchObject({ next_action: "DONE" });
  expect(office.bank.bookings()).toHaveLength(2);
});

test("a yes to go on after a failure is no yes to what comes next", FULL, async () => {
  await using office = await openOffice();
  const desk = await office.open();
  await desk.say({ message: "엄마에게 3만원, 아빠에게 2만원 보내줘", service: "transfer" });
  office.bank.changeAccounts({ unknown: ["엄마"] });
  const failed = await desk.say("네");

  const next = await desk.press("계속 진행", failed);

  expect(failed.next_action).toBe("ASK_CONTINUE");
  expect(next).toMatchObject({ next_action: "CONFIRM" });
  expect(office.bank.bookings()).toEqual([]);
});

test("a yes after the bank refused does not ask the bank again", FULL, async () => {
  await using place = await asked();
  const { office, desk } = place;
  office.bank.addFaults({ kind: "status", when: "before", status: 503, times: 1 });

  await desk.say("네");
  await desk.say("네");
  await desk.press("확인", place.asked);

  expect(office.bank.bookings().length).toBeLessThan(2);
});

test.each(["네", "확인"])(
  "%s as the first word of a session books nothing",
  FULL,
  async (message) => {
    await using office = await openOffice();
    const desk = await office.open();

    const done = await desk.say({ message, service: "transfer", confirm_id: "c-1" });

    expect(done.next_action).toBe("ASK");
    expect(office.bank.bookings()).toEqual([]);
  },
);

test(
  "a yes in the other language is about the same question, and books what it showed",
  FULL,
  async () => {
    await using place = await asked();
    const { office, desk } = place;

    const done = await desk.say("Yes, please go ahead and send it");
    const yes = done.next_action === "CONFIRM" ? await desk.say("yes") : done;

    expect(yes).toMatchObject({ next_action: "DONE", receipt: HONG });
    expect(office.bank.bookings()).toHaveLength(1);
  },
);

test("a last question that a client makes up does not stand for the one that was shown", async () => {
  await using place = await asked();
  const { office, desk } = place;

  for (const last_question of ["c-1", null, place.asked.ui_hint.confirm_id!.slice(0, -1)]) {
    const again = await desk.say({ message: "네", last_question });
    expect(again.next_action).toBe("CONFIRM");
  }

  expect(office.bank.bookings()).toEqual([]);
});

test(
  "a question that expired is not revived by a stop, a reload or another process",
  FULL,
  async () => {
    await using place = await asked();
    const { office, desk } = place;
    await office.age(600_001);

    const second = await office.open();
    await fetch(`${desk.url}/v1/agent/sessions/mina`);
    const again = await second.press("확인", place.asked);

    expect(again).toMatchObject({ next_action: "CONFIRM" });
    expect(again.message).toContain(ko.confirmAgain);
    expect(office.bank.bookings()).toEqual([]);
  },
);
