// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { DureClient, WorkTrace } from "dure/client";
import { expect, test } from "vitest";
import { until } from "../until.ts";
import { startTraceTeam } from "./trace-team.ts";

const SLOW = { timeout: 60_000 };
const PEOPLE = ["chat", "rooms", "jobs", "plans"] as const;

/** The chain as lines: each thing under what began it. */
function linesOf({ items }: WorkTrace): readonly string[] {
  const under = (id: string | null, depth: number): string[] =>
    items
      .filter(({ beganBy }) => beganBy === id)
      .flatMap((one) => [
        `${"  ".repeat(depth)}${one.kind} ${one.who}`,
        ...under(one.id, depth + 1),
      ]);
  return under(null, 0);
}

async function traceWith(
  client: DureClient,
  id: string,
  isWhole: (trace: WorkTrace) => boolean,
): Promise<WorkTrace> {
  let trace: WorkTrace | undefined;
  await until(
    async () => {
      trace = await client.trace(id);
      return isWhole(trace);
    },
    () => `it is ${trace === undefined ? "nothing" : linesOf(trace).join("\n")}`,
  );
  return trace!;
}

const isOver = ({ items }: WorkTrace): boolean => items.every(({ endedAt }) => endedAt !== null);

test(
  "what a message in a room set off is one chain, from wherever it is looked at",
  SLOW,
  async () => {
    const { personOf } = await startTraceTeam();
    const mina = await personOf("mina", PEOPLE);
    const message = await mina.rooms().post("web:general", { text: "@Ruda hand it over" });

    const trace = await traceWith(
      mina,
      message,
      (one) => one.items.some(({ who }) => who === "eden") && isOver(one),
    );

    const lines = linesOf(trace);
    expect(lines.slice(0, 4)).toEqual([
      "message mina",
      "  turn ruda",
      "    request ruda → eden",
      "      turn eden",
    ]);
    expect(trace).toMatchObject({ asked: message, isCut: false });
    const turns = trace.items.filter(({ kind }) => kind === "turn");
    expect(turns[0]).toMatchObject({ status: "done", agents: [{ agent: "ruda", success: true }] });
    for (const { id } of trace.items) {
      if (id.startsWith("turn_") || id.startsWith("request_")) {
        expect(linesOf(await mina.trace(id)).slice(0, 4)).toEqual(lines.slice(0, 4));
      }
    }
  },
);

test(
  "a job that a turn asked for stands under it, with the turns of its exchange",
  SLOW,
  async () => {
    const { personOf } = await startTraceTeam();
    const mina = await personOf("mina", PEOPLE);
    const asked = mina.sendMessage({
      sessionId: "traced",
      service: "ruda",
      message: "do it in the background",
    });
    await asked.done;

    const trace = await traceWith(
      mina,
      await asked.turnId,
      (one) =>
        one.items.some(({ kind, endedAt }) => kind === "job" && endedAt !== null) && isOver(one),
    );

    const lines = linesOf(trace);
    expect(lines.slice(0, 3)).toEqual(["turn ruda", "  job ruda → eden", "    turn eden"]);
    const job = trace.items.find(({ kind }) => kind === "job")!;
    expect(job.title).toContain("count the tests");
    expect(linesOf(await mina.trace(job.id))[0]).toBe("turn ruda");
  },
);

test("only its person sees the chain of a direct room", { ...FULL, ...SLOW }, async () => {
  const { personOf, database } = await startTraceTeam();
  const [mina, junho] = [await personOf("mina", PEOPLE), await personOf("junho", PEOPLE)];
  const room = await mina.rooms().direct("ruda");
  const message = await mina.rooms().post(room.id, { text: "secret: do it in the background" });
  const trace = await traceWith(
    mina,
    message,
    (one) => one.items.some(({ kind }) => kind === "job") && isOver(one),
  );
  expect(trace.items.length).toBeGreaterThan(3);

  for (const { id } of trace.items) {
    await expect(junho.trace(id)).rejects.toMatchObject({ code: "TRACE_UNKNOWN" });
  }
  // What is public and leads into the private: the private part is not there.
  const open = junho.sendMessage({ sessionId: "open", service: "ruda", message: "hello" });
  await open.done;
  const turn = await open.turnId;
  const job = trace.items.find(({ kind }) => kind === "job")!.id;
  await database.query(
    {
      text: "update dure.jobs set origin_turn = $2 where id = $1",
    },
    [job, turn],
  );
  expect(linesOf(await junho.trace(turn))).toEqual(["turn ruda"]);
});

test("a token sees of a chain what it may read elsewhere", SLOW, async () => {
  const { personOf } = await startTraceTeam();
  const mina = await personOf("mina", PEOPLE);
  const guest = await personOf("guest", ["chat"]);
  const asked = mina.sendMessage({ sessionId: "g", service: "ruda", message: "in the background" });
  await asked.done;
  const turn = await asked.turnId;
  const trace = await traceWith(mina, turn, (one) => one.items.some(({ kind }) => kind === "job"));

  expect(linesOf(await guest.trace(turn))[0]).toBe("turn ruda");
  expect(linesOf(await guest.trace(turn)).join()).not.toContain("job");
  const job = trace.items.find(({ kind }) => kind === "job")!.id;
  await expect(guest.trace(job)).rejects.toMatchObject({ code: "TRACE_UNKNOWN" });
  const exchange = trace.items.filter(({ kind, beganBy }) => kind === "turn" && beganBy === job);
  expect(exchange).not.toEqual([]);
  for (const { id } of exchange) {
    await expect(guest.trace(id)).rejects.toMatchObject({ code: "TRACE_UNKNOWN" });
  }
});

test("another tenant sees nothing of a chain", SLOW, async () => {
  const { personOf } = await startTraceTeam();
  const mina = await personOf("mina", PEOPLE, "acme");
  const admin = await personOf("junho", ["admin"], "beta");
  const asked = mina.sendMessage({ sessionId: "t", service: "ruda", message: "hello" });
  await asked.done;
  const turn = await asked.turnId;

  expect(linesOf(await mina.trace(turn))).toEqual(["turn ruda"]);
  await expect(admin.trace(turn)).rejects.toMatchObject({ code: "TRACE_UNKNOWN" });
});

test("what a private room is asked is shown to its person alone", SLOW, async () => {
  const { personOf, database } = await startTraceTeam();
  const [mina, junho] = [await personOf("mina", PEOPLE), await personOf("junho", PEOPLE)];
  const room = await mina.rooms().direct("ruda");
  const open = mina.sendMessage({ sessionId: "open", service: "ruda", message: "hello" });
  await open.done;
  const turn = await open.turnId;
  await database.query(
    {
      text: `
        insert into dure.escalations (id, subject, type, severity, turn_id, room, title)
        values ('escalation_2', 's', 'question', 'low', $1, $2, 'May I?')`,
    },
    [turn, room.id],
  );

  expect(linesOf(await mina.trace(turn))).toEqual(["turn ruda", "  escalation question"]);
  expect(linesOf(await junho.trace(turn))).toEqual(["turn ruda"]);
});

test("a run has its ports, and what the operator agent was asked about it", SLOW, async () => {
  const { personOf, database } = await startTraceTeam();
  const mina = await personOf("mina", PEOPLE);
  const asked = mina.sendMessage({ sessionId: "seed", service: "ruda", message: "hello" });
  await asked.done;
  for (const text of RUN_ROWS) await database.query({ text });
  await database.query({
    text: `update dure.sessions set id = 'escalation:escalation_1' where id = 'seed'`,
  });
  await database.query(
    {
      text: `update dure.turns set session_id = 'escalation:escalation_1' where id = $1`,
    },
    [await asked.turnId],
  );

  const lines = linesOf(await mina.trace("run_1"));

  expect(lines.toSorted()).toEqual([
    "    turn ruda",
    "  escalation port_failed",
    "  port ",
    "run mina",
  ]);
  expect(linesOf(await mina.trace(await asked.turnId))).toEqual(lines);
  const guest = await personOf("guest", ["chat"]);
  await expect(guest.trace("run_1")).rejects.toMatchObject({ code: "TRACE_UNKNOWN" });
});

const RUN_ROWS = [
  `insert into dure.plan_runs
     (id, plan, definition, repository, folder, host, base_commit, started_by, status)
   values ('run_1', 'todo', '{}', '/r', '/f', 'h', 'c', 'mina', 'success')`,
  `insert into dure.plan_ports
     (run, position, id, tries_pair, tries_orchestrator, time_ms, started_at)
   values ('run_1', 0, 'core', 1, 1, 1, clock_timestamp()), ('run_1', 1, 'later', 1, 1, 1, null)`,
  `insert into dure.escalations (id, subject, type, severity, run, title)
   values ('escalation_1', 's', 'port_failed', 'low', 'run_1', 'core failed')`,
];
