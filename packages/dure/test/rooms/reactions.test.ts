// @module-tag slow
import { describe, expect, test } from "vitest";
import { isEmoji } from "../../src/rooms/in/reactions.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { ANONYMOUS, readyTeamOn, settled, silent } from "./helpers.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const MINJUN = { tenant: "", person: "민준" };

test("a sign is one emoji, or a name of the platform's own", () => {
  for (const sign of ["👍", "👎🏽", "❤️", "👨‍👩‍👧‍👦", "🇰🇷", "1️⃣", ":shipit:"]) {
    expect([sign, isEmoji(sign)]).toEqual([sign, true]);
  }
  for (const other of ["", "1", "네", "👍 네", ":", "::", "<b>", "👍".repeat(30), ": x:"]) {
    expect([other, isEmoji(other)]).toEqual([other, false]);
  }
});

test("people of a web room set signs below an answer and take their own away", async () => {
  const platform = webPlatform();
  const team = await readyTeamOn(platform);
  const question = await platform.say(team, "배포했어요?");
  await settled(team);
  const answer = await answerTo(team, question);

  await team.rooms.own.react(answer, MINJUN, { emoji: "👍", isSet: true });
  await team.rooms.own.react(answer, MINJUN, { emoji: "👍", isSet: true });
  await team.rooms.own.react(answer, { tenant: "", person: "지우" }, { emoji: "👍", isSet: true });
  await team.rooms.own.react(answer, MINJUN, { emoji: "👎", isSet: true });
  await team.rooms.own.react(answer, MINJUN, { emoji: "👎", isSet: false });

  expect(await signsOf(team, answer)).toEqual([
    { emoji: "👍", count: 2, own: true, people: ["민준", "지우"] },
  ]);
  await expect(
    team.rooms.own.react(answer, MINJUN, { emoji: "네", isSet: true }),
  ).rejects.toMatchObject({ code: "REACTION_INVALID" });
});

describe("signs on platforms", { timeout: 60_000 }, () => {
  test("what people of Discord set below an answer is kept once, and goes with them", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage);
    const question = await stage.say(team, "배포했어요?");
    await settled(team);
    const posted = stage.discord.messages(stage.places.general).at(-1)!;
    const answer = await answerTo(team, question);

    stage.person("민준").react(posted, "👍");
    stage.person("민준").react(posted, "👎");
    await eventually(async () => expect(await signsOf(team, answer)).toHaveLength(2));
    stage.person("민준").unreact(posted, "👎");

    await eventually(async () =>
      expect(await signsOf(team, answer)).toEqual([
        { emoji: "👍", count: 1, own: false, people: [] },
      ]),
    );
  });

  test("what people of Slack set below an answer is kept by the same sign, and goes", async () => {
    const stage = await slackPlatform();
    const team = await readyTeamOn(stage);
    const question = await stage.say(team, "배포했어요?");
    await settled(team);
    const posted = stage.slack.messages({ channel: stage.places.general }).at(-1)!;
    const answer = await answerTo(team, question);

    stage.person("민준").react(posted, "+1");
    stage.person("민준").react(posted, "shipit");
    await eventually(async () => expect(await signsOf(team, answer)).toHaveLength(2));
    stage.person("민준").unreact(posted, "shipit");

    await eventually(async () =>
      expect(await signsOf(team, answer)).toEqual([
        { emoji: "👍", count: 1, own: false, people: [] },
      ]),
    );
  });

  test.each([
    ["an answer", "끝났어요", []],
    ["nothing to say", silent, ["루다 ✅"]],
  ] as const)("on Discord the sign of work goes with %s", async (_what, said, left) => {
    const { behave, begun, go } = held(said);
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: behave }, signs: true });
    await stage.say(team, "배포했어요?");
    await begun;
    const signs = () => stage.discord.messages(stage.places.general)[0]!.reactions;
    await eventually(() => expect(signs()).toEqual(["루다 👀"]));
    go();
    await settled(team);

    expect(signs()).toEqual(left);
  });

  test("on Slack the sign of work goes with an answer, and one that is refused costs nothing", async () => {
    const { behave, begun, go } = held("끝났어요");
    const stage = await slackPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: behave }, signs: true });
    await stage.say(team, "배포했어요?");
    await begun;
    const signs = () => stage.slack.messages({ channel: stage.places.general })[0]!.reactions;
    await eventually(() => expect(signs()).toEqual(["루다 eyes"]));
    stage.slack.fault(
      { method: "reactions.remove", times: 1 },
      { kind: "error", error: "missing_scope" },
    );
    go();
    await settled(team);

    expect(await stage.shown(team, "slack:general")).toEqual([
      "민준: 배포했어요?",
      "루다: 끝났어요",
    ]);
    expect((await team.inbox.list({ tenant: "", status: "open" })).items).toEqual([]);
  });
});

/** An answer that waits for `go`. */
function held(said: string | Behave): { behave: Behave; begun: Promise<void>; go: () => void } {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  return {
    begun: begun.promise,
    go: () => gate.resolve(),
    behave: async (heard) => {
      begun.resolve();
      await gate.promise;
      return typeof said === "string" ? said : said(heard);
    },
  };
}

async function answerTo(team: TestTeam, message: string): Promise<string> {
  return (await team.rooms.message(message, ANONYMOUS)).roles["ruda"]!.answer!;
}

async function signsOf(team: TestTeam, message: string): Promise<readonly unknown[]> {
  return (await team.rooms.reader.below([message], MINJUN)).get(message)?.reactions ?? [];
}
