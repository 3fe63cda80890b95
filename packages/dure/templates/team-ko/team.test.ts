import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { loadTeam, readEnvironment, silentLogger, startTeam, type RunningTeam } from "dure/team";

// 팀 전체를 따로 마련한 데이터베이스로, 실제 모델 없이 띄워요. 밖으로 나가는 것은 없어요.
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

test("서비스가 메시지에 답한다", async () => {
  const answer = await say("minimal", "안녕하세요");

  assert.match(answer, /안녕하세요/); // 이 모델은 들은 말을 그대로 돌려줘요
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
