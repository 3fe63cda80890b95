// @module-tag slow
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { ANONYMOUS, participantsOf, readyTeamOn, settled, silent } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

/** What people do, and which agents answer; the same on every platform that has the gesture. */
interface Gesture {
  readonly gesture: string;
  /** Does it; gives the id of the message that shall be answered, or not. */
  readonly act: (at: Stage) => Promise<string>;
  readonly answers: readonly string[];
  /** Slack has no replies outside of threads. */
  readonly needsReplies?: true;
}

const GESTURES: readonly Gesture[] = [
  {
    gesture: "a thread below an agent's answer",
    act: async (at) => at.say("그럼 언제요?", { below: await at.answered("@세움 배포했어요?") }),
    answers: ["seum"],
  },
  {
    gesture: "a thread below an agent's answer, by another person",
    act: async (at) =>
      at.say("저도요", { below: await at.answered("@세움 배포했어요?"), person: "지우" }),
    answers: ["seum"],
  },
  {
    gesture: "the second message of such a thread",
    act: async (at) => {
      const below = await at.answered("@세움 배포했어요?");
      await at.say("그럼 언제요?", { below });
      return at.say("하나 더요", { below });
    },
    answers: ["seum"],
  },
  {
    gesture: "a thread below one's own question to an agent",
    act: async (at) => at.say("급해요", { below: await at.asked("@세움 배포했어요?") }),
    answers: ["seum"],
  },
  {
    gesture: "a thread below one's own question that the default agent answered",
    act: async (at) => at.say("급해요", { below: await at.asked("오늘 일정 있어요?") }),
    answers: ["ruda"],
  },
  {
    gesture: "a thread of other people below a question that the default agent answered",
    act: async (at) =>
      at.say("우리도 갈까요?", { below: await at.asked("점심 뭐 먹죠?"), person: "지우" }),
    answers: [],
  },
  {
    gesture: "a mention of another agent in a thread below an answer",
    act: async (at) => at.say("@이든 이것 봐요", { below: await at.answered("@세움 배포했어요?") }),
    answers: ["eden"],
  },
  {
    gesture: "a thread below an answer, after its participants were forgotten",
    act: async (at) => {
      const below = await at.answered("@세움 배포했어요?");
      const first = await at.say("그럼 언제요?", { below });
      await settled(at.team);
      const { place } = await at.team.rooms.message(first, ANONYMOUS);
      await at.team.database.query(
        { text: "update dure.places set active_at = active_at - interval '2 days' where id = $1" },
        [place],
      );
      return at.say("이틀 뒤예요", { below });
    },
    answers: ["seum"],
  },
  {
    gesture: "a thread below an answer, after a person has taken the agent out",
    act: async (at) => {
      const below = await at.answered("@세움 배포했어요?");
      const first = await at.say("그럼 언제요?", { below });
      await settled(at.team);
      const { place } = await at.team.rooms.message(first, ANONYMOUS);
      await at.team.rooms.removeParticipant(place, "seum", { tenant: "", person: "민준" });
      await settled(at.team);
      expect(await participantsOf(at.team, place)).toEqual([]);
      return at.say("이제 우리끼리 해요", { below });
    },
    answers: [],
  },
  {
    gesture: "a reply to an agent's answer",
    act: async (at) => at.say("고마워요", { replyTo: await at.answered("@세움 배포했어요?") }),
    answers: ["seum"],
    needsReplies: true,
  },
  {
    gesture: "a reply to one's own question to an agent",
    act: async (at) => at.say("급해요", { replyTo: await at.asked("@세움 배포했어요?") }),
    answers: ["seum"],
    needsReplies: true,
  },
  {
    gesture: "a reply to another person",
    act: async (at) =>
      at.say("좋아요", { replyTo: await at.asked("점심 뭐 먹죠?"), person: "지우" }),
    answers: [],
    needsReplies: true,
  },
  {
    gesture: "a mistyped name of an agent",
    act: (at) => at.say("@루디 오늘 일정 있어요?"),
    answers: ["ruda"],
  },
  {
    gesture: "words to all",
    act: (at) => at.say("@모두 오늘 일정 있어요?"),
    answers: ["ruda"],
  },
  {
    gesture: "words to a person whose name begins like a word for all",
    act: (at) => at.say("@Allison are you in?", { person: "서연" }),
    answers: [],
  },
  {
    gesture: "words that begin with another person's name",
    act: async (at) => {
      await at.asked("점심 뭐 먹죠?");
      return at.say("@민준 저는 국수요", { person: "지우" });
    },
    answers: [],
  },
];

interface Stage {
  readonly team: TestTeam;
  readonly say: (text: string, options?: Parameters<TestPlatform["say"]>[2]) => Promise<string>;
  /** Asks in the channel and waits for the answer; gives the question's id, or the answer's. */
  readonly asked: (text: string) => Promise<string>;
  readonly answered: (text: string) => Promise<string>;
}

const PLATFORMS = [
  ["web", async () => webPlatform()],
  ["discord", () => discordPlatform({ leadJoins: true })],
  ["slack", () => slackPlatform()],
] as const satisfies readonly (readonly [string, () => Promise<TestPlatform>])[];

describe.each(PLATFORMS)("on %s", { timeout: 60_000 }, (name, make) => {
  test("each gesture of people reaches the agents of the conversation that it goes on with", async () => {
    const platform = await make();
    const backgrounds: string[] = [];
    const team = await readyTeamOn(platform, {
      behave: {
        eden: silent,
        seum: (heard) => (backgrounds.push(heard.background), "내일 해요"),
      },
    });
    const stage = stageOf(platform, team);
    const done: Record<string, readonly string[]> = {};

    const table = GESTURES.filter(({ needsReplies }) => name !== "slack" || !needsReplies);
    for (const { gesture, act, answers } of table) {
      const message = await act(stage);
      await settled(team);
      const handlers = async (): Promise<readonly string[]> => {
        const { roles } = await team.rooms.message(message, ANONYMOUS);
        return Object.keys(roles).filter((agent) => roles[agent]?.role === "HANDLER");
      };
      // An agent of Discord is called to the thread first.
      if (answers.length > 0) {
        await eventually(async () => expect(await handlers()).toEqual(answers));
      }
      done[gesture] = await handlers();
    }

    expect(done).toEqual(
      Object.fromEntries(table.map(({ gesture, answers }) => [gesture, answers])),
    );
    const inThread = backgrounds.find((text) => text.includes("goes on from"));
    expect(inThread).toContain("민준: @세움 배포했어요?\n> 세움: 내일 해요");
  });
});

function stageOf(platform: TestPlatform, team: TestTeam): Stage {
  const say: Stage["say"] = (text, options) => platform.say(team, text, options);
  const ask = async (text: string): Promise<{ question: string; answer: string }> => {
    const question = await say(text);
    const answer = await eventually(async () => {
      const { roles } = await team.rooms.message(question, ANONYMOUS);
      const [id] = Object.values(roles).flatMap((role) => role.answer ?? []);
      const message = await team.rooms.message(id ?? "", ANONYMOUS);
      expect(message.delivery).toBe("sent");
      return message.id;
    });
    return { question, answer };
  };
  return {
    team,
    say,
    asked: async (text) => (await ask(text)).question,
    answered: async (text) => (await ask(text)).answer,
  };
}
