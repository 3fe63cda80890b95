import { DureClient } from "dure/client";
import { onTestFinished } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { Scope } from "../../src/kernel/access.ts";
import type { OfflineReply } from "../../src/models/offline.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { readTeam } from "../../src/team/config.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";

/** What the agents do: one hands over in a thread, or gives work in the background, as it is told. */
function respond(request: ModelRequest): OfflineReply {
  const said = request.messages.findLast(({ role }) => role === "user");
  const words = said && "text" in said ? said.text : "";
  if (request.messages.at(-1)?.role === "tool") return { text: "Handed on." };
  if (words.includes("hand it over")) {
    const args = { targetAgent: "eden", message: "please review the login", topic: "login" };
    return { toolCalls: [{ name: "collaborate", args }] };
  }
  if (words.includes("in the background")) {
    const args = { agent: "eden", message: "count the tests", wait: "0s" };
    return { toolCalls: [{ name: "ask_agent", args }] };
  }
  return { text: "That is done." };
}

/** A team with two agents whose tokens are those of people. */
export async function startTraceTeam({ tokens = true }: { tokens?: boolean } = {}) {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { database, url } = stack.use(await testDatabase());
  const model = { name: "one", respond };
  const options = {
    locale: "en" as const,
    model: "offline:one",
    offlineModels: [model],
    services: {},
    agents: { ruda: { displayName: "Ruda", leads: true }, eden: { displayName: "Eden" } },
  };
  const environment = readEnvironment({ DATABASE_URL: url, HOST: "127.0.0.1", PORT: "0" });
  const team = await startTeam(await readTeam(options), environment, { logger: silentLogger });
  stack.defer(() => team.stop());
  const store = new PostgresTokenStore({ database });

  async function personOf(
    name: string,
    scopes: readonly Scope[],
    tenant = "",
  ): Promise<DureClient> {
    if (!tokens) return new DureClient({ baseUrl: team.url });
    const { token } = await store.create({ name, scopes: [...scopes], tenant });
    return new DureClient({ baseUrl: team.url, token });
  }

  return { team, database, personOf };
}
