// @module-tag slow
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { tool } from "../../src/engine/agent/tool.ts";
import { readyTeamOn, settled, silent } from "./helpers.ts";
import { onDiscord, onSlack, type PressStage as Stage } from "./pressing.ts";
import type { TestTeam } from "./team.ts";

const ONE_TRY = {
  maxAttempts: 1,
  pauseMs: () => 0,
  idleTimeoutSec: 60,
  repeatsShown: false,
  finals: [],
};
const FAILED = "루다: 지금은 답하지 못했어요. 잠시 뒤에 다시 불러 주세요.";
const RESUMING = "멈춘 곳에서 이어서 답하고 있어요.";
const WAITING = "다시 연결되면 답할게요";

/** 루다 books once; then her model is away until the test says that it is back. */
async function teamOf(
  stage: Stage,
): Promise<{ team: TestTeam; seen: { booked: number; isAway: boolean } }> {
  const seen = { booked: 0, isAway: true };
  const book = tool({
    description: "Books.",
    inputSchema: z.object({}),
    effect: "once",
    execute: () => `booked ${++seen.booked}`,
  });
  const team = await readyTeamOn(stage.platform, {
    tools: { book },
    behave: {
      ruda: (heard) => {
        if (!heard.text.startsWith("민준")) return silent(heard);
        if (heard.results.length === 0) return { toolCalls: [{ name: "book", args: {} }] };
        return seen.isAway ? { text: "", error: { status: 503 } } : "예약했어요";
      },
    },
    engine: {
      attemptRules: () => ONE_TRY,
      patienceMs: () => 50,
      outageRetry: { firstMs: 60_000, maxMs: 60_000 },
    },
  });
  await stage.platform.say(team, "예약해 줘");
  await settled(team);
  return { team, seen };
}

describe.each([
  ["Discord", onDiscord],
  ["Slack", onSlack],
] as const)("the retry button of %s", { timeout: 60_000 }, (_name, open) => {
  test("goes on with the answer: one effect, one answer, and no button is left", async () => {
    const stage = await open();
    const { team, seen } = await teamOf(stage);
    const press = await stage.button();
    expect((await stage.platform.shown(team, stage.place)).at(-1)).toBe(FAILED);

    seen.isAway = false;
    const told = await press("민준");
    await settled(team);

    expect(told).toBe(RESUMING);
    expect(seen.booked).toBe(1);
    const shown = await stage.platform.shown(team, stage.place);
    expect(shown.filter((line) => line === "루다: 예약했어요")).toHaveLength(1);
    expect(shown).toContain(`루다: ${RESUMING}`);
    expect(shown).not.toContain(FAILED);
    expect(await stage.look()).toEqual([]);
  });

  test("does it once for two who press it, and tells the later one", async () => {
    const stage = await open();
    const { team, seen } = await teamOf(stage);
    const press = await stage.button();

    seen.isAway = false;
    const told = await Promise.all([press("민준"), press("서연")]);
    await settled(team);

    expect(told).toContain(RESUMING);
    const other = told.find((text) => text !== RESUMING);
    expect(other).toMatch(/^이미 (이어서 )?답/);
    expect(seen.booked).toBe(1);
    const shown = await stage.platform.shown(team, stage.place);
    expect(shown.filter((line) => line === "루다: 예약했어요")).toHaveLength(1);
  });

  test("says that it is answered already, when an old one is pressed", async () => {
    const stage = await open();
    const { team, seen } = await teamOf(stage);
    const press = await stage.button();
    seen.isAway = false;
    await press("민준");
    await settled(team);
    const before = await stage.platform.shown(team, stage.place);

    const told = await press("서연");
    await settled(team);

    expect(told).toMatch(/^이미 답했거나/);
    expect(seen.booked).toBe(1);
    expect(await stage.platform.shown(team, stage.place)).toEqual(before);
  });

  test("says that the conversation has gone on, when more was said since", async () => {
    const stage = await open();
    const { team, seen } = await teamOf(stage);
    const press = await stage.button();
    seen.isAway = false;
    await stage.platform.say(team, "다른 이야기");
    await settled(team);

    expect(await press("민준")).toMatch(/^그 뒤로 이야기가 이어져서/);
  });

  test("stands under an honest end, and no promise to answer stands beside it", async () => {
    const stage = await open();
    const { team } = await teamOf(stage);

    const shown = await stage.platform.shown(team, stage.place);

    expect(shown).toEqual(["민준: 예약해 줘", FAILED]);
    expect(shown.join()).not.toContain(WAITING);
  });
});

test("the retry button of Discord is refused to who may not write there, and changes nothing", async () => {
  const stage = await onDiscord();
  const { team, seen } = await teamOf(stage);
  const press = await stage.button();
  seen.isAway = false;

  const told = await press("손님");

  expect(told).toBe("이 자리에 글을 쓸 수 있는 분만 다시 시도할 수 있어요.");
  await settled(team);
  expect((await stage.platform.shown(team, stage.place)).at(-1)).toBe(FAILED);
  expect(await stage.look()).toHaveLength(1);
});
