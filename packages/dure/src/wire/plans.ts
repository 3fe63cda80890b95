import { z } from "zod";
import { VIOLATION_RULES, WORKER_KINDS } from "../kernel/plans.ts";
import type { FromWire } from "../kernel/wire.ts";
import { CodedJson, json } from "./shared.ts";

/** What `/v1/plans` takes and gives. Source: docs/spec/plans §2. */

// --- requests

export const planName = z.string().min(1).max(200);
export const planFile = z.string().min(1).max(300).meta({
  description: "As it would be called; its ending chooses the reader: .yaml, .json or .md.",
});
export const repository = z
  .string()
  .min(1)
  .max(1_000)
  .optional()
  .meta({
    description:
      "Name of a repository in the configuration, or a folder from the team's. Default: as the plan " +
      "says, else the caller's only one, else the one around the team's folder. A tenant has those " +
      "that the configuration names for it. One that the team has not named needs the scope admin " +
      "and no tenant; the team's own folder is refused unless `plans.ownFolder` is set.",
  });

export const PlanParams = z.object({ name: planName });
export const PlanCheckBody = z.object({ file: planFile, text: z.string() });
export const PlanDraftBody = z.object({
  goal: z.string().trim().min(1).max(8_000),
  repository,
  answers: z
    .array(
      z.object({
        question: z.string().min(1).max(400),
        answer: z.string().trim().min(1).max(2_000),
      }),
    )
    .max(3)
    .optional()
    .meta({ description: "To questions of an earlier draft. A question may be left out." }),
});

// --- answers

export const BecauseJson = z
  .object({ code: z.string(), message: z.string(), hint: z.string().optional() })
  .meta({ id: "Because", description: "Why something stands as it does." });

export const ModeJson = z.object({
  mode: z.enum(["in-order", "parallel"]),
  one_context: z.boolean().optional().meta({
    description:
      "Ports share one context: each goes on from what those before it made, and reads what all own.",
  }),
  wanted: z.enum(["auto", "parallel", "sequential", "single"]).optional().meta({
    description: "What the plan says: `auto` is decided by the conditions.",
  }),
  because: z.string(),
  conditions: z
    .array(
      z.object({
        code: z.string().optional(),
        facts: z.record(z.string(), json).optional(),
        name: z.string(),
        value: z.string(),
        holds: z.boolean(),
      }),
    )
    .meta({ description: "Each condition of docs/spec/plans §5 with its value." }),
});

const PlanProblemJson = z
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

const PortDefinitionJson = z.object({
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
  no_change: z
    .literal("allowed")
    .optional()
    .meta({ description: "It may find that nothing has to be changed." }),
  weaker_tests: z
    .literal("allowed")
    .optional()
    .meta({ description: "Its tests may say less than before." }),
  gate: z
    .literal("person")
    .optional()
    .meta({ description: "Once accepted it waits until a person approves it." }),
  budget: budget.optional(),
});
export const portDefinitionFields = PortDefinitionJson.shape;

export const PlanDefinitionJson = z.object({
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
  history: z.enum(["keep", "squash"]).optional().meta({
    description: "squash: the result is taken over as one commit.",
  }),
  publish: z
    .object({
      remote: z.string(),
      branch: z.string().optional(),
      pull_request: z.enum(["gh", "glab", "none"]),
    })
    .optional()
    .meta({ description: "Where a person may send the result." }),
  isolation_wanted: z.enum(["enforced", "audit"]),
  violations: z.enum(VIOLATION_RULES).meta({
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
});

const PlanFileJson = z
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
    ...PlanDefinitionJson.shape,
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
    ports: z.array(z.object({ ...portDefinitionFields, timeout_ms: z.number() })),
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
    warnings: z.array(CodedJson.extend({ message: z.string() })),
  })
  .meta({ id: "Plan", description: "A plan against its repository, as it would run." });
export type PlanViewJson = z.output<typeof PlanViewJson>;

export const foundProblems = z
  .array(PlanProblemJson)
  .meta({ description: "At most 50; `problem_count` counts all." });

export const PlansAnswer = z.object({ items: z.array(PlanFileJson) });
export const PlanCheckAnswer = z.object({
  ok: z.boolean(),
  problems: foundProblems,
  problem_count: z.int(),
});
export const PlanDraftAnswer = z.object({
  text: z.string(),
  questions: z.array(z.string()).meta({
    description: "What a person could answer for a better draft, with what was assumed; at most 3.",
  }),
  open: z.array(z.string()).meta({ description: "What the draft says it left open; at most 10." }),
  problems: foundProblems,
  problem_count: z.int(),
});

// --- in TypeScript's spelling

/**
 * The reason for a status: a code to find texts by, and a sentence. `hint` is absent where nothing
 * can be done.
 */
export type Because = FromWire<z.output<typeof BecauseJson>>;
/** Something in a plan's file that a person has to change. */
export type PlanProblem = FromWire<z.output<typeof PlanProblemJson>>;
/** A file of the team's folder `plans`; without problems it can run. */
export type PlanFile = FromWire<z.output<typeof PlanFileJson>>;
/** How the ports are worked on, with the value of each condition. Source: docs/spec/plans §5. */
export type RunMode = FromWire<z.output<typeof ModeJson>>;
/** A plan without its ports. */
export type PlanDefinition = FromWire<z.output<typeof PlanDefinitionJson>>;
/** A unit of work as the plan says it. */
export type PortDefinition = FromWire<z.output<typeof PortDefinitionJson>>;
/** A plan against its repository, as it would run. */
export type PlanView = FromWire<PlanViewJson>;
/** Problems of a text that is no file yet. */
export type PlanChecked = FromWire<z.output<typeof PlanCheckAnswer>>;
/** A model's proposal for a plan. */
export type PlanDrafted = FromWire<z.output<typeof PlanDraftAnswer>>;
/** What a draft is asked for: the goal, and answers to the questions of a draft before. */
export type PlanDraftRequest = FromWire<z.input<typeof PlanDraftBody>>;
