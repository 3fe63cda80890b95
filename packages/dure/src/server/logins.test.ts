import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../durable/test-database.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { MemoryLogins, PostgresLogins, type LoginRow, type LoginRows } from "./login-rows.ts";
import { judgeLogin, LOGIN_LIMITS, Logins } from "./logins.ts";
import {
  hashToken,
  MemoryTokenStore,
  PostgresTokenStore,
  type LivingToken,
  type TokenStore,
} from "./token-store.ts";

const NOW = 1_800_000_000_000;
const [hash, next, previous, foreign] = [
  randomBytes(32),
  randomBytes(32),
  randomBytes(32),
  randomBytes(32),
] as const;
const row: LoginRow = {
  id: "login_1",
  tokenId: "token_1",
  tenant: "",
  hash,
  nextHash: null,
  nextAt: null,
  previousHash: null,
  previousUntil: null,
  userAgent: "",
  createdAt: NOW,
  rotatedAt: NOW,
  usedAt: NOW,
  expiresAt: NOW + LOGIN_LIMITS.lifeMs,
  revokedAt: null,
};
const { idleMs, lifeMs, rotateMs, touchMs } = LOGIN_LIMITS;

describe("a login holds", () => {
  test.for([
    [
      "at once",
      {},
      hash,
      NOW,
      { holds: true, by: "current", isRotationDue: false, isTouchDue: false },
    ],
    ["not with another secret", {}, foreign, NOW, { holds: false, because: "other-secret" }],
    ["not when it was ended", { revokedAt: NOW }, hash, NOW, { holds: false, because: "ended" }],
    ["not when it was idle", {}, hash, NOW + idleMs, { holds: false, because: "idle" }],
    [
      "just before",
      {},
      hash,
      NOW + idleMs - 1,
      { holds: true, by: "current", isRotationDue: true, isTouchDue: true },
    ],
    [
      "not beyond its life, however it is used",
      { usedAt: NOW + lifeMs },
      hash,
      NOW + lifeMs,
      { holds: false, because: "expired" },
    ],
    [
      "with the secret that was handed out",
      { nextHash: next, nextAt: NOW },
      next,
      NOW + rotateMs,
      { holds: true, by: "next", isRotationDue: false, isTouchDue: true },
    ],
    [
      "with the one before, for a while",
      { previousHash: previous, previousUntil: NOW + 1 },
      previous,
      NOW,
      { holds: true, by: "previous", isRotationDue: false, isTouchDue: false },
    ],
    [
      "not with the one before, later",
      { previousHash: previous, previousUntil: NOW },
      previous,
      NOW,
      { holds: false, because: "other-secret" },
    ],
    [
      "and its use is written down now and then",
      {},
      hash,
      NOW + touchMs,
      { holds: true, by: "current", isRotationDue: false, isTouchDue: true },
    ],
  ] as const)("%s", ([_name, changes, secret, now, verdict]) => {
    expect(judgeLogin({ ...row, ...changes }, secret, now)).toEqual(verdict);
  });
});

interface World extends AsyncDisposable {
  readonly tokens: TokenStore;
  /** As another process would see the same logins. */
  readonly open: () => Logins;
  readonly rows: LoginRows;
  /** Lets time pass for all logins. */
  readonly age: (ms: number) => Promise<void>;
}

const worlds: Record<string, () => Promise<World>> = {
  "in memory": async () => {
    let late = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + late };
    const tokens = new MemoryTokenStore();
    const rows = new MemoryLogins({ clock });
    const open = (): Logins => new Logins({ rows, find: (id) => tokens.living(id) });
    return {
      tokens,
      rows,
      open,
      age: async (ms) => void (late += ms),
      [Symbol.asyncDispose]: async () => undefined,
    };
  },
  "in PostgreSQL": async () => {
    const db = await testDatabase();
    const { database } = db;
    const tokens = new PostgresTokenStore({ database });
    const open = (): Logins =>
      new Logins({
        rows: new PostgresLogins({ database }),
        find: (id) => new PostgresTokenStore({ database }).living(id),
      });
    const age = async (ms: number): Promise<void> => {
      const columns = [
        "created_at",
        "rotated_at",
        "used_at",
        "expires_at",
        "next_at",
        "previous_until",
      ];
      await database.query({
        text:
          "update dure.login_sessions set " +
          columns
            .map((column) => `${column} = ${column} - interval '${ms} milliseconds'`)
            .join(", "),
      });
      await database.query({
        text: `update dure.login_links set expires_at = expires_at - interval '${ms} milliseconds'`,
      });
    };
    return {
      tokens,
      rows: new PostgresLogins({ database }),
      open,
      age,
      [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
    };
  },
};

async function aToken({ tokens }: World, tenant = ""): Promise<LivingToken> {
  const { token, record } = await tokens.create({ name: "mina", tenant, scopes: ["chat"] });
  return { record, hash: hashToken(token) };
}

describe.each(Object.entries(worlds))("logins %s", (_name, openWorld) => {
  test("hold in every process, for whom the token was made; nothing else does", async () => {
    await using world = await openWorld();
    const token = await aToken(world);
    const [one, other] = [world.open(), world.open()];

    const { id, cookie } = await one.begin(token, "Browser\u001b[31m/1 한글");

    expect(cookie).toMatch(new RegExp(`^${id}\\.[A-Za-z0-9_-]{43}$`));
    expect(await other.verify(cookie)).toMatchObject({
      id,
      record: { name: "mina" },
      rotates: undefined,
    });
    expect(await other.list({})).toMatchObject([
      { id, tokenId: token.record.id, userAgent: "Browser?[31m/1 ??" },
    ]);
    const wrong = [
      `${id}.${"A".repeat(43)}`,
      `login_${"0".repeat(26)}.${cookie.slice(-43)}`,
      cookie.slice(0, -1),
      `${cookie} `,
      "",
      "x".repeat(5_000),
    ];
    expect(await Promise.all(wrong.map((value) => one.verify(value)))).toEqual(
      wrong.map(() => null),
    );
  });

  test("end with their token, and when they are ended, in every process", async () => {
    await using world = await openWorld();
    const token = await aToken(world);
    const [one, other] = [world.open(), world.open()];
    const [first, second] = [await one.begin(token, ""), await one.begin(token, "")];

    expect(await other.end(first.id, { tokenId: "token_other" })).toBe(false);
    expect([await other.end(first.id, {}), await other.end(first.id, {})]).toEqual([true, false]);
    expect([
      await one.verify(first.cookie),
      (await one.verify(second.cookie))?.id,
      await one.stillHolds(second.id),
    ]).toEqual([null, second.id, true]);
    await world.tokens.revoke(token.record.id);

    expect([await one.verify(second.cookie), await one.stillHolds(second.id)]).toEqual([
      null,
      false,
    ]);
  });

  test("end when they are idle, and after their life", async () => {
    await using world = await openWorld();
    const token = await aToken(world);
    const logins = world.open();
    const idle = await logins.begin(token, "");
    await world.age(idleMs);
    const used = await logins.begin(token, "");
    for (let passed = 0; passed < lifeMs - idleMs; passed += idleMs / 2) {
      await world.age(idleMs / 2);
      expect(await logins.stillHolds(used.id)).toBe(true); // an open stream counts as use
    }
    await world.age(idleMs);

    expect([
      await logins.verify(idle.cookie),
      await logins.verify(used.cookie),
      await logins.list({}),
    ]).toEqual([null, null, []]);
  });

  test("get another secret while they are used; the one before holds for requests under way, then no more", async () => {
    await using world = await openWorld();
    const [one, other] = [world.open(), world.open()];
    const { id, cookie } = await one.begin(await aToken(world), "");
    expect(await one.rotate((await one.verify(cookie))!)).toBeUndefined();
    await world.age(rotateMs);

    const [known, parallel] = [(await one.verify(cookie))!, (await other.verify(cookie))!];
    const [fresh, second] = [await one.rotate(known), await other.rotate(parallel)];

    expect(fresh).toMatch(new RegExp(`^${id}\\.`));
    expect([fresh === cookie, second]).toEqual([false, undefined]); // one of two parallel requests gets it
    await world.rows.promote(id, randomBytes(32), { graceMs: 0 }); // not the one that was handed out
    expect((await one.verify(cookie))?.id).toBe(id); // until the new one is seen
    expect((await other.verify(fresh!))?.id).toBe(id);
    expect([(await one.verify(cookie))?.id, (await one.verify(fresh!))?.id]).toEqual([id, id]);
    await world.age(LOGIN_LIMITS.graceMs);
    expect([await one.verify(cookie), (await one.verify(fresh!))?.id]).toEqual([null, id]);
  });

  test("a new secret whose answer was cut is handed out again, and no browser is logged out by that", async () => {
    await using world = await openWorld();
    const logins = world.open();
    const { id, cookie } = await logins.begin(await aToken(world), "");
    await world.age(rotateMs);
    const lost = await logins.rotate((await logins.verify(cookie))!);
    await world.age(LOGIN_LIMITS.offerAgainMs);

    const again = await logins.rotate((await logins.verify(cookie))!);

    expect([again === undefined, again === lost]).toEqual([false, false]);
    expect([await logins.verify(lost!), (await logins.verify(again!))?.id]).toEqual([null, id]);
  });

  test("of one token a hundred hold; with one more the oldest ends", async () => {
    await using world = await openWorld();
    const token = await aToken(world);
    const logins = world.open();
    const first = await logins.begin(token, "");
    for (let count = 0; count < 99; count++) await logins.begin(token, "");
    expect((await logins.verify(first.cookie))?.id).toBe(first.id);

    await logins.begin(token, "");

    expect([await logins.verify(first.cookie), (await logins.list({})).length]).toEqual([
      null,
      100,
    ]);
  });

  test("a link logs in once, in any process, within its time", async () => {
    await using world = await openWorld();
    const token = await aToken(world);
    const [one, other] = [world.open(), world.open()];
    const secret = await one.makeLink(token.record.id);

    const taken = await Promise.all([one.takeLink(secret), other.takeLink(secret)]);
    const late = await one.makeLink(token.record.id);
    await world.age(LOGIN_LIMITS.linkMs);

    expect(taken.filter((found) => found?.record.id === token.record.id)).toHaveLength(1);
    expect([
      await one.takeLink(secret),
      await other.takeLink(late),
      await one.takeLink("no-such-link"),
    ]).toEqual([null, null, null]);
  });
});

test("a login under DURE_TOKEN ends when the variable holds another text", async () => {
  const before = new MemoryTokenStore();
  before.add("the-first-text-of-the-token", {
    id: "token_environment",
    name: "DURE_TOKEN",
    scopes: ["admin"],
  });
  const after = new MemoryTokenStore();
  after.add("the-second-text-of-the-token", {
    id: "token_environment",
    name: "DURE_TOKEN",
    scopes: ["admin"],
  });
  const rows = new MemoryLogins({ clock: systemClock });
  const { cookie } = await new Logins({ rows, find: (id) => before.living(id) }).begin(
    (await before.living("token_environment"))!,
    "",
  );

  expect(await new Logins({ rows, find: (id) => before.living(id) }).verify(cookie)).not.toBeNull();
  expect(await new Logins({ rows, find: (id) => after.living(id) }).verify(cookie)).toBeNull();
});

test("nothing in the database opens a login", async () => {
  await using db = await testDatabase();
  const tokens = new PostgresTokenStore({ database: db.database });
  const logins = new Logins({
    rows: new PostgresLogins({ database: db.database }),
    find: (id) => tokens.living(id),
  });
  const { token, record } = await tokens.create({ name: "x", scopes: ["chat"] });
  const { cookie } = await logins.begin({ record, hash: hashToken(token) }, "");
  const link = await logins.makeLink(record.id);

  const stored = JSON.stringify(
    await db.database.query({
      text: `
        select s::text, (select string_agg(l::text, '')
        from dure.login_links l) as links
        from dure.login_sessions s`,
    }),
  );

  const [id, secret] = cookie.split(".");
  expect(stored).toContain(id);
  for (const one of [secret!, link]) {
    expect(stored).not.toContain(one);
    expect(stored).not.toContain(Buffer.from(one).toString("hex"));
  }
});

test("what is stored of a token's logins ends with the token, in one statement", async () => {
  await using db = await testDatabase();
  const tokens = new PostgresTokenStore({ database: db.database });
  const logins = new Logins({
    rows: new PostgresLogins({ database: db.database }),
    find: (id) => tokens.living(id),
  });
  const [mina, jun] = [
    await tokens.create({ name: "mina", scopes: ["chat"] }),
    await tokens.create({ name: "jun", scopes: ["chat"] }),
  ];
  for (const { token, record } of [mina, jun]) {
    await logins.begin({ record, hash: hashToken(token) }, "");
  }

  await tokens.revoke(mina.record.id);

  expect((await logins.list({})).map(({ tokenId }) => tokenId)).toEqual([jun.record.id]);
});
