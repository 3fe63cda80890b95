import type { RowOf } from "../durable/rows.ts";
import type { AgentEdit } from "../server/agent-edit-routes.ts";
import type { Queryable, Transaction } from "../durable/database.ts";
import { pageOf, readCursor, type RowPage } from "../durable/page.ts";

export type EditOutcome = NonNullable<AgentEdit["outcome"]>;

export type NewEdit = Pick<AgentEdit, "agent" | "file" | "by" | "before" | "after"> & {
  readonly restores: number | null;
};

/** Which files: those of an agent, in one folder. */
export interface EditPlace {
  readonly host: string;
  readonly agent: string;
}

/** Changes of an agent that are kept; the oldest go first. Source: docs/spec/platform §2. */
const KEPT = 100;

/** Rows of a page by default, and at most. */
const PAGE = 20;

/** Until the transaction ends no other process changes this file. */
export async function lockFile(
  tx: Transaction,
  { host, agent }: EditPlace,
  file: string,
): Promise<void> {
  await tx.query(LOCK, [`agent-file:${host}:${agent}:${file}`]);
}

export async function beginEdit(tx: Transaction, host: string, edit: NewEdit): Promise<number> {
  const { agent, file, by, before, after, restores } = edit;
  const [row] = await tx.query<{ id: number }>(BEGIN, [
    ...[host, agent, file, by],
    ...[before, after, restores],
  ]);
  await tx.query(FORGET, [host, agent, KEPT]);
  return row!.id;
}

/** False: it has an outcome already. */
export async function endEdit(
  database: Queryable,
  id: number,
  outcome: EditOutcome,
): Promise<boolean> {
  const rows = await database.query(END, [id, outcome]);
  return rows.length > 0;
}

/** Edits without an outcome that began before the age given, milliseconds. */
export async function openEdits(
  database: Queryable,
  host: string,
  olderThanMs: number,
): Promise<readonly AgentEdit[]> {
  return (await database.query<EditRow>(OPEN, [host, olderThanMs])).map(editOf);
}

/**
 * Ids and agents of what was done behind `after`, the oldest first; up to the first one without an
 * outcome, which may be done yet.
 */
export async function doneSince(
  database: Queryable,
  host: string,
  after: number,
): Promise<readonly { readonly id: number; readonly agent: string }[]> {
  return database.query(DONE_SINCE, [host, after]);
}

/** Behind which id edits are news for a process that starts. */
export async function newsBegin(database: Queryable, host: string): Promise<number> {
  const [row] = await database.query<{ id: number }>(NEWS_BEGIN, [host]);
  return row?.id ?? 0;
}

export async function findEdit(
  database: Queryable,
  { host, agent }: EditPlace,
  id: number,
): Promise<AgentEdit | undefined> {
  const [row] = await database.query<EditRow>(LIST, [host, agent, id + 1, 1]);
  return row?.id === id ? editOf(row) : undefined;
}

/** The newest first. Throws `CURSOR_INVALID`. */
export async function listEdits(
  database: Queryable,
  { host, agent }: EditPlace,
  cursor: string | undefined,
): Promise<RowPage<AgentEdit>> {
  const [before] = readCursor(cursor, /^(\d{1,15})$/) ?? [];
  const values = [host, agent, before === undefined ? null : Number(before), PAGE + 1];
  const page = pageOf(await database.query<EditRow>(LIST, values), PAGE, ({ id }) => [id]);
  return { ...page, items: page.items.map(editOf) };
}

/** What the last edit of each file has written. */
export async function lastTexts(
  database: Queryable,
  { host, agent }: EditPlace,
): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query<{ file: string; after: string }>(LAST, [host, agent]);
  return new Map(rows.map(({ file, after }) => [file, after]));
}

/** Whether another machine works on this database: it has the team's files on its own disk. */
export async function hasOtherMachines(database: Queryable, machine: string): Promise<boolean> {
  const [row] = await database.query<{ found: boolean }>(ELSEWHERE, [machine]);
  return row!.found;
}

type EditRow = RowOf<Omit<AgentEdit, "by" | "isFromOutside">, "at"> & {
  readonly by_whom: string;
  readonly outside: boolean;
};

function editOf({ at, by_whom: by, outside, ...row }: EditRow): AgentEdit {
  return { ...row, at: at.getTime(), by, isFromOutside: outside };
}

const LOCK = {
  name: "agent-edit.lock",
  text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
};
const BEGIN = {
  name: "agent-edit.begin",
  text: `
    insert into dure.agent_edits (host, agent, file, by_whom, before, after, restores)
    values ($1, $2, $3, $4, $5, $6, $7)
    returning id`,
};
const FORGET = {
  name: "agent-edit.forget",
  text: `
    delete from dure.agent_edits
    where host = $1 and agent = $2 and id <= (
      select id from dure.agent_edits
      where host = $1 and agent = $2
      order by id desc offset $3 limit 1
    )`,
};
const END = {
  name: "agent-edit.end",
  text: `
    update dure.agent_edits
    set outcome = $2
    where id = $1 and outcome is null
    returning id`,
};
const OPEN = {
  name: "agent-edit.open",
  text: `
    select *, null::text as person, false as outside
    from dure.agent_edits
    where host = $1 and outcome is null
      and at < clock_timestamp() - make_interval(secs => $2::double precision / 1000)
    order by id
    limit 100`,
};
const DONE_SINCE = {
  name: "agent-edit.done-since",
  text: `
    select id, agent from dure.agent_edits
    where host = $1 and id > $2 and outcome = 'done'
      and not exists (
        select from dure.agent_edits open
        where open.host = $1 and open.outcome is null and open.id < agent_edits.id
      )
    order by id`,
};
const NEWS_BEGIN = {
  name: "agent-edit.news-begin",
  text: `
    select coalesce(max(id), 0) as id from dure.agent_edits
    where host = $1 and at < clock_timestamp() - interval '10 minutes'`,
};
const LIST = {
  name: "agent-edit.list",
  text: `
    select e.*, t.name as person,
           coalesce(earlier.after is distinct from e.before and earlier.id is not null, false)
             as outside
    from dure.agent_edits e
    left join dure.tokens t on t.id = e.by_whom
    left join lateral (
      select p.id, p.after from dure.agent_edits p
      where p.host = e.host and p.agent = e.agent and p.file = e.file
        and p.outcome = 'done' and p.id < e.id
      order by p.id desc
      limit 1
    ) earlier on true
    where e.host = $1 and e.agent = $2 and ($3::bigint is null or e.id < $3)
    order by e.id desc
    limit $4::integer`,
};
const LAST = {
  name: "agent-edit.last",
  text: `
    select distinct on (file) file, after from dure.agent_edits
    where host = $1 and agent = $2 and outcome = 'done'
    order by file, id desc`,
};
const ELSEWHERE = {
  name: "agent-edit.elsewhere",
  text: `
    select exists (
      select from dure.processes
      where ended_at is null and machine <> $1
        and renewed_at > clock_timestamp() - interval '6 seconds'
    ) as found`,
};
