import { expect, test } from "vitest";
import { eventually } from "../until.ts";
import { NOBODY, readyTeamOn, settled } from "./helpers.ts";
import { roomStories } from "./stories.ts";
import type { Behave } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

roomStories("web", webPlatform);

test("D from a direct room into the default channel; the direct room is told, and nobody else hears what was said there", { timeout: 60_000 }, async () => {
  const ruda: Behave = (heard) => (heard.text.includes("맡겨") ? (heard.results.length > 0 ? "이든에게 맡겼습니다" : { toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "로그를 봐 줘" } }] }) : { toolCalls: [{ name: "stay_silent", args: {} }] });
  const platform = webPlatform();
  const team = await readyTeamOn(platform, { behave: { ruda } });
  const minjun = { tenant: "", person: "민준" };
  const direct = await team.rooms.direct(minjun, "ruda");

  await team.rooms.post(minjun, { place: direct.id, text: "이든에게 맡겨 줘" });

  await eventually(async () => expect([...(await platform.shown(team, direct.id))].sort()).toEqual([expect.stringMatching(/^루다: 이든 님이 답했습니다/), "루다: 이든에게 맡겼습니다", "민준: 이든에게 맡겨 줘"]));
  await settled(team);
  const [thread] = await team.rooms.reader.threads("web:general", NOBODY);
  expect((await platform.shown(team, thread!.id)).slice(0, 2)).toEqual(["루다: @이든 로그를 봐 줘", "이든: 이든의 답입니다"]);
  expect(await team.rooms.reader.observations({ place: direct.id, tenant: "" })).toEqual([]);
});
