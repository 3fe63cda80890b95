/** Whose sessions a reader sees, directly at the rows. */

import { expect, test } from "vitest";
import { testDatabase } from "../../durable/test-database.ts";
import { SessionReader } from "./sessions.ts";

const TENANTS = ["", "acme", "beta"] as const;
const DEFAULTS = { locale: "ko", timeZone: "Asia/Seoul", leafOf: () => [] };

const SESSION = { text: "insert into dure.sessions (id, tenant, service) values ($1, $2, 'desk')" };
const TURN = {
  text: `insert into dure.turns (id, session_id, service, version, status)
         values ($1, $2, 'desk', '1', 'done')`,
};

const ASKED = { text: "update dure.sessions set state = $2 where id = $1" };

/** Each tenant, and none, has a session `ceo` with one turn. */
async function openWorld() {
  const db = await testDatabase();
  for (const tenant of TENANTS) {
    const key = tenant === "" ? "ceo" : `${tenant}/ceo`;
    await db.database.query(SESSION, [key, tenant]);
    await db.database.query(TURN, [`turn_${tenant}`, key]);
  }
  const reader = new SessionReader(db.database);
  /** A question stands in the session. */
  const ask = (key: string, id: string) =>
    db.database.query(ASKED, [key, JSON.stringify({ question: { id } })]);
  return { reader, ask, [Symbol.asyncDispose]: () => db[Symbol.asyncDispose]() };
}

test("a tenant lists its own sessions, and who sees all lists those of all", async () => {
  await using world = await openWorld();
  const listed = async (tenant: string | null): Promise<readonly string[]> => {
    const { items } = await world.reader.list({ tenant });
    return items.map(({ sessionId }) => sessionId).toSorted();
  };

  for (const tenant of TENANTS) expect(await listed(tenant)).toEqual(["ceo"]);
  expect(await listed(null)).toEqual(["acme/ceo", "beta/ceo", "ceo"]);
});

test.each(["", "beta"])(
  "to '%s' another tenant's session is not there, by its key either",
  async (tenant) => {
    await using world = await openWorld();
    const { reader } = world;
    const unknown = { code: "SESSION_UNKNOWN" };

    await expect(reader.detail("acme/ceo", tenant, DEFAULTS)).rejects.toMatchObject(unknown);
    await expect(reader.debug("acme/ceo", tenant)).rejects.toMatchObject(unknown);
    expect(await reader.running("acme/ceo", tenant)).toBeUndefined();
    expect(await reader.turn("turn_acme", tenant)).toBeUndefined();
    expect(await reader.takeBack("acme/ceo", tenant, "q1")).toBeUndefined();
    expect(await reader.forget("acme/ceo", tenant)).toBe(false);
    expect(await reader.detail("ceo", "acme", DEFAULTS)).toMatchObject({ service: "desk" });
  },
);

test("a question is taken back by its own tenant, once, and by no other id", async () => {
  await using world = await openWorld();
  const { reader, ask } = world;
  await ask("acme/ceo", "q1");

  expect(await reader.takeBack("ceo", "acme", "q0")).toBe(false);
  expect(await reader.takeBack("acme/ceo", "beta", "q1")).toBeUndefined();
  expect(await reader.takeBack("acme/ceo", "", "q1")).toBeUndefined();
  expect(await reader.takeBack("ceo", "acme", "q1")).toBe(true);
  expect(await reader.takeBack("ceo", "acme", "q1")).toBe(false);
});
