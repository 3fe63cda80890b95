import type { Database } from "../../durable/database.ts";
import { storable } from "../../durable/storable.ts";
import type { RunReport } from "../../wire/runs.ts";

/** What became of a result after its run. */
export type DeliveryNote = Pick<RunReport, "published" | "merged" | "undone">;

/** Writes into the report of a run what became of its result. A merge counts anew. */
export async function noteDelivery(
  database: Database,
  run: string,
  delivery: DeliveryNote,
): Promise<void> {
  await database.query(DELIVERED, [run, storable(delivery)]);
}

const DELIVERED = {
  name: "plan.delivered",
  text: `update dure.plan_runs set
      report = case when $2::jsonb ? 'merged' then report - 'undone' else report end || $2::jsonb,
      updated_at = clock_timestamp()
    where id = $1 and report is not null`,
};
