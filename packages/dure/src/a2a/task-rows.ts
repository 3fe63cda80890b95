import type { Database } from "../durable/database.ts";
import { sessionIdFor, type TenantView } from "../kernel/tenant.ts";
import type { OpenDecision, StoredTask, TaskTurn } from "./a2a-task.ts";

/** A message that has come, and the turn that it is. */
export interface KnownMessage {
  readonly turnId: string;
  readonly taskId: string;
  readonly bodyHash: string;
}

export interface NewMessage {
  readonly turnId: string;
  readonly messageId: string;
  /** The task that it goes on with. */
  readonly taskId: string | undefined;
  readonly service: string;
  readonly bodyHash: string;
}

export interface TaskFilter {
  readonly view: TenantView;
  readonly service: string;
  /** Stored key of a session. */
  readonly session: string | undefined;
  /** Tasks before this one. */
  readonly before: string | undefined;
  /** Milliseconds since the epoch. */
  readonly changedAfter: number | undefined;
  readonly limit: number;
}

/** Which turns are tasks of A2A. The turns themselves are the engine's. */
export class TaskRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The message of this id in a session, if it has come. */
  async message(session: string, messageId: string): Promise<KnownMessage | undefined> {
    const [row] = await this.#database.query<KnownMessage>(
      {
        name: "a2a_message",
        text: `select turn_id as "turnId", task_id as "taskId", body_hash as "bodyHash"
          from dure.a2a_messages
          where session_id = $1 and message_id = $2`,
      },
      [session, messageId],
    );

    return row;
  }

  /** Notes a message whose turn is stored; gives its task. However often. */
  async note(message: NewMessage): Promise<string> {
    const { turnId, messageId, taskId = null, service, bodyHash } = message;
    const [row] = await this.#database.query<{ task: string }>(
      {
        name: "a2a_note",
        text: `with noted as (
            insert into dure.a2a_messages
              (session_id, message_id, turn_id, task_id, service, body_hash)
            select t.session_id, $2, t.id,
              coalesce($3, (
                select m.task_id
                from dure.a2a_messages m
                where m.turn_id = t.id
                limit 1
              ), t.id), $4, $5
            from dure.turns t
            where t.id = $1
            on conflict do nothing
            returning task_id
          )
          select task_id as task from noted
          union all
          select m.task_id
          from dure.a2a_messages m
          join dure.turns t on t.session_id = m.session_id
          where t.id = $1 and m.message_id = $2
          limit 1`,
      },
      [turnId, messageId, taskId, service, bodyHash],
    );

    return row?.task ?? taskId ?? turnId;
  }

  /** A task of a service that this reader may see. */
  async task(id: string, view: TenantView, service: string): Promise<StoredTask | undefined> {
    const [task] = await this.tasks([id], view);
    return task?.service === service ? task : undefined;
  }

  /** Ids, newest first, and whether there are more. */
  async list(filter: TaskFilter): Promise<{ ids: readonly string[]; hasMore: boolean }> {
    const { view, service, session, before, changedAfter, limit } = filter;
    const rows = await this.#database.query<{ id: string }>({ name: "a2a_list", text: LIST }, [
      view,
      service,
      session ?? null,
      before ?? null,
      changedAfter ?? null,
      limit + 1,
    ]);
    const ids = rows.map(({ id }) => id);

    return { ids: ids.slice(0, limit), hasMore: ids.length > limit };
  }

  /** In the order of the ids. */
  async tasks(ids: readonly string[], view: TenantView): Promise<readonly StoredTask[]> {
    if (ids.length === 0) return [];
    const rows = await this.#database.query<TaskTurnRow>({ name: "a2a_tasks", text: TASKS }, [
      ids,
      view,
    ]);
    const byTask = Map.groupBy(rows, ({ task_id }) => task_id);

    return ids.flatMap((id) => {
      const [first, ...others] = byTask.get(id) ?? [];
      return first ? [taskOf([first, ...others], view)] : [];
    });
  }
}

interface TaskTurnRow {
  readonly task_id: string;
  readonly id: string;
  readonly session_id: string;
  readonly service: string;
  readonly status: TaskTurn["status"];
  readonly done: TaskTurn["done"];
  readonly accepted_at: number;
  readonly finished_at: number | null;
  readonly message_ids: readonly string[];
  readonly texts: readonly string[];
  readonly decision: OpenDecision | null;
  readonly question: string | null;
  readonly is_latest: boolean;
}

function taskOf(rows: readonly [TaskTurnRow, ...TaskTurnRow[]], view: TenantView): StoredTask {
  const [first] = rows;
  const last = rows.at(-1)!;

  return {
    id: first.task_id,
    context: sessionIdFor(view, first.session_id),
    sessionKey: first.session_id,
    service: first.service,
    turns: rows.map(turnOf),
    openQuestion: last.question,
    isLatest: last.is_latest,
  };
}

function turnOf(row: TaskTurnRow): TaskTurn {
  const { id, status, done, message_ids: ids, texts, decision } = row;
  const isOne = ids.length === 1;

  return {
    id,
    status,
    done,
    acceptedAt: row.accepted_at,
    finishedAt: row.finished_at,
    said: ids.map((messageId, index) => ({
      id: messageId,
      text: isOne ? texts.join("\n") : (texts[index] ?? ""),
    })),
    decision,
  };
}

const LIST = `
  select distinct m.task_id as id
  from dure.a2a_messages m
  join dure.sessions s on s.id = m.session_id
  where ($1::text is null or s.tenant = $1)
    and m.service = $2
    and ($3::text is null or m.session_id = $3)
    and ($4::text is null or m.task_id < $4)
    and ($5::float8 is null or exists (
      select from dure.turns t
      where t.id = m.turn_id
        and coalesce(t.finished_at, t.accepted_at) > to_timestamp($5 / 1000)
    ))
  order by id desc
  limit $6`;

/** A decision of people begins a turn of its own, which goes on with the task. */
const TASKS = `
  with recursive part (task_id, turn_id) as (
    select task_id, turn_id
    from dure.a2a_messages
    where task_id = any($1)
    union
    select p.task_id, f.turn_id
    from part p
    join dure.escalations e on e.turn_id = p.turn_id
    join dure.messages f on f.session_id = e.session_id
      and f.input->'escalation'->>'id' = e.id
  )
  select p.task_id, t.id, t.session_id, t.status, t.done,
    (
      select m.service
      from dure.a2a_messages m
      where m.task_id = p.task_id
      limit 1
    ) as service,
    extract(epoch from t.accepted_at)::float8 * 1000 as accepted_at,
    extract(epoch from t.finished_at)::float8 * 1000 as finished_at,
    array(
      select m.message_id
      from dure.a2a_messages m
      where m.turn_id = t.id
      order by m.ordinal
    ) as message_ids,
    array(
      select m.text
      from dure.messages m
      where m.turn_id = t.id
      order by m.ordinal
    ) as texts,
    (
      select jsonb_build_object(
        'id', e.id,
        'title', e.title,
        'answers', (
          select coalesce(jsonb_agg(
            jsonb_build_object('value', a->'value', 'label', a->'label')
          ), '[]')
          from jsonb_array_elements(e.actions) a
        )
      )
      from dure.escalations e
      where e.turn_id = t.id
        and e.status = 'open'
        and e.type in ('decision', 'effect_unknown')
        -- the one who talks is asked in words, as by a form
        and e.context->>'by' is distinct from 'person'
      order by e.created_at
      limit 1
    ) as decision,
    s.state->'question'->>'id' as question,
    not exists (
      select from dure.turns n
      where n.session_id = t.session_id and (n.accepted_at, n.id) > (t.accepted_at, t.id)
    ) as is_latest
  from part p
  join dure.turns t on t.id = p.turn_id
  join dure.sessions s on s.id = t.session_id
  where $2::text is null or s.tenant = $2
  order by t.accepted_at, t.id`;
