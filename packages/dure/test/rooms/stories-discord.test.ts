import { expect, test } from "vitest";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { NOBODY, readyTeamOn, settled } from "./helpers.ts";
import { roomStories } from "./stories.ts";
import type { Behave } from "./team.ts";

roomStories("discord", discordPlatform);

test("D from a direct message into the default channel; the direct message is told", { timeout: 60_000 }, async () => {
  const ruda: Behave = (heard) => (heard.text.includes("맡겨") ? (heard.results.length > 0 ? "이든에게 맡겼습니다" : { toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "로그를 봐 줘" } }] }) : { toolCalls: [{ name: "stay_silent", args: {} }] });
  const stage = await discordPlatform();
  const team = await readyTeamOn(stage, { behave: { ruda } });
  const minjun = stage.person("민준");
  const direct = minjun.directMessages(stage.bots.ruda);

  minjun.post(direct, "이든에게 맡겨 줘");

  await eventually(() => expect(stage.discord.messages(direct).map(({ author, text }) => `${author}: ${text}`).sort()).toEqual([expect.stringMatching(/^루다: 이든 님이 답했습니다/), "루다: 이든에게 맡겼습니다", "민준: 이든에게 맡겨 줘"]));
  await settled(team);
  const [thread] = await team.rooms.reader.threads("discord:general", NOBODY);
  expect((await stage.shown(team, thread!.id)).slice(0, 2)).toEqual(["루다: @이든 로그를 봐 줘", "이든: 이든의 답입니다"]);
});
