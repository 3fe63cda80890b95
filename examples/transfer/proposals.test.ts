// @module-tag slow
import { conversationalAgent, defineService, offlineModel, tool } from "dure";
import { recurrenceReader, slotAgents, slotFlow, type SlotReading } from "dure/slots";
import { expect, test } from "vitest";
import { z } from "zod";
import { startTestEngine, type TestEngine } from "../../packages/dure/src/engine/test-engine.ts";
import { startBank, type Bank } from "./bank/bank.ts";
import { MESSAGES } from "./messages.ts";
import { answerTransfer } from "./offline.ts";
import { agentAsked } from "./prompts.ts";
import { createTransferService } from "./service.ts";

/** The model proposes, code checks, disagreement asks: with a model that reads what it is told to. */
const { ko } = MESSAGES;
const HONG = { target: "홍길동", amount: 50_000 };

interface Desk extends AsyncDisposable {
  readonly t: TestEngine;
  readonly bank: Bank;
  /** The reading of the next message; else the model reads well. */
  next: SlotReading | undefined;
  readonly prompts: string[];
}

async function openDesk(): Promise<Desk> {
  await using stack = new AsyncDisposableStack();
  const bank = await startBank();
  stack.defer(() => bank.stop());
  const desk: Pick<Desk, "next" | "prompts"> = { next: undefined, prompts: [] };
  const model = offlineModel("reader", (request) => {
    const { system = "" } = request;
    if (agentAsked(system) !== "slots") return answerTransfer(request) ?? "";
    desk.prompts.push(system);
    const { next } = desk;
    desk.next = undefined;
    return next ? { object: JSON.parse(JSON.stringify(next)) } : (answerTransfer(request) ?? "");
  });
  const t = stack.use(
    await startTestEngine(createTransferService({ bankUrl: bank.url }), {
      offline: [model],
      engine: { locale: "ko" },
    }),
  );
  const kept = stack.move();
  return Object.assign(desk, { t, bank, [Symbol.asyncDispose]: () => kept.disposeAsync() });
}

type Change = readonly [slot: string, value: string | number, quote?: string];

function reading(...items: readonly (readonly Change[])[]): SlotReading {
  return {
    kind: "details",
    items: items.map((changes) => ({
      changes: changes.map(([slot, value, quote = ""]) => ({ slot, value, quote })),
    })),
    clear: [],
    note: "",
  };
}

test("a value that the words say in another form is shown, and counts after a yes", async () => {
  await using desk = await openDesk();
  desk.next = reading([
    ["target", "홍길동", "홍길동에게"],
    ["amount", 50_000, "5만원"],
  ]);

  const { done } = await desk.t.say("홍길동에게 5만원 보내줘");
  expect(done).toMatchObject({ nextAction: "CONFIRM", message: ko.confirmQuestion(HONG) });
  await desk.t.say("네");

  expect(desk.bank.bookings()).toMatchObject([{ to: "홍길동", amount: 50_000 }]);
});

test.each<[string, string, Change, Change, string]>([
  [
    "another amount than the words",
    "홍길동에게 5만원 보내줘",
    ["target", "홍길동", "홍길동에게"],
    ["amount", 500_000, "5만원"],
    ko.doubt("amount", [50_000, 500_000]),
  ],
  [
    "a part of the amount that was said",
    "홍길동에게 15만원 보내줘",
    ["target", "홍길동", "홍길동에게"],
    ["amount", 50_000, "5만원"],
    ko.doubt("amount", [150_000, 50_000]),
  ],
  [
    "an amount that is not meant",
    "홍길동에게 5만원 말고 7만원 보내줘",
    ["target", "홍길동", "홍길동에게"],
    ["amount", 50_000, "5만원"],
    ko.doubt("amount", [70_000, 50_000]),
  ],
  [
    "a rough amount as if it were exact",
    "홍길동에게 5만원 정도 보내줘",
    ["target", "홍길동", "홍길동에게"],
    ["amount", 50_000, "5만원"],
    ko.doubt("amount", [50_000]),
  ],
  [
    "another person than the words",
    "홍길동에게 5만원 보내줘",
    ["target", "김철수", "홍길동에게"],
    ["amount", 50_000, "5만원"],
    ko.doubt("target", ["김철수"]),
  ],
])("the person is asked where the model takes %s", async (_, said, target, amount, question) => {
  await using desk = await openDesk();
  desk.next = reading([target, amount]);

  const { done } = await desk.t.say(said);

  expect(done).toMatchObject({ nextAction: "ASK", message: question });
  expect(desk.bank.bookings()).toEqual([]);
});

test("words that code cannot read are shown with what they were taken for", async () => {
  await using desk = await openDesk();
  desk.next = reading([
    ["target", "홍길동", "홍길동에게"],
    ["amount", 3_000_000, "월급만큼"],
  ]);

  const { done } = await desk.t.say("홍길동에게 월급만큼 보내줘");

  expect(done.nextAction).toBe("CONFIRM");
  expect(done.message).toContain("“월급만큼” = 3,000,000원");
});

test.each([
  ["두 번째", 70_000],
  ["7만원이요", 70_000],
  ["1번", 50_000],
])("a doubt is answered by a place and by its own words: %s", async (answer, amount) => {
  await using desk = await openDesk();
  desk.next = reading([
    ["target", "홍길동", "홍길동에게"],
    ["amount", 70_000, "5만원"],
  ]);

  const asked = await desk.t.say("홍길동에게 5만원 보내줘");
  const { done } = await desk.t.say(answer);

  expect(asked.done.uiHint?.buttons).toEqual(["50,000원", "70,000원"]);
  expect(done).toMatchObject({ nextAction: "CONFIRM", stateSnapshot: { slots: { amount } } });
});

test("an amount that was not said does not count, and is asked for", async () => {
  await using desk = await openDesk();
  desk.next = reading([
    ["target", "홍길동", "홍길동에게"],
    ["amount", 50_000, "5만원"],
  ]);

  const { done } = await desk.t.say("홍길동에게 돈 보내줘");

  expect(done.stateSnapshot).toMatchObject({ stage: "FILLING", slots: { target: "홍길동" } });
  expect(done.message).toBe(ko.askSlot("amount", { target: "홍길동" }));
});

test("a day that the model counts otherwise is asked for", async () => {
  await using desk = await openDesk();
  desk.next = reading([
    ["target", "홍길동", "홍길동에게"],
    ["amount", 50_000, "5만원"],
    ["transfer_date", "2099-01-01", "내일"],
  ]);

  const { done } = await desk.t.say("내일 홍길동에게 5만원 보내줘");

  expect(done.nextAction).toBe("ASK");
  expect(done.message).toContain("2099년 1월 1일(목) 중 어느 쪽인가요?");
});

test("people whom the model passes over are asked about, and added with a yes", async () => {
  await using desk = await openDesk();
  desk.next = reading([
    ["target", "엄마", "엄마"],
    ["amount", 30_000, "3만원"],
  ]);

  const { done } = await desk.t.say("엄마, 아빠, 동생한테 각각 3만원 보내줘");
  const added = await desk.t.say("네");

  expect(done).toMatchObject({ nextAction: "ASK", message: "아빠, 동생에게도 보낼까요?" });
  expect(added.done.stateSnapshot).toMatchObject({
    total: 3,
    slots: { target: "엄마", amount: 30_000 },
    tasks: [{ slots: { target: "아빠" } }, { slots: { target: "동생" } }],
  });
});

test("an amount for two that the model divides by itself is asked: for each or for both", async () => {
  await using desk = await openDesk();
  desk.next = reading(
    [
      ["target", "엄마", "엄마랑"],
      ["amount", 50_000, "5만원"],
    ],
    [
      ["target", "아빠", "아빠한테"],
      ["amount", 50_000, "5만원"],
    ],
  );

  const { done } = await desk.t.say("엄마랑 아빠한테 5만원 보내줘");

  expect(done.nextAction).toBe("ASK");
  expect(done.message).toContain(ko.slotError("AMOUNT_EACH_OR_TOTAL"));
});

test("a time of day that is not kept is said with the day", async () => {
  await using desk = await openDesk();

  const { done } = await desk.t.say("내일 오전 9시에 홍길동에게 5만원 보내줘");

  expect(done.nextAction).toBe("CONFIRM");
  expect(done.message).toContain(ko.slotError("DATE_WITHOUT_TIME"));
  expect((await desk.t.say("모레로 바꿔줘")).done.message).not.toContain("시각");
});

test("the model that reads has dure's prompt, with the slots, what is known and the question", async () => {
  await using desk = await openDesk();
  await desk.t.say("홍길동에게 돈 보내줘");
  await desk.t.say("5만원");

  const [, second = ""] = desk.prompts;
  expect(second).toContain("- amount (필수): 금액, 원.");
  expect(second).toContain('지금까지 아는 것: {"target":"홍길동"}');
  expect(second).toContain(`마지막 질문: ${ko.askSlot("amount", { target: "홍길동" })}`);
});

test("a wish that the model sees to be beyond the slots starts nothing", async () => {
  await using desk = await openDesk();
  desk.next = { ...reading([["target", "홍길동", "홍길동에게"]]), kind: "unsupported" };

  const { done } = await desk.t.say("홍길동에게 보낸 이체 취소하고 다시 송금해줘");

  expect(done).toMatchObject({ nextAction: "ASK", stateSnapshot: { stage: "INIT", slots: {} } });
});

test("a service that has a slot for it takes a repetition, shows it, and does it", async () => {
  const kept: unknown[] = [];
  const slots = {
    every: {
      required: true,
      type: "recurrence" as const,
      reader: () => recurrenceReader,
      parse: (raw: unknown) =>
        typeof raw === "string"
          ? ({ ok: true, value: raw } as const)
          : ({ ok: false, error: "UNREADABLE" } as const),
      schema: z.string().regex(/^FREQ=/),
      schemaError: "UNSURE",
    },
  };
  const texts = {
    ...ko,
    slotNames: { every: "반복" },
    confirmQuestion: ({ every }: { every?: string }) => `${every}?`,
  } as never;
  const reminders = defineService({
    name: "reminders",
    agents: {
      intent: conversationalAgent({ name: "intent", schema: z.object({ scenario: z.string() }) }),
      ...slotAgents(slots, { interaction: "Answer." }),
    },
    ...slotFlow<{ every?: string }>({
      flow: "REMIND",
      slots,
      texts: { ko: texts, en: texts },
      deed: {
        call: "remind",
        tool: tool({
          description: "Keeps a reminder.",
          inputSchema: z.object({ every: z.string() }),
          effect: "once",
          recover: "replay",
          execute: (input) => void kept.push(input),
        }),
        input: (values) => values,
        details: () => ({}),
      },
    }),
  });
  const model = offlineModel("reminders", ({ system = "", messages }) => {
    const text = (messages.at(-1) as { text: string }).text;
    if (agentAsked(system) !== "slots") return { object: { scenario: "REMIND" } };
    const changes = [{ slot: "every", value: "FREQ=MONTHLY;BYMONTHDAY=25", quote: text }];
    return { object: { kind: "details", items: [{ changes }] } };
  });
  await using t = await startTestEngine(reminders, { offline: [model], engine: { locale: "ko" } });

  const { done } = await t.say("매달 25일");
  expect(done).toMatchObject({ nextAction: "CONFIRM", message: "FREQ=MONTHLY;BYMONTHDAY=25?" });
  await t.say("네");

  expect(kept).toEqual([{ every: "FREQ=MONTHLY;BYMONTHDAY=25" }]);
});
