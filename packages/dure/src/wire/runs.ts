import { z } from "zod";
import { MAX_NOTE } from "../kernel/escalation.ts";
import {
  CHANNEL_MESSAGE_TYPES,
  CHANNEL_SPEAKERS,
  GIT_REF,
  MAX_PORTS_READ,
  MEMBERS,
  DELIVERIES,
  PLAN_RUN_STATUSES,
  PORT_STATUSES,
  RUN_PHASES,
  STEP_KINDS,
  STEP_STATUSES,
  TRANSCRIPT_KINDS,
  WAITING_FOR,
  WORKER_STATUSES,
} from "../kernel/plans.ts";
import type { QueryInput, FromWire } from "../kernel/wire.ts";
import {
  BecauseJson,
  ModeJson,
  PlanDefinitionJson,
  planFile,
  planName,
  portDefinitionFields,
  repository,
} from "./plans.ts";
import { idempotencyKey, pageOf, time } from "./shared.ts";

/** What `/v1/runs` takes and gives. Source: docs/spec/plans §2 to §6. */

// --- requests

const runId = z.string().min(1).max(100);
const portId = z.string().min(1).max(64);
const portIds = z.array(portId).max(10_000);
const manyTokens = z.int().min(1).max(1_000_000_000);
const manyCalls = z.int().min(1).max(10_000_000);
const access = z.enum(["read", "own"]);

export const RunParams = z.object({ id: runId });
export const PortParams = z.object({ id: runId, port: portId });

export const PortsQuery = z.object({
  ids: z
    .string()
    .max(MAX_PORTS_READ * 101)
    .transform((text) => text.split(",").filter(Boolean))
    .pipe(z.array(portId).max(MAX_PORTS_READ))
    .meta({ description: `Names of ports between commas, at most ${MAX_PORTS_READ}.` }),
});
export const StepParams = z.object({
  ...PortParams.shape,
  step: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
});

export const RunBody = z
  .object({
    plan: planName.optional().meta({
      description: "Name or file of a plan in the team's folder `plans`. Either this or `text`.",
    }),
    text: z
      .string()
      .min(1)
      .optional()
      .meta({
        description:
          "A plan that is no file there; it is checked as one. What reaches beyond its tree " +
          "(`isolation: audit`, `env`, `writable`, `reads_home`, `allow_home`, hosts) needs the scope " +
          "admin. " +
          "`isolation: audit` and `allow_home` need plans:unconfined as well, also in a file of the " +
          "team.",
      }),
    file: planFile.optional().meta({
      description: "What `text` would be called: .yaml, .json or .md. Default plan.yaml.",
    }),
    base: z
      .string({ error: GIT_REF.words })
      .max(GIT_REF.longest, { error: GIT_REF.words })
      .regex(GIT_REF.pattern, { error: GIT_REF.words })
      .optional()
      .meta({
        description: "A branch, a tag or a commit to begin from, instead of the plan's `base`.",
      }),
    repository,
    only: portIds.optional().meta({ description: "Only these ports and what they need." }),
    from: portIds.optional().meta({
      description: "These ports and what needs them; what they need is taken as done at the base.",
    }),
    dry_run: z
      .boolean()
      .optional()
      .meta({ description: "Begins nothing; says what would be done." }),
  })
  .superRefine(({ plan, text, file }, context) => {
    if ((plan === undefined) === (text === undefined)) {
      context.addIssue({
        code: "custom",
        path: ["plan"],
        message: "either `plan` or `text` is needed, and not both",
      });
    }
    if (file !== undefined && text === undefined) {
      context.addIssue({
        code: "custom",
        path: ["file"],
        message: "is the name of a `text`, and there is none",
      });
    }
  });

export const RunHeaders = z.looseObject({
  "idempotency-key": idempotencyKey.optional().meta({
    description:
      "Holds as long as the run is kept, per caller: the same body gives the same run, another " +
      "body is 422.",
  }),
});

export const RunsQuery = z.object({
  plan: planName.optional(),
  status: z.enum(PLAN_RUN_STATUSES).optional(),
  key: idempotencyKey.optional().meta({
    description: "The Idempotency-Key under which the caller began it.",
  }),
  key_prefix: idempotencyKey.optional().meta({
    description: "How the Idempotency-Keys begin under which the caller began them.",
  }),
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().max(100).optional(),
});

const confirm = z
  .string()
  .regex(/^[0-9a-f]{32}$/, { error: "must be the confirm of a refusal" })
  .meta({
    description:
      "A yes to the findings of RESULT_NEEDS_REVIEW: its `confirm`, which holds for them alone.",
  });

export const RunMergeBody = z
  .object({
    into: z.string().min(1).max(250).optional().meta({
      description:
        "A branch. Default: the plan's base, else the branch that the repository stands at.",
    }),
    confirm: confirm.optional(),
  })
  .nullish();

export const RunUndoBody = z
  .object({
    from: z.string().min(1).max(250).optional().meta({
      description: "A branch. Default: the one that it was merged into last.",
    }),
  })
  .nullish();

export const RunPublishBody = z.object({ confirm: confirm.optional() }).nullish();

export const RunExtendBody = z
  .object({
    tokens: manyTokens.optional().meta({ description: "On top of its bound." }),
    calls: manyCalls.optional().meta({ description: "Calls of models, on top of its bound." }),
  })
  .refine(({ tokens, calls }) => tokens !== undefined || calls !== undefined, {
    message: "must name tokens or calls",
  });

export const RunCleanBody = z
  .object({
    run: runId.optional().meta({ description: "This run alone, however old." }),
    older_than_ms: z
      .int()
      .min(0)
      .optional()
      .meta({ description: "Ended longer ago. Default 7 days." }),
    force: z
      .boolean()
      .optional()
      .meta({ description: "What is on no branch, or in no commit, goes too." }),
    dry_run: z
      .boolean()
      .optional()
      .meta({ description: "Removes nothing; says what would be done." }),
    after: z.int().min(0).optional().meta({ description: "`next` of the page before." }),
  })
  .nullish();

export const PortRetryBody = z
  .object({
    hint: z
      .string()
      .trim()
      .min(1)
      .max(MAX_NOTE)
      .optional()
      .meta({ description: "Told to the next try." }),
    tries: z.int().min(0).max(20).optional().meta({ description: "Tries more. Default 1." }),
    by: z.enum(["pair", "orchestrator"]).optional().meta({
      description:
        "Who makes them: the pair (default), or the plan's orchestrator, who has the port from then on.",
    }),
    tokens: manyTokens.optional().meta({ description: "On top of its bound." }),
    calls: manyCalls.optional().meta({ description: "Of models, on top of the run's bound." }),
    time_ms: z
      .int()
      .min(1)
      .max(604_800_000)
      .optional()
      .meta({ description: "Milliseconds on top of its time." }),
    grant: z
      .object({ path: z.string().min(1).max(1_024), wants: access })
      .optional()
      .meta({ description: "A path that it may use beside the plan." }),
  })
  .nullish();

export const PortSayBody = z.object({
  to: z.enum(MEMBERS),
  text: z.string().meta({ description: "At most 8,000 characters." }),
});

export const PortCommentBody = z.object({
  path: z.string().min(1).max(1_024),
  line: z.int().min(1).max(10_000_000).nullish().meta({
    description: "1-based; absent: the comment is about the whole file.",
  }),
  side: z.enum(["old", "new"]).optional().meta({
    description: "Of which file the line is: before the port's work, or after it (the default).",
  }),
  quote: z.string().max(500).optional().meta({ description: "The line as you see it." }),
  text: z.string().trim().min(1).max(2_000),
});

export const CommentParams = z.object({
  ...PortParams.shape,
  comment: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
});

export const PortReviewBody = z
  .object({
    text: z.string().trim().min(1).max(MAX_NOTE).optional().meta({
      description: "Said before the comments.",
    }),
  })
  .nullish();

// --- answers: runs

const tokens = z.int();
const cachedTokens = z
  .int()
  .meta({ description: "Of tokens_in what came from a provider's cache, where that is told." });
const member = z.enum(MEMBERS);

const SolvedJson = z.object({ by: z.string(), files: z.array(z.string()) }).meta({
  description: "Who wrote once what the result and the branch had both changed.",
});

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
  published: z
    .object({
      remote: z.string(),
      branch: z.string(),
      commit: z.string(),
      pull_request: z.string().optional().meta({ description: "Its address." }),
    })
    .optional()
    .meta({ description: "What a person has sent of it, and where to." }),
  merged: z
    .object({
      target: z.string(),
      commit: z.string(),
      before: z.string().meta({ description: "Where the branch stood." }),
      at: time,
      solved: SolvedJson.optional(),
    })
    .optional()
    .meta({ description: "The branch that a person has merged it into." }),
  undone: z
    .object({ target: z.string(), commit: z.string(), at: time })
    .optional()
    .meta({ description: "The commit that took the merge back." }),
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
  status: z.enum(PLAN_RUN_STATUSES),
  phase: z.enum(RUN_PHASES),
  because: BecauseJson.nullable(),
  repository: z.string().meta({
    description:
      "Its folder on the machine; for callers of a tenant its name in the configuration, else the " +
      "name of its folder.",
  }),
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
      memory: z.enum(["group", "watched"]).optional(),
      cpu: z.enum(["group", "yields"]).optional(),
    })
    .nullable()
    .meta({
      description:
        "What holds for processes of workers on its machine, as a trial process showed: a network of " +
        "their own, another user than dure's, files kept from them (by-modes: beside their copies as " +
        "the modes of the machine say). memory: who bounds it, the kernel by a control group, or dure, " +
        "which looks at the processes. cpu: the kernel by a control group, or not, and the processes " +
        "yield to all others. Both are absent in older runs.",
    }),
  mode: ModeJson.nullable(),
  report: ReportJson.nullable(),
  delivery: z
    .enum(DELIVERIES)
    .nullable()
    .meta({
      description:
        "What became of the result. kept: it is on its own branch. superseded: so it is, and a later " +
        "run of the same plan has succeeded with its ports. Null: there is no result.",
    }),
  superseded_by: z.string().nullable().meta({ description: "That later run." }),
  tokens_in: tokens,
  tokens_cached: cachedTokens,
  tokens_out: tokens,
  tokens_most: tokens.nullable(),
  calls: z
    .int()
    .meta({ description: "Of models by its workers; each start of a worker counts as one." }),
  calls_most: z.int().nullable().meta({ description: "Null: no bound." }),
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
export type RunJson = z.output<typeof RunJson>;

const ListedRunJson = z.object({
  ...runFields,
  counts: z.partialRecord(z.enum(PORT_STATUSES), z.int()).meta({
    description: "Ports by status; a status without one is absent.",
  }),
  key: z.string().optional().meta({
    description: "Under which the caller began it; only where keys were asked for.",
  }),
});
export type ListedRunJson = z.output<typeof ListedRunJson>;

export const RunsAnswer = pageOf(ListedRunJson);

const OrderAnswer = z.object({ carried_out: z.boolean(), run: RunJson });
export type OrderAnswer = z.output<typeof OrderAnswer>;
/** How an order to a run is answered. */
export const ORDERED = {
  200: OrderAnswer.meta({ description: "It is done." }),
  202: OrderAnswer.meta({
    description: "It is stored; the run's leader does it as soon as it can.",
  }),
};

export const UndoAnswer = z.object({
  target: z.string().meta({ description: "The branch." }),
  commit: z.string().meta({ description: "The commit that took the merge back." }),
  updated: z
    .string()
    .nullable()
    .meta({ description: "The working tree whose files were updated." }),
  is_new: z.boolean().meta({ description: "false: it was taken back before." }),
});

export const MergeAnswer = z.object({
  kind: z.enum(["merged", "fast-forward", "already", "trying"]).meta({
    description:
      "trying: the branch has moved, and the tests of the merged tree go on; ask again for the same.",
  }),
  target: z.string().meta({ description: "The branch." }),
  commit: z.string().meta({ description: "Where the branch stands now; trying: the result." }),
  updated: z
    .string()
    .nullable()
    .meta({ description: "The working tree whose files were updated." }),
  solved: SolvedJson.optional(),
});

const FindingJson = z.object({
  rule: z.string().meta({ description: "What it is, such as github-token or ci." }),
  path: z.string(),
  line: z.int().nullable().meta({ description: "null: the whole file." }),
  excerpt: z
    .string()
    .nullable()
    .meta({ description: "Of a secret only its public beginning and its length." }),
  commit: z.string().meta({ description: "The commit that brings it." }),
});

/** `details` of RESULT_NEEDS_REVIEW. */
export const ReviewNeededJson = z.object({
  confirm: z.string().meta({ description: "Sent again, it is a yes to exactly these findings." }),
  commit: z.string().meta({ description: "The result." }),
  count: z.int().meta({ description: "All findings; the list has 200 at most." }),
  findings: z.array(FindingJson),
});

export const LeavingQuery = z.object({
  into: z
    .string()
    .min(1)
    .max(250)
    .optional()
    .meta({ description: "A branch. Default: as of a merge." }),
});
export const PublishAnswer = z.object({
  remote: z.string(),
  branch: z.string(),
  commit: z.string(),
  is_new: z.boolean().meta({ description: "false: the branch had it before." }),
  pull_request: z.string().optional().meta({ description: "Its address." }),
});

export const RunApproveBody = z.object({
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/, { error: "must be the whole id of a commit" })
    .meta({ description: "The result that was looked at; another one is refused." }),
});
export const ApprovalsAnswer = z.object({
  commit: z.string().meta({ description: "The result that was approved." }),
  needed: z.int().meta({ description: "Approvals before it is merged or published." }),
  counted: z.int().meta({ description: "Those that count." }),
  approvals: z.array(z.object({ person: z.string(), by: z.string(), created_at: z.int() })),
  not: z.enum(["author"]).nullable().meta({
    description: "Whose approval does not count: that of the person who began the run.",
  }),
  author: z.string().nullable().meta({
    description: "Who began the run; null: nothing names a person, so each approver may be it.",
  }),
});

export const LeavingAnswer = z.object({
  target: z.string().nullable().meta({ description: "The branch; null: the base of the run." }),
  review: ReviewNeededJson.nullable().meta({ description: "null: nothing is to be looked at." }),
  allowed: z
    .array(z.object({ rule: z.string(), path: z.string(), by: z.enum(["team", "plan"]) }))
    .meta({ description: "What leaves without being asked for, by rule and paths." }),
  gate: ApprovalsAnswer,
  may_confirm: z.boolean().meta({ description: "Whether this caller may say yes to findings." }),
});

const CleanedJson = z.object({
  run: z.string(),
  plan: z.string(),
  outcome: z.enum(["cleaned", "kept"]),
  because: BecauseJson.optional().meta({ description: "Why it was kept." }),
});
export const CleanAnswer = z.object({
  items: z.array(CleanedJson),
  next: z
    .int()
    .nullable()
    .meta({ description: "Where the next page begins; null: this was the last one." }),
});
export type CleanAnswer = z.output<typeof CleanAnswer>;

export const RunStream = {
  description:
    "SSE. First `event: run` with the whole run, then its events (`data:` is the envelope of " +
    "/v1/events) until run.end. With Last-Event-ID only what came behind it; `event: reset` says " +
    "that older events are gone.",
  content: { "text/event-stream": { schema: z.string() } },
};
export const RunIsRead = z.null().meta({ description: "It has ended, and all was read." });

const change = z.object({ path: z.string(), kind: z.enum(["new", "modified", "deleted"]) });

export const DiffJson = z.object({
  changes: z.array(change),
  patch: z.string(),
  is_cut: z.boolean().meta({ description: "The patch was longer than is shown." }),
});
export type DiffJson = z.output<typeof DiffJson>;

// --- answers: steps

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

const FeedbackJson = z
  .looseObject({
    success: z.boolean(),
    failed_tests: z.array(
      z.object({
        name: z.string(),
        expected: z.string().optional(),
        actual: z.string().optional(),
        stack_trace: z.string().optional(),
        suggested_fix: z.string().optional(),
        file: z.string().optional(),
        line: z.int().optional(),
      }),
    ),
    suggestions: z.array(z.string()),
    reviewed_by: z.string().optional().meta({
      description: "A person asked for changes: the first suggestions are theirs.",
    }),
    metrics: z.object({
      total: z.int(),
      passed: z.int(),
      failed: z.int(),
      duration_ms: z.number(),
      coverage: z.number().optional().meta({ description: "Covered part of the lines, 0 to 1." }),
    }),
  })
  .meta({
    id: "TestFeedback",
    description: "What tests said; at most 30 failed tests, `metrics.failed` counts all.",
  });

const StepOutputJson = z
  .looseObject({
    status: z.enum(WORKER_STATUSES).optional(),
    summary: z.string().optional(),
    claimed_files: z.array(z.string()).optional(),
    failed_files: z
      .array(z.string())
      .optional()
      .meta({ description: "Claimed and not changed; not of a program, which claims nothing." }),
    unclaimed_files: z
      .array(z.string())
      .optional()
      .meta({ description: "Changed and not claimed; not of a program." }),
    error: BecauseJson.optional(),
    commit: z.string().optional(),
    changes: z.array(change.extend({ bytes: z.int().optional() })).optional(),
    violations: z.array(z.object({ path: z.string(), because: z.string() })).optional(),
    feedback: FeedbackJson.optional(),
    red: z.boolean().optional().meta({
      description: "Of a step `base`: the acceptance fails there, as it has to.",
    }),
    framework: z.string().optional(),
    counted: z
      .object({
        framework: z.string(),
        passed: z.int(),
        failed: z.int(),
        skipped: z.int(),
      })
      .nullish()
      .meta({
        description:
          "Of a step `accept`, and of a step `count` on what the port began from: tests by the " +
          "output's own summary. Absent or null: no number is sure.",
      }),
    exit_code: z.int().nullish(),
    because: z.string().optional(),
    output: z.string().optional(),
  })
  .meta({
    description:
      "What came of it; which members are there depends on its kind. Of a worker: from status to " +
      "violations. Of the acceptance: from feedback to output.",
  });

const StepWaitingJson = z
  .object({
    for: z.enum(WAITING_FOR),
    since: time,
    status: z
      .int()
      .nullish()
      .meta({ description: "With which the provider answers. Null: not at all." }),
    until: time.nullable().meta({
      description: "When it goes on: what the provider said, or a guess. Null: as soon as it can.",
    }),
    is_told: z.boolean().meta({ description: "The provider named the moment." }),
    says: z.string().meta({ description: "The line that says it." }),
  })
  .meta({ id: "StepWaiting", description: "No try is used up; it goes on by itself." });

const StepJson = z
  .object({
    id: z.int(),
    node: NodeJson,
    port: z.string(),
    try: z.int().meta({ description: "1-based over all tries of the port; 0 before the first." }),
    kind: z.enum(STEP_KINDS),
    member: member.nullable(),
    worker: z.string().nullable(),
    status: z.enum(STEP_STATUSES).meta({
      description:
        "stopped: its port failed or was cancelled meanwhile; a later try begins it again.",
    }),
    starts: z.int().meta({ description: "More than 1 after a crash." }),
    progress: z.number().meta({ description: "0 to 1." }),
    task: z.string(),
    tokens_in: tokens,
    tokens_cached: cachedTokens,
    tokens_out: tokens,
    output: StepOutputJson.nullable(),
    log: z.string().meta({ description: "The end of what was printed and said." }),
    started_at: time,
    seen_at: time.meta({ description: "When it last gave a sign." }),
    stalled: z.boolean().meta({ description: "A worker that works gave no sign for 10 s." }),
    waiting: StepWaitingJson.nullable().meta({
      description: "While the provider of its worker serves no calls.",
    }),
    finished_at: time.nullable(),
  })
  .meta({ id: "PlanStep" });

// --- answers: ports

const PortJson = z.object({
  ...portDefinitionFields,
  status: z.enum(PORT_STATUSES),
  because: BecauseJson.nullable(),
  attempt: z
    .int()
    .meta({ description: "Starts by the scheduler, not tries; those after a crash included." }),
  tries_made: z.int().meta({ description: "Tries that were begun." }),
  waiting: StepWaitingJson.nullable().meta({ description: "What its step waits for." }),
  unproven: z.boolean().meta({ description: "Its tests pass without its work too." }),
  tries_pair: z.int().meta({ description: "Tries that its pair may make." }),
  tries_orchestrator: z
    .int()
    .meta({ description: "Tries that the orchestrator may make after that." }),
  spent_ms: z.number(),
  time_ms: z.number().meta({ description: "Of all its tries together." }),
  tokens_in: tokens,
  tokens_cached: cachedTokens,
  tokens_out: tokens,
  tokens_most: tokens.nullable(),
  hint: z.string().nullable().meta({ description: "What a person said for the next try." }),
  grants: z.array(z.object({ path: z.string(), wants: access, by: z.string() })),
  start_commit: z.string().nullable(),
  result_commit: z.string().nullable(),
  started_at: time.nullable(),
  finished_at: time.nullable(),
});

export const RunDetailJson = z
  .object({
    ...runFields,
    definition: PlanDefinitionJson.meta({
      description: "The plan as it was read when the run began.",
    }),
    ports: z.array(PortJson),
    orchestrator: z.array(StepJson).meta({ description: "Steps of no port: contracts and merge." }),
  })
  .meta({ id: "RunDetail" });
export type RunDetailJson = z.output<typeof RunDetailJson>;

export const RunPortsJson = z.object({ ports: z.array(PortJson) }).meta({ id: "RunPorts" });
export type RunPortsJson = z.output<typeof RunPortsJson>;

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
    /** Named so by older releases, whose pages read it: an entry is a try. */
    rounds: z.array(
      z.object({
        try: z.int(),
        by: member.nullable(),
        status: z
          .enum(WORKER_STATUSES)
          .nullable()
          .meta({ description: "What the worker reported; null while it works." }),
        feedback: FeedbackJson.nullable().meta({
          description: "What the newest test, check or merge of the try said.",
        }),
      }),
    ),
  })
  .meta({ id: "FeedbackLoop", description: "The tries of a port as one record." });

const ChannelMessageJson = z.object({
  id: z.int(),
  from: z.enum(CHANNEL_SPEAKERS),
  to: z.enum(CHANNEL_SPEAKERS),
  type: z.enum(CHANNEL_MESSAGE_TYPES),
  payload: z.unknown(),
  reply_to: z.int().nullable(),
  created_at: time,
  delivered_at: time.nullable(),
  processed_at: time.nullable(),
});

export const TranscriptQuery = z.object({
  member: z.enum(MEMBERS).optional(),
  step: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  search: z.string().min(1).max(200).optional().meta({
    description: "Lines that hold these words; case does not matter.",
  }),
  after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional().meta({
    description: "Lines behind this one: the `next` of an answer.",
  }),
  before: z.coerce
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({
      description:
        "The newest lines that stand before this one, still oldest first; `has_more` then speaks " +
        "of older ones.",
    }),
  limit: z.coerce.number().int().min(1).max(500).optional(),
});

const TranscriptLineJson = z.object({
  id: z.int(),
  step: z.int(),
  try: z.int(),
  member: member.nullable(),
  kind: z.enum(TRANSCRIPT_KINDS).meta({
    description:
      "heard: words of a person that the worker read; session: its agent's conversation began " +
      "or went on; end: how the step ended.",
  }),
  title: z.string(),
  text: z.string(),
  status: z.string().optional(),
  at: time,
});

export const TranscriptJson = z
  .object({
    lines: z.array(TranscriptLineJson),
    next: z.int().meta({ description: "What to ask `after` next; new lines come behind it." }),
    has_more: z.boolean(),
  })
  .meta({ id: "Transcript", description: "What the workers of a port thought, said and did." });
export type TranscriptJson = z.output<typeof TranscriptJson>;

const ViolationJson = z.object({
  port: z.string(),
  try: z.int(),
  member,
  path: z.string(),
  wanted: z.enum(["read", "write"]),
  because: z.string(),
  detail: z.string().nullable(),
  found: z.enum(["request", "commit"]).meta({
    description:
      "request: refused before it happened; commit: found when the worker's work was taken.",
  }),
  at: time,
});

export const PortDetailJson = z
  .object({
    ...PortJson.shape,
    channel: ChannelJson,
    loop: LoopJson,
    steps: z.array(StepJson),
    messages: z.array(ChannelMessageJson),
    violations: z.array(ViolationJson),
  })
  .meta({
    id: "PortDetail",
    description: "One port of a run with its steps, the pair's messages and what was refused.",
  });
export type PortDetailJson = z.output<typeof PortDetailJson>;

export const ManifestJson = z.looseObject({
  blocks: z.array(
    z.looseObject({
      code: z.string().optional(),
      name: z.string(),
      path: z.string().optional(),
      form: z.string().optional(),
      tokens: z.number(),
    }),
  ),
  total: z.number(),
  full_context: z.number().meta({
    description: "Tokens of the same prompt with all that its role would read, whole.",
  }),
  saved: z.number().meta({ description: "Share that was saved, 0 to 1." }),
});
export type ManifestJson = z.output<typeof ManifestJson>;

const CommentJson = z.object({
  id: z.int(),
  path: z.string(),
  line: z.int().nullable(),
  side: z.enum(["old", "new"]),
  quote: z.string(),
  text: z.string(),
  by: z.string(),
  created_at: time,
  sent_try: z
    .int()
    .nullable()
    .meta({ description: "The try that it was said about; null: it was not sent yet." }),
});

export const CommentsAnswer = z
  .object({ items: z.array(CommentJson) })
  .meta({ id: "PortComments", description: "What people said about a port's work, oldest first." });

export const PortSaidAnswer = z
  .object({ id: z.int() })
  .meta({ description: "Stored among the port's messages, which tell when it was read." });

// --- in TypeScript's spelling

/** One execution of a plan. Times are milliseconds since the epoch. */
export type PlanRun = FromWire<RunJson>;
/** A run in a list, with the number of its ports by status. */
export type ListedRun = FromWire<ListedRunJson>;
/** A run with its plan, its ports and the steps of no port. */
export type RunDetail = FromWire<RunDetailJson>;
/** Some ports of a run, as the run has them. */
export type RunPorts = FromWire<RunPortsJson>;
/** Outcome of a run; without a commit nothing was kept. */
export type RunReport = NonNullable<PlanRun["report"]>;
/** A port of a run: what it is to do, and how it stands. */
export type PlanPort = FromWire<z.output<typeof PortJson>>;
/** A port of a run: its steps, the pair's messages, and what was refused. */
export type PortDetail = FromWire<PortDetailJson>;
/** A path that was allowed to a port in addition to the plan. */
export type PathGrant = PlanPort["grants"][number];
/** One step of a try. */
export type PlanStep = FromWire<z.output<typeof StepJson>>;
export type StepWaiting = FromWire<z.output<typeof StepWaitingJson>>;
/** Of a step that has ended; which members are there depends on its kind. */
export type StepOutput = FromWire<z.output<typeof StepOutputJson>>;
/** What tests said. Source: docs/spec/plans §4. */
export type TestFeedback = FromWire<z.output<typeof FeedbackJson>>;
/** The way between the two members of a port's pair. */
export type DirectChannel = FromWire<z.output<typeof ChannelJson>>;
/** The tries of a port as one record. */
export type FeedbackLoop = FromWire<z.output<typeof LoopJson>>;
/** A word between the members of a pair, or of the operator. */
export type ChannelMessage = FromWire<z.output<typeof ChannelMessageJson>>;
/** What a worker wanted and may not. */
export type PlanViolation = FromWire<z.output<typeof ViolationJson>>;
/** What the prompt of a step was made of. */
export type ContextManifest = FromWire<ManifestJson>;
/** What a port changed against the commit that it started from; `patch` is in git's format. */
export type TreeDiff = FromWire<DiffJson>;
/** What the workers of a port thought, said and did, oldest first. */
export type Transcript = FromWire<TranscriptJson>;
/** One thing that a worker thought, said, did or read. */
export type TranscriptLine = Transcript["lines"][number];
/** Which lines are asked for. */
export type TranscriptFilter = QueryInput<z.output<typeof TranscriptQuery>>;
/** Where a run's branch was merged. `already`: it had the commits before. */
export type MergeOutcome = Omit<FromWire<z.output<typeof MergeAnswer>>, "kind"> & {
  readonly kind: Exclude<z.output<typeof MergeAnswer>["kind"], "trying">;
};
/** A merge that was taken back. */
export type UndoOutcome = FromWire<z.output<typeof UndoAnswer>>;
/** How a result stands before it may be merged. */
export type Approvals = FromWire<z.output<typeof ApprovalsAnswer>>;
/** What a person looks at before a result leaves its run. */
export type RunLeaving = FromWire<z.output<typeof LeavingAnswer>>;
/** A secret, or what runs where it arrives, in a result that would leave its run. */
export type ResultFinding = Readonly<z.output<typeof FindingJson>>;
/** What a person looks at before a result leaves. */
export type ReviewNeeded = FromWire<z.output<typeof ReviewNeededJson>>;
/** What was sent of a run. `isNew: false`: it was there before. */
export type PublishOutcome = FromWire<z.output<typeof PublishAnswer>>;
/** What became of one run's files. `because` is absent when they are gone. */
export type RunCleaned = FromWire<z.output<typeof CleanedJson>>;
export type RunsCleaned = FromWire<CleanAnswer>;
/** `carriedOut: false`: it is stored, and the run's leader does it as soon as it can. */
export type RunOrdered = FromWire<OrderAnswer>;

type RunAsked = FromWire<z.input<typeof RunBody>>;
/** What of a plan runs, where, and from what. */
export type RunChoice = Pick<RunAsked, "base" | "repository" | "only" | "from">;
/** A plan of the team by its name or file, or the text of one that is no file there. */
export type PlanSource =
  | Required<Pick<RunAsked, "plan">>
  | Required<Pick<RunAsked, "file" | "text">>;
/** A plan to run, by name or by text, and which of its ports. */
export type RunRequest = PlanSource & RunChoice;
/** Which runs are wanted, newest first. All given members must fit. `limit` is 1–200. */
export type RunsFilter = QueryInput<z.output<typeof RunsQuery>>;
/** Which runs that are over lose their files. Nothing given: those that ended over 7 days ago. */
export type CleanRequest = FromWire<NonNullable<z.input<typeof RunCleanBody>>>;
/**
 * What a port that failed may have for its next tries. Nothing given: one more try under the same
 * bounds.
 */
export type RetryRequest = FromWire<NonNullable<z.input<typeof PortRetryBody>>>;
/** What a person says about a line, or a file, that a port has changed. */
export type PortComment = FromWire<z.output<typeof CommentJson>>;
/** A comment that is written; it waits until the review is sent. */
export type CommentRequest = FromWire<z.input<typeof PortCommentBody>>;
/** What a person says to one member of a port's pair. */
export type PortWords = FromWire<z.input<typeof PortSayBody>>;
/** Which message of its port it is. */
export type PortSaid = FromWire<z.output<typeof PortSaidAnswer>>;
