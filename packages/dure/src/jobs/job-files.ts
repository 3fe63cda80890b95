import type { Files } from "../durable/files/files.ts";
import type { GivenFile } from "../engine/agent/file-result.ts";
import { MAX_MESSAGE_FILES, type FileRef } from "../kernel/files.ts";
import { filesKeyOfJob } from "./job.ts";
import type { JobStatements } from "./job-statements.ts";

/** Files that exchanges carry: kept with their job, whatever becomes of the sessions that had them. */
export class JobFiles {
  readonly #statements: JobStatements;
  readonly #files: Pick<Files, "read"> | undefined;

  /** `files` absent: an exchange carries none. */
  constructor(statements: JobStatements, files: Pick<Files, "read"> | undefined) {
    this.#statements = statements;
    this.#files = files;
  }

  /** Those that came with a turn, 0 for the request, as files of a session. Again they are the same. */
  async carry(
    { job, turn }: { readonly job: string; readonly turn: number },
    session: string,
  ): Promise<readonly FileRef[]> {
    return this.#statements.retrying("job.carry-files", CARRY, [
      job,
      turn,
      session,
      filesKeyOfJob(job),
    ]);
  }

  /** The newest that the asked agent has made, as files of a session. Again they are the same. */
  async carryMade(job: string, session: string): Promise<readonly FileRef[]> {
    return this.#statements.retrying("job.carry-made-files", CARRY_MADE, [
      job,
      MAX_MESSAGE_FILES,
      session,
      filesKeyOfJob(job),
    ]);
  }

  /** With their bytes; one that is gone is left out. Throws `FILE_STORE_FAILED`. */
  async read(
    job: string,
    files: readonly Pick<FileRef, "id" | "name">[],
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<readonly GivenFile[]> {
    const session = filesKeyOfJob(job);
    const found: GivenFile[] = [];
    for (const { id, name } of files) {
      const bytes = await this.#files?.read(id, { session, signal });
      if (bytes) found.push({ name, bytes });
    }
    return found;
  }
}

const CARRY = `
  select dure.carry_files(
    (
      select coalesce(jsonb_agg(f), '[]')
      from dure.jobs j
      cross join jsonb_array_elements(j.files) f
      where j.id = $1 and (f->>'turn')::integer = $2
    ),
    $4, $3, null
  ) as value`;

const CARRY_MADE = `
  select dure.carry_files(
    (
      select coalesce(jsonb_agg(m.f order by m.n), '[]')
      from (
        select e.f, e.n
        from dure.jobs j
        cross join jsonb_array_elements(j.files) with ordinality as e(f, n)
        where j.id = $1 and (e.f->>'turn')::integer % 2 = 1
        order by e.n desc
        limit $2
      ) m
    ),
    $4, $3, null
  ) as value`;
