import type { Assignment, WorkerEvent, WorkerResult } from "../workers/worker.ts";
import type { Scope } from "../scope.ts";
import type { WorkerSpec } from "../plan.ts";
import type { PairParts, PortFiles } from "./pair.ts";
import type { PlanRun, PlanStep } from "./run.ts";
import { limitsOf, type StepDeskParts } from "./step-desk.ts";

/** Characters of a log kept in memory. */
export const LOG_MOST = 64_000;

/** Lets a worker work that has no partner: for contracts and for what several ports changed. Its words come back as a log. */
export async function letWork(work: {
  readonly run: PlanRun;
  readonly port: string;
  readonly spec: WorkerSpec;
  readonly step: PlanStep;
  readonly prompt: string;
  readonly scope: Scope;
  readonly files: PortFiles;
  /** What is checked out. */
  readonly commit: string;
  readonly parts: StepDeskParts & Pick<PairParts, "worker">;
  readonly env: Readonly<Record<string, string>>;
  readonly timeMs: number;
  readonly signal: AbortSignal;
}): Promise<{ result: WorkerResult; log: string }> {
  const { run, port, spec, step, files, parts, signal } = work;
  const assignment: Assignment = {
    id: step.node.id,
    run: run.id,
    plan: run.plan.name,
    port,
    member: "orchestrator",
    attempt: 1,
    round: 1,
    prompt: work.prompt,
    scope: work.scope,
    tree: files.tree,
    scratch: files.scratch,
    sandbox: parts.sandbox,
    confinement: await files.confinement(work.commit, work.scope),
    env: work.env,
    limits: { ...limitsOf(spec), timeMs: work.timeMs },
    onStart: (identity) => parts.records.stepProcess(parts.lease, step.id, identity),
    channel: { query: async () => "Nobody works beside you; decide by yourself.", inbox: async function* () {} },
    requestAccess: async () => ({ granted: false, note: "Only these files are yours." }),
    stopAtViolation: 2,
  };
  let log = "";
  for await (const event of parts.worker(spec).run(assignment, { signal })) {
    log = (log + wordsOf(event)).slice(-LOG_MOST);
    if (event.type === "result") return { result: event.result, log };
  }
  throw new Error(`The ${spec.kind} worker of ${port} ended without a result.`);
}

/** An event as the log has it. */
export function wordsOf(event: WorkerEvent): string {
  switch (event.type) {
    case "progress":
      return "";
    case "said":
      return event.text.endsWith("\n") ? event.text : `${event.text}\n`;
    case "violation":
      return `refused: ${event.wanted} ${event.path} (${event.because})\n`;
    case "access":
      return `asked: ${event.wants} ${event.path} → ${event.granted ? "granted" : "not now"}\n`;
    case "result":
      return `${event.result.status}: ${event.result.summary}\n`;
    default:
      return event satisfies never;
  }
}
