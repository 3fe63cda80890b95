import { expect, test } from "vitest";
import { chatAgent } from "../engine/agent/agent.ts";
import { defineService, flow, type ServiceOptions } from "../engine/service/service.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { readTeam } from "./config.ts";
import { defineTeam } from "./define-team.ts";
import { groupsOf, openMcp, withMcp } from "./mcp.ts";

const given = { clock: systemClock, logger: silentLogger, home: "/tmp" };
const program = { command: "no-such-program" };

function desk(name: string, names: readonly string[], mcp?: ServiceOptions["mcp"]) {
  const clerk = chatAgent({ name: "clerk", prompt: "Help.", card: { mcp: names } });
  const flows = { DEFAULT: flow(async (turn) => turn.done({ message: "" })) };
  return defineService({ name, agents: { clerk }, flows, mcp });
}

test("a card of a service names servers of its own, then those of the team", async () => {
  const own = desk("own", ["files/read_*", "team"], {
    files: { ...program, questions: "defaults" },
  });
  const other = desk("other", ["files"]);
  const options = defineTeam({
    name: "t",
    services: { own, other },
    mcp: { team: program },
  });
  const mcp = await openMcp(await readTeam(options, "/tmp"), given);

  expect([...groupsOf(mcp).keys()]).toEqual(["", "own/"]);
  expect(withMcp(own, mcp).agents["clerk"]!.toolSets).toHaveLength(2);
  expect(() => withMcp(other, mcp)).toThrow(
    expect.objectContaining({ code: "MCP_SERVER_UNKNOWN" }),
  );
});

test.each([
  [{ files: { command: "a", url: "https://a.example" } }, /mcp\.files has a command and a url/],
  [{ files: { command: "a", headers: {} } }, /mcp\.files\.headers does not fit/],
  [{ "no name": program }, /mcp\.no name/],
  [{ files: { ...program, timeout: "1ms" } }, /mcp\.files\.timeout/],
] as const)("settings of a service that do not fit are refused: %j", (mcp, told) => {
  expect(() => desk("d", [], mcp)).toThrow(told);
});
