// @module-tag slow
import { expect, test } from "vitest";
import { startTestEngine, type TestEngine } from "../../packages/dure/src/engine/test-engine.ts";
import { systemClock, type Clock } from "../../packages/dure/src/kernel/clock.ts";
import { startBank, type Bank, type BankOptions } from "./bank/bank.ts";
import { refusedSlots } from "./look-at-bank.ts";
import { MESSAGES } from "./messages.ts";
import { transferModel } from "./offline.ts";
import { createTransferService } from "./service.ts";

const { ko, en } = MESSAGES;
const HONG = { target: "홍길동", amount: 50_000 };

interface Desk extends AsyncDisposable {
  readonly bank: Bank;
  readonly say: TestEngine["say"];
}

async function openDesk(options: BankOptions, clock?: Clock): Promise<Desk> {
  await using stack = new AsyncDisposableStack();
  const bank = await startBank(options);
  stack.defer(() => bank.stop());
  const t = stack.use(
    await startTestEngine(createTransferService({ bankUrl: bank.url }), {
      offline: [transferModel],
      engine: clock && { clock },
    }),
  );
  const kept = stack.move();
  return {
    bank,
    say: (...said) => t.say(...said),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

test.each([
  [
    "more than the balance",
    { balance: 30_000 },
    "잔액이 30,000원이라 그만큼은 보낼 수 없어요. 홍길동님에게 얼마를 보낼까요?",
  ],
  [
    "anything without a balance",
    { balance: 0 },
    "잔액이 0원이라 지금은 보낼 수 없어요. 홍길동님에게 얼마를 보낼까요?",
  ],
  [
    "more than the limit",
    { limit: 40_000 },
    "한 번에 40,000원까지만 보낼 수 있어요. 홍길동님에게 얼마를 보낼까요?",
  ],
  [
    "money to an account that is closed",
    { unknown: ["홍길동"] },
    "은행에서 “홍길동”을 찾지 못했어요. 50,000원을 누구에게 보낼까요?",
  ],
] as const)("no yes is asked for %s: what is possible is said", async (_, accounts, message) => {
  await using desk = await openDesk({ accounts });

  const { done } = await desk.say("홍길동에게 5만원 보내줘");

  expect(done).toMatchObject({ message, nextAction: "ASK", stateSnapshot: { stage: "FILLING" } });
  await desk.say("네");
  expect(desk.bank.bookings()).toEqual([]);
});

test("what is possible instead is asked for a yes, and booked after it", async () => {
  await using desk = await openDesk({ accounts: { balance: 30_000 } });

  await desk.say("홍길동에게 5만원 보내줘");
  const { done } = await desk.say("3만원");
  expect(done).toMatchObject({
    message: ko.confirmQuestion({ ...HONG, amount: 30_000 }),
    nextAction: "CONFIRM",
  });
  await desk.say("네");

  expect(desk.bank.bookings()).toMatchObject([{ to: "홍길동", amount: 30_000 }]);
});

test("a page is told at the field what the bank would refuse", async () => {
  await using desk = await openDesk({ accounts: { limit: 60_000 } });

  await desk.say("홍길동에게 5만원 보내줘");
  const { done } = await desk.say("", { slots: { amount: 70_000 } });

  expect(done.slotsCard).toMatchObject({
    slots: expect.arrayContaining([
      expect.objectContaining({
        name: "amount",
        value: null,
        error: ko.slotError("AMOUNT_OVER_LIMIT:60000"),
      }),
    ]),
  });
});

test("of several each is looked at with what the ones before it have left", async () => {
  await using desk = await openDesk({ accounts: { balance: 60_000 } });

  await desk.say("홍길동에게 5만원, 김철수에게 3만원 보내줘");
  const { done } = await desk.say("네");

  expect(done).toMatchObject({ nextAction: "ASK", receipt: { amount: 50_000 } });
  expect(done.message).toContain(
    `${ko.slotError("AMOUNT_OVER_BALANCE:10000")} (2/2) 김철수님에게 얼마를 보낼까요?`,
  );
});

test("small talk before the yes looks again: the balance may have changed", async () => {
  await using desk = await openDesk({});

  await desk.say("홍길동에게 5만원 보내줘");
  desk.bank.changeAccounts({ balance: 10_000 });
  const { done } = await desk.say("오늘 날씨 어때?");

  expect(done).toMatchObject({ nextAction: "ASK", stateSnapshot: { stage: "FILLING" } });
  expect(done.message).toContain(ko.slotError("AMOUNT_OVER_BALANCE:10000"));
});

test("who asks how much is possible is told again, and asked the same", async () => {
  await using desk = await openDesk({ accounts: { balance: 30_000 } });

  await desk.say("홍길동에게 5만원 보내줘");
  const { done } = await desk.say("그럼 얼마까지 돼?");

  expect(done.message).toBe(
    `${ko.slotError("AMOUNT_OVER_BALANCE:30000")}\n홍길동님에게 얼마를 보낼까요?`,
  );
});

test.each([
  [{ kind: "cut", when: "before", on: "preview" }],
  [{ kind: "status", when: "before", on: "preview" }],
] as const)("a bank that cannot say it (%j) holds no question up", async (fault) => {
  await using desk = await openDesk({ faults: [fault], accounts: { balance: 30_000 } });

  const { done } = await desk.say("홍길동에게 5만원 보내줘");
  expect(done).toMatchObject({
    message: `${ko.unchecked}\n${ko.confirmQuestion(HONG)}`,
    nextAction: "CONFIRM",
  });
  const refused = (await desk.say("네")).done;

  expect(refused.message).toBe(ko.failed("INSUFFICIENT_FUNDS", HONG));
});

test("a bank that does not answer is waited for three seconds, then it is asked with a word", async () => {
  const waits: number[] = [];
  // The bank's answer never comes; what waits for it three seconds is over at once.
  const clock: Clock = {
    ...systemClock,
    after(ms, callback) {
      waits.push(ms);
      return systemClock.after(ms === 3_000 ? 0 : ms, callback);
    },
  };
  const faults = [{ kind: "delay", when: "before", on: "preview", ms: 600_000 }] as const;
  await using desk = await openDesk({ faults }, clock);

  const { done } = await desk.say("Send 50,000 won to John", { locale: "en" });

  expect(done.message).toBe(
    `${en.unchecked}\n${en.confirmQuestion({ target: "John", amount: 50_000 })}`,
  );
  expect(waits).toContain(3_000);
});

test.each([
  [{ code: "LIMIT_EXCEEDED", balance: 100, limit: 50 }, { amount: "AMOUNT_OVER_LIMIT:50" }],
  [{ code: "LIMIT_EXCEEDED", balance: 30, limit: 50 }, { amount: "AMOUNT_OVER_BALANCE:30" }],
  [{ code: "INSUFFICIENT_FUNDS", balance: 30, limit: 50 }, { amount: "AMOUNT_OVER_BALANCE:30" }],
  [{ code: "UNKNOWN_ACCOUNT", balance: 30, limit: 50 }, { target: "TARGET_NOT_FOUND:홍길동" }],
] as const)("of a refusal %j the lower bound is what is possible", (refusal, errors) => {
  expect(refusedSlots({ possible: false, ...refusal }, HONG)).toEqual(errors);
});
