import type { Database } from "../../durable/database.ts";
import { storable } from "../../durable/storable.ts";
import type { RunReport } from "../../wire/runs.ts";

/** Writes what was sent of a run's result into its report. */
export async function notePublished(
  database: Database,
  run: string,
  published: NonNullable<RunReport["published"]>,
): Promise<void> {
  await database.query(PUBLISHED, [run, storable(published)]);
}

const PUBLISHED = {
  name: "plan.published",
  text: `update dure.plan_runs set
      report = jsonb_set(report, '{published}', $2::jsonb), updated_at = clock_timestamp()
    where id = $1 and report is not null`,
};
