import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { collaborate, readyTeamOn, settled, silent } from "./helpers.ts";

const AT_ONCE = 25;
/** Guards are a matter of their own tests. */
const LIMITS = { pairCalls: 1_000, threadsPerMinute: 1_000, deliveryWaitMs: 0 };

test(
  `${AT_ONCE} hand-overs at once in one server of Discord are all taken, each in a thread of its own`,
  { ...FULL, timeout: 120_000 },
  async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, {
      limits: LIMITS,
      behave: { ruda: silent, eden: ({ text }) => `${text}: 했어요` },
    });

    const taken = await Promise.all(
      Array.from({ length: AT_ONCE }, (_none, index) =>
        collaborate(team, "ruda", {
          targetAgent: "eden",
          message: `일 ${index}`,
          topic: `일 ${index}`,
        }),
      ),
    );

    expect(new Set(taken.map(({ threadId }) => threadId)).size).toBe(AT_ONCE);
    await eventually(
      async () =>
        expect(
          await team.database.query({
            text: "select state, count(*)::integer from dure.requests group by state",
          }),
        ).toEqual([{ state: "answered", count: AT_ONCE }]),
      { patienceMs: 60_000 },
    );
    await settled(team);
    expect(stage.discord.threads(stage.places.general)).toHaveLength(AT_ONCE);
  },
);
