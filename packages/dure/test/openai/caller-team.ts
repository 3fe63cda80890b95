import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { Database } from "../../src/durable/database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { offlineModel } from "../../src/models/offline.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";
import { answerOf } from "./weatherman.ts";

/** A team that listens: the agent `ruda`, and the service `desk` with a handler of its own. */
export interface CallerTeam extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly database: Database;
  readonly databaseUrl: string;
  /** What the model was asked, in order. */
  readonly asked: ModelRequest[];
}

const TOKEN = "caller-admin-token-0123456789";

/** @param on the database of another process of the team */
export async function startCallerTeam({ on }: { on?: CallerTeam } = {}): Promise<CallerTeam> {
  await using stack = new AsyncDisposableStack();
  const stored = on ? undefined : stack.use(await testDatabase());
  const database = on?.database ?? stored!.database;
  const databaseUrl = on?.databaseUrl ?? stored!.url;
  const folder = await mkdtemp(path.join(tmpdir(), "dure-caller-team-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));

  const asked: ModelRequest[] = [];
  const options = defineTeam({
    name: "caller",
    locale: "en",
    model: "offline:weatherman",
    offlineModels: [
      offlineModel("weatherman", (request) => {
        asked.push(request);
        return answerOf(request);
      }),
    ],
    services: {
      desk: defineService({
        name: "desk",
        agents: { helper: chatAgent({ name: "helper" }) },
        flows: { DEFAULT: flow(async (turn) => turn.done({ message: "Welcome." })) },
      }),
    },
    agents: { ruda: { displayName: "Ruda" } },
  });
  const environment = readEnvironment({
    DATABASE_URL: databaseUrl,
    PORT: "0",
    DURE_TOKEN: TOKEN,
    DEV_MODE: "true",
  });
  const team = await startTeam(await readTeam(options, folder), environment, {
    logger: silentLogger,
  });
  stack.defer(() => team.stop());
  const kept = stack.move();

  return {
    url: team.url,
    token: TOKEN,
    database,
    databaseUrl,
    asked,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
