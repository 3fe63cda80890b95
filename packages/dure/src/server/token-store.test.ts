import { describe, expect, test } from "vitest";
import { testDatabase } from "../durable/test-database.ts";
import { startTestServer, until } from "./test-server.ts";
import {
  combineTokenStores,
  hashToken,
  MemoryTokenStore,
  PostgresTokenStore,
  type TokenStore,
} from "./token-store.ts";

interface OpenStore extends AsyncDisposable {
  readonly store: TokenStore;
}

const stores: Record<string, () => Promise<OpenStore>> = {
  "in memory": async () => ({
    store: new MemoryTokenStore(),
    [Symbol.asyncDispose]: async () => undefined,
  }),
  "in PostgreSQL": async () => {
    const db = await testDatabase();
    return {
      store: new PostgresTokenStore({ database: db.database }),
      [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
    };
  },
};

describe.each(Object.entries(stores))("tokens %s", (_name, open) => {
  test("are made, verified, listed and revoked", async () => {
    await using opened = await open();
    const { store } = opened;

    const made = await store.create({
      name: "mina's laptop",
      tenant: "mina",
      scopes: ["chat", "jobs"],
    });
    const other = await store.create({ name: "other", scopes: ["admin"] });
    const known = await store.verify(made.token);
    const revoked = [
      await store.revoke(made.record.id),
      await store.revoke(made.record.id),
      await store.revoke("token_0"),
    ];

    expect(made.token).toMatch(/^dure_[A-Za-z0-9_-]{43}$/);
    expect(known).toEqual(made.record);
    expect(known).toMatchObject({
      name: "mina's laptop",
      tenant: "mina",
      scopes: ["chat", "jobs"],
      revokedAt: null,
    });
    expect(revoked).toEqual([true, false, false]);
    expect(await store.verify(made.token)).toBeNull();
    expect(await store.verify("dure_nonsense")).toBeNull();
    expect(await store.verify(other.token)).toEqual(other.record);
    expect((await store.list()).map(({ name, revokedAt }) => [name, revokedAt === null])).toEqual([
      ["mina's laptop", false],
      ["other", true],
    ]);
  });
});

test("the database holds the hash and nothing of the token", async () => {
  await using db = await testDatabase();
  const { token } = await new PostgresTokenStore({ database: db.database }).create({
    name: "x",
    scopes: ["chat"],
  });

  const [row] = await db.database.query<{ hash: Buffer; text: string }>({
    text: "select hash, tokens::text as text from dure.tokens",
  });

  expect(row!.hash.equals(hashToken(token))).toBe(true);
  expect(row!.text).not.toContain(token.slice(5));
});

test("DURE_TOKEN and the database work together", async () => {
  const fixed = new MemoryTokenStore();
  fixed.add("a-token-from-the-environment", { name: "DURE_TOKEN", scopes: ["admin"] });
  const kept = new MemoryTokenStore();
  const both = combineTokenStores([fixed, kept]);

  const made = await both.create({ name: "new", scopes: ["chat"] });

  expect(await both.verify("a-token-from-the-environment")).toMatchObject({ name: "DURE_TOKEN" });
  expect(await both.verify(made.token)).toEqual(made.record);
  expect(await kept.list()).toEqual([made.record]);
  expect(await both.revoke(made.record.id)).toBe(true);
  expect(await both.verify(made.token)).toBeNull();
});

test("a weak DURE_TOKEN is refused", () => {
  expect(() =>
    new MemoryTokenStore().add("secret", { name: "DURE_TOKEN", scopes: ["admin"] }),
  ).toThrow(expect.objectContaining({ code: "TOKEN_WEAK" }));
});

test("a database that is away is 503, not a wrong token", async () => {
  const db = await testDatabase();
  const store = new PostgresTokenStore({ database: db.database });
  await db[Symbol.asyncDispose]();
  await using server = await startTestServer({ auth: store });

  const response = await server.fetch("/v1/me", {
    headers: { authorization: "Bearer dure_whatever" },
  });

  expect([response.status, await response.json()]).toMatchObject([
    503,
    { code: "TOKENS_UNAVAILABLE" },
  ]);
  await until(() => server.log.length > 0);
});
