import { describe, expect, test } from "vitest";
import { readTeam, type TeamOptions } from "./config.ts";
import { schedulesOf } from "./schedules.ts";

type Given = NonNullable<TeamOptions["schedules"]>;

function team(schedules: Given): TeamOptions {
  return {
    name: "punctual",
    agents: { ruda: { displayName: "Ruda" } },
    rooms: { channels: { general: { defaultAgent: "ruda" } } },
    schedules,
  };
}

const said = { room: "general", text: "Good morning" };

describe("a schedule is refused at the start", () => {
  test.each([
    ["that does nothing", { cron: "0 9 * * *", text: "x" }, "does not do one thing"],
    ["that says nothing", { cron: "0 9 * * *", room: "general" }, "has no text"],
    ["whose rule cannot be read", { cron: "0 25 * * *", ...said }, "cannot be read"],
    ["with seconds", { cron: "0 0 9 * * *", ...said }, "exactly 5 parts"],
    ["that never comes", { cron: "0 0 31 2 *", ...said }, "never comes"],
    ["of no zone", { cron: "0 9 * * *", timeZone: "Seoul", ...said }, "Asia/Seoul"],
    ["of an unknown room", { cron: "0 9 * * *", room: "lobby", text: "x" }, "unknown room"],
    [
      "of an unknown agent",
      { cron: "0 9 * * *", agent: "ruda", target: "edn", text: "x" },
      "names no agent",
    ],
  ])("%s", async (_what, schedule, message) => {
    await expect(readTeam(team({ standup: schedule }))).rejects.toThrow(message);
  });

  test("beside a hundred others", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 101 }, (_, n) => [`s${n}`, { cron: "0 9 * * *", ...said }]),
    );

    await expect(readTeam(team(many))).rejects.toThrow("at most 100");
  });
});

test("a schedule has the team's zone, and passes over what it missed, unless it says else", async () => {
  const { config } = await readTeam(
    team({
      plain: { cron: "0 9 * * *", ...said },
      other: { cron: "0 9 * * *", timeZone: "Asia/Seoul", missed: "once", tenant: "acme", ...said },
    }),
  );

  const deed = { kind: "message", room: "web:general", text: "Good morning" };
  expect(schedulesOf(config, "UTC")).toEqual([
    { name: "plain", cron: "0 9 * * *", timeZone: "UTC", missed: "skip", tenant: "", deed },
    {
      ...{ name: "other", cron: "0 9 * * *", timeZone: "Asia/Seoul", missed: "once" },
      ...{ tenant: "acme", deed },
    },
  ]);
});
