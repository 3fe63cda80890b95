/** The form of a plan file, in zod. */

import { z } from "zod";
import {
  oneOf,
  sentence,
  settings,
  text,
  wholeNumber,
  yesOrNo,
} from "../engine/files/load-service-schema.ts";
import { durationMs } from "../kernel/duration.ts";
import { DureError } from "../kernel/errors.ts";
import { GIT_REF, VIOLATION_RULES } from "../kernel/plans.ts";
import { type BudgetLimit, type BudgetLimitInput, parseBudgetLimit } from "../models/card.ts";
import { readGlob } from "./glob.ts";
import { PATH_REASONS, pathProblem } from "./scope.ts";
import { command, id, line } from "./schema-words.ts";
import { hosts, policy, worker, workerNetwork } from "./worker-schema.ts";
import { FILE_RULE_NAMES } from "./leaving/file-rules.ts";
import { ENV_SECRET, GIVEN_SECRET, GENERAL_RULES, SECRET_RULES } from "./leaving/secret-rules.ts";

// What may stand in a plan: docs/spec/plans §2. A message that begins with "must be" says what is
// allowed.

/** Ports of one plan. Source: docs/spec/plans §3. */
const MAX_PORTS = 10_000;
/** Entries of any list of patterns. */
const MAX_PATTERNS = 500;
/** Characters of a goal and of a command. Both stand in prompts and records. */
const MAX_GOAL = 20_000;

/** The rules of findings by name: what an operator may allow. */
export const LEAVING_RULES: readonly string[] = [
  ...new Set([...SECRET_RULES, ...GENERAL_RULES, ENV_SECRET].map(({ rule }) => rule)),
  ...FILE_RULE_NAMES,
  GIVEN_SECRET,
  "submodule",
  "not-looked-at",
];
const LEAVING_WORDS = `must be one of ${LEAVING_RULES.join(", ")}`;

const duration = (from: string, to: string) => {
  const error = `must be a duration from ${from} to ${to}, such as "30m", or milliseconds`;
  return z.union([z.number(), z.string()], { error }).transform((value, context) => {
    const ms = durationOrNaN(value);
    if (ms >= durationMs(from) && ms <= durationMs(to)) return ms;
    context.addIssue({ code: "custom", message: error });

    return z.NEVER;
  });
};

/** Work on a port takes minutes; a day is the length of an unattended run. */
const timeout = duration("1s", "24h");

const BUDGET_WORDS = 'must be an amount such as "20 USD" or "50000 tokens", or {tokens, usd}';
const budget = z.custom<BudgetLimitInput>().transform((value, context): BudgetLimit => {
  try {
    return parseBudgetLimit(
      typeof value === "string" ? value : (budgetAmounts.parse(value) as BudgetLimitInput),
    );
  } catch (error) {
    context.addIssue({
      code: "custom",
      message: error instanceof DureError ? sentence(error) : BUDGET_WORDS,
    });

    return z.NEVER;
  }
});
const budgetAmounts = z.strictObject({
  tokens: z.int().min(0).optional(),
  usd: z.number().min(0).optional(),
});

/** Refused with the first reason; what a pattern means stands in glob.ts. */
const glob = z
  .string({ error: "must be a pattern of paths such as src/api/**" })
  .superRefine((written, context) => {
    const reading = readGlob(written);
    if (!reading.ok) {
      context.addIssue({
        code: "custom",
        message:
          reading.hint === undefined
            ? reading.message
            : `${reading.message}; ${reading.hint.replace(/\.$/, "")}`,
      });
    }
  });
export const globs = z
  .array(glob, { error: "must be a list of patterns such as [src/api/**]" })
  .max(MAX_PATTERNS, { error: `must be at most ${MAX_PATTERNS} patterns` });

/** `may_leave` of a plan, and `plans.mayLeave` of the team's configuration. */
export const mayLeave = z
  .array(settings({ rule: z.enum(LEAVING_RULES, { error: LEAVING_WORDS }), path: glob }), {
    error: "must be a list such as [{ rule: ci, path: .github/workflows/** }]",
  })
  .max(MAX_PATTERNS, { error: `must be at most ${MAX_PATTERNS} entries` });

const filePath = z
  .string({ error: "must be the path of a file, from the root of the repository" })
  .superRefine((written, context) => {
    const problem = pathProblem(written);
    if (problem) {
      context.addIssue({
        code: "custom",
        message: `${PATH_REASONS[problem]}; write the path of a file, from the root of the repository`,
      });
    }
  });

const gitRef = z
  .string({ error: GIT_REF.words })
  .max(GIT_REF.longest, { error: GIT_REF.words })
  .regex(GIT_REF.pattern, { error: GIT_REF.words });

const remoteName = z
  .string({ error: "must be a remote such as origin, or an address" })
  .regex(/^[^-\s][^\s]{0,999}$/, { error: "must be a remote such as origin, or an address" });
/** A command has no model. */
const commandNetwork = z
  .union([z.enum(["none", "open"]), hosts], { error: "must be none, open, or a list of hosts" })
  .transform(policy);
const portNetwork = settings({
  workers: workerNetwork.optional(),
  check: commandNetwork.optional(),
  acceptance: commandNetwork.optional(),
});
/** `network` of a plan, and `plans.network` of the team's configuration. */
export const networkPolicies = settings({
  workers: workerNetwork.optional(),
  setup: commandNetwork.optional(),
  check: commandNetwork.optional(),
  acceptance: commandNetwork.optional(),
  integration: commandNetwork.optional(),
});

const role = settings({
  title: text.optional(),
  reads: globs.optional(),
  forbidden: globs.optional(),
});
const ROLES_WORDS = "must be hexagonal, modules, or your own roles by name";

const port = settings({
  id,
  title: line(200, "a title").optional(),
  goal: line(MAX_GOAL, "what is to be done, in words"),
  role: id,
  owns: globs.optional(),
  tests: globs.optional(),
  reads: globs.optional(),
  dependsOn: z
    .array(id, { error: "must be a list of ports' ids" })
    .max(MAX_PORTS, { error: `must be at most ${MAX_PORTS} ids` })
    .optional(),
  acceptance: command,
  check: command.optional(),
  noChange: oneOf(["allowed"]).optional(),
  gate: oneOf(["person"]).optional(),
  weakerTests: oneOf(["allowed"]).optional(),
  budget: budget.optional(),
  network: portNetwork.optional(),
  timeout: timeout.optional(),
});

const limits = settings({
  maxConcurrency: wholeNumber(1, 100).optional(),
  parallelEnabled: yesOrNo.optional(),
  timeoutPerPort: timeout.optional(),
  tries: wholeNumber(1, 20).optional(),
  /** The same number under its other name. */
  maxRetries: wholeNumber(1, 20).optional(),
  merge: oneOf(["at_end", "as_ready"]).optional(),
  maxCalls: wholeNumber(1, 10_000_000).optional(),
  budget: budget.optional(),
}).superRefine(({ tries, maxRetries }, context) => {
  if (tries !== undefined && maxRetries !== undefined) {
    context.addIssue({
      code: "custom",
      path: ["maxRetries"],
      message: '"tries" and "max_retries" are one setting; keep one of them',
    });
  }
});

export const planSchema = settings({
  plan: id,
  /** Folder of the repository, from the folder of the plan. Default: that of the team. */
  repository: line(1_000, "the path of a folder").optional(),
  base: gitRef.optional(),
  /** `auto`: as the files of the repository say. */
  setup: command.optional(),
  /** Whether the acceptance is tried before anything is paid. */
  preflight: yesOrNo.optional(),
  integration: command.optional(),
  roles: z.union(
    [
      z.enum(["hexagonal", "modules"], { error: ROLES_WORDS }),
      z.record(id, role, { error: ROLES_WORDS }),
    ],
    { error: ROLES_WORDS },
  ),
  limits: limits.optional(),
  /** How much ports may read; `audit` gives up the sandbox. `enforced` is `normal`, as it was. */
  isolation: oneOf(["strict", "normal", "open", "enforced", "audit"]).optional(),
  violations: oneOf(VIOLATION_RULES).optional(),
  history: oneOf(["keep", "squash"]).optional(),
  publish: settings({
    remote: remoteName,
    branch: gitRef.optional(),
    pullRequest: oneOf(["gh", "glab", "none"]).default("none"),
  }).optional(),
  mayLeave: mayLeave.optional(),
  mode: oneOf(["auto", "parallel", "sequential", "single"]).optional(),
  /** Other numbers for `mode: auto`. */
  auto: settings({
    fewFiles: wholeNumber(0, 10_000).optional(),
    manyFiles: wholeNumber(0, 10_000).optional(),
    manyLayers: wholeNumber(0, 100).optional(),
    independent: wholeNumber(1, 10_000).optional(),
    modules: wholeNumber(0, 10_000).optional(),
    targets: wholeNumber(0, 10_000).optional(),
    changes: wholeNumber(0, 10_000).optional(),
  }).optional(),
  network: networkPolicies.optional(),
  workers: z.record(id, worker, { error: "must be workers by role, and default and orchestrator" }),
  contracts: z
    .array(settings({ path: filePath, by: oneOf(["orchestrator"]) }), {
      error: "must be a list such as [{ path: src/ports/sessions.ts, by: orchestrator }]",
    })
    .max(MAX_PATTERNS, { error: `must be at most ${MAX_PATTERNS} contracts` })
    .optional(),
  ports: z
    .array(port, { error: "must be a list of ports" })
    .min(1, { error: "must be at least one port" })
    .max(MAX_PORTS, { error: `must be at most ${MAX_PORTS} ports` }),
});

/** What `definePlan` takes; files may spell every key in snake_case too. */
export type PlanInput = z.input<typeof planSchema>;
/** A plan whose keys are right each for itself; whether they fit together is for plan-check.ts. */
export type PlanDraft = z.output<typeof planSchema>;

function durationOrNaN(value: string | number): number {
  try {
    return durationMs(value);
  } catch {
    return Number.NaN;
  }
}
