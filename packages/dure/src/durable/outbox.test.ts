// @module-tag slow
import { PostgresProxy } from "@dure/testing";
import { expect, test, vi } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { DureError, ProcessError } from "../kernel/errors.ts";
import { decideStep } from "./outbox-step.ts";
import { enqueue, Outbox, type NewEntry } from "./outbox.ts";
import type { GivenUp } from "./outbox-handler.ts";
import { testDatabase, type TestDatabase } from "./test-database.ts";
import { betweenLookAndWrite, joinTeam, TeamProcess } from "./test-members.ts";

const QUICK = { attempts: 4, firstRetryMs: 10, timeoutMs: 500 };

async function desk(db: TestDatabase): Promise<void> {
  await db.database.query({
    text: "create table test_desk (id serial, key text, payload jsonb, process text); create table test_hooks (id serial, key text, payload jsonb)",
  });
}

function anEntry(n: number, more: Partial<NewEntry> = {}): NewEntry {
  return { topic: "desk", ordering: "one", payload: { n }, key: `k${n}`, ...more };
}

async function states(db: TestDatabase): Promise<Record<string, string>> {
  const rows = await db.database.query<{ key: string; state: string }>({
    text: "select key, state from dure.outbox order by id",
  });
  return Object.fromEntries(rows.map((row) => [row.key, row.state]));
}

test("entries of one ordering key leave in their order, one after another; other keys overtake them", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  const left: string[] = [];
  let open = 0;
  outbox.handle("desk", {
    async send(_payload, { key, signal }) {
      const slow = key === "k0";
      if (!key.startsWith("other")) expect((open += 1)).toBe(1);
      if (slow) {
        await expect
          .poll(() => left.includes("other"), { interval: 10, timeout: 20_000 })
          .toBe(true);
      }
      signal.throwIfAborted();
      left.push(key);
      if (!key.startsWith("other")) open -= 1;
    },
  });
  await us.database.transaction((tx) =>
    enqueue(
      tx,
      [0, 1, 2, 3, 4].map((n) => anEntry(n)),
    ),
  );
  await enqueue(us.database, [anEntry(9, { ordering: "two", key: "other" })]);

  outbox.start();

  await expect.poll(() => left.length, { timeout: 20_000 }).toBe(6);
  expect(left).toEqual(["other", "k0", "k1", "k2", "k3", "k4"]);
  await expect
    .poll(async () => new Set(Object.values(await states(db))), { timeout: 20_000 })
    .toEqual(new Set(["sent"]));
});

test("what was enqueued in a transaction that rolled back never leaves, and one key leaves once", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  const send = vi.fn(async () => {});
  outbox.handle("desk", { send });
  outbox.start();
  await us.database
    .transaction(async (tx) => {
      await enqueue(tx, [anEntry(1)]);
      throw new Error("no");
    })
    .catch(() => {});
  await enqueue(us.database, [anEntry(2), anEntry(2), anEntry(3)]);
  await enqueue(us.database, [anEntry(2)]);

  outbox.announce();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k2: "sent", k3: "sent" });
  expect(send).toHaveBeenCalledTimes(2);
});

test("a death between sending and recording leaves an entry that the next one finds and does not resend", async () => {
  await using db = await testDatabase();
  await desk(db);
  await enqueue(db.database, [anEntry(1), anEntry(2)]);
  await using first = new TeamProcess("sender", db.url, "hang-after-send");
  await first.says("sent");
  await first.kill();

  await using second = new TeamProcess("sender", db.url);

  await second.says("sent", (line) => line["key"] === "k2");
  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "sent", k2: "sent" });
  expect(second.lines.filter((line) => line.say === "probes")).toEqual([
    { say: "probes", key: "k1" },
  ]);
  expect(await db.database.query({ text: "select key from test_desk order by id" })).toEqual([
    { key: "k1" },
    { key: "k2" },
  ]);
});

test(
  "under repeated kills every hook runs exactly once and in order, and nothing is sent blindly twice",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using db = await testDatabase();
    await desk(db);
    const entries = Array.from({ length: 200 }, (_, n) =>
      anEntry(n, { topic: n % 2 ? "hook" : "desk", ordering: `s${n % 5}` }),
    );
    await enqueue(db.database, entries);

    for (let kills = 0; kills < 4; kills++) {
      await using victim = new TeamProcess("sender", db.url);
      await victim.says("sent");
      await victim.kill();
    }
    await using _last = new TeamProcess("sender", db.url);
    await expect
      .poll(async () => new Set(Object.values(await states(db))), { timeout: 20_000 })
      .toEqual(new Set(["sent"]));

    for (const table of ["test_hooks", "test_desk"]) {
      const rows = await db.database.query<{ key: string; n: number }>({
        text: `select key, (payload->>'n')::int as n from ${table} order by id`,
      });
      expect(rows).toHaveLength(100);
      expect(new Set(rows.map((row) => row.key)).size).toBe(100);
      for (let ordering = 0; ordering < 5; ordering++) {
        const ofOne = rows.map((row) => row.n).filter((n) => n % 5 === ordering);
        expect(ofOne).toEqual(ofOne.toSorted((a, b) => a - b));
      }
    }
  },
);

test("a transactional handler that throws leaves no rows behind and is tried again", async () => {
  await using db = await testDatabase();
  await desk(db);
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  let calls = 0;
  outbox.handle("hook", {
    transactional: true,
    policy: QUICK,
    async run(_payload, { tx, key }) {
      await tx.query({ text: "insert into test_hooks (key) values ($1)" }, [key]);
      if (++calls < 3) throw new Error("not yet");
      return { calls };
    },
  });
  await enqueue(us.database, [anEntry(1, { topic: "hook" })]);

  outbox.start();

  await expect
    .poll(() => db.database.query({ text: "select state, attempts, result from dure.outbox" }), {
      timeout: 20_000,
    })
    .toEqual([{ state: "sent", attempts: 3, result: { calls: 3 } }]);
  expect(await db.database.query({ text: "select key from test_hooks" })).toHaveLength(1);
});

test("what fails for good is recorded once with its event and does not block its successors", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  const log: { level: string; fields: object; line: string }[] = [];
  const logged = (level: string) => (fields: object, line: string) =>
    void log.push({ level, fields, line });
  await using outbox = new Outbox({
    ...us,
    logger: {
      debug: logged("debug"),
      info: logged("info"),
      warn: logged("warn"),
      error: logged("error"),
    },
  });
  const given: GivenUp[] = [];
  outbox.handle("desk", {
    policy: QUICK,
    async send(_payload, { key }) {
      if (key === "k1") throw new DureError("DESK_FORBIDDEN", "not allowed");
    },
    classify: () => ({ class: "permanent" }),
    async onGivenUp(one, tx) {
      given.push(one);
      await tx.query({ text: "select 1" });
    },
  });
  await enqueue(us.database, [anEntry(1), anEntry(2)]);

  outbox.start();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "failed", k2: "sent" });
  expect(given).toEqual([
    expect.objectContaining({
      key: "k1",
      outcome: "failed",
      attempts: 1,
      error: { code: "DESK_FORBIDDEN", message: "not allowed" },
    }),
  ]);
  expect(
    await db.database.query({ text: "select type, data->>'key' as key from dure.events" }),
  ).toEqual([{ type: "outbox.failed", key: "k1" }]);
  await expect
    .poll(
      () => log.map(({ level, fields }) => [level, JSON.stringify(fields).includes("not allowed")]),
      { timeout: 20_000 },
    )
    .toEqual([
      ["warn", false],
      ["debug", true],
    ]);
  expect(log[0]).toMatchObject({
    fields: { key: "k1", topic: "desk", code: "DESK_FORBIDDEN" },
    line: "outbox entry k1 is failed after 1 attempts",
  });
});

test("an entry that may have arrived and cannot be found out about waits for a decision", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  const send = vi.fn(async (_payload: unknown, { attempt }: { attempt: number }) => {
    if (attempt === 1 && send.mock.calls.length === 1) throw new Error("the line broke");
  });
  outbox.handle("desk", { policy: QUICK, send, probe: async () => "unknown" });
  await enqueue(us.database, [anEntry(1)]);
  outbox.start();
  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "unknown" });
  expect(send).toHaveBeenCalledOnce();

  await outbox.resolve("k1", "again");

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "sent" });
  await expect(outbox.resolve("k1", "sent")).rejects.toMatchObject({ code: "OUTBOX_NOT_UNKNOWN" });
});

test(
  "while the outside answers 429, what may have arrived is neither given up nor sent again",
  FULL,
  async () => {
    await using db = await testDatabase();
    await using us = await joinTeam(db.url);
    await using outbox = new Outbox(us);
    let looks = 0;
    const send = vi.fn(async () => {
      throw new Error("the line broke");
    });
    const limited = new DureError("DESK_BUSY", "too many requests");
    outbox.handle("desk", {
      policy: { ...QUICK, attempts: 2 },
      send,
      probe: async () => {
        if (++looks % 7 !== 0) throw limited;
        return "not_happened";
      },
      classify: (error) => (error === limited ? { class: "rate-limited", afterMs: 5 } : undefined),
    });
    await enqueue(us.database, [anEntry(1)]);

    outbox.start();

    await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "failed" });
    expect(send).toHaveBeenCalledTimes(2);
    expect(looks).toBe(14);
  },
);

test("what may not even be looked for is not known, and is told at once", async () => {
  const forbidden = { class: "permanent" } as const;

  expect(
    decideStep(
      { attempts: 0, in_doubt: true },
      { kind: "error", error: new Error("x"), phase: "probe", verdict: forbidden },
      { attempts: 4, firstRetryMs: 1_000, timeoutMs: 10_000 },
      () => 1,
    ),
  ).toMatchObject({ state: "unknown", attempts: 1 });
});

test("an entry whose last attempt failed but arrived is not called failed", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  const arrived = new Set<string>();
  outbox.handle("desk", {
    policy: { ...QUICK, attempts: 1 },
    async send(_payload, { key }) {
      if (key === "k1") arrived.add(key);
      throw new Error("the line broke");
    },
    probe: async (_payload, { key }) => (arrived.has(key) ? "happened" : "not_happened"),
  });
  await enqueue(us.database, [anEntry(1), anEntry(2)]);

  outbox.start();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "sent", k2: "failed" });
});

test("what a living process is sending no other sends, nor anything behind it", async () => {
  await using db = await testDatabase();
  await using first = await joinTeam(db.url);
  await using second = await joinTeam(db.url);
  await using sending = new Outbox(first);
  await using looking = new Outbox(second);
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  sending.handle("desk", {
    send: async () => {
      begun.resolve();
      await end.promise;
    },
  });
  const left: string[] = [];
  looking.handle("desk", { send: async (_payload, { key }) => void left.push(key) });
  await enqueue(db.database, [anEntry(1)]);
  sending.start();
  await begun.promise;

  await enqueue(db.database, [anEntry(2), anEntry(3, { ordering: "two" })]);
  looking.start();

  await expect
    .poll(() => states(db), { timeout: 20_000 })
    .toEqual({ k1: "sending", k2: "pending", k3: "sent" });
  expect(left).toEqual(["k3"]);
  end.resolve();
  await expect
    .poll(() => states(db), { timeout: 20_000 })
    .toEqual({ k1: "sent", k2: "sent", k3: "sent" });
});

/** An entry that a process was sending when it ended. */
async function leftBehind(db: TestDatabase, more: { attempts?: number } = {}): Promise<void> {
  await db.database.query({
    text: "insert into dure.processes (id, app_version, host, machine, pid, pid_started, ended_at) values ('process_dead', '', '', '', 1, '', clock_timestamp())",
  });
  await db.database.query(
    {
      text: "insert into dure.outbox (topic, ordering, key, payload, state, holder, holder_epoch, attempts) values ('desk', 'one', 'k1', 'null', 'sending', 'process_dead', 1, $1)",
    },
    [more.attempts ?? 0],
  );
}

test("what a process left behind that is ended, whatever its epoch, is taken by another", async () => {
  await using db = await testDatabase();
  await leftBehind(db);
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  outbox.handle("desk", { send: async () => {}, probe: async () => "happened" });

  outbox.start();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "sent" });
});

test("what a living process was sending under an earlier epoch is taken by another", async () => {
  await using db = await testDatabase();
  await leftBehind(db);
  await db.database.query({
    text: "update dure.processes set epoch = 2, ended_at = null where id = 'process_dead'",
  });
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  outbox.handle("desk", { send: async () => {}, probe: async () => "happened" });

  outbox.start();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "sent" });
});

test("a claimed entry is held under the epoch of its process", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const send = async (): Promise<void> => {
    begun.resolve();
    await end.promise;
  };
  outbox.handle("desk", { send });
  await enqueue(db.database, [anEntry(1)]);

  outbox.start();
  await begun.promise;

  const held = { holder: us.lease.id, holder_epoch: us.lease.epoch };
  expect(await db.database.query({ text: "select holder, holder_epoch from dure.outbox" })).toEqual(
    [held],
  );
  end.resolve();
});

test("an entry whose attempts are used up and that did not arrive is not sent once more", async () => {
  await using db = await testDatabase();
  await leftBehind(db, { attempts: QUICK.attempts });
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  const send = vi.fn(async () => {});
  outbox.handle("desk", { policy: QUICK, send, probe: async () => "not_happened" });

  outbox.start();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "failed" });
  expect(send).not.toHaveBeenCalled();
});

test("an entry does not leave before its time", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  outbox.handle("desk", { send: async () => {} });
  await enqueue(us.database, [anEntry(1, { delayMs: 600_000 }), anEntry(2, { ordering: "two" })]);

  outbox.start();

  await expect.poll(() => states(db), { timeout: 20_000 }).toMatchObject({ k2: "sent" });
  expect(await states(db)).toEqual({ k1: "pending", k2: "sent" });
});

test("no more entries leave at once than are allowed", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox({ ...us, concurrency: 2 });
  const two = Promise.withResolvers<void>();
  let open = 0;
  let most = 0;
  outbox.handle("desk", {
    async send() {
      most = Math.max(most, ++open);
      if (open === 2) two.resolve();
      await two.promise;
      open -= 1;
    },
  });
  await enqueue(
    us.database,
    [1, 2, 3, 4, 5, 6].map((n) => anEntry(n, { ordering: `o${n}` })),
  );

  outbox.start();

  await expect
    .poll(async () => new Set(Object.values(await states(db))), { timeout: 20_000 })
    .toEqual(new Set(["sent"]));
  expect(most).toBe(2);
});

/** `rows`: the entry only writes rows, so that its mark and they are one transaction. */
const KINDS = ["send", "rows"] as const;

function deskHandler(
  kind: (typeof KINDS)[number],
  done: () => void,
): Parameters<Outbox["handle"]>[1] {
  const run = async (): Promise<void> => done();
  return {
    send: async () => {},
    onSent: run,
    ...(kind === "rows" && { rows: { holds: () => true, run } }),
  };
}

/** The other process lives, so that no later look takes the entry back. */
const GIVEN_TO_ANOTHER = `
  with other as (
    insert into dure.processes (id, epoch, app_version, host, machine, pid, pid_started)
    values ('process_other', 7, '', '', '', 0, '')
  )
  update dure.outbox set holder = 'process_other', holder_epoch = 7`;

test("what came of a sending is recorded by the one that holds the entry alone", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  const outbox = new Outbox(us);
  const done = vi.fn();
  const sent = Promise.withResolvers<void>();
  const send = async (): Promise<void> => {
    await db.database.query({ text: GIVEN_TO_ANOTHER });
    sent.resolve();
  };
  outbox.handle("desk", { send, onSent: async () => done() });
  await enqueue(db.database, [anEntry(1)]);

  outbox.start();
  await sent.promise;
  await outbox.stop();

  expect(await db.database.query({ text: "select state, holder from dure.outbox" })).toEqual([
    { state: "sending", holder: "process_other" },
  ]);
  expect(done).not.toHaveBeenCalled();
});

test("rows of an entry are written by the one that holds it alone", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  const outbox = new Outbox(us);
  const done = vi.fn();
  outbox.handle("desk", deskHandler("rows", done));
  await enqueue(db.database, [anEntry(1)]);

  await betweenLookAndWrite(db.database, us.id, {
    begin: () => outbox.start(),
    meanwhile: GIVEN_TO_ANOTHER,
  });
  await outbox.stop();

  expect(await db.database.query({ text: "select state, holder from dure.outbox" })).toEqual([
    { state: "sending", holder: "process_other" },
  ]);
  expect(done).not.toHaveBeenCalled();
});

test.for(KINDS)(
  "a process that was taken over records nothing of what it has sent (%s)",
  async (kind) => {
    await using db = await testDatabase();
    await using us = await joinTeam(db.url);
    const outbox = new Outbox(us);
    const done = vi.fn();
    outbox.handle("desk", deskHandler(kind, done));
    await enqueue(db.database, [anEntry(1)]);

    await betweenLookAndWrite(db.database, us.id, {
      begin: () => outbox.start(),
      meanwhile: "update dure.processes set epoch = epoch + 1, ended_at = clock_timestamp()",
    });
    await outbox.stop();

    expect(await states(db)).toEqual({ k1: "sending" });
    expect(done).not.toHaveBeenCalled();
  },
);

test("a process that was taken over runs no transactional entry", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  const run = vi.fn(async () => {});
  outbox.handle("hook", { transactional: true, run });
  await enqueue(db.database, [anEntry(1, { topic: "hook" })]);
  await db.database.query({
    text: "update dure.processes set epoch = epoch + 1, ended_at = clock_timestamp()",
  });

  outbox.start();

  await expect.poll(() => us.lease.state, { timeout: 20_000 }).toBe("fenced");
  expect(run).not.toHaveBeenCalled();
  expect(await states(db)).toEqual({ k1: "pending" });
});

test("a transactional entry that another process ran meanwhile is not run again", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  const outbox = new Outbox(us);
  const run = vi.fn(async () => {});
  outbox.handle("hook", { transactional: true, run });
  await enqueue(db.database, [anEntry(1, { topic: "hook" })]);

  await betweenLookAndWrite(db.database, us.id, {
    begin: () => outbox.start(),
    meanwhile: "update dure.outbox set state = 'sent'",
  });
  await outbox.stop();

  expect(run).not.toHaveBeenCalled();
});

test("a transactional entry that another process put off meanwhile waits for its time", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  const outbox = new Outbox(us);
  const run = vi.fn(async () => {});
  outbox.handle("hook", { transactional: true, run });
  await enqueue(db.database, [anEntry(1, { topic: "hook" })]);

  await betweenLookAndWrite(db.database, us.id, {
    begin: () => outbox.start(),
    meanwhile: "update dure.outbox set next_at = clock_timestamp() + interval '1 hour'",
  });
  await outbox.stop();

  expect(run).not.toHaveBeenCalled();
  expect(await states(db)).toEqual({ k1: "pending" });
});

test("a handler that does not answer is interrupted", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  let aborted = 0;
  outbox.handle("desk", {
    policy: { attempts: 2, firstRetryMs: 10, timeoutMs: 50 },
    send: (_payload, { signal }) =>
      new Promise(() => signal.addEventListener("abort", () => (aborted += 1))),
  });
  await enqueue(us.database, [anEntry(1)]);

  outbox.start();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "failed" });
  expect(aborted).toBe(2);
});

test("an entry whose claim was answered by a lost connection is sent by the same process", async () => {
  await using db = await testDatabase();
  await using proxy = await PostgresProxy.start(db.url);
  await using us = await joinTeam(proxy.url);
  await using outbox = new Outbox(us);
  const left: string[] = [];
  outbox.handle("desk", {
    send: async (_payload, { key }) => void left.push(key),
    probe: async (_payload, { key }) => (left.includes(key) ? "happened" : "not_happened"),
  });
  await enqueue(us.database, [anEntry(1), anEntry(2)]);
  const isClaimed = ({ name }: { name: string }): boolean => name === "outbox.look";
  const claimed = proxy.stop("after", isClaimed);

  outbox.start();
  await claimed.reached;
  proxy.cutAll();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "sent", k2: "sent" });
  expect(left).toEqual(["k1", "k2"]);
});

test("an entry that a process is sending is not sent again by its next looks", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await using outbox = new Outbox(us);
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  outbox.handle("desk", {
    send: async (_payload, { key }) => {
      begun.push(key);
      if (key === "k1") await gate.promise;
    },
  });
  await enqueue(us.database, [anEntry(1)]);
  outbox.start();
  await expect.poll(() => begun, { timeout: 20_000 }).toEqual(["k1"]);

  await enqueue(us.database, [anEntry(2, { ordering: "two" })]);
  outbox.wake();
  await expect.poll(() => begun.includes("k2"), { timeout: 20_000 }).toBe(true);
  gate.resolve();

  await expect.poll(() => states(db), { timeout: 20_000 }).toEqual({ k1: "sent", k2: "sent" });
  expect(begun).toEqual(["k1", "k2"]);
});

test("what follows from an attempt", () => {
  const policy = { attempts: 4, firstRetryMs: 1_000, timeoutMs: 10_000 };
  const decide = (attempts: number, verdict?: object, error: Error = new Error("x")) =>
    decideStep(
      { attempts, in_doubt: false },
      { kind: "error", error, phase: "send", verdict: verdict as never },
      policy,
      () => 1,
    );

  expect([0, 1, 2].map((attempts) => Math.round(decide(attempts).waitMs))).toEqual([
    1_200, 2_400, 4_800,
  ]);
  expect(decide(3)).toMatchObject({ state: "failed", attempts: 4 });
  expect(decide(0)).toMatchObject({ state: "pending", inDoubt: true });
  const fenced = new ProcessError("TURN_FENCED", "not yours", { class: "conflict" });
  expect(decide(0, { class: "permanent" }, fenced)).toMatchObject({
    state: "pending",
    attempts: 0,
  });
  expect(decide(0, { class: "transient", notSent: true })).toMatchObject({ inDoubt: false });
  expect(decide(3, { class: "rate-limited", afterMs: 77 })).toMatchObject({
    state: "pending",
    attempts: 3,
    waitMs: 77,
  });
  expect(decide(0, { class: "permanent" })).toMatchObject({ state: "failed", attempts: 1 });
});

test("an attempt that met dure's own database away is no attempt at the outside", async () => {
  await using db = await testDatabase();
  const error: unknown = await db.database
    .query({ text: "select pg_terminate_backend(pg_backend_pid())" })
    .catch((cut: unknown) => cut);
  const policy = { attempts: 4, firstRetryMs: 1_000, timeoutMs: 10_000 };
  const entry = { attempts: 3, in_doubt: false };

  const step = decideStep(entry, { kind: "error", error, phase: "send" }, policy, () => 0);

  expect(step).toMatchObject({ state: "pending", attempts: 3, inDoubt: true });
});
