import { FULL } from "../kernel/test-tiers.ts";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { expect, test } from "vitest";
import { testDatabaseUrl } from "../durable/test-database.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { systemClock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { silentLogger } from "../kernel/logger.ts";
import { PostgresProxy } from "@dure/testing";
import { readTeam } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { openWhenUp } from "./open-database.ts";
import { startTeam, type RunningTeam } from "./start.ts";

const desk = defineService({
  name: "desk",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "Yes." })) },
});

interface Starting {
  readonly databaseUrl: string;
  readonly wait: string;
  readonly lines?: string[];
  readonly signal?: AbortSignal;
}

async function start({ databaseUrl, wait, lines, signal }: Starting): Promise<RunningTeam> {
  const team = await readTeam({ services: { desk }, database: { wait } });
  const note = (_fields: object, line: string): void => void lines?.push(line);
  const logger: Logger = { ...silentLogger, info: note, warn: note, error: note };
  return startTeam(team, readEnvironment({ DATABASE_URL: databaseUrl, PORT: "0" }), {
    logger,
    signal,
  });
}

test(
  "a server that starts while its database is down goes on when it is up, and says both once",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using owned = await testDatabaseUrl();
    const lines: string[] = [];
    const port = await freePort();
    const address = new URL(owned.url);
    const url = `postgresql://${address.username}:${address.password}@127.0.0.1:${port}${address.pathname}`;

    const starting = start({ databaseUrl: url, wait: "60s", lines });
    await untilTold(lines, /waited for/);
    await using up = await PostgresProxy.start(owned.url, { port });
    const team = await starting;

    expect((await fetch(`${team.url}/readyz`)).status).toBe(200);
    expect(lines.filter((line) => line.includes("waited for"))).toEqual([
      expect.stringMatching(
        /^The database at \S*127\.0\.0\.1:\d+\/\w+ does not answer: .* It is waited for, 60 s more\.$/,
      ),
    ]);
    expect(lines).toContain("the database answers; the start goes on");
    await team.stop();
    expect(up.url).toContain(String(port));
  },
);

test("a start whose connection is lost half-way begins again; one with a fault of its own does not", async () => {
  const lines: string[] = [];
  const lost = Object.assign(new Error("Connection terminated unexpectedly"), {
    code: "ECONNRESET",
  });
  const failures: Error[] = [
    lost,
    new DureError("DATABASE_UNAVAILABLE", "It is shutting down.", { class: "unavailable" }),
  ];
  const begin = async (): Promise<string> => {
    const failure = failures.shift();
    if (failure) throw failure;
    return "up";
  };
  const logger: Logger = {
    ...silentLogger,
    warn: (_fields: object, line: string) => void lines.push(line),
  };
  const options = { waitMs: 60_000, clock: systemClock, logger, signal: undefined };

  const opened = await openWhenUp(begin, options);
  failures.push(new DureError("PORT_TAKEN", "Another program has it.", { class: "conflict" }));

  expect(opened).toBe("up");
  expect(lines).toHaveLength(2);
  await expect(openWhenUp(begin, options)).rejects.toMatchObject({ code: "PORT_TAKEN" });
});

test(
  "a database that does not come up within the wait ends the start with what was tried",
  { timeout: 60_000 },
  async () => {
    const port = await freePort();

    await expect(
      start({ databaseUrl: `postgresql://dure:x@127.0.0.1:${port}/dure`, wait: "1s" }),
    ).rejects.toMatchObject({
      code: "DATABASE_UNAVAILABLE",
      message: expect.stringMatching(
        new RegExp(`127\\.0\\.0\\.1:${port}/dure does not answer.*waited for 1 s`),
      ) as string,
      hint: expect.stringContaining("DATABASE_URL") as string,
    });
  },
);

test(
  "a start that waits for its database ends at once when it is asked to stop",
  { timeout: 60_000 },
  async () => {
    const over = new AbortController();
    const lines: string[] = [];
    const starting = start({
      databaseUrl: `postgresql://dure:x@127.0.0.1:${await freePort()}/dure`,
      wait: "1h",
      lines,
      signal: over.signal,
    });
    starting.catch(() => {});
    await untilTold(lines, /waited for/);

    over.abort(new DOMException("SIGTERM received", "AbortError"));

    await expect(starting).rejects.toThrow("SIGTERM received");
  },
);

test.each([
  ["a wrong password", (url: URL) => void (url.password = "wrong")],
  ["a database that does not exist", (url: URL) => void (url.pathname = "/nowhere")],
])("%s is not waited for", { timeout: 60_000 }, async (_what, change) => {
  await using owned = await testDatabaseUrl();
  await using proxy = await PostgresProxy.start(owned.url);
  const url = new URL(proxy.url);
  change(url);

  await expect(start({ databaseUrl: url.href, wait: "1h" })).rejects.toMatchObject({
    code: "DATABASE_REFUSED",
  });
});

async function freePort(): Promise<number> {
  const server: Server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function untilTold(lines: readonly string[], what: RegExp): Promise<void> {
  await expect.poll(() => lines.some((line) => what.test(line)), { timeout: 30_000 }).toBe(true);
}
