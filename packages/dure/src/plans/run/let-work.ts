import type { Transaction } from "../../durable/database.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import { sayViolation, type TreeViolation } from "../workspace/owned-changes.ts";
import type { Assignment, WorkerEvent, WorkerResult } from "../workers/worker.ts";
import { policyOfWorker } from "../network-needs.ts";
import type { Scope } from "../scope.ts";
import type { WorkerSpec } from "../plan.ts";
import type { PairParts, PortFiles } from "./pair.ts";
import type { PlanRun, PlanStep } from "./run.ts";
import { WorkerSigns } from "./signs.ts";
import {
  limitsOf,
  uncounted,
  type StepLog,
  type StepLogParts,
  type StepEnd,
  type StepEvent,
} from "./step-log.ts";
import { escalationFor, tokensTrigger } from "./triggers.ts";

/** Characters of a log kept in memory. */
export const MAX_LOG = 64_000;

/**
 * Lets a worker work that has no partner: for contracts and for what several ports changed. Its
 * words come back as a log.
 */
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
  readonly stepLog: StepLog;
  readonly parts: StepLogParts & Pick<PairParts, "worker" | "clock" | "logger" | "stalledMs">;
  readonly env: Readonly<Record<string, string>>;
  readonly timeMs: number;
  readonly signal: AbortSignal;
}): Promise<{ result: WorkerResult; counted: number; log: string }> {
  const { run, port, spec, step, files, parts, stepLog, signal } = work;
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
    confinement: {
      ...(await files.confinement(work.commit, work.scope)),
      network: policyOfWorker(spec, { plan: run.plan, port: undefined }, parts.network),
    },
    env: work.env,
    limits: { ...limitsOf(spec), timeMs: work.timeMs },
    onStart: (identity) => parts.records.stepProcess(parts.lease, step.id, identity),
    channel: {
      query: async () => "Nobody works beside you; decide by yourself.",
      inbox: async function* () {},
    },
    requestAccess: async () => ({ granted: false, note: "Only these files are yours." }),
    stopAtViolation: 2,
  };
  const signs = new WorkerSigns({
    ...parts,
    stepLog,
    step,
    port,
    member: "orchestrator",
    count: async (tx, tokens) =>
      void (
        tokens > 0 && (await parts.records.addTokens(tx, run.id, { input: tokens, output: 0 }))
      ),
  });
  let log = "";
  let isOver = false;
  try {
    for await (const event of parts.worker(spec).run(assignment, { signal })) {
      log = (log + wordsOf(event)).slice(-MAX_LOG);
      if (event.type === "violation") {
        await parts.records.write(parts.lease, (tx) =>
          parts.records.violation(tx, run.id, {
            port,
            try: step.try,
            member: "orchestrator",
            path: event.path.slice(0, 1_000),
            wanted: event.wanted,
            because: event.because,
            detail: event.detail,
            found: "request",
          }),
        );
      }
      if (event.type === "progress") await signs.heard(event, log);
      if (event.type !== "result") continue;
      isOver = true;
      return { result: event.result, counted: signs.counted, log };
    }
  } finally {
    signs.stop();
    if (!isOver) await signs.lastWord(log).catch(() => {}); // a leader who has lost the run writes nothing
  }
  throw new Error(`The ${spec.kind} worker of ${port} ended without a result.`);
}

/** Beside the end of such a step: what it has used, and what it changed and does not own. */
export function workEnd(about: {
  readonly run: PlanRun;
  readonly port: string;
  readonly try: number;
  readonly parts: Pick<StepLogParts, "records">;
}) {
  const { run, port, parts } = about;
  const escalationOf = (
    name: Parameters<typeof escalationFor>[0],
    title: string,
    context: Readonly<Record<string, unknown>>,
  ): NewEscalation =>
    escalationFor(name, {
      tenant: run.tenant,
      run: run.id,
      plan: run.plan.name,
      title: `${run.plan.name}: ${title}`.slice(0, 300),
      context,
    });
  return async (
    tx: Transaction,
    end: StepEnd<{ readonly violations: readonly TreeViolation[] }>,
  ): Promise<{
    readonly escalations: readonly NewEscalation[];
    readonly events: readonly StepEvent[];
  }> => {
    const { violations } = end.output;
    const { tokens } = end;
    const more = uncounted(end);
    for (const { path, because } of violations.slice(0, 100)) {
      await parts.records.violation(tx, run.id, {
        port,
        try: about.try,
        member: "orchestrator",
        path,
        wanted: "write",
        because,
        detail: sayViolation(because),
        found: "commit",
      });
    }
    const used = more && (await parts.records.addTokens(tx, run.id, more));
    const trigger = used && tokensTrigger(used.used, used.most);
    const paths = violations.map(({ path }) => path);
    return {
      escalations: [
        ...(used && trigger
          ? [
              escalationOf(trigger, `${used.used} of ${used.most} tokens`, {
                used: used.used,
                most: used.most,
              }),
            ]
          : []),
        ...(paths.length > 0
          ? [
              escalationOf(
                "ownership-violated",
                `the orchestrator changed ${paths.slice(0, 3).join(", ")}${paths.length > 3 ? ` and ${paths.length - 3} more` : ""}, which it does not own; nothing of that was taken`,
                { paths: paths.slice(0, 50) },
              ),
            ]
          : []),
      ],
      events: [
        {
          type: "worker.complete",
          data: {
            port,
            member: "orchestrator",
            try: about.try,
            tokens: (tokens?.input ?? 0) + (tokens?.output ?? 0),
            violations: paths.length,
          },
        },
      ],
    };
  };
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
