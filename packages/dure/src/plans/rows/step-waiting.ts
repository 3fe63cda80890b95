import type { Transaction } from "../../durable/database.ts";
import { storable } from "../../durable/storable.ts";
import type { StepWaiting } from "../../wire/runs.ts";

/** Writes what a step waits for; null: it goes on. */
export async function writeWaiting(
  tx: Transaction,
  step: number,
  waiting: StepWaiting | null,
): Promise<void> {
  await tx.query(WRITE, [step, storable(waiting)]);
}

const WRITE = {
  name: "plan.step_waiting",
  text: `update dure.plan_steps set
      waiting = nullif($2::jsonb, 'null'), seen_at = clock_timestamp()
    where id = $1 and status = 'running'`,
};
