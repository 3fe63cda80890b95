import type { Json } from "../kernel/json.ts";

/** Entries of the outbox as rows, and the statements on them. */

export interface OutboxEntry {
  readonly id: number;
  readonly topic: string;
  readonly ordering: string;
  readonly key: string;
  readonly payload: Json;
  readonly attempts: number;
  readonly in_doubt: boolean;
}

export const ENQUEUE = { name: "outbox.enqueue", text: "select dure.enqueue($1)" };

/** No earlier entry of its topic and key is open. */
const FIRST_IN_LINE = `
  not exists (select from dure.outbox b
               where b.topic = o.topic and b.ordering = o.ordering and b.id < o.id and b.state in ('pending', 'sending'))`;

/** What one look gives a process to do. */
export interface OutboxLook {
  /** To be sent, and held by this process from now on. */
  readonly claimed: readonly OutboxEntry[];
  /** Ids that a transaction may take. */
  readonly due: readonly number[];
  /** Milliseconds until the next entry is due; null: none waits. */
  readonly wait: number | null;
}

/**
 * Claims of the topics `$1` what is due, or left by a dead process, or claimed by this one, which
 * never heard of it: the connection was lost with the answer. `$5`: what it delivers now. Of the
 * topics `$6` it only finds what is due; `$7`: what is under way.
 */
export const LOOK = {
  name: "outbox.look",
  text: `
    with claimable as (
      select o.id, o.state from dure.outbox o
       where o.topic = any($1::text[])
         and o.state in ('pending', 'sending')
         and o.next_at <= clock_timestamp()
         and (o.state = 'pending'
              or (o.holder = $3 and o.holder_epoch = $4 and o.id <> all($5::bigint[]))
              or not exists (
               select from dure.processes p
               where p.id = o.holder and p.epoch = o.holder_epoch and p.ended_at is null))
         and ${FIRST_IN_LINE}
       order by o.next_at, o.id limit $2::integer
         for update of o skip locked
    ), claimed as (
      update dure.outbox o
         set state = 'sending', holder = $3, holder_epoch = $4,
           in_doubt = o.in_doubt or c.state = 'sending',
             first_attempt_at = coalesce(o.first_attempt_at, clock_timestamp())
        from claimable c
       where o.id = c.id
      returning o.id, o.topic, o.ordering, o.key, o.payload, o.attempts, o.in_doubt
    ), due as (
      select o.id from dure.outbox o
       where o.topic = any($6::text[])
         and o.state = 'pending'
         and o.next_at <= clock_timestamp()
         and o.id <> all($7::bigint[])
         and ${FIRST_IN_LINE}
       order by o.next_at, o.id
       limit greatest(0, $2::integer - (select count(*) from claimed))
    )
    select
      coalesce((select jsonb_agg(claimed) from claimed), '[]') as claimed,
      coalesce((select jsonb_agg(id) from due), '[]') as due,
      (
        select extract(epoch from min(next_at) - clock_timestamp()) * 1000
        from dure.outbox
        where state = 'pending'
          and topic = any($1::text[] || $6::text[])
          and next_at > clock_timestamp()
      )::double precision as wait`,
};

export const LOCK = {
  name: "outbox.lock",
  text: `
    select o.id, o.topic, o.ordering, o.key, o.payload, o.attempts, o.in_doubt
    from dure.outbox o
     where o.id = $1 and o.state = 'pending' and o.next_at <= clock_timestamp() and ${FIRST_IN_LINE}
       for update of o skip locked`,
};

export const RECORD = {
  name: "outbox.record",
  text: `
    update dure.outbox
       set state = $4, attempts = $5, in_doubt = $6,
         next_at = clock_timestamp() + $7::double precision * interval '1 millisecond',
           result = $8, error = nullif($9::jsonb, 'null'), holder = null, holder_epoch = null,
           settled_at = case when $4 = 'pending' then null else clock_timestamp() end
     where id = $1 and state = 'sending' and holder = $2 and holder_epoch = $3
    returning id`,
};

export const HELD = {
  name: "outbox.held",
  text: `select id
    from dure.outbox
    where id = $1 and state = 'sending' and holder = $2 and holder_epoch = $3
    for update`,
};

export const SETTLE = {
  name: "outbox.settle",
  text: `
    update dure.outbox
    set state = $2, attempts = attempts + 1, result = $3, error = null, holder = null,
      holder_epoch = null, in_doubt = false,
           settled_at = clock_timestamp(),
           first_attempt_at = coalesce(first_attempt_at, clock_timestamp())
     where id = $1`,
};

export const POSTPONE = {
  name: "outbox.postpone",
  text: `
    update dure.outbox
       set state = $2, attempts = $3,
         next_at = clock_timestamp() + $4::double precision * interval '1 millisecond',
           error = nullif($5::jsonb, 'null'),
           settled_at = case when $2 = 'pending' then null else clock_timestamp() end,
           first_attempt_at = coalesce(first_attempt_at, clock_timestamp())
     where id = $1 and state = 'pending'
    returning id`,
};

export const RESOLVE = {
  name: "outbox.resolve",
  text: `
    update dure.outbox
       set state = $2, in_doubt = false,
         attempts = case when $2 = 'pending' then 0 else attempts end,
         next_at = clock_timestamp(),
           settled_at = case when $2 = 'pending' then null else clock_timestamp() end
     where key = $1 and state = 'unknown'
    returning id`,
};
