import { expect, test } from "vitest";
import { silentLogger } from "../kernel/logger.ts";
import { Directory, type RoomAgent } from "./directory.ts";

const RUDA: RoomAgent = {
  id: "ruda",
  displayName: "루다",
  service: "ruda",
  leads: true,
  channel: "general",
  accounts: { web: { id: "ruda" }, discord: { id: "ruda-bot", platformId: "111" } },
};
const EDEN: RoomAgent = {
  id: "eden",
  displayName: "이든",
  service: "eden",
  leads: false,
  accounts: { web: { id: "eden" } },
};

test("M1 an agent is found by its id", () => {
  expect(new Directory({ agents: [RUDA, EDEN], channels: [] }).find("eden")?.displayName).toBe(
    "이든",
  );
});

test("M2 an agent is found by the id of an account, after the ids of agents", () => {
  const namesake: RoomAgent = { ...EDEN, id: "ruda-bot", accounts: {} };

  expect(new Directory({ agents: [RUDA, EDEN], channels: [] }).find("ruda-bot")?.id).toBe("ruda");
  expect(new Directory({ agents: [RUDA, namesake], channels: [] }).find("ruda-bot")?.id).toBe(
    "ruda-bot",
  );
  expect(new Directory({ agents: [RUDA], channels: [] }).byPlatformId("discord", "111")?.id).toBe(
    "ruda",
  );
});

test("M3 the table is logged, a line per agent; an agent without an account is a warning with the key", () => {
  const lines: string[] = [];
  const note = (level: string) => (_fields: unknown, message: string) =>
    void lines.push(`${level} ${message}`);

  new Directory({ agents: [RUDA, EDEN], channels: [] }).log(
    { ...silentLogger, info: note("info"), warn: note("warn") },
    [{ name: "web" }, { name: "discord", accountKey: () => "DISCORD_TOKEN_EDEN" }],
  );

  expect(lines).toEqual([
    "info agent ruda (루다) is web:ruda, discord:ruda-bot, its channel is general",
    "info agent eden (이든) is web:eden",
    "warn agent eden has no account on discord: set DISCORD_TOKEN_EDEN",
  ]);
});

test("M4 an agent that was added later is unknown; the answer names the others, the key and a reload", () => {
  const directory = new Directory({ agents: [RUDA], channels: [] });

  expect(() => directory.get("eden")).toThrow(
    expect.objectContaining({
      code: "AGENT_UNKNOWN",
      hint: expect.stringMatching(
        /ruda \(루다\).*agents\.eden.*dure reload or a restart/,
      ) as string,
    }),
  );
  directory.replace(new Directory({ agents: [RUDA, EDEN], channels: [] }));

  expect(directory.get("eden").id).toBe("eden");
});
