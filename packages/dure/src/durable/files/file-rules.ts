import type { Transaction } from "../database.ts";
import type { SweepRule } from "../retention.ts";
import type { Files } from "./files.ts";

/**
 * What of files goes by itself: those that no message came to carry, and bytes outside of the
 * database that no file has: of forgotten sessions at once, and what a crash left while it was being
 * written.
 */
export function fileRules(files: Files): readonly SweepRule[] {
  return [
    { name: "files", keep: "24h", sweep: sweepUnused },
    {
      name: "file-bytes",
      keep: "1h",
      bite: OUTSIDE_AT_ONCE,
      sweep: (tx, options) => sweepBytes(tx, files, options),
    },
  ];
}

/** Objects per transaction, which ends within 5 s. */
const OUTSIDE_AT_ONCE = 20;
const DELETE_MS = 3_000;

async function sweepUnused(
  tx: Transaction,
  { keepMs, limit }: { keepMs: number; limit: number },
): Promise<number> {
  const gone = await tx.query(
    {
      name: "retention.files",
      text: `
        delete from dure.files
        where id in (
          select id
          from dure.files
          where turn_id is null
            and touched_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
          order by touched_at
          limit $2
          for update skip locked
        )
        returning 1`,
    },
    [keepMs, limit],
  );
  return gone.length;
}

/** The rows are locked while the bytes go: the same bytes that come again get a row of their own. */
async function sweepBytes(
  tx: Transaction,
  files: Files,
  { keepMs, limit }: { keepMs: number; limit: number },
): Promise<number> {
  const rows = await tx.query<{ store_key: string }>(
    {
      name: "retention.file_bytes",
      text: `
        select b.store_key
        from dure.file_bytes b
        where b.data is null
          and b.touched_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
          and not exists (
            select
            from dure.files f
            where f.tenant = b.tenant and f.sha256 = b.sha256
          )
        order by b.touched_at
        limit $2
        for update of b skip locked`,
    },
    [keepMs, limit],
  );
  if (rows.length === 0) return 0;
  const keys = rows.map(({ store_key }) => store_key);
  await files.deleteOutside(keys, { ms: DELETE_MS });
  await tx.query(
    {
      name: "retention.file_bytes_gone",
      text: "delete from dure.file_bytes where store_key = any($1)",
    },
    [keys],
  );
  return rows.length;
}
