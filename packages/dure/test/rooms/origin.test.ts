import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { bothPlatforms } from "./both-platforms.ts";
import type { DiscordStage } from "./discord-platform.ts";
import { readyTeamOn, settled, silent } from "./helpers.ts";
import type { Behave, TestTeam } from "./team.ts";

/** Hands over what it is told to, and is quiet else. */
const handsOver: Behave = (heard) =>
  heard.results.length === 0 && heard.text.includes("넘겨")
    ? {
        toolCalls: [
          {
            name: "collaborate",
            args: { targetAgent: "eden", message: "로그인 화면을 봐 주세요" },
          },
        ],
      }
    : "넘겼습니다";

describe("with web rooms and Discord at once, the web first", { timeout: 60_000 }, () => {
  test("a hand-over stays on the platform and in the channel of the asker", FULL, async () => {
    const stage = await bothPlatforms();
    const team = await readyTeamOn(stage, {
      behave: { ruda: handsOver, eden: silent },
      channels: withDev(stage),
      defaultChannel: "general",
      limits: { pairCalls: 20 },
    });
    const direct = await team.rooms.direct({ tenant: "", person: "민준" }, "ruda");
    const ask = { text: "이든한테 넘겨줘" };

    await stage.say(team, "@루다 이든한테 넘겨줘");
    await expectThreads(team, ["discord:general"]);
    await team.rooms.post({ tenant: "", person: "민준" }, { place: "web:general", ...ask });
    await expectThreads(team, ["discord:general", "web:general"]);
    await team.rooms.post({ tenant: "", person: "민준" }, { place: "web:dev", ...ask });
    await expectThreads(team, ["discord:general", "web:dev", "web:general"]);
    await team.rooms.post({ tenant: "", person: "민준" }, { place: direct.id, ...ask });
    await settledThreads(team, 4);

    expect(await requestsPerChannel(team)).toEqual({
      "discord:general": 1,
      "web:dev": 1,
      "web:general": 1,
      [direct.id]: 1,
    });
  });
});

function withDev(stage: DiscordStage): DiscordStage["channels"] {
  const dev = { key: "dev", adapter: "web", name: "dev", channel: "dev", collaborate: true };
  return [dev, ...stage.channels];
}

/** The channels in which threads have been made, in order. */
async function expectThreads(team: TestTeam, channels: readonly string[]): Promise<void> {
  await eventually(async () =>
    expect(Object.keys(await requestsPerChannel(team))).toEqual(channels),
  );
  await settled(team);
}

async function settledThreads(team: TestTeam, requests: number): Promise<void> {
  await eventually(async () => {
    const counts = Object.values(await requestsPerChannel(team));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(requests);
  });
  await settled(team);
}

async function requestsPerChannel(team: TestTeam): Promise<Record<string, number>> {
  const rows = await team.database.query<{ parent: string; requests: number }>({
    text: `
      select p.parent, count(*)::integer as requests
      from dure.requests r
      join dure.places p on p.id = r.thread
      group by p.parent
      order by p.parent`,
  });
  return Object.fromEntries(rows.map(({ parent, requests }) => [parent, requests]));
}
