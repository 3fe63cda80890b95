// @module-tag slow
import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { randomFrom } from "../../src/models/offline.ts";
import { Lane } from "./lane.ts";
import { playTask, type Play } from "./play.ts";
import { ServedTown } from "./served-town.ts";
import { TOOL_COUNT } from "./service.ts";
import { Kills } from "./steps.ts";
import { TASKS } from "./tasks.ts";

/** Plays all side by side. Gives what is wrong, and how often a process was killed. */
async function playAll(plays: readonly Play[]) {
  const left = [...plays];
  const problems: string[] = [];
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      await using lane = await Lane.open();
      for (let play = left.shift(); play; play = left.shift()) {
        problems.push(...(await playTask(lane, play)));
      }
    }),
  );
  return { problems, kills: plays.reduce((sum, { kills }) => sum + kills.count, 0) };
}

const LANES = 4;

/** `DURE_TEST_LONG=1`: eight times all tasks, with a kill at every step. */
const IS_LONG = process.env["DURE_TEST_LONG"] === "1";

/** Longest a round may take, milliseconds: a long one has six times the plays and most kills. */
const ROUND_MS = IS_LONG ? 3_600_000 : 600_000;

/**
 * A turn is given up after ten lives. So each task is played six times in a round, and each time
 * dies at other steps: all of them have a kill.
 */
const EVERY = 6;
const PARTS = Array.from({ length: EVERY }, (_, first) => ({ every: EVERY, first }));

/** A tenth of all steps, for a quick look. */
function tenthOf(index: number) {
  return [{ every: 10, first: index % 10 }];
}

function playsOf(
  round: number,
  killsOf: (index: number) => readonly { every: number; first: number }[],
): readonly Play[] {
  return TASKS.flatMap((task, index) =>
    killsOf(index).map((kills) => ({
      task,
      session: `${task.id}-${kills.first}`,
      random: randomFrom(`round ${round}/${task.id}`),
      kills: new Kills(kills),
    })),
  );
}

test("the shop has at least 15 tools and 60 tasks", () => {
  expect(TOOL_COUNT).toBeGreaterThanOrEqual(15);
  expect(TASKS).toHaveLength(60);
});

test.each(Array.from({ length: IS_LONG ? 8 : 1 }, (_, index) => index + 1))(
  "an honest clerk brings every task to its end, each write once and after its yes (%i)",
  { timeout: ROUND_MS },
  async (round) => {
    const plays = playsOf(round, IS_LONG ? () => PARTS : tenthOf);

    const { problems, kills } = await playAll(plays);

    console.info(`round ${round}: ${plays.length} plays, ${kills} kills`);
    expect(problems).toEqual([]);
    expect(kills).toBeGreaterThan(plays.length);
  },
);

/** One with three writes, and one whose customer asks something else before the yes. */
const SERVED = ["task-39", "task-47"];

test(
  "a server that gets SIGKILL while it serves the shop does each write once and after its yes",
  { ...FULL, timeout: 600_000 },
  async () => {
    const parts = IS_LONG ? PARTS : PARTS.slice(0, 1);
    const plays = playsOf(1, () => parts).filter(({ task }) => SERVED.includes(task.id));
    await using host = await ServedTown.open();
    const problems: string[] = [];

    for (const play of plays) problems.push(...(await playTask(host, play)));

    const kills = plays.reduce((sum, play) => sum + play.kills.count, 0);
    console.info(`${plays.length} plays, ${kills} times SIGKILL`);
    expect(problems).toEqual([]);
    expect(kills).toBeGreaterThan(plays.length);
  },
);
