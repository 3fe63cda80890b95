// @module-tag slow
import { describe, expect, onTestFinished, test } from "vitest";
import { FULL } from "../src/kernel/test-tiers.ts";
import { Database } from "../src/durable/database.ts";
import { testDatabaseUrl } from "../src/durable/test-database.ts";
import { defineService, flow } from "../src/engine/service/service.ts";
import { DureError } from "../src/kernel/errors.ts";
import { silentLogger } from "../src/kernel/logger.ts";
import { startTestServer } from "../src/server/test-server.ts";
import { readTeam } from "../src/team/config.ts";
import { readEnvironment } from "../src/team/environment.ts";
import { startTeam, type RunningTeam } from "../src/team/start.ts";
import { eventually } from "./until.ts";

const desk = defineService({
  name: "desk",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "Yes." })) },
});
const CHAT = { session_id: "mina", message: "hello" };

/** What a statement throws that PostgreSQL refuses with this state. */
function refusedBy(state: string): Error {
  return Object.assign(new Error("in PostgreSQL's words"), { code: state });
}

/** Error, code of the answer, seconds of Retry-After. */
const CONDITIONS: readonly (readonly [Error, string, string])[] = [
  [new DureError("FENCED", "Taken over.", { class: "conflict" }), "FENCED", "1"],
  [new DureError("TURN_FENCED", "Taken over.", { class: "conflict" }), "TURN_FENCED", "1"],
  [new DureError("PROCESS_STOPPED", "Stopped.", { class: "unavailable" }), "PROCESS_STOPPED", "1"],
  [new DureError("SERVER_STOPPING", "Stopping.", { class: "unavailable" }), "SERVER_STOPPING", "1"],
  [new DureError("TRANSACTION_TOO_LONG", "Rolled back."), "TRANSACTION_TOO_LONG", "5"],
  [
    new DureError("DATABASE_UNAVAILABLE", "No answer.", { class: "unavailable" }),
    "DATABASE_UNAVAILABLE",
    "1",
  ],
  [new DureError("DATABASE_CLOSED", "Closed.", { class: "unavailable" }), "DATABASE_CLOSED", "1"],
  [new DureError("LEASE_BUSY", "Busy.", { class: "conflict" }), "LEASE_BUSY", "5"],
  [refusedBy("40001"), "DATABASE_BUSY", "1"],
  [refusedBy("40P01"), "DATABASE_BUSY", "1"],
  [refusedBy("55P03"), "DATABASE_BUSY", "5"],
  [refusedBy("57014"), "DATABASE_BUSY", "5"],
  [refusedBy("57P01"), "DATABASE_UNAVAILABLE", "1"],
  [refusedBy("57P03"), "DATABASE_UNAVAILABLE", "1"],
  [refusedBy("53300"), "DATABASE_UNAVAILABLE", "1"],
  [refusedBy("57P02"), "DATABASE_UNAVAILABLE", "1"],
  [refusedBy("08006"), "DATABASE_UNAVAILABLE", "1"],
  [refusedBy("53000"), "DATABASE_UNAVAILABLE", "5"],
  [refusedBy("53100"), "DATABASE_UNAVAILABLE", "30"],
  [refusedBy("58030"), "DATABASE_UNAVAILABLE", "5"],
  [refusedBy("25006"), "DATABASE_READ_ONLY", "5"],
  [
    Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
    "DATABASE_UNAVAILABLE",
    "1",
  ],
  [new DOMException("Rooms were stopped.", "AbortError"), "SERVER_STOPPING", "1"],
];

test.each(
  CONDITIONS.map(
    ([error, code, seconds]) =>
      [(error as { code?: unknown }).code ?? error.name, error, code, seconds] as const,
  ),
)("$0 is 503 $2, again after $3 s", async (_name, error, code, seconds) => {
  await using server = await startTestServer();
  server.conversations.failure = error;

  const response = await server.post("/v1/agent/chat", {
    session_id: "session-1",
    message: "hello",
  });

  expect([response.status, response.headers.get("retry-after")]).toEqual([503, seconds]);
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({ code, status: 503 });
  expect(text).not.toContain("PostgreSQL's words");
});

describe("on a real database", { timeout: 60_000 }, () => {
  test(
    "a message to a process that others have taken over is 503, and another process answers it",
    FULL,
    async () => {
      const { database, start } = await stage();
      const first = await start();
      const second = await start();

      await database.query(
        {
          text: `
          update dure.processes
          set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'
          where id = $1`,
        },
        [first.processId],
      );
      await first.fenced;
      const refused = await chat(first);

      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
      expect(await refused.json()).toMatchObject({
        code: expect.stringMatching(/^(FENCED|SERVER_STOPPING)$/) as string,
      });
      expect((await chat(second)).status).toBe(200);
    },
  );

  test(
    "a transaction that a lock keeps too long is 503, and nothing of it is kept",
    FULL,
    async () => {
      const { database, start } = await stage();
      const team = await start({ agents: true });
      const room = "/v1/rooms/web:general/messages";

      await holding(
        database,
        "select from dure.places where id = 'web:general' for update",
        async () => {
          const response = await post(team, room, { text: "hello", as_person: "민준" });
          expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
          expect(await response.json()).toMatchObject({ code: "TRANSACTION_TOO_LONG" });
        },
      );

      expect(await database.query({ text: "select from dure.room_messages" })).toEqual([]);
      expect((await post(team, room, { text: "again", as_person: "민준" })).status).toBeLessThan(
        300,
      );
    },
  );

  test("a database that takes no writes is 503 and not ready, until it takes them again", async () => {
    const { database, start } = await stage();
    const team = await start();
    const readiness = async (): Promise<number> => (await fetch(`${team.url}/readyz`)).status;
    expect(await readiness()).toBe(200);

    await takeWrites(database, team, false);

    await expect.poll(readiness).toBe(503);
    const refused = await chat(team);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      code: expect.stringMatching(/^DATABASE_(READ_ONLY|UNAVAILABLE)$/) as string,
    });

    await takeWrites(database, team, true);
    await expect.poll(readiness).toBe(200);
    expect((await chat(team)).status).toBe(200);
  });

  test("a request whose connection to the database is cut is 503", FULL, async () => {
    const { database, start } = await stage();
    const team = await start({ agents: true });

    await holding(
      database,
      "select from dure.places where id = 'web:general' for update",
      async () => {
        const answer = post(team, "/v1/rooms/web:general/messages", {
          text: "hello",
          as_person: "민준",
        });
        await eventually(async () => {
          const cut = await database.query(
            {
              text: `
                select pg_terminate_backend(pid)
                from pg_stat_activity
                where wait_event_type = 'Lock'
                and application_name = $1`,
            },
            [`dure:${team.processId}`],
          );
          expect(cut.length).toBeGreaterThan(0);
        });
        const response = await answer;
        expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
        expect(await response.json()).toMatchObject({ code: "DATABASE_UNAVAILABLE" });
      },
    );
  });
});

/** As in a failover: the sessions are cut, and new ones may write or not. */
async function takeWrites(database: Database, team: RunningTeam, mayWrite: boolean): Promise<void> {
  const setting = mayWrite ? "reset" : "set";
  const [row] = await database.query<{ name: string }>({
    text: "select current_database() as name",
  });
  await database.transaction(async (tx) => {
    await tx.query({ text: "set transaction read write" });
    const value = mayWrite ? "" : "= on";
    await tx.query({
      text: `alter database ${row!.name} ${setting} default_transaction_read_only ${value}`,
    });
  });
  await database.query(
    {
      text: `
        select pg_terminate_backend(pid)
        from pg_stat_activity
        where starts_with(application_name, $1)`,
    },
    [`dure:${team.processId}`],
  );
}

interface Stage {
  /** Beside the teams. */
  readonly database: Database;
  readonly start: (options?: { agents?: boolean }) => Promise<RunningTeam>;
}

async function stage(): Promise<Stage> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const owned = stack.use(await testDatabaseUrl());
  const database = await Database.open({
    url: owned.url,
    applicationName: "process-trouble",
    logger: silentLogger,
    max: 3,
  });
  stack.defer(() => database.close());
  return {
    database,
    start: async ({ agents = false } = {}) => {
      const withAgents = {
        agents: { ruda: { displayName: "루다", service: "desk" } },
        rooms: { channels: { general: {} } },
      };
      const loaded = await readTeam({ services: { desk }, ...(agents && withAgents) });
      const team = await startTeam(
        loaded,
        readEnvironment({ DATABASE_URL: owned.url, PORT: "0" }),
        { logger: silentLogger },
      );
      stack.defer(() => team.stop());
      return team;
    },
  };
}

/** Runs `work` while a transaction of another session holds what `statement` locks. */
async function holding(
  database: Database,
  statement: string,
  work: () => Promise<void>,
): Promise<void> {
  const session = await database.connectSession();
  try {
    await session.query("set idle_in_transaction_session_timeout = 0");
    await session.query("begin");
    await session.query(statement);
    await work();
  } finally {
    await session.end();
  }
}

async function chat(team: RunningTeam): Promise<Response> {
  return post(team, "/v1/agent/chat", CHAT);
}

async function post(team: RunningTeam, path: string, body: object): Promise<Response> {
  return fetch(`${team.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
