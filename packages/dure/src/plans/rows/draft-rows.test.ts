import { expect, test } from "vitest";
import { testDatabase } from "../../durable/test-database.ts";
import { DraftRows } from "./draft-rows.ts";

test("drafts make room for those of their own tenant alone, the oldest first", async () => {
  await using stored = await testDatabase();
  const { database } = stored;
  const rows = new DraftRows(database);
  const fill = (tenant: string, count: number): Promise<unknown> =>
    database.query(
      {
        name: "test.drafts",
        text: `insert into dure.plan_drafts (id, tenant, goal, text, questions, open, by_whom, updated_at)
          select 'draft_' || $1 || '_' || n, $1, 'x', 'x', '[]', '[]', 'x',
            clock_timestamp() - make_interval(days => 10, mins => n)
          from generate_series(1, $2) n`,
      },
      [tenant, count],
    );
  await fill("acme", 200);
  await fill("beta", 3);
  const made = { goal: "x", repository: null, text: "x", questions: [], open: [], updatedBy: "x" };

  await rows.add({ id: "draft_new", ...made }, "acme");

  const ids = (await rows.list("acme")).map(({ id }) => id);
  expect([ids.length, ids[0], ids.includes("draft_acme_200")]).toEqual([200, "draft_new", false]);
  expect(await rows.list("beta")).toHaveLength(3);
});
