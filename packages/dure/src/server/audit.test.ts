import fastify from "fastify";
import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import type { PlanLibrary } from "../plans/runs/plan-library.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { auditRequests, type AuditBook } from "./audit.ts";
import type { ServerParts } from "./server.ts";
import { startTestServer } from "./test-server.ts";

/** A library that cleans what it is told here, and then fails where it is told to. */
function libraryOf(
  items: readonly { run: string; outcome: "cleaned" | "kept" }[],
  error?: Error,
): PlanLibrary {
  const clean: PlanLibrary["clean"] = async ({ dryRun }, { onBegun }) => {
    for (const { run, outcome } of items) {
      if (outcome === "cleaned" && dryRun !== true) onBegun?.(run);
    }
    if (error) throw error;
    return { items: items.map((item) => ({ plan: "login", ...item })), next: null };
  };
  return { runs: {}, clean } as unknown as PlanLibrary;
}

test('each cleaned run has its entry, a dry run has none, and "nothing cleaned" is an outcome', async () => {
  await using some = await startTestServer({
    plans: libraryOf([
      { run: "run_1", outcome: "cleaned" },
      { run: "run_2", outcome: "kept" },
      { run: "run_3", outcome: "cleaned" },
    ]),
  });
  await using none = await startTestServer({
    plans: libraryOf([{ run: "run_2", outcome: "kept" }]),
  });

  await some.post("/v1/runs/clean", { dry_run: true });
  await some.post("/v1/runs/clean", {});
  await none.post("/v1/runs/clean", { run: "run_2" });

  expect(some.audit.map(({ what, subject, outcome }) => [what, subject, outcome])).toEqual([
    ["run.clean", "run_1", "done"],
    ["run.clean", "run_3", "done"],
  ]);
  expect(none.audit.map(({ what, subject, outcome }) => [what, subject, outcome])).toEqual([
    ["run.clean", "run_2", "NOTHING_CLEANED"],
  ]);
});

test("a deed of the person at the machine has the name that their page says", async () => {
  await using server = await startTestServer({
    plans: libraryOf([{ run: "run_1", outcome: "cleaned" }]),
  });
  const headers = { "x-dure-person": encodeURIComponent("서연") };

  await server.post("/v1/runs/clean", {}, headers);
  await server.post("/v1/runs/clean", {}, { "x-dure-person": "agent:ruda" });

  expect(server.audit[0]).toMatchObject({ name: "machine:서연", subject: "run_1" });
  expect(server.audit[1]!.name).toMatch(/^(?:::ffff:)?127\.|^::1$/);
});

test("each run whose files were begun to go has its entry although the cleaning failed behind it", async () => {
  await using server = await startTestServer({
    plans: libraryOf(
      [
        { run: "run_1", outcome: "cleaned" },
        { run: "run_2", outcome: "cleaned" },
      ],
      new Error("the database is gone"),
    ),
  });

  const answer = await server.post("/v1/runs/clean", {});

  expect(answer.status).toBe(500);
  expect(server.audit.map(({ what, subject, outcome }) => [what, subject, outcome])).toEqual([
    ["run.clean", "run_1", "done"],
    ["run.clean", "run_2", "done"],
  ]);
});

test("a collaboration refused with 200 is recorded as refused; an invalid request is no deed", async () => {
  const rooms = {
    directory: { agents: [] },
    collaboration: {
      collaborate: async () => ({
        ok: false,
        code: "LOOP_GUARD",
        message: "",
        hint: "",
        escalated: false,
      }),
    },
  } as unknown as Rooms;
  await using server = await startTestServer({ rooms });

  const refused = await server.post("/v1/collaborate", {
    agent: "ruda",
    target_agent: "eden",
    message: "again",
  });
  const invalid = await server.post("/v1/collaborate", { agent: "ruda" });
  const foreign = await server.post(
    "/v1/collaborate",
    { agent: "ruda", target_agent: "eden", message: "again" },
    { origin: "https://evil.example" },
  );

  expect([refused.status, invalid.status, foreign.status]).toEqual([200, 400, 403]);
  expect(server.audit).toMatchObject([
    { what: "collaborate", subject: "ruda→eden", outcome: "LOOP_GUARD" },
  ]);
});

test("a deed whose outcome cannot be written is answered all the same, and its entry stays without one", async () => {
  const entries: string[] = [];
  const end = async (): Promise<never> => Promise.reject(new Error("the disk is full"));
  const begin = async ({ what }: { what: string }): Promise<number> => entries.push(what);
  await using server = await startTestServer({
    plans: libraryOf([{ run: "run_1", outcome: "cleaned" }]),
    audit: { begin, end, note: end, list: end },
  });

  const answer = await server.post("/v1/runs/clean", {});

  expect([answer.status, entries]).toEqual([200, ["run.clean"]]);
  expect(server.log.join("\n")).toContain(
    "the outcome of an entry of the audit log could not be written",
  );
});

test.each([
  ["away", new DureError("DATABASE_UNAVAILABLE", "away", { class: "unavailable" })],
  ["read-only", Object.assign(new Error("read-only transaction"), { code: "25006" })],
  ["full", Object.assign(new Error("No space left on device"), { code: "53100" })],
])("the outcome of a deed is written when a database that was %s can take it", async (_, error) => {
  const database = new PassingOutage(error);
  await using server = await startTestServer({
    plans: libraryOf([{ run: "run_1", outcome: "cleaned" }]),
    audit: database,
  });
  database.isAway = true;

  const answer = await server.post("/v1/runs/clean", {});

  expect(answer.status).toBe(200);
  expect(database.outcomes).toEqual([]);
  database.isAway = false;
  await expect.poll(() => database.outcomes, { timeout: 20_000 }).toEqual([[1, "done", ["run_1"]]]);
});

test("a server that ends in an outage says which entries stay without their outcome", async () => {
  const database = new PassingOutage();
  const server = await startTestServer({
    plans: libraryOf([{ run: "run_1", outcome: "cleaned" }]),
    audit: database,
  });
  database.isAway = true;
  await server.post("/v1/runs/clean", {});

  await server[Symbol.asyncDispose]();

  await expect
    .poll(() => server.log.join("\n"), { timeout: 20_000 })
    .toContain("the outcome of an entry of the audit log could not be written");
  expect(database.outcomes).toEqual([]);
});

/** The audit log of a database that can be away once a deed has begun. */
class PassingOutage implements AuditBook {
  readonly outcomes: (readonly [number, string, readonly string[] | undefined])[] = [];
  isAway = false;
  readonly #error: Error;

  constructor(error: Error = new DureError("DATABASE_UNAVAILABLE", "away")) {
    this.#error = error;
  }

  begin = async (): Promise<number> => 1;

  end: AuditBook["end"] = async (id, { outcome, subjects }) => {
    if (this.isAway) throw this.#error;
    this.outcomes.push([id, outcome, subjects]);
  };

  note = async (): Promise<void> => {};

  list: AuditBook["list"] = async () => ({ items: [], nextCursor: null });
}

test("a route that changes something and does not say what is refused before the server listens", () => {
  const app = fastify();
  auditRequests(app, {} as ServerParts);
  const answer = async (): Promise<string> => "done";

  app.get("/looks", answer);
  app.post("/no-deed", { config: { audit: false } }, answer);

  expect(() => app.delete("/forgets", answer)).toThrow("DELETE /forgets does not say what it does");
});
