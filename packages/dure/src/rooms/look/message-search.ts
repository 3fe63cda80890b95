/** Finds messages by what they say. */

import type { Database } from "../../durable/database.ts";
import { pageLimit, readCursor, type RowPage } from "../../durable/page.ts";
import type { AuthorKind } from "../../kernel/rooms.ts";
import type { FoundMessage } from "../../wire/rooms.ts";
import type { RoomPerson } from "./room-person.ts";

/** What is looked for; each part that is given must fit. */
export interface MessageQuery {
  /** Words as they stand in the message, in any case. */
  readonly text: string;
  /** The name of a person, or the id of an agent. */
  readonly author?: string | undefined;
  readonly authorKind?: AuthorKind | undefined;
  /** Said at this moment or later, and before that one; milliseconds since the epoch. */
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Found messages of a page. */
const FOUND_PAGE = { usual: 20, most: 50 } as const;
/** Messages that one call reads, the newest first; the next page goes on behind them. */
const READ_AT_ONCE = 20_000;
/** Characters that are shown, and those of them that stand before the words. */
const EXCERPT = 180;
const LEAD = 40;

/**
 * The newest first, of what the person may see. A page may hold none and have a next one: it has
 * read as many messages as one call reads.
 */
export async function searchMessages(
  database: Database,
  query: MessageQuery,
  who: RoomPerson,
): Promise<RowPage<FoundMessage>> {
  const limit = pageLimit(query.limit, FOUND_PAGE);
  const [at = null, id = null] = readCursor(query.cursor, FOUND_CURSOR) ?? [];
  const text = query.text.normalize("NFC");
  const rows = await database.query<FoundMessageRow>(SEARCH, [
    who.tenant,
    who.person,
    who.seesAll === true,
    `%${text.replaceAll(/[\\%_]/gu, (sign) => `\\${sign}`)}%`,
    text.toLowerCase(),
    query.author ?? null,
    query.authorKind ?? null,
    query.after ?? null,
    query.before ?? null,
    at,
    id,
    limit + 1,
  ]);

  const found = rows.flatMap((row) => (row.id === null ? [] : [row]));
  const last = found.length > limit ? found[limit - 1] : undefined;
  const end = last === undefined ? rows[0]?.read_to : positionOf(last);
  return {
    items: found.slice(0, limit).map(foundOf),
    nextCursor: end == null ? null : Buffer.from(end).toString("base64url"),
  };
}

/** Microseconds since the epoch, id. */
const FOUND_CURSOR = /^(\d{1,17})\/(.+)$/su;

interface FoundMessageRow {
  /** Where the next call reads on; null: there is nothing more. */
  readonly read_to: string | null;
  /** Null: what was read holds no message that fits. */
  readonly id: string | null;
  readonly heard_us: string;
  readonly place: string;
  readonly place_name: string;
  readonly author: string;
  readonly author_kind: AuthorKind;
  readonly author_name: string;
  readonly excerpt: string;
  readonly at: Date;
}

function positionOf({ heard_us, id }: FoundMessageRow): string {
  return `${heard_us}/${id}`;
}

function foundOf(row: FoundMessageRow): FoundMessage {
  return {
    id: row.id!,
    place: row.place,
    placeName: row.place_name,
    author: row.author,
    authorKind: row.author_kind,
    authorName: row.author_name,
    excerpt: row.excerpt,
    at: row.at.getTime(),
  };
}

/** What is heard before it is said was said by a clock that is ahead, by an hour at most. */
const SEARCH = {
  name: "rooms.search_messages",
  text: `
    with read as materialized (
      select m.*, (extract(epoch from m.heard_at) * 1000000)::bigint::text as heard_us
      from dure.room_messages m
      where ($10::bigint is null
          or (m.heard_at, m.id)
            < (timestamptz 'epoch' + $10::bigint * interval '1 microsecond', $11::text))
        and ($8::double precision is null
          or m.heard_at >= to_timestamp($8::double precision / 1000) - interval '1 hour')
        and ($9::double precision is null or m.at < to_timestamp($9::double precision / 1000))
      order by m.heard_at desc, m.id desc
      limit ${READ_AT_ONCE}
    ),
    found as (
      select r.*, p.name as place_name,
        greatest(1, strpos(lower(r.text), $5::text) - ${LEAD}) as begins
      from read r
      join dure.places p on p.id = r.place
      where r.text ilike $4
        and r.mark is distinct from 'sink'
        and ($6::text is null or r.author = $6)
        and ($7::text is null or r.author_kind = $7)
        and ($8::double precision is null or r.at >= to_timestamp($8::double precision / 1000))
        and dure.may_see_place(p, $1, $2, $3)
      order by r.heard_at desc, r.id desc
      limit $12
    )
    select (
        select case when count(*) = ${READ_AT_ONCE} then (
          select r.heard_us || '/' || r.id
          from read r
          order by r.heard_at, r.id
          limit 1
        ) end
        from read
      ) as read_to,
      f.id, f.heard_us, f.place, f.place_name, f.author, f.author_kind, f.author_name, f.at,
      case when f.begins > 1 then '…' else '' end
        || substr(f.text, f.begins, ${EXCERPT})
        || case when length(f.text) >= f.begins + ${EXCERPT} then '…' else '' end as excerpt
    from (select) one
    left join found f on true
    order by f.heard_at desc, f.id desc`,
};
