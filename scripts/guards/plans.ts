import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const PLANS = "packages/dure/src/plans";
const workerRun = testsIn(`${PLANS}/workers/worker-run.test.ts`);
const scope = testsIn(`${PLANS}/scope.test.ts`);

const planFile = testsIn(`${PLANS}/plan-file.test.ts`);
const routes = testsIn("packages/dure/test/plans/routes.test.ts");

const TOGETHER = "workers that share their tokens stop together, and none begins with nothing left";

/** What workers of plans may use, write and see. */
export const PLAN_GUARDS: readonly Guard[] = [
  {
    id: "plan.tokens.together",
    at: { file: `${PLANS}/workers/worker-run.ts` },
    find: "shared?.onUsedUp((of) => report.stop(nothingLeft(of)))",
    replace: "shared?.onUsedUp(() => {})",
    tests: workerRun(TOGETHER),
    why: "each of many ports side by side uses up all tokens of their run",
  },
  {
    id: "plan.tokens.begin",
    at: { file: `${PLANS}/workers/worker-run.ts` },
    find: "shared !== undefined && shared.left <= 0 ? refused() : begun(report, work)",
    replace: "begun(report, work)",
    tests: workerRun(TOGETHER),
    why: "an agent is begun, and calls its model, although nothing is left",
  },
  {
    id: "plan.calls.counted",
    at: { file: `${PLANS}/workers/worker-run.ts` },
    find: "shared?.add(tokens.input + tokens.output, 1)",
    replace: "shared?.add(tokens.input + tokens.output, 0)",
    tests: workerRun("workers that share their calls stop together; a start counts as one"),
    why: "a loop of small calls goes on for as long as its tokens last",
  },
  {
    id: "plan.scope.tools",
    at: { file: `${PLANS}/scope.ts` },
    find: "if (isTakenOut(scope.tools) && refuses(scope.writes, folded)) {",
    replace: "if (isTakenOut(undefined)) {",
    tests: scope("what a person's tools run is no port's that only owns all"),
    why: "a worker that owns all plants a hook that runs for the person after the merge",
  },
  {
    id: "plan.reads-home.secret",
    at: { file: `${PLANS}/check-workers.ts` },
    find: "if (!isHomeSecret(place)) return [];",
    replace: 'if (place !== "") return [];',
    tests: planFile("names what a worker may not get: reads_home: [.ssh/config]"),
    why: "a plan lends keys without the scope for it",
  },
  {
    id: "plan.reads-home.reach",
    at: { file: `${PLANS}/plan-reach.ts` },
    find: "reads_home: readsHome,",
    replace: "",
    tests: routes("what a text asks for beyond its own tree only an admin may run"),
    why: "who may only run plans reads the home folder of the server's user",
  },
];
