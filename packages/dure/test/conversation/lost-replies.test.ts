import { randomInt } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { tool, type AnyTool, type ToolOptions } from "../../src/engine/agent/tool.ts";
import { defineService, flow, type Service } from "../../src/engine/service/service.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";
import { Inbox } from "../../src/escalations/inbox.ts";
import { offlineModel, type OfflineModel } from "../../src/models/offline.ts";
import { numbersFrom } from "./rude-people.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

/**
 * The bank's answer is lost, after which the model plans the same payment again: in other words,
 * with other arguments, in another turn, on another process. Never is it booked twice; what stays
 * unknown is a question to a person. DURE_TEST_LONG=1: 10,000 lost answers instead of 200;
 * DURE_TEST_SEED: the seed that a failure printed.
 */
const { DURE_TEST_SEED: given, DURE_TEST_LONG: long } = process.env;
const SEED = given === undefined ? randomInt(2 ** 31) : Number(given);
const LOST = long === "1" ? 10_000 : 200;
/** Between two restarts. */
const IN_ONE_ROUND = long === "1" ? 500 : 100;
const AT_ONCE = 16;

const order = z.object({
  invoice: z.string(),
  to: z.string(),
  amount: z.number(),
  memo: z.string().optional(),
});
type Order = z.infer<typeof order>;

/** How the answer of the first call is lost. */
type Loss = "booked-then-cut" | "cut-before-booking" | "booked-then-killed";

/** What the service knows of its bank. */
const RULES = ["ask", "ask-by-words", "ask-by-invoice", "probe", "replay"] as const;
type Rule = (typeof RULES)[number];

function rulesOf(rule: Rule, bank: Bank): Partial<ToolOptions<Order, string>> {
  const byInvoice = ({ invoice }: Order): string => invoice;
  switch (rule) {
    case "ask":
      return {}; // each call is an effect of its own, and people are asked
    case "ask-by-words":
      return { key: ({ to, amount }) => [to, amount] };
    case "ask-by-invoice":
      return { key: byInvoice };
    case "probe":
      return { key: byInvoice, timeout: 50, probe: async ({ key }) => bank.find(key) };
    case "replay":
      return { key: byInvoice, recover: "replay" };
  }
}

/** One conversation, about one payment. */
interface Case {
  readonly session: string;
  readonly rule: Rule;
  readonly loss: Loss;
  readonly random: () => number;
  /** What people find out and answer before the last turn; else they leave it open. */
  readonly isAnswered: boolean;
}

class Bank {
  readonly booked: { invoice: string; key: string }[] = [];
  readonly #losses = new Map<string, Loss>();
  /** Calls that hang until their process is gone. */
  hanging = 0;
  lost = 0;

  loses(invoice: string, loss: Loss): void {
    this.#losses.set(invoice, loss);
  }

  async book({ invoice }: Order, key: string, signal: AbortSignal): Promise<string> {
    const loss = this.#losses.get(invoice);
    this.#losses.delete(invoice);
    if (loss !== undefined) this.lost += 1;
    if (loss === "cut-before-booking") throw new Error("socket hang up");
    const before = this.booked.find((booking) => booking.key === key);
    if (!before) this.booked.push({ invoice, key });
    if (loss === "booked-then-cut") throw new Error("socket hang up");
    if (loss !== "booked-then-killed") return "booked";

    this.hanging += 1;
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
  }

  find(key: string): "happened" | "not_happened" {
    return this.booked.some((booking) => booking.key === key) ? "happened" : "not_happened";
  }

  countOf(invoice: string): number {
    return this.booked.filter((booking) => booking.invoice === invoice).length;
  }
}

function payTool(bank: Bank, rule: Rule): AnyTool {
  return tool({
    description: "Pays an invoice.",
    inputSchema: order,
    effect: "once",
    timeout: "20s",
    settle: 50,
    execute: (wanted, { key }, { signal }) => bank.book(wanted, key, signal),
    ...rulesOf(rule, bank),
  });
}

function servicesOf(bank: Bank): readonly Service[] {
  return RULES.map((rule) =>
    defineService({
      name: rule,
      agents: {
        payer: chatAgent({
          name: "payer",
          prompt: "Pay.",
          tools: { pay: payTool(bank, rule) },
          card: { policy: { backoffSec: 0 } },
        }),
      },
      flows: {
        DEFAULT: flow(async (turn) => {
          if (turn.escalation) return turn.done({ message: turn.escalation.answer });
          return turn.done({ message: (await turn.agent("payer", "…")).text });
        }),
      },
    }),
  );
}

const PEOPLE = ["홍길동", "홍 길동", "길동이", "홍길동님", "Hong Gildong"];
const AMOUNTS = [50_000, 50_000, 50_001, 49_999];
const MEMOS = [undefined, "밥값", "점심", "lunch"];

/** Plans the payment at every word of the person, once or twice, each time in other words. */
function planner(cases: ReadonlyMap<string, Case>): OfflineModel {
  return offlineModel("planner", ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return "처리했어요.";
    const text = last?.role === "user" ? last.text : "";
    const invoice = /\[(\S+)\]/u.exec(text)![1]!;
    const { random } = cases.get(invoice)!;
    const calls = random() < 0.3 ? 2 : 1;
    return {
      toolCalls: Array.from({ length: calls }, (_, index) => ({
        id: `c${index}`,
        name: "pay",
        args: {
          invoice,
          to: oneOf(PEOPLE, random),
          amount: oneOf(AMOUNTS, random),
          memo: oneOf(MEMOS, random),
        },
      })),
    };
  });
}

function oneOf<T>(list: readonly T[], random: () => number): T {
  return list[Math.floor(random() * list.length)]!;
}

const WORDS = ["보냈어?", "다시 보내줘", "길동이한테 5만원", "아직이야?", "send it again please"];

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database[Symbol.asyncDispose]());

test(
  `of ${LOST} payments whose answer was lost none is booked twice, from seed ${SEED}`,
  { ...FULL, timeout: 1_800_000 },
  async () => {
    const bank = new Bank();
    const cases = new Map<string, Case>();
    const model = planner(cases);
    const start = (): Promise<TestEngine> =>
      startTestEngine(servicesOf(bank), {
        on: { url: database.url },
        offline: [model],
        engine: { locale: "ko" },
      });

    const findings: string[] = [];
    for (let first = 0; first < LOST; first += IN_ONE_ROUND) {
      const round = Array.from({ length: Math.min(IN_ONE_ROUND, LOST - first) }, (_, index) =>
        caseOf(first + index),
      );
      for (const one of round) {
        cases.set(one.session, one);
        bank.loses(one.session, one.loss);
      }
      findings.push(...(await converse(round, { bank, start })));
      for (const { session } of round) cases.delete(session);
    }

    expect(bank.lost).toBe(LOST);
    expect(findings).toEqual([]);
  },
);

function caseOf(index: number): Case {
  const random = numbersFrom(SEED + index);
  const rule = oneOf(RULES, random);
  return {
    session: `s${SEED + index}`,
    rule,
    loss: oneOf(["booked-then-cut", "cut-before-booking", "booked-then-killed"] as const, random),
    random,
    isAnswered: random() < 0.5,
  };
}

/** Three processes, one after the other; the first is cut off while some of its calls hang. */
async function converse(
  round: readonly Case[],
  { bank, start }: { bank: Bank; start: () => Promise<TestEngine> },
): Promise<readonly string[]> {
  const killed = round.filter(({ loss }) => loss === "booked-then-killed");
  const hanging = bank.hanging + killed.length;
  await using first = await start();
  const asked = new Map<string, string>();
  await atOnce(round, async (one) => {
    const { turnId } = await first.engine.accept({
      session: one.session,
      service: one.rule,
      message: `[${one.session}] 홍길동에게 5만원 보내줘`,
    });
    asked.set(one.session, turnId);
  });
  await atOnce(
    round.filter((one) => !killed.includes(one)),
    (one) => endOf(first, asked.get(one.session)!),
  );
  await expect.poll(() => bank.hanging, { timeout: 60_000 }).toBe(hanging);
  first.fence();
  await letGo(first);

  await using second = await start();
  await atOnce(killed, (one) => endOf(second, asked.get(one.session)!));
  await atOnce(round, (one) => sayAgain(second, one));
  await second.engine.stop({ graceMs: 10_000 });

  await using third = await start();
  await atOnce(round, (one) => sayAgain(third, one));
  const findings = await atOnce(round, async (one) =>
    wrongWith(one, bank, await openOf(third, one)),
  );
  await atOnce(round, (one) => answerTruly(third, one, bank));
  const later = await atOnce(round, (one) => wrongAfterAnswer(third, one, bank));
  return [...findings, ...later].flat();
}

async function endOf(t: TestEngine, turn: string): Promise<void> {
  for await (const { event } of t.engine.read(turn)) if (event.type === "DONE") return;
}

/** Its turns are those of a dead process now. */
async function letGo(t: TestEngine): Promise<void> {
  await t.database.query(
    {
      text: `update dure.turns set holder = null, epoch = epoch + 1
      where status = 'running' and holder = $1`,
    },
    [t.processId],
  );
}

async function sayAgain(t: TestEngine, { session, rule, random }: Case): Promise<void> {
  await t.say(`[${session}] ${oneOf(WORDS, random)}`, { session, service: rule });
}

async function openOf(t: TestEngine, { session }: Case): Promise<readonly { id: string }[]> {
  return t.database.query<{ id: string }>(
    {
      text: `select id from dure.escalations
        where session_id = $1 and type = 'effect_unknown' and status = 'open'`,
    },
    [session],
  );
}

/** Before people have answered anything. */
function wrongWith(
  { session, rule, loss }: Case,
  bank: Bank,
  open: readonly unknown[],
): readonly string[] {
  const booked = bank.countOf(session);
  const findsOut = rule === "probe" || rule === "replay";
  const expected = findsOut || loss !== "cut-before-booking" ? 1 : 0;
  const about = `DURE_TEST_SEED=${session.slice(1)}: ${rule}, ${loss}`;
  const findings: string[] = [];
  if (booked !== expected) findings.push(`${about}: booked ${booked} times`);
  if (open.length !== (findsOut ? 0 : 1)) findings.push(`${about}: ${open.length} questions`);
  return findings;
}

/** A person looks at the bank's books. */
async function answerTruly(t: TestEngine, one: Case, bank: Bank): Promise<void> {
  const [question] = await openOf(t, one);
  if (!question || !one.isAnswered) return;
  const value = bank.countOf(one.session) > 0 ? "happened" : "not_happened";
  const inbox = new Inbox({ database: t.database, notifications: t.notifications });
  const { turn } = await inbox.answer(question.id, { value }, { tenant: "", name: "mina" });
  await endOf(t, turn!);
}

/** What a key names is never booked again; what did not happen may be. */
async function wrongAfterAnswer(t: TestEngine, one: Case, bank: Bank): Promise<readonly string[]> {
  const before = bank.countOf(one.session);
  const namesIt = one.rule !== "ask" && one.rule !== "ask-by-words";
  if (one.isAnswered && before > 0 && !namesIt) return []; // a new payment, as far as dure knows
  if (one.isAnswered && before === 0 && !namesIt) return [];
  await sayAgain(t, one);
  const booked = bank.countOf(one.session);
  return booked <= 1
    ? []
    : [`DURE_TEST_SEED=${one.session.slice(1)}: booked ${booked} times at last`];
}

async function atOnce<Row, Result>(
  rows: readonly Row[],
  work: (row: Row) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = [...rows];
  const go = async (): Promise<void> => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      results.push(await work(row));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, go));
  return results;
}
