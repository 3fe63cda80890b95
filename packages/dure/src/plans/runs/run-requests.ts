/** What people ask of a run, checked before it is stored. */

import { DureError } from "../../kernel/errors.ts";
import { isRunOver, MAX_TRIES, type Member, type PortStatus } from "../../kernel/plans.ts";
import { grantable } from "../ask/grants.ts";
import type { PlanPort, PlanRun, PlanStep, RunOrder } from "../rows/run.ts";
import { workerOf, type WorkerSpec } from "../plan.ts";

/** Characters of what the operator says at once. */
const MAX_WORDS = 8_000;

type Retry = Extract<RunOrder, { type: "retry" }>;

/** Throws `TRIES_EXHAUSTED`, `PATH_INVALID`: what of a retry can never be carried out. Pure. */
export function assertRetry(order: Retry, { triesPair, triesOrchestrator }: PlanPort): void {
  const had = triesPair + triesOrchestrator;
  if (had + (order.tries ?? 0) > MAX_TRIES) {
    throw new DureError(
      "TRIES_EXHAUSTED",
      `The port ${order.port} has had ${had} tries; more than ${MAX_TRIES} are not given.`,
      { class: "conflict", hint: "Change the plan, and start another run." },
    );
  }
  const { grant, grants = [] } = order;
  const paths = (grant ? [grant, ...grants] : grants).map(({ path }) => path);
  const strange = paths.find((path) => grantable(path) === undefined);
  if (strange === undefined) return;
  throw new DureError("PATH_INVALID", `"${strange}" is no path of the repository.`, {
    class: "input",
    hint: "Write it from the root of the repository, such as src/app/page.tsx.",
  });
}

/** Throws `ORCHESTRATOR_MISSING`. Pure. */
export function assertOrchestrator({ plan }: PlanRun, port: string): void {
  if (plan.workers.orchestrator) return;
  throw new DureError(
    "ORCHESTRATOR_MISSING",
    `The plan ${plan.name} has no orchestrator who could take ${port}.`,
    {
      class: "conflict",
      hint: "Add workers.orchestrator to the plan, or let the pair try again.",
    },
  );
}

/** Throws `MESSAGE_INVALID`. Pure. */
export function assertWords(text: string): void {
  if (text !== "" && text.length <= MAX_WORDS) return;
  throw new DureError(
    "MESSAGE_INVALID",
    `What is said must have 1 to ${MAX_WORDS} characters; this has ${text.length}.`,
    { class: "input" },
  );
}

/**
 * Throws `RUN_OVER`, `PORT_OVER`, `TESTER_MISSING`, `ORCHESTRATOR_MISSING`, `WORKER_DEAF`,
 * `MEMBER_DONE`: no worker would read the words. Pure.
 */
export function assertListens(
  run: PlanRun,
  port: PlanPort & { readonly steps: readonly PlanStep[] },
  to: Member,
): void {
  assertPortGoesOn(run, port);
  const { role, tests } = run.plan.ports[port.position]!;
  if (to === "tester" && tests.length === 0) {
    throw new DureError(
      "TESTER_MISSING",
      `The port ${port.id} owns no tests, so no tester works on it.`,
      { class: "conflict", hint: "Say it to the implementer." },
    );
  }

  if (to === "orchestrator") assertOrchestrator(run, port.id);
  const kind = workerOf(run.plan.workers, role, to)?.kind ?? "command";
  if (kind === "offline") {
    throw new DureError(
      "WORKER_DEAF",
      `The ${to} of the port ${port.id} is an offline worker: it follows its script and reads nothing.`,
      { class: "conflict", hint: "Change its script, and start another run." },
    );
  }

  if (willHear(port, to, kind)) return;
  throw new DureError(
    "MEMBER_DONE",
    `The ${to} of the port ${port.id} reads nothing more: it gets no other prompt.`,
    { class: "conflict", hint: retryHint(run, port) },
  );
}

function assertPortGoesOn(run: PlanRun, port: PlanPort): void {
  if (isRunOver(run.status)) {
    throw new DureError("RUN_OVER", `The run ${run.id} has ended: ${run.status}.`, {
      class: "conflict",
      hint: retryHint(run, port),
    });
  }
  const { id, status } = port;
  const ended = ENDED_WORDS[status];
  if (ended === undefined) return;
  throw new DureError("PORT_OVER", `The port ${id} ${ended}; no worker listens now.`, {
    class: "conflict",
    hint:
      status === "held"
        ? `Send it back with your words: dure plan review ${run.id} ${id} --send "…"`
        : retryHint(run, port),
  });
}

/** Of a port on which nothing works, and will not by itself. */
const ENDED_WORDS: Partial<Record<PlanPort["status"], string>> = {
  held: "waits for a person",
  succeeded: "has succeeded",
  failed: "has failed",
  cancelled: "was cancelled",
};

function retryHint(run: PlanRun, port: PlanPort): string {
  return `Say it with another try: dure plan retry ${run.id} ${port.id} --hint "…"`;
}

/** The error of a request for files of a run that was cleaned. Pure. */
export function runCleaned({ id, report }: PlanRun): DureError {
  const branch = report?.branch;

  return new DureError("RUN_CLEANED", `The files of the run ${id} were cleaned away.`, {
    class: "conflict",
    hint:
      branch === undefined
        ? "Begin another run."
        : `Its result was the branch ${branch}; if that is still there, merge it with git.`,
  });
}

/** Kinds of workers that read what is said while they work; the others read their prompt alone. */
const LISTENING: ReadonlySet<WorkerSpec["kind"]> = new Set(["acp", "model", "own"]);

/** What is known of a port to whose member something is said. */
interface PortView {
  readonly status: PortStatus;
  readonly triesPair: number;
  readonly triesOrchestrator: number;
  readonly steps: readonly Pick<PlanStep, "kind" | "member" | "status" | "try">[];
}

/**
 * Whether a member of a port that is not over reads what is said to it now: while it works, or in a
 * prompt that it has still to get. Tries that may be given later are not counted. Pure.
 */
export function willHear(port: PortView, to: Member, kind: WorkerSpec["kind"]): boolean {
  const { status, steps } = port;
  const given = to === "orchestrator" ? port.triesOrchestrator : port.triesPair;
  if (status !== "running") return given > 0;

  const last = steps.findLast(({ member }) => member === to);
  // One that was stopped is begun again.
  if (last?.status === "stopped") return true;
  if (last?.status === "running" && LISTENING.has(kind)) return true;

  return promptsLeft(port, to, given) > 0;
}

/** Prompts that a member has still to get. Pure. */
function promptsLeft({ steps }: PortView, to: Member, given: number): number {
  const isOwn = (member: Member | null): boolean =>
    (member === "orchestrator") === (to === "orchestrator");
  const begun = steps.filter(({ kind, member }) => kind === "implement" && isOwn(member));
  const left = given - begun.length;

  return to === "tester" && isTesterDue(steps, begun.at(-1)?.try) ? left + 1 : left;
}

/** Whether the tester's part of the try that goes on is still to come. Pure. */
function isTesterDue(steps: PortView["steps"], number: number | undefined): boolean {
  if (number === undefined) return false;
  const ofTry = steps.filter((step) => step.try === number);

  return !ofTry.some(({ kind }) => kind === "test" || kind === "accept");
}
