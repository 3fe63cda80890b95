// @module-tag slow
import { describe, expect, test } from "vitest";
import { sampled } from "../../src/kernel/test-tiers.ts";
import type { OfflineReply } from "../../src/models/offline.ts";
import { collaborate, readyTeamOn, rolesOf, settled } from "./helpers.ts";
import { discordPlatform } from "./discord-platform.ts";
import { PLATFORM } from "./platforms.ts";
import { NAMES, type Behave, type Heard, type Name, type TestTeam } from "./team.ts";

/** Agents as models are on a bad day. Code holds them, no prompt. Source: docs/spec/collaboration. */
let said = 0;
const SECRET = "월급은 삼백";

/** Says thanks, in ever other words. */
const thanksForEver: Behave = () =>
  `정말 고마워요, ${said++}번째로요. 이만큼 도와주실 줄은 몰랐어요!`;

/** Calls everybody, itself too. */
const callsEverybody: Behave = () =>
  `@everyone @here @루다 @이든 @세움 @다짐 다들 보세요! ${said++}번째 소식이에요.`;

/** Answers what it is asked, and answers it again as a message of its own. */
const answersTwice =
  (asker: Name): Behave =>
  (heard) =>
    once(heard, { targetAgent: asker, message: `다시 답해요: 끝났어요 ${said++}` }) ??
    `끝났어요 ${said++}`;

/** Does nothing itself. */
const handsBack =
  (asker: Name): Behave =>
  (heard) =>
    once(heard, { targetAgent: asker, message: `이건 당신 일이에요 ${said++}` }) ??
    `돌려드렸어요 ${said++}`;

/** A call of `collaborate` at first; undefined when it was made. */
function once({ results }: Heard, args: object): OfflineReply | undefined {
  if (results.length > 0) return undefined;
  return { toolCalls: [{ name: "collaborate", args: { ...args } }] };
}

const UNFRIENDLY = sampled<[string, Partial<Record<Name, Behave>>]>(
  [
    ["thanks for ever", { ruda: thanksForEver, eden: thanksForEver }],
    ["answers twice", { ruda: thanksForEver, eden: answersTwice("ruda") }],
    ["hands back at once", { ruda: handsBack("eden"), eden: handsBack("ruda") }],
    [
      "calls everybody",
      {
        ruda: callsEverybody,
        eden: callsEverybody,
        seum: callsEverybody,
        dajim: callsEverybody,
      },
    ],
    [
      "does all of that",
      {
        ruda: thanksForEver,
        eden: answersTwice("ruda"),
        seum: handsBack("eden"),
        dajim: callsEverybody,
      },
    ],
  ],
  2,
);

describe.each(PLATFORM.rows)(
  "an unfriendly team on %s",
  { ...PLATFORM.options, timeout: 120_000 },
  (name, makePlatform) => {
    test.each(UNFRIENDLY.rows)(
      "that %s falls silent, and its request has an answer",
      UNFRIENDLY.options,
      async (_what, behave) => {
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, { behave });

        const asked = { targetAgent: "eden", message: "로그인을 봐 줘" };
        const { threadId } = await collaborate(team, "ruda", asked);
        await settled(team);
        await platform.say(team, "@다짐 소식 있어?");
        await settled(team);

        await expectBounded(team);
        const [first, ...others] = await requestsOf(team);
        expect(first).toBe("answered");
        expect(
          others.filter((state) => state !== "answered" && state !== "reminded later"),
        ).toEqual([]);
        const shown = await platform.shown(team, threadId);
        expect(shown.slice(0, 2)).toEqual([
          "루다: @이든 로그인을 봐 줘",
          expect.stringMatching(/^이든: /),
        ]);
        expect(new Set(shown).size).toBe(shown.length);
        const person = await platform.say(team, "@루다 아직 듣고 있어?", { thread: threadId });
        expect(await rolesOf(team, person)).toMatchObject({ ruda: "HANDLER", seum: "OBSERVER" });
      },
    );

    test("that asks itself is refused, and nothing is opened", async () => {
      const results: unknown[] = [];
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, {
        behave: {
          ruda: (heard) => {
            results.push(...heard.results);
            return once(heard, { targetAgent: "ruda", message: "내가 해 줘" }) ?? "혼자 할게요";
          },
        },
      });

      await platform.say(team, "@루다 부탁해");
      await settled(team);

      expect(results).toMatchObject([{ ok: false, code: "INVALID_ARGUMENT" }]);
      expect(await requestsOf(team)).toEqual([]);
      expect((await platform.shown(team, `${name}:general`)).at(-1)).toBe("루다: 혼자 할게요");
    });
  },
);

test("words about another in a direct room reach no other agent, place or record", async () => {
  const stage = await discordPlatform();
  const heard: string[] = [];
  const listens: Behave = ({ request }) => {
    heard.push(JSON.stringify(request.messages));
    return "네";
  };
  const team = await readyTeamOn(stage, {
    behave: {
      ruda: listens,
      seum: listens,
      dajim: listens,
      eden: () => `@루다 @everyone 님, 서연 님의 ${SECRET}이래요`,
    },
  });
  const minjun = stage.person("민준");
  const direct = minjun.directMessages(stage.bots.eden);

  minjun.post(direct, `@루다 얘기인데, 서연의 ${SECRET}이래`);
  await stage.discord.waitFor("the answer", () => stage.discord.messages(direct).length > 1, {
    timeoutMs: 20_000,
  });
  await settled(team);
  await stage.say(team, "@루다 @세움 @다짐 서연 님 월급 아는 사람?");
  await settled(team);

  expect(heard).toHaveLength(3);
  expect(heard.join()).not.toContain(SECRET);
  expect(stage.discord.messages(direct).map(({ mentionsEveryone }) => mentionsEveryone)).toEqual([
    false,
    false,
  ]);
  expect(
    stage.discord
      .messages(stage.places.general)
      .map(({ text }) => text)
      .join(),
  ).not.toContain(SECRET);
  const records = await team.database.query({
    text: `
      select excerpt from dure.observations
      where excerpt like '%월급은%'
      union all
      select data::text from dure.events
      where data::text like '%월급은%' and room not in (select id from dure.places where kind = 'direct')`,
  });
  expect(records).toEqual([]);
});

/** Few model calls for one request and one question of a person, in any place. */
async function expectBounded(team: TestTeam): Promise<void> {
  const calls = (Object.keys(NAMES) as Name[]).map((agent) => team.calls(agent));
  expect(calls.reduce((sum, count) => sum + count, 0)).toBeLessThan(120);
  const waiting = { text: "select id from dure.handlings where state <> 'done'" };
  expect(await team.database.query(waiting)).toEqual([]);
}

/** What became of each request; one that a suspension has overtaken is told by its reminder. */
async function requestsOf(team: TestTeam): Promise<readonly string[]> {
  const rows = await team.database.query<{ state: string }>({
    text: `
      select case when state = 'open' and next_at is not null then 'reminded later'
        else state end as state
      from dure.requests
      order by created_at`,
  });
  return rows.map(({ state }) => state);
}
