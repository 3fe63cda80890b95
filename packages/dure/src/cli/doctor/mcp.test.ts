import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { chatAgent } from "../../engine/agent/agent.ts";
import { defineService, flow } from "../../engine/service/service.ts";
import { TERMINAL_KOREAN } from "../../korean/terminal-korean.ts";
import { readTeam } from "../../team/config.ts";
import { checkMcp } from "./mcp.ts";

const SERVER = fileURLToPath(new URL("../../mcp/test-hostile-server.ts", import.meta.url));

test("each faulty tool of a server is a warning with its next step, in both languages", async () => {
  const home = await mkdtemp(join(tmpdir(), "dure-doctor-"));
  try {
    const program = (manner: string) => ({ command: process.execPath, args: [SERVER, manner] });
    const clerk = chatAgent({ name: "clerk", prompt: "Help.", card: { mcp: ["odd", "many"] } });
    const flows = { DEFAULT: flow(async (turn) => turn.done({ message: "-" })) };
    const desk = defineService({ name: "desk", agents: { clerk }, flows });
    const mcp = { odd: program("faulty-tools"), many: program("too-many") };
    const team = await readTeam({ services: { desk }, mcp }, home);

    const findings = await checkMcp(team, home);

    expect(findings.filter(({ status }) => status === "ok").map(({ name }) => name)).toEqual([
      "mcp odd",
      "mcp many",
    ]);
    const warnings = findings.filter(({ status }) => status === "warn");
    expect(warnings.map(({ detail }) => detail)).toContain(
      "pay it is not offered: models would call it as they call pay_it",
    );
    expect(warnings.at(-1)).toEqual({
      name: "mcp many",
      status: "warn",
      detail: "not offered: 200 tools; of 1200 tools the first 1000 are offered",
      hint: "Name the tools that agents need in `tools` of mcp.many.",
    });
    const said = warnings.flatMap(({ detail, hint }) => [detail, hint!]);
    expect(said.filter((text) => TERMINAL_KOREAN.text(text) === undefined)).toEqual([]);
  } finally {
    await rm(home, { recursive: true });
  }
});
