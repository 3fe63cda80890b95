// @module-tag slow
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { tool, type AnyTool } from "../../src/engine/agent/tool.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ONE_TRY } from "../outages/stage.ts";
import { eventually } from "../until.ts";
import { collaborate, readyTeamOn, settled, silent, teamOn, type TeamOptions } from "./helpers.ts";
import { onDiscord, onSlack, onWeb, type PressStage } from "./pressing.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

/** A call that needs the yes of the person whose words led to it, in a room with several people. */

interface Payment {
  readonly to: string;
  readonly amount: number;
}

const HONG: Payment = { to: "홍길동", amount: 50_000 };

class Bank {
  readonly booked: Payment[] = [];

  tool(by: "person" | "operator" = "person"): AnyTool {
    return tool({
      description: "Pays.",
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      effect: "once",
      recover: "replay",
      approval: { by },
      execute: (payment, { key }) => {
        if (!this.#keys.has(key)) this.booked.push(payment);
        this.#keys.add(key);
        return { receipt: `tx_${this.booked.length}` };
      },
    });
  }

  readonly #keys = new Set<string>();
}

/** Pays what is asked for, says what came of it, and answers small talk. */
const pays =
  (payment: Payment = HONG): Behave =>
  ({ request, text }) => {
    const last = request.messages.at(-1);
    if (last?.role === "tool") {
      const result = JSON.stringify(last.result);
      if (result.includes("tx_")) return "보냈어요";
      return result.includes("APPROVAL_") ? "그만둘게요" : "기다릴게요";
    }
    return text.includes("보내줘")
      ? { toolCalls: [{ name: "pay", args: { ...payment } }] }
      : "말씀하세요";
  };

interface Stage extends PressStage {
  readonly team: TestTeam;
  readonly bank: Bank;
  say(text: string, person?: string): Promise<void>;
  /** What the agents have said. */
  said(): Promise<readonly string[]>;
}

type Open = (team: () => TestTeam) => Promise<PressStage> | PressStage;

async function stageOn(
  open: Open,
  { by, payment }: { by?: "person" | "operator"; payment?: Payment } = {},
  options: TeamOptions = {},
): Promise<Stage> {
  const bank = new Bank();
  const teams: TestTeam[] = [];
  const stage = await open(() => teams[0]!);
  const running = await readyTeamOn(stage.platform, {
    tools: { pay: bank.tool(by) },
    behave: { ruda: pays(payment), eden: silent, seum: silent, dajim: silent },
    ...options,
  });
  teams.push(running);
  return {
    ...stage,
    team: running,
    bank,
    say: async (text, person = "민준") => {
      await stage.platform.say(running, text, { person });
      await settled(running);
    },
    said: async () =>
      (await stage.platform.shown(running, stage.place)).filter((line) =>
        line.startsWith("루다: "),
      ),
  };
}

const QUESTION = "루다: “pay” 작업을 진행할까요?";
const PLATFORMS: readonly (readonly [string, Open])[] = [
  ["the web", (team) => onWeb(team)],
  ["Discord", () => onDiscord()],
  ["Slack", () => onSlack()],
];

describe.each(PLATFORMS)(
  "a call that its person has to allow on %s",
  { timeout: 60_000 },
  (name, open) => {
    test("is a question with the exact arguments, and one press of that person makes it once", async () => {
      const stage = await stageOn(open);
      await stage.say("홍길동에게 5만원 보내줘");
      const press = await stage.button();
      const [asked] = await stage.said();

      expect(asked).toContain(QUESTION);
      expect(asked).toContain('"to": "홍길동"');
      expect(asked).toContain('"amount": 50000');
      expect(asked).toContain("민준 님이 답해 주세요");
      expect(await stage.look()).toEqual(["승인", "거절"]);
      expect(stage.bank.booked).toEqual([]);

      const told = await press("민준");
      await settled(stage.team);

      if (name !== "the web") expect(told).toBe("민준 님이 ‘승인’(으)로 답했어요.");
      const said = await stage.said();
      expect(said).toHaveLength(2);
      expect(said[0]).toContain("민준 님이 승인했어요.");
      expect(said[0]).not.toContain("답해 주세요");
      expect(said[1]).toBe("루다: 보냈어요");
      expect(await stage.look()).toEqual([]);
      expect(stage.bank.booked).toEqual([HONG]);
    });

    test("is made once for a yes in words, and not for that of another person", async () => {
      const stage = await stageOn(open);
      await stage.say("홍길동에게 5만원 보내줘");
      await stage.button();

      await stage.say("네", "서연");
      expect(stage.bank.booked).toEqual([]);
      expect(await stage.look()).toHaveLength(2);
      await stage.say("응");

      expect(stage.bank.booked).toEqual([HONG]);
      const said = await stage.said();
      expect(said[0]).toContain("민준 님이 승인했어요.");
      expect(said.slice(1)).toEqual(["루다: 말씀하세요", "루다: 보냈어요"]);
      expect(await stage.look()).toEqual([]);
    });

    test.for([
      ["no, forget it", "민준 님이 거절했어요."],
      ["근데 수수료는 얼마야?", "민준 님이 다른 이야기를 해서"],
    ] as const)("is closed by “%s”, and no later yes makes it", async ([words, end]) => {
      const stage = await stageOn(open);
      await stage.say("홍길동에게 5만원 보내줘");
      const press = await stage.button();

      await stage.say(words);
      const told = await press("민준");
      await stage.say("네");

      expect((await stage.said())[0]).toContain(end);
      expect(told).toBe(name === "the web" ? "ESCALATION_CLOSED" : "이미 답이 끝난 물음이에요.");
      expect((await stage.said())[1]).toBe("루다: 그만둘게요");
      expect(stage.bank.booked).toEqual([]);
    });

    test("tells another person who presses whom it asks, and changes nothing", async () => {
      const stage = await stageOn(open);
      await stage.say("홍길동에게 5만원 보내줘");
      const [yes, no] = [await stage.button(0), await stage.button(1)];

      const told = [await yes("서연"), await no("서연")];
      await settled(stage.team);

      const refusal = "민준 님에게 물은 거라서 민준 님만 답할 수 있어요.";
      const expected = name === "the web" ? "ANSWER_FORBIDDEN" : refusal;
      expect(told).toEqual([expected, expected]);
      expect(await stage.look()).toEqual(["승인", "거절"]);
      expect(stage.bank.booked).toEqual([]);
    });

    test("is made once for two presses at once, and a later one hears that it is answered", async () => {
      const stage = await stageOn(open);
      await stage.say("홍길동에게 5만원 보내줘");
      const [yes, no] = [await stage.button(0), await stage.button(1)];

      await Promise.all([yes("민준"), yes("민준")]);
      const late = await no("민준");
      await settled(stage.team);

      expect(late).toBe(name === "the web" ? "ESCALATION_CLOSED" : "이미 답이 끝난 물음이에요.");
      expect(stage.bank.booked).toEqual([HONG]);
      expect((await stage.said()).filter((line) => line === "루다: 보냈어요")).toHaveLength(1);
    });

    test("whose arguments do not fit into one message stands whole above its buttons", async () => {
      const payment = { to: "x".repeat(3_900), amount: 1 };
      const stage = await stageOn(open, { payment });
      await stage.say("보내줘");
      const press = await stage.button();
      const shown = (await stage.said()).join("").replaceAll(/[^x]/gu, "");

      await press("민준");
      await settled(stage.team);

      expect(shown).toHaveLength(3_900);
      expect(stage.bank.booked).toEqual([payment]);
      expect(await stage.look()).toEqual([]);
      expect((await stage.said()).join()).toContain("민준 님이 승인했어요.");
    });

    test("of an operator says honestly that one is asked, and then who decided what", async () => {
      const stage = await stageOn(open, { by: "operator" });
      await stage.say("홍길동에게 5만원 보내줘");
      const [asked] = await stage.said();
      const { items } = await stage.team.inbox.list({ tenant: "", status: "open" });

      await stage.say("네");
      expect(stage.bank.booked).toEqual([]);
      const by = { tenant: "", name: "boss" };
      await stage.team.inbox.answer(items[0]!.id, { value: "approve" }, by);
      await settled(stage.team);

      expect(asked).toContain("운영자에게 승인을 요청했어요.");
      const said = await stage.said();
      expect(said[0]).toContain("운영자 님이 승인했어요.");
      expect(said.at(-1)).toBe("루다: 보냈어요");
      expect(stage.bank.booked).toEqual([HONG]);
      expect(await stage.look()).toEqual([]);
    });
  },
);

describe("a question of a room", { timeout: 60_000 }, () => {
  const web: Open = (team) => onWeb(team);

  test("that was shown after the yes was written is not answered by it", async () => {
    const stage = await stageOn(web);
    await stage.platform.say(stage.team, "홍길동에게 5만원 보내줘");
    await stage.platform.say(stage.team, "네");
    await settled(stage.team);

    expect(stage.bank.booked).toEqual([]);
    expect(await stage.look()).toEqual(["승인", "거절"]);
  });

  test("is answered by a yes only for a time, and by its button later", async () => {
    const stage = await stageOn(web);
    await stage.say("홍길동에게 5만원 보내줘");
    const press = await stage.button();
    await age(stage.team, 11);
    expect(await press("민준")).toBe("");
    await settled(stage.team);
    await stage.say("하나 더 보내줘");
    await age(stage.team, 11);
    await stage.say("네");

    expect(stage.bank.booked).toEqual([HONG]);
  });

  test("is closed by its time, and a late press says so", async () => {
    const stage = await stageOn(web);
    await stage.say("홍길동에게 5만원 보내줘");
    const press = await stage.button();
    await stage.team.database.query({
      text: "update dure.escalations set expires_at = clock_timestamp() - interval '1 second'",
    });

    expect(await press("민준")).toBe("ESCALATION_CLOSED");
    await settled(stage.team);

    expect((await stage.said())[0]).toContain("답할 시간이 지나서");
    expect(await stage.look()).toEqual([]);
  });

  test("is answered in its own place alone, whatever a button names", async () => {
    const stage = await stageOn(web);
    await stage.say("홍길동에게 5만원 보내줘");
    await stage.button();
    const [question] = (await openQuestions(stage.team)).map(({ id }) => id);
    const { rooms } = stage.team;
    const who = { tenant: "", person: "민준" };
    const answer = { question: question!, value: "approve" };

    await expect(rooms.answerIn("web:quiet", who, answer)).rejects.toMatchObject({
      code: "ANSWER_FORBIDDEN",
    });
    await expect(
      rooms.answerIn("web:general", { ...who, tenant: "acme" }, answer),
    ).rejects.toMatchObject({ class: expect.stringMatching(/forbidden|not-found/) });
    await expect(
      rooms.answerIn("web:general", who, { ...answer, value: "approve_session" }),
    ).rejects.toMatchObject({ code: "ANSWER_INVALID" });
    await expect(
      rooms.answerIn("web:general", who, { ...answer, question: "escalation_none" }),
    ).rejects.toMatchObject({ code: "ESCALATION_UNKNOWN" });

    expect(stage.bank.booked).toEqual([]);
    expect(await stage.look()).toHaveLength(2);
  });

  test("is not answered with a yes by those who answer the inbox", async () => {
    const stage = await stageOn(web);
    await stage.say("홍길동에게 5만원 보내줘");
    const [question] = await openQuestions(stage.team);
    const boss = { tenant: "", name: "boss" };
    const other = { ...boss, asker: { adapter: "web", id: "서연" } };

    for (const by of [boss, other]) {
      await expect(
        stage.team.inbox.answer(question!.id, { value: "approve" }, by),
      ).rejects.toMatchObject({ code: "ANSWER_INVALID" });
    }
    await stage.team.inbox.answer(question!.id, { value: "reject" }, boss);
    await settled(stage.team);

    expect(stage.bank.booked).toEqual([]);
    expect((await stage.said())[0]).toContain("운영자 님이 거절했어요.");
  });

  test("is for the operator where another agent has asked, not for a person", async () => {
    const bank = new Bank();
    const team = await readyTeamOn(webPlatform(), {
      tools: { pay: bank.tool() },
      behave: { eden: pays(), ruda: silent, seum: silent, dajim: silent },
    });
    await collaborate(team, "ruda", { targetAgent: "eden", message: "홍길동에게 보내줘" });
    await settled(team);

    const { items } = await team.inbox.list({ tenant: "", status: "open" });
    expect(items).toMatchObject([{ type: "decision", context: { tool: "pay" } }]);
    expect(items[0]!.context["by"]).toBeUndefined();
  });

  test("that two people lead to stands there once, and the second hears whom it asks", async () => {
    const stage = await stageOn(web);
    await stage.say("홍길동에게 5만원 보내줘");
    await stage.say("홍길동에게 5만원 보내줘", "서연");

    expect(await openQuestions(stage.team)).toHaveLength(1);
    expect((await stage.said()).at(-1)).toBe(
      "루다: 이미 민준 님에게 물어 두었어요. 답을 기다리고 있어요.",
    );
    expect(await stage.look()).toEqual(["승인", "거절"]);
  });

  test("whose process dies between the press and the answer is answered once by another", async () => {
    const reached = Promise.withResolvers<void>();
    const never = new Promise<never>(() => {});
    const bank = new Bank();
    const platform = webPlatform();
    const stuck: Behave = async (heard) => {
      if (heard.request.messages.at(-1)?.role !== "tool") return pays()(heard);
      reached.resolve();
      return never;
    };
    const options = { tools: { pay: bank.tool() } };
    const quiet = { eden: silent, seum: silent, dajim: silent };
    const first = await readyTeamOn(platform, { ...options, behave: { ruda: stuck, ...quiet } });
    await platform.say(first, "홍길동에게 5만원 보내줘");
    const press = await onWeb(() => first).button();
    await settled(first);
    await press("민준");
    await reached.promise;
    const second = await teamOn(platform, {
      ...options,
      on: first,
      behave: { ruda: pays(), ...quiet },
    });
    await fence(second, first);
    await eventually(async () =>
      expect(await platform.shown(second, "web:general")).toContain("루다: 보냈어요"),
    );
    await settled(second);

    const said = await platform.shown(second, "web:general");
    expect(said.filter((line) => line === "루다: 보냈어요")).toHaveLength(1);
    expect(said[1]).toContain("민준 님이 승인했어요.");
    expect(bank.booked).toEqual([HONG]);
  });

  test("whose turn fails after the yes tells its person, who may go on from there", async () => {
    let isAway = true;
    const fails: Behave = (heard) =>
      heard.request.messages.at(-1)?.role === "tool" && isAway
        ? { text: "", error: { status: 503 } }
        : pays()(heard);
    const engine = {
      attemptRules: () => ONE_TRY,
      patienceMs: () => 50,
      outageRetry: { firstMs: 60_000, maxMs: 60_000 },
    };
    const quiet = { eden: silent, seum: silent, dajim: silent };
    const stage = await stageOn(web, {}, { engine, behave: { ruda: fails, ...quiet } });
    await stage.say("홍길동에게 5만원 보내줘");
    const press = await stage.button();
    await press("민준");
    await settled(stage.team);
    const messages = await stage.team.rooms.reader.messages("web:general", {});
    const retry = messages.at(-1)!.buttons![0]!.value;

    expect(messages.at(-1)!.replyTo).toBe(messages[0]!.id);
    isAway = false;
    const who = { tenant: "", person: "민준" };
    await stage.team.rooms.retryIn("web:general", who, retry.slice("retry:".length));
    await settled(stage.team);

    expect((await stage.said()).at(-1)).toBe("루다: 보냈어요");
    expect(stage.bank.booked).toEqual([HONG]);
  });

  test(
    "of Discord that was removed there is posted again with what was decided",
    FULL,
    async () => {
      const stage = await stageOn(() => onDiscord());
      await stage.say("홍길동에게 5만원 보내줘");
      await stage.button();
      await stage.remove!();

      await stage.say("응");

      expect((await stage.said()).join()).toContain("민준 님이 승인했어요.");
      expect(await stage.look()).toEqual([]);
      expect(stage.bank.booked).toEqual([HONG]);
    },
  );
});

async function openQuestions({ database }: TestTeam): Promise<readonly { readonly id: string }[]> {
  return database.query({ text: "select id from dure.escalations where status = 'open'" });
}

/** As if everything that is shown had been shown so many minutes earlier. */
async function age({ database }: TestTeam, minutes: number): Promise<void> {
  await database.query(
    {
      text: `
        update dure.room_questions
        set shown_at = shown_at - $1::integer * interval '1 minute'`,
    },
    [minutes],
  );
}

/** A process that the others think dead: from now on it may write nothing. */
async function fence(by: TestTeam, dead: TestTeam): Promise<void> {
  await by.database.query(
    {
      text: `
        update dure.processes
        set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'
        where id = $1`,
    },
    [dead.processId],
  );
}
