import type { RowOf } from "../../durable/rows.ts";
import type { Database } from "../../durable/database.ts";
import { storable } from "../../durable/storable.ts";
import type { TenantView } from "../../kernel/tenant.ts";

/** A question of a draft; without an answer it stays as the draft assumed it. */
export interface DraftQuestion {
  readonly question: string;
  readonly answer: string | null;
}

/** A plan that is made ready. */
export interface StoredDraft {
  readonly id: string;
  readonly goal: string;
  /** As it was asked for; null: the team's. */
  readonly repository: string | null;
  readonly text: string;
  readonly questions: readonly DraftQuestion[];
  readonly open: readonly string[];
  readonly version: number;
  readonly updatedBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a change brings; what is absent stays. */
export interface DraftNews {
  readonly text?: string | undefined;
  readonly questions?: StoredDraft["questions"] | undefined;
  readonly open?: StoredDraft["open"] | undefined;
}

type DraftRow = RowOf<Omit<StoredDraft, "updatedBy">, "createdAt" | "updatedAt"> & {
  readonly by_whom: string;
};

/** Drafts of a tenant; older ones make room. */
const MOST = 200;

/** Drafts of plans in the database: each change names the version that it was made upon. */
export class DraftRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(
    {
      id,
      goal,
      repository,
      text,
      questions,
      open,
      updatedBy,
    }: Omit<StoredDraft, "version" | "createdAt" | "updatedAt">,
    tenant: string,
  ): Promise<void> {
    const notes = [storable(questions), storable(open)];
    const words = [plain(goal), repository, plain(text)];
    await this.#database.query(ADD, [id, tenant, ...words, ...notes, updatedBy, MOST - 1]);
  }

  /** The newest first. */
  async list(tenant: TenantView): Promise<readonly StoredDraft[]> {
    const rows = await this.#database.query<DraftRow>(LIST, [tenant, MOST]);
    return rows.map(draftOf);
  }

  async get(id: string, tenant: TenantView): Promise<StoredDraft | undefined> {
    const [row] = await this.#database.query<DraftRow>(GET, [id, tenant]);
    return row && draftOf(row);
  }

  /** Undefined: it has another version by now, or is gone. */
  async change(
    { id, version }: Pick<StoredDraft, "id" | "version">,
    { text, questions, open }: DraftNews,
    by: string,
  ): Promise<StoredDraft | undefined> {
    const [row] = await this.#database.query<DraftRow>(CHANGE, [
      id,
      version,
      text === undefined ? null : plain(text),
      questions === undefined ? null : storable(questions),
      open === undefined ? null : storable(open),
      by,
    ]);

    return row && draftOf(row);
  }

  /** False: it has another version by now, or is gone. */
  async drop({ id, version }: Pick<StoredDraft, "id" | "version">): Promise<boolean> {
    return (await this.#database.query(DROP, [id, version])).length > 0;
  }
}

function draftOf(row: DraftRow): StoredDraft {
  const { id, goal, repository, text, questions, open, version } = row;
  return {
    id,
    goal,
    repository,
    text,
    questions,
    open,
    version,
    updatedBy: row.by_whom,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
  };
}

/** PostgreSQL stores no NUL and no half of a character. */
function plain(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}

const ADD = {
  name: "draft.add",
  text: `with old as (
      delete from dure.plan_drafts
      where id in (
        select id
        from dure.plan_drafts
        where tenant = $2
        order by updated_at desc
        offset $9
      )
    )
    insert into dure.plan_drafts (id, tenant, goal, repository, text, questions, open, by_whom)
    values ($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb, $8)`,
};
const LIST = {
  name: "draft.list",
  text: `select *
    from dure.plan_drafts
    where ($1::text is null or tenant = $1)
    order by updated_at desc
    limit $2`,
};
const GET = {
  name: "draft.get",
  text: `select *
    from dure.plan_drafts
    where id = $1 and ($2::text is null or tenant = $2)`,
};
const CHANGE = {
  name: "draft.change",
  text: `update dure.plan_drafts set
      text = coalesce($3, text),
      questions = coalesce($4::jsonb, questions),
      open = coalesce($5::jsonb, open),
      by_whom = $6,
      version = version + 1,
      updated_at = clock_timestamp()
    where id = $1 and version = $2
    returning *`,
};
const DROP = {
  name: "draft.drop",
  text: `delete from dure.plan_drafts
    where id = $1 and version = $2
    returning id`,
};
