// @module-tag slow
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { Outbox } from "../durable/outbox.ts";
import { testDatabase } from "../durable/test-database.ts";
import { joinTeam } from "../durable/test-members.ts";
import { systemClock } from "../kernel/clock.ts";
import type { NewEscalation } from "../kernel/escalation.ts";
import { silentLogger } from "../kernel/logger.ts";
import { Inbox } from "./inbox.ts";
import { EscalationRouter, type EscalationRouterOptions, type Operators } from "./router.ts";
import { ROUTE_AFTER_MS } from "./route.ts";
import type { Escalation } from "../wire/escalations.ts";

const boss = { tenant: "", name: "boss" };

test("without an operator people are told at once, in the room and by the webhook, once each", async () => {
  const receiver = await startReceiver();
  const world = await openWorld();
  const us = await world.process({
    webhook: { url: receiver.url, secret: "a-secret-of-the-team" },
  });

  const id = await us.raise({});
  await expect.poll(() => receiver.posts.length).toBe(1);
  await expect.poll(() => us.said).toEqual([id]);
  await us.router.look();

  const [post] = receiver.posts;
  expect(JSON.parse(post!.body)).toMatchObject({
    type: "escalation",
    escalation: {
      id,
      severity: "high",
      step: "person",
      suggested_actions: [{ value: "retry" }, { value: "skip" }],
      context: { failedTests: 3 },
    },
  });
  const {
    "webhook-id": webhookId,
    "webhook-timestamp": at,
    "webhook-signature": signature,
  } = post!.headers;
  expect(signature).toBe(
    `v1,${createHmac("sha256", "a-secret-of-the-team")
      .update(`${String(webhookId)}.${String(at)}.${post!.body}`)
      .digest("base64")}`,
  );
  expect(await world.routed()).toEqual([`${id} worker → person: room, webhook (no-operator)`]);
  expect([receiver.posts.length, us.said.length]).toEqual([1, 1]);
});

test("the operator is asked first; what it decides holds, and no person is told", async () => {
  const asked: Escalation[] = [];
  const world = await openWorld();
  const us = await world.process({
    operators: operatorOf(
      async (escalation) => (asked.push(escalation), { value: "retry", note: "Mock the clock." }),
    ),
  });

  const id = await us.raise({});

  await expect
    .poll(async () => us.inbox.get(id, boss))
    .toMatchObject({
      status: "resolved",
      resolution: { value: "retry", note: "Mock the clock." },
      resolvedBy: "ruda",
      nextStepAt: null,
    });
  expect(asked).toMatchObject([{ id, title: "Three tries have failed.", step: "operator" }]);
  expect(us.said).toEqual([]);
  expect(await world.routed()).toEqual([`${id} worker → operator: operator (operator-first)`]);
});

test.for([
  ["does not decide", async (): Promise<undefined> => undefined],
  ["gives a value that does not exist", async () => ({ value: "explode" })],
] as const)("an operator that %s hands on to people at once", async ([, ask]) => {
  const world = await openWorld();
  const us = await world.process({ operators: operatorOf(ask) });

  const id = await us.raise({});

  await expect.poll(() => us.said).toEqual([id]);
  expect(await us.inbox.get(id, boss)).toMatchObject({ status: "open", step: "person" });
  expect(await world.routed()).toEqual([
    `${id} worker → operator: operator (operator-first)`,
    `${id} operator → person: room (operator-done)`,
  ]);
});

test("an operator that fails each time hands on to people", FULL, async () => {
  let asked = 0;
  const world = await openWorld();
  const us = await world.process({
    operators: operatorOf(async () => {
      asked += 1;
      throw new Error("the model is away");
    }),
  });

  const id = await us.raise({});

  await expect.poll(() => us.said).toEqual([id]);
  expect(asked).toBe(2);
});

test(
  "people overtake an operator that does not answer in time; its late answer still holds if it is first",
  FULL,
  async () => {
    const answer = Promise.withResolvers<{ value: string }>();
    const world = await openWorld();
    const us = await world.process({
      operators: operatorOf(() => answer.promise),
      afterMs: { ...ROUTE_AFTER_MS, critical: 50 },
    });

    const id = await us.raise({ severity: "critical" });
    await expect.poll(() => us.said).toEqual([id]);
    answer.resolve({ value: "skip" });

    await expect
      .poll(async () => us.inbox.get(id, boss))
      .toMatchObject({ status: "resolved", resolvedBy: "ruda", step: "person" });
  },
);

test("an answer of a person goes before the operator's, which changes nothing then", async () => {
  const answer = Promise.withResolvers<{ value: string }>();
  const asked = Promise.withResolvers<void>();
  const world = await openWorld();
  const us = await world.process({
    operators: operatorOf(() => (asked.resolve(), answer.promise)),
  });
  const id = await us.raise({});
  await asked.promise;

  await us.inbox.answer(id, { value: "skip" }, boss);
  answer.resolve({ value: "retry" });

  await expect.poll(() => world.outbox()).toEqual(["escalation.operator sent"]);
  expect(await us.inbox.get(id, boss)).toMatchObject({
    resolution: { value: "skip" },
    resolvedBy: "boss",
  });
});

test("what only people decide is not shown to the operator; what is low is not told", async () => {
  const world = await openWorld();
  const us = await world.process({
    operators: operatorOf(() => Promise.reject(new Error("asked"))),
  });

  const approval = await us.raise({ type: "decision", subject: "approval" });
  const low = await us.raise({ severity: "low", subject: "low" });
  await expect.poll(() => us.said).toEqual([approval]);

  expect(await us.inbox.get(low, boss)).toMatchObject({ step: "worker", nextStepAt: null });
  expect(await world.routed()).toEqual([`${approval} worker → person: room (people-only)`]);
});

test("what has become worse is told anew", async () => {
  const world = await openWorld();
  const us = await world.process({});
  const id = await us.raise({ severity: "medium" });
  await expect.poll(() => us.said).toEqual([id]);

  await us.raise({ severity: "critical" });

  await expect.poll(() => us.said).toEqual([id, id]);
});

test("what is closed before its time comes goes nowhere", async () => {
  const world = await openWorld();
  const us = await world.process({}, { isRunning: false });
  const id = await us.raise({});
  await us.inbox.dismiss(id, boss);

  await us.router.look();

  expect(await world.routed()).toEqual([]);
});

test("an escalation whose time has passed is dismissed by the sweep, and its listener hears it", async () => {
  const world = await openWorld();
  const us = await world.process({});
  const heard: string[] = [];
  us.inbox.onResolved(
    { source: "run" },
    async (_tx, { id, status }) => void heard.push(`${id} ${status}`),
  );

  const id = await us.raise({ expiresMs: 100 });

  await expect.poll(() => heard, { timeout: 20_000 }).toEqual([`${id} dismissed`]);
});

test("three processes that sweep at once lead each of a hundred on once", FULL, async () => {
  const world = await openWorld();
  const processes = await Promise.all([1, 2, 3].map(() => world.process({}, { isRunning: false })));
  const ids = [];
  for (let index = 0; index < 100; index++) {
    ids.push(await processes[0]!.raise({ subject: `s${index}` }));
  }

  await Promise.all(processes.map(({ router }) => router.look()));

  const routed = await world.routed();
  expect(routed.toSorted()).toEqual(
    ids.map((id) => `${id} worker → person: room (no-operator)`).toSorted(),
  );
  for (const one of processes) one.start();
  await expect.poll(() => processes.flatMap(({ said }) => said).length).toBe(100);
  expect(new Set(processes.flatMap(({ said }) => said)).size).toBe(100);
});

test(
  "a webhook that is away is tried again under the same id; one that refuses is not",
  FULL,
  async () => {
    const receiver = await startReceiver([503, 200]);
    const refusing = await startReceiver([410]);
    const world = await openWorld();
    const away = await world.process({ webhook: { url: receiver.url } });
    await away.raise({});
    await expect.poll(() => receiver.posts.length).toBe(2);
    await away.stop();
    const refused = await world.process({ webhook: { url: refusing.url } });
    await refused.raise({ subject: "other" });

    await expect
      .poll(async () =>
        (await world.outbox()).filter((entry) => entry.startsWith("escalation.webhook")),
      )
      .toEqual(["escalation.webhook sent", "escalation.webhook failed"]);
    expect(new Set(receiver.posts.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(receiver.posts[0]!.headers).not.toHaveProperty("webhook-signature");
    expect(refusing.posts).toHaveLength(1);
  },
);

interface TestProcess {
  readonly inbox: Inbox;
  readonly router: EscalationRouter;
  /** Escalations that the room was told of. */
  readonly said: string[];
  raise(given: Partial<NewEscalation>): Promise<string>;
  start(): void;
  stop(): Promise<void>;
}

interface TestWorld {
  process(
    options: Partial<EscalationRouterOptions>,
    state?: { isRunning: boolean },
  ): Promise<TestProcess>;
  /** Steps, in order. */
  routed(): Promise<readonly string[]>;
  /** `topic state`, in order. */
  outbox(): Promise<readonly string[]>;
}

async function openWorld(): Promise<TestWorld> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const db = stack.use(await testDatabase());
  return {
    process: async (options, { isRunning } = { isRunning: true }) => {
      const member = stack.use(await joinTeam(db.url));
      const outbox = new Outbox(member);
      const inbox = new Inbox(member);
      const said: string[] = [];
      const room = {
        transactional: true,
        run: async (payload: unknown) => void said.push((payload as { id: string }).id),
      } as const;
      const router = new EscalationRouter({
        ...member,
        outbox,
        inbox,
        room,
        clock: systemClock,
        logger: silentLogger,
        afterMs: ROUTE_AFTER_MS,
        ...options,
      });
      const start = (): void => {
        router.start();
        outbox.start();
      };
      let stopped: Promise<void> | undefined;
      const stop = (): Promise<void> =>
        (stopped ??= router.stop().then(() => outbox.stop({ graceMs: 0 })));
      stack.defer(stop);
      if (isRunning) start();
      return {
        inbox,
        router,
        said,
        start,
        stop,
        raise: async (given) => {
          const [raised] = await member.database.transaction((tx) =>
            inbox.raise(tx, [{ ...ESCALATION, ...given }]),
          );
          inbox.announce();
          return raised!.id;
        },
      };
    },
    routed: async () => {
      const rows = await db.database.query<{
        data: { id: string; from: string; step: string; told: string[]; because: string };
      }>({
        text: "select data from dure.events where type = 'escalation.routed' order by xid, seq",
      });
      return rows.map(
        ({ data: { id, from, step, told, because } }) =>
          `${id} ${from} → ${step}: ${told.join(", ")} (${because})`,
      );
    },
    outbox: async () =>
      (
        await db.database.query<{ entry: string }>({
          text: "select topic || ' ' || state as entry from dure.outbox order by id",
        })
      ).map(({ entry }) => entry),
  };
}

const ESCALATION: NewEscalation = {
  subject: "test_failure:run=run_1",
  type: "test_failure",
  severity: "high",
  source: { run: "run_1" },
  title: "Three tries have failed.",
  context: { failedTests: 3 },
  suggestedActions: [
    { value: "retry", label: "Retry", asks: "text" },
    { value: "skip", label: "Skip" },
  ],
};

function operatorOf(ask: Operators["ask"]): Operators {
  return { name: "ruda", ask };
}

/** Answers each POST with the next status, the last one for ever. */
async function startReceiver(
  statuses: readonly number[] = [200],
): Promise<{ url: string; posts: { headers: IncomingHttpHeaders; body: string }[] }> {
  const posts: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const status = statuses[Math.min(posts.length, statuses.length - 1)]!;
      posts.push({ headers: request.headers, body });
      response.writeHead(status).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, posts };
}
