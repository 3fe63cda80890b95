import { describe, expect, test } from "vitest";
import type { Logger } from "../kernel/logger.ts";
import { readTeam, type TeamOptions } from "./config.ts";
import { incomingHooks } from "./hooks.ts";

const SECRET = "a-plain-secret-0123456789";

function team(hooks: NonNullable<TeamOptions["hooks"]>): TeamOptions {
  return {
    name: "hooked",
    agents: { ruda: { displayName: "Ruda" } },
    rooms: { channels: { general: { defaultAgent: "ruda" } } },
    hooks,
  };
}

describe("a hook is refused at the start", () => {
  test.each([
    ["that does nothing", { secret: SECRET }, "does not do one thing"],
    ["that does two things", { secret: SECRET, room: "general", plan: "a" }, "one thing"],
    ["that asks no agent", { secret: SECRET, agent: "ruda" }, "agent and target"],
    ["that tells a plan something", { secret: SECRET, plan: "a", text: "b" }, "text"],
    ["of an unknown room", { secret: SECRET, room: "lobby" }, 'unknown room "lobby"'],
  ])("%s", async (_what, hook, message) => {
    await expect(readTeam(team({ deploys: hook }))).rejects.toThrow(message);
  });

  test("under a name of dure's own", async () => {
    const hook = { secret: SECRET, room: "general" };

    await expect(readTeam(team({ ask: hook }))).rejects.toThrow("dure's own");
  });
});

test("a hook without a secret takes nothing, and the log says so", async () => {
  const warned: string[] = [];
  const quiet = (): void => undefined;
  const warn: Logger["warn"] = (_, message) => void warned.push(message);
  const { config } = await readTeam(
    team({
      unset: { secret: "${DURE_TEST_NO_SUCH_SECRET}", room: "general" },
      short: { secret: "guessed", room: "general" },
      fine: { secret: SECRET, room: "general" },
    }),
  );

  const hooks = incomingHooks(config, { debug: quiet, info: quiet, error: quiet, warn });

  expect([...hooks].map(([name, { secret }]) => [name, secret])).toEqual([
    ["unset", undefined],
    ["short", undefined],
    ["fine", SECRET],
  ]);
  expect(warned).toEqual([
    expect.stringContaining("hook unset takes nothing"),
    expect.stringContaining("hook short takes nothing"),
  ]);
});
