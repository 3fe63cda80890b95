// @module-tag slow
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { raiseEscalations } from "../../src/escalations/inbox.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { beLate } from "../../src/kernel/test-late.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { PostgresProxy, type StatementTest } from "@dure/testing";
import { ServerProcess, within } from "../crash/server-process.ts";

const TEAM = fileURLToPath(new URL("folder", import.meta.url));

/**
 * Moments between an escalation and the last of those who are told; the process is killed there.
 */
const POINTS: readonly (readonly [string, "before" | "after", StatementTest])[] = [
  ["it is raised, no process has looked", "before", ({ name }) => name === "route.take"],
  ["its step is moved, not committed", "after", ({ name }) => name === "route.move"],
  [
    "the operator is about to be asked",
    "before",
    ({ name, parameters }) => name === "accept_turn" && parameters.includes("escalation:"),
  ],
  [
    "the operator's turn is accepted",
    "after",
    ({ name, parameters }) => name === "accept_turn" && parameters.includes("escalation:"),
  ],
  [
    "the operator has said that it does not decide",
    "before",
    ({ name }) => name === "route.hand_on",
  ],
  [
    "the line for the room is being written",
    "after",
    ({ name, parameters }) => name === "room.write" && parameters.includes("escalation_"),
  ],
  [
    "the webhook has heard, which is not recorded",
    "before",
    ({ name, parameters }) => name === "outbox.record" && parameters.includes("sent"),
  ],
];

const KILLS = sampled(POINTS, 1);

test.each(KILLS.rows)(
  "kill -9 when %s: it is led on once, and everybody is told once",
  { ...KILLS.options, timeout: 120_000 },
  async (_what, when, at) => {
    const world = await openWorld();
    const first = world.serve();
    await first.url;
    const stop = world.proxy.stop(when, at);

    const id = await world.raise("돈이 나가는 일을 다시 할까요?");
    await within(stop.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();
    const second = world.serve();

    await until(second, async () => expect(await world.said()).toEqual([`${id}:retry`]));
    await until(second, async () => expect(await world.open()).toEqual([]));
    expect(await world.routed()).toEqual(["worker → operator", "operator → person"]);
    expect(await world.turns()).toBe(1);
    expect(new Set(world.heard)).toEqual(new Set([`escalation/${id}/person/high/webhook`]));
  },
);

test(
  "kill -9 while the operator's decision is being written: it holds once, and no person is told",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld();
    const first = world.serve();
    await first.url;
    const stop = world.proxy.stop("after", ({ name }) => name === "escalation.answer");

    const id = await world.raise("세 번 실패했어요");
    await within(stop.reached, "the process did not come to the point", () => first.log);
    await first.kill();
    world.proxy.disarm();
    const second = world.serve();

    await until(second, async () =>
      expect(
        await world.database.query(
          { text: "select status, resolution, resolved_by from dure.escalations where id = $1" },
          [id],
        ),
      ).toEqual([
        {
          status: "resolved",
          resolution: { value: "retry", note: "시계를 흉내 내세요" },
          resolved_by: "ruda",
        },
      ]),
    );
    await until(second, async () => expect(await world.open()).toEqual([]));
    expect(
      await world.database.query({
        text: "select 1 as one from dure.events where type = 'escalation.resolved'",
      }),
    ).toHaveLength(1);
    expect([await world.said(), world.heard]).toEqual([[], []]);
  },
);

test(
  "a person who talks in an escalation's session is refused there, and decides nothing from another one",
  { ...FULL, timeout: 120_000 },
  async () => {
    const world = await openWorld();
    const url = await world.serve().url;
    const id = await world.raise("아무도 묻지 않은 일", { severity: "low" });
    await world.database.query(
      { text: "update dure.escalations set step = 'operator' where id = $1" },
      [id],
    );
    const talk = (session: string): Promise<Response> =>
      fetch(`${url}/v1/agent/chat`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ session_id: session, service: "ruda", message: "retry로 정해 줘" }),
      });

    const reserved = await talk(`escalation:${id}`);
    expect([reserved.status, await reserved.json()]).toMatchObject([
      403,
      { code: "SESSION_RESERVED" },
    ]);
    expect(await world.turns()).toBe(0);
    const answer = await talk("minjun");

    expect(answer.status, await answer.clone().text()).toBe(200);
    expect(await world.database.query({ text: "select status from dure.escalations" })).toEqual([
      { status: "open" },
    ]);
  },
);

interface CrashWorld {
  readonly proxy: PostgresProxy;
  readonly database: Database;
  /** Ids of the webhook's messages, as they came. */
  readonly heard: readonly string[];
  serve(): ServerProcess;
  raise(title: string, more?: { severity: "low" }): Promise<string>;
  /** `from → to`, in order. */
  routed(): Promise<readonly string[]>;
  /** The first button of each line in the room. */
  said(): Promise<readonly string[]>;
  /** Entries of the outbox that are still to leave. */
  open(): Promise<readonly object[]>;
  /** Turns of the operator. */
  turns(): Promise<number>;
}

async function openWorld(): Promise<CrashWorld> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const heard: string[] = [];
  const receiver = createServer((request, response) => {
    heard.push(String(request.headers["webhook-id"]));
    request.resume();
    response.end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  stack.defer(() => void receiver.close());
  const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const owned = stack.use(await testDatabaseUrl());
  const proxy = stack.use(await PostgresProxy.start(owned.url));
  const database = await Database.open({
    url: owned.url,
    applicationName: "escalations-crash",
    logger: silentLogger,
    max: 2,
  });
  stack.defer(() => database.close());
  return {
    proxy,
    database,
    heard,
    serve: () =>
      stack.use(ServerProcess.spawn({ DATABASE_URL: proxy.url, TEST_WEBHOOK: webhook }, TEAM)),
    raise: async (title, more) => {
      const [raised] = await raiseEscalations(database, [
        {
          subject: title,
          type: "test_failure",
          severity: "high",
          source: { run: "run_1" },
          title,
          suggestedActions: [
            { value: "retry", label: "다시" },
            { value: "skip", label: "넘기기" },
          ],
          ...more,
        },
      ]);
      return raised!.id;
    },
    routed: async () =>
      (
        await database.query<{ step: string }>({
          text: `
            select (data->>'from') || ' → ' || (data->>'step') as step
            from dure.events
            where type = 'escalation.routed'
            order by xid, seq`,
        })
      ).map(({ step }) => step),
    said: async () =>
      (
        await database.query<{ value: string }>({
          text: `
            select buttons->0->>'value' as value
            from dure.room_messages
            where buttons is not null
            and delivery = 'sent'
            order by seq`,
        })
      ).map(({ value }) => value),
    open: async () =>
      database.query({
        text: "select topic, state from dure.outbox where state in ('pending', 'sending')",
      }),
    turns: async () =>
      (
        await database.query({
          text: "select id from dure.turns where session_id like 'escalation:%'",
        })
      ).length,
  };
}

async function until(server: ServerProcess, check: () => Promise<void>): Promise<void> {
  await beLate();
  const late = systemClock.now() + 60_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (systemClock.now() > late) {
        throw new Error(`${String(error)}\n${server.log.slice(-20).join("\n")}`, { cause: error });
      }
      await systemClock.sleep(50);
    }
  }
}
