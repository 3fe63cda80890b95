import type { Database } from "../../durable/database.ts";
import type { ChannelMessage } from "../../wire/runs.ts";
import type { ChannelSpeaker } from "../../kernel/plans.ts";

/** Messages of a channel at most: members that do not stop talking are stopped. */
export const MAX_MESSAGES = 500;

/** All messages of a port, oldest first, to be shown. */
export async function channelMessages(
  database: Database,
  run: string,
  port: string,
): Promise<readonly ChannelMessage[]> {
  return (await database.query<ChannelMessageRow>(MESSAGES, [run, port, MAX_MESSAGES])).map(
    messageOf,
  );
}

export interface ChannelMessageRow {
  readonly id: number;
  readonly sender: ChannelSpeaker;
  readonly receiver: ChannelSpeaker;
  readonly type: ChannelMessage["type"];
  readonly payload: unknown;
  readonly reply_to: number | null;
  readonly key: string;
  readonly created_at: Date;
  readonly delivered_at: Date | null;
  readonly processed_at: Date | null;
}

export function messageOf(row: ChannelMessageRow): ChannelMessage {
  return {
    id: row.id,
    from: row.sender,
    to: row.receiver,
    type: row.type,
    payload: row.payload,
    replyTo: row.reply_to,
    createdAt: row.created_at.getTime(),
    deliveredAt: row.delivered_at?.getTime() ?? null,
    processedAt: row.processed_at?.getTime() ?? null,
  };
}

export const KNOWN = {
  name: "channel.known",
  text: `
    select id
    from dure.plan_messages
    where run = $1 and port = $2 and key = $3`,
};
export const SEND = {
  name: "channel.send",
  text: `insert into dure.plan_messages (
      run, port, sender, receiver, type, payload, reply_to, key
    )
    values ($1, $2, $3, $4, $5, $6, $7, $8)
    returning id, (
      select count(*)::integer + 1
      from dure.plan_messages
      where run = $1 and port = $2
    ) as many`,
};
export const TAKE = {
  name: "channel.take",
  text: `update dure.plan_messages set delivered_at = coalesce(delivered_at, clock_timestamp())
    where id = (
      select id from dure.plan_messages
      where run = $1 and port = $2 and receiver = $3 and processed_at is null
        and ($4::text is null or type = $4)
      order by id
      limit 1
    )
    returning *`,
};
/** What is read by its own writer, in the steps: nothing waits for it. */
export const RECORD = {
  name: "record",
  returns: true,
  text: `insert into dure.plan_messages (
      run, port, sender, receiver, type, payload, key, delivered_at, processed_at
    )
    select $1, $2, $3, $4, $5, $6::jsonb, $7, clock_timestamp(), clock_timestamp()
    from held
    on conflict (run, port, key) do nothing
    returning id`,
};
/** Behind `RECORD`. */
export const EMIT_RECORDED = {
  name: "recorded",
  text: `select dure.emit(jsonb_set($1::jsonb, '{0,data,id}', to_jsonb(w0.id)))
    from w0`,
};
export const PROCESSED = {
  name: "processed",
  text: `update dure.plan_messages set
      processed_at = coalesce(processed_at, clock_timestamp()),
      delivered_at = coalesce(delivered_at, clock_timestamp())
    from held
    where id = any($1::bigint[])`,
};
/** What was not read yet; messages of a port are few. */
export const WAITING = {
  name: "channel.waiting",
  text: `
    select *
    from dure.plan_messages
    where run = $1 and port = $2 and processed_at is null
    order by id
    limit ${MAX_MESSAGES}`,
};
export const ANSWER = {
  name: "channel.answer",
  text: `
    select *
    from dure.plan_messages
    where reply_to = $1 and type = 'ack'`,
};
const MESSAGES = {
  name: "channel.messages",
  text: `
    select *
    from dure.plan_messages
    where run = $1 and port = $2
    order by id
    limit $3`,
};
/** Also what a step has read that came to no end: it is begun again. */
export const UNHEARD = {
  name: "channel.unheard",
  text: `
    select *
    from dure.plan_messages m
    where run = $1 and port = $2 and receiver = $3
      and sender = 'operator' and type = 'feedback'
      and (
        processed_at is null
        or exists (
          select 1
          from dure.plan_steps s
          where s.run = m.run and s.port = m.port and s.member = m.receiver
            and s.status <> 'done' and s.started_at <= m.processed_at
        )
      )
    order by id
    limit 50`,
};
export const LETTERS = {
  name: "channel.letters",
  text: `
    select *
    from dure.plan_messages
    where run = $1 and port = $2 and receiver = $3
      and sender = 'operator' and type = 'feedback'
      and processed_at is null
    order by id
    limit 50`,
};
export const DELIVER_LETTERS = {
  name: "letters",
  text: `update dure.plan_messages set delivered_at = clock_timestamp()
    from held
    where run = $1 and port = $2 and receiver = $3
      and sender = 'operator' and type = 'feedback'
      and delivered_at is null`,
};
export const REPORTS = {
  name: "channel.reports",
  text: `
    select *
    from dure.plan_messages
    where run = $1 and port = $2 and starts_with(key, $3)
    order by id`,
};
export const SEND_FROM_OUTSIDE = {
  name: "channel.send_from_outside",
  text: `insert into dure.plan_messages (run, port, sender, receiver, type, payload, key)
    select $1, $2, $3, $4, $9, $5::jsonb, $6
    where (
      select count(*) from dure.plan_messages
      where run = $1 and port = $2 and starts_with(key, $7)
    ) < $8
    on conflict (run, port, key) do nothing
    returning id`,
};
