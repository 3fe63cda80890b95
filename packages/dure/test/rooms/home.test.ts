import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { readyTeamOn, settled, silent } from "./helpers.ts";
import { PLATFORM } from "./platforms.ts";
import type { Behave, Heard, TestTeam } from "./team.ts";

const ANSWER = `비밀번호 비교가 시간에 따라 달라져요.\n${"상수 시간 비교로 바꿔 주세요. ".repeat(40)}끝.`;

/** Hands over what it is asked to, and keeps what it was told in each later turn. */
function ruda(told: string[]): Behave {
  return (heard: Heard) => {
    if (heard.text.startsWith("이든:")) return silent(heard);
    if (heard.results.length > 0) return "맡겼습니다";
    if (!heard.text.includes("맡겨 줘")) return (told.push(heard.background), "네, 말씀드릴게요.");
    return {
      toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "코드 리뷰" } }],
    };
  };
}

const eden: Behave = (heard) => (heard.text.includes("코드 리뷰") ? ANSWER : silent(heard));

describe.each(PLATFORM.rows)(
  "an answer on %s",
  { ...PLATFORM.options, timeout: 60_000 },
  (_name, makePlatform) => {
    test(
      "comes home whole: its session is told it in every later turn, also by another process",
      FULL,
      async () => {
        const told: string[] = [];
        const platform = await makePlatform();
        const behave = { ruda: ruda(told), eden };
        const team = await readyTeamOn(platform, { behave });
        await say(team, "이든한테 코드 리뷰를 맡겨 줘");
        await eventually(async () => expect(await answeredEvents(team)).toHaveLength(1));
        await settled(team);

        await say(team, "이든이 뭐래요?");
        await say(team, "다시 말해 줘요");
        await team.stop();
        const second = await readyTeamOn(platform, { on: team, behave });
        await say(second, "한 번 더요");

        expect(told).toHaveLength(3);
        for (const background of told) {
          expect(background.split("> 비밀번호 비교가")).toHaveLength(2);
          expect(background).toContain(`> ${ANSWER.replaceAll("\n", "\n> ")}`);
        }
        expect(await answeredEvents(second)).toEqual([{ session: "me", text: ANSWER }]);
      },
    );

    test(
      "is told to no other session, and not to one that was forgotten meanwhile",
      FULL,
      async () => {
        const told: string[] = [];
        const team = await readyTeamOn(await makePlatform(), {
          behave: { ruda: ruda(told), eden },
        });
        await say(team, "이든한테 코드 리뷰를 맡겨 줘");
        await eventually(async () => expect(await answeredEvents(team)).toHaveLength(1));

        await say(team, "이든이 뭐래요?", "another");
        await team.engine.forget("me", { caller: { tenant: "", name: "" } });
        await say(team, "이든이 뭐래요?");

        expect(told).toHaveLength(2);
        expect(told.join()).not.toContain("비밀번호 비교가");
      },
    );
  },
);

async function say(team: TestTeam, message: string, session = "me"): Promise<void> {
  await team.engine.turn({ session, service: "ruda", message }, {}).done;
}

async function answeredEvents(team: TestTeam): Promise<readonly unknown[]> {
  return team.database.query({
    text: "select session, data->>'text' as text from dure.events where type = 'collaborate.answered'",
  });
}
