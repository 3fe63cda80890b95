import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { Inbox } from "../../src/escalations/inbox.ts";
import { Outbox } from "../../src/durable/outbox.ts";
import { joinTeam } from "../../src/durable/test-members.ts";
import type { HookHandler, Service } from "../../src/engine/service/service.ts";
import { HookDelivery } from "../../src/engine/effects/hooks.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";
import { PostgresProxy } from "@dure/testing";
import { CREATE_LEDGER, ledgerService, writeLedger } from "./ledger-service.ts";

/** An engine whose hooks are delivered as a team delivers them. */
async function startTeam(
  service: Service,
): Promise<TestEngine & { outboxStates(): Promise<readonly string[]> }> {
  await using stack = new AsyncDisposableStack();
  const t = stack.use(await startTestEngine(service));
  await t.database.query({ text: CREATE_LEDGER });
  const us = stack.use(await joinTeam(t.url));
  const outbox = stack.use(new Outbox(us));
  outbox.handle(
    "hook",
    new HookDelivery({ services: [service], logger: us.logger, lease: us.lease.signal }).handler,
  );
  outbox.start();
  const kept = stack.move();
  return {
    ...t,
    outboxStates: async () =>
      (
        await t.database.query<{ state: string }>({
          text: "select state from dure.outbox order by id",
        })
      ).map(({ state }) => state),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

test("the hooks of a session arrive in the order of its turns, each with the key of its turn and place", async () => {
  const arrived: string[] = [];
  const note: HookHandler["handle"] = async (_data, { key }) => void arrived.push(key);
  const ledger: HookHandler = {
    transactional: true,
    handle: async (data, context) => (
      await writeLedger.handle(data, context),
      await note(data, context)
    ),
  };
  await using t = await startTeam(ledgerService({ hooks: { mail: note, ledger } }));

  const one = await t.say("mail ledger mail ledger");
  const two = await t.say("ledger mail nobody mail");

  await expect.poll(() => t.outboxStates()).toEqual(Array.from({ length: 8 }, () => "sent"));
  expect(one.done.hooks).toEqual(
    ["mail", "ledger", "mail", "ledger"].map((type, index) => ({ type, data: { index } })),
  );
  expect(arrived).toEqual(
    [0, 1, 2, 3]
      .map((index) => `${one.turnId}.${index}`)
      .concat([0, 1, 3].map((index) => `${two.turnId}.${index}`)),
  );
  expect(await ledgerOf(t)).toEqual([`${one.turnId}.1`, `${one.turnId}.3`, `${two.turnId}.0`]);
});

test(
  "a hook that fails twice is delivered again with its key; later ones wait, other sessions do not",
  FULL,
  async () => {
    const calls: string[] = [];
    let failures = 2;
    const mail: HookHandler["handle"] = async (_data, { key, session }) => {
      calls.push(`${session} ${key.slice(key.lastIndexOf(".") + 1)}`);
      if (session === "s1" && failures-- > 0) throw new Error("the mail server is closed");
    };
    await using t = await startTeam(ledgerService({ hooks: { mail } }));

    await t.say("mail mail");
    await t.say("mail", { session: "s2" });

    await expect
      .poll(() => t.outboxStates(), { timeout: 15_000 })
      .toEqual(["sent", "sent", "sent"]);
    expect(calls.filter((call) => call.startsWith("s1"))).toEqual(["s1 0", "s1 0", "s1 0", "s1 1"]);
    expect(calls.indexOf("s2 0")).toBeLessThan(calls.indexOf("s1 1"));
  },
);

test(
  "a transactional hook that throws after it has written leaves nothing behind and is tried again",
  FULL,
  async () => {
    let calls = 0;
    const ledger: HookHandler = {
      transactional: true,
      handle: async (data, context) => {
        await writeLedger.handle(data, context);
        if (++calls < 3) throw new Error("not yet");
      },
    };
    await using t = await startTeam(ledgerService({ hooks: { ledger } }));

    const { turnId } = await t.say("ledger");

    await expect.poll(() => t.outboxStates(), { timeout: 15_000 }).toEqual(["sent"]);
    expect(calls).toBe(3);
    expect(await ledgerOf(t)).toEqual([`${turnId}.0`]);
  },
);

test("only a transactional hook is given a transaction", async () => {
  const given: boolean[] = [];
  const look: HookHandler["handle"] = async (_data, { tx }) => void given.push(tx !== undefined);
  await using t = await startTeam(
    ledgerService({ hooks: { mail: look, ledger: { handle: look, transactional: true } } }),
  );

  await t.say("mail ledger");

  await expect.poll(() => given).toEqual([false, true]);
});

test("afterTurn runs after the turn's hooks with its message and a key of its own", async () => {
  const ran: unknown[] = [];
  await using t = await startTeam(
    ledgerService({
      hooks: { mail: async () => void ran.push("mail") },
      afterTurn: async (turn, { key }) => void ran.push([turn, key]),
    }),
  );

  const { turnId } = await t.say("mail");

  await expect
    .poll(() => ran)
    .toEqual(["mail", [{ session: "s1", turn: turnId, message: "ok" }, `${turnId}.1`]]);
});

test("a hook that is given up is told to people", FULL, async () => {
  await using t = await startTeam(
    ledgerService({
      hooks: { mail: async () => Promise.reject(new Error("the mail server is closed")) },
    }),
  );
  const { turnId } = await t.say("mail");
  // As after eleven tries, which take half an hour.
  await expect
    .poll(
      () =>
        t.database.query({
          text: `
            update dure.outbox
            set attempts = 11
            where attempts between 1
            and 10
            and state = 'pending'
            returning id`,
        }),
      { interval: 20 },
    )
    .toHaveLength(1);

  await expect.poll(() => t.outboxStates(), { timeout: 15_000 }).toEqual(["failed"]);
  const { items } = await new Inbox({ database: t.database, notifications: t.notifications }).list({
    tenant: "",
    status: "open",
  });

  expect(items).toMatchObject([
    {
      type: "delivery",
      severity: "high",
      source: { session: "s1", turn: turnId },
      context: {
        key: `${turnId}.0`,
        type: "mail",
        because: expect.stringContaining("closed") as string,
      },
    },
  ]);
});

test.for([
  { where: "between its handler and the commit", kill: "before" },
  { where: "after the commit, before it knows", kill: "after" },
] as const)(
  "a transactional hook whose process is killed $where is done once, and in its order",
  { ...FULL, timeout: 60_000 },
  async ({ kill }) => {
    await using t = await startTestEngine(ledgerService());
    await t.database.query({ text: CREATE_LEDGER });
    await using proxy = await PostgresProxy.start(t.url);
    const { turnId } = await t.say("ledger ledger ledger");
    const settled = proxy.stop("after", ({ name }) => name === "outbox.settle");

    await using victim = new HookProcess(proxy.url);
    await settled.reached;
    if (kill === "after") {
      const committed = proxy.stop("after", ({ sql }) => sql.toLowerCase() === "commit");
      settled.release();
      await committed.reached;
    }
    await victim.kill();
    const written = await ledgerOf(t);
    await using _next = new HookProcess(t.url);

    await expect
      .poll(() => ledgerOf(t), { timeout: 30_000 })
      .toEqual([0, 1, 2].map((index) => `${turnId}.${index}`));
    await expect
      .poll(async () =>
        (await t.database.query<{ state: string }>({ text: "select state from dure.outbox" })).map(
          ({ state }) => state,
        ),
      )
      .toEqual(["sent", "sent", "sent"]);
    expect(written).toEqual(kill === "after" ? [`${turnId}.0`] : []);
    expect(await ledgerOf(t)).toHaveLength(3);
  },
);

async function ledgerOf(t: TestEngine): Promise<readonly string[]> {
  return (
    await t.database.query<{ key: string }>({ text: "select key from test_ledger order by at" })
  ).map(({ key }) => key);
}

/** Delivers hooks until it is killed, at the latest at the end of the block. */
class HookProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(url: string) {
    this.#child = spawn(
      process.execPath,
      [
        "--conditions=dure-source",
        "--no-warnings",
        fileURLToPath(new URL("./hook-process.ts", import.meta.url)),
        url,
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
    this.#exited = once(this.#child, "exit");
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
