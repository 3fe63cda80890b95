import { isIP } from "node:net";
import type { EventData, PlanPort, PlanRunStatus, PortStatus } from "../../client/index.ts";
import { FINDING_WORDS_EN } from "../../kernel/finding-words.ts";
import type { ResultDelivery, RunPhase, StepKind } from "../../kernel/plans.ts";

const many = (count: number, one: string): string => `${count} ${count === 1 ? one : `${one}s`}`;

/** What the acceptance came to before any work. */
function atBase({ success, passed, total }: Feedback): string {
  if (success) return "green at the base: it passes before any work";
  const failed = total - passed;
  const tests = `${failed} of ${many(total, "test")} ${failed === 1 ? "fails" : "fail"}, as expected`;
  return `red at the base: ${total === 0 ? "no test was counted" : tests}`;
}

const MEMORY_BOUND = { group: "bounded by the kernel", watched: "watched by dure" };
const CPU_BOUND = { group: "bounded by the kernel", yields: "given to others first" };

/** What the commands of plans, their runs and tasks say. Words by key come from a table each. */
export const PLANS_EN = {
  ports: (count: number) => many(count, "port"),
  seconds: (value: string) => `${value} s`,
  andMore: (shown: string, more: number) => `${shown} and ${more} more`,
  /** Statuses as a list shows them. */
  runStatus: (status: PlanRunStatus): string => status,
  /** What became of a result. */
  delivery: (delivery: ResultDelivery): string => delivery,
  portStatus: (status: PortStatus): string => status,
  phase: (phase: RunPhase): string => phase,
  step: (step: StepKind): string => step,
  /** `implementer`, `tester`, `orchestrator`, or a role's own name. */
  member: (member: string): string => member,
  /** How a worker says that it ended: `ready`, `partial`, `failed`. */
  workerEnd: (status: string): string => status,

  list: {
    head: ["plan", "ports", "file", "last run", ""],
    problems: (count: number, plan: string) => `${many(count, "problem")}: dure plan check ${plan}`,
    none: "There is no plan. Make one with: dure new plan NAME",
    noneIn: (folder: string) => `There is no plan in ${folder}. Make one with: dure new plan NAME`,
    runsHead: ["id", "begun", "plan", "status", "ports", "branch", "result"],
    noRun: "There is no such run. Begin one with: dure plan run NAME",
  },

  view: {
    on: (plan: string, ports: string, base: string) => `${plan}  ${ports} on ${base}`,
    level: (number: number, ports: string) => `  level ${number}: ${ports}`,
    path: (ports: string) => `critical path: ${ports}`,
    parallel: (count: number) => `side by side: ${count}`,
    mode: (mode: string, because: string) => `mode: ${mode}, because ${because}`,
    /** Of a condition. */
    value: (value: string): string => value,
    holds: { yes: "yes", no: "no " },
    workers: (workers: string) => `workers: ${workers}`,
    network: (of: string, policy: string) => `network of ${of}: ${policy}`,
    audit:
      "isolation: audit. Nothing keeps workers from other files; what they changed is looked at " +
      "afterwards.",
    unowned: (files: string) => `without an owner: ${files}`,
    warning: (message: string) => `Warning: ${message}`,
    graph: { owns: "owns    ", tests: "tests   ", passes: "passes  " },
  },

  draft: {
    good: "A proposal: read it, change it, save it in the folder plans, then dure plan check.",
    bad: "The proposal has problems; mend them before it can run.",
    begins: "A model reads the repository and drafts a plan. It may take some minutes.",
    asAssumed: (question: string) => `${question} (Enter: as assumed)`,
    edit: (file: string) =>
      `Edit ${file}, then: dure plan check ${file}; dure plan run --file ${file}`,
    choose: (file: string) => `Edit ${file}. s starts it, Enter looks again, q leaves.`,
    later: (file: string) => `Later: dure plan run --file ${file}`,
    page: (path: string) => `It is on the dashboard too, as a graph to edit: ${path}`,
    marks: { wrote: "wrote", open: "open", asks: "asks", look: "look" },
  },

  task: {
    setup: (command: string, from: string, hosts: string) =>
      `Set up by ${command} (${from})${hosts === "" ? "" : `, which may reach ${hosts}`}`,
    unused: (file: string, command: string) => `${file} says ${command}, which is not run`,
    guess: ({
      own,
      from,
    }: {
      readonly own: readonly string[];
      readonly from: readonly string[];
    }) => {
      const why = from.length === 0 ? "where code stands" : `by your words: ${from.join(", ")}`;
      return `May change ${own.join(", ")} (${why}). Enter: yes, n: no, e: edit`;
    },
    edit: (own: string) => `Which paths, with blanks between them? (Enter: ${own})`,
    left: "Nothing was begun. Say what may be changed with --own.",
    starting: "Starts a server for this task alone. It ends with the task.",
    more: (count: number) => `  and ${count} more`,
    merge: "Merge it now? Enter: yes, n: no",
    later: (id: string) => `Later: dure plan merge ${id}`,
    laterLocal: (branch: string) => `Later: git merge ${branch}`,
  },

  check: {
    look: "look",
    more: (plan: string, count: number) => `${plan}: and ${count} more problems`,
    unowned: (files: string) => `without an owner, so that no port can change them: ${files}`,
  },

  run: {
    nothingBegun: "Nothing was begun.",
    watch: (id: string) => `Watch it with: dure plan watch ${id}`,
    goesOn: (id: string) => `It goes on without you: dure plan watch ${id}`,
    nothingChanged: "Nothing is changed.",
    patchCut:
      "The patch is longer than is shown; git shows all of it: the commits are under refs/dure/ " +
      "in your repository.",
    stands: {
      running: "it goes on",
      paused: "it is paused; what works goes on, nothing starts",
      cancelling: "it is being cancelled",
      waiting_host:
        "the machine that holds its files is gone; it goes on when a server is started there",
      success: "every port succeeded",
      partial: "what succeeded is kept, the rest is missing",
      failed: "nothing was kept",
      cancelled: "it was cancelled",
    } satisfies Record<PlanRunStatus, string>,
  },

  leaving: {
    rules: FINDING_WORDS_EN,
    nothingFound: (branch: string) =>
      `No secret, and no file that runs by itself, would come into ${branch}.`,
    found: (count: number, branch: string) =>
      `Look at ${many(count, "place")} before this comes into ${branch}:`,
    yes: (run: string, confirm: string) =>
      `A person says yes to exactly these with: dure plan merge ${run} --confirm ${confirm}`,
    approvals: (counted: number, needed: number, people: string) =>
      `${counted} of ${many(needed, "approval")} before it leaves${people === "" ? "" : `, by ${people}`}`,
    notAuthor: (author: string | null) =>
      author === null
        ? "Nothing names who began the run, so one approval more is needed."
        : `${author} began the run, so their approval does not count.`,
  },

  event: {
    begins: "the run begins",
    paused: "paused: what works goes on, nothing starts",
    resumed: "goes on",
    refused: (by: string, because: string) => `did not do what ${by} asked: ${because}`.trim(),
    cancelling: "is being cancelled",
    waitingHost: "waits for the machine that holds its files",
    ended: (outcome: PlanRunStatus, because: string | undefined) =>
      because === undefined ? `ended: ${outcome}` : `ended: ${outcome}: ${because}`,
    merged: (branch: string) => `merged into ${branch}`,
    nothingToMerge: "nothing to merge",
    asks: (title: string, id: string) => `! ${title}  (dure escalations show ${id})`,
    starts: (attempt: number) => (attempt === 1 ? "starts" : `starts again (${attempt})`),
    succeeded: "succeeded",
    held: "is accepted, and waits for your approval",
    failed: (because: string) => `failed: ${because}`,
    blocked: (by: string) => `is blocked by ${by}`,
    by: (port: string) => `by ${port}`,
    recalled: (because: string) => `is given back: ${because}`,
    tryOf: (number: number, member: string) => `try ${number}: ${member}`,
    works: (who: string, worker: string | null) => `${who} (${worker}) works`,
    progress: (who: string, percent: number, task: string) =>
      task === "" ? `${who} ${percent} %` : `${who} ${percent} %, ${task}`,
    stalled: (who: string, silence: string, { on, task }: StallWords) => {
      const cause = {
        provider: ": its provider serves no calls",
        model: ": its model has not answered",
        tool: `: ${task} goes on`,
        nothing: "",
      }[on];
      return `${who} gave no sign for ${silence}${cause}; its time limit ends it, if nothing else`;
    },
    complete: (who: string, { status, changed, tokens }: Complete) => {
      const files = changed === undefined ? "" : `, ${many(changed, "file")} changed`;
      const used = tokens === 0 ? "" : `, ${tokens} tokens`;
      return `${who} ${status ?? "ended"}${files}${used}`;
    },
    feedback: (number: number, { success, passed, total }: Feedback) => {
      if (number === 0) return atBase({ success, passed, total });
      const tests = total === 0 ? "" : `, ${passed} of ${total} tests`;
      return `try ${number}: ${success ? "passed" : "did not pass"}${tests}`;
    },
    waiting: ({ for: what, status, moment }: WaitingWords) => {
      const until = moment === undefined ? "" : ` until ${moment} UTC`;
      switch (what) {
        case "rate_limit":
          return `waiting for the provider: ${status ?? "rate limit"}${until}`;
        case "key":
          return `the provider refuses the key (${status ?? "no answer"})`;
        case "provider":
          return `waiting for the provider: ${status ?? "no answer"}${until}`;
      }
    },
  },

  status: {
    held: (run: string, port: string) =>
      `${port} waits for your approval: dure plan review ${run} ${port}`,
    port: (status: string, tries: string, spent: string) => `${status}, ${tries} tries, ${spent}`,
    violation: ({ member, path, wanted, because, found }: ViolationWords) =>
      `  ! ${member} wanted to ${wanted} ${path}: ${because} ` +
      `(${found === "request" ? "refused" : "not taken"})`,
    tokens: ({ tokensIn, tokensCached, tokensOut }: TokenWords) => {
      const cached = tokensCached === 0 ? "" : ` (${tokensCached} cached)`;
      return `${tokensIn}${cached} tokens in, ${tokensOut} out`;
    },
    used: (calls: number, tokens: string) => `${many(calls, "call")}, ${tokens}`,
    tries: (count: string) => `${count} tries`,
    step: (number: number, step: string, who: string, standing: string) =>
      `  try ${number}  ${step}${who}  ${standing}`,
    stalled: (at: string) => `stalled: no sign since ${at}`,
    works: (task: string) => (task === "" ? "works" : `works: ${task}`),
    red: "fails without the work, as it has to",
    green: "passes without the work too, so the tests do not show it",
    done: "done",
    passed: "passed",
    notPassed: "did not pass",
    changed: (files: string) => `changed: ${files}`,
    failedFiles: (files: string) => `said to be changed, and not: ${files}`,
    unclaimed: (files: string) => `changed without a word: ${files}`,
    fails: (tests: string) => `fails: ${tests}`,
    uncounted: "its tests are not counted: no summary that is known",
    counted: (passed: number, failed: number, skipped: number) =>
      `tests: ${passed} passed, ${failed} failed, ${skipped} skipped`,
    audit: "isolation: audit. Nothing keeps workers from other files.",
    unproven: "its tests pass without its work too",
    promises: ({ network, user, isOtherUser, files, memory, cpu }: SandboxPromises) => {
      const where = network === "enforced" ? "a network of their own" : "the machine's network";
      const who = isOtherUser ? `user ${user}, who is not dure's` : "dure's own user";
      const kept = {
        enforced: "kept from them",
        "by-modes": "kept as their modes say",
        not: "not kept from them",
      }[files];
      const bounds = [
        memory === undefined ? "" : `, memory ${MEMORY_BOUND[memory]}`,
        cpu === undefined ? "" : `, CPU ${CPU_BOUND[cpu]}`,
      ];
      return `workers: ${where}, ${who}, files ${kept}${bounds.join("")}`;
    },
    conflict: (path: string, ports: readonly string[], solvedBy: string | undefined) => {
      const solved = solvedBy === undefined ? "" : `, written once by the ${solvedBy}`;
      return `conflict: ${path} by ${ports.join(" and ")}${solved}`;
    },
    integration: (passed: boolean, exitCode: number | null) => {
      const cause = exitCode === null ? "a signal" : `exit code ${exitCode}`;
      return `integration: ${passed ? "passed" : `failed with ${cause}`}`;
    },
    missing: (port: string, because: string) => `missing: ${port}: ${because}`,
    branch: (branch: string) => `branch: ${branch}`,
    mergedInto: ({ target, commit, at }: BranchMove) => `merged into ${target}: ${commit}, ${at}`,
    solved: ({ by, files }: { readonly by: string; readonly files: readonly string[] }) => {
      const person = isIP(by) === 0 ? by : "the person at this computer";
      const who = by === "orchestrator" ? "the orchestrator" : person;
      return `both had changed ${files.join(", ")}; decided by ${who}`;
    },
    undone: ({ target, commit, at }: BranchMove) => `undone in ${target}: ${commit}, ${at}`,
    published: (branch: string, remote: string) => `published: ${branch} at ${remote}`,
    superseded: (run: string) => `a later run of this plan has succeeded: ${run}`,
    undo: (run: string) => `Take it out again with: dure plan undo ${run}`,
    takeOver: (run: string) =>
      `Look at it with dure plan diff ${run}, take it over with dure plan merge ${run}`,
    tryAgain: (run: string, port: string) =>
      `Try again with: dure plan retry ${run} ${port} --hint "…"`,
  },

  order: {
    stored: (run: string) =>
      `${run}: the order is stored; the run's leader carries it out as soon as it can`,
    paused: (run: string) => `${run} is paused: what works goes on, nothing starts`,
    resumed: (run: string) => `${run} goes on`,
    cancelled: (run: string) => `${run} is cancelled; what was made is kept`,
    retried: (run: string, port: string) => `${run} goes on with another try of ${port}`,
    extended: (run: string, { tokens, calls }: More) => {
      const more = [tokens && `${tokens} tokens`, calls && `${calls} calls`].filter(Boolean);
      return `${run} has ${more.join(" and ")} more`;
    },
    mergedAgain: (run: string) => `${run} is merged again`,
    skipped: (run: string, port: string) => `${run} goes on without ${port}`,
    reviewed: (run: string, port: string) =>
      `${run} goes on with another try of ${port}, which is told the review`,
    approved: (run: string, port: string) => `${run} goes on: ${port} is approved`,
    approvedResult: (run: string, { commit, counted, needed }: Approved) =>
      `The result ${commit.slice(0, 12)} of ${run} is approved (${counted} of ${needed} needed)`,
    kept: "kept",
    cleaned: "cleaned",
    wouldClean: "would be cleaned",
    noneSoOld: "There is no run that ended so long ago.",
    keptWhy: "What was kept is on no branch or in no commit: merge it, or clean it with --force.",
    branchMoved: "The branch has moved: the tests run on the merged tree first.",
    merged: (run: string, { kind, target, commit, folder }: MergedWords) => {
      const how = {
        merged: "merged",
        "fast-forward": "merged (fast-forward)",
        already: "there already",
      }[kind];
      const files = folder === null ? "" : `; the files in ${folder} came along`;
      return `${run} is ${how} in ${target}, which is now at ${commit}${files}`;
    },
    undone: (run: string, { isNew, target, commit, folder }: UndoneWords) => {
      const files = folder === null ? "" : `; the files in ${folder} came along`;
      const how = isNew ? "is out of" : "was already out of";
      return `${run} ${how} ${target}, by ${commit}${files}`;
    },
    noMergedTask: (folder: string) => `No task of ${folder} is merged.`,
    noMergedTaskHint: "See what there is with dure plan runs, then: dure plan undo RUN",
    published: (run: string, isNew: boolean, where: { branch: string; remote: string }) =>
      `${run} ${isNew ? "is pushed to" : "was there already:"} ${where.branch} at ${where.remote}`,
    pullRequest: (address: string) => `pull request: ${address}`,
  },

  review: {
    look: (run: string, port: string) =>
      `Look at what one of them changed: dure plan review ${run} ${port}`,
    send: (run: string, port: string) => `Send it with: dure plan review ${run} ${port} --send`,
    comment: (run: string, port: string) =>
      `Comment: dure plan review ${run} ${port} --at FILE:LINE --say "…"`,
    notSent: "not sent yet",
    sent: (attempt: number) => `sent after try ${attempt}`,
  },

  say: {
    sent: (to: string) => `sent to the ${to}, who reads it at its next turn`,
    delivered: (to: string) => `delivered to the ${to}, who works and reads it at its next turn`,
    read: (to: string) => `read by the ${to}`,
    lost: (to: string) => `not read by the ${to}: the port ended before`,
  },

  log: {
    head: (member: string, attempt: number) =>
      attempt === 0 ? `--- ${member}` : `--- ${member}, try ${attempt}`,
    empty: (port: string) => `${port}: nothing was said yet`,
  },
};

export type PlansWords = typeof PLANS_EN;

type StallWords = Pick<EventData<"worker.stalled">, "on" | "task">;

interface WaitingWords {
  readonly for: NonNullable<PlanPort["waiting"]>["for"];
  /** With which the provider answers. */
  readonly status?: number | null | undefined;
  readonly moment: string | undefined;
}

/** What calls of models have used; what was cached is in the input. */
interface TokenWords {
  readonly tokensIn: number;
  readonly tokensCached: number;
  readonly tokensOut: number;
}

/** Where a branch was moved to, and when. */
export interface BranchMove {
  readonly target: string;
  readonly commit: string;
  readonly at: string;
}

interface UndoneWords extends Omit<BranchMove, "at"> {
  readonly isNew: boolean;
  readonly folder: string | null;
}

interface Complete {
  readonly status: string | undefined;
  readonly changed: number | undefined;
  readonly tokens: number;
}

interface Feedback {
  readonly success: boolean;
  readonly passed: number;
  readonly total: number;
}

interface ViolationWords {
  readonly member: string;
  readonly path: string;
  readonly wanted: string;
  readonly because: string;
  readonly found: string;
}

interface SandboxPromises {
  readonly network: string;
  readonly user: number | string;
  readonly isOtherUser: boolean;
  readonly files: "enforced" | "by-modes" | "not";
  readonly memory?: "group" | "watched" | undefined;
  readonly cpu?: "group" | "yields" | undefined;
}

interface More {
  readonly tokens: number | undefined;
  readonly calls: number | undefined;
}
/** A result of a run that was approved. */
interface Approved {
  readonly commit: string;
  readonly counted: number;
  readonly needed: number;
}

interface MergedWords {
  readonly kind: "merged" | "fast-forward" | "already";
  readonly target: string;
  readonly commit: string;
  readonly folder: string | null;
}
