/** People who look at rooms of the web now, and who of them writes. Nothing of it is kept. */

import type { Database } from "../../durable/database.ts";
import type { Notifications } from "../../durable/notify.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { RoomPeople } from "../../wire/rooms.ts";
import type { Place } from "../place.ts";

/** Wakes the readers of every process: a person came, or writes. */
const PEOPLE_TOPIC = "people";

/** A person is gone when no page of theirs was heard of for so long, milliseconds. */
const GONE_MS = 20_000;
/** Others are told once in so long that a person writes in a place, milliseconds. */
const TELL_EVERY_MS = 3_000;
/** A person writes for so long after the last key, milliseconds. */
const WRITES_MS = 6_000;
/** A visit that says nothing new is written once in so long, milliseconds. */
const WRITE_EVERY_MS = 1_000;
/** Rooms that one person is seen in at once; more are not counted. */
const MOST_ROOMS_OF_ONE = 20;
/** Rooms that are told of, and names of each; beyond there is a count. */
const MOST_ROOMS = 500;
const MOST_NAMES = { here: 20, typing: 3 } as const;
/** Where no wake-up comes, a process with readers looks so often, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Between two looks that nothing has woken, milliseconds. */
const SHORTEST_PAUSE_MS = 50;

/** Who is in a room, and whose room it is. */
export interface PeopleOfRoom {
  readonly tenant: string;
  readonly people: RoomPeople;
}

/**
 * The people of all rooms, as every process sees them: rows of one table that are renewed while a
 * page is open. A room of one person alone has none: only they would read it.
 */
export class PeopleHere {
  readonly #database: Database;
  readonly #notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly #poller: Poller;
  readonly #listeners = new Set<(of: PeopleOfRoom) => void>();
  #rooms: ReadonlyMap<string, PeopleOfRoom> = new Map();
  #leave: (() => void) | undefined;

  constructor(options: {
    database: Database;
    notifications: Pick<Notifications, "publish" | "subscribe">;
    clock: Clock;
    logger: Logger;
  }) {
    this.#database = options.database;
    this.#notifications = options.notifications;
    this.#poller = new Poller({
      what: "people in rooms",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock: options.clock,
      logger: options.logger,
    });
  }

  start(): void {
    this.#leave ??= this.#notifications.subscribe(PEOPLE_TOPIC, () => this.#poller.wake());
    this.#poller.start();
  }

  async stop(): Promise<void> {
    this.#leave?.();
    await this.#poller.stop();
  }

  /** A page of this person shows the place; the person writes there or not. */
  async visit(
    { id, isPrivate, state }: Pick<Place, "id" | "isPrivate" | "state">,
    { person, writes }: { readonly person: string; readonly writes: boolean },
  ): Promise<void> {
    if (isPrivate) return;
    const [row] = await this.#database.query<{ news: boolean }>(VISIT, [
      id,
      person,
      writes && state !== "closed",
    ]);
    if (row?.news === true) this.#notifications.publish(PEOPLE_TOPIC);
  }

  /** Tells of each room where there are people, and of each change, until the signal aborts. */
  follow(listener: (of: PeopleOfRoom) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
    for (const room of this.#rooms.values()) listener(room);
    this.#poller.wake();
  }

  async #look(): Promise<PollResult> {
    if (this.#listeners.size === 0) {
      this.#rooms = new Map();
      return "idle";
    }
    const rows = await this.#database.query<PeopleRow>(PEOPLE);
    const before = this.#rooms;
    this.#rooms = new Map(rows.map((row) => [row.room, peopleOf(row)]));
    for (const room of changesOf(before, this.#rooms)) {
      for (const tell of this.#listeners) tell(room);
    }
    const next = Math.min(...rows.map(({ next_ms }) => next_ms), LOOK_EVERY_MS);
    return { pauseMs: Math.max(Math.ceil(next), SHORTEST_PAUSE_MS) };
  }
}

type Rooms = ReadonlyMap<string, PeopleOfRoom>;

/** Rooms that are not as they were; one that all have left is told as empty. Pure. */
function changesOf(before: Rooms, now: Rooms): readonly PeopleOfRoom[] {
  const changed = [...now.values()].filter(
    (of) => JSON.stringify(of) !== JSON.stringify(before.get(of.people.room)),
  );
  const left = [...before.values()].filter(({ people }) => !now.has(people.room));
  const empty = { here: [], hereCount: 0, typing: [], typingCount: 0 };
  const emptied = left.map(({ tenant, people: { room } }) => ({
    tenant,
    people: { room, ...empty },
  }));
  return [...changed, ...emptied];
}

interface PeopleRow {
  readonly room: string;
  readonly tenant: string;
  readonly here: readonly string[];
  readonly here_count: number;
  readonly typing: readonly string[] | null;
  readonly typing_count: number;
  /** Until one of them is gone or has stopped writing, milliseconds. */
  readonly next_ms: number;
}

/** Pure. */
function peopleOf(row: PeopleRow): PeopleOfRoom {
  return {
    tenant: row.tenant,
    people: {
      room: row.room,
      here: row.here,
      hereCount: row.here_count,
      typing: row.typing ?? [],
      typingCount: row.typing_count,
    },
  };
}

/** So many milliseconds in SQL. */
const ms = (count: number): string => `interval '${count} milliseconds'`;

/** One row, when it was written; whether others see something new by it. */
const VISIT = {
  name: "people.visit",
  text: `
    with known as (
      select seen_at
      from dure.room_visits
      where place = $1 and person = $2
    )
    insert into dure.room_visits as v (place, person, seen_at, told_at, writes_until)
    select $1, $2, statement_timestamp(),
      case when $3 then statement_timestamp() end,
      case when $3 then statement_timestamp() + ${ms(WRITES_MS)} end
    where exists (select from known)
      or (
        select count(*)
        from dure.room_visits
        where person = $2 and seen_at > statement_timestamp() - ${ms(GONE_MS)}
      ) < ${MOST_ROOMS_OF_ONE}
    on conflict (place, person) do update set
      seen_at = statement_timestamp(),
      told_at = case
        when $3 and coalesce(v.told_at < statement_timestamp() - ${ms(TELL_EVERY_MS)}, true)
          then statement_timestamp()
        else v.told_at
      end,
      writes_until = case when $3 then statement_timestamp() + ${ms(WRITES_MS)} end
    where v.seen_at < statement_timestamp() - ${ms(WRITE_EVERY_MS)}
      or ($3 and v.told_at is null)
      or (not $3 and v.writes_until is not null)
    returning coalesce(told_at = seen_at, false)
      or coalesce(
        (select k.seen_at < statement_timestamp() - ${ms(GONE_MS)} from known k), true
      ) as news`,
};

const PEOPLE = {
  name: "people.here",
  text: `
    select p.id as room, p.tenant, here.*
    from (
      select place,
        (array_agg(person order by person))[1:${MOST_NAMES.here}] as here,
        count(*)::integer as here_count,
        (array_agg(person order by told_at, person) filter (where writes))[1:${MOST_NAMES.typing}]
          as typing,
        (count(*) filter (where writes))::integer as typing_count,
        (extract(epoch from min(next_at) - clock_timestamp()) * 1000)::double precision as next_ms
      from (
        select v.*, v.writes_until > clock_timestamp() as writes,
          least(
            v.seen_at + ${ms(GONE_MS)},
            case when v.writes_until > clock_timestamp() then v.writes_until end
          ) as next_at
        from dure.room_visits v
        where v.seen_at > clock_timestamp() - ${ms(GONE_MS)}
      ) fresh
      group by place
      order by place
      limit ${MOST_ROOMS}
    ) here
    join dure.places p on p.id = here.place
    where not dure.is_private(p)`,
};
