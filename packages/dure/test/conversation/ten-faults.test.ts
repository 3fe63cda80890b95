// @module-tag slow
import { UnfriendlyProvider } from "@dure/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Booking } from "../../../../examples/transfer/bank/ledger.ts";
import { MESSAGES } from "../../../../examples/transfer/messages.ts";
import { answerTransfer } from "../../../../examples/transfer/offline.ts";
import { agentAsked } from "../../../../examples/transfer/prompts.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { AgentResult, customAgent } from "../../src/engine/agent/agent.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import type { OfflineAnswer } from "../../src/models/offline.ts";
import { openOffice, type Desk, type Office, type WireDone, type WireEvent } from "./desk.ts";

/**
 * Faults that were seen with real models and people, over HTTP with a bank that counts. The first
 * kind, a yes that binds to the wrong question, has a file of its own: yes.test.ts.
 */
const { ko } = MESSAGES;
const HONG = { target: "홍길동", amount: 50_000 };
const ORDER = "홍길동에게 5만원 보내줘";

let office: Office;
let desk: Desk;
beforeAll(async () => {
  office = await openOffice();
  desk = await office.open();
}, 120_000);
afterAll(() => office?.[Symbol.asyncDispose]());

let sessions = 0;

/** A person with a session of its own, in front of the same server. */
function newPerson(at: Desk = desk, service = "transfer") {
  const session = `person${++sessions}`;
  const words = (message: string) => ({ message, service, session_id: session });
  return {
    say: (message: string): Promise<WireDone> => at.say(words(message)),
    hear: (message: string): Promise<readonly WireEvent[]> => at.hear(words(message)),
    booked: (): readonly Booking[] =>
      office.bank.bookings().filter(({ key }) => key.startsWith(`${session}/`)),
  };
}

/** While `work` runs, an agent of the transfer answers this instead. */
async function withAnswer<T>(
  agent: NonNullable<ReturnType<typeof agentAsked>>,
  answer: (request: ModelRequest) => OfflineAnswer,
  work: () => Promise<T>,
): Promise<T> {
  office.mood.answer = (request) =>
    agentAsked(request.system ?? "") === agent ? answer(request) : undefined;
  try {
    return await work();
  } finally {
    office.mood.answer = undefined;
  }
}

const answers = (object: unknown) => (): OfflineAnswer => ({
  object: JSON.parse(JSON.stringify(object)) as Record<string, never>,
});
const set = (slot: string, value: unknown) => ({ slot, value, quote: value });
const reading = (...changes: readonly unknown[]) => ({ kind: "details", items: [{ changes }] });

describe("2. people are lost", () => {
  test("another recipient in READY waits behind the first: each is asked about and booked", async () => {
    const person = newPerson();

    await person.say("엄마한테 3만원 보내줘");
    const added = await person.say("아빠한테도 2만원");
    const next = await person.say("네");
    const done = await person.say("응");

    expect(added).toMatchObject({ next_action: "CONFIRM" });
    expect(added.message).toContain(ko.confirmQuestion({ target: "엄마", amount: 30_000 }));
    expect(next.message).toContain(ko.confirmQuestion({ target: "아빠", amount: 20_000 }));
    expect(done.message).toContain("완료 2건");
    expect(person.booked().map(({ to, amount }) => [to, amount])).toEqual([
      ["엄마", 30_000],
      ["아빠", 20_000],
    ]);
  });

  test("tasks that a model returns in READY are asked about, not dropped", async () => {
    const person = newPerson();
    const dad = reading(set("target", "아빠"), set("amount", "2만원"));

    await person.say(ORDER);
    await withAnswer("slots", answers(dad), () => person.say("그리고 아빠 2만원"));
    await person.say("네");
    await person.say("응");

    expect(person.booked().map(({ to }) => to)).toEqual(["홍길동", "아빠"]);
  });
});

test("3. a custom agent shows what it yields once, keeps its thoughts, and offers its tools", async () => {
  const offered: unknown[] = [];
  office.mood.answer = ({ tools }) => {
    offered.push(tools?.map(({ name }) => name));
    return { text: "a secret thought" };
  };
  const rate = tool({ description: "The rate.", inputSchema: z.object({}), execute: () => 1 });
  const clerk = customAgent({
    name: "clerk",
    tools: { rate },
    async *stream(context) {
      await context.model({ messages: [{ role: "user", text: "think" }] });
      yield "두 번 ";
      yield "생각했어요.";
      return AgentResult.success({});
    },
  });
  const thinking = defineService({
    name: "thinking",
    agents: { clerk },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "")).text })),
    },
  });
  await using other = await testDatabaseUrl();
  await using at = await office.open({ services: { thinking }, databaseUrl: other.url });

  const events = await newPerson(at, "thinking").hear("hello");
  office.mood.answer = undefined;

  const shown = events.filter(({ type }) => type === "LLM_TOKEN").map(({ data }) => data);
  expect(shown.join("")).toBe("두 번 생각했어요.");
  expect(JSON.stringify(events)).not.toContain("a secret thought");
  expect(offered).toEqual([["rate"]]);
});

test("4. a null for what was not said discards nothing of an extraction", async () => {
  const person = newPerson();
  const changes = [
    { slot: "target", value: "홍길동", quote: null },
    { slot: "amount", value: "5만원", quote: "5만원" },
  ];
  const withNulls = { kind: "details", items: [{ changes }], clear: null, note: null };

  await withAnswer("slots", answers(withNulls), () => person.say(ORDER));
  const done = await person.say("네");

  expect(done).toMatchObject({ next_action: "DONE", receipt: HONG });
  expect(person.booked()).toHaveLength(1);
});

describe("5. structured output over the wire", () => {
  test.each([
    ["openai:gpt-4.1-mini", ["strict", "json_schema", "json_object"]],
    ["openai-compatible:one", ["json_schema"]],
    ["openai-compatible:two", ["json_object"]],
    ["openai-compatible:three", []],
    ["anthropic:claude-sonnet-4-5", []],
  ] as const)(
    "a transfer is asked about and booked once with %s, which knows %j",
    async (model, formats) => {
      await using provider = await UnfriendlyProvider.start({
        seed: 1,
        often: 0,
        abilities: { formats: [...formats] },
        answer: ({ system, lastText }) => {
          const messages = [{ role: "user" as const, text: lastText }];
          const { text, object } = answerTransfer({ system, messages }) ?? { text: "?" };
          return { text, object };
        },
      });
      const url = `${provider.url}/v1`;
      const environment = {
        DURE_MODEL: model,
        OPENAI_API_KEY: "key",
        OPENAI_BASE_URL: url,
        ANTHROPIC_API_KEY: "key",
        ANTHROPIC_BASE_URL: url,
      };
      await using other = await testDatabaseUrl();
      await using at = await office.open({ databaseUrl: other.url, environment });
      const person = newPerson(at);

      expect(await person.say(ORDER)).toMatchObject({ message: ko.confirmQuestion(HONG) });
      expect(await person.say("네")).toMatchObject({ receipt: HONG });
      expect(person.booked()).toHaveLength(1);
    },
  );
});

describe("6. what is asked of a model, and what is read in its answer", () => {
  test("intent and slots are asked at temperature 0, in the session's language alone", async () => {
    const seen: ModelRequest[] = [];
    office.mood.answer = (request) => void seen.push(request);

    await newPerson().say(ORDER);
    office.mood.answer = undefined;

    expect(seen.map(({ temperature }) => temperature)).toEqual([0, 0]);
    for (const { system = "" } of seen) {
      expect(agentAsked(system)).toMatch(/^(?:intent|slots)$/);
      expect(system).not.toMatch(/You classify|Write down as JSON/);
    }
  });

  test.each(["담주 월욜", "크리스마스", "내일 오전 9시"])(
    "a model that copies %j as said has named a day, and the day is shown before it counts",
    async (when) => {
      const person = newPerson();
      const order = [set("target", "홍길동"), set("amount", "5만원씩")];
      const copied = answers(reading(...order, set("transfer_date", when)));

      const asked = await withAnswer("slots", copied, () =>
        person.say(`홍길동에게 5만원씩 ${when}에 보내줘`),
      );
      await person.say("네");

      const { transfer_date: date } = asked.state_snapshot["slots"] as { transfer_date: string };
      expect(asked.message).toContain(ko.confirmQuestion({ ...HONG, transfer_date: date }));
      expect(person.booked()).toMatchObject([{ amount: 50_000, date }]);
    },
  );

  test("a rough amount is asked about, and nothing is booked by a yes to it", async () => {
    const person = newPerson();

    const asked = await person.say("홍길동에게 5만원 정도 보내줘");
    await person.say("네");

    expect(asked.next_action).toBe("ASK");
    expect(person.booked()).toEqual([]);
  });
});

describe("7. yes and no are heard", () => {
  test.each(["안돼", "나중에 할게", "전부 취소해줘", "취소 부탁", "멈춰", "cancel everything"])(
    "%j cancels in READY whatever the model says",
    async (no) => {
      const person = newPerson();
      await person.say(ORDER);

      const said = await withAnswer("slots", answers({ kind: "confirm", items: [] }), () =>
        person.say(no),
      );
      await person.say("네");

      expect(said.state_snapshot).toMatchObject({ stage: "CANCELLED" });
      expect(person.booked()).toEqual([]);
    },
  );

  test.each(["yes", "👍", "확인요", "보내주십시오"])("%j confirms", async (yes) => {
    const person = newPerson();
    await person.say(ORDER);

    expect(await person.say(yes)).toMatchObject({ receipt: HONG });
    expect(person.booked()).toHaveLength(1);
  });

  test("cancel all ends all that wait", async () => {
    const person = newPerson();
    await person.say("엄마, 아빠, 동생한테 각각 3만원 보내줘");

    const ended = await person.say("전부 취소해줘");

    expect(ended.message).toContain("취소 3건");
    expect(person.booked()).toEqual([]);
  });
});

describe("8. answers on the way", () => {
  test("a question while slots are filled is answered each time, and costs no patience", async () => {
    const person = newPerson();
    await person.say("이체하고 싶어");

    for (let times = 0; times < 6; times++) await person.say("수수료 얼마야?");

    expect(await person.say(ORDER)).toMatchObject({ message: ko.confirmQuestion(HONG) });
  });

  test("방금 이체 됐어? is answered from the record, whatever the model would say", async () => {
    const person = newPerson();
    const lie = answers({ action: "chat", message: "아니요, 보내지 않았어요." });

    expect((await person.say("방금 이체 됐어?")).message).toBe(ko.status([]));
    await person.say(ORDER);
    await person.say("네");
    const told = await withAnswer("interaction", lie, () => person.say("방금 이체 됐어?"));

    expect(told.message).toContain("홍길동님 50,000원: 완료");
    expect(person.booked()).toHaveLength(1);
  });

  test("a model's false 보냈어요! is on no event of the turn", async () => {
    const person = newPerson();
    const claim = answers({ action: "chat", message: "방금 100,000원을 보냈어요!" });

    const events = await withAnswer("interaction", claim, async () => [
      ...(await person.hear("오늘 날씨 어때?")),
      ...(await person.hear("홍길동한테 보내줘")),
    ]);

    expect(JSON.stringify(events)).not.toContain("보냈어요");
    expect(person.booked()).toEqual([]);
  });
});

describe("9. the wire", () => {
  test("an agent's end tells the stage that it has led to, and of its decision the scenario", async () => {
    const person = newPerson();

    const events = [...(await person.hear(ORDER)), ...(await person.hear("7만원으로 바꿔줘"))];

    const ends = events.filter(({ type }) => type === "AGENT_DONE").map(({ data }) => data);
    expect(ends).toMatchObject([
      { agent: "intent", stage: "INIT" },
      { agent: "slots", stage: "READY" },
      { agent: "slots", stage: "READY" },
    ]);
    const results = ends.map((end) => (end as { result?: unknown }).result);
    const decision = { status: "success", data: { scenario: "TRANSFER" } };
    expect(results).toEqual([decision, undefined, undefined]);
  });

  test.each(["계좌이체 할래", "돈보내줘"])("%j begins a transfer", async (message) => {
    const done = await newPerson().say(message);

    expect(done.state_snapshot).toMatchObject({ stage: "FILLING" });
  });

  test("DURE_MODEL=offline is the team's own offline model", async () => {
    await using other = await testDatabaseUrl();
    const environment = { DURE_MODEL: "offline" };
    await using at = await office.open({ databaseUrl: other.url, environment });

    expect(await newPerson(at).say(ORDER)).toMatchObject({ message: ko.confirmQuestion(HONG) });
  });
});

describe("10. the offline stand-in", () => {
  test("a yes, a no and 배고프다 are the name of no one", async () => {
    const person = newPerson();
    await person.say("이체하고 싶어");

    for (const word of ["배고프다", "ok"]) {
      const copied = answers(reading(set("target", word)));
      const work = () => person.say(word);
      const done = await (word === "ok" ? withAnswer("slots", copied, work) : work());
      expect(done.state_snapshot).toMatchObject({ stage: "FILLING", slots: {} });
    }
  });

  test("엄마, 아빠, 동생한테 각각 3만원 is three transfers", async () => {
    const person = newPerson();

    await person.say("엄마, 아빠, 동생한테 각각 3만원");
    for (const yes of ["네", "응", "맞아"]) await person.say(yes);

    expect(person.booked().map(({ to, amount }) => [to, amount])).toEqual(
      ["엄마", "아빠", "동생"].map((to) => [to, 30_000]),
    );
  });

  test("a transfer that repeats is refused in words, and becomes none", async () => {
    const person = newPerson();

    const done = await person.say("매달 25일에 엄마한테 5만원 자동이체 해줘");
    await person.say("네");

    expect(done.message).toBe(ko.noRepeats);
    expect(person.booked()).toEqual([]);
  });
});
