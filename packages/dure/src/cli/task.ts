/** What a person asks for without a plan. */
export interface Task {
  /** What is to be done, in words. */
  readonly goal: string;
  /** Patterns that may be changed. */
  readonly owns: readonly string[];
  /** Patterns of tests that its tester writes; none: there is no tester. */
  readonly tests: readonly string[];
  /** A shell command that decides. */
  readonly acceptance: string;
  readonly worker: TaskWorker;
  readonly tries?: number | undefined;
  readonly title?: string | undefined;
  /** A person approves the result before it goes to its branch. */
  readonly gate?: boolean | undefined;
}

export type TaskWorker =
  | { readonly agent: string }
  | { readonly kind: "model"; readonly model: string }
  | { readonly kind: "command"; readonly command: readonly string[] };

/** The text of a plan, and what it would be called. */
interface TaskPlan {
  readonly file: string;
  readonly text: string;
}

/** Characters of a goal that stand in the name of its branch. */
const MAX_SLUG = 40;

/**
 * A task as a plan of one port: the same isolation, transcript and merge, and no file. Pure. The
 * result is on the branch `dure/<its name>`.
 */
export function planOfTask(task: Task): TaskPlan {
  const { goal, owns, tests, acceptance, worker, tries, title, gate } = task;
  const name = slugOf(title ?? goal);
  const plan = {
    plan: name,
    roles: "modules",
    setup: "auto",
    preflight: true,
    ...limitsOf(tries),
    workers: { default: worker },
    ports: [
      {
        id: "task",
        role: "task",
        title: titleOf(title ?? goal),
        goal,
        owns,
        tests,
        acceptance,
        gate: gate === true ? "person" : undefined,
      },
    ],
  };
  return { file: `${name}.json`, text: JSON.stringify(plan) };
}

function limitsOf(tries: number | undefined): { readonly limits?: { readonly tries: number } } {
  return tries === undefined ? {} : { limits: { tries } };
}

/** The first line of the words, as a title. */
function titleOf(words: string): string {
  return words.trim().split("\n")[0]!.slice(0, 200);
}

/** Words as the name of a plan: what a branch and a folder can be called. */
function slugOf(words: string): string {
  const parts = words.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const slug = parts.join("-").slice(0, MAX_SLUG).replace(/-+$/, "");
  return slug === "" ? "task" : `task-${slug}`;
}
