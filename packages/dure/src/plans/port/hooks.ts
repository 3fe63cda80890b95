import { createHash } from "node:crypto";
import type { Database } from "../../durable/database.ts";
import type { Notifications } from "../../durable/notify.ts";
import { DureError } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { MAX_FAILED_TESTS } from "../workers/feedback.ts";
import { reportKeys } from "../rows/channel-message.ts";
import { sendFromOutside } from "../rows/outside-message.ts";
import { hashHookToken } from "../rows/hook-token.ts";
import type { Plan } from "../plan.ts";
import { concealerOf } from "../agents/given-secrets.ts";
import type { HookFeedbackTaken } from "../../wire/hooks.ts";
import type { TestFeedback } from "../../wire/runs.ts";

interface HookParts {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish">;
  /** It has the values of what workers are given. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The running step that a token belongs to. */
interface HookedStep {
  readonly run: string;
  readonly port: string;
  readonly try: number;
  /** Tries that the port may make in all. */
  readonly tries: number;
  readonly definition: Plan;
}

/** Reports that are taken for one port. They leave room for the members' own messages. */
const MAX_REPORTS = 150;
/**
 * Characters of a report as JSON, below what a channel takes; failures behind that are counted, not
 * told.
 */
const MAX_REPORT = 200_000;

/**
 * Takes a report of tests for the step whose token this is: it is stored in the channel of the
 * pair, and the next try is told it. Any process may do this for any run. Throws
 * `HOOK_TOKEN_INVALID` when no running step has this token, `CHANNEL_FULL`.
 */
export async function takeTestReport(
  parts: HookParts,
  token: string,
  feedback: TestFeedback,
): Promise<HookFeedbackTaken & { readonly run: string }> {
  const [step] = await parts.database.query<HookedStep>(STEP_OF_TOKEN, [hashHookToken(token)]);
  if (!step) {
    throw new DureError("HOOK_TOKEN_INVALID", "No running step has this token.", {
      class: "unauthorized",
      hint: "A report counts while the worker that makes it works.",
    });
  }
  const concealer = concealerOf(step.definition, parts.env, [["DURE_HOOK_TOKEN", token]]);
  const report = shortened(concealer.concealAll(feedback));
  const text = createHash("sha256").update(canonicalJson(report)).digest("hex").slice(0, 32);
  // Results of tests come from the tester, whichever worker ran them.
  await sendFromOutside(parts, {
    run: step.run,
    port: step.port,
    from: "tester",
    to: "implementer",
    payload: report,
    key: reportKeys(step.try) + text,
    most: { keys: reportKeys(), count: MAX_REPORTS },
  });
  return { ...decideReport(report, step), run: step.run };
}

/** Pure. The acceptance command decides; a report never ends a port. */
export function decideReport(
  { success, metrics }: Pick<TestFeedback, "success" | "metrics">,
  step: Pick<HookedStep, "try" | "tries" | "port">,
): HookFeedbackTaken {
  if (success) {
    return {
      decision: "accept",
      notifications: [
        `${metrics.passed} passed in try ${step.try} of ${step.port}; the acceptance command decides.`,
      ],
    };
  }
  const number = `try ${step.try} of ${step.tries} of ${step.port}`;
  const told = `${metrics.failed} of ${metrics.total} failed in ${number}`;
  if (step.try < step.tries) {
    return {
      decision: "retry",
      notifications: [`${told}; the implementer is told in the next try.`],
    };
  }
  return {
    decision: "escalate",
    notifications: [
      `${told}, which is the last one; if the acceptance fails too, a person decides.`,
    ],
  };
}

/**
 * Pure. What the next try is told: a run of the acceptance that failed, and what the tester and its
 * tools have found beside it. What they know more about a failing test (expected, actual, a
 * suggested fix) is added to it. A passed acceptance stays as it is.
 */
export function withFindings(
  accepted: TestFeedback,
  findings: readonly TestFeedback[],
): TestFeedback {
  if (accepted.success || findings.length === 0) return accepted;
  const tests = new Map<string, HookFailedTest>();
  for (const { failedTests } of [accepted, ...findings]) {
    for (const test of failedTests) tests.set(test.name, knownOf(tests.get(test.name), test));
  }
  const suggestions = [accepted, ...findings].flatMap((found) => found.suggestions);
  const coverage = [accepted, ...findings].findLast(({ metrics }) => metrics.coverage !== undefined)
    ?.metrics.coverage;
  return {
    ...accepted,
    failedTests: [...tests.values()].slice(0, MAX_FAILED_TESTS),
    suggestions: [...new Set(suggestions)].slice(0, MAX_FAILED_TESTS),
    metrics: coverage === undefined ? accepted.metrics : { ...accepted.metrics, coverage },
  };
}

type HookFailedTest = TestFeedback["failedTests"][number];

/** What is known first stays; what is missing is added. */
function knownOf(first: HookFailedTest | undefined, more: HookFailedTest): HookFailedTest {
  if (!first) return more;
  return {
    name: first.name,
    expected: first.expected ?? more.expected,
    actual: first.actual ?? more.actual,
    stackTrace: first.stackTrace ?? more.stackTrace,
    suggestedFix: first.suggestedFix ?? more.suggestedFix,
    file: first.file ?? more.file,
    line: first.line ?? more.line,
  };
}

function shortened(feedback: TestFeedback): TestFeedback {
  const failedTests = [...feedback.failedTests];
  const suggestions = [...feedback.suggestions];
  while (JSON.stringify({ failedTests, suggestions }).length > MAX_REPORT) {
    (failedTests.length > 1 ? failedTests : suggestions).pop();
  }
  return { ...feedback, failedTests, suggestions };
}

const STEP_OF_TOKEN = {
  name: "plan.step_of_token",
  text: `select s.run, s.port, s.try, p.tries_pair + p.tries_orchestrator as tries,
      r.definition
    from dure.plan_steps s
    join dure.plan_runs r on r.id = s.run
    join dure.plan_ports p on p.run = s.run and p.id = s.port
    where s.hook_hash = $1 and s.status = 'running' and r.finished_at is null`,
};
