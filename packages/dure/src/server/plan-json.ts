import { z } from "zod";
import type { Problem } from "../engine/files/load-service-document.ts";
import { toWire } from "../kernel/wire.ts";
import { WORKER_KINDS, type Plan, type Port, type WorkerSpec } from "../plans/plan.ts";
import type { PlanView } from "../plans/run/plan-library.ts";
import type { PortDetail, RunDetail } from "../plans/run/run-queries.ts";
import {
  isRunEnded,
  LEFT_OUT,
  type PlanPort,
  type PlanRun,
  type PlanStep,
} from "../plans/run/run.ts";
import { compareClaim } from "../plans/workers/claims.ts";
import {
  CHANNEL_MESSAGE_TYPES,
  CHANNEL_SPEAKERS,
  MEMBERS,
  PLAN_RUN_STATUSES,
  PORT_STATUSES,
  RUN_PHASES,
  STEP_KINDS,
  STALLED_AFTER_MS,
} from "../kernel/plans.ts";

/**
 * How plans and runs stand on the wire: what people look at, without the machine's own paths and
 * secrets.
 */

const time = z.number().meta({ description: "Milliseconds since the epoch." });
const tokens = z.int();

export const runStatus = z.enum(PLAN_RUN_STATUSES);
const portStatus = z.enum(PORT_STATUSES);
const member = z.enum(MEMBERS);

export const BecauseJson = z
  .object({ code: z.string(), message: z.string(), hint: z.string().optional() })
  .meta({ id: "Because", description: "Why something stands as it does." });

const ModeJson = z.object({
  mode: z.enum(["in-order", "parallel"]),
  one_context: z.boolean().optional().meta({
    description:
      "Ports share one context: each goes on from what those before it made, and reads what all own.",
  }),
  because: z.string(),
  conditions: z
    .array(
      z.object({
        code: z.string().optional(),
        facts: z.record(z.string(), z.unknown()).optional(),
        name: z.string(),
        value: z.string(),
        holds: z.boolean(),
      }),
    )
    .meta({ description: "Each condition of docs/spec/plans §5 with its value." }),
});

export const PlanProblemJson = z
  .object({
    file: z.string(),
    line: z.int().optional(),
    column: z.int().optional(),
    key: z.string(),
    message: z.string(),
    found: z.string().optional(),
    allowed: z.string().optional(),
    hint: z.string().optional(),
  })
  .meta({
    id: "PlanProblem",
    description: "Something in a file that a person has to change; line and column are 1-based.",
  });

const budget = z.object({ tokens: z.number().optional(), micro_usd: z.number().optional() });

const portFields = {
  id: z.string(),
  title: z.string(),
  goal: z.string(),
  role: z.string(),
  owns: z.array(z.string()),
  tests: z.array(z.string()),
  reads: z.array(z.string()).optional(),
  depends_on: z.array(z.string()).meta({ description: "Ports that must have succeeded before." }),
  acceptance: z.string(),
  check: z.string().optional(),
  budget: budget.optional(),
};

const planFields = {
  plan: z.string(),
  base: z.string(),
  setup: z.string().optional(),
  integration: z.string().optional(),
  roles: z.string().meta({ description: "hexagonal, modules or own." }),
  limits: z.object({
    max_concurrency: z.int(),
    parallel_enabled: z.boolean(),
    timeout_per_port_ms: z.number(),
    tries: z.int(),
    merge: z.enum(["at_end", "as_ready"]),
    budget: budget.optional(),
  }),
  isolation_wanted: z.enum(["enforced", "audit"]),
  violations: z
    .enum(["stop", "refuse", "report"] as const satisfies readonly Plan["violations"][])
    .meta({
      description:
        "What follows from a request outside of the scope: the second one ends the worker (stop), or " +
        "each is refused and it goes on. With report, what it changed outside all the same is left " +
        "out and recorded, and its try goes on.",
    }),
  workers: z
    .array(
      z.object({
        role: z.string(),
        kind: z.enum(WORKER_KINDS),
        command: z.array(z.string()).optional(),
        model: z.string().optional(),
      }),
    )
    .meta({ description: "Who works for whom; `default` for roles without one of their own." }),
  contracts: z.array(z.object({ path: z.string(), by: z.string() })),
};

export const PlanFileJson = z
  .object({
    name: z.string(),
    file: z.string(),
    ports: z.int(),
    problems: z.array(PlanProblemJson),
    problem_count: z.int(),
  })
  .meta({ id: "PlanFile" });

export const PlanViewJson = z
  .object({
    ...planFields,
    file: z.string(),
    network: z
      .array(
        z.object({
          of: z.string(),
          policy: z.enum(["none", "provider", "open"]),
          hosts: z.array(z.string()),
        }),
      )
      .meta({
        description:
          "How far its processes get: `setup`, `check`, `acceptance`, `integration`, `workers.ROLE`, " +
          "and what a port says otherwise.",
      }),
    ports: z.array(z.object({ ...portFields, timeout_ms: z.number() })),
    levels: z
      .array(z.array(z.string()))
      .meta({ description: "Ports by the number of steps that must have been taken before them." }),
    critical_path: z.array(z.string()),
    max_parallel: z.int().meta({
      description:
        "Ports that can work at the same time: none of them waits for another, within " +
        "max_concurrency; 1 in order.",
    }),
    mode: ModeJson,
    base_commit: z.string(),
    unowned: z
      .array(z.string())
      .meta({ description: "Files of the base without an owner, at most 200." }),
    unowned_count: z.int(),
    warnings: z.array(
      z.object({
        code: z.string(),
        facts: z.record(z.string(), z.unknown()),
        message: z.string(),
      }),
    ),
  })
  .meta({ id: "Plan", description: "A plan against its repository, as it would run." });

const ReportJson = z.object({
  commit: z.string().optional(),
  branch: z.string().optional().meta({ description: "In the user's repository." }),
  kept: z.array(z.string()),
  missing: z.array(z.object({ port: z.string(), because: BecauseJson })),
  integration: z
    .object({
      passed: z.boolean(),
      exit_code: z.int().nullable(),
      output: z.string(),
      blamed: z.array(z.string()).optional(),
    })
    .optional(),
  conflicts: z.array(
    z.object({ path: z.string(), ports: z.array(z.string()), solved_by: z.string().optional() }),
  ),
  shared: z
    .array(z.object({ path: z.string(), ports: z.array(z.string()), applied: z.boolean() }))
    .optional()
    .meta({
      description:
        "Changes of build files of the root, lock files and migrations that ports asked the " +
        "orchestrator for; applied: they are in the result.",
    }),
});

const runFields = {
  id: z.string(),
  plan: z.string(),
  status: runStatus,
  phase: z.enum(RUN_PHASES),
  because: BecauseJson.nullable(),
  repository: z.string(),
  base_commit: z.string(),
  start_commit: z
    .string()
    .nullable()
    .meta({ description: "What ports start from: the base with the contracts." }),
  isolation: z.string().nullable().meta({
    description:
      "How workers are kept apart: bubblewrap, namespaces, other-user or audit (not at all).",
  }),
  promises: z
    .object({
      network: z.enum(["enforced", "not"]),
      user: z.int(),
      is_other_user: z.boolean(),
      files: z.enum(["enforced", "by-modes", "not"]),
    })
    .nullable()
    .meta({
      description:
        "What holds for processes of workers on its machine, as a trial process showed: a network of " +
        "their own, another user than dure's, files kept from them (by-modes: beside their copies as " +
        "the modes of the machine say).",
    }),
  mode: ModeJson.nullable(),
  report: ReportJson.nullable(),
  tokens_in: tokens,
  tokens_out: tokens,
  tokens_most: tokens.nullable(),
  started_by: z.string(),
  created_at: time,
  updated_at: time,
  finished_at: time.nullable(),
  cleaned_at: time
    .nullable()
    .meta({ description: "Its files and refs were removed: only its history is left." }),
};

export const RunJson = z
  .object(runFields)
  .meta({ id: "Run", description: "One execution of a plan." });
export const ListedRunJson = z.object({
  ...runFields,
  counts: z.record(z.string(), z.int()).meta({ description: "Ports by status." }),
});

const portStateFields = {
  ...portFields,
  status: portStatus,
  because: BecauseJson.nullable(),
  attempt: z.int().meta({ description: "Starts by the scheduler, those after a crash included." }),
  tries_made: z.int().meta({ description: "Tries that were begun." }),
  tries_pair: z.int().meta({ description: "Tries that its pair may make." }),
  tries_orchestrator: z
    .int()
    .meta({ description: "Tries that the orchestrator may make after that." }),
  spent_ms: z.number(),
  time_ms: z.number().meta({ description: "Of all its tries together." }),
  tokens_in: tokens,
  tokens_out: tokens,
  tokens_most: tokens.nullable(),
  hint: z.string().nullable(),
  grants: z.array(z.object({ path: z.string(), wants: z.enum(["read", "own"]), by: z.string() })),
  start_commit: z.string().nullable(),
  result_commit: z.string().nullable(),
  started_at: time.nullable(),
  finished_at: time.nullable(),
};

const NodeJson = z
  .object({
    id: z.string(),
    parent: z.string().nullable(),
    root: z.string(),
    path: z.array(z.string()),
    depth: z.int(),
  })
  .meta({
    id: "RunNode",
    description:
      "A place in the run tree: the build (depth 0), its operator (1), the workers under it (2).",
  });

const StepJson = z
  .object({
    id: z.int(),
    node: NodeJson,
    port: z.string(),
    try: z.int().meta({ description: "1-based over all tries of the port; 0 before the first." }),
    kind: z.enum(STEP_KINDS),
    member: member.nullable(),
    worker: z.string().nullable(),
    status: z.string().meta({ description: "running or done." }),
    starts: z.int(),
    progress: z.number(),
    task: z.string(),
    tokens_in: tokens,
    tokens_out: tokens,
    output: z
      .looseObject({})
      .nullable()
      .meta({
        description:
          "What came of it: of a worker {status, summary, claimed_files, failed_files?, " +
          "unclaimed_files?, error?, commit, changes, violations} (failed_files: claimed and not " +
          "changed; unclaimed_files: changed and not claimed; neither of a program, which claims " +
          "nothing), of the acceptance {feedback, framework, exit_code, because, output}.",
      }),
    log: z.string().meta({ description: "The end of what was printed and said." }),
    started_at: time,
    seen_at: time.meta({ description: "When it last gave a sign." }),
    stalled: z.boolean().meta({ description: "A worker that works gave no sign for 10 s." }),
    finished_at: time.nullable(),
  })
  .meta({ id: "PlanStep" });

export const RunDetailJson = z
  .object({
    ...runFields,
    definition: z
      .object(planFields)
      .meta({ description: "The plan as it was read when the run began." }),
    ports: z.array(z.object(portStateFields)),
    orchestrator: z.array(StepJson).meta({ description: "Steps of no port: contracts and merge." }),
  })
  .meta({ id: "RunDetail" });

const ChannelJson = z
  .object({ id: z.string(), a: member, b: member, status: z.enum(["active", "closed"]) })
  .meta({
    id: "DirectChannel",
    description: "The way between the two members of a port's pair; it closes with the port.",
  });

const LoopJson = z
  .object({
    id: z.string(),
    tries: z.int().meta({ description: "All that were begun." }),
    max_tries: z.int().meta({ description: "Of the pair and the orchestrator together." }),
    status: z.enum(["running", "success", "failed", "escalated"]),
    rounds: z.array(
      z.object({
        try: z.int(),
        by: member.nullable(),
        status: z
          .string()
          .nullable()
          .meta({ description: "What the worker reported; null while it works." }),
        feedback: z
          .looseObject({})
          .nullable()
          .meta({ description: "What the newest test, check or merge of the try said." }),
      }),
    ),
  })
  .meta({ id: "FeedbackLoop", description: "The tries of a port as one record." });

export const PortDetailJson = z
  .object({
    ...portStateFields,
    channel: ChannelJson,
    loop: LoopJson,
    steps: z.array(StepJson),
    messages: z.array(
      z.object({
        id: z.int(),
        from: z.enum(CHANNEL_SPEAKERS),
        to: z.enum(CHANNEL_SPEAKERS),
        type: z.enum(CHANNEL_MESSAGE_TYPES),
        payload: z.unknown(),
        reply_to: z.int().nullable(),
        created_at: time,
        delivered_at: time.nullable(),
        processed_at: time.nullable(),
      }),
    ),
    violations: z.array(
      z.object({
        port: z.string(),
        try: z.int(),
        member,
        path: z.string(),
        wanted: z.enum(["read", "write"]),
        because: z.string(),
        detail: z.string().nullable(),
        found: z.enum(["request", "commit"]),
        at: time,
      }),
    ),
  })
  .meta({
    id: "PortDetail",
    description: "One port of a run with its steps, the pair's messages and what was refused.",
  });

export const DiffJson = z.object({
  changes: z.array(z.object({ path: z.string(), kind: z.enum(["new", "modified", "deleted"]) })),
  patch: z.string(),
  is_cut: z.boolean().meta({ description: "The patch was longer than is shown." }),
});

export function problemToWire(problem: Problem): z.infer<typeof PlanProblemJson> {
  return toWire(problem) as z.infer<typeof PlanProblemJson>;
}

export function viewToWire({ plan, ...view }: PlanView): z.infer<typeof PlanViewJson> {
  return {
    ...planToWire(plan),
    ports: plan.ports.map(definitionToWire),
    ...(toWire(view) as object),
  } as z.infer<typeof PlanViewJson>;
}

export function runToWire(run: PlanRun): z.infer<typeof RunJson> {
  return { ...(toWire(only(run, RUN_KEYS)) as object), plan: run.plan.name } as z.infer<
    typeof RunJson
  >;
}

/**
 * @param now of the database's clock, as near as it is known here: milliseconds since the epoch.
 */
export function detailToWire(run: RunDetail, now: number): z.infer<typeof RunDetailJson> {
  return {
    ...runToWire(run),
    definition: planToWire(run.plan),
    ports: run.ports.map((port) =>
      portToWire(port, run.plan.ports[port.position]!, port.triesMade),
    ),
    orchestrator: run.orchestrator.map((step) => stepToWire(step, now)),
  };
}

export function portDetailToWire(
  port: PortDetail,
  run: Pick<PlanRun, "id" | "plan" | "status">,
  now: number,
): z.infer<typeof PortDetailJson> {
  const triesMade = Math.max(
    0,
    ...port.steps.flatMap((step) => (step.kind === "implement" ? [step.try] : [])),
  );
  return {
    ...portToWire(port, run.plan.ports[port.position]!, triesMade),
    channel: {
      id: `${run.id}/${port.id}/channel`,
      a: "implementer",
      b: "tester",
      status:
        isRunEnded(run.status) || port.status === "succeeded" || port.status === "cancelled"
          ? "closed"
          : "active",
    },
    loop: {
      id: `${run.id}/${port.id}/loop`,
      tries: triesMade,
      max_tries: port.triesPair + port.triesOrchestrator,
      status: loopStatus(port),
      rounds: roundsOf(port.steps),
    },
    steps: port.steps.map((step) => stepToWire(step, now)),
    messages: toWire(port.messages) as z.infer<typeof PortDetailJson>["messages"],
    violations: toWire(port.violations) as z.infer<typeof PortDetailJson>["violations"],
  };
}

/** A port that failed has asked a person, unless a person left it out. */
function loopStatus({ status, because }: PlanPort): z.infer<typeof LoopJson>["status"] {
  if (status === "succeeded") return "success";
  if (status === "failed" && because?.code !== LEFT_OUT.code) return "escalated";
  return status === "failed" || status === "cancelled" ? "failed" : "running";
}

/** Steps as tries, oldest first. Source: docs/spec/plans §4. */
function roundsOf(steps: readonly PlanStep[]): z.infer<typeof LoopJson>["rounds"] {
  return [
    ...Map.groupBy(
      steps.filter((step) => step.try > 0),
      (step) => step.try,
    ),
  ].map(([number, made]) => {
    const worker = made.find(({ kind }) => kind === "implement");
    const told = made
      .flatMap(({ kind, output }) =>
        kind === "integrate"
          ? [output]
          : ["accept", "check", "module"].includes(kind)
            ? [(output as { readonly feedback?: unknown } | null)?.feedback]
            : [],
      )
      .filter((feedback) => feedback !== undefined && feedback !== null);
    return {
      try: number,
      by: worker?.member ?? null,
      status: (worker?.output as StepWork | null | undefined)?.result?.status ?? null,
      feedback: told.length === 0 ? null : (toWire(told.at(-1)) as Record<string, unknown>),
    };
  });
}

const RUN_KEYS = [
  "id",
  "status",
  "phase",
  "because",
  "repository",
  "baseCommit",
  "startCommit",
  "isolation",
  "promises",
  "mode",
  "report",
  "tokensIn",
  "tokensOut",
  "tokensMost",
  "startedBy",
  "createdAt",
  "updatedAt",
  "finishedAt",
  "cleanedAt",
] as const satisfies readonly (keyof PlanRun)[];
const PORT_KEYS = [
  "id",
  "status",
  "because",
  "attempt",
  "triesPair",
  "triesOrchestrator",
  "spentMs",
  "timeMs",
  "tokensIn",
  "tokensOut",
  "tokensMost",
  "hint",
  "grants",
  "startCommit",
  "resultCommit",
  "startedAt",
  "finishedAt",
] as const satisfies readonly (keyof PlanPort)[];
const STEP_KEYS = [
  "id",
  "node",
  "port",
  "try",
  "kind",
  "member",
  "worker",
  "status",
  "starts",
  "progress",
  "task",
  "tokensIn",
  "tokensOut",
  "log",
  "startedAt",
  "seenAt",
  "finishedAt",
] as const satisfies readonly (keyof PlanStep)[];

function planToWire({
  name,
  base,
  setup,
  integration,
  roles,
  limits,
  isolation,
  violations,
  workers,
  contracts,
}: Plan): z.infer<typeof RunDetailJson>["definition"] {
  const workerOf = ([role, spec]: [string, WorkerSpec]): object => ({
    role,
    kind: spec.kind,
    ...("command" in spec && { command: spec.command }),
    ...("model" in spec && { model: spec.model }),
  });
  const all: [string, WorkerSpec][] = [
    ...(workers.default ? [["default", workers.default] as [string, WorkerSpec]] : []),
    ...(workers.orchestrator
      ? [["orchestrator", workers.orchestrator] as [string, WorkerSpec]]
      : []),
    ...Object.entries(workers.byRole),
  ];
  return toWire({
    plan: name,
    base,
    setup,
    integration,
    roles: roles.preset,
    limits,
    isolationWanted: isolation,
    violations,
    workers: all.map(workerOf),
    contracts,
  }) as z.infer<typeof RunDetailJson>["definition"];
}

function definitionToWire(port: Port): z.infer<typeof PlanViewJson>["ports"][number] {
  return toWire(port) as z.infer<typeof PlanViewJson>["ports"][number];
}

function portToWire(
  port: PlanPort,
  definition: Port,
  triesMade: number,
): z.infer<typeof RunDetailJson>["ports"][number] {
  const { timeoutMs: _timeout, ...work } = definition;
  return toWire({ ...work, ...only(port, PORT_KEYS), triesMade }) as z.infer<
    typeof RunDetailJson
  >["ports"][number];
}

/** Of a step of a worker that has ended; other kinds have neither. */
interface StepWork {
  readonly result?: {
    readonly status?: string;
    readonly claimedFiles: readonly string[];
    readonly error?: unknown;
  };
  readonly changes?: readonly { readonly path: string }[];
}

/** The answer of a worker stands beside its commit, not below it. */
function stepToWire(step: PlanStep, now: number): z.infer<typeof StepJson> {
  const output = step.output as StepWork | null;
  const { result, ...rest } = output ?? {};
  const claim = result && rest.changes && compareClaim(step.worker, result, rest.changes);
  const stalled =
    step.status === "running" && step.member !== null && now - step.seenAt > STALLED_AFTER_MS;
  return {
    ...(toWire(only(step, STEP_KEYS)) as object),
    stalled,
    output: output && toWire({ ...result, ...rest, ...claim }),
  } as z.infer<typeof StepJson>;
}

function only<Value extends object, Key extends keyof Value>(
  value: Value,
  keys: readonly Key[],
): Pick<Value, Key> {
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<Value, Key>;
}
