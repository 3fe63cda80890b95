/** What people read of rooms: places, messages, and what agents did with them. */

import type { Database } from "../../durable/database.ts";
import { pageLimit, pageOf, readCursor, type RowPage } from "../../durable/page.ts";
import type { Coded } from "../../kernel/coded-message.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import { LOST_AT, stateOf } from "../in/accounts.ts";
import { deafIn } from "../in/unreadable-places.ts";
import type { Directory } from "../directory.ts";
import { channelPlaceId, namesIn } from "../named-place.ts";
import { searchMessages, type MessageQuery } from "./message-search.ts";
import { recentAnswers, type RecentAnswer } from "./recent-answers.ts";
import type { RoomPerson } from "./room-person.ts";
import type { RoomLimits } from "../limits.ts";
import { placeOf, shownPlace, type PlaceRow, type ShownPlace } from "../place.ts";
import { messageOf, type MessageRow, type StoredMessage } from "../room-store.ts";
import type {
  FoundMessage,
  Observation,
  Room,
  RoomAgent,
  RoomMessage,
  Thread,
} from "../../wire/rooms.ts";
import type { AccountState } from "../../kernel/rooms.ts";

export type RoomSummary = ShownPlace & Required<Room>;

/**
 * `activeAt` has its fraction: a page goes on behind it, and two threads may have been active in one
 * millisecond.
 */
export type ThreadSummary = ShownPlace & Thread;

/** Who looks at rooms: a tenant's person, or an administrator who sees the channels of all. */
interface Looking {
  readonly tenant: string;
  readonly person: string;
  readonly seesAll?: boolean | undefined;
}

/**
 * What pages and programs see of rooms. Another tenant's room is not found; Discord's belong to the
 * empty tenant.
 */
export class RoomReader {
  readonly #database: Database;
  readonly #directory: Directory;
  readonly #personaOf: (agent: string) => Promise<string | undefined>;
  readonly #limits: Pick<RoomLimits, "participantsMs" | "observationsMs">;

  constructor(options: {
    database: Database;
    directory: Directory;
    limits: Pick<RoomLimits, "participantsMs" | "observationsMs">;
    personaOf?: ((agent: string) => Promise<string | undefined>) | undefined;
  }) {
    this.#limits = options.limits;
    this.#personaOf = options.personaOf ?? (async () => undefined);
    this.#database = options.database;
    this.#directory = options.directory;
  }

  /** Channels in the order in which they were made, then the person's direct rooms. */
  async rooms(
    who: Looking,
    options: { limit?: number | undefined; cursor?: string | undefined } = {},
  ): Promise<RowPage<RoomSummary>> {
    const limit = pageLimit(options.limit, ROOM_PAGE);
    const [kind = null, at = null, id = null] = readCursor(options.cursor, ROOM_CURSOR) ?? [];
    const rows = await this.#database.query<RoomRow>(ROOMS, [
      who.tenant,
      who.person,
      this.#directory.channels.map((channel) => channelPlaceId(channel)),
      kind,
      at,
      id,
      limit + 1,
      who.seesAll === true,
    ]);
    const page = pageOf(rows, limit, (row) => [row.kind, row.made_us, row.id]);

    return { items: await this.#summariesOf(page.items), nextCursor: page.nextCursor };
  }

  async #summariesOf(rows: readonly RoomRow[]): Promise<readonly RoomSummary[]> {
    const reports = await deafIn(
      rows.map(({ id }) => id),
      this.#database,
    );

    return rows.map((row) => {
      const channel = this.#directory.channelOf(row.id);
      const members =
        row.kind === "direct"
          ? [row.agent ?? ""]
          : this.#directory.agents
              .filter((agent) => agent.accounts[row.adapter])
              .map((agent) => agent.id);
      return {
        ...shownPlace(placeOf(row)),
        defaultAgent:
          channel?.defaultAgent ??
          (row.kind === "direct" ? row.agent : (this.#directory.lead?.id ?? null)),
        unread: row.unread,
        lastAt: row.last_at?.getTime() ?? null,
        members,
        deaf: members.filter((agent) =>
          reports.some((report) => report.place === row.id && report.agent === agent),
        ),
      };
    });
  }

  /**
   * The liveliest first; those of one room, at most 500. `before`: that were last active before
   * this, milliseconds since the epoch.
   */
  async threads(
    room: string,
    who: Looking,
    page: { limit?: number; before?: number } = {},
  ): Promise<readonly ThreadSummary[]> {
    const rows = await this.#database.query<ThreadRow>(THREADS, [
      room,
      who.tenant,
      who.person,
      Math.min(page.limit ?? 100, 500),
      null,
      this.#limits.participantsMs,
      page.before ?? null,
      who.seesAll === true,
    ]);

    return rows.map(threadOf);
  }

  async thread(id: string, who: Looking): Promise<ThreadSummary | undefined> {
    const [row] = await this.#database.query<ThreadRow>(THREADS, [
      null,
      who.tenant,
      who.person,
      1,
      id,
      this.#limits.participantsMs,
      null,
      who.seesAll === true,
    ]);

    return row && threadOf(row);
  }

  /**
   * The last `limit` messages of a place, or those behind `after` / before `before`; oldest first.
   */
  async messages(
    place: string,
    options: { after?: number; before?: number; limit?: number },
  ): Promise<readonly StoredMessage[]> {
    const limit = Math.min(options.limit ?? 50, 200);
    const statement = options.after === undefined ? LAST_MESSAGES : NEXT_MESSAGES;
    const rows = await this.#database.query<MessageRow>(statement, [
      place,
      options.after ?? options.before ?? null,
      limit,
    ]);

    return rows.map(messageOf);
  }

  /** What stands below messages, by message: signs (`own`: the person's) and a thread. */
  async below(
    messages: readonly string[],
    { tenant, person, seesAll = false }: RoomPerson,
  ): Promise<ReadonlyMap<string, BelowMessage>> {
    const rows = await this.#database.query<BelowRow>(BELOW, [messages, person, tenant, seesAll]);
    return new Map(
      rows.map(({ message, reactions, thread }) => [
        message,
        {
          reactions: reactions ?? [],
          thread: thread && {
            id: thread.id,
            messages: thread.messages,
            activeAt: thread.active_ms,
          },
        },
      ]),
    );
  }

  /** Agents that work on an answer for this place now. */
  async typing(place: string): Promise<readonly string[]> {
    return (await this.#database.query<{ agent: string }>(TYPING, [place])).map(
      ({ agent }) => agent,
    );
  }

  async observations(filter: {
    agent?: string;
    place?: string;
    tenant: TenantView;
    /** Also what was overheard where members alone are. Default no. */
    seesPrivate?: boolean | undefined;
  }): Promise<readonly Observation[]> {
    const rows = await this.#database.query<{
      agent: string;
      place: string;
      message: string;
      sender: string;
      excerpt: string;
      at: Date;
    }>(OBSERVATIONS, [
      filter.agent ?? null,
      filter.place ?? null,
      filter.tenant,
      this.#limits.observationsMs,
      filter.seesPrivate === true,
    ]);

    return rows.map((row) => ({ ...row, at: row.at.getTime() }));
  }

  /**
   * The directory, with the load and the spend that a tenant's work makes; with `personas` also
   * what each agent is told of itself.
   */
  async agents({
    personas = false,
    tenant = null,
  }: { personas?: boolean; tenant?: TenantView } = {}): Promise<readonly RoomAgent[]> {
    const accounts = await this.#database.query<{
      adapter: string;
      id: string;
      agent: string;
      state: AccountState;
      detail: string | null;
      reason: Coded | null;
      changed_at: Date;
      lost_at: Date | null;
      platform_id: string | null;
    }>(ACCOUNTS);
    const load = await this.#database.query<{ agent: string; working: number; waiting: number }>(
      LOAD,
      [tenant],
    );
    const spend = await this.#database.query<{ agent: string; tokens: number; micro_usd: number }>(
      SPEND,
      [tenant],
    );
    const paused = await this.#database.query<{ agent: string; by: string; at: Date }>(PAUSED);
    const { agents } = this.#directory;
    const told = personas
      ? await Promise.all(agents.map(async ({ id }) => this.#personaOf(id)))
      : [];
    return agents.map((agent, index) => {
      const busy = load.find((row) => row.agent === agent.id);
      const spent = spend.find((row) => row.agent === agent.id);
      const pause = paused.find((row) => row.agent === agent.id);

      return {
        id: agent.id,
        displayName: agent.displayName,
        service: agent.service,
        leads: agent.leads,
        channel: namesIn(agent.channel).join(", ") || null,
        persona: told[index] ?? null,
        accounts: accounts
          .filter((row) => row.agent === agent.id)
          .map((row) => ({
            adapter: row.adapter,
            id: row.id,
            platformId: row.platform_id,
            ...stateOf(row),
            detail: row.detail,
            reason: row.reason,
          })),
        // Who operates all tenants is not told to one of them.
        paused: pause ? { by: tenant ? "" : pause.by, at: pause.at.getTime() } : null,
        working: busy?.working ?? 0,
        waiting: busy?.waiting ?? 0,
        tokensToday: spent?.tokens ?? 0,
        microUsdToday: spent?.micro_usd ?? 0,
      };
    });
  }

  /** What an agent has answered lately, as far as the person may see it. */
  answersOf(
    agent: string,
    options: { who: RoomPerson; limit: number },
  ): Promise<readonly RecentAnswer[]> {
    return recentAnswers(this.#database, agent, options);
  }

  /** Messages that say something, wherever the person may see them. */
  search(query: MessageQuery, who: RoomPerson): Promise<RowPage<FoundMessage>> {
    return searchMessages(this.#database, query, who);
  }

  async read(who: { tenant: string; person: string }, place: string, seq: number): Promise<void> {
    await this.#database.query(READ, [who.tenant, who.person, place, seq]);
  }
}

/** What stands below a message. */
type BelowMessage = Pick<RoomMessage, "reactions" | "thread">;

interface BelowRow {
  readonly message: string;
  readonly reactions: RoomMessage["reactions"] | null;
  readonly thread: {
    readonly id: string;
    readonly messages: number;
    readonly active_ms: number;
  } | null;
}

/** Rooms of a page. Source: docs/spec/platform §3; the numbers are those of jobs. */
const ROOM_PAGE = { usual: 50, most: 200 } as const;

interface RoomRow extends PlaceRow {
  readonly unread: number;
  readonly last_at: Date | null;
  /** When it was made, microseconds since the epoch. */
  readonly made_us: string;
}

/** Kind, microseconds since the epoch, id. */
const ROOM_CURSOR = /^(channel|direct)\/(\d{1,17})\/(.+)$/s;

interface ThreadRow extends PlaceRow {
  readonly below: string | null;
  readonly participants: readonly string[] | null;
  readonly people: readonly string[] | null;
  readonly messages: number;
  readonly unread: number;
  readonly open_requests: number;
  readonly active_ms: number;
  readonly created_at: Date;
}

function threadOf(row: ThreadRow): ThreadSummary {
  return {
    ...shownPlace(placeOf(row)),
    below: row.below,
    participants: row.participants ?? [],
    people: row.people ?? [],
    messages: row.messages,
    unread: row.unread,
    openRequests: row.open_requests,
    activeAt: row.active_ms,
    createdAt: row.created_at.getTime(),
  };
}

/** A suspension that has run out is none. */
const EFFECTIVE =
  "case when p.state = 'suspended' and p.suspended_until <= clock_timestamp() then " +
  "'open' else p.state end as state";

const ROOMS = {
  name: "rooms.rooms",
  text: `
    select p.*, dure.is_private(p) as is_private, ${EFFECTIVE},
      greatest(0, p.next_seq - 1 - coalesce(r.seq, 0))::integer as unread,
      (select max(m.at) from dure.room_messages m where m.place = p.id) as last_at,
      (extract(epoch from p.created_at) * 1000000)::bigint::text as made_us
    from dure.places p
    left join dure.person_reads r on r.place = p.id and r.tenant = $1 and r.person = $2
    where p.kind <> 'thread'
      and dure.may_see_place(p, $1, $2, $8)
      and not p.is_sink
      and (
        p.kind = 'channel' and split_part(p.id, '@', 1) = any($3::text[])
        or (p.kind = 'direct' and p.adapter = 'web' and p.person = $2 and p.tenant = $1)
      )
      and (
        $4::text is null
        or (
          p.kind, (extract(epoch from p.created_at) * 1000000)::bigint, p.id
        ) > ($4, $5::bigint, $6)
      )
    order by p.kind, p.created_at, p.id
    limit $7`,
};
/** Names of a thread's people, and the newest messages among which they are looked for. */
const PEOPLE_OF_THREAD = 10;
const WORDS_OF_PEOPLE = 50;
const THREADS = {
  name: "rooms.threads",
  text: `
    select p.*, dure.is_private(p) as is_private, ${EFFECTIVE},
      greatest(0, p.next_seq - 1 - coalesce(r.seq, 0))::integer as unread,
      (p.next_seq - 1)::integer as messages,
      (
        select m.id
        from dure.room_messages m
        where m.place = p.parent
          and m.id = coalesce(
            (
              select part.message
              from dure.room_parts part
              where part.adapter = p.adapter and part.platform_id = p.thread
            ),
            p.thread
          )
      ) as below,
      (extract(epoch from p.active_at) * 1000)::double precision as active_ms,
      (
        select array_agg(a.agent order by a.since, a.agent)
        from dure.participants a
        where a.place = p.id
          and p.active_at > clock_timestamp() - $6::double precision * interval '1 millisecond'
      ) as participants,
      (
        select (array_agg(w.author_name order by w.last desc))[1:${PEOPLE_OF_THREAD}]
        from (
          select m.author_name, max(m.seq) as last
          from dure.room_messages m
          where m.place = p.id
            and m.seq > p.next_seq - ${WORDS_OF_PEOPLE}
            and m.author_kind = 'person'
          group by m.author_name
        ) w
      ) as people,
      (
        select count(*)::integer
        from dure.requests q
        where q.thread = p.id and q.state = 'open'
      ) as open_requests
    from dure.places p
    left join dure.person_reads r on r.place = p.id and r.tenant = $2 and r.person = $3
    where p.kind = 'thread'
      and ($1::text is null or p.parent = $1)
      and ($5::text is null or p.id = $5)
      and dure.may_see_place(p, $2, $3, $8)
      and (
        $7::double precision is null
        or p.active_at < to_timestamp($7::double precision / 1000)
      )
    order by p.active_at desc
    limit $4`,
};
const NEXT_MESSAGES = {
  name: "rooms.next_messages",
  text: `
    select *
    from dure.room_messages
    where place = $1 and seq > $2::bigint
    order by seq
    limit $3`,
};
const LAST_MESSAGES = {
  name: "rooms.last_messages",
  text: `
    select *
    from (
      select *
      from dure.room_messages
      where place = $1 and ($2::bigint is null or seq < $2)
      order by seq desc
      limit $3
    ) newest
    order by seq`,
};
/** Names that a sign has; the others are counted. */
const NAMES_OF_SIGN = 10;
/** Of all messages of a page at once. On other platforms an author of a sign is known by an id alone. */
const BELOW = {
  name: "rooms.below",
  text: `
    select m.id as message, signs.reactions, below.thread
    from dure.room_messages m
    join dure.places c on c.id = m.place
    left join lateral (
      select json_agg(
          json_build_object(
            'emoji', emoji, 'count', count, 'own', own,
            'people', case when c.adapter = 'web' then people else '{}' end
          )
          order by first, emoji
        ) as reactions
      from (
        select emoji, count(*)::integer as count, bool_or(author = $2) as own,
          min(at) as first, (array_agg(author order by at, author))[1:${NAMES_OF_SIGN}] as people
        from dure.room_reactions
        where message = m.id
        group by emoji
      ) signs
    ) signs on true
    left join lateral (
      select json_build_object(
          'id', p.id, 'messages', p.next_seq - 1,
          'active_ms', floor(extract(epoch from p.active_at) * 1000)
        ) as thread
      from (
        select m.id as name
        union all
        select part.platform_id
        from dure.room_parts part
        where part.message = m.id and part.adapter = c.adapter
      ) named
      join dure.places p on p.adapter = c.adapter
        and p.channel = coalesce(c.channel, c.id)
        and coalesce(p.thread, '') = named.name
      where c.kind <> 'thread'
        and p.kind = 'thread'
        and p.thread is not null
        and p.next_seq > 1
        and dure.may_see_place(p, $3, $2, $4)
      limit 1
    ) below on true
    where m.id = any($1)
      and (signs.reactions is not null or below.thread is not null)`,
};
const OBSERVATIONS = {
  name: "rooms.observations",
  text: `
    select *
    from (
      select a.agent, o.place, o.message, o.sender, o.excerpt, o.at
      from dure.observations o
      join dure.places p on p.id = o.place, unnest(o.agents) as a(agent)
      where ($1::text is null or a.agent = $1)
        and ($2::text is null or o.place = $2)
        and ($3::text is null or p.tenant = $3)
        and ($5::boolean or not dure.is_private(p))
        and o.at > clock_timestamp() - $4::double precision * interval '1 millisecond'
      order by o.at desc, o.message desc, a.agent
      limit 1000
    ) newest
    order by at, message, agent`,
};
const ACCOUNTS = {
  name: "rooms.accounts",
  text: `
    select a.adapter, a.id, a.agent, a.platform_id, a.state, a.detail, a.reason,
      a.changed_at,
      ${LOST_AT}
    from dure.accounts a
    left join dure.leases l on l.name = 'account:' || a.adapter || ':' || a.id
    left join dure.processes p on p.id = l.holder
    order by a.adapter, a.id`,
};
const PAUSED = { name: "rooms.paused", text: "select agent, by, at from dure.pauses" };
const LOAD = {
  name: "rooms.load",
  text: `
    select agent, count(*) filter (where state = 'running')::integer as working,
      count(*) filter (where state = 'waiting')::integer as waiting
    from dure.handlings h
    where state <> 'done'
      and (
        $1::text is null
        or exists (select from dure.places p where p.id = h.place and p.tenant = $1)
      )
    group by agent`,
};
const SPEND = {
  name: "rooms.spend",
  text: `
    select agent, sum(tokens_in + tokens_out)::bigint as tokens,
      coalesce(sum(cost_micro_usd), 0)::bigint as micro_usd
    from dure.model_calls c
    where at > clock_timestamp() - interval '24 hours'
      and (
        $1::text is null
        or exists (select from dure.sessions s where s.id = c.session_id and s.tenant = $1)
        or exists (select from dure.plan_runs r where r.id = c.session_id and r.tenant = $1)
      )
    group by agent`,
};
const TYPING = {
  name: "rooms.typing",
  text: `
    select distinct agent
    from dure.handlings
    where place = $1 and state = 'running'`,
};
const READ = {
  name: "rooms.read",
  text: `
         insert into dure.person_reads as r (tenant, person, place, seq)
         values ($1, $2, $3, $4)
         on conflict (tenant, person, place)
         do update set seq = greatest(r.seq, $4), person = $2`,
};
