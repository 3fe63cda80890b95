import type { Database, Queryable } from "../durable/database.ts";

/** What a receiver wants to be shown. */
export interface PushSecrets {
  readonly token?: string | undefined;
  readonly scheme?: string | undefined;
  readonly credentials?: string | undefined;
}

/** Where a client wants to be told of a task. */
export interface Push {
  readonly taskId: string;
  readonly id: string;
  readonly url: string;
  readonly secrets: PushSecrets;
}

/** One whose session has gone on since it was looked at. */
export interface DuePush {
  readonly taskId: string;
  readonly id: string;
  readonly told: string | null;
  readonly newest: string;
}

/** Pushes of one task. */
const MAX_OF_TASK = 10;

export class PushRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores it, or another address under its id. False: the task has too many. */
  async put({ taskId, id, url, secrets }: Push): Promise<boolean> {
    const rows = await this.#database.query(
      {
        name: "a2a_put_push",
        text: `insert into dure.a2a_pushes (task_id, id, url, secrets)
          select $1, $2, $3, $4
          where (
            select count(*)
            from dure.a2a_pushes
            where task_id = $1 and id <> $2
          ) < ${MAX_OF_TASK}
          on conflict (task_id, id) do update
          set url = excluded.url, secrets = excluded.secrets
          returning id`,
      },
      [taskId, id, url, JSON.stringify(secrets)],
    );

    return rows.length > 0;
  }

  /** Of a task, by id. */
  list(taskId: string): Promise<readonly Push[]> {
    return this.#database.query<Push>(
      {
        name: "a2a_pushes",
        text: `select task_id as "taskId", id, url, secrets
          from dure.a2a_pushes
          where task_id = $1
          order by id`,
      },
      [taskId],
    );
  }

  /** False: there was none. */
  async remove(taskId: string, id: string): Promise<boolean> {
    const rows = await this.#database.query(
      {
        name: "a2a_remove_push",
        text: `delete from dure.a2a_pushes
          where task_id = $1 and id = $2
          returning id`,
      },
      [taskId, id],
    );

    return rows.length > 0;
  }

  due(limit: number): Promise<readonly DuePush[]> {
    return this.#database.query<DuePush>({ name: "a2a_due", text: DUE }, [limit]);
  }
}

/** Notes what is told of one now. False: another process has done it, or it is gone. */
export async function noteTold(
  tx: Queryable,
  { taskId, id, told, newest }: DuePush,
  next: { readonly told: string | null; readonly isOver: boolean },
): Promise<boolean> {
  const rows = await tx.query(
    {
      name: "a2a_note_told",
      text: `update dure.a2a_pushes
        set told = $4, seen_turn = $5, is_over = $6
        where task_id = $1 and id = $2 and told is not distinct from $3
        returning id`,
    },
    [taskId, id, told, next.told, newest, next.isOver],
  );

  return rows.length > 0;
}

const DUE = `
  select p.task_id as "taskId", p.id, p.told, n.id as newest
  from dure.a2a_pushes p
  join dure.turns b on b.id = p.task_id
  cross join lateral (
    select t.id
    from dure.turns t
    where t.session_id = b.session_id and t.status = 'done'
    order by t.accepted_at desc, t.id desc
    limit 1
  ) n
  where not p.is_over and n.id <> p.seen_turn
  order by p.created_at
  limit $1`;
