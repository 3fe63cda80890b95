import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DureClient } from "dure/client";
import { onTestFinished } from "vitest";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { loadTeam } from "../../src/team/config.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";

/** Of `DURE_TOKEN`: it may do everything. */
export const TOKEN = "dure_test_token_for_agents_that_are_edited_0";

const DURE = new URL("../../src/index.ts", import.meta.url).href;

/** A team that answers with its own prompt. Eden has files, Ruda none; Seum answers by a service. */
const CONFIG = `
import { defineService, flow } from "${DURE}";
const prompt = { name: "prompt", respond: (request) => request.system ?? "" };
const desk = defineService({
  name: "desk",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "desk" })) },
});
export default {
  locale: "en",
  model: "offline:prompt",
  offlineModels: [prompt],
  services: { desk },
  agents: {
    eden: { displayName: "Eden", card: { temperature: 0 } },
    ruda: {},
    seum: { service: "desk" },
  },
};
`;

/** The folder of a team, and the address of a database, for as long as the test runs. */
export async function editFolder(): Promise<{ folder: string; url: string }> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabaseUrl());
  const folder = await mkdtemp(path.join(tmpdir(), "dure-edits-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, "agents/eden"), { recursive: true });
  await writeFile(path.join(folder, "dure.config.mjs"), CONFIG);
  await writeFile(path.join(folder, "agents/eden/SOUL.md"), "You are calm.\n");

  return { folder, url };
}

/** One more process on this folder and database. */
export async function startEditTeam(
  { folder, url }: { folder: string; url: string },
  /** Null: the person at the machine needs none. */
  token: string | null = TOKEN,
) {
  const own = { DATABASE_URL: url, HOST: "127.0.0.1", PORT: "0" };
  const environment = readEnvironment(token === null ? own : { ...own, DURE_TOKEN: token });
  const team = await startTeam(await loadTeam(folder), environment, { logger: silentLogger });
  onTestFinished(() => team.stop());
  const clientWith = (bearer: string | undefined) =>
    new DureClient({ baseUrl: team.url, token: bearer });
  const client = clientWith(token ?? undefined);

  /** The prompt with which an agent answers now. */
  async function promptOf(agent: string): Promise<string> {
    const sessionId = `ask-${Math.random().toString(36).slice(2)}`;
    const turn = client.sendMessage({ sessionId, service: agent, message: "hello" });
    return (await turn.done).message;
  }

  return { team, client, clientWith, promptOf };
}
