import type { Database } from "../../durable/database.ts";

/** A person agrees that a commit leaves its run. */
export interface Approval {
  /** By which a person is known in all tokens of theirs. */
  readonly person: string;
  /** The token. */
  readonly by: string;
  /** The token was made for a person, and is not one that several share. */
  readonly isNamed: boolean;
  readonly createdAt: number;
}

interface ApprovalRow {
  readonly person: string;
  readonly by_whom: string;
  readonly is_named: boolean;
  readonly created_at: Date;
}

/** Given twice, the first one stays. */
export async function addApproval(
  database: Database,
  { run, result }: { readonly run: string; readonly result: string },
  { person, by }: Pick<Approval, "person" | "by">,
): Promise<void> {
  await database.query(ADD, [run, result, person, by]);
}

/** Of this very commit, oldest first. */
export async function approvalsOf(
  database: Database,
  run: string,
  result: string,
): Promise<readonly Approval[]> {
  const rows = await database.query<ApprovalRow>(LIST, [run, result]);
  return rows.map((row) => ({
    person: row.person,
    by: row.by_whom,
    isNamed: row.is_named,
    createdAt: row.created_at.getTime(),
  }));
}

/** The person that a token was made for; null: it is no token of one person. */
export async function personOfActor(database: Database, actor: string): Promise<string | null> {
  const [row] = await database.query<{ name: string }>(PERSON, [actor]);
  return row === undefined || row.name === "" ? null : row.name;
}

const ADD = {
  name: "approval.add",
  text: `insert into dure.plan_approvals (run, result, person, by_whom)
    values ($1, $2, $3, $4)
    on conflict do nothing`,
};
const LIST = {
  name: "approval.list",
  text: `select person, by_whom, plan_approvals.created_at, coalesce(name <> '', false) as is_named
    from dure.plan_approvals
    left join dure.tokens on tokens.id = by_whom
    where run = $1 and result = $2
    order by plan_approvals.created_at, person`,
};
const PERSON = {
  name: "approval.person",
  text: `select name
    from dure.tokens
    where id = $1`,
};
