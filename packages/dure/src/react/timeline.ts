import type { RoomMessage } from "../wire/rooms.ts";

/** What a page holds of one place: a run of messages without a gap, and who works on an answer. */
export interface Timeline {
  /** By `seq`, oldest first. */
  readonly messages: readonly RoomMessage[];
  /** Older ones are at the server. */
  readonly hasOlder: boolean;
  /** Newer ones are at the server: this is a part from before them. */
  readonly hasNewer: boolean;
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

export const EMPTY_TIMELINE: Timeline = {
  messages: [],
  hasOlder: false,
  hasNewer: false,
  typing: [],
  working: {},
};

/**
 * With the newest page: joined to what is known where they touch, else instead of it. A part from
 * before stays as it is: its reader is there. Pure, like all below.
 */
export function withNewest(known: Timeline | undefined, page: MessagePage): Timeline {
  if (known !== undefined && touches(known, page)) {
    return { ...joined(known, page.items), hasNewer: false, typing: page.typing };
  }
  if (known?.hasNewer === true) return { ...known, typing: page.typing };

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
  const hasNewer = known.hasNewer && page.items.length >= PAGE;
  return { ...joined(known, page.items), hasNewer, typing: page.typing };
}

/** With a page from the middle: joined to what is known where they touch, else instead of it. */
export function withPart(known: Timeline, page: MessagePage): Timeline {
  const first = page.items[0];
  if (first === undefined) return known;
  const hasOlder = first.seq > 1;
  const isHeld = known.messages.length + page.items.length <= MAX_KEPT && touches(known, page);
  if (!isHeld) return { ...known, messages: page.items, hasOlder, hasNewer: true };
  const isFirst = first.seq < (known.messages[0]?.seq ?? 0);
  return { ...joined(known, page.items), hasOlder: isFirst ? hasOlder : known.hasOlder };
}

export function withOlder(known: Timeline, page: MessagePage): Timeline {
  return { ...joined(known, page.items), hasOlder: page.items.length >= PAGE };
}

/** With a message as it is now; one that is not held stays out. */
export function withMessage(known: Timeline, message: RoomMessage): Timeline {
  if (!known.messages.some(({ id }) => id === message.id)) return known;
  const ended = message.roles
    .filter(({ answeredBy, outcome }) => answeredBy !== undefined || outcome !== undefined)
    .map(({ agent }) => agent);

  return {
    ...known,
    messages: known.messages.map((one) => (one.id === message.id ? message : one)),
    working: without(known.working, message.id, ended),
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

/** Whether no message is missing between the two. */
function touches({ messages }: Timeline, { items }: MessagePage): boolean {
  const [first, last] = [items[0], items.at(-1)];
  const [knownFirst, knownLast] = [messages[0], messages.at(-1)];
  if (first === undefined || last === undefined) return true;
  if (knownFirst === undefined || knownLast === undefined) return false;
  return first.seq <= knownLast.seq + 1 && last.seq >= knownFirst.seq - 1;
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
