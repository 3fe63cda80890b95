import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import type { RoomAgent } from "../../src/rooms/directory.ts";
import { discordPlatform } from "./discord-platform.ts";
import { accountStates, readyTeamOn, rolesOf, settled, silent, teamOn } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const NOTICE = "루다: 지금은 ‘다짐’ 에이전트가 없어요. 여기 있는 에이전트:";

const CHANGES: Readonly<Record<string, (agent: RoomAgent) => readonly RoomAgent[]>> = {
  removed: (agent) => (agent.id === "dajim" ? [] : [agent]),
  renamed: (agent) => [agent.id === "dajim" ? { ...agent, displayName: "하늘" } : agent],
  "given another id and name": (agent) =>
    agent.id === "dajim"
      ? [{ ...agent, id: "seum2", displayName: "하늘", accounts: { web: { id: "seum2" } } }]
      : [agent],
};

describe("after an agent was", { timeout: 30_000 }, () => {
  test.each(Object.entries(CHANGES))(
    "%s, what is said to its name is answered by no other, and told once",
    async (_how, change) => {
      const platform = webPlatform();
      const agents = platform.agents.flatMap(change);
      const team = await changed(platform, agents);

      const unheard = await platform.say(team, "@다짐아 보고서 부탁해");
      await platform.say(team, "@다짐 거기 있어?");
      const heard = await platform.say(team, "다짐한테 맡긴 보고서는?");
      await settled(team);

      expect(Object.values(await rolesOf(team, unheard))).not.toContain("HANDLER");
      expect((await rolesOf(team, heard))["ruda"]).toBe("HANDLER");
      const names = agents.map(({ displayName }) => displayName).join(", ");
      const shown = (): Promise<readonly string[]> => platform.shown(team, "web:general");
      await eventually(async () => expect(await shown()).toContain(`${NOTICE} ${names}`));
      expect((await shown()).filter((line) => line.startsWith(NOTICE))).toHaveLength(1);
    },
  );

  test(
    "removed, the mention of its bot on Discord is answered by no other either",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const agents = stage.agents.filter(({ id }) => id !== "dajim");
      const team = await changed(stage, agents);
      const { person, discord, bots, places } = stage;

      person("민준").post(places.general, `${discord.mention(bots.dajim)} 보고서 부탁해`);

      await eventually(async () =>
        expect((await stage.shown(team, "discord:general")).at(-1)).toBe(
          `${NOTICE} 루다, 이든, 세움`,
        ),
      );
      await settled(team);
      expect(team.calls("ruda")).toBe(0);
    },
  );
});

/** The team as it was, stopped, and started again with other agents. */
async function changed(platform: TestPlatform, agents: readonly RoomAgent[]): Promise<TestTeam> {
  const before = await readyTeamOn(platform, { behave: { dajim: () => "네" } });
  await platform.say(before, "@다짐 안녕");
  await settled(before);
  await before.stop();
  const team = await teamOn(platform, { on: before, agents, behave: { ruda: silent } });
  await eventually(async () =>
    expect(new Set(Object.values(await accountStates(team)))).toEqual(new Set(["ready"])),
  );
  return team;
}
