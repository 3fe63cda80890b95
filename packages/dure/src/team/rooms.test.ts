import { expect, test } from "vitest";
import { defineService, flow } from "../engine/service/service.ts";
import { ROOM_LIMITS } from "../rooms/limits.ts";
import { readTeam } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { resolveLimits, settingsOf } from "./limits.ts";
import { roomLimits } from "./rooms.ts";

const minimal = defineService({
  name: "minimal",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "" })) },
});
const environment = readEnvironment({});

test("every number of rooms can be set, and the doctor prints it", async () => {
  const limits = {
    pair: { calls: 4, per: "6m" },
    thread: { messages: 7, per: "61s", suspend: "6m" },
    exchange: 11,
    chainDepth: 6,
    threadsPerMinute: 6,
    route: "7h",
    callKey: "6m",
    deliveryWait: "3s",
    reminders: { first: "6m", second: "11m", escalate: "16m" },
    participants: "25h",
    secondaryWait: "11s",
    workingNotice: "12s",
    offlineAfter: "31s",
    missed: { age: "11m", messages: 99 },
    observations: { count: 49, keep: "23h" },
  };
  const team = await readTeam(
    { name: "두레", agents: { ruda: {} }, services: { minimal }, limits },
    process.cwd(),
  );

  const inForce = roomLimits(settingsOf(team.config, environment));

  for (const [key, byDefault] of Object.entries(ROOM_LIMITS)) {
    expect([key, inForce[key as keyof typeof inForce]]).not.toEqual([key, byDefault]);
  }
  expect(inForce).toMatchObject({
    reminderMs: [360_000, 660_000],
    unansweredMs: 960_000,
    missedPerPlace: 99,
    observations: 49,
    deliveryWaitMs: 3_000,
  });
  const printed = resolveLimits(team, environment).filter(({ origin }) => origin.kind === "file");
  expect(printed.map(({ key }) => key)).toEqual(
    expect.arrayContaining([
      "limits.reminders.escalate",
      "limits.observations.keep",
      "limits.threadsPerMinute",
    ]),
  );
});

test("without any setting they are those of the specification", async () => {
  const team = await readTeam(
    { name: "두레", agents: { ruda: {} }, services: { minimal } },
    process.cwd(),
  );

  expect(roomLimits(settingsOf(team.config, environment))).toEqual(ROOM_LIMITS);
});

test("reminders that do not follow one another are refused with what to do", async () => {
  const team = await readTeam(
    {
      name: "두레",
      agents: { ruda: {} },
      services: { minimal },
      limits: { reminders: { first: "20m" } },
    },
    process.cwd(),
  );

  expect(() => roomLimits(settingsOf(team.config, environment))).toThrow(
    expect.objectContaining({ code: "SETTINGS_DISAGREE" }),
  );
});
