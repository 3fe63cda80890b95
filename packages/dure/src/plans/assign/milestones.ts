import type { TranscriptEntry } from "../workers/worker.ts";

/** What a worker has come to in a step, in the order in which work goes. */
export const MILESTONES = ["begun", "looked", "wrote", "tested", "passed"] as const;
export type Milestone = (typeof MILESTONES)[number];

/** How much of a step is done at each: half of the work lies before the first test. */
const SHARES: Readonly<Record<Milestone, number>> = {
  begun: 0.05,
  looked: 0.15,
  wrote: 0.4,
  tested: 0.7,
  passed: 0.9,
};
/** What the last of them may come to by its time alone. */
const MOST = 0.97;

/** Tools of agents that change files, as they are called. */
const WRITES =
  /^(?:write|edit|multi ?edit|notebook ?edit|create|update|replace|delete|move|rename|apply|patch|str_replace|insert|file change)\b|^(?:write|apply)_/i;
/** Commands by which tests are run. */
const TESTS =
  /\b(?:(?:npm|pnpm|yarn|bun) (?:run )?(?:-\w+ )*(?:t|test|tests|check)\b|(?:npx |bunx )?(?:vitest|jest|mocha|playwright test|ava)\b|node (?:\S+ )*--test\b|(?:python3? -m )?(?:pytest|unittest)\b|cargo (?:nextest|test)\b|go test\b|(?:gradle|gradlew|mvn|mvnw)\b.{0,40}\b(?:test|check|verify)\b|make (?:test|check)\b|ctest\b|phpunit\b|rspec\b|dotnet test\b|deno test\b)/;

/** What is known of a worker's step while it goes on. */
export interface StepPace {
  readonly milestone: Milestone;
  /** A tool is at work that runs tests. */
  readonly isTesting: boolean;
  /** The tool that is at work; undefined: none is. */
  readonly tool: string | undefined;
}

export const BEGUN: StepPace = { milestone: "begun", isTesting: false, tool: undefined };

/**
 * What a worker has come to after this entry of its transcript. `tests`: the command by which its
 * port is accepted. Pure.
 */
export function paceAfter(pace: StepPace, entry: TranscriptEntry, tests: string): StepPace {
  const { kind, title = "", text, status } = entry;
  switch (kind) {
    case "diff":
      return { ...pace, milestone: later(pace.milestone, "wrote") };
    case "tool": {
      const isTesting = runsTests(`${title}\n${text}`, tests);
      const tool = title.slice(0, 200);
      const reached = isTesting ? "tested" : WRITES.test(title) ? "wrote" : "looked";

      return { milestone: later(pace.milestone, reached), isTesting, tool };
    }
    case "result": {
      if (status !== "completed" && status !== "failed") return pace;
      const hasPassed = pace.isTesting && status === "completed";
      const milestone = hasPassed ? later(pace.milestone, "passed") : pace.milestone;

      return { milestone, isTesting: false, tool: undefined };
    }
    default:
      return pace;
  }
}

function runsTests(words: string, tests: string): boolean {
  const command = tests.trim();
  return TESTS.test(words) || (command.length > 4 && words.includes(command));
}

function later(one: Milestone, other: Milestone): Milestone {
  return MILESTONES.indexOf(one) >= MILESTONES.indexOf(other) ? one : other;
}

/**
 * The share of a step that is done, 0 to 1, of a worker that does not say it: its last milestone,
 * and on the way to the next one by how long such steps take. Pure.
 *
 * @param typicalMs half of such steps took no longer; undefined: there were none.
 */
export function shareDone(
  milestone: Milestone,
  { spentMs, typicalMs }: { readonly spentMs: number; readonly typicalMs: number | undefined },
): number {
  const reached = SHARES[milestone];
  if (typicalMs === undefined || typicalMs <= 0) return reached;
  const next = MILESTONES[MILESTONES.indexOf(milestone) + 1];
  const bound = next === undefined ? MOST : SHARES[next];
  // Never the next milestone itself: it has not been reached.
  const byTime = Math.min(spentMs / typicalMs, 1) * MOST;

  return Math.max(reached, Math.min(byTime, bound - 0.01));
}
