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

/** Each tenant, and none, has a session `ceo` with one turn. */
async function openWorld() {
  const db = await testDatabase();
  for (const tenant of TENANTS) {
    const key = tenant === "" ? "ceo" : `${tenant}/ceo`;
    await db.database.query(SESSION, [key, tenant]);
    await db.database.query(TURN, [`turn_${tenant}`, key]);
  }
  const reader = new SessionReader(db.database);
  return { reader, [Symbol.asyncDispose]: () => db[Symbol.asyncDispose]() };
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
    expect(await reader.forget("acme/ceo", tenant)).toBe(false);
    expect(await reader.detail("ceo", "acme", DEFAULTS)).toMatchObject({ service: "desk" });
  },
);
