import { FULL } from "../../src/kernel/test-tiers.ts";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { Network } from "../../src/durable/test-members.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { readTeam } from "../../src/team/config.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";
import { testRepository } from "./real-runs.ts";

const desk = defineService({
  name: "desk",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "Yes." })) },
});

/** Asks the proxy of its process for a tunnel to each port, and writes down what it was answered. */
const ASK = `
  const ask = (port) => new Promise((done) => {
    const path = "127.0.0.1:" + port;
    require("node:http").request(process.env.HTTP_PROXY, { method: "CONNECT", path })
      .on("connect", (answer, socket) => { socket.destroy(); done(answer.statusCode); })
      .on("error", (error) => done(error.message))
      .end();
  });
  Promise.all(process.argv.slice(1).map(ask))
    .then((said) => require("node:fs").writeFileSync("src/price/said.txt", said.join(" ")));`;

const planFor = (repository: string, ports: readonly number[]): string =>
  JSON.stringify({
    plan: "look",
    repository,
    roles: "modules",
    workers: {
      default: {
        kind: "command",
        command: ["node", "-e", ASK, ...ports.map(String)],
        network: ports.map((port) => `127.0.0.1:${port}`),
      },
    },
    ports: [
      {
        id: "price",
        role: "price",
        goal: "Look around.",
        owns: ["src/price/**"],
        acceptance: "cat src/price/said.txt",
      },
    ],
  });

test(
  "of a running team neither its server nor its database is reached, although a plan names both",
  { ...FULL, timeout: 300_000 },
  async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    onTestFinished(() => void vi.unstubAllEnvs());
    const database = await Network.to(stack.use(await testDatabaseUrl()).url);
    stack.use(database);
    vi.stubEnv("DATABASE_URL", database.url);
    const folder = await realpath(await mkdtemp(join(tmpdir(), "dure-team-")));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const repository = stack.use(await testRepository({ "src/price/price.txt": "base\n" }));
    const other = createServer((_, response) => response.end("other"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    stack.defer(() => void other.close());
    const team = await startTeam(
      await readTeam({ services: { desk } }, folder),
      readEnvironment({ DATABASE_URL: database.url, PORT: "0" }),
      { logger: silentLogger },
    );
    stack.defer(() => team.stop());
    const portOf = (address: string): number => Number(new URL(address).port);
    const ports = [portOf(team.url), portOf(database.url), (other.address() as AddressInfo).port];
    await mkdir(join(folder, "plans"));
    await writeFile(join(folder, "plans/look.json"), planFor(repository.folder, ports));

    const begun = await fetch(`${team.url}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ plan: "look" }),
    });
    const { id } = (await begun.json()) as { id: string };
    const get = async <Answer>(path: string): Promise<Answer> =>
      (await (await fetch(`${team.url}/v1/runs/${id}${path}`)).json()) as Answer;
    await expect
      .poll(async () => (await get<{ status: string }>("")).status, { timeout: 60_000 })
      .toBe("success");

    const { steps } = await get<{ steps: { kind: string; log: string }[] }>("/ports/price");
    expect(steps.find(({ kind }) => kind === "accept")!.log).toBe("403 403 200");
  },
);
