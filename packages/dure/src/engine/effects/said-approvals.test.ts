// @module-tag slow
import { expect, test } from "vitest";
import { ScriptedModel } from "@dure/testing";
import { z } from "zod";
import { Inbox } from "../../escalations/inbox.ts";
import type { OfflineReply } from "../../models/offline.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool, type AnyTool, type ToolOptions } from "../agent/tool.ts";
import { combineServices, keywordRouter } from "../service/combine.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

/** A yes to an agent's tool that the person says in the conversation itself. */

interface Payment {
  readonly to: string;
  readonly amount: number;
}

type Approval = Exclude<ToolOptions<Payment, unknown>["approval"], boolean | undefined>;

const QUESTION = ({ to, amount }: Payment): string => `${to}에게 ${amount}원을 보낼까요?`;

/** A bank that books, and tools that ask for a yes first. */
class Bank {
  readonly booked: Payment[] = [];

  tool(approval: Approval): AnyTool {
    return tool({
      description: "Pays.",
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      effect: "once",
      execute: (payment) => this.#book(payment),
      approval: { question: QUESTION, ...approval },
    });
  }

  #book(payment: Payment): { receipt: string } {
    this.booked.push(payment);
    return { receipt: `tx_${this.booked.length}` };
  }
}

function payService(pay: AnyTool, name = "pay"): Service {
  return defineService({
    name,
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { pay } }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}

function pays(...payments: readonly Payment[]): OfflineReply {
  return {
    toolCalls: payments.map((args, index) => ({ id: `c${index}`, name: "pay", args: { ...args } })),
  };
}

const HONG = { to: "홍길동", amount: 50_000 };
const KIM = { to: "김철수", amount: 30_000 };

interface World extends AsyncDisposable {
  readonly t: TestEngine;
  readonly bank: Bank;
  readonly model: ScriptedModel;
}

async function openWorld(
  script: ConstructorParameters<typeof ScriptedModel>[0],
  approval: Approval = { by: "person" },
): Promise<World> {
  const bank = new Bank();
  const model = new ScriptedModel(script);
  const t = await startTestEngine(payService(bank.tool(approval)), {
    offline: [model],
    model: "offline:scripted",
  });
  return { t, bank, model, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

function inboxOf({ database, notifications }: TestEngine): Inbox {
  return new Inbox({ database, notifications });
}

const OPERATOR = { tenant: "", name: "operator" };

async function asked(t: TestEngine, status?: "open"): Promise<readonly { readonly id: string }[]> {
  return (await inboxOf(t).list({ tenant: "", status, session: "s1" })).items;
}

test("a person is asked in the conversation, with the call, and a yes in words makes it once", async () => {
  await using world = await openWorld([
    pays(HONG),
    { expect: /tx_1/, reply: "보냈어요. 접수 번호는 tx_1이에요." },
  ]);
  const { t, bank, model } = world;

  const { done, turnId } = await t.say("홍길동에게 5만원 보내줘");
  const [open] = await asked(t, "open");
  const answer = await t.say("네");

  expect(done).toMatchObject({
    message: "홍길동에게 50000원을 보낼까요?",
    nextAction: "CONFIRM",
    uiHint: { confirmId: turnId, buttons: ["확인", "취소"] },
    approvals: [
      { id: open!.id, tool: "pay", by: "person", args: { ...HONG }, question: done.message },
    ],
  });
  expect(done.error).toBeUndefined();
  expect(answer.done).toMatchObject({ message: "보냈어요. 접수 번호는 tx_1이에요." });
  expect(answer.done.approvals).toBeUndefined();
  expect(bank.booked).toEqual([HONG]);
  model.assertComplete();
});

test("one yes counts for all calls that were shown, and each is made once", async () => {
  await using world = await openWorld([
    pays(HONG, KIM),
    { expect: /tx_2/, reply: "둘 다 보냈어요." },
  ]);
  const { t, bank } = world;

  const { done, turnId } = await t.say("둘에게 보내줘");
  const answer = await t.say("확인", { confirmId: turnId });

  expect(done.message).toBe("홍길동에게 50000원을 보낼까요?\n김철수에게 30000원을 보낼까요?");
  expect(done.approvals).toHaveLength(2);
  expect(answer.done.message).toBe("둘 다 보냈어요.");
  expect(bank.booked).toEqual([HONG, KIM]);
});

test.for([
  ["no, forget it", "reject", /APPROVAL_REJECTED/],
  ["근데 수수료는 얼마야?", "left", /APPROVAL_CLOSED/],
  ["네 근데 7만원으로", "left", /APPROVAL_CLOSED/],
])(
  "%s closes the question, the model is told, and no later yes pays",
  async ([words, value, told]) => {
    await using world = await openWorld([
      pays(HONG),
      { expect: told as RegExp, reply: "알겠어요." },
      "무엇을 도와드릴까요?",
    ]);
    const { t, bank, model } = world;
    await t.say("홍길동에게 5만원 보내줘");
    const [open] = await asked(t, "open");

    const answer = await t.say(words as string);
    await t.say("네");

    expect(answer.done.message).toBe("알겠어요.");
    expect(bank.booked).toEqual([]);
    expect(await asked(t)).toMatchObject([{ id: open!.id, resolution: { value } }]);
    await expect(inboxOf(t).answer(open!.id, { value: "approve" }, OPERATOR)).rejects.toMatchObject(
      { code: "ESCALATION_CLOSED" },
    );
    model.assertComplete();
  },
);

test("a call whose question the client took back is told once as closed, and no later yes pays", async () => {
  await using world = await openWorld([
    pays(HONG),
    { expect: /APPROVAL_CLOSED: Not done: they took the question back/, reply: "알겠어요." },
    "무엇을 도와드릴까요?",
  ]);
  const { t, bank, model } = world;
  const { turnId } = await t.say("홍길동에게 5만원 보내줘");

  const isTakenBack = await t.engine.takeBack("s1", turnId);
  const answer = await t.say("네");
  await t.say("네");

  expect([isTakenBack, answer.done.message]).toEqual([true, "알겠어요."]);
  expect(bank.booked).toEqual([]);
  expect(await asked(t)).toMatchObject([{ resolution: { value: "left" } }]);
  const { messages } = model.requests.at(-1)!;
  expect(JSON.stringify(messages).match(/APPROVAL_CLOSED/gu)).toHaveLength(1);
  model.assertComplete();
});

test("a yes that was written before the question was shown pays nothing", async () => {
  const reached = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const bank = new Bank();
  const model = new ScriptedModel([pays(HONG), "무엇을 도와드릴까요?"]);
  const service = payService(bank.tool({ by: "person" }));
  const slow: Service = {
    ...service,
    flows: {
      DEFAULT: flow(async (turn) => {
        reached.resolve();
        await letGo.promise;
        return turn.done({ message: (await turn.agent("clerk", "…")).text });
      }),
    },
  };
  await using t = await startTestEngine(slow, { offline: [model], model: "offline:scripted" });

  const first = t.say("홍길동에게 5만원 보내줘");
  await reached.promise;
  const early = t.engine.turn({ session: "s1", message: "네" });
  await early.turnId;
  letGo.resolve();
  await first;
  await early.done;

  expect(bank.booked).toEqual([]);
  expect(await asked(t, "open")).toEqual([]);
});

test("a button of an earlier question pays nothing", async () => {
  await using world = await openWorld([pays(HONG), pays(KIM), "무엇을 도와드릴까요?"]);
  const { t, bank } = world;
  const first = await t.say("홍길동에게 5만원 보내줘");
  await t.say("아니 김철수에게 3만원");

  await t.say("확인", { confirmId: first.turnId });

  expect(bank.booked).toEqual([]);
});

test("a question whose time has passed is not answered by a yes", async () => {
  await using world = await openWorld(
    [pays(HONG), { expect: /no yes came in time/, reply: "시간이 지났어요." }],
    { by: "person", expires: 1 },
  );
  const { t, bank, model } = world;
  await t.say("홍길동에게 5만원 보내줘");

  const answer = await t.say("네");

  expect(answer.done.message).toBe("시간이 지났어요.");
  expect(bank.booked).toEqual([]);
  model.assertComplete();
});

test("who answers the inbox cannot say the person's yes, but a no", async () => {
  await using world = await openWorld([pays(HONG), { expect: /refused/, reply: "거절됐어요." }]);
  const { t, bank } = world;
  await t.say("홍길동에게 5만원 보내줘");
  const [open] = await asked(t, "open");
  const inbox = inboxOf(t);

  expect((await inbox.list({ tenant: "", status: "open" })).items).toEqual([]);

  await expect(inbox.answer(open!.id, { value: "approve" }, OPERATOR)).rejects.toMatchObject({
    code: "ANSWER_INVALID",
  });
  const { turn } = await inbox.answer(open!.id, { value: "reject" }, OPERATOR);
  for await (const { event } of t.engine.read(turn!)) {
    if (event.type === "DONE") expect(event.data.message).toBe("거절됐어요.");
  }

  expect(bank.booked).toEqual([]);
});

test("the person's yes is none where the operator is asked, and a no closes the question", async () => {
  await using world = await openWorld(
    [pays(HONG), "기다려 주세요.", pays(HONG), "그만둘게요."],
    {},
  );
  const { t, bank } = world;

  const { done } = await t.say("홍길동에게 5만원 보내줘");
  const [open] = await asked(t, "open");
  await t.say("네");
  const again = await t.say("됐나요? 다시 해 줘");
  await t.say("아니 됐어요 취소");

  expect(done.error?.code).toBe("APPROVAL_PENDING");
  expect(done.approvals).toEqual([
    { id: open!.id, tool: "pay", by: "operator", expiresAt: expect.any(Number) },
  ]);
  expect(again.done.approvals?.[0]?.id).toBe(open!.id);
  expect(bank.booked).toEqual([]);
  expect(await asked(t)).toMatchObject([
    { id: open!.id, resolution: { value: "reject" }, resolvedBy: "person" },
  ]);
});

test("a yes goes to the service that asked, and the call is made once over a death of the process", async () => {
  const bank = new Bank();
  const reached = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  let lives = 0;
  const pay = bank.tool({ by: "person" });
  const stuck: AnyTool = {
    ...pay,
    recover: "replay",
    execute: async (input, context, options) => {
      if (++lives > 1) return { receipt: "tx_1" };
      await pay.execute(input, context, options);
      reached.resolve();
      return never;
    },
  };
  const model = new ScriptedModel([pays(HONG), { expect: /tx_1/, reply: "보냈어요." }]);
  const faq = defineService({
    name: "faq",
    agents: {},
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: "자주 묻는 질문이에요." })) },
  });
  const service = combineServices({
    name: "desk",
    services: [payService(stuck), faq],
    router: keywordRouter({ rules: [{ keywords: ["홍길동"], service: "pay" }], default: "faq" }),
  });
  const options = { offline: [model], model: "offline:scripted" };
  await using t = await startTestEngine(service, options);
  await t.say("홍길동에게 5만원 보내줘");
  const { turnId } = await t.engine.accept({ session: "s1", message: "네" });
  await reached.promise;
  t.fence();
  await using other = await startTestEngine(service, { ...options, on: { url: t.url } });
  await other.engine.store.release(t.processId);

  const messages: string[] = [];
  for await (const { event } of other.engine.read(turnId)) {
    if (event.type === "DONE") messages.push(event.data.message);
  }

  expect(messages).toEqual(["보냈어요."]);
  expect([bank.booked, lives]).toEqual([[HONG], 2]);
});

test.each(["room:general", "job:job_1:clerk"])(
  "in %s, where no one person talks, the inbox is asked",
  async (session) => {
    await using world = await openWorld([pays(HONG)]);
    const { t } = world;

    const { done } = await t.say("홍길동에게 5만원 보내줘", { session });

    expect(done.error?.code).toBe("APPROVAL_PENDING");
    expect(done.approvals).toMatchObject([{ by: "operator" }]);
  },
);

test("arguments that are too long to be shown are left to the inbox", async () => {
  await using world = await openWorld([pays({ to: "홍".repeat(3_000), amount: 1 })], {
    by: "person",
    question: undefined as never,
  });

  const { done } = await world.t.say("보내줘");

  expect(done.approvals).toMatchObject([{ by: "operator" }]);
});

test("a tool that names another answerer is refused", () => {
  expect(() => new Bank().tool({ by: "boss" as never })).toThrow('approval.by cannot be "boss"');
});
