import { describe, expect, test } from "vitest";
import { startTestEngine } from "../../../packages/dure/src/engine/test-engine.ts";
import { FULL } from "../../../packages/dure/src/kernel/test-tiers.ts";
import { startBank } from "../bank/bank.ts";
import { transferModel } from "../offline.ts";
import { createTransferService } from "../service.ts";
import { judge, MONEY_CLASSES, type Judged, type Verdict } from "./judge.ts";
import { countOf, tableOf } from "./table.ts";
import { asOfToday, hear, RICH } from "./through-service.ts";
import { understand, type Outcome } from "./understand.ts";
import { CLASSES, readUtterances, TODAY, type Utterance } from "./utterances.ts";

const utterances = await readUtterances();

function texts(judged: readonly Judged[], verdict: Verdict): string[] {
  return judged.filter((one) => one.verdict === verdict).map(({ utterance }) => utterance.text);
}

test("there are utterances of every class, in two languages, each of them once", () => {
  const keys = utterances.map(({ text, stage, asked }) => [text, stage, asked].join());

  expect(utterances.length).toBeGreaterThanOrEqual(400);
  expect(new Set(keys).size).toBe(utterances.length);
  expect(new Set(utterances.map((one) => one.class))).toEqual(new Set(CLASSES));
  expect(utterances.filter(({ text }) => !/[가-힣ㄱ-ㅎ]/u.test(text)).length).toBeGreaterThan(100);
});

describe("the parsers alone", () => {
  const judged = utterances.map((one) => judge(one, understand(one, TODAY)));

  test("understand nothing that was not said", () => {
    expect(texts(judged, "wrong")).toEqual([]);
  });

  test("hear every yes, no and cancel, and no yes where there is none", () => {
    const replies = judged.filter(({ utterance }) =>
      /^(?:yes|no|cancel-.*|unsure)$/.test(utterance.class),
    );

    expect(texts(replies, "missed")).toEqual([]);
    expect(texts(replies, "asked")).toEqual([]);
  });

  test("ask at most three questions too many", () => {
    expect(texts(judged, "asked").length).toBeLessThanOrEqual(3);
    expect(texts(judged, "missed")).toEqual([]);
  });

  test("understand the same in decomposed Unicode", () => {
    for (const utterance of utterances) {
      const decomposed = { ...utterance, text: utterance.text.normalize("NFD") };
      const again = judge(utterance, understand(decomposed, TODAY));
      expect([utterance.text, again.verdict]).toEqual([
        utterance.text,
        judge(utterance, understand(utterance, TODAY)).verdict,
      ]);
    }
  });
});

/** Asked about on these days: the day they name is this weekday, or is past in this week. */
const IN_DOUBT: Readonly<Record<string, readonly string[]>> = {
  Friday: ["금욜에 민수한테 2만원 보내줘", "send mom 50k by Friday"],
  Saturday: ["Send Dad 15k this Friday"],
  Sunday: ["Send Dad 15k this Friday"],
};

function weekdayNow(): string {
  const day = new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "Asia/Seoul" });
  return day.format(Date.now());
}

test(
  "the service with the offline model books nothing that was not said",
  { ...FULL, timeout: 120_000 },
  async () => {
    const bank = await startBank({ accounts: RICH });
    await using t = await startTestEngine(createTransferService({ bankUrl: bank.url }), {
      offline: [transferModel],
    });
    const desk = {
      say: async ({ session, message, ...request }: { session: string; message: string }) =>
        t.engine.turn({ session, message, ...request }).done,
      bookings: () => bank.bookings().length,
    };

    const judged: Judged[] = [];
    for (const [place, utterance] of utterances.entries()) {
      if (utterance.asked === "date") continue; // the service asks for no day
      const outcome = await hear(utterance, desk, `eval-${place}`);
      judged.push(judge(asOfToday(utterance, Date.now()), outcome));
    }
    await bank.stop();

    expect(texts(judged, "wrong")).toEqual([]);
    expect(texts(judged, "missed")).toEqual([]);
    const replies = judged.filter(({ utterance }) => !MONEY_CLASSES.includes(utterance.class));
    expect(texts(replies, "asked")).toEqual([]);
    const inDoubt = IN_DOUBT[weekdayNow()] ?? [];
    expect(texts(judged, "asked")).toEqual(expect.arrayContaining([...inDoubt]));
    expect(countOf(judged, "asked") - inDoubt.length).toBeLessThanOrEqual(11);
    expect(bank.bookings().length).toBe(
      judged.filter(({ outcome }) => outcome.kind === "yes").length,
    );
  },
);

const SAID: Utterance = { text: "엄마한테 5만원", class: "people", stage: "INIT", want: {} };
const MOM = { to: "엄마", won: 50_000 };
const NOTHING: Outcome = { kind: "other", payments: [], asks: false };

test.each<[Partial<Utterance>, Partial<Outcome>, Verdict]>([
  [{ want: { payments: [MOM] } }, { kind: "details", payments: [MOM] }, "right"],
  [{ want: { payments: [MOM] } }, { kind: "details", payments: [MOM], asks: true }, "asked"],
  [{ want: { payments: [MOM] } }, {}, "asked"],
  [{ want: { payments: [MOM] } }, { payments: [{ to: "아빠", won: 50_000 }] }, "wrong"],
  [{ want: { payments: [MOM] } }, { payments: [{ to: "엄마", won: 5 }] }, "wrong"],
  [{ want: { payments: [MOM, { ...MOM, to: "아빠" }] } }, { payments: [MOM] }, "wrong"],
  [{ want: { payments: [MOM] } }, { payments: [MOM], day: "2026-12-25" }, "wrong"],
  [{ want: { ask: true } }, { payments: [MOM] }, "wrong"],
  [{ want: { unsupported: "recurring" } }, { payments: [MOM] }, "wrong"],
  [{ want: { unsupported: "recurring" } }, { kind: "unsupported", asks: true }, "right"],
  [{ class: "question" }, { payments: [MOM] }, "wrong"],
  [{ class: "yes", stage: "READY" }, { kind: "yes" }, "right"],
  [{ class: "yes", stage: "READY" }, { kind: "unsure" }, "asked"],
  [{ class: "yes", stage: "READY" }, { kind: "cancel-one" }, "missed"],
  [{ class: "no", stage: "READY" }, { kind: "yes" }, "wrong"],
  [{ class: "other", stage: "READY" }, { kind: "yes" }, "wrong"],
  [{ class: "other", stage: "READY" }, { kind: "kept" }, "right"],
  [{ class: "cancel-all", stage: "READY" }, { kind: "cancel-one" }, "missed"],
  [
    { class: "change", stage: "READY", want: { won: 70_000 } },
    { kind: "change", payments: [{ to: "엄마", won: 7 }] },
    "wrong",
  ],
  [{ class: "change", stage: "READY", want: { won: 70_000 } }, { kind: "change" }, "asked"],
])("judges %j with %j as %s", (said, outcome, verdict) => {
  expect(judge({ ...SAID, ...said }, { ...NOTHING, ...outcome }).verdict).toBe(verdict);
});

test("prints a line per class and what was taken for what", () => {
  const judged = [
    judge({ ...SAID, class: "no", stage: "READY", text: "아니" }, { ...NOTHING, kind: "yes" }),
    judge({ ...SAID, class: "yes", stage: "READY", text: "네" }, { ...NOTHING, kind: "yes" }),
  ];

  expect(tableOf(judged)).toBe(
    [
      "class          said  right  asked missed  wrong",
      "yes               1      1      0      0      0",
      "no                1      0      0      0      1",
      "all               2      1      0      0      1",
      "",
      "taken for:",
      "   1  no → yes (wrong): 아니",
    ].join("\n"),
  );
});
