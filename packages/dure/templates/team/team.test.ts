import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { loadTeam, readEnvironment, silentLogger, startTeam, type RunningTeam } from "dure/team";

// The whole team, with a database of its own and without a real model: nothing leaves the machine.
let home: string;
let team: RunningTeam;

before(async () => {
  home = await mkdtemp(path.join(tmpdir(), "team-test-"));
  const environment = readEnvironment({ DURE_HOME: home, PORT: "0", DURE_MODEL: "offline:echo" });
  team = await startTeam(await loadTeam(import.meta.dirname), environment, {
    logger: silentLogger,
  });
});

after(async () => {
  await team.stop();
  await rm(home, { recursive: true });
});

test("the service answers a message", async () => {
  const answer = await say("minimal", "hello");

  assert.match(answer, /hello/); // the offline model repeats what it is told
});

async function say(service: string, message: string): Promise<string> {
  const response = await team.request("/v1/agent/chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_id: `test-${service}`, service, message }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  const { interaction } = (await response.json()) as { interaction: { message: string } };
  return interaction.message;
}
