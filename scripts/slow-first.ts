import { existsSync } from "node:fs";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files of tests that take long: three of the full tier, then those of `npm test`, longest first as
 * measured in one run, then others of the full tier. The order alone counts.
 */
const SLOW = [
  "packages/dure/test/plans/crash.test.ts",
  "packages/dure/test/jobs/crash.test.ts",
  "packages/dashboard/test/rooms.test.ts",
  "packages/dure/src/jobs/jobs.test.ts",
  "packages/dure/src/plans/sandbox/sandbox.test.ts",
  "packages/dashboard/test/plans.test.ts",
  "packages/dashboard/test/chat.test.ts",
  "packages/dure/test/rooms/talk.test.ts",
  "packages/dure/test/plans/runs.test.ts",
  "packages/dashboard/test/outage.test.ts",
  "packages/dure/src/durable/takeover.test.ts",
  "packages/dure/test/rooms/gone.test.ts",
  "packages/dure/test/rooms/input.test.ts",
  "packages/dure/test/crash/database-cuts.test.ts",
  "packages/dure/test/plans/escape.test.ts",
  "packages/dure/test/conversation/yes.test.ts",
  "packages/dure/test/retail/retail.test.ts",
  "packages/dure/src/engine/turn/turns.test.ts",
  "examples/transfer/service.test.ts",
  "packages/dure/test/tenants/routes.test.ts",
  "packages/dure/test/contract/openapi.test.ts",
  "packages/dure/src/plans/workers/acp.test.ts",
  "packages/dure/src/jobs/recovery.test.ts",
  "packages/dure/src/channels/discord/discord-adapter.test.ts",
  "packages/dashboard/test/languages.test.ts",
  "packages/dure/src/plans/lead/leader.test.ts",
  "packages/dure/test/crash/crash.test.ts",
  "packages/dure/src/engine/service/services.test.ts",
  "packages/dure/test/rooms/brake-crash.test.ts",
  "packages/dure/src/plans/workers/in-sandbox.test.ts",
  "packages/dashboard/test/real.test.ts",
  "packages/dure/test/rooms/handover.test.ts",
  "packages/dure/test/crash/frozen.test.ts",
  "packages/dure/test/rooms/brake.test.ts",
  "packages/dure/test/rooms/routes.test.ts",
  "packages/dure/src/durable/embedded/embedded-postgres.test.ts",
  "packages/dure/test/rooms/slow-loops.test.ts",
  "packages/dashboard/test/events.test.ts",
  "packages/dure/src/cli/cli.test.ts",
  "packages/dure/test/rooms/delivery.test.ts",
  "packages/dure/src/cli/running.test.ts",
  "packages/dure/test/conversation/rude-people.test.ts",
  "packages/dure/test/rooms/two-processes.test.ts",
  "packages/dure/test/crash/network.test.ts",
  "packages/dure/test/plans/cli.test.ts",
  "packages/dure/test/rooms/crash-discord.test.ts",
  "packages/dure/test/escalations/crash.test.ts",
  "packages/dure/test/plans/routes.test.ts",
  "packages/dashboard/test/jobs.test.ts",
  "packages/dure/test/rooms/crash.test.ts",
  "packages/dure/test/conversation/interleavings.test.ts",
  "packages/dashboard/test/escalations.test.ts",
  "packages/dure/test/crash/crash-transfer.test.ts",
];

/**
 * Begins with what takes longest, so that no worker is left alone with it at the end; the rest as
 * vitest orders it.
 */
export class SlowFirst extends BaseSequencer {
  constructor(...parts: ConstructorParameters<typeof BaseSequencer>) {
    super(...parts);
    const gone = SLOW.filter((file) => !existsSync(file));
    if (gone.length > 0) {
      throw new Error(`scripts/slow-first.ts names files that are not there: ${gone.join(", ")}`);
    }
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = new Map(SLOW.map((file, index) => [file, index]));
    const rankOf = ({ moduleId }: TestSpecification): number =>
      rank.get(relative(process.cwd(), moduleId)) ?? SLOW.length;
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
