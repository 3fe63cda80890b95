import { systemClock, type Cancel } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { PlatformEvent, EventOf } from "../wire/events.ts";
import { asDureError } from "./entries.ts";
import type { RoomMessage, RoomPeople } from "../wire/rooms.ts";
import type { DureHub } from "./hub.ts";
import { Listeners, type Store } from "./store.ts";
import {
  PAGE,
  withMessage,
  withNewer,
  withNewest,
  withOlder,
  withPart,
  withoutWork,
  withWork,
  type Timeline,
} from "./timeline.ts";

/** What is known of a place. */
export interface RoomView {
  /** Undefined until it was read. */
  readonly timeline: Timeline | undefined;
  /** Why the last reading failed. */
  readonly problem: DureError | undefined;
  /** Who looks at the place now; undefined: not known, or no one. */
  readonly people?: RoomPeople | undefined;
}

/** What the events of a page of rooms are read under; pages that name it too share the stream. */
export const ROOM_EVENTS = {
  types: ["room.*", "account.*", "agent.*", "collaborate.*", "escalation.*"],
  people: true,
} as const;

/** News are taken in together, milliseconds: a burst of events is one reading. */
const BUNDLE_MS = 30;
/** Threads that are remembered as below no message that is held. */
const MAX_APART = 500;
/** Changed messages that are read one by one; more are read as a page. */
const MAX_SINGLE = 12;
/** Where the log may not be followed, the place is looked at so often, milliseconds. */
const LOOK_EVERY_MS = 4_000;
/** A reading that finds no server is tried again after so long, milliseconds. */
const AGAIN_MS = [500, 1_500] as const;

/**
 * The messages of one place, kept fresh by the log of events: only what has changed is read again.
 */
export class RoomFollower implements Store<RoomView> {
  readonly #hub: DureHub;
  readonly #place: string;
  /** In whose name it is read; undefined: in that of the token. */
  readonly #who: string | undefined;
  readonly #listeners: Listeners;
  readonly subscribe: Store<RoomView>["subscribe"];
  #view: RoomView = { timeline: undefined, problem: undefined };
  #leave = new AbortController();
  #waiting: RoomNews[] = [];
  #isTaking = false;
  /** Threads of the place below no message that is held. */
  readonly #apart = new Set<string>();

  constructor(options: { hub: DureHub; place: string; who: string | undefined }) {
    this.#hub = options.hub;
    this.#place = options.place;
    this.#who = options.who;
    this.#listeners = new Listeners({
      begin: () => this.#begin(),
      end: () => this.#leave.abort(),
    });
    this.subscribe = this.#listeners.subscribe;
  }

  readonly snapshot = (): RoomView => this.#view;

  /** Reads the newest messages, and joins them to those that are known. */
  async load(): Promise<void> {
    const { signal } = this.#leave;
    for (let tries = 0; ; tries++) {
      try {
        const page = await this.#rooms.messages(this.#place, { limit: PAGE }, { signal });
        const timeline = withNewest(this.#view.timeline, page);
        return this.#show({ timeline, problem: undefined });
      } catch (error) {
        if (signal.aborted) return;
        const problem = asDureError(error);
        const waitMs = isFinal(problem) ? undefined : AGAIN_MS[tries];
        if (waitMs === undefined) return this.#show({ ...this.#view, problem });
        await systemClock.sleep(waitMs, { signal }).catch(() => {});
      }
    }
  }

  /** Reads what was said since. Does nothing for a place that was never read to its end. */
  async grow(): Promise<void> {
    while (this.#view.timeline?.hasNewer === false) {
      const after = this.#view.timeline.messages.at(-1)?.seq ?? 0;
      const page = await this.#rooms.messages(this.#place, { after, limit: PAGE });
      this.#change((timeline) => withNewer(timeline, page));
      this.#show({ ...this.#view, people: withoutSpeakers(this.#view.people, page.items) });
      if (page.items.length < PAGE) return;
    }
  }

  /** Reads the messages before the oldest one that is known. */
  async older(): Promise<void> {
    const first = this.#view.timeline?.messages[0];
    if (first === undefined) return;

    const page = await this.#rooms.messages(this.#place, { before: first.seq, limit: PAGE });
    this.#change((timeline) => withOlder(timeline, page));
  }

  /** Reads the messages behind a part from before, one page of them. */
  async newer(): Promise<void> {
    const last = this.#view.timeline?.messages.at(-1);
    if (last === undefined) return;

    const page = await this.#rooms.messages(this.#place, { after: last.seq, limit: PAGE });
    this.#change((timeline) => withNewer(timeline, page));
    await this.grow(); // what came while the last of them was read
  }

  /** Leaves a part from before for the newest messages. */
  async newest(): Promise<void> {
    this.#show({ timeline: undefined, problem: undefined });
    await this.load();
  }

  /** Reads what stands around a message, unless it is held. Rejects for one that is not here. */
  async around(id: string): Promise<void> {
    const isHeld = (): boolean =>
      this.#view.timeline?.messages.some((message) => message.id === id) === true;
    if (isHeld()) return;

    const { seq, place } = await this.#rooms.message(id);
    const after = Math.max(0, seq - PAGE / 2);
    const page = await this.#rooms.messages(place, { after, limit: PAGE });
    if (place === this.#place) this.#change((timeline) => withPart(timeline, page));
    if (isHeld()) return;
    throw new DureError("ROOM_MESSAGE_UNKNOWN", `Message ${id} is not in ${this.#place}.`, {
      class: "not-found",
    });
  }

  #begin(): void {
    this.#leave = new AbortController();
    const { signal } = this.#leave;
    this.#change((timeline) => ({ ...timeline, working: {} })); // ended unheard, it may be
    if (this.#view.timeline === undefined) void this.load();
    let poll: Cancel | undefined;

    const unfollow = this.#hub.events.follow(ROOM_EVENTS, {
      onEvent: (event) => this.#hear(event),
      onConnection: (state) => {
        this.#show({ ...this.#view, people: undefined });
        if (state === "connected") void this.load();
      },
      onReset: () => {
        this.#view = { ...this.#view, timeline: undefined, problem: undefined };
        void this.load();
      },
      onPeople: (people) => {
        if (people.room === this.#place) this.#show({ ...this.#view, people });
      },
      onRefused: () => {
        void this.load();
        poll ??= systemClock.every(LOOK_EVERY_MS, () => void this.load());
      },
    });

    signal.addEventListener(
      "abort",
      () => {
        unfollow();
        poll?.();
      },
      { once: true },
    );
  }

  #hear(event: PlatformEvent): void {
    const news = roomNewsOf(event);
    if (event.room === this.#place) this.#waiting.push(news);
    else if (news.answered?.place === this.#place) this.#waiting.push({ answered: news.answered });
    else return;
    if (!this.#isTaking) void this.#takeAll();
  }

  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    while (this.#waiting.length > 0 && !this.#leave.signal.aborted) {
      await systemClock.sleep(BUNDLE_MS);
      await this.#take(this.#waiting.splice(0));
    }

    this.#waiting = [];
    this.#isTaking = false;
  }

  async #take(news: readonly RoomNews[]): Promise<void> {
    for (const { begun, ended } of news) {
      if (begun) this.#change((timeline) => withWork(timeline, begun.message, begun.agents));
      if (ended) this.#change((timeline) => withoutWork(timeline, ended.message, ended.agent));
    }

    const changed = new Set(news.flatMap((one) => (one.changed ? [one.changed.message] : [])));
    if (changed.size > MAX_SINGLE) return this.load();

    try {
      const threads = new Set(news.flatMap(({ answered }) => answered?.thread ?? []));
      for (const thread of threads) {
        const above = await this.#aboveOf(thread);
        if (above !== undefined) changed.add(above);
      }
      if (news.some(({ grown }) => grown !== undefined)) await this.grow();
      await this.#readAgain(changed);
    } catch {
      await this.load(); // which tries again, and tells why it cannot
    }
  }

  /** The message that is held above a thread of this place. */
  async #aboveOf(thread: string): Promise<string | undefined> {
    const known = this.#view.timeline?.messages.find((one) => one.thread?.id === thread);
    if (known !== undefined || this.#apart.has(thread)) return known?.id;

    const { below } = await this.#rooms.thread(thread);
    if (below !== null) return below;
    if (this.#apart.size >= MAX_APART) this.#apart.clear();
    this.#apart.add(thread);
    return undefined;
  }

  async #readAgain(changed: ReadonlySet<string>): Promise<void> {
    const held = this.#view.timeline?.messages.filter(({ id }) => changed.has(id)) ?? [];
    const fresh = await Promise.all(held.map(({ id }) => this.#rooms.message(id)));
    for (const message of fresh) this.#change((timeline) => withMessage(timeline, message));
  }

  #change(change: (timeline: Timeline) => Timeline): void {
    const { timeline } = this.#view;
    if (timeline !== undefined) this.#show({ timeline: change(timeline), problem: undefined });
  }

  #show(view: RoomView): void {
    const { people } = this.#view;
    this.#view = { people, ...view };
    this.#listeners.tell();
  }

  get #rooms() {
    return this.#hub.client.rooms(this.#who);
  }
}

/** Who has said something writes no more. Pure. */
export function withoutSpeakers(
  people: RoomPeople | undefined,
  messages: readonly Pick<RoomMessage, "authorKind" | "author">[],
): RoomPeople | undefined {
  if (people === undefined) return undefined;
  const typing = people.typing.filter(
    (name) =>
      !messages.some(({ author, authorKind }) => authorKind === "person" && author === name),
  );
  const typingCount = people.typingCount - people.typing.length + typing.length;
  return { ...people, typing, typingCount };
}

/** Whether asking again brings the same refusal. */
function isFinal(problem: DureError): boolean {
  const { class: kind } = problem;
  return (
    kind === "input" || kind === "unauthorized" || kind === "forbidden" || kind === "not-found"
  );
}

/** The follower of a place, shared by all that show it. */
export function roomOf(hub: DureHub, place: string, who: string | undefined): RoomFollower {
  const key = JSON.stringify(["room", who ?? "", place]);
  return hub.keep(key, () => new RoomFollower({ hub, place, who }));
}

// --- room news

/** What an event of the log means for the messages of a place. */
interface RoomNews {
  /** A place with something new behind its last message. */
  readonly grown?: string;
  /** A message that is not what it was: delivered, handled, edited. */
  readonly changed?: { readonly place: string; readonly message: string };
  /** Agents that answer a message from now on. */
  readonly begun?: {
    readonly place: string;
    readonly message: string;
    readonly agents: readonly string[];
  };
  /** A thread of a place with something new. */
  readonly answered?: { readonly place: string; readonly thread: string };
  /** An agent that has nothing more to do with a message. */
  readonly ended?: { readonly place: string; readonly message: string; readonly agent: string };
}

/** Pure. Events hold ids and never text; what they point to is asked for. */
export function roomNewsOf(event: PlatformEvent): RoomNews {
  const { room, agent } = event;
  const message = messageIn(event);
  if (room === undefined || message === undefined) return {};

  const changed = { place: room, message };

  switch (event.type) {
    case "room.message": {
      const said = { grown: room, begun: { ...changed, agents: handlersIn(event) } };
      const { parent } = event.data;
      return typeof parent === "string"
        ? { ...said, answered: { place: parent, thread: room } }
        : said;
    }
    case "room.heard":
      return { changed, begun: { ...changed, agents: handlersIn(event) } };
    case "room.handled":
      return { grown: room, changed, ended: { ...changed, agent: agent ?? "" } };
    default:
      return { changed };
  }
}

function handlersIn({ data }: EventOf<"room.message" | "room.heard">): readonly string[] {
  const { roles = {} } = data;
  return Object.entries(roles).flatMap(([agent, role]) => (role === "HANDLER" ? [agent] : []));
}

/** The message that an event is about, if it is about one. */
function messageIn({ type, data }: PlatformEvent): string | undefined {
  if (/^(?:account|agent|escalation)\./u.test(type)) return undefined;
  const message = "message" in data ? data.message : undefined;
  return typeof message === "string" && message !== "" ? message : undefined;
}
