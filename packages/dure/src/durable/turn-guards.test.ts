/**
 * Who may write into a turn, shown at the statements themselves: by the process, the life and the
 * tenant that asks.
 */

import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import type { Database } from "./database.ts";
import { testDatabase } from "./test-database.ts";
import { untilBlocked } from "./test-members.ts";
import { FencedError, TurnStore, type FinishedTurn, type NewTurn } from "./turns.ts";

const SESSION = "s1";
const TURN = "turn_1";

const ROW = { seq: 1, place: "1 step", type: "RECORD", data: "x" } as const;

const CALL = { key: "s1/pay/1", tool: "pay", input: { to: "mina" } } as const;

function storeOf(database: Database, holder: string): TurnStore {
  return new TurnStore({
    database,
    notifications: { publish: () => {} } as never,
    clock: systemClock,
    holder,
    proof: { isFresh: false },
  });
}

function aTurn(given: Partial<NewTurn> = {}): NewTurn {
  return {
    turn: TURN,
    session: SESSION,
    tenant: "",
    service: "chat",
    version: "1",
    author: "person",
    policy: "queue",
    max_waiting: 20,
    message: "hello",
    input: {},
    title: "hello",
    events: [],
    ...given,
  };
}

function anEnd(epoch: number, given: Partial<FinishedTurn> = {}): FinishedTurn {
  return {
    turn: TURN,
    session: SESSION,
    epoch,
    stopped: false,
    done: { message: "ok" },
    done_seq: 2,
    rows: [],
    calls: [],
    completed: [],
    escalations: [],
    outbox: [],
    events: [],
    ...given,
  };
}

/** A turn that the process `p1` runs in its first life, and a second process. */
async function openWorld() {
  const db = await testDatabase();
  const { database } = db;
  for (const id of ["p1", "p2"]) {
    await database.query(
      {
        text: "insert into dure.processes (id, app_version, host, machine, pid, pid_started) values ($1, '', '', '', 1, '')",
      },
      [id],
    );
  }
  const first = storeOf(database, "p1");
  const second = storeOf(database, "p2");
  await first.accept(aTurn());
  return {
    database,
    url: db.url,
    first,
    second,
    turn: async () =>
      (
        await database.query<{
          status: string;
          holder: string | null;
          epoch: number;
          stop: unknown;
          done: unknown;
        }>({ text: "select status, holder, epoch, stop, done from dure.turns where id = $1" }, [
          TURN,
        ])
      )[0]!,
    effect: async () =>
      (
        await database.query<{ status: string; attempts: number }>(
          { text: "select status, attempts from dure.effects where key = $1" },
          [CALL.key],
        )
      )[0],
    journal: async () =>
      (
        await database.query<{ seq: number }>(
          { text: "select seq from dure.turn_events where turn_id = $1 order by seq" },
          [TURN],
        )
      ).map(({ seq }) => seq),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  };
}

/** A question about a call, as the inbox has it. */
async function ask(database: Database, id: string, status: "open" | "resolved"): Promise<void> {
  const resolution = status === "open" ? null : '{"value": "approve"}';
  await database.query(
    {
      text: "insert into dure.escalations (id, subject, type, severity, status, title, resolution) values ($1, $1, 'decision', 'medium', $2, 't', $3::jsonb)",
    },
    [id, status, resolution],
  );
}

test("a message of another tenant is not taken into a session, whatever id was handed in", async () => {
  await using world = await openWorld();

  await expect(world.second.accept(aTurn({ turn: "turn_2", tenant: "b" }))).rejects.toMatchObject({
    code: "SESSION_UNKNOWN",
  });
  const turns = await world.database.query({ text: "select id from dure.turns" });
  expect(turns).toEqual([{ id: TURN }]);
});

test("a turn that a living process holds is claimed by no other", async () => {
  await using world = await openWorld();

  expect(await world.second.claim(TURN)).toBeNull();

  await world.database.query({
    text: "update dure.processes set ended_at = clock_timestamp() where id = 'p1'",
  });
  expect(await world.second.claim(TURN), "dead, and its work is not given up yet").toBeNull();

  await world.database.query({
    text: "update dure.processes set recovered_at = clock_timestamp() where id = 'p1'",
  });
  expect(await world.second.claim(TURN)).toMatchObject({ turn: TURN, epoch: 2 });
});

test("each claim of a turn closes it to the life before", async () => {
  await using world = await openWorld();

  const again = await world.first.claim(TURN);

  expect(again).toMatchObject({ epoch: 2 });
  await expect(
    world.first.journal({ turn: TURN, epoch: 1, rows: [ROW], calls: [] }),
  ).rejects.toThrow(FencedError);
  expect(await world.first.journal({ turn: TURN, epoch: 2, rows: [ROW], calls: [] })).toEqual({
    stop: false,
  });
});

test("a turn that has ended is claimed by no process", async () => {
  await using world = await openWorld();
  await world.first.finish(anEnd(1));

  expect(await world.first.claim(TURN)).toBeNull();
  expect(await world.turn()).toMatchObject({ status: "done", epoch: 1 });
});

test("a life that has lost its turn writes no journal, no effect and no end", async () => {
  await using world = await openWorld();
  await world.first.effectIntent({ turn: TURN, epoch: 1, ...CALL, rows: [], calls: [] });
  await world.first.release("p1");
  await world.second.claim(TURN);
  const { epoch } = await world.turn();

  await expect(
    world.first.journal({ turn: TURN, epoch: 1, rows: [ROW], calls: [] }),
  ).rejects.toThrow(FencedError);
  await expect(
    world.first.effectIntent({
      turn: TURN,
      epoch: 1,
      ...CALL,
      key: "s1/pay/2",
      rows: [ROW],
      calls: [],
    }),
  ).rejects.toThrow(FencedError);
  await expect(
    world.first.effectSettle({ turn: TURN, epoch: 1, key: CALL.key, status: "done" }),
  ).rejects.toThrow(FencedError);
  await expect(world.first.finish(anEnd(1))).rejects.toThrow(FencedError);

  expect(await world.turn()).toMatchObject({ status: "running", holder: "p2", epoch, done: null });
  expect(await world.effect()).toEqual({ status: "intent", attempts: 1 });
  expect(await world.journal()).toEqual([]);
  expect(await world.database.query({ text: "select key from dure.effects" })).toHaveLength(1);
});

test("a turn that has ended takes no journal and no effect any more", async () => {
  await using world = await openWorld();
  await world.first.finish(anEnd(1));

  await expect(
    world.first.journal({ turn: TURN, epoch: 1, rows: [{ ...ROW, seq: 3 }], calls: [] }),
  ).rejects.toThrow(FencedError);
  await expect(
    world.first.effectIntent({ turn: TURN, epoch: 1, ...CALL, rows: [], calls: [] }),
  ).rejects.toThrow(FencedError);

  expect(await world.journal()).toEqual([]);
  expect(await world.effect()).toBeUndefined();
});

test("a takeover waits for a write that is under way, and no write is let in behind it", async () => {
  await using world = await openWorld();
  const order: string[] = [];
  let taking: Promise<unknown> = Promise.resolve();

  await world.database.transaction(async (tx) => {
    // A write that has looked at the turn's epoch and has not committed.
    await tx.query({ text: "select dure.lock_turn($1, 1)" }, [TURN]);
    taking = world.second.release("p1").then(() => order.push("taken"));
    await untilBlocked(world.database, "%release_turns%");
    order.push("written");
  });
  await taking;

  expect(order).toEqual(["written", "taken"]);
  await expect(
    world.first.journal({ turn: TURN, epoch: 1, rows: [ROW], calls: [] }),
  ).rejects.toThrow(FencedError);
});

test("an end that is written again changes nothing", async () => {
  await using world = await openWorld();

  expect(await world.first.finish(anEnd(1))).toEqual({ outcome: "done", next: null });
  expect(await world.first.finish(anEnd(1, { done: { message: "another" } }))).toEqual({
    outcome: "repeated",
    next: null,
  });

  expect(await world.turn()).toMatchObject({ done: { message: "ok" } });
});

test("a turn that was asked to stop ends as stopped alone", async () => {
  await using world = await openWorld();
  await world.first.stop(TURN, "", "mina");

  expect(await world.first.finish(anEnd(1))).toMatchObject({ outcome: "stop" });
  expect(await world.turn()).toMatchObject({ status: "running", done: null });
  expect(await world.first.finish(anEnd(1, { stopped: true }))).toMatchObject({ outcome: "done" });
});

test("a yes that a call has used stays that call's when the turn ends", async () => {
  await using world = await openWorld();
  await ask(world.database, "e1", "resolved");
  await world.database.query({
    text: "update dure.escalations set used_at = clock_timestamp(), used_by = 'turn_0' where id = 'e1'",
  });

  await world.first.finish(anEnd(1, { approvals: ["e1"] }));

  expect(await world.database.query({ text: "select used_by from dure.escalations" })).toEqual([
    { used_by: "turn_0" },
  ]);
});

test("a turn that another process has taken answers no question", async () => {
  await using world = await openWorld();
  await ask(world.database, "e1", "open");
  await world.database.query({
    text: "update dure.escalations set session_id = (select session_id from dure.turns)",
  });
  const said = { turn: TURN, epoch: 0, subjects: ["e1"], said: "reject" } as const;

  await expect(world.first.answerAsked(said)).rejects.toBeInstanceOf(FencedError);
  expect(await world.database.query({ text: "select status from dure.escalations" })).toEqual([
    { status: "open" },
  ]);
  expect(await world.first.answerAsked({ ...said, epoch: 1 })).toMatchObject([
    { answer: "reject" },
  ]);
});

test("only its tenant stops a turn", async () => {
  await using world = await openWorld();

  expect(await world.first.stop(TURN, "acme", "mallory")).toBeNull();
  expect((await world.turn()).stop).toBeNull();
  expect(await world.first.stop(TURN, "", "mina")).toBe("stopping");
});

test("a stop that comes after the end says so and changes nothing", async () => {
  await using world = await openWorld();
  await world.first.finish(anEnd(1));

  expect(await world.first.stop(TURN, "", "mina")).toBe("finished");
  expect((await world.turn()).stop).toBeNull();
});

test("who asked first for the end of a turn stands in it", async () => {
  await using world = await openWorld();
  await world.first.stop(TURN, "", "mina");
  await world.first.stop(TURN, "", "jun");

  expect((await world.turn()).stop).toEqual({ by: "mina" });
});

test("a turn is given up by its holder in its present life alone", async () => {
  await using world = await openWorld();
  await world.first.claim(TURN);

  await world.first.giveUp(TURN, 1);
  expect(await world.turn(), "by an earlier life").toMatchObject({ holder: "p1", epoch: 2 });
  await world.second.giveUp(TURN, 2);
  expect(await world.turn(), "by another process").toMatchObject({ holder: "p1" });
  await world.first.giveUp(TURN, 2);
  expect(await world.turn()).toMatchObject({ holder: null });
});

test("turns of a dead process are closed to it as soon as they are released", async () => {
  await using world = await openWorld();
  await world.second.accept(aTurn({ turn: "turn_2", session: "s2" }));

  expect(await world.second.release("p1")).toBe(1);

  await expect(
    world.first.journal({ turn: TURN, epoch: 1, rows: [ROW], calls: [] }),
  ).rejects.toThrow(FencedError);
  await expect(world.first.finish(anEnd(1))).rejects.toThrow(FencedError);
  expect(
    await world.second.journal({ turn: "turn_2", epoch: 1, rows: [ROW], calls: [] }),
    "another process keeps its own",
  ).toEqual({ stop: false });
});

test("a process that was taken over and does not know it pays for nothing and claims nothing", async () => {
  await using us = await openWorld();
  const { epoch } = (await us.first.claim(TURN))!;
  await us.first.confirm(TURN, epoch);

  await us.database.query({
    text: "update dure.processes set ended_at = now(), ended_because = 'silent' where id = 'p1'",
  });

  await expect(us.first.confirm(TURN, epoch)).rejects.toThrow(FencedError);
  expect(await us.first.claim(TURN)).toBeNull();
  await us.second.release("p1");
  expect(await us.first.claim(TURN)).toBeNull();
  expect(await us.second.claim(TURN)).toMatchObject({ turn: TURN });
});

test("messages that come at once to a session that is there all wait or run, each once", async () => {
  await using world = await openWorld();
  await world.first.finish(anEnd(1));
  const ids = Array.from({ length: 8 }, (_, index) => `turn_${index + 2}`);

  await Promise.all(ids.map((turn) => world.first.accept(aTurn({ turn }))));

  const [session] = await world.database.query<{ running_turn: string; queue: string[] }>({
    text: "select running_turn, queue from dure.sessions",
  });
  expect([session!.running_turn, ...session!.queue].toSorted()).toEqual(ids.toSorted());
  expect(
    await world.database.query({ text: "select id from dure.turns where status = 'running'" }),
  ).toEqual([{ id: session!.running_turn }]);
});

test("an effect that is known is not new, but for the very statement that made it", async () => {
  await using world = await openWorld();
  const intent = { turn: TURN, epoch: 1, ...CALL, rows: [], calls: [] };
  const asked = (nonce: string) =>
    world.database.query({ text: "select dure.effect_intent($1)->>'outcome' as outcome" }, [
      JSON.stringify({ ...intent, nonce }),
    ]);

  expect(await asked("one")).toEqual([{ outcome: "new" }]);
  expect(await asked("one"), "its answer was lost, and it is asked again").toEqual([
    { outcome: "new" },
  ]);
  expect(await asked("two"), "a later life").toEqual([{ outcome: "known" }]);
  expect(await world.effect()).toEqual({ status: "intent", attempts: 1 });
});

test("a turn that was asked to stop begins no effect", async () => {
  await using world = await openWorld();
  await world.first.stop(TURN, "", "mina");

  expect(
    await world.first.effectIntent({ turn: TURN, epoch: 1, ...CALL, rows: [], calls: [] }),
  ).toEqual({ outcome: "stop" });
  expect(await world.effect()).toBeUndefined();
});

test("a yes is used by one call, and only once it was given", async () => {
  await using world = await openWorld();
  await ask(world.database, "given", "resolved");
  await ask(world.database, "open", "open");
  const call = (key: string, approval: string) =>
    world.first.effectIntent({ turn: TURN, epoch: 1, ...CALL, key, approval, rows: [], calls: [] });

  expect(await call("s1/pay/1", "open")).toEqual({ outcome: "approval_used" });
  expect(await call("s1/pay/1", "given")).toEqual({ outcome: "new" });
  expect(await call("s1/pay/2", "given")).toEqual({ outcome: "approval_used" });
  expect(await world.database.query({ text: "select key from dure.effects" })).toEqual([
    { key: "s1/pay/1" },
  ]);
});

test("an effect that has happened stays so", async () => {
  await using world = await openWorld();
  await world.first.effectIntent({ turn: TURN, epoch: 1, ...CALL, rows: [], calls: [] });
  await world.first.effectSettle({
    turn: TURN,
    epoch: 1,
    key: CALL.key,
    status: "done",
    result: "booked",
  });

  await world.first.effectSettle({
    turn: TURN,
    epoch: 1,
    key: CALL.key,
    status: "failed",
    error: { message: "no" },
  });

  expect(await world.effect()).toEqual({ status: "done", attempts: 1 });
});

test("messages that wait are run in the order in which they came", async () => {
  await using world = await openWorld();
  for (const turn of ["turn_2", "turn_3", "turn_4"]) await world.first.accept(aTurn({ turn }));

  const order = [];
  for (let next: string | null = TURN; next !== null;) {
    order.push(next);
    next = (await world.first.finish(anEnd(1, { turn: next }))).next;
  }

  expect(order).toEqual([TURN, "turn_2", "turn_3", "turn_4"]);
});

test.for([
  ["of the same author and not stopped", {}, "turn_2"],
  ["that was stopped", { stop: true }, "turn_3"],
  ["of another author", { author: "system" }, "turn_3"],
  ["of another service", { service: "other" }, "turn_3"],
  ["of another version", { version: "2" }, "turn_3"],
] as const)(
  "under merge a message behind one %s becomes the turn it should",
  async ([, how, expected]) => {
    const { stop = false, ...given }: { stop?: boolean } & Partial<NewTurn> = how;
    await using world = await openWorld();
    await world.first.accept(aTurn({ turn: "turn_2", policy: "queue", ...given }));
    if (stop) await world.first.stop("turn_2", "", "mina");

    const accepted = await world.first.accept(aTurn({ turn: "turn_3", policy: "merge" }));

    expect(accepted).toMatchObject({ turn: expected });
  },
);

test("of a session's finished flows the newest fifty are stored", async () => {
  await using world = await openWorld();
  const completed = Array.from({ length: 60 }, (_, index) => ({
    service: "chat",
    flow: `flow ${index}`,
    stage: "done",
    data: {},
  }));

  await world.first.finish(anEnd(1, { completed }));

  const kept = await world.database.query<{ flow: string }>({
    text: "select flow from dure.completed order by id",
  });
  expect(kept).toHaveLength(50);
  expect(kept[0]).toEqual({ flow: "flow 10" });
});
