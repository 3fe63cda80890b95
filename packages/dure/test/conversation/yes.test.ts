// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { MESSAGES } from "../../../../examples/transfer/messages.ts";
import { agentAsked } from "../../../../examples/transfer/prompts.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { combineServices, keywordRouter } from "../../src/engine/service/combine.ts";
import { remoteService } from "../../src/engine/remote/remote-service.ts";
import type { LeafService } from "../../src/engine/service/combine.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { openOffice, smallService, type Desk, type Office, type WireDone } from "./desk.ts";

/**
 * What a yes is bound to, over HTTP, with a bank that counts: it counts for the question that was
 * shown last in its session and service, and for nothing else.
 */
const { ko } = MESSAGES;
const HONG = { target: "홍길동", amount: 50_000 };

/** 50,000 won to 홍길동, waiting for a yes. */
async function askedAtDesk(): Promise<
  AsyncDisposable & { office: Office; desk: Desk; asked: WireDone }
> {
  await using stack = new AsyncDisposableStack();
  const office = stack.use(await openOffice());
  const desk = await office.open();
  const asked = await desk.say({ message: "홍길동에게 5만원 보내줘", service: "transfer" });
  expect(asked).toMatchObject({ next_action: "CONFIRM", message: ko.confirmQuestion(HONG) });
  const kept = stack.move();
  return { office, desk, asked, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** The yes that must not count, then the one that may: asked again, and booked once as shown. */
async function expectAskedAgain(office: Office, desk: Desk): Promise<void> {
  const again = await desk.say({ message: "네", service: "transfer" });
  expect(office.bank.bookings()).toEqual([]);
  expect(again).toMatchObject({
    next_action: "CONFIRM",
    message: `${ko.confirmAgain}\n${ko.confirmQuestion(HONG)}`,
  });

  const done = await desk.say("응");
  expect(done).toMatchObject({ next_action: "DONE", receipt: HONG });
  expect(office.bank.bookings()).toMatchObject([{ to: "홍길동", amount: 50_000 }]);
}

const isSlots = (system = ""): boolean => agentAsked(system) === "slots";

describe("a yes does not count after", () => {
  test("a change that failed because the model answered 503", FULL, async () => {
    await using office = await openOffice();
    const desk = await office.open({ team: { limits: { patience: { chat: "0s" } } } });
    await desk.say({ message: "홍길동에게 5만원 보내줘", service: "transfer" });

    office.mood.answer = ({ system }) => (isSlots(system) ? { error: { status: 503 } } : undefined);
    const failed = await desk.say("7만원으로 바꿔줘");
    office.mood.answer = undefined;

    expect(failed.error?.code).toBe("MODEL_SERVER_ERROR");
    await expectAskedAgain(office, desk);
  });

  test("a change that was stopped", async () => {
    await using place = await askedAtDesk();
    const { office, desk } = place;

    const begun = Promise.withResolvers<void>();
    office.mood.answer = ({ system }) => {
      if (!isSlots(system)) return undefined;
      begun.resolve();
      return { text: "{}", delayMs: 60_000 };
    };
    const change = await desk.begin({ message: "7만원으로 바꿔줘" });
    await begun.promise;
    await desk.stop(change.turnId);
    office.mood.answer = undefined;

    expect((await change.done).error?.code).toBe("TURN_STOPPED");
    await expectAskedAgain(office, desk);
  });

  test("another service of the session has answered", async () => {
    await using place = await askedAtDesk();
    const { office, desk } = place;

    const other = await desk.say({ message: "안녕", service: "small" });

    expect(other.message).toBe("안녕하세요.");
    await expectAskedAgain(office, desk);
  });

  test("ten minutes", async () => {
    await using place = await askedAtDesk();
    const { office, desk } = place;

    await office.age(600_001);

    await expectAskedAgain(office, desk);
  });

  test("the team's own limits.confirm", async () => {
    await using office = await openOffice();
    const desk = await office.open({ team: { limits: { confirm: "1m" } } });

    await desk.say({ message: "홍길동에게 5만원 보내줘", service: "transfer" });
    await office.age(60_001);

    await expectAskedAgain(office, desk);
  });

  test("the button of an older question was pressed", async () => {
    await using place = await askedAtDesk();
    const { office, desk, asked } = place;

    const changed = await desk.say("7만원으로 바꿔줘");
    await desk.say("5만원으로 바꿔줘");
    for (const old of [asked, changed]) {
      const again = await desk.press("확인", old);
      expect(again.message).toBe(`${ko.confirmAgain}\n${ko.confirmQuestion(HONG)}`);
    }

    expect(office.bank.bookings()).toEqual([]);
  });

  test("small talk, unless the question was shown again with it", async () => {
    await using place = await askedAtDesk();
    const { office, desk, asked } = place;

    const talk = await desk.say("오늘 날씨 어때?");
    const tapped = await desk.press("확인", asked);
    expect(office.bank.bookings()).toEqual([]);
    const done = await desk.press("확인", tapped);

    expect(talk.ui_hint.confirm_id).not.toBe(asked.ui_hint.confirm_id);
    expect(done).toMatchObject({ next_action: "DONE", receipt: HONG });
    expect(office.bank.bookings()).toHaveLength(1);
  });
});

describe("a service on another server", () => {
  /** Near: the person's server, with a small service beside the transfer that is far away. */
  async function openFar(): Promise<AsyncDisposable & { office: Office; far: Desk; near: Desk }> {
    await using stack = new AsyncDisposableStack();
    const office = stack.use(await openOffice());
    const far = await office.open();
    const nearDatabase = stack.use(await testDatabaseUrl());
    const away = remoteService(far.url, { name: "away", service: "transfer" });
    const both = combineServices({
      name: "both",
      services: [away, smallService() as LeafService],
      router: keywordRouter({ rules: [{ service: "small", keywords: ["안녕"] }], default: "away" }),
      asksToLeave: (message) => message === "안녕",
    });
    const near = await office.open({ services: { both }, databaseUrl: nearDatabase.url });
    const kept = stack.move();
    return { office, far, near, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  test("is told when its question was left, so that a yes after it asks again", FULL, async () => {
    await using place = await openFar();
    const { office, near } = place;

    const asked = await near.say("홍길동에게 5만원 보내줘");
    expect(asked.next_action).toBe("CONFIRM");
    expect((await near.say("안녕")).message).toBe("안녕하세요.");
    const again = await near.say("네");

    expect(office.bank.bookings()).toEqual([]);
    expect(again).toMatchObject({ next_action: "CONFIRM" });
    expect(again.message).toContain(ko.confirmAgain);
    expect(await near.press("확인", again)).toMatchObject({ receipt: HONG });
    expect(office.bank.bookings()).toHaveLength(1);
  });

  test("takes a yes that answers its question, by word and by button", async () => {
    await using place = await openFar();
    const { office, near } = place;

    await near.say("홍길동에게 5만원 보내줘");
    expect(await near.say("네")).toMatchObject({ receipt: HONG });
    const asked = await near.say("홍길동에게 3만원 보내줘");
    expect(await near.press("확인", asked)).toMatchObject({ receipt: { amount: 30_000 } });

    expect(office.bank.bookings()).toHaveLength(2);
  });

  test(
    "is not confirmed by a yes that was written before its question was shown here",
    FULL,
    async () => {
      await using place = await openFar();
      const { office, near } = place;
      await near.say("홍길동에게 5만원 보내줘");

      const begun = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      office.mood.answer = ({ system }) => {
        if (isSlots(system)) begun.resolve();
        return isSlots(system) ? { text: "{}", delayMs: 300 } : undefined;
      };
      const change = await near.begin({ message: "아니 7만원으로" });
      await begun.promise;
      const early = await near.begin({ message: "네" });
      gate.resolve();
      await change.done;

      expect(await early.done).toMatchObject({ next_action: "CONFIRM" });
      expect(office.bank.bookings()).toEqual([]);
    },
  );
});

test("two taps on two processes book once", async () => {
  await using place = await askedAtDesk();
  const { office, desk, asked } = place;
  const second = await office.open();
  office.bank.addFaults({ kind: "delay", when: "after", ms: 150 });

  const taps = await Promise.all([desk.press("확인", asked), second.press("확인", asked)]);

  expect(taps.map(({ next_action }) => next_action).toSorted()).toEqual(["DONE", "DONE"]);
  expect(taps[0].message).toBe(taps[1].message);
  expect(office.bank.bookings()).toHaveLength(1);
});

test("a no to a question that has expired still cancels, and nothing is booked", async () => {
  await using place = await askedAtDesk();
  const { office, desk } = place;

  await office.age(600_001);

  expect(await desk.say("취소")).toMatchObject({ message: ko.cancelled });
  expect(await desk.say("네")).toMatchObject({ next_action: "ASK" });
  expect(office.bank.bookings()).toEqual([]);
});

test("a yes whose turn failed behind its effect is found out about, not done again", async () => {
  await using office = await openOffice();
  const calls: string[] = [];
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ amount: z.int() }),
    effect: "once",
    recover: "ask",
    execute: ({ amount }, { key }) => void calls.push(`${amount} under ${key.split("/").at(-1)}`),
  });
  const payments = defineService({
    name: "payments",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        const { question } = turn.answering;
        if (question && turn.message === "yes") {
          const paid = await turn.call("pay", pay, { amount: 5 }, { key: [question.id] });
          if (calls.length === 1 && !question.begun) throw new Error("no receipt printer");
          return turn.done({ message: paid.status, nextAction: "DONE" });
        }
        return turn.done({
          message: "Pay 5?",
          nextAction: "CONFIRM",
          question: { call: "pay", slots: { amount: 5 } },
        });
      }),
    },
  });
  const desk = await office.open({ services: { payments } });

  const asked = await desk.say("pay");
  expect((await desk.say("yes")).error?.code).toBe("INTERNAL");
  const found = await desk.say("yes");
  const after = await desk.say("yes");

  expect(found.message).toBe("done");
  expect(after.next_action).toBe("CONFIRM");
  expect(calls).toEqual([`5 under ${asked.ui_hint.confirm_id}`]);
});

test("every DONE has ui_hint.buttons, empty where there is nothing to press", async () => {
  await using office = await openOffice();
  const desk = await office.open();

  const answers = [
    await desk.say({ message: "안녕", service: "transfer" }),
    await desk.say("이체하고 싶어"),
    await desk.say("홍길동에게 5만원"),
    await desk.say("네"),
  ];

  expect(answers.map(({ next_action: next, ui_hint }) => [next, ui_hint.buttons])).toEqual([
    ["ASK", []],
    ["ASK", []],
    ["CONFIRM", ["확인", "취소"]],
    ["DONE", []],
  ]);
});

test("a question is stored with what it showed: words, slots, amounts, key and expiry", async () => {
  await using place = await askedAtDesk();
  const { office, asked } = place;

  const stored = await office.question();

  expect(stored).toMatchObject({
    id: asked.ui_hint.confirm_id,
    service: "transfer",
    asks: "CONFIRM",
    text: ko.confirmQuestion(HONG),
    slots: HONG,
    amounts: { amount: 50_000 },
    key: expect.stringMatching(new RegExp(`/transfer/${asked.ui_hint.confirm_id}$`)) as string,
    holdsMs: 600_000,
  });
  expect(stored?.["shownAt"]).toBeGreaterThan(1_000_000_000_000);
});
