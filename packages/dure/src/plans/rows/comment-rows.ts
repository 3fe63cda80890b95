import type { RowOf } from "../../durable/rows.ts";
import type { Database, Transaction } from "../../durable/database.ts";
import { storable } from "../../durable/storable.ts";
import type { TestFeedback, PortComment } from "../../wire/runs.ts";

export type NewComment = Pick<PortComment, "path" | "line" | "side" | "quote" | "text" | "by">;

/** A review that is carried out: a step of the last try, whose output the next try is told. */
export interface CarriedReview {
  readonly port: string;
  readonly feedback: TestFeedback;
  readonly comments: readonly number[];
}

type CommentRow = RowOf<Omit<PortComment, "by">, "createdAt"> & { readonly by_whom: string };

/** The newest 500, oldest first. */
export async function commentsOf(
  database: Database | Transaction,
  run: string,
  port: string,
): Promise<readonly PortComment[]> {
  const rows = await database.query<CommentRow>(COMMENTS, [run, port]);
  return rows.toReversed().map((row) => ({
    id: row.id,
    path: row.path,
    line: row.line,
    side: row.side,
    quote: row.quote,
    text: row.text,
    by: row.by_whom,
    createdAt: row.created_at.getTime(),
    sentTry: row.sent_try,
  }));
}

/** Undefined: so many are open already. */
export async function addComment(
  database: Database,
  { run, port, most }: { readonly run: string; readonly port: string; readonly most: number },
  { path, line, side, quote, text, by }: NewComment,
): Promise<number | undefined> {
  const given = [run, port, plain(path), line, side, plain(quote), plain(text), by, most];
  const [row] = await database.query<{ id: number }>(ADD, given);

  return row?.id;
}

/** False: there is none, or it was sent. */
export async function dropComment(
  database: Database,
  run: string,
  port: string,
  id: number,
): Promise<boolean> {
  return (await database.query(DROP, [run, port, id])).length > 0;
}

/** Said twice about one try, both are told. */
export async function carryReview(
  tx: Transaction,
  run: string,
  { port, feedback, comments }: CarriedReview,
): Promise<void> {
  await tx.query(REVIEW, [run, port, storable(feedback), [...comments]]);
}

/** PostgreSQL stores no NUL and no half of a character. */
function plain(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}

const COMMENTS = {
  name: "comment.list",
  text: `select id, path, line, side, quote, text, by_whom, created_at, sent_try
    from dure.plan_comments
    where run = $1 and port = $2
    order by id desc
    limit 500`,
};
const ADD = {
  name: "comment.add",
  text: `insert into dure.plan_comments (run, port, path, line, side, quote, text, by_whom)
    select $1, $2, $3, $4, $5, $6, $7, $8
    where (
      select count(*)
      from dure.plan_comments
      where run = $1 and port = $2 and sent_try is null
    ) < $9
    returning id`,
};
const DROP = {
  name: "comment.drop",
  text: `delete from dure.plan_comments
    where run = $1 and port = $2 and id = $3 and sent_try is null
    returning id`,
};
const REVIEW = {
  name: "comment.review",
  text: `with step as (
      insert into dure.plan_steps as s (run, port, try, kind, status, progress, output, finished_at)
      select $1, $2, coalesce(max(o.try), 0), 'review', 'done', 1, $3::jsonb, clock_timestamp()
      from dure.plan_steps o
      where o.run = $1 and o.port = $2 and o.kind = 'implement'
      on conflict (run, port, try, kind) do update set
        output = jsonb_set(
          s.output,
          '{suggestions}',
          (s.output->'suggestions') || (excluded.output->'suggestions')
        ),
        finished_at = excluded.finished_at
      returning try
    )
    update dure.plan_comments c set sent_try = step.try
    from step
    where c.run = $1 and c.port = $2 and c.id = any($4)`,
};
