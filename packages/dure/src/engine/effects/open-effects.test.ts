import { expect, test } from "vitest";
import { z } from "zod";
import { Inbox } from "../../escalations/inbox.ts";
import { offlineModel } from "../../models/offline.ts";
import { chatAgent } from "../agent/agent.ts";
import { NotSentError, tool, type AnyTool } from "../agent/tool.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

/** Books, and loses the answer of the first payment. */
function payments(): { booked: string[]; pay: AnyTool } {
  const booked: string[] = [];
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string() }),
    effect: "once",
    execute: ({ to }) => {
      if (to === "refused") throw new NotSentError("REFUSED", "the bank said no");
      booked.push(to);
      if (booked.length === 1) throw new Error("socket hang up");
      return "paid";
    },
  });
  return { booked, pay };
}

/** Calls the tool for each name in the message, and goes on whatever comes of it. */
function payer(pay: AnyTool, other: AnyTool = pay): Service {
  return defineService({
    name: "payer",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        if (turn.escalation) return turn.done({ message: turn.escalation.answer });
        const outcomes: string[] = [];
        for (const to of turn.message.split(" ")) {
          const name = to.startsWith("other-") ? "other" : "pay";
          const called = turn.call(name, name === "pay" ? pay : other, { to }, { key: [to] });
          outcomes.push(await called.then(({ status }) => status).catch(() => "error"));
        }
        return turn.done({ message: outcomes.join(" ") });
      }),
    },
  });
}

async function openQuestions(t: TestEngine): Promise<readonly { id: string; subject: string }[]> {
  return t.database.query({
    text: "select id, subject from dure.escalations where status = 'open'",
  });
}

test("while it is not known what came of a call, no later turn calls its tool for anything else", async () => {
  const { booked, pay } = payments();
  await using t = await startTestEngine(payer(pay));
  await t.say("hong");

  const again = await t.say("hong-gildong");
  const third = await t.say("gildong");

  for (const { done } of [again, third]) expect(done.error?.code).toBe("EFFECT_UNKNOWN");
  expect(booked).toEqual(["hong"]);
  expect(await openQuestions(t)).toMatchObject([
    { subject: expect.stringMatching(/\/pay\/hong$/) },
  ]);
});

test("a handler that goes on after an unknown call makes no other call of its tool in that turn", async () => {
  const { booked, pay } = payments();
  await using t = await startTestEngine(payer(pay));

  const { done } = await t.say("hong hong-gildong");

  expect(done.error?.code).toBe("EFFECT_UNKNOWN");
  expect(booked).toEqual(["hong"]);
});

test("other tools and other sessions go on, and so does this one when a person has answered", async () => {
  const { booked, pay } = payments();
  const free = payments();
  free.booked.push("before");
  await using t = await startTestEngine(payer(pay, free.pay));
  await t.say("hong");

  const other = await t.say("other-kim");
  const elsewhere = await t.say("lee", { session: "s2" });
  const [question] = await openQuestions(t);
  const inbox = new Inbox({ database: t.database, notifications: t.notifications });
  await inbox.answer(question!.id, { value: "happened" }, { tenant: "", name: "mina" });
  const after = await t.say("choi");

  expect([other, elsewhere, after].map(({ done }) => done.message)).toEqual([
    "done",
    "done",
    "done",
  ]);
  expect(booked).toEqual(["hong", "lee", "choi"]);
});

test("a call that was refused leaves nothing open", async () => {
  const { booked, pay } = payments();
  booked.push("before");
  await using t = await startTestEngine(payer(pay));

  await t.say("refused");

  expect((await t.say("hong")).done.message).toBe("done");
});

test("a model that plans the same payment in other words makes no second one", async () => {
  const { booked, pay } = payments();
  const names = ["홍길동", "홍 길동", "길동이"];
  const model = offlineModel("planner", ({ messages }) => {
    if (messages.at(-1)?.role === "tool") return "끝났어요.";
    return { toolCalls: [{ id: "c1", name: "pay", args: { to: names.shift()! } }] };
  });
  const service = defineService({
    name: "chat",
    agents: { helper: chatAgent({ name: "helper", prompt: "Pay.", tools: { pay } }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
    },
  });
  await using t = await startTestEngine(service, { offline: [model] });

  const turns = [
    await t.say("홍길동에게 보내줘"),
    await t.say("보냈어?"),
    await t.say("다시 해줘"),
  ];

  expect(turns.map(({ done }) => done.error?.code)).toEqual(Array(3).fill("EFFECT_UNKNOWN"));
  expect(booked).toEqual(["홍길동"]);
});
