import type { RoomMessage } from "../wire/rooms.ts";

/** What a page holds of one place: a run of messages without a gap, and who works on an answer. */
export interface Timeline {
  /** By `seq`, oldest first. */
  readonly messages: readonly RoomMessage[];
  /** Older ones are at the server. */
  readonly hasOlder: boolean;
  /** Agents that write, as the server said last. */
  readonly typing: readonly string[];
  /** Agents that have something to answer, as events said; by message. */
  readonly working: Readonly<Record<string, readonly string[]>>;
}

export interface MessagePage {
  readonly items: readonly RoomMessage[];
  readonly typing: readonly string[];
}

/** Messages asked for at once. */
export const PAGE = 60;
/** Messages that a page keeps of one place; the oldest go first. */
export const MAX_KEPT = 2_000;

export const EMPTY_TIMELINE: Timeline = { messages: [], hasOlder: false, typing: [], working: {} };

/**
 * With the newest page: joined to what is known where they touch, else instead of it. Pure, like
 * all below.
 */
export function withNewest(known: Timeline | undefined, page: MessagePage): Timeline {
  const first = page.items[0];
  const last = known?.messages.at(-1);
  const touches =
    known !== undefined &&
    (first === undefined || (last !== undefined && first.seq <= last.seq + 1));
  if (touches) return { ...joined(known, page.items), typing: page.typing };

  return {
    ...EMPTY_TIMELINE,
    messages: page.items,
    hasOlder: page.items.length >= PAGE,
    typing: page.typing,
    working: known?.working ?? {},
  };
}

/** With what was said behind the last known message. */
export function withNewer(known: Timeline, page: MessagePage): Timeline {
  return { ...joined(known, page.items), typing: page.typing };
}

export function withOlder(known: Timeline, page: MessagePage): Timeline {
  return { ...joined(known, page.items), hasOlder: page.items.length >= PAGE };
}

/** With a message as it is now; one that is not held stays out. */
export function withMessage(known: Timeline, message: RoomMessage): Timeline {
  if (!known.messages.some(({ id }) => id === message.id)) return known;
  const answered = message.roles
    .filter((role) => role.answeredBy !== undefined)
    .map(({ agent }) => agent);

  return {
    ...known,
    messages: known.messages.map((one) => (one.id === message.id ? message : one)),
    working: without(known.working, message.id, answered),
  };
}

export function withWork(known: Timeline, message: string, agents: readonly string[]): Timeline {
  return agents.length === 0
    ? known
    : { ...known, working: { ...known.working, [message]: agents } };
}

export function withoutWork(known: Timeline, message: string, agent: string): Timeline {
  return {
    ...known,
    working: without(known.working, message, [agent]),
    typing: known.typing.filter((one) => one !== agent),
  };
}

/** Who writes now, each once. */
export function writersOf({ typing, working }: Timeline): readonly string[] {
  return [...new Set([...typing, ...Object.values(working).flat()])];
}

function joined(known: Timeline, items: readonly RoomMessage[]): Timeline {
  if (items.length === 0) return known;

  const bySeq = new Map([...known.messages, ...items].map((message) => [message.seq, message]));
  const messages = [...bySeq.values()].toSorted((a, b) => a.seq - b.seq);
  const over = messages.length - MAX_KEPT;

  return over > 0
    ? { ...known, messages: messages.slice(over), hasOlder: true }
    : { ...known, messages };
}

function without(
  working: Timeline["working"],
  message: string,
  agents: readonly string[],
): Timeline["working"] {
  const left = (working[message] ?? []).filter((agent) => !agents.includes(agent));
  const { [message]: _gone, ...rest } = working;
  return left.length === 0 ? rest : { ...rest, [message]: left };
}
