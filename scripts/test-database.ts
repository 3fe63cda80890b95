/** After the last test of a run: the shared PostgreSQL is stopped, unless another run uses it. */

import { stopTestServer } from "../packages/dure/src/durable/test-database.ts";

export async function teardown(): Promise<void> {
  await stopTestServer();
}
