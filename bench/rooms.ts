/**
 * Rooms: decisions, observer records, hand-overs, a burst, and a start with 100,000 threads.
 * `node --conditions=dure-source bench/rooms.ts [--rounds 5] [--scale 1]`.
 */

import { parseArgs } from "node:util";
import { FIND_ROUTE } from "../packages/dure/src/rooms/handover/collaborate-place.ts";
import { ROOM_LIMITS } from "../packages/dure/src/rooms/limits.ts";
import { findMentions, mentionDirectory } from "../packages/dure/src/rooms/decide/mentions.ts";
import { decideRoles, type Addressing } from "../packages/dure/src/rooms/decide/role.ts";
import {
  overRounds,
  percentile,
  printBound,
  printFact,
  printMachine,
  printTable,
  printTitle,
} from "./lib/figures.ts";
import { closedLoop, type Round } from "./lib/load.ts";
import { startPostgres } from "./lib/postgres.ts";
import { startRooms, type BenchRooms } from "./lib/rooms.ts";

const { values: options } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, scale: { type: "string", default: "1" } },
});
const rounds = Number(options.rounds);
const scaled = (count: number): number => Math.max(100, Math.round(count * Number(options.scale)));

const WHO = { tenant: "", person: "민준" };
const OBSERVERS = 10;
const BURST = 500;
const THREADS = scaled(100_000);
/** What no guard shall stop here. */
const UNLIMITED = {
  pairCalls: 1_000_000_000,
  threadMessages: 1_000_000,
  exchangeMessages: 1_000_000,
  threadsPerMinute: 1_000_000,
};

printMachine();
await using postgres = await startPostgres();
deciding();
await observing();
await handingOver();
await bursting();
await lookingUpRoutes();
await startingWithThreads();

/**
 * The pure decision, for a message that names two of 20 agents in a thread of five; mentions are
 * looked for as well.
 */
function deciding(): void {
  const agents = Array.from({ length: 20 }, (_, index) => `agent-${index}`);
  const names = mentionDirectory(
    agents.map((agent, index) => ({ agent, names: [`에이전트${index}`] })),
  );
  const text =
    "@에이전트3 그리고 @에이전트7 님, 로그인 쪽 코드를 한 번 더 봐 주세요. 마감은 금요일입니다.";
  const message: Addressing = {
    author: "p",
    authorKind: "person",
    mentions: [],
    toPerson: false,
    fromSink: false,
    isNotice: false,
    isReminder: false,
    seen: false,
    place: {
      kind: "thread",
      allowed: true,
      state: "open",
      participants: agents.slice(0, 5),
      defaultAgent: "agent-0",
    },
  };
  const took: number[] = [];
  for (let index = -2_000; index < scaled(50_000); index++) {
    const at = performance.now();
    decideRoles({ ...message, mentions: findMentions(text, names).agents }, agents, {
      allowBots: false,
    });
    if (index >= 0) took.push(performance.now() - at);
  }
  printTitle("Who answers: one message, 20 agents, mentions looked for");
  printFact("p50", percentile(took, 0.5), " ms");
  printBound("p99", percentile(took, 0.99), { direction: "≤", must: 10, aim: 0.1 }, " ms");
}

/**
 * `rooms.post` to its commit: the message, ten records, its events. No agent takes part in these
 * threads, so none answers.
 */
async function observing(): Promise<void> {
  await using team = await startRooms({
    url: await postgres.database("observing"),
    agents: OBSERVERS,
    limits: UNLIMITED,
  });
  await addThreads(team, 64);
  const post = async (thread: number, index: number): Promise<void> =>
    void (await team.rooms.post(WHO, {
      place: `thread_${thread}`,
      text: `기록만 되는 ${index}번째 말이고, 아무도 여기에 답하지 않습니다.`,
    }));
  await closedLoop({ workers: 16, turns: scaled(500), turn: post });
  const rows: [string, readonly Round[]][] = [];
  for (const workers of [1, 16]) {
    const results: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      results.push(
        await closedLoop({
          workers,
          turns: scaled(workers === 1 ? 500 : 3_000),
          turn: (worker, index) => post(worker * 4 + (index % 4), index),
        }),
      );
    }
    rows.push([`${workers} at once`, results]);
  }
  const paced = await pacing(scaled(5_000), 1_000, (index) => post(index % 64, index));
  printTitle(`A person's message with ${OBSERVERS} observers, stored (${rounds} rounds)`);
  printTable(
    ["", "p50 ms", "p99 ms", "messages/s", "records/s"],
    rows.map(([name, results]) => [
      name,
      overRounds(results, (round) => round.p50),
      overRounds(results, (round) => round.p99),
      overRounds(results, (round) => round.perSecond),
      overRounds(results, (round) => round.perSecond * OBSERVERS),
    ]),
  );
  printFact(
    "records/s at most",
    overRounds(rows[1]![1], (round) => round.perSecond * OBSERVERS),
  );
  printFact("offered 1,000 messages/s: taken per second", paced.perSecond);
  printBound(
    "one at a time: p99",
    overRounds(rows[0]![1], (round) => round.p99),
    { direction: "≤", must: 100, aim: 2 },
    " ms",
  );
  printBound("offered 1,000 messages/s: p99", paced.p99, { direction: "≤", aim: 2 }, " ms");
}

/**
 * From the call to its result, the web rooms' own posting included; and from the call to a new
 * thread.
 */
async function handingOver(): Promise<void> {
  await using team = await startRooms({
    url: await postgres.database("handing_over"),
    agents: OBSERVERS,
    limits: UNLIMITED,
  });
  const ask = async (topic: string): Promise<void> => {
    const result = await team.rooms.collaboration.collaborate(
      { agent: "agent-0" },
      { targetAgent: "agent-1", message: "로그인 코드를 봐 줘", topic },
    );
    if (!result.ok || result.delivery !== "sent") throw new Error(JSON.stringify(result));
  };
  await closedLoop({ workers: 1, turns: 20, turn: async () => ask("warm") });
  const known: Round[] = [];
  const fresh: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    known.push(
      await closedLoop({
        workers: 1,
        turns: scaled(100),
        turn: async (_worker, index) => ask(`topic ${index % 10}`),
      }),
    );
    fresh.push(
      await closedLoop({
        workers: 1,
        turns: Math.min(100, scaled(100)),
        turn: async (_worker, index) => ask(`round ${round} topic ${index}`),
      }),
    );
    await quiet(team);
  }
  printTitle(
    `collaborate on web rooms, one after another, while the asked agent works (${rounds} rounds)`,
  );
  printTable(
    ["", "p50 ms", "p99 ms", "calls/s"],
    Object.entries({ "known thread": known, "new thread": fresh }).map(([name, results]) => [
      name,
      overRounds(results, (round) => round.p50),
      overRounds(results, (round) => round.p99),
      overRounds(results, (round) => round.perSecond),
    ]),
  );
  printBound(
    "known thread, p99",
    overRounds(known, (round) => round.p99),
    { direction: "≤", must: 3_000, aim: 50 },
    " ms",
  );
  printBound(
    "new thread, p99",
    overRounds(fresh, (round) => round.p99),
    { direction: "≤", must: 3_000, aim: 50 },
    " ms",
  );
}

/** 500 messages of one person in a thread of two agents: how long they take, and what they cost. */
async function bursting(): Promise<void> {
  await using team = await startRooms({
    url: await postgres.database("bursting"),
    agents: OBSERVERS,
    limits: UNLIMITED,
  });
  await addThreads(team, 1);
  await team.database.query({
    text: `
      insert into dure.participants (place, agent)
      values ('thread_0', 'agent-0'), ('thread_0', 'agent-1')`,
  });
  const begunAt = performance.now();
  await closedLoop({
    workers: 20,
    turns: BURST,
    turn: async (worker, index) =>
      void (await team.rooms.post(WHO, { place: "thread_0", text: `말 ${worker} ${index}` })),
  });
  const storedAt = performance.now();
  await quiet(team);
  const [row] = await team.database.query<{ turns: number }>({
    text: "select count(*)::integer as turns from dure.turns",
  });
  printTitle(`A burst of ${BURST} messages in a thread of two agents`);
  printFact("stored after", storedAt - begunAt, " ms");
  printFact("all answered after", performance.now() - begunAt, " ms");
  printBound("turns", row!.turns, { direction: "≤", must: 60 });
}

/** The statement that finds the thread of a pair and topic, of 100,000 routes. */
async function lookingUpRoutes(): Promise<void> {
  await using team = await startRooms({
    url: await postgres.database("routes"),
    agents: OBSERVERS,
  });
  await addThreads(team, THREADS);
  await team.database.query(
    {
      text: `
        insert into dure.thread_routes (from_agent, to_agent, topic, channel,
        thread) select 'agent-' || i % 10, 'agent-' || (i + 1) % 10, 'topic ' || i, 'web:general', 'thread_' || i
        from generate_series(0, $1::integer - 1) i`,
    },
    [THREADS],
  );
  await team.database.query({ text: "analyze dure.thread_routes" });
  const find = async (index: number): Promise<void> => {
    const [row] = await team.database.query<{ thread: string }>(FIND_ROUTE, [
      `agent-${index % 10}`,
      `agent-${(index + 1) % 10}`,
      `topic ${index}`,
      "web:general",
      ROOM_LIMITS.routeMs,
    ]);
    if (row?.thread !== `thread_${index}`) throw new Error(`the route of ${index} was not found`);
  };
  await closedLoop({
    workers: 1,
    turns: 500,
    turn: (_worker, index) => find((index * 7_919) % THREADS),
  });
  const found = await closedLoop({
    workers: 1,
    turns: scaled(3_000),
    turn: (_worker, index) => find((index * 104_729) % THREADS),
  });
  printTitle(
    `Finding the thread of a pair and topic among ${THREADS.toLocaleString("en")}, in PostgreSQL`,
  );
  printFact("p50", found.p50, " ms");
  printBound("p99", found.p99, { direction: "≤", must: 5, aim: 0.1 }, " ms");
}

/** A team that starts on a database full of threads, and the first message in one of them. */
async function startingWithThreads(): Promise<void> {
  const url = await postgres.database("threads");
  {
    await using first = await startRooms({ url, agents: OBSERVERS });
    await addThreads(first, THREADS);
    await first.database.query(
      {
        text: `
          insert into dure.participants (place, agent) select 'thread_' || i, 'agent-' || a
          from generate_series(0, $1::integer - 1) i, generate_series(1, 2) a`,
      },
      [THREADS],
    );
    await first.database.query({ text: "analyze dure.participants" });
  }
  const startAt = performance.now();
  await using team = await startRooms({ url, agents: OBSERVERS });
  const readyAt = performance.now();
  const { messageId } = await team.rooms.post(WHO, {
    place: `thread_${Math.floor(THREADS * 0.57)}`,
    text: "하나만 더 봐 줘",
  });
  const decidedAt = performance.now();
  const { roles } = await team.rooms.message(messageId, WHO);
  const handlers = Object.values(roles).filter(({ role }) => role === "HANDLER").length;
  if (handlers !== 2) throw new Error(`${handlers} agents handle the message instead of 2`);
  await quiet(team);
  printTitle(`A start with ${THREADS.toLocaleString("en")} threads of two participants each`);
  printFact("team ready after", readyAt - startAt, " ms");
  printBound(
    "first decision by participants, after that",
    decidedAt - readyAt,
    { direction: "≤", must: 500 },
    " ms",
  );
}

async function addThreads({ database }: BenchRooms, count: number): Promise<void> {
  await database.query(
    {
      text: `
        insert into dure.places (id, adapter, kind, parent, name, channel,
        thread) select 'thread_' || i, 'web', 'thread', 'web:general', 'thread ' || i, 'general', 'thread_' || i
        from generate_series(0, $1::integer - 1) i`,
    },
    [count],
  );
  await database.query({ text: "analyze dure.places" });
}

/**
 * Open loop: `perSecond` are begun, however long they take; a latency counts from when it should
 * have begun.
 */
async function pacing(
  count: number,
  perSecond: number,
  work: (index: number) => Promise<void>,
): Promise<{ p99: number; perSecond: number }> {
  const latencies: number[] = [];
  const running: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let index = 0; index < count;) {
    const due = Math.min(
      count,
      Math.floor(((performance.now() - startedAt) / 1_000) * perSecond) + 1,
    );
    for (; index < due; index++) {
      const begunAt = startedAt + (index / perSecond) * 1_000;
      running.push(work(index).then(() => void latencies.push(performance.now() - begunAt)));
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(running);
  return {
    p99: percentile(latencies, 0.99),
    perSecond: (count / (performance.now() - startedAt)) * 1_000,
  };
}

/** Until no agent works any more. */
async function quiet({ database }: BenchRooms): Promise<void> {
  for (;;) {
    const [row] = await database.query<{ open: string }>({
      text: "select count(*)::text as open from dure.handlings where state <> 'done'",
    });
    if (row?.open === "0") return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
