import type { Escalation, ServiceInfo, SlotInfo, StageMachine, Trace } from "dure/client";
import { describe, expect, test } from "vitest";
import type { Entry } from "dure/react";
import { receiptsByEntry } from "../src/chat/receipts.ts";
import { inLanguage } from "../src/chat/service-words.ts";
import { toneOf } from "../src/chat/tone.ts";
import { aboutOf, agentOf, closedOf, groupsOf, linksOf } from "../src/escalations/order.ts";
import { wordsOf, type CodedWords } from "../src/words.ts";
import { actionLabel } from "../src/escalations/words.ts";
import { labelOf, moneyOf, shownFact } from "../src/fact-words.ts";
import { batchOf } from "../src/panel/batch.ts";
import { slotChanges, slotFields } from "../src/panel/slots.ts";
import { layoutStages } from "../src/panel/stage-layout.ts";
import { TURN_LOGS, turnLogs } from "../src/panel/turn-logs.ts";
import { waterfallOf } from "../src/panel/waterfall.ts";
import { ServerClock } from "../src/server-clock.ts";
import { hasNew } from "../src/shell/notices.ts";
import { TEXTS } from "./texts.ts";
import { BECAUSES_EN } from "../src/plans/because-text.en.ts";
import { BECAUSES_KO } from "../../dure/src/korean/because-text.ko.ts";
import { spanOf } from "../src/when.ts";

const TRANSFER: StageMachine = {
  initial: "INIT",
  terminal: ["EXECUTED", "FAILED", "CANCELLED", "UNSUPPORTED"],
  transitions: [
    ["INIT", "FILLING"],
    ["INIT", "READY"],
    ["FILLING", "READY"],
    ["READY", "FILLING"],
    ["READY", "CONFIRMED"],
    ["FILLING", "CANCELLED"],
    ["READY", "CANCELLED"],
    ["FILLING", "UNSUPPORTED"],
    ["CONFIRMED", "EXECUTED"],
    ["CONFIRMED", "FAILED"],
    ["EXECUTED", "INIT"],
  ],
};

test.each([
  [{ code: "retry", label: "Retry" }, "다시 시도", "Retry"],
  [{ code: "thread-there", label: "있음" }, "있음: 링크나 ID", "It is there: its link or id"],
  [{ label: "승인" }, "승인", "승인"],
  [{ label: "서울 / Seoul" }, "서울 / Seoul", "서울 / Seoul"],
  [{ code: "unheard-of", label: "Do it" }, "Do it", "Do it"],
  [{ code: "constructor", label: "Build" }, "Build", "Build"],
])("an answer %j is said in the page's language by its code, else as it came", (...row) => {
  const [action, korean, english] = row;

  expect(actionLabel(action, TEXTS.ko)).toBe(korean);
  expect(actionLabel(action, TEXTS.en)).toBe(english);
});

test("every code of a closed room and of an account has words in both languages", () => {
  const facts = { why: "no permission", account: "ruda", servers: ["두레", "숲"] };
  const said = (table: CodedWords, code: string) => wordsOf(table, { code, facts });

  expect(said(TEXTS.ko.rooms.banner.closedFor, "thread-not-made")).toBe(
    "스레드를 만들지 못했어요: no permission",
  );
  expect(said(TEXTS.en.agents.reasons, "outage")).toContain("두레, 숲");
  expect(said(TEXTS.en.agents.reasons, "toString")).toBeUndefined();
  for (const [ko, en] of [
    [TEXTS.ko.agents.reasons, TEXTS.en.agents.reasons],
    [TEXTS.ko.rooms.banner.closedFor, TEXTS.en.rooms.banner.closedFor],
    [TEXTS.ko.plans.before.conditions, TEXTS.en.plans.before.conditions],
    [TEXTS.ko.plans.before.values, TEXTS.en.plans.before.values],
    [TEXTS.ko.plans.before.warningWords, TEXTS.en.plans.before.warningWords],
    [BECAUSES_KO, BECAUSES_EN],
    [TEXTS.ko.escalations.actions, TEXTS.en.escalations.actions],
    [TEXTS.ko.common.errors, TEXTS.en.common.errors],
  ] as const) {
    expect(Object.keys(en).toSorted()).toEqual(Object.keys(ko).toSorted());
  }
});

describe("the drawing of the stages", () => {
  test("puts the way through on the left in its order and the ends on the right near their sources", () => {
    const { boxes } = layoutStages(TRANSFER);

    const left = boxes.filter((box) => !box.terminal).toSorted((a, b) => a.y - b.y);
    const right = boxes.filter((box) => box.terminal).toSorted((a, b) => a.y - b.y);
    expect(left.map((box) => box.stage)).toEqual(["INIT", "FILLING", "READY", "CONFIRMED"]);
    expect(right.map((box) => box.stage)).toEqual([
      "UNSUPPORTED",
      "CANCELLED",
      "EXECUTED",
      "FAILED",
    ]);
    expect(Math.max(...left.map((box) => box.x + box.width))).toBeLessThan(
      Math.min(...right.map((box) => box.x)),
    );
  });

  test("draws every change but the reset, and marks the one that goes back", () => {
    const { arrows } = layoutStages(TRANSFER);

    expect(arrows).toHaveLength(TRANSFER.transitions.length - 1);
    expect(arrows.filter((arrow) => arrow.back).map(({ from, to }) => [from, to])).toEqual([
      ["READY", "FILLING"],
    ]);
  });

  test("holds with no ends, with a loop and with a stage that nothing leads to", () => {
    const { boxes, arrows } = layoutStages({
      initial: "A",
      terminal: [],
      transitions: [
        ["A", "B"],
        ["B", "A"],
        ["LOST", "B"],
      ],
    });

    expect(boxes.map((box) => box.stage).toSorted()).toEqual(["A", "B", "LOST"]);
    expect(arrows).toHaveLength(3);
  });
});

describe("the slot card", () => {
  const slots: SlotInfo[] = [
    { name: "target", label: "받는 분", required: true, type: "text" },
    { name: "amount", label: "금액", required: true, type: "integer" },
  ];
  const fields = slotFields(slots, {
    slots: { target: "엄마", amount: 50_000 },
    meta: { slot_errors: { amount: "너무 커요" } },
  });

  test("shows what the state holds and what is wrong with it", () => {
    expect(fields.map(({ value, error }) => [value, error])).toEqual([
      ["엄마", undefined],
      ["50000", "너무 커요"],
    ]);
  });

  test("sends what was changed and nothing else, in the slot's type", () => {
    expect(slotChanges(fields, { target: "엄마", amount: "70,000" })).toEqual({ amount: 70_000 });
    expect(slotChanges(fields, { target: "" })).toEqual({ target: null });
    expect(slotChanges(fields, { amount: "오만원" })).toEqual({ amount: "오만원" });
  });
});

describe("the server's time", () => {
  const date = (ms: number): string => new Date(ms).toUTCString();

  test("is this machine's while both agree within what the header can tell", () => {
    const clock = new ServerClock({ now: () => 1_000_000 });
    clock.learn(date(1_001_000), 1_000_000);
    expect(clock.now()).toBe(1_000_000);
  });

  test("is the server's where this machine's clock is wrong, until it is put right", () => {
    const clock = new ServerClock({ now: () => 1_000_000 });
    clock.learn(date(1_600_000), 1_000_000);
    expect(clock.now()).toBe(1_600_500);
    clock.learn(null, 0);
    clock.learn("yesterday", 0);
    expect(clock.now()).toBe(1_600_500);
    clock.learn(date(1_000_000), 1_000_000);
    expect(clock.now()).toBe(1_000_000);
  });
});

test("a span is told in the unit in which it is read", () => {
  const spans = [840, 2_140, 185_000, 7_800_000];

  expect(spans.map((ms) => spanOf(ms, "en"))).toEqual(["840 ms", "2.1 s", "3 m 05 s", "2 h 10 m"]);
  expect(spans.map((ms) => spanOf(ms, "ko"))).toEqual(["840ms", "2.1초", "3분 05초", "2시간 10분"]);
});

const NO_TRACE: Trace = { turnId: "t", totalElapsedMs: 20, agents: [] };

function anAnswer(turnId: string, done: Partial<Entry["done"]> = {}): Entry {
  return {
    key: `${turnId}:assistant`,
    role: "assistant",
    content: "네",
    at: 1,
    status: "sent",
    turnId,
    done: {
      message: "네",
      nextAction: "DONE",
      stateSnapshot: {},
      hooks: [],
      trace: NO_TRACE,
      ...done,
    },
  };
}

describe("receipts", () => {
  const first = { transaction_id: "tx_1", amount: 10 };
  const second = { transaction_id: "tx_2", amount: 20 };

  test("are shown once, under the answer that first brought them", () => {
    const shown = receiptsByEntry([
      anAnswer("a", { receipt: first }),
      anAnswer("b"),
      anAnswer("c", { receipt: second, receipts: [first, second] }),
    ]);

    expect([...shown]).toEqual([
      ["a:assistant", [first]],
      ["c:assistant", [second]],
    ]);
  });

  test("that only the last answer brings are all shown there, those without a number by what they say", () => {
    const shown = receiptsByEntry([
      anAnswer("a", {
        receipts: [{ amount: 1, target: "엄마" }, { target: "엄마", amount: 1 }, first],
      }),
    ]);

    expect(shown.get("a:assistant")).toEqual([{ amount: 1, target: "엄마" }, first]);
  });
});

describe("the batch", () => {
  test("tells of each task what became of it, from the state alone", () => {
    const state = {
      index: 3,
      total: 4,
      slots: { target: "민지" },
      tasks: [{ slots: { target: "준" }, slot_errors: {} }],
      results: [
        { index: 1, outcome: "done", slots: { target: "엄마" } },
        { index: 2, outcome: "failed", slots: { target: "부자" }, code: "LIMIT_EXCEEDED" },
      ],
    };

    expect(batchOf(state, [])?.tasks).toEqual([
      { index: 1, mark: "done", slots: { target: "엄마" } },
      { index: 2, mark: "failed", slots: { target: "부자" }, code: "LIMIT_EXCEEDED" },
      { index: 3, mark: "now", slots: { target: "민지" } },
      { index: 4, mark: "waiting", slots: { target: "준" } },
    ]);
  });

  test("of a service that keeps no results is told by its progress; a single task is none", () => {
    const told = batchOf({ slots: { target: "b" }, queue: [{ target: "c" }] }, [
      { index: 2, total: 3, slots: { target: "b" } },
    ]);

    expect(told?.tasks.map(({ mark }) => mark)).toEqual(["past", "now", "waiting"]);
    expect(batchOf({ index: 1, total: 1, slots: {}, tasks: [] }, [])).toBeUndefined();
  });
});

describe("the logs of the turns", () => {
  test("go back a bounded way, newest first, the running one before all, by the trace where none was seen", () => {
    const agents = [
      {
        agent: "intent",
        elapsedMs: 5,
        success: false,
        retries: 2,
        error: "MODEL_TIMEOUT",
        tokensIn: 1,
        tokensOut: 1,
      },
    ];
    const entries = Array.from({ length: 30 }, (_, n) => [
      {
        ...anAnswer(`t${n}`),
        key: `${n}`,
        role: "user",
        content: `말 ${n}`,
        done: undefined,
      } as unknown as Entry,
      anAnswer(`t${n}`, { trace: { ...NO_TRACE, agents } }),
    ]).flat();
    const logs = turnLogs({
      entries,
      seen: new Map(),
      turn: {
        turnId: "now",
        view: { runs: [], tools: [], progress: [] },
        connection: "connected",
        stopping: false,
      },
    });

    expect(logs).toHaveLength(TURN_LOGS);
    expect(logs.slice(0, 2).map(({ turnId, title }) => [turnId, title])).toEqual([
      ["now", ""],
      ["t29", "말 29"],
    ]);
    expect(logs[1]?.runs).toMatchObject([
      { agent: "intent", status: "failed", retries: 2, error: "MODEL_TIMEOUT" },
    ]);
  });
});

describe("the waterfall", () => {
  test("puts agents one after the other, and what is left of the time behind them", () => {
    const agent = (elapsedMs: number) => ({
      agent: "a",
      elapsedMs,
      success: true,
      retries: 0,
      error: null,
      tokensIn: 0,
      tokensOut: 0,
    });
    const bars = waterfallOf({ turnId: "t", totalElapsedMs: 100, agents: [agent(30), agent(20)] });

    expect(bars.map(({ fromPercent, sharePercent }) => [fromPercent, sharePercent])).toEqual([
      [0, 30],
      [30, 20],
      [50, 50],
    ]);
    expect(bars[2]?.agent).toBeUndefined();
    expect(waterfallOf(NO_TRACE)).toMatchObject([{ elapsedMs: 20, sharePercent: 100 }]);
  });
});

describe("the inbox", () => {
  const one = (id: string, more: Partial<Escalation>): Escalation => ({
    id,
    source: {},
    type: "decision",
    severity: "low",
    title: "",
    description: "",
    context: {},
    suggestedActions: [],
    status: "open",
    resolution: null,
    resolvedBy: null,
    resolvedByPerson: null,
    resolvedAt: null,
    createdAt: 1,
    expiresAt: null,
    step: "person",
    nextStepAt: null,
    ...more,
  });

  test("has the gravest first, of these the longest waiting, and what is closed newest first", () => {
    const all = [
      one("late", { severity: "medium", createdAt: 5 }),
      one("early", { severity: "medium", createdAt: 2 }),
      one("grave", { severity: "critical", createdAt: 9 }),
      one("old", { status: "resolved", resolvedAt: 3 }),
      one("new", { status: "dismissed", resolvedAt: 7 }),
    ];

    expect(
      groupsOf(all).map(({ severity, items }) => [severity, items.map(({ id }) => id)]),
    ).toEqual([
      ["critical", ["grave"]],
      ["medium", ["early", "late"]],
    ]);
    expect(closedOf(all).map(({ id }) => id)).toEqual(["new", "old"]);
  });

  test("says what a call is about by its arguments, without the ledger's key and ids that a link leads to", () => {
    expect(
      aboutOf(
        one("a", { context: { tool: "send", key: "s/1", input: { to: "엄마", amount: 5 } } }),
      ),
    ).toEqual({ tool: "send", to: "엄마", amount: 5 });
    expect(aboutOf(one("b", { context: { message: "안녕", effects: [] } }))).toEqual({
      message: "안녕",
      effects: [],
    });
    expect(
      aboutOf(one("c", { source: { job: "job_1" }, context: { jobId: "job_1", turnsDone: 3 } })),
    ).toEqual({ turnsDone: 3 });
  });

  test("leads to where it comes from: the job or the room rather than their session", () => {
    expect(linksOf({ session: "s1", turn: "t" })).toEqual([{ kind: "session", id: "s1" }]);
    expect(linksOf({ session: "job:job_1:eden" })).toEqual([{ kind: "job", id: "job_1" }]);
    expect(linksOf({ session: "room:eden:web:general" })).toEqual([
      { kind: "room", id: "web:general" },
    ]);
    expect(linksOf({ job: "job_1", room: "web:general" })).toEqual([
      { kind: "job", id: "job_1" },
      { kind: "room", id: "web:general" },
    ]);
    expect(linksOf({ run: "run_1", port: "api" })).toEqual([{ kind: "run", id: "run_1" }]);
    expect(linksOf({})).toEqual([]);
  });

  test("names the agent that it is about, from its session or its context", () => {
    const ofSession = (session: string) => agentOf(one("a", { source: { session } }));

    expect(ofSession("room:eden:web:general")).toBe("eden");
    expect(ofSession("job:job_1:eden")).toBe("eden");
    expect(ofSession("s1")).toBeUndefined();
    expect(agentOf(one("a", { context: { agent: "ruda" } }))).toBe("ruda");
  });
});

test("an answer that did not do what was asked is told apart by why", () => {
  const error = (code: string) => anAnswer("t", { error: { code, message: "" } }).done;

  expect([
    toneOf(anAnswer("t").done),
    toneOf(error("EFFECT_UNKNOWN")),
    toneOf(error("APPROVAL_PENDING")),
    toneOf(error("TURN_STOPPED")),
    toneOf(error("MODEL_TIMEOUT")),
  ]).toEqual([undefined, "waits", "waits", "stopped", "failed"]);
});

test("a service speaks the language of the page where it has words for it", () => {
  const service: ServiceInfo = {
    name: "transfer",
    title: "이체",
    description: "돈을 보내요.",
    examples: ["엄마에게 5만원 보내줘"],
    flows: [],
    default: true,
    translations: [{ language: "en", title: "Transfer", examples: ["Send 50,000 won to Mom"] }],
    slots: [
      {
        ...{ name: "target", label: "받는 분", required: true, type: "text" },
        labels: { ko: "받는 분", en: "Recipient" },
      },
    ],
  };

  expect(inLanguage(service, "en")).toMatchObject({
    title: "Transfer",
    description: "돈을 보내요.",
    examples: ["Send 50,000 won to Mom"],
    slots: [{ label: "Recipient" }],
  });
  expect(inLanguage(service, "ko")).toEqual(service);
});

test("what is new is told also where another question was answered meanwhile", () => {
  const [a, b] = [{ id: "a" }, { id: "b" }];

  expect([hasNew([a], [b]), hasNew([a], [a, b]), hasNew([a, b], [b]), hasNew([], [])]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("money and days are written as they are said", () => {
  expect([moneyOf(50_000, "ko"), moneyOf(50_000, "en"), moneyOf(3.5, "en", "USD")]).toEqual([
    "50,000원",
    "₩50,000",
    "$3.50",
  ]);
  const day = (text: string, language: "ko" | "en"): string =>
    shownFact("transfer_date", text, { language, text: TEXTS[language] });
  expect([
    day("2026-12-01", "ko"),
    day("2026-12-01", "en"),
    day("내일", "ko"),
    day("2026-13-45", "ko"),
  ]).toEqual(["2026년 12월 1일 화요일", "Tuesday, December 1, 2026", "내일", "2026-13-45"]);
});

test("a value of a form is shown by what its slot takes, in the language of the page", () => {
  const chosen = [{ value: "kim", label: "김 원장", labels: { en: "Dr. Kim" } }];
  const slotOf = (name: string, type: string, options = chosen): SlotInfo => ({
    ...{ name, label: "의사 선생님", required: true, type, options },
  });
  const service = {
    name: "practice",
    slots: [slotOf("doctor", "choice")],
  } as unknown as ServiceInfo;
  const shown = (language: "ko" | "en", value: unknown, type: string): string =>
    shownFact("one", value, { language, text: TEXTS[language] }, slotOf("one", type));
  const [doctor] = inLanguage(service, "en").slots ?? [];

  expect([
    shown("ko", "kim", "choice"),
    shownFact("doctor", "kim", { language: "en", text: TEXTS.en }, doctor),
    shown("ko", 3_000_000, "money"),
    shown("ko", "3000000", "money"),
    shown("ko", "2026-12-01/2026-12-03", "date_range"),
    shown("ko", "15:00", "text"),
  ]).toEqual([
    ...["김 원장", "Dr. Kim", "3,000,000원", "3,000,000원"],
    ...["2026년 12월 1일 화요일 – 2026년 12월 3일 목요일", "15:00"],
  ]);
  expect(labelOf("doctor", TEXTS.ko, service.slots)).toBe("의사 선생님");
});

test("the words of the last answer's card go before the keys of the state", () => {
  const slots: SlotInfo[] = [{ name: "amount", label: "금액", required: true, type: "integer" }];
  const state = { slots: {}, meta: { slot_errors: { amount: "AMOUNT_UNREADABLE" } } };
  const card = {
    slots: [{ name: "amount", label: "Amount", error: "I could not read the amount." }],
  };

  expect(slotFields(slots, state, card)).toMatchObject([
    { slot: { label: "Amount" }, error: "I could not read the amount." },
  ]);
  expect(slotFields(slots, state)).toMatchObject([
    { slot: { label: "금액" }, error: "AMOUNT_UNREADABLE" },
  ]);
  expect(slotFields(slots, { slots: {}, meta: {} }, card)[0]?.error).toBeUndefined();
});
