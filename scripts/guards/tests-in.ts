/** Names of tests of one file, as guards name them. */
export function testsIn(file: string): (...names: readonly string[]) => readonly string[] {
  return (...names) => names.map((name) => `${file} > ${name}`);
}

const ENGINE = "packages/dure/src/engine";
const DURABLE = "packages/dure/src/durable";

export const turnGuards = testsIn(`${DURABLE}/turn-guards.test.ts`);
export const turns = testsIn(`${ENGINE}/turn/turns.test.ts`);
export const effects = testsIn(`${ENGINE}/effects/effects.test.ts`);
export const inbox = testsIn("packages/dure/src/escalations/inbox.test.ts");
export const outbox = testsIn(`${DURABLE}/outbox.test.ts`);
export const takeover = testsIn(`${DURABLE}/takeover.test.ts`);
export const releases = testsIn(`${DURABLE}/release.test.ts`);
export const leases = testsIn(`${DURABLE}/leases.test.ts`);
export const eventLog = testsIn(`${DURABLE}/event-log.test.ts`);
export const retention = testsIn(`${DURABLE}/retention.test.ts`);
export const budgets = testsIn(`${DURABLE}/budgets.test.ts`);
export const budgetsOfEngine = testsIn(`${ENGINE}/money/budgets.test.ts`);
export const lostAnswers = testsIn("packages/dure/test/conversation/lost-answers.test.ts");
export const onceRunner = testsIn(`${ENGINE}/effects/once-runner.test.ts`);
export const paused = testsIn(`${ENGINE}/paused.test.ts`);
export const poller = testsIn(`${DURABLE}/poller.test.ts`);
export const retried = testsIn(`${DURABLE}/retry-until-answered.test.ts`);
export const jobs = testsIn("packages/dure/src/jobs/jobs.test.ts");
export const recovery = testsIn("packages/dure/src/jobs/recovery.test.ts");
export const jobTable = testsIn("packages/dure/src/jobs/job.test.ts");
export const access = testsIn("packages/dure/src/server/access.test.ts");
export const leader = testsIn("packages/dure/src/plans/lead/leader.test.ts");
