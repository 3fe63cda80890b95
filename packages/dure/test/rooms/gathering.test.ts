// @module-tag slow
import { describe, expect, test } from "vitest";
import { GATHER } from "../../src/rooms/limits.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { ANONYMOUS, readyTeamOn, settled } from "./helpers.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const REST = { restMs: 300, mostMs: 1_500 } as const;

/** Answers `said`; the first answer is held until `go`. */
function heldAnswers(): { behave: Behave; heard: string[]; go: () => void; begun: Promise<void> } {
  const heard: string[] = [];
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  return {
    heard,
    begun: begun.promise,
    go: () => gate.resolve(),
    behave: async ({ text }) => {
      heard.push(text);
      begun.resolve();
      if (heard.length === 1) await gate.promise;
      return `답 ${heard.length}`;
    },
  };
}

describe("what one person says in a row", { timeout: 60_000 }, () => {
  test("ten quick messages are one turn, quoted in their order, and one answer", async () => {
    const heard: string[] = [];
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      gather: { restMs: 2_000, mostMs: 20_000 },
      behave: { ruda: ({ text }) => (heard.push(text), "알겠어요") },
    });

    const ids: string[] = [];
    for (let index = 1; index <= 10; index++) ids.push(await platform.say(team, `말 ${index}`));
    await settled(team);

    const lines = Array.from({ length: 10 }, (_none, index) => `민준: 말 ${index + 1}`);
    expect(heard).toEqual([lines.join("\n")]);
    expect(await platform.shown(team, "web:general")).toEqual([...lines, "루다: 알겠어요"]);
    const answers = await Promise.all(ids.map((id) => answerTo(team, id)));
    expect(new Set(answers).size).toBe(1);
    expect((await team.rooms.message(answers[0]!, ANONYMOUS)).replyTo).toBe(ids.at(-1));
  });

  test("the first message waits no longer than its bound for a person who does not rest", async () => {
    const heard: string[] = [];
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      gather: { restMs: 60_000, mostMs: 500 },
      behave: { ruda: ({ text }) => (heard.push(text), "알겠어요") },
    });

    await platform.say(team, "말 1");
    await platform.say(team, "말 2");

    await eventually(() => expect(heard).toEqual(["민준: 말 1\n민준: 말 2"]));
  });

  test("what comes while the answer runs is one turn behind it", async () => {
    const { behave, heard, go, begun } = heldAnswers();
    const platform = webPlatform();
    const team = await readyTeamOn(platform, { gather: REST, behave: { ruda: behave } });

    await platform.say(team, "처음");
    await begun;
    await platform.say(team, "하나 더");
    await platform.say(team, "또 하나");
    go();
    await settled(team);

    expect(heard).toEqual(["민준: 처음", "민준: 하나 더\n민준: 또 하나"]);
  });

  test("a person who goes on keeps another one not waiting, and their words stay apart", async () => {
    const heard: string[] = [];
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      gather: { restMs: 400, mostMs: 60_000 },
      behave: { ruda: ({ text }) => (heard.push(text), "알겠어요") },
    });

    await platform.say(team, "제 말은요");
    await platform.say(team, "지금 몇 시예요?", { person: "지우" });
    for (let index = 0; index < 4; index++) {
      await eventually(() => platform.say(team, `그리고 ${index}`));
    }
    await settled(team);

    expect(heard.toSorted()).toEqual([
      "민준: 제 말은요\n민준: 그리고 0\n민준: 그리고 1\n민준: 그리고 2\n민준: 그리고 3",
      "지우: 지금 몇 시예요?",
    ]);
  });

  test("with the policy queue each message has an answer of its own", async () => {
    const heard: string[] = [];
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      gather: { policy: "queue" },
      behave: { ruda: ({ text }) => (heard.push(text), "알겠어요") },
    });

    await platform.say(team, "말 1");
    await platform.say(team, "말 2");
    await settled(team);

    expect(heard).toEqual(["민준: 말 1", "민준: 말 2"]);
  });

  test("with the policy interrupt more words end the running answer, and are answered", async () => {
    const { behave, heard, go, begun } = heldAnswers();
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      gather: { ...REST, policy: "interrupt" },
      behave: { ruda: behave },
    });

    const first = await platform.say(team, "제주 날씨 알려 줘");
    await begun;
    await platform.say(team, "아니, 부산이요");
    go();
    await settled(team);

    expect(heard.at(-1)).toBe("민준: 아니, 부산이요");
    expect(
      (await platform.shown(team, "web:general")).filter((line) => line.startsWith("루다")),
    ).toEqual(["루다: 답 2"]);
    expect(await answerTo(team, first)).toBeUndefined();
  });

  test("two agents that are named answer a burst once each, the second behind the first", async () => {
    const platform = webPlatform();
    const team = await readyTeamOn(platform, { gather: REST });

    await platform.say(team, "@이든 @세움 배포해도 될까요?");
    await platform.say(team, "@이든 @세움 급해요");
    await settled(team);

    expect((await platform.shown(team, "web:general")).slice(2)).toEqual([
      "이든: 이든의 답입니다",
      "세움: 세움의 답입니다",
    ]);
    expect([team.calls("eden"), team.calls("seum")]).toEqual([1, 1]);
  });

  const LONG = { ...FULL, timeout: 180_000 };
  test("500 messages in a thread of two agents cost at most 60 model calls", LONG, async () => {
    const platform = webPlatform();
    const team = await readyTeamOn(platform, { gather: GATHER });
    const root = await platform.say(team, "@이든 @세움 시작해요");
    await settled(team);

    for (let begun = 0; begun < 500; begun += 20) {
      const some = Array.from({ length: 20 }, (_none, index) => `말 ${begun + index}`);
      await Promise.all(some.map((text) => platform.say(team, text, { below: root })));
    }
    await settled(team);

    const calls = team.calls("eden") + team.calls("seum") - 2;
    expect(calls).toBeLessThanOrEqual(60);
    const [row] = await team.database.query<{ open: number }>({
      text: `
        select count(*)::integer as open
        from dure.handlings h
        join dure.room_messages m on m.id = h.message
        where h.answer is null and m.author_kind = 'person'`,
    });
    expect(row!.open).toBe(0);
  });
});

async function answerTo(team: TestTeam, message: string): Promise<string | undefined> {
  return (await team.rooms.message(message, ANONYMOUS)).roles["ruda"]?.answer;
}

test("a turn that is stopped over the API leaves a line in its room", async () => {
  const { behave, go, begun } = heldAnswers();
  const platform = webPlatform();
  const team = await readyTeamOn(platform, { behave: { ruda: behave } });
  await platform.say(team, "오래 걸리는 일이에요");
  await begun;
  const [row] = await team.database.query<{ turn: string }>({
    text: "select turn from dure.handlings where state = 'running'",
  });
  await team.engine.stopTurn(row!.turn, { caller: { tenant: "", name: "api" } });
  go();
  await settled(team);

  expect(await platform.shown(team, "web:general")).toEqual([
    "민준: 오래 걸리는 일이에요",
    "루다: 답하기 전에 멈췄어요.",
  ]);
});
