import { expect, test } from "vitest";
import {
  checkCalls,
  checkFollower,
  checkJob,
  checkLives,
  checkPayments,
  checkRoom,
  checkStream,
  type JobRow,
  type RoomMessage,
} from "./invariants.ts";
import type { Payment, RoomPost } from "./load.ts";
import type { ModelCall } from "./provider.ts";
import type { Life } from "./servers.ts";
import { storyOf } from "./story.ts";

const BOOKING = {
  transaction_id: "tx_1",
  status: "booked",
  key: "s-p1/x/pay/p1",
  to: "shop",
  amount: 500,
  memo: "p1",
} as const;

function aPayment(said: Payment["said"], receipt = true): Payment {
  const done = receipt
    ? { message: "[[>y-p1]] paid", receipt: { payment: "p1", transaction: "tx_1" } }
    : { message: "[[>p1]]" };
  return {
    name: "p1",
    session: "s-p1",
    amount: 500,
    said,
    turns: [
      {
        session: "s-p1",
        text: "yes",
        key: "k",
        turnId: "turn_1",
        events: [],
        connections: 1,
        done,
      },
    ],
  };
}

test("a payment is booked once, after a yes, for what was shown, as its receipt says", () => {
  const told = (...given: Parameters<typeof checkPayments>): readonly string[] =>
    checkPayments(...given).map(({ text }) => text);

  expect(told([aPayment("yes")], [BOOKING])).toEqual([]);
  expect(told([aPayment("yes")], [BOOKING, { ...BOOKING, transaction_id: "tx_2" }])).toEqual([
    "p1: booked 2 times",
  ]);
  expect(told([aPayment("no", false)], [BOOKING])).toEqual(["p1: booked, and the person said no"]);
  expect(told([aPayment("yes")], [{ ...BOOKING, amount: 5 }])).toEqual([
    "p1: another amount was booked than was shown",
  ]);
  expect(told([aPayment("yes")], [])).toContain("p1: a receipt was given, and nothing is booked");
  expect(told([], [BOOKING])).toEqual(["the bank booked p1, which no person asked for"]);
});

test("a stream and the log of events have what is stored, once and in order", () => {
  const turn = { ...aPayment("yes").turns[0]!, events: ["t.1 A", "t.2 B", "t.2 B"] };

  expect(checkStream({ ...turn, events: ["t.1 A", "t.2 B"] }, ["t.1 A", "t.2 B"])).toEqual([]);
  expect(checkStream(turn, ["t.1 A", "t.2 B"])[0]!.text).toContain(
    "of 2 stored it got 3; at place 3 t.2 B where nothing is stored",
  );
  expect(checkFollower("follower-1", ["1", "3"], ["1", "2", "3"])[0]!.text).toContain(
    "at place 2 3 where 2 is stored",
  );
});

const POSTS: readonly RoomPost[] = [
  { nonce: "r1-1", room: "web:r1", agent: "ara" },
  { nonce: "r1-2", room: "web:r1", agent: "ara" },
];

function aRoom(
  ...messages: readonly (readonly [author: string, text: string])[]
): readonly RoomMessage[] {
  return messages.map(([author, text], index) => ({
    id: `m${index + 1}`,
    seq: index + 1,
    author,
    text,
  }));
}

test("each message of a room is answered once, in the order in which they were said", () => {
  const asked = [
    ["kim", "[[r1-1]]"],
    ["kim", "[[r1-2]]"],
  ] as const;
  const told = (...answers: readonly (readonly [string, string])[]): readonly string[] =>
    checkRoom(POSTS, aRoom(...asked, ...answers), []).map(({ text }) => text);

  expect(told(["ara", "[[>r1-1]]"], ["ara", "[[>r1-2]]"])).toEqual([]);
  expect(told(["ara", "[[>r1-2]]"], ["ara", "[[>r1-1]]"])).toEqual([
    "ara answered r1-2 before r1-1, which was asked first",
  ]);
  expect(told(["ara", "[[>r1-1]]"], ["ara", "[[>r1-1]]"], ["ara", "[[>r1-2]]"])).toEqual([
    "ara answered r1-1 2 times",
  ]);
  expect(told(["ara", "[[>r1-1]]"])).toEqual([
    "ara never answered r1-2: its work ended as nothing",
  ]);
});

test("a message that was accepted and is not in its room is found, and one that is there twice", () => {
  expect(checkRoom(POSTS.slice(0, 1), [], []).map(({ text }) => text)).toEqual([
    "r1-1 was accepted, and does not stand in its room",
  ]);
  const twice = aRoom(["kim", "[[r1-1]]"], ["kim", "[[r1-1]]"], ["ara", "[[>r1-1]]"]);
  expect(checkRoom(POSTS.slice(0, 1), twice, []).map(({ text }) => text)).toEqual([
    "r1-1 stands 2 times in its room",
  ]);
});

function aJob(end: Partial<JobRow> = {}): JobRow {
  return {
    id: "job_1",
    message: "Look at this, please: [[j1.0]]",
    status: "COMPLETED",
    outcome: "max_turns",
    turns: 8,
    error: null,
    asked: false,
    told: 1,
    ...end,
  };
}

test("a job exists once, is told once, and ends as its double's script says", () => {
  const told = (...rows: readonly JobRow[]): readonly string[] =>
    checkJob({ name: "j1", jobId: "job_1" }, rows).map(({ text }) => text);

  expect(told(aJob())).toEqual([]);
  expect(told()).toEqual(["j1 was accepted as job_1, and 0 jobs stand for it"]);
  expect(told(aJob(), aJob({ id: "job_2" }))).toEqual([
    "j1 was accepted as job_1, and 2 jobs stand for it",
  ]);
  expect(told(aJob({ told: 2 }))).toEqual(["j1 (job_1, COMPLETED) was told 2 times"]);
  expect(told(aJob({ turns: 2, outcome: "minimal_content" }))).toEqual([
    "j1 (job_1) ended COMPLETED as minimal_content after 2 turns; its script says COMPLETED as " +
      "max_turns after 8",
  ]);
});

test("a job that dure ended is a violation that says its status, reason and error code", () => {
  const error = { code: "TURN_STOPPED", message: "The turn was stopped." };
  const failed = aJob({ status: "FAILED", outcome: "agent_error", turns: 1, error });
  const asked = { name: "j1", jobId: "job_1" };

  expect(checkJob(asked, [failed])).toEqual([
    {
      invariant: "job",
      text:
        "j1 (job_1) ended FAILED as agent_error after 1 turns, TURN_STOPPED: The turn was " +
        "stopped.; its script says COMPLETED as max_turns after 8",
      ids: ["j1", "job_1"],
    },
  ]);
  for (const [status, outcome] of [
    ["FAILED", "blocked"],
    ["CANCELLED", "cancelled"],
    ["ABANDONED", "stale"],
    ["ABANDONED", "resume_limit"],
  ] as const) {
    expect(checkJob(asked, [aJob({ status, outcome })])).toHaveLength(1);
  }
  // A person is asked about what lost its processes again and again.
  const givenUp = aJob({ status: "ABANDONED", outcome: "resume_limit", asked: true });
  expect(checkJob(asked, [givenUp])).toEqual([]);
});

function aCall(life: string, startedAt: number, finishedAt: number): ModelCall {
  return { number: startedAt, life, agent: "ara", nonce: "r1-1", startedAt, finishedAt };
}

function aLife(id: string, end: Partial<Life> = {}): Life {
  return { id, startedAt: 0, ...end };
}

test("a second finished call is excused only when the first answer's life died with it", () => {
  const calls = [aCall("1.1", 10, 20), aCall("2.1", 100, 110)];
  const paid = (...lives: readonly Life[]): readonly number[] => {
    const { violations, excused } = checkCalls(calls, lives);
    return [violations.length, excused];
  };

  expect(paid(aLife("1.1", { endedAt: 25, endedBy: "SIGKILL" }), aLife("2.1"))).toEqual([0, 1]);
  expect(paid(aLife("1.1", { endedAt: 500, exitCode: 75 }), aLife("2.1"))).toEqual([0, 1]);
  const fencedThenKilled = aLife("1.1", { fencedAt: 300, endedAt: 500, endedBy: "SIGKILL" });
  const fencedLater = aLife("2.1", { endedAt: 900, exitCode: 75 });
  expect(paid(fencedThenKilled, fencedLater)).toEqual([0, 1]);
  const killedLater = aLife("1.1", { endedAt: 500, endedBy: "SIGKILL" });
  expect(paid(killedLater, aLife("2.1"))).toEqual([0, 1]);
  expect(paid(killedLater, aLife("2.1", { endedAt: 200, exitCode: 75 }))).toEqual([1, 0]);
  // A woken process paid again.
  expect(paid(aLife("1.1"), aLife("2.1", { endedAt: 200, exitCode: 75 }))).toEqual([1, 0]);
  expect(
    checkCalls([aCall("1.1", 10, 20), aCall("1.1", 30, 40)], [aLife("1.1")]).violations,
  ).toHaveLength(1);
});

test("a second payment is excused where no look could have prevented it", () => {
  const calls = [aCall("1.1", 10, 20), aCall("2.1", 5_000, 5_010)];
  const paid = (...lives: readonly Life[]): number => checkCalls(calls, lives).violations.length;
  const fenced = { endedAt: 6_000, exitCode: 75 };

  expect(paid(aLife("1.1", { begins: [5, 3_000] }), aLife("2.1"))).toBe(0); // its start began again
  expect(paid(aLife("1.1", { begins: [5] }), aLife("2.1"))).toBe(1);
  expect(paid(aLife("1.1"), aLife("2.1", { ...fenced, woke: [4_900] }))).toBe(0); // on its way
  expect(paid(aLife("1.1"), aLife("2.1", { ...fenced, woke: [3_000] }))).toBe(1); // it had time to look
  expect(paid(aLife("1.1"), aLife("2.1", { woke: [4_900] }))).toBe(1); // nothing was wrong with it
});

test("a server may end by our hand or as fenced, and no other way", () => {
  const lives = [
    aLife("1.1", { endedAt: 1, exitCode: null, endedBy: "SIGKILL" }),
    aLife("1.2", { endedAt: 1, exitCode: 75 }),
    aLife("1.3", { endedAt: 1, exitCode: 0, endedBy: "SIGTERM" }),
    aLife("1.4"),
  ];

  expect(checkLives(lives)).toEqual([]);
  expect(checkLives([aLife("2.1", { endedAt: 1, exitCode: 1 })])[0]!.text).toBe(
    "server 2.1 ended by itself with code 1",
  );
});

test("a story has every line that names its subject, and the faults of its time, in order", () => {
  const lines = [
    { at: 1_000, from: "faults", text: "fault 1 kill killed server-1" },
    { at: 9_000, from: "faults", text: "fault 2 kill killed server-2" },
    { at: 9_500, from: "bank", text: "order p7 under s-p7/x" },
    { at: 9_600, from: "server-1.1", text: '{"msg":"turn turn_1 of s-p7 begins"}' },
    { at: 9_700, from: "bank", text: "order p70 under s-p70/x" },
  ];

  const story = storyOf({ invariant: "booked", text: "p7: booked 2 times", ids: ["s-p7"] }, lines);

  expect(story.map((line) => line.replace(/^ *\+/, "+"))).toEqual([
    "VIOLATION booked: p7: booked 2 times",
    "+0.000 faults       fault 2 kill killed server-2",
    "+0.500 bank         order p7 under s-p7/x",
    "+0.600 server-1.1   turn turn_1 of s-p7 begins",
  ]);
});
