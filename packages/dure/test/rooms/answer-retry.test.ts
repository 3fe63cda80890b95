import { expect, test } from "vitest";
import { z } from "zod";
import { tool } from "../../src/engine/agent/tool.ts";
import { codeOf } from "../../src/kernel/errors.ts";
import { ONE_TRY, REFUSED } from "../outages/stage.ts";
import { eventually } from "../until.ts";
import { ANONYMOUS, readyTeamOn, settled, silent } from "./helpers.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const PLACE = "web:general";

/** 루다 books once; then her model is away until the test says that it is back. */
async function stageOf(patienceMs: number) {
  const seen = { booked: 0, isAway: true, mayAnswer: Promise.resolve() };
  const book = tool({
    description: "Books.",
    inputSchema: z.object({}),
    effect: "once",
    execute: () => `booked ${++seen.booked}`,
  });
  const platform = webPlatform();
  const team = await readyTeamOn(platform, {
    tools: { book },
    behave: {
      ruda: async (heard) => {
        if (!heard.text.startsWith("민준")) return silent(heard);
        if (heard.results.length === 0) return { toolCalls: [{ name: "book", args: {} }] };
        if (seen.isAway) return REFUSED;
        await seen.mayAnswer;
        return "예약했어요";
      },
    },
    engine: {
      attemptRules: () => ONE_TRY,
      patienceMs: () => patienceMs,
      outageRetry: { firstMs: 60_000, maxMs: 60_000 },
    },
  });
  return { seen, team, ask: () => platform.say(team, "예약해 줘") };
}

test("an answer whose model was away goes on by its button: booked once, answered once", async () => {
  const { seen, team, ask } = await stageOf(50);
  await ask();
  await settled(team);
  const button = await buttonOf(team, "retry:");
  expect(await buttonsOf(team)).toEqual([button]);

  const pressed = Promise.withResolvers<void>();
  seen.mayAnswer = pressed.promise; // an answer that is done before the second press refuses it
  seen.isAway = false;
  const answer = button.slice("retry:".length);
  await Promise.all([1, 2].map(() => team.rooms.retryIn(PLACE, ANONYMOUS, answer)));
  pressed.resolve();
  await settled(team);

  expect(await answersOf(team)).toEqual(["예약했어요"]);
  expect(seen.booked).toBe(1);
  expect(await buttonsOf(team)).toEqual([]);
});

test("an answer is not retried from a place in which it was not asked", async () => {
  const { team, ask } = await stageOf(50);
  await ask();
  await settled(team);
  const answer = (await buttonOf(team, "retry:")).slice("retry:".length);

  const refusal = await team.rooms.retryIn("web:quiet", ANONYMOUS, answer).catch(codeOf);

  expect(refusal).toBe("TURN_UNKNOWN");
});

test("the notice of an agent that waits has a retry and a stop", async () => {
  const { seen, team, ask } = await stageOf(600_000);
  await ask();
  await buttonOf(team, "order:retry");
  await buttonOf(team, "order:stop");

  seen.isAway = false;
  await eventually(async () => {
    await team.rooms.retryIn(PLACE, ANONYMOUS, undefined);
    expect(await answersOf(team)).toEqual(["예약했어요"]);
  });

  expect(seen.booked).toBe(1);
  expect(await buttonsOf(team)).toEqual([]);
});

/** Waits for a button whose value begins so. */
async function buttonOf(team: TestTeam, prefix: string): Promise<string> {
  let found: string | undefined;
  await eventually(async () => {
    found = (await buttonsOf(team)).find((value) => value.startsWith(prefix));
    expect(found).toBeDefined();
  });
  return found!;
}

async function buttonsOf({ rooms }: TestTeam): Promise<readonly string[]> {
  const messages = await rooms.reader.messages(PLACE, {});
  return messages.flatMap(({ buttons }) => (buttons ?? []).map(({ value }) => value));
}

async function answersOf({ rooms }: TestTeam): Promise<readonly string[]> {
  const messages = await rooms.reader.messages(PLACE, {});
  return messages
    .filter(({ author, mark }) => author === "ruda" && mark === null)
    .map(({ text }) => text);
}
