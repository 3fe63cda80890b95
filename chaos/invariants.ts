import type { Booking } from "../examples/transfer/bank/ledger.ts";
import type { AskedJob, Payment, RoomPost } from "./load.ts";
import type { ModelCall } from "./provider.ts";
import type { Life } from "./servers.ts";
import type { TurnRead } from "./readers.ts";
import type { Violation } from "./violations.ts";
import { answeredIn, isPassedOn, nonceOf, scriptOf } from "./words.ts";

// Each check takes what was seen from outside and gives what is wrong with it. All pure.

/** Booked at the bank: once where a receipt says so, at most once ever, and never without a yes. */
export function checkPayments(
  payments: readonly Payment[],
  bookings: readonly Booking[],
): readonly Violation[] {
  const found: Violation[] = [];
  for (const payment of payments) {
    const own = bookings.filter(({ memo }) => memo === payment.name);
    const wrong = (text: string): void =>
      void found.push({
        invariant: "booked",
        text: `${payment.name}: ${text}`,
        ids: idsOf(payment, own),
      });
    const receipts = payment.turns.flatMap(({ done }) => (done?.receipt ? [done.receipt] : []));
    const hasFailed = payment.turns.some(({ done }) => done?.message.includes("[[>failed-"));
    if (own.length > 1) wrong(`booked ${own.length} times`);
    if (own.length > 0 && payment.said !== "yes") {
      wrong(`booked, and the person said ${payment.said ?? "nothing"}`);
    }
    if (own.some(({ amount }) => amount !== payment.amount)) {
      wrong("another amount was booked than was shown");
    }
    if (own.length === 0 && receipts.length > 0) {
      wrong("a receipt was given, and nothing is booked");
    }
    if (own.length > 0 && hasFailed) wrong("the answer says that it failed, and it is booked");
    if (receipts.length > 1) wrong(`${receipts.length} receipts were given`);
    if (
      receipts.some(
        ({ transaction }) => transaction !== "unknown" && transaction !== own[0]?.transaction_id,
      )
    ) {
      wrong("the receipt names another transaction than the bank");
    }
  }
  const known = new Set(payments.map(({ name }) => name));
  for (const { memo = "", key } of bookings) {
    if (!known.has(memo)) {
      found.push({
        invariant: "booked",
        text: `the bank booked ${memo}, which no person asked for`,
        ids: [memo, key],
      });
    }
  }
  return found;
}

function idsOf({ name, session, turns }: Payment, bookings: readonly Booking[]): readonly string[] {
  return [
    session,
    `${name} `,
    `-${name}`,
    ...turns.map(({ turnId }) => turnId ?? ""),
    ...bookings.map(({ key }) => key),
  ].filter((id) => id !== "");
}

/**
 * A reader has every stored event of its turn once, in order, and nothing else. `stored`:
 * `<turn>.<seq> <type>`.
 */
export function checkStream(turn: TurnRead, stored: readonly string[]): readonly Violation[] {
  const text = firstDifference(turn.events, stored);
  if (text === undefined) return [];
  return [
    {
      invariant: "stream",
      text: `the reader of ${turn.turnId} after ${turn.connections} connections: ${text}`,
      ids: [turn.session, turn.turnId ?? turn.key],
    },
  ];
}

/** A follower has every event of the log once, in its order. */
export function checkFollower(
  name: string,
  ids: readonly string[],
  stored: readonly string[],
): readonly Violation[] {
  const text = firstDifference(ids, stored);
  return text === undefined ? [] : [{ invariant: "events", text: `${name}: ${text}`, ids: [name] }];
}

/** Where two lists part, in words; undefined when they are the same. */
function firstDifference(seen: readonly string[], stored: readonly string[]): string | undefined {
  const at = stored.findIndex((item, index) => seen[index] !== item);
  if (at < 0 && seen.length === stored.length) return undefined;
  const place = at < 0 ? stored.length : at;
  return (
    `of ${stored.length} stored it got ${seen.length}; at place ${place + 1} ` +
    `${seen[place] ?? "nothing"} where ${stored[place] ?? "nothing"} is stored`
  );
}

export interface RoomMessage {
  readonly id: string;
  readonly seq: number;
  readonly author: string;
  readonly text: string;
}

/** How the work for one message of a room ended, as it is stored. */
export interface RoomWork {
  readonly message: string;
  readonly agent: string;
  readonly outcome: string | null;
  readonly turn: string | null;
}

/**
 * One room: each message stands there once, is answered once by its agent, and answers keep the
 * order of their questions.
 */
export function checkRoom(
  posts: readonly RoomPost[],
  messages: readonly RoomMessage[],
  work: readonly RoomWork[],
): readonly Violation[] {
  const found: Violation[] = [];
  const questions = [
    ...posts.map(({ nonce, agent }) => ({ nonce, agent })),
    // What the first agent passed on is a question too, if it was said.
    ...posts
      .filter(({ nonce, agent }) => agent === "ara" && isPassedOn(nonce))
      .map(({ nonce }) => ({ nonce: `${nonce}b`, agent: "bora" as const })),
  ];
  const asked = questions.flatMap((question) => {
    const said = messages.filter(({ text }) => nonceOf(text) === question.nonce);
    const isPassed = question.nonce.endsWith("b");
    const ids = [question.nonce, ...said.map(({ id }) => id)];
    if (said.length > 1) {
      found.push({
        invariant: "answered-once",
        text: `${question.nonce} stands ${said.length} times in its room`,
        ids,
      });
    }
    if (said.length === 0 && !isPassed) {
      found.push({
        invariant: "answered-once",
        text: `${question.nonce} was accepted, and does not stand in its room`,
        ids,
      });
    }
    return said.length === 0 ? [] : [{ ...question, message: said[0]!, ids }];
  });
  for (const { nonce, agent, message, ids } of asked) {
    const answers = messages.filter(
      ({ author, text }) => author === agent && answeredIn(text).includes(nonce),
    );
    const { outcome, turn } =
      work.find((one) => one.message === message.id && one.agent === agent) ?? {};
    if (answers.length > 1) {
      found.push({
        invariant: "answered-once",
        text: `${agent} answered ${nonce} ${answers.length} times`,
        ids: [...ids, turn ?? nonce],
      });
    }
    if (answers.length === 0 && outcome !== "failed") {
      found.push({
        invariant: "answered-once",
        text: `${agent} never answered ${nonce}: its work ended as ${outcome ?? "nothing"}`,
        ids: [...ids, turn ?? nonce],
      });
    }
  }
  // What an agent passes on is heard when its room has it: it has its own order, beside that of
  // the persons.
  for (const ofAgent of Map.groupBy(
    asked,
    ({ agent, nonce }) => `${agent} ${nonce.endsWith("b")}`,
  ).values()) {
    found.push(...checkOrder(ofAgent, messages));
  }
  return found;
}

function checkOrder(
  asked: readonly { agent: string; nonce: string; message: RoomMessage; ids: readonly string[] }[],
  messages: readonly RoomMessage[],
): readonly Violation[] {
  const order = asked.toSorted((one, other) => one.message.seq - other.message.seq);
  const agent = asked[0]?.agent;
  const answers = messages
    .filter(({ author }) => author === agent)
    .toSorted((one, other) => one.seq - other.seq)
    .flatMap(({ text }) => answeredIn(text));
  const places = order
    .map(({ nonce, ids }) => ({ nonce, ids, place: answers.indexOf(nonce) }))
    .filter(({ place }) => place >= 0);
  return places.flatMap((later, index) => {
    const earlier = places[index - 1];
    if (!earlier || earlier.place < later.place) return [];
    return [
      {
        invariant: "order" as const,
        text: `${agent} answered ${later.nonce} before ${earlier.nonce}, which was asked first`,
        ids: [...earlier.ids, ...later.ids],
      },
    ];
  });
}

/** A job as it is stored. */
export interface JobRow {
  readonly id: string;
  readonly message: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly turns: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** A person is asked what shall become of it. */
  readonly asked: boolean;
  /** How often its end stands in the log. */
  readonly told: number;
}

/** An accepted job exists once, was told once in the log, and ended as its script says. */
export function checkJob({ name, jobId }: AskedJob, rows: readonly JobRow[]): readonly Violation[] {
  const own = rows.filter(({ message }) => message.includes(`[[${name}.0]]`));
  const ids = [name, ...own.map(({ id }) => id)];
  const wrong = (text: string): readonly Violation[] => [{ invariant: "job", text, ids }];
  const [row] = own;
  if (own.length !== 1 || row!.id !== jobId) {
    return wrong(`${name} was accepted as ${jobId}, and ${own.length} jobs stand for it`);
  }
  if (row!.told !== 1) {
    return wrong(`${name} (${jobId}, ${row!.status}) was told ${row!.told} times`);
  }
  // Its processes died too often, and a person decides.
  if (row!.outcome === "resume_limit" && row!.asked) return [];

  const said = scriptOf(name);
  const { status, outcome, turns, error } = row!;
  if (status === said.status && outcome === said.outcome && turns === said.turns) return [];
  const because = error ? `, ${error.code}: ${error.message}` : "";
  return wrong(
    `${name} (${jobId}) ended ${status} as ${outcome} after ${turns} turns${because}; its script ` +
      `says ${said.status} as ${said.outcome} after ${said.turns}`,
  );
}

export interface PaidTwice {
  readonly violations: readonly Violation[];
  /**
   * Second payments that cannot be avoided: the process that had the first answer did not live to
   * record it.
   */
  readonly excused: number;
}

/**
 * Every finished model call is paid once. A second finished call about the same thing is excused
 * only when the first answer died with the life that got it: that life had ended before the second
 * call began, or was fenced or killed soon after it.
 */
export function checkCalls(calls: readonly ModelCall[], lives: readonly Life[]): PaidTwice {
  const byThing = Map.groupBy(
    calls.filter(({ finishedAt, nonce }) => finishedAt !== undefined && nonce !== ""),
    ({ agent, nonce }) => `${agent} about ${nonce}`,
  );
  const violations: Violation[] = [];
  let excused = 0;
  for (const [thing, paid] of byThing) {
    const inOrder = paid.toSorted((one, other) => one.finishedAt! - other.finishedAt!);
    for (const [index, later] of inOrder.entries()) {
      const earlier = inOrder[index - 1];
      if (!earlier) continue;
      if (isExcused(earlier, later, lives)) excused += 1;
      else {
        violations.push({
          invariant: "paid-once",
          text:
            `${thing} was paid by life ${earlier.life} (call ${earlier.number}) and again by life ` +
            `${later.life} (call ${later.number})`,
          ids: [`[[${later.nonce}]]`, `about ${later.nonce} `, later.nonce],
        });
      }
    }
  }
  return { violations, excused };
}

function isExcused(earlier: ModelCall, later: ModelCall, lives: readonly Life[]): boolean {
  if (earlier.life === later.life) return false;
  const [first, second] = [earlier, later].map(({ life }) => lives.find(({ id }) => id === life));
  if (hasEndedBy(first, later.startedAt) || wasFencedBy(first, later.startedAt + FENCING_MS)) {
    return true;
  }
  // The others had taken it over, and we killed it before it could find that out. A woken process
  // that pays again is the second one, and is fenced itself.
  const soon = later.startedAt + FENCING_MS;
  if (hasEndedBy(first, soon) && first?.endedBy === "SIGKILL" && !wasFencedBy(second, soon)) {
    return true;
  }
  // Its start failed and began again: the answer went with the first of the two.
  if (first?.begins?.some((at) => at > earlier.startedAt && at <= later.startedAt)) return true;
  // We stopped it between its last look and the departure of its request.
  if (second?.woke?.some((at) => isJustAfter(later.startedAt, at)) && wasFencedBy(second, soon)) {
    return true;
  }
  // Both were under way at once: the one that is not recorded belongs to a life that was fenced or
  // killed.
  const isOverlap = later.startedAt < earlier.finishedAt!;
  const end = later.finishedAt! + FENCING_MS;
  return isOverlap && [first, second].some((life) => hasEndedBy(life, end) && life?.exitCode !== 0);
}

function isJustAfter(time: number, woke: number): boolean {
  return time >= woke && time - woke <= DEPARTURE_MS;
}

function hasEndedBy(life: Life | undefined, time: number): boolean {
  return life?.endedAt !== undefined && life.endedAt <= time;
}

function wasFencedBy(life: Life | undefined, time: number): boolean {
  if (life?.fencedAt !== undefined && life.fencedAt <= time) return true;
  return hasEndedBy(life, time) && life?.exitCode === FENCED;
}

/**
 * A process that was taken over finds out and ends within so long: a stop of at most 14 s, the
 * lease, and a busy machine.
 */
const FENCING_MS = 30_000;
/**
 * A request that was begun before a stop reaches the provider within so long after it. A process
 * that looks first needs longer: its connections to the database are gone.
 */
const DEPARTURE_MS = 500;
/** Exit code of a process that others have taken over. Source: the command `dure start`. */
const FENCED = 75;

/** A life that we did not end may end only as fenced. */
export function checkLives(lives: readonly Life[]): readonly Violation[] {
  return lives.flatMap((life): Violation[] => {
    const { id, endedAt, endedBy, exitCode } = life;
    if (endedAt === undefined || endedBy === "SIGKILL" || exitCode === FENCED) return [];
    if (endedBy === "SIGTERM" && exitCode === 0) return [];
    return [
      {
        invariant: "exit",
        text:
          `server ${id} ended ${endedBy === undefined ? "by itself" : `after ${endedBy}`} with code ` +
          `${exitCode}`,
        ids: [`server-${id} `],
      },
    ];
  });
}
