/** What was told to whom, and what of it is told: rows, and the statements on them. */

import type { Queryable } from "../durable/database.ts";
import type { AlertKind, ToldChoice } from "../kernel/alerts.ts";
import type { Locale } from "../kernel/locales.ts";
import type { PlaceKind } from "../kernel/rooms.ts";
import type { MessageButton } from "../rooms/room-store.ts";

/** A message with its place, for who is told of it. */
export interface AlertedMessageRow {
  readonly author_kind: "person" | "agent" | "foreign";
  readonly author: string;
  readonly text: string;
  readonly seq: number;
  readonly buttons: readonly MessageButton[] | null;
  readonly replied_to: string | null;
  readonly place: string;
  readonly parent: string | null;
  readonly adapter: string;
  readonly kind: PlaceKind;
  readonly tenant: string;
  readonly person: string | null;
  readonly is_private: boolean;
}

/** Undefined: it is gone, or was taken back. */
export async function messageOf(tx: Queryable, id: string): Promise<AlertedMessageRow | undefined> {
  const [row] = await tx.query<AlertedMessageRow>(MESSAGE, [id]);
  return row;
}

/** People of a tenant whose names stand in a text, whether they are called or not. */
export async function peopleIn(
  tx: Queryable,
  { tenant, text, place, parent }: Pick<AlertedMessageRow, "tenant" | "text" | "place" | "parent">,
  hasWebhook: boolean,
): Promise<readonly string[]> {
  const rows = await tx.query<{ person: string }>(PEOPLE, [
    tenant,
    text,
    place,
    parent,
    hasWebhook,
  ]);
  return rows.map(({ person }) => person);
}

/** A person as they are now. */
export interface PersonRow {
  readonly person: string;
  readonly told: ToldChoice;
  readonly is_muted: boolean;
  readonly has_read: boolean;
  readonly lately: number;
  readonly subscriptions: readonly string[];
}

/** Locked until `tx` ends: what people were told within the hour is counted in one line. */
export async function peopleNow(
  tx: Queryable,
  people: readonly string[],
  at: { tenant: string; place: string | null; parent: string | null; seq: number | null },
): Promise<readonly PersonRow[]> {
  for (const person of people.toSorted()) await tx.query(LOCK, [at.tenant, person]);
  return tx.query<PersonRow>(PEOPLE_NOW, [at.tenant, people, at.place, at.parent, at.seq]);
}

/** Who decides an escalation, with the browsers in which they may. */
export interface DeciderRow {
  readonly tenant: string;
  readonly person: string;
  readonly subscriptions: readonly string[];
}

export async function decidersOf(
  tx: Queryable,
  escalation: string,
): Promise<readonly DeciderRow[]> {
  return tx.query<DeciderRow>(DECIDERS, [escalation]);
}

/** What is told, before it is a row. */
export interface NewAlert {
  readonly id: string;
  readonly key: string;
  readonly tenant: string;
  readonly person: string;
  readonly kind: AlertKind;
  readonly message: string | null;
  readonly escalation: string | null;
  readonly dropped: "many" | null;
}

/** False: it was told under this key. */
export async function addAlert(tx: Queryable, alert: NewAlert): Promise<boolean> {
  const { id, key, tenant, person, kind, message, escalation, dropped } = alert;
  const values = [id, key, tenant, person, kind, message, escalation, dropped];
  return (await tx.query(ADD, values)).length > 0;
}

/** What is told, as it is at the moment of its sending. */
export interface AlertRow {
  readonly id: string;
  readonly tenant: string;
  readonly person: string;
  readonly kind: AlertKind;
  /** Milliseconds. */
  readonly age: number;
  readonly made: Date;
  /** Of a message. */
  readonly message: string | null;
  readonly author_kind: "person" | "agent" | "foreign" | null;
  readonly author: string | null;
  readonly author_name: string | null;
  readonly text: string | null;
  readonly place: string | null;
  readonly place_name: string | null;
  readonly place_kind: PlaceKind | null;
  /** Of an escalation. */
  readonly escalation: string | null;
  readonly title: string | null;
  /** It is not wanted any more, was read, was answered, or is gone. */
  readonly is_over: boolean;
}

export async function alertNow(db: Queryable, id: string): Promise<AlertRow | undefined> {
  const [row] = await db.query<AlertRow>(ALERT_NOW, [id]);
  return row;
}

/** False: it was dropped before. */
export async function dropLate(db: Queryable, id: string): Promise<boolean> {
  return (await db.query(DROP, [id])).length > 0;
}

/** A browser that is told. */
export interface BrowserRow {
  readonly id: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  readonly locale: Locale;
}

/** Undefined: it is another person's by now, or may be told no more. */
export async function browserOf(
  db: Queryable,
  id: string,
  { tenant, person }: Pick<AlertRow, "tenant" | "person">,
): Promise<BrowserRow | undefined> {
  const [row] = await db.query<BrowserRow>(BROWSER, [id, tenant, person]);
  return row;
}

/** The push service does not know it any more. */
export async function endBrowser(db: Queryable, { id, endpoint }: BrowserRow): Promise<void> {
  await db.query(END_BROWSER, [id, endpoint]);
}

/** The token by which it was registered was not revoked, and its person is still logged in. */
const LIVES = `
  (
    not exists (
      select
      from dure.tokens t
      where t.id = s.token and t.revoked_at is not null
    )
    and (
      s.login = ''
      or exists (
        select
        from dure.login_sessions l
        where l.id = s.login and l.revoked_at is null and l.expires_at > clock_timestamp()
      )
    )
  )`;

const MESSAGE = {
  name: "alerts.message",
  text: `
    select m.author_kind, m.author, m.text, m.seq, m.buttons, r.author as replied_to,
      p.id as place, p.parent, p.adapter, p.kind, p.tenant, p.person,
      dure.is_private(p) as is_private
    from dure.room_messages m
    join dure.places p on p.id = m.place
    left join dure.room_messages r
      on r.id = m.reply_to and r.place = m.place and r.author_kind = 'person'
    where m.id = $1 and m.deleted_at is null`,
};
/** Who wrote one of the newest 200 messages of the place, or of its channel, can be told as well. */
const PEOPLE = {
  name: "alerts.people",
  text: `
    select distinct known.person
    from (
      select s.person
      from dure.push_subscriptions s
      where s.tenant = $1
      union all
      select newest.author
      from unnest(array[$3::text, $4::text]) as at(place), lateral (
        select author, author_kind
        from dure.room_messages m
        where m.place = at.place
        order by seq desc
        limit 200
      ) newest
      where $5::boolean and newest.author_kind = 'person'
    ) known
    where strpos(lower($2::text), lower(known.person)) > 0
    limit 100`,
};
const LOCK = {
  name: "alerts.lock",
  text: "select pg_advisory_xact_lock(hashtextextended('alerts:' || $1 || '/' || $2, 0))",
};
const PEOPLE_NOW = {
  name: "alerts.people_now",
  text: `
    select w.person, coalesce(c.told, 'all') as told,
      coalesce($3::text = any(c.muted) or $4::text = any(c.muted), false) as is_muted,
      coalesce(r.seq >= $5::bigint, false) as has_read,
      (
        select count(*)
        from dure.alerts a
        where a.tenant = $1
          and a.person = w.person
          and a.dropped is null
          and a.at > clock_timestamp() - interval '1 hour'
      )::integer as lately,
      array(
        select s.id
        from dure.push_subscriptions s
        where s.tenant = $1 and s.person = w.person and ${LIVES}
        order by s.renewed_at desc
      ) as subscriptions
    from unnest($2::text[]) as w(person)
    left join dure.alert_choices c on c.tenant = $1 and c.person = w.person
    left join dure.person_reads r
      on r.tenant = $1 and r.person = w.person and r.place = $3`,
};
/**
 * Operators see what is private, others what they may know. What one person is asked in a room stands
 * there.
 */
const DECIDERS = {
  name: "alerts.deciders",
  text: `
    select s.tenant, s.person, array_agg(s.id order by s.id) as subscriptions
    from dure.escalations e
    join dure.push_subscriptions s
      on s.tenant = e.tenant or (s.tenant = '' and s.is_operator)
    where e.id = $1
      and e.status = 'open'
      and not (e.context->>'by' = 'person' and e.context ? 'asker')
      and ${LIVES}
      and (
        s.is_operator
        or (
          e.context->'needs'->>'role' = any(s.roles)
          and dure.may_know_place(e.room, s.tenant, s.person)
          and dure.may_know_session(e.session_id, s.tenant, s.person)
          and dure.may_know_job(e.job, s.tenant, s.person)
        )
      )
    group by s.tenant, s.person
    order by s.tenant, s.person
    limit 1000`,
};
const ADD = {
  name: "alerts.add",
  text: `
    insert into dure.alerts (id, key, tenant, person, kind, message, escalation, dropped)
    values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (key) do nothing
    returning id`,
};
const ALERT_NOW = {
  name: "alerts.now",
  text: `
    select a.id, a.tenant, a.person, a.kind, a.at as made, a.message, a.escalation,
      extract(epoch from clock_timestamp() - a.at)::double precision * 1000 as age,
      m.author_kind, m.author, m.author_name, m.text, p.id as place, p.name as place_name,
      p.kind as place_kind, e.title,
      coalesce(
        a.dropped is not null
          or c.told = 'nothing'
          or (c.told = 'mentions-and-answers' and a.kind = 'escalation')
          or p.id = any(c.muted)
          or p.parent = any(c.muted)
          or e.room = any(c.muted)
          or m.deleted_at is not null
          or r.seq >= m.seq
          or (a.kind = 'question' and m.buttons is null)
          or (m.id is not null and not dure.may_see_place(p, a.tenant, a.person, false))
          or e.status <> 'open',
        false
      ) as is_over
    from dure.alerts a
    left join dure.room_messages m on m.id = a.message
    left join dure.places p on p.id = m.place
    left join dure.escalations e on e.id = a.escalation
    left join dure.alert_choices c on c.tenant = a.tenant and c.person = a.person
    left join dure.person_reads r
      on r.tenant = a.tenant and r.person = a.person and r.place = m.place
    where a.id = $1`,
};
const DROP = {
  name: "alerts.drop",
  text: `
    update dure.alerts
    set dropped = 'late'
    where id = $1 and dropped is null
    returning id`,
};
const BROWSER = {
  name: "alerts.browser",
  text: `
    select s.id, s.endpoint, s.p256dh, s.auth, s.locale
    from dure.push_subscriptions s
    where s.id = $1 and s.tenant = $2 and s.person = $3 and ${LIVES}`,
};
const END_BROWSER = {
  name: "alerts.end_browser",
  text: `
    delete from dure.push_subscriptions
    where id = $1 and endpoint = $2`,
};
