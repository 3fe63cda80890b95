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
export const PROCESSED = {
  name: "channel.processed",
  text: `update dure.plan_messages set
      processed_at = coalesce(processed_at, clock_timestamp()),
      delivered_at = coalesce(delivered_at, clock_timestamp())
    where id = $1`,
};
/** But not those of one step, which is begun again: they are answered. */
export const FORGET_QUESTIONS = {
  name: "channel.forget_questions",
  text: `update dure.plan_messages set processed_at = clock_timestamp()
    where run = $1 and port = $2 and type = 'query' and receiver <> 'orchestrator'
      and not starts_with(key, $3) and not starts_with(key, $4)
      and processed_at is null`,
};
export const LEFT_QUESTIONS = {
  name: "channel.left_questions",
  text: `
    select *
    from dure.plan_messages
    where run = $1 and port = $2 and type = 'query' and receiver <> 'orchestrator'
      and (starts_with(key, $3) or starts_with(key, $4))
      and processed_at is null
    order by id
    limit 10`,
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
  name: "channel.deliver_letters",
  text: `update dure.plan_messages set delivered_at = clock_timestamp()
    where run = $1 and port = $2 and receiver = $3
      and sender = 'operator' and type = 'feedback'
      and delivered_at is null`,
};
/** The conversation in which a member gave its last answer. */
export const ANSWERING_SESSION = {
  name: "channel.answering_session",
  text: `
    select payload ->> 'session' as session, created_at
    from dure.plan_messages
    where run = $1 and port = $2 and sender = $3 and type = 'ack'
      and payload ->> 'worker' = $4 and payload ? 'session'
    order by id desc
    limit 1`,
};
export const REPORTS = {
  name: "channel.reports",
  text: `update dure.plan_messages set
      delivered_at = coalesce(delivered_at, clock_timestamp()),
      processed_at = coalesce(processed_at, clock_timestamp())
    where run = $1 and port = $2 and starts_with(key, $3)
    returning *`,
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
