import { FULL } from "../../src/kernel/test-tiers.ts";
import { expect, test } from "vitest";
import { eventually } from "../until.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { discordPlatform } from "./discord-platform.ts";
import { collaborate, readyTeamOn, settled, silent } from "./helpers.ts";

test(
  "T7 on Discord the log warns of each thread that lost its agents once, also one that a person opened",
  { ...FULL, timeout: 60_000 },
  async () => {
    const warnings: string[] = [];
    const stage = await discordPlatform();
    const { person, places, discord, bots } = stage;
    const team = await readyTeamOn(stage, {
      behave: { eden: silent },
      logger: {
        ...silentLogger,
        warn: (_fields: unknown, message: string) => void warnings.push(message),
      },
    });
    const lost = (): readonly string[] =>
      warnings.filter((line) => line.startsWith("no agent takes part in the thread"));
    const peoples = person("민준").startThread(places.general, "사람들의 방");
    person("민준").post(peoples, `${discord.mention(bots.ruda)} 안녕`);
    await eventually(() => expect(discord.messages(peoples)).toHaveLength(2));
    await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
    await settled(team);
    const handOver = discord.threads(places.general).find(({ name }) => name.startsWith("[협업]"))!;

    await team.database.query({ text: "delete from dure.participants" });
    person("민준").post(peoples, "여기 누구 있나요");
    await eventually(() => expect(lost()).toHaveLength(1));
    await team.database.query({ text: "delete from dure.places where kind = 'thread'" });
    person("민준").post(handOver, "여기는요");
    person("민준").post(handOver, "아무도 없나요");
    await eventually(() => expect(lost()).toHaveLength(2));
    await settled(team);

    expect(lost()[0]).toContain("사람들의 방");
    expect(lost()[1]).toContain("[협업] 루다 → 이든 · 검토");
    expect(lost()).toHaveLength(2);
    expect(team.calls("ruda")).toBe(1);
  },
);
