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
import { AGENT_WAYS, AGENTS } from "./agents/presets.ts";
import { GIT_REF, VIOLATION_RULES, WORKER_KINDS } from "../kernel/plans.ts";
import {
  parseBudgetLimit,
  parseModelName,
  type BudgetLimit,
  type BudgetLimitInput,
} from "../models/card.ts";
import { readGlob } from "./glob.ts";
import { parseHost, type NetworkPolicy } from "./sandbox/network.ts";
import type { WorkerSpec } from "./plan.ts";
import { PATH_REASONS, pathProblem } from "./scope.ts";

// What may stand in a plan: docs/spec/plans §2. A message that begins with "must be" says what is
// allowed.

/** Ports of one plan. Source: docs/spec/plans §3. */
const MAX_PORTS = 10_000;
/** Entries of any list of patterns. */
const MAX_PATTERNS = 500;
/** Characters of a goal and of a command. Both stand in prompts and records. */
const MAX_GOAL = 20_000;
const MAX_COMMAND = 4_000;

/**
 * Stands in names of branches, folders and addresses, so nothing that git or a shell reads
 * otherwise.
 */
const ID_WORDS = "must be 1 to 64 Latin letters, digits, _ or -, beginning with a letter or digit";
const id = z
  .string({ error: ID_WORDS })
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, { error: ID_WORDS });

const line = (longest: number, what: string) =>
  z
    .string({ error: `must be ${what}` })
    .trim()
    .min(1, { error: `must be ${what} that is not empty` })
    .max(longest, { error: `must be ${what} of at most ${longest} characters` });
const command = line(MAX_COMMAND, "a shell command");

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
const globs = z
  .array(glob, { error: "must be a list of patterns such as [src/api/**]" })
  .max(MAX_PATTERNS, { error: `must be at most ${MAX_PATTERNS} patterns` });

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

const program = z
  .array(
    z.string({ error: "must be a text" }).min(1, { error: "must be a text that is not empty" }),
    { error: "must be a program and its arguments as a list, such as [claude-agent-acp]" },
  )
  .min(1, { error: "must be a program and its arguments as a list, such as [claude-agent-acp]" })
  .max(200, { error: "must be a program and at most 199 arguments" });

const modelText = z
  .string({ error: "must be offline, or provider:model" })
  .superRefine((written, context) => {
    try {
      parseModelName(written);
    } catch (error) {
      context.addIssue({ code: "custom", message: sentence(error) });
    }
  });

const ENV_WORDS =
  "must be a list of names of variables, or NAME=value, such as [ANTHROPIC_API_KEY, CI=1]";
/**
 * What a loader or runtime obeys before the program's own first line, and what dure sets itself.
 */
const ENV_REFUSED = /^(?:LD_|DYLD_)|^(?:NODE_OPTIONS|BASH_ENV|ENV|TMPDIR|PWD|HOME)$/;
const envNames = z
  .array(
    z
      .string({ error: ENV_WORDS })
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}(?:=[^\0]{0,4000})?$/, {
        error: "must be the name of a variable (Latin letters, digits and _), or NAME=value",
      })
      .refine((entry) => !ENV_REFUSED.test(entry.split("=")[0]!), {
        error: "is a variable that dure sets or keeps away from workers",
      }),
    { error: ENV_WORDS },
  )
  .max(100, { error: "must be at most 100 names" });

const OUTSIDE_WORDS = "must be a path that begins with / or ~/, without . and .. in it";
const hasPlainSegments = (path: string): boolean =>
  !/[\x00-\x1f\x7f]/.test(path) &&
  path.split("/").every((segment) => !["", ".", "..", "~"].includes(segment));
const outsidePath = z
  .string({ error: OUTSIDE_WORDS })
  .max(1_024, { error: OUTSIDE_WORDS })
  .refine((path) => /^~?\//.test(path) && hasPlainSegments(path.replace(/^~?\//, "")), {
    error: OUTSIDE_WORDS,
  });
const HOME_WORDS = "must be a path below the home folder, such as .claude";
const homePath = z
  .string({ error: HOME_WORDS })
  .max(1_024, { error: HOME_WORDS })
  .refine(hasPlainSegments, { error: HOME_WORDS });
/** Below the folder of the plan, so that a plan can be moved with its scripts. */
const scriptPath = z
  .string({ error: "must be the path of a YAML or JSON file, from the folder of the plan" })
  .superRefine((written, context) => {
    const problem = pathProblem(written);
    if (problem) {
      context.addIssue({
        code: "custom",
        message: `${PATH_REASONS[problem]}; write the path of a script, from the folder of the plan`,
      });
    }
  });

const HOST_WORDS = "must be a host such as api.example.org, *.example.org or 10.0.0.7:8080";
/** A longer list is a network that is open and does not say so. */
const MAX_HOSTS = 50;
const hosts = z
  .array(
    z
      .string({ error: HOST_WORDS })
      .max(300, { error: HOST_WORDS })
      .refine((host) => parseHost(host) !== undefined, { error: HOST_WORDS }),
  )
  .min(1, { error: "must name at least one host" })
  .max(MAX_HOSTS, { error: `must be at most ${MAX_HOSTS} hosts` });
/** A list stands for `provider` with these hosts. */
const policy = (value: "none" | "provider" | "open" | string[]): NetworkPolicy =>
  Array.isArray(value) ? { kind: "provider", hosts: value } : { kind: value, hosts: [] };
const workerNetwork = z
  .union([z.enum(["none", "provider", "open"]), hosts], {
    error: "must be none, provider, open, or a list of hosts",
  })
  .transform(policy);
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

/** Which keys a kind of worker takes beside `kind`. Source: docs/spec/plans §6. */
const WORKER_KEYS = {
  acp: ["command", "mode"],
  model: ["model"],
  command: ["command", "prompt"],
  offline: ["script"],
  own: ["name"],
} as const satisfies Record<WorkerSpec["kind"], readonly WorkerKey[]>;
type WorkerKey = (typeof KEYS_OF_KINDS)[number];
const KEYS_OF_KINDS = ["command", "mode", "model", "name", "prompt", "script"] as const;
const NEEDED_KEYS = {
  acp: ["command"],
  model: ["model"],
  command: ["command"],
  offline: [],
  own: ["name"],
} as const satisfies Record<WorkerSpec["kind"], readonly WorkerKey[]>;

/** Which keys an agent's preset takes. */
const PRESET_KEYS: readonly string[] = ["command", "mode"];

const speaksProtocol = (spec: {
  kind?: string | undefined;
  agent?: string | undefined;
  via?: string | undefined;
}): boolean => spec.kind === "acp" || (spec.agent !== undefined && spec.via !== "exec");

/** Agents whose settings are known where they are started as programs. */
const SERVED_PROGRAMS: readonly string[] = ["claude", "codex"];

const refuseServers = (
  spec: Parameters<typeof speaksProtocol>[0] & {
    mcp?: Readonly<Record<string, { readonly type?: string | undefined }>> | undefined;
    mcpServers?: readonly { readonly name: string }[] | undefined;
  },
  refuse: (key: string, message: string) => void,
): void => {
  const { agent = "", mcp = {}, mcpServers = [] } = spec;
  const key = spec.mcp === undefined ? "mcpServers" : "mcp";
  const names = [...Object.keys(mcp), ...mcpServers.map(({ name }) => name)];
  if (names.length === 0) return;
  if (new Set(names).size < names.length) refuse(key, "names a server twice");
  if (names.length > MAX_SERVERS) refuse(key, `must be at most ${MAX_SERVERS} servers`);
  if (speaksProtocol(spec)) return;
  if (spec.agent === undefined) {
    return refuse(key, "is for agents: agent, or kind acp");
  }
  if (!SERVED_PROGRAMS.includes(agent)) {
    return refuse(key, `is not known for ${agent} as a program; leave out via: exec`);
  }
  if (agent === "codex" && Object.values(mcp).some(({ type }) => type === "sse")) {
    refuse(key, "has a server of type sse, which codex does not reach as a program");
  }
};

/** MCP servers of one worker. */
const MAX_SERVERS = 20;
const SERVER_WORDS = "must be { command: [program, …], env? } or { url, type?, headers? }";
const givenTexts = (words: string, key: RegExp) =>
  z.record(
    z.string().regex(key, { error: words }),
    z
      .string({ error: words })
      .max(4_000, { error: words })
      .regex(/^[^\0\r\n]*$/, { error: words }),
    { error: words },
  );
const mcpServer = settings({
  command: program.optional(),
  env: givenTexts(
    'must be variables with their values, such as { TOKEN: "${TICKETS_TOKEN}" }',
    /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
  ).optional(),
  url: z
    .url({ protocol: /^https?$/, error: "must be an address that begins with https:// or http://" })
    .max(2_000, { error: "must be an address of at most 2000 characters" })
    .optional(),
  type: oneOf(["http", "sse"]).optional(),
  headers: givenTexts(
    'must be headers with their values, such as { Authorization: "Bearer ${TICKETS_TOKEN}" }',
    /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/,
  ).optional(),
}).superRefine((server, context) => {
  const { command, env, url, type, headers } = server;
  const isLocal = command !== undefined && url === undefined && !type && !headers;
  const isRemote = url !== undefined && command === undefined && !env;
  if (!isLocal && !isRemote) context.addIssue({ code: "custom", message: SERVER_WORDS });
});

const worker = settings({
  kind: oneOf(WORKER_KINDS).optional(),
  /** A preset, instead of `kind`. */
  agent: oneOf(AGENTS).optional(),
  /** Of a preset. Default `acp`. */
  via: oneOf(AGENT_WAYS).optional(),
  command: program.optional(),
  /** Of the session of an agent that speaks the protocol. */
  mode: line(100, "the name of a mode of its sessions").optional(),
  model: modelText.optional(),
  /** How a `command` gets its prompt. Default `stdin`. */
  prompt: oneOf(["stdin", "file"]).optional(),
  script: scriptPath.optional(),
  /** Of a worker of the team's own, as its configuration names it. */
  name: id.optional(),
  env: envNames.optional(),
  writable: z
    .array(outsidePath, { error: "must be a list of paths such as [~/.claude]" })
    .max(100, { error: "must be at most 100 paths" })
    .optional(),
  network: workerNetwork.optional(),
  allowHome: z
    .array(homePath, { error: "must be a list of paths below the home folder such as [.claude]" })
    .max(100, { error: "must be at most 100 paths" })
    .optional(),
  copyHome: z
    .array(homePath, {
      error: "must be a list of paths below the home folder such as [.claude/settings.json]",
    })
    .max(100, { error: "must be at most 100 paths" })
    .optional(),
  /** MCP servers of an agent, by name. */
  mcp: z
    .record(id, mcpServer, { error: `must be servers by name; each ${SERVER_WORDS}` })
    .optional(),
  /** The same as a list, of programs alone. */
  mcpServers: z
    .array(settings({ name: id, command: program }), {
      error: "must be a list such as [{ name: tickets, command: [node, tools/tickets.mjs] }]",
    })
    .optional(),
}).superRefine((spec, context) => {
  const refuse = (key: string, message: string): void =>
    context.addIssue({ code: "custom", path: [key], message });
  refuseServers(spec, refuse);
  const { kind, agent } = spec;
  if (kind !== undefined && agent !== undefined) {
    return refuse("kind", `cannot stand beside agent: ${agent}, which says it already`);
  }
  if (agent === undefined && spec.via !== undefined) {
    refuse("via", "belongs to agent, which is missing");
  }
  if (kind === undefined && agent === undefined) {
    return refuse(
      "kind",
      `is missing; must be one of ${WORKER_KINDS.join(", ")}, or agent one of ${AGENTS.join(", ")}`,
    );
  }
  const needed = kind === undefined ? [] : NEEDED_KEYS[kind];
  for (const key of needed) {
    if (spec[key] === undefined) {
      refuse(key, `is missing; a worker of kind ${kind} needs it`);
    }
  }
  const known: readonly string[] = kind === undefined ? PRESET_KEYS : WORKER_KEYS[kind];
  const owner = kind === undefined ? `agent: ${agent}` : `a worker of kind ${kind}`;
  for (const key of KEYS_OF_KINDS) {
    if (spec[key] !== undefined && !known.includes(key)) refuse(key, `is no key of ${owner}`);
  }
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
  setup: command.optional(),
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
