// @module-tag slow
import { setTimeout as sleep } from "node:timers/promises";
import { offlineModel, type Done, type OfflineModel } from "dure";
import type { TurnRequest } from "dure/team";
import { describe, expect, test, vi } from "vitest";
import { FULL, sampled } from "../../packages/dure/src/kernel/test-tiers.ts";
import { startTestEngine, type TestEngine } from "../../packages/dure/src/engine/test-engine.ts";
import type { Clock } from "../../packages/dure/src/kernel/clock.ts";
import { systemClock } from "../../packages/dure/src/kernel/clock.ts";
import { beLate } from "../../packages/dure/src/kernel/test-late.ts";
import { testDatabase } from "../../packages/dure/src/durable/test-database.ts";
import { Inbox } from "../../packages/dure/src/escalations/inbox.ts";
import { Notifications } from "../../packages/dure/src/durable/notify.ts";
import { silentLogger } from "../../packages/dure/src/kernel/logger.ts";
import { startBank, type Bank, type BankOptions } from "./bank/bank.ts";
import { MESSAGES } from "./messages.ts";
import { answerTransfer, transferModel } from "./offline.ts";
import { createTransferService, type TransferServiceOptions } from "./service.ts";

const { ko, en } = MESSAGES;
const HONG = { target: "홍길동", amount: 50_000 };

/** A person in front of the service: a real engine, a real database, a real bank over HTTP. */
interface Desk extends AsyncDisposable {
  readonly t: TestEngine;
  readonly bank: Bank;
  say(message: string, request?: Partial<TurnRequest>): Promise<Done>;
  /** Presses a button of the last question. */
  press(label: string, on: Done): Promise<Done>;
  /** Sends both before the first one is answered. */
  sayBoth(first: Partial<TurnRequest>, second: Partial<TurnRequest>): Promise<[Done, Done]>;
  stage(session?: string): Promise<string | null>;
  completed(): Promise<readonly (readonly [string, unknown])[]>;
}

async function openDesk(
  options: {
    bank?: BankOptions;
    service?: Partial<TransferServiceOptions>;
    clock?: Clock;
    on?: { url: string };
    bankAt?: Bank;
    model?: OfflineModel;
  } = {},
): Promise<Desk> {
  await using stack = new AsyncDisposableStack();
  const bank = options.bankAt ?? (await startBank(options.bank));
  if (!options.bankAt) stack.defer(() => bank.stop());
  const service = createTransferService({ bankUrl: bank.url, ...options.service });
  const t = stack.use(
    await startTestEngine(service, {
      offline: [options.model ?? transferModel],
      engine: options.clock ? { clock: options.clock } : undefined,
      on: options.on,
    }),
  );
  const kept = stack.move();
  return {
    t,
    bank,
    say: async (message, request) => (await t.say(message, request)).done,
    press: async (label, on) => (await t.say(label, { confirmId: on.uiHint!.confirmId! })).done,
    async sayBoth(first, second) {
      const turns = [];
      for (const request of [first, second]) {
        const turn = t.engine.turn({ session: "s1", message: "", ...request });
        await turn.turnId;
        turns.push(turn);
      }
      return [await turns[0]!.done, await turns[1]!.done];
    },
    stage: async (session = "s1") => (await t.engine.session(session)).stage,
    completed: async () =>
      (await t.engine.completed("s1")).map(({ stage, data }) => [stage, data] as const),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Thinks for a moment, so that a second message finds the first one unanswered. */
const slowModel = offlineModel("slow", (request) => ({ ...answerTransfer(request), delayMs: 250 }));

/** Everything takes a tenth of its time: what waits a minute for the bank waits six seconds. */
function fastClock(speed: number): Clock {
  const started = systemClock.monotonic();
  return {
    now: () => systemClock.now(),
    monotonic: () => started + (systemClock.monotonic() - started) * speed,
    sleep: (ms, options) => systemClock.sleep(ms / speed, options),
    after: (ms, callback) => systemClock.after(ms / speed, callback),
    every: (ms, callback) => systemClock.every(ms, callback),
  };
}

describe("the scenarios of the table", () => {
  test("small talk stays in DEFAULT and leaves no flow behind", async () => {
    await using desk = await openDesk();

    const done = await desk.say("안녕하세요");

    expect(done).toMatchObject({
      message: ko.smallTalk.greeting,
      nextAction: "ASK",
      stateSnapshot: { stage: "INIT" },
    });
    expect(await desk.completed()).toEqual([]);
  });

  test("a transfer: slot by slot, confirmed, receipt, reset; memory stays", async () => {
    await using desk = await openDesk();

    expect((await desk.say("이체하고 싶어")).message).toBe("누구에게 얼마를 보낼까요?");
    expect((await desk.say("홍길동")).message).toBe("홍길동님에게 얼마를 보낼까요?");
    const asked = await desk.say("5만원");
    expect(asked).toMatchObject({
      message: ko.confirmQuestion(HONG),
      nextAction: "CONFIRM",
      uiHint: { buttons: ["확인", "취소"] },
      stateSnapshot: { stage: "READY" },
    });
    const done = await desk.press("확인", asked);

    expect(done).toMatchObject({
      message: ko.receipt(HONG, { transaction_id: "tx_000001" }),
      nextAction: "DONE",
      receipt: { status: "booked", transaction_id: "tx_000001", ...HONG },
      stateSnapshot: { stage: "EXECUTED", slots: HONG },
    });
    expect(desk.bank.bookings()).toMatchObject([{ to: "홍길동", amount: 50_000 }]);
    expect(await desk.stage()).toBe("INIT");
    expect(await desk.completed()).toEqual([
      [
        "EXECUTED",
        { index: 1, total: 1, outcome: "done", slots: HONG, transaction_id: "tx_000001" },
      ],
    ]);
    expect((await desk.t.engine.debug("s1")).memory.rawHistory).toHaveLength(8);
  });

  test.each(["취소", "안 보낼래", "아니요"])("%j cancels, and nothing is booked", async (word) => {
    await using desk = await openDesk();

    await desk.say("홍길동에게 5만원 보내줘");
    const done = await desk.say(word);

    expect(done).toMatchObject({
      message: ko.cancelled,
      nextAction: "DONE",
      stateSnapshot: { stage: "CANCELLED" },
    });
    expect(desk.bank.bookings()).toEqual([]);
    expect(await desk.stage()).toBe("INIT");
    expect((await desk.completed()).map(([stage]) => stage)).toEqual(["CANCELLED"]);
  });

  test.each([
    ["INSUFFICIENT_FUNDS", { balance: 49_999 }],
    ["LIMIT_EXCEEDED", { limit: 49_999 }],
    ["UNKNOWN_ACCOUNT", { unknown: ["홍길동"] }],
  ] as const)("the bank refuses after the yes: FAILED, %s", async (code, changed) => {
    await using desk = await openDesk();

    const asked = await desk.say("홍길동에게 5만원 보내줘");
    desk.bank.changeAccounts(changed);
    const done = await desk.press("확인", asked);

    expect(done).toMatchObject({
      message: ko.failed(code, HONG),
      nextAction: "DONE",
      stateSnapshot: { stage: "FAILED" },
    });
    expect(done.receipt).toBeUndefined();
    expect(await desk.stage()).toBe("INIT");
    expect(await desk.completed()).toMatchObject([["FAILED", { code }]]);
  });

  test("the bank is down: FAILED at once, and no money has left", async () => {
    await using desk = await openDesk();
    const asked = await desk.say("홍길동에게 5만원 보내줘");
    await desk.bank.stop();

    const done = await desk.press("확인", asked);

    expect(done).toMatchObject({
      message: ko.failed("BANK_UNREACHABLE", HONG),
      stateSnapshot: { stage: "FAILED" },
    });
  });

  test("filling too often: UNSUPPORTED after the allowed turns", async () => {
    await using desk = await openDesk({ service: { maxFillTurns: 2 } });

    await desk.say("이체하고 싶어");
    expect((await desk.say("글쎄 말이야 잘 모르겠네")).stateSnapshot["stage"]).toBe("FILLING");
    const done = await desk.say("글쎄 말이야 잘 모르겠네");

    expect(done).toMatchObject({
      message: ko.unsupported,
      nextAction: "DONE",
      stateSnapshot: { stage: "UNSUPPORTED" },
    });
    expect(await desk.stage()).toBe("INIT");
  });

  test("three at once, one refused, one cancelled: the counts are true", async () => {
    await using desk = await openDesk();

    const first = await desk.t.say("홍길동에게 5만원, 김철수에게 3만원, 이영희한테 1만원 보내줘");
    expect(first.done.message).toBe(ko.confirmQuestion(HONG, { index: 1, total: 3 }));
    expect(progressOf(first.events)).toEqual([[1, 3]]);
    const second = await desk.t.say("네");
    expect(second.done).toMatchObject({
      nextAction: "CONFIRM",
      receipt: { transaction_id: "tx_000001" },
      stateSnapshot: { stage: "READY", index: 2 },
    });
    expect(second.done.message).toBe(
      `${ko.receipt(HONG, { transaction_id: "tx_000001" }, { index: 1, total: 3 })}\n${ko.confirmQuestion({ target: "김철수", amount: 30_000 }, { index: 2, total: 3 })}`,
    );
    desk.bank.changeAccounts({ unknown: ["김철수"] });
    expect(progressOf(second.events)).toEqual([[2, 3]]);
    const failed = await desk.say("응");
    expect(failed).toMatchObject({
      nextAction: "ASK_CONTINUE",
      uiHint: { buttons: ["계속 진행", "취소"] },
    });
    expect(failed.message).toContain(ko.askContinue(1));
    const third = await desk.say("계속 진행");
    expect(third).toMatchObject({
      nextAction: "CONFIRM",
      message: ko.confirmQuestion({ target: "이영희", amount: 10_000 }, { index: 3, total: 3 }),
    });
    const end = await desk.say("취소");

    expect(end).toMatchObject({ nextAction: "DONE", receipts: [{ transaction_id: "tx_000001" }] });
    expect(end.message).toContain("모두 3건 중 완료 1건, 취소 1건, 실패 1건이에요.");
    expect(desk.bank.bookings()).toMatchObject([{ to: "홍길동" }]);
    expect((await desk.completed()).map(([stage]) => stage)).toEqual([
      "CANCELLED",
      "FAILED",
      "EXECUTED",
    ]);
    expect(await desk.stage()).toBe("INIT");
  });
});

function progressOf(events: TestEventList): (readonly [number, number])[] {
  return events.flatMap((event) =>
    event.type === "TASK_PROGRESS" ? [[event.data.index, event.data.total] as const] : [],
  );
}
type TestEventList = Awaited<ReturnType<TestEngine["say"]>>["events"];

test("홍길동에게 5만원 보내줘 → 네 보내주세요 → 영수증", async () => {
  await using desk = await openDesk();

  const asked = await desk.say("홍길동에게 5만원 보내줘");
  expect(asked).toMatchObject({
    message: "홍길동님에게 50,000원을 보낼까요?",
    nextAction: "CONFIRM",
  });
  const done = await desk.say("네 보내주세요");

  expect(done.message).toBe("홍길동님에게 50,000원을 보냈어요. 거래 번호: tx_000001");
  expect(desk.bank.bookings()).toHaveLength(1);
});

test("the English mirror", async () => {
  await using desk = await openDesk();

  const asked = await desk.say("Send 50,000 won to John", { locale: "en" });
  expect(asked).toMatchObject({
    message: en.confirmQuestion({ target: "John", amount: 50_000 }),
    uiHint: { buttons: ["Confirm", "Cancel"] },
  });
  const done = await desk.say("yes, go ahead");

  expect(done.message).toBe(
    en.receipt({ target: "John", amount: 50_000 }, { transaction_id: "tx_000001" }),
  );
  expect((await desk.say("cancel")).message).toBe(en.nothingToCancel);
});

describe("READY", () => {
  test("a change in words is asked again with what it changes, and only that is booked", async () => {
    await using desk = await openDesk();

    await desk.say("홍길동에게 5만원 보내줘");
    const asked = await desk.say("3만원으로 바꿔줘");
    expect(asked).toMatchObject({
      message: ko.confirmQuestion({ ...HONG, amount: 30_000 }),
      nextAction: "CONFIRM",
    });
    await desk.say("네");

    expect(desk.bank.bookings()).toMatchObject([{ amount: 30_000 }]);
  });

  test("an edit from the page needs no model, and no words", async () => {
    await using desk = await openDesk();

    await desk.say("홍길동에게 5만원 보내줘");
    const { done, events } = await desk.t.say("", { slots: { amount: 70_000, memo: "생일" } });

    expect(done).toMatchObject({
      message: ko.confirmQuestion({ ...HONG, amount: 70_000, memo: "생일" }),
      nextAction: "CONFIRM",
    });
    expect(events.map(({ type }) => type)).toEqual(["TOOL_START", "TOOL_DONE", "DONE"]);
    const wrong = await desk.say("", { slots: { amount: -1 } });
    expect(wrong).toMatchObject({
      nextAction: "ASK",
      stateSnapshot: { stage: "FILLING", meta: { slot_errors: { amount: "AMOUNT_NOT_POSITIVE" } } },
    });
    expect(wrong.message).toContain(ko.slotError("AMOUNT_NOT_POSITIVE"));
  });

  test("the hour of a day that a page sends is said not to be kept", async () => {
    await using desk = await openDesk();

    await desk.say("홍길동에게 5만원 보내줘");
    const done = await desk.say("", { slots: { transfer_date: "내일 오전 9시" } });

    expect(done.message).toContain(ko.slotError("DATE_WITHOUT_TIME"));
    expect(done.stateSnapshot["slots"]).toHaveProperty("transfer_date");
  });

  test("a required slot that is cleared is asked for again; an optional one is simply gone", async () => {
    await using desk = await openDesk();

    await desk.say("홍길동에게 5만원 보내줘 메모는 생일");
    expect((await desk.say("메모 지워줘")).message).toBe(ko.confirmQuestion(HONG));
    const cleared = await desk.say("금액 지워줘");

    expect(cleared).toMatchObject({
      message: "홍길동님에게 얼마를 보낼까요?",
      stateSnapshot: { stage: "FILLING", slots: { target: "홍길동" } },
    });
  });

  test("small talk is answered, and the confirmation is asked again", async () => {
    await using desk = await openDesk();

    const asked = await desk.say("홍길동에게 5만원 보내줘");
    const talk = await desk.say("오늘 날씨 어때?");

    expect(talk).toMatchObject({
      message: `${ko.smallTalk.unclear}\n${ko.confirmQuestion(HONG)}`,
      nextAction: "CONFIRM",
    });
    expect(talk.uiHint?.confirmId).not.toBe(asked.uiHint?.confirmId);
    await desk.say("응, 확인!");
    expect(desk.bank.bookings()).toHaveLength(1);
  });

  test.each([
    "네?",
    "예??",
    "확인해줘",
    "이체 확인해줘",
    "보내요?",
    "방금 이체 됐어?",
    "메모에 취소환불이라고 써줘",
  ])("%j neither confirms nor cancels", async (text) => {
    await using desk = await openDesk();

    await desk.say("홍길동에게 5만원 보내줘");
    const done = await desk.say(text);

    expect(done).toMatchObject({ nextAction: "CONFIRM", stateSnapshot: { stage: "READY" } });
    expect(desk.bank.bookings()).toEqual([]);
  });

  test("a button of an older question confirms nothing", async () => {
    await using desk = await openDesk();

    const old = await desk.say("홍길동에게 5만원 보내줘");
    await desk.say("7만원으로 바꿔줘");
    const again = await desk.press("확인", old);

    expect(again.message).toBe(
      `${ko.confirmAgain}\n${ko.confirmQuestion({ ...HONG, amount: 70_000 })}`,
    );
    expect(desk.bank.bookings()).toEqual([]);
    await desk.press("확인", again);
    expect(desk.bank.bookings()).toMatchObject([{ amount: 70_000 }]);
  });

  test("a 네 that was typed while the amount was being changed is asked again", async () => {
    await using desk = await openDesk({ model: slowModel });

    await desk.say("홍길동에게 5만원 보내줘");
    const [changed, early] = await desk.sayBoth({ message: "7만원으로 바꿔줘" }, { message: "네" });

    expect(changed.nextAction).toBe("CONFIRM");
    expect(early).toMatchObject({ nextAction: "CONFIRM", stateSnapshot: { stage: "READY" } });
    expect(early.message).toContain(ko.confirmAgain);
    expect(desk.bank.bookings()).toEqual([]);
  });

  test("a double tap books once, and says that nothing is open any more", async () => {
    await using desk = await openDesk({
      bank: { faults: [{ kind: "delay", when: "after", ms: 250 }] },
    });

    const asked = await desk.say("홍길동에게 5만원 보내줘");
    const tap = { message: "확인", confirmId: asked.uiHint!.confirmId! };
    const taps = await desk.sayBoth(tap, tap);

    expect(taps.map(({ message }) => message)).toEqual([
      ko.receipt(HONG, { transaction_id: "tx_000001" }),
      ko.nothingToConfirm,
    ]);
    expect(desk.bank.bookings()).toHaveLength(1);
  });

  test("in a batch a second tap, and a 취소 that came before its question, decide nothing", async () => {
    await using desk = await openDesk({
      bank: { faults: [{ kind: "delay", when: "after", ms: 250, times: 2 }] },
    });

    const first = await desk.say("홍길동에게 5만원, 김철수에게 3만원, 이영희한테 1만원 보내줘");
    const tap = { message: "확인", confirmId: first.uiHint!.confirmId! };
    const [, second] = await desk.sayBoth(tap, tap);
    expect(second.message).toBe(
      `${ko.confirmAgain}\n${ko.confirmQuestion({ target: "김철수", amount: 30_000 }, { index: 2, total: 3 })}`,
    );
    const [, third] = await desk.sayBoth({ message: "네" }, { message: "취소" });

    expect(third).toMatchObject({
      nextAction: "CONFIRM",
      stateSnapshot: { stage: "READY", index: 3 },
    });
    expect(desk.bank.bookings()).toHaveLength(2);
  });

  test("a day that has passed since it was shown is not confirmed", async () => {
    await using desk = await openDesk();

    // 25 hours lie between these zones: today in the one is always gone in the other.
    const asked = await desk.say("오늘 홍길동에게 5만원 보내줘", { timeZone: "Pacific/Pago_Pago" });
    const done = (
      await desk.t.say("확인", {
        confirmId: asked.uiHint!.confirmId!,
        timeZone: "Pacific/Kiritimati",
      })
    ).done;

    expect(done).toMatchObject({
      nextAction: "ASK",
      stateSnapshot: { stage: "FILLING", meta: { slot_errors: { transfer_date: "DATE_PAST" } } },
    });
    expect(done.message).toContain(ko.slotError("DATE_PAST"));
    expect(desk.bank.bookings()).toEqual([]);
  });
});

test("where nothing is open, a cancel says so and starts nothing", async () => {
  await using desk = await openDesk();

  const done = await desk.say("취소");

  expect(done).toMatchObject({ message: ko.nothingToCancel, stateSnapshot: { stage: "INIT" } });
});

test("a page may begin a transfer with slots alone, and words go on with it", async () => {
  await using desk = await openDesk();

  expect((await desk.say("", { slots: { target: "홍길동" } })).message).toBe(
    "홍길동님에게 얼마를 보낼까요?",
  );
  expect((await desk.say("5만원")).message).toBe(ko.confirmQuestion(HONG));
});

test("after a failure in a batch, 취소 ends it and counts what is left as cancelled", async () => {
  await using desk = await openDesk();

  await desk.say("홍길동에게 5만원, 김철수에게 3만원, 이영희한테 1만원 보내줘");
  desk.bank.changeAccounts({ unknown: ["홍길동"] });
  expect((await desk.say("네")).nextAction).toBe("ASK_CONTINUE");
  expect((await desk.say("흠 글쎄")).nextAction).toBe("ASK_CONTINUE");
  const end = await desk.say("취소");

  expect(end.message).toContain("모두 3건 중 완료 0건, 취소 2건, 실패 1건이에요.");
  expect((await desk.completed()).map(([stage]) => stage)).toEqual([
    "CANCELLED",
    "CANCELLED",
    "FAILED",
  ]);
  expect(desk.bank.bookings()).toEqual([]);
});

test("one of a batch that lacks its amount is asked for it when its turn comes", async () => {
  await using desk = await openDesk();

  await desk.say("홍길동에게 5만원, 김철수에게도 보내줘");
  const second = await desk.say("네");
  expect(second).toMatchObject({ nextAction: "ASK", receipt: { transaction_id: "tx_000001" } });
  expect(second.message).toContain("(2/2) 김철수님에게 얼마를 보낼까요?");
  await desk.say("2만원");
  await desk.say("네");

  expect(desk.bank.bookings()).toMatchObject([{ to: "홍길동" }, { to: "김철수", amount: 20_000 }]);
});

describe("the bank misbehaves", () => {
  test("it books and cuts the line: the probe finds the booking, once", async () => {
    await using desk = await openDesk({ bank: { faults: [{ kind: "cut", when: "after" }] } });

    const asked = await desk.say("홍길동에게 5만원 보내줘");
    const done = await desk.press("확인", asked);

    expect(done).toMatchObject({
      message: ko.receipt(HONG, { transaction_id: "tx_000001" }),
      stateSnapshot: { stage: "EXECUTED" },
    });
    expect(desk.bank.bookings()).toHaveLength(1);
  });

  test("it cuts the line before it books: asked again after the settling time, once", async () => {
    await using desk = await openDesk({
      bank: { faults: [{ kind: "cut", when: "before" }] },
      clock: fastClock(10),
    });

    const asked = await desk.say("홍길동에게 5만원 보내줘");
    const done = await desk.press("확인", asked);

    expect(done.stateSnapshot["stage"]).toBe("EXECUTED");
    expect(desk.bank.bookings()).toHaveLength(1);
  });

  test("it ignores keys and books after the timeout: still once", async () => {
    // Time runs ten times as fast here: the timeout is 500 ms, and the request travels for another
    // 100.
    await using desk = await openDesk({
      bank: {
        faults: [
          { kind: "ignore_keys", times: "always" },
          { kind: "delay", when: "before", ms: 600 },
        ],
      },
      clock: fastClock(10),
    });

    const asked = await desk.say("홍길동에게 5만원 보내줘");
    const done = await desk.press("확인", asked);

    expect(done.stateSnapshot["stage"]).toBe("EXECUTED");
    expect(desk.bank.bookings()).toHaveLength(1);
  });

  test(
    "an unknown outcome keeps the stage; nothing can be cancelled; a later message settles it",
    FULL,
    async () => {
      await using desk = await openDesk({
        bank: {
          faults: [
            { kind: "cut", when: "after" },
            { kind: "status", when: "before", on: "probe", times: "always" },
          ],
        },
        clock: fastClock(40),
      });

      const asked = await desk.say("홍길동에게 5만원 보내줘");
      const unknown = await desk.press("확인", asked);
      expect(unknown).toMatchObject({
        message: ko.effectUnknown(HONG),
        nextAction: "ASK",
        error: { code: "EFFECT_UNKNOWN" },
        stateSnapshot: { stage: "CONFIRMED" },
      });
      expect((await desk.say("취소")).stateSnapshot["stage"]).toBe("CONFIRMED");
      await fetch(`${desk.bank.url}/faults`, { method: "DELETE" });
      const done = await desk.say("취소");

      expect(done).toMatchObject({
        message: `${ko.resumed}\n${ko.receipt(HONG, { transaction_id: "tx_000001" })}`,
        stateSnapshot: { stage: "EXECUTED" },
      });
      expect(desk.bank.bookings()).toHaveLength(1);
    },
  );

  const ANSWERS = sampled(
    [
      ["happened", ko.receipt(HONG, {}), "EXECUTED"],
      ["not_happened", ko.failed("NOT_HAPPENED", HONG), "FAILED"],
    ] as const,
    1,
  );
  test.each(ANSWERS.rows)(
    "an operator who answers %s ends it",
    ANSWERS.options,
    async (answer, message, stage) => {
      await using desk = await openDesk({
        bank: {
          faults: [
            { kind: "cut", when: "before" },
            { kind: "status", when: "before", on: "probe", times: "always" },
          ],
        },
        clock: fastClock(40),
      });
      const inbox = new Inbox({
        database: desk.t.database,
        notifications: new Notifications({
          database: desk.t.database,
          logger: silentLogger,
          clock: systemClock,
        }),
      });

      const asked = await desk.say("홍길동에게 5만원 보내줘");
      await desk.press("확인", asked);
      const {
        items: [open],
      } = await inbox.list({ tenant: "", status: "open" });
      const { turn } = await inbox.answer(
        open!.id,
        { value: answer },
        { tenant: "", name: "operator" },
      );
      const done = await lastDone(desk, turn!);

      expect(done).toMatchObject({ message, stateSnapshot: { stage } });
      expect(await desk.stage()).toBe("INIT");
    },
  );
});

test("stopped while the bank answers: the transfer is kept, and the person hears of it", async () => {
  await using desk = await openDesk();
  const asked = await desk.say("홍길동에게 5만원, 김철수에게 3만원 보내줘");
  const answered = Promise.withResolvers<void>();
  const ask = globalThis.fetch;
  using _ = vi.spyOn(globalThis, "fetch").mockImplementation(async (...given) => {
    const answer = await ask(...given);
    await answered.promise;
    return answer;
  });

  const turn = desk.t.engine.turn({
    session: "s1",
    message: "확인",
    confirmId: asked.uiHint!.confirmId!,
  });
  const turnId = await turn.turnId;
  await beLate();
  while (desk.bank.bookings().length === 0) await sleep(5);
  await desk.t.engine.stopTurn(turnId);
  answered.resolve();
  const done = await turn.done;

  expect(done).toMatchObject({
    error: { code: "TURN_STOPPED" },
    stateSnapshot: { stage: "READY", index: 2 },
  });
  expect(done.message).toContain("1. 홍길동님 50,000원: 완료");
  expect((await desk.completed()).map(([stage]) => stage)).toEqual(["EXECUTED"]);
  expect(desk.bank.bookings()).toHaveLength(1);
});

test("a process that dies while the bank answers: another one finishes the same transfer, once", async () => {
  await using database = await testDatabase();
  await using bank = await disposableBank({ faults: [{ kind: "delay", when: "after", ms: 300 }] });
  const first = await openDesk({ on: { url: database.url }, bankAt: bank });
  const asked = await first.say("홍길동에게 5만원 보내줘");
  const { turnId } = await first.t.engine.accept({
    session: "s1",
    message: "확인",
    confirmId: asked.uiHint!.confirmId!,
  });
  await beLate();
  while (bank.bookings().length === 0) await sleep(5);
  first.t.fence();
  await first[Symbol.asyncDispose]();

  // What the takeover does with the turns of a dead process.
  await database.database.query(
    { text: "update dure.turns set holder = null, epoch = epoch + 1 where status = 'running'" },
    [],
  );
  await using second = await openDesk({ on: { url: database.url }, bankAt: bank });
  const done = await lastDone(second, turnId);

  expect(done).toMatchObject({
    message: ko.receipt(HONG, { transaction_id: "tx_000001" }),
    stateSnapshot: { stage: "EXECUTED" },
  });
  expect(bank.bookings()).toHaveLength(1);
});

async function lastDone(desk: Desk, turnId: string): Promise<Done> {
  for await (const { event } of desk.t.engine.read(turnId, {})) {
    if (event.type === "DONE") return event.data;
  }
  throw new Error("no DONE");
}

async function disposableBank(options: BankOptions): Promise<Bank & AsyncDisposable> {
  const bank = await startBank(options);
  return { ...bank, [Symbol.asyncDispose]: () => bank.stop() };
}
