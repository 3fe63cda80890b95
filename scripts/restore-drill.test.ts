/** The drill of deploy/, over a private PostgreSQL: what a team knew is known in another folder. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadTeam, readEnvironment, silentLogger, startTeam, type RunningTeam } from "dure/team";
import { expect, test } from "vitest";
import { FULL } from "../packages/dure/src/kernel/test-tiers.ts";
import { root, run } from "./processes.ts";

const TEAM = "agents:\n  ruda: { displayName: Ruda }\nmodel: offline:echo\n";
/** Five starts, each with a PostgreSQL of its own: 25 s on two busy cores. */
const DRILL = { ...FULL, timeout: 240_000 };
const MAIN = path.join(root, "packages/dure/src/cli/main.ts");

test(
  "a backup is restored into another folder, starts there, and the session is known",
  DRILL,
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "dure-drill-"));
    try {
      await writeFile(path.join(folder, "dure.yaml"), TEAM);
      const said = await inTeam(folder, ".dure", async (team) => {
        await say(team, "remember the number 4711");
        return sessionOf(team);
      });

      const drill = await run("sh", [path.join(root, "deploy/restore-drill.sh"), "drill"], {
        cwd: folder,
        env: { ...process.env, DURE: `${process.execPath} --conditions=dure-source ${MAIN}` },
      });

      expect(drill.output).toContain("restored and started");
      expect(drill.exitCode).toBe(0);
      expect(said).toContain("4711");
      expect(await inTeam(folder, "drill/home", sessionOf)).toBe(said);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

async function inTeam<Result>(
  folder: string,
  home: string,
  use: (team: RunningTeam) => Promise<Result>,
): Promise<Result> {
  const environment = readEnvironment({ DURE_HOME: path.join(folder, home), PORT: "0" });
  const team = await startTeam(await loadTeam(folder), environment, { logger: silentLogger });
  try {
    return await use(team);
  } finally {
    await team.stop();
  }
}

async function say(team: RunningTeam, message: string): Promise<void> {
  const answer = await team.request("/v1/agent/chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_id: "mina", service: "ruda", message }),
  });
  expect(answer.status).toBe(200);
}

async function sessionOf(team: RunningTeam): Promise<string> {
  return (await team.request("/v1/agent/sessions/mina")).text();
}
