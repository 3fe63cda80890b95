import { stripVTControlCharacters } from "node:util";
import type { RowOf } from "../../durable/rows.ts";
import type { Database } from "../../durable/database.ts";
import { shownTry, type Member } from "../../kernel/plans.ts";
import type { TranscriptLine } from "../../wire/runs.ts";
import type { TranscriptEntry } from "../workers/worker.ts";
import type { Write } from "./records.ts";

/** Which lines of a port's transcript are read. */
export interface TranscriptFilter {
  readonly member?: Member | undefined;
  readonly step?: number | undefined;
  /** Words that a line holds; case does not matter. */
  readonly search?: string | undefined;
  /** Lines behind this one. */
  readonly after?: number | undefined;
  /** The newest lines that stand before this one. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export function transcriptAppended(
  step: number,
  entries: readonly TranscriptEntry[],
): readonly Write[] {
  if (entries.length === 0) return [];
  const values = [
    step,
    entries.map(({ kind }) => kind),
    entries.map(({ title = "" }) => plain(title)),
    entries.map(({ text }) => plain(text)),
    entries.map(({ status }) => status ?? null),
  ];
  return [{ part: APPEND, values }];
}

/** Oldest first, also of the newest `limit` lines before one. */
export async function readTranscript(
  database: Database,
  run: string,
  port: string,
  { member, step, search, after = 0, before, limit }: TranscriptFilter,
): Promise<readonly TranscriptLine[]> {
  const given = [run, port, member ?? null, step ?? null, search ?? null, after, limit];
  const rows =
    before === undefined
      ? await database.query<TranscriptRow>(READ, given)
      : (await database.query<TranscriptRow>(READ_BEFORE, [...given, before])).toReversed();
  return rows.map(({ at, status, ...row }) => ({
    ...row,
    try: shownTry(row.try),
    at: at.getTime(),
    status: status ?? undefined,
  }));
}

type TranscriptRow = RowOf<Omit<TranscriptLine, "status">, "at"> & {
  readonly status: string | null;
};

/**
 * Without what a terminal obeys, such as colours. PostgreSQL stores no NUL and no half of a character.
 */
function plain(text: string): string {
  return stripVTControlCharacters(text).toWellFormed().replaceAll("\0", "");
}

const APPEND = {
  name: "notes",
  text: `insert into dure.plan_transcripts (step, kind, title, content, status)
    select $1::bigint, line.kind, line.title, line.content, line.status
    from held
    cross join unnest($2::text[], $3::text[], $4::text[], $5::text[])
      with ordinality as line (kind, title, content, status, position)
    order by line.position`,
};
/** Of one port; what is beside it stands in both readings. */
const LINES = `select t.id, t.step, s.try, s.member, t.kind, t.title, t.content as text, t.status, t.at
    from dure.plan_transcripts t
    join dure.plan_steps s on s.id = t.step
    where s.run = $1 and s.port = $2
      and ($3::text is null or s.member = $3)
      and ($4::bigint is null or t.step = $4)
      and (
        $5::text is null
        or strpos(lower(t.content), lower($5)) > 0 or strpos(lower(t.title), lower($5)) > 0
      )
      and t.id > $6`;
const READ = {
  name: "transcript.read",
  text: `${LINES}
    order by t.id
    limit $7`,
};
const READ_BEFORE = {
  name: "transcript.read-before",
  text: `${LINES}
      and t.id < $8
    order by t.id desc
    limit $7`,
};
