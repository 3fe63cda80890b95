import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const PLANS = "packages/dure/src/plans";
const workerRun = testsIn(`${PLANS}/workers/worker-run.test.ts`);
const scope = testsIn(`${PLANS}/scope.test.ts`);

const treeLease = testsIn(`${PLANS}/workspace/tree-lease.test.ts`);

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
    id: "plan.tree-lease.epoch",
    at: { file: `${PLANS}/workspace/tree-lease.ts` },
    find: "one.run === other.run && one.epoch === other.epoch",
    replace: "one.run === other.run",
    tests: treeLease(
      "a process that held a tree under an earlier epoch takes it anew under the later one",
    ),
    why: "a process of an older epoch takes the tree of a living one",
  },
  {
    id: "plan.tree-lease.older",
    at: { file: `${PLANS}/workspace/tree-lease.ts` },
    find: "if (holder && holder.epoch >= lease.epoch) {",
    replace: "if (holder && holder.epoch > lease.epoch + 1_000) {",
    tests: treeLease("one process holds a tree, and one with a higher epoch takes it"),
    why: "two processes write in one tree",
  },
  {
    id: "plan.pair-talk.bound",
    at: { file: `${PLANS}/port/pair-talk.ts` },
    find: "if (number > MAX_QUERIES) {",
    replace: "if (number > 1_000 * MAX_QUERIES) {",
    tests: testsIn(`${PLANS}/port/pair-talk.test.ts`)(
      "a member gets an answer to five questions of one step, and is told so at the sixth",
    ),
    why: "two members of a pair ask each other for as long as the step lasts",
  },
];
