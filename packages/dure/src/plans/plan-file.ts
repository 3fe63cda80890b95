/** A plan file read, in YAML or Markdown, with what is wrong with it. */

import {
  codeDocument,
  inFileOrder,
  MAX_PROBLEMS,
  type Problem,
  problemsError,
  problemsOf,
  readYaml,
  type SettingsDocument,
  type YamlReading,
  type KeyPath,
} from "../engine/files/load-service-document.ts";
import { durationMs } from "../kernel/duration.ts";
import { messageOf } from "../kernel/errors.ts";
import { CLAUDE_SERVER_ARGS } from "./agents/mcp-servers.ts";
import { type AgentName, agentSpec } from "./agents/presets.ts";
import { checkTogether } from "./plan-check.ts";
import {
  HEXAGONAL_ROLES,
  type McpServer,
  type Plan,
  type PlanLimits,
  type PlanWorkers,
  type Port,
  type ReadIsolation,
  type RoleSet,
  type WorkerSpec,
  type WorkerSurroundings,
} from "./plan.ts";
import { assertWithinEffort, EffortMeter, FULL_EFFORT } from "./plan-effort.ts";
import { type PlanDraft, type PlanInput, planSchema } from "./plan-schema.ts";
import { isObject } from "../kernel/json.ts";

/**
 * Either a plan, or why there is none; never both. `problems` lists 50 at most, `problemCount`
 * counts all.
 */
export type PlanReading =
  | { readonly plan: Plan; readonly problems: readonly []; readonly problemCount: 0 }
  | {
      readonly plan?: undefined;
      readonly problems: readonly Problem[];
      readonly problemCount: number;
    };

/** A plan that cannot be read, for one reason. Pure. */
export function unreadable(file: string, message: string, line?: number): PlanReading {
  const problem: Problem =
    line === undefined ? { file, key: "", message } : { file, line, key: "", message };
  return { problems: [problem], problemCount: 1 };
}

/**
 * Characters of a plan's file: 10,000 ports of 1,600 characters each. A plan that is sent is bound
 * by its request's body.
 */
export const PLAN_CHARACTERS = 16_000_000;

/** Source: docs/spec/plans §2. */
const PLAN_LIMITS: PlanLimits = {
  maxConcurrency: 3,
  parallelEnabled: true,
  timeoutPerPortMs: durationMs("30m"),
  tries: 3,
  merge: "at_end",
};

/**
 * Reads the text of plan.yaml, plan.json or plan.md and reports every problem at its line. Pure.
 * Throws `PLAN_TOO_EXPENSIVE` for what is more work than `effort`.
 *
 * @param file as the person wrote it; its ending chooses the reader, and it stands in the problems.
 */
export function readPlan(file: string, text: string, effort = FULL_EFFORT): PlanReading {
  if (text.length > PLAN_CHARACTERS) {
    return unreadable(file, `is longer than ${PLAN_CHARACTERS} characters`);
  }
  const { document, problems, problemCount } = readText(file, text);

  return problemCount > 0 ? { problems, problemCount } : checkPlan(document, effort);
}

/** Checks a plan that code gave. @param text of the module, so that problems can name lines. */
export function readPlanInput(input: PlanInput, file: string, text = ""): PlanReading {
  return checkPlan(codeDocument(file, input, text));
}

/**
 * As `readPlan`, throwing `PLAN_INVALID` with every problem in its message and in
 * `details.problems`.
 */
export function parsePlan(file: string, text: string): Plan {
  const { plan, problems } = readPlan(file, text);
  if (plan) return plan;
  throw problemsError("PLAN_INVALID", `The plan ${file}`, problems);
}

function checkPlan(document: SettingsDocument, effort = FULL_EFFORT): PlanReading {
  if (document.value === undefined || document.value === null) {
    return unreadable(
      document.file,
      "is empty; a plan has at least plan, roles, workers and ports",
    );
  }
  assertWithinEffort(document.value, effort);
  const read = planSchema.safeParse(document.value);
  if (!read.success) {
    return refused(read.error.issues, (issues) => problemsOf({ issues: [...issues] }, document));
  }
  const problems = checkTogether(read.data, document, new EffortMeter(effort));
  if (problems.length > 0) return refused(problems, (some) => some);

  return { plan: settle(read.data), problems: [], problemCount: 0 };
}

/** The first problems in words, and how many there are. */
function refused<Found>(
  found: readonly Found[],
  inWords: (some: readonly Found[]) => readonly Problem[],
): PlanReading {
  const listed = inWords(found.slice(0, MAX_PROBLEMS));
  return { problems: inFileOrder(listed), problemCount: found.length };
}

/** The draft with its defaults. */
function settle(draft: PlanDraft): Plan {
  const { timeoutPerPort, maxRetries, ...given } = draft.limits ?? {};
  const limits: PlanLimits = withoutUndefined(
    { ...PLAN_LIMITS, timeoutPerPortMs: timeoutPerPort, tries: maxRetries, ...given },
    PLAN_LIMITS,
  );
  const { repository, setup, integration, network } = draft;

  return {
    name: draft.plan,
    ...defined({ repository }),
    base: draft.base ?? "HEAD",
    ...defined({ setup, preflight: draft.preflight === true || undefined, integration }),
    roles: rolesOf(draft.roles),
    limits,
    isolation: draft.isolation === "audit" ? "audit" : "enforced",
    reading: readingOf(draft.isolation),
    ...defined({ mode: draft.mode, modeBounds: draft.auto && defined(draft.auto) }),
    violations: draft.violations ?? "stop",
    ...defined({ history: draft.history, publish: draft.publish, mayLeave: draft.mayLeave }),
    ...defined({ network }),
    workers: workersOf(draft.workers),
    contracts: draft.contracts ?? [],
    ports: draft.ports.map((port) => portOf(port, limits)),
  };
}

function readingOf(isolation: PlanDraft["isolation"]): ReadIsolation {
  return isolation === "strict" || isolation === "open" ? isolation : "normal";
}

function portOf(draft: PlanDraft["ports"][number], limits: PlanLimits): Port {
  const { reads, check, noChange, weakerTests, gate, budget, network } = draft;
  return {
    id: draft.id,
    title: draft.title ?? draft.id,
    goal: draft.goal,
    role: draft.role,
    owns: draft.owns ?? [],
    tests: draft.tests ?? [],
    ...defined({ reads }),
    dependsOn: draft.dependsOn ?? [],
    acceptance: draft.acceptance,
    ...defined({ check, noChange, weakerTests, gate, budget, network }),
    timeoutMs: draft.timeout ?? limits.timeoutPerPortMs,
  };
}

function rolesOf(roles: PlanDraft["roles"]): RoleSet {
  if (roles === "hexagonal") return { preset: "hexagonal", names: HEXAGONAL_ROLES };
  if (roles === "modules") return { preset: "modules" };
  const definitions = Object.fromEntries(
    Object.entries(roles).map(([name, role]) => [name, defined(role)]),
  );

  return { preset: "own", names: Object.keys(roles), definitions };
}

type WorkerDraft = PlanDraft["workers"][string];

function workersOf(workers: PlanDraft["workers"]): PlanWorkers {
  const specs = Object.entries(workers).map(([role, draft]): [string, WorkerSpec] => [
    role,
    draft.agent === undefined ? workerOf(draft) : presetOf(draft, draft.agent),
  ]);
  const { default: usual, orchestrator, ...byRole } = Object.fromEntries(specs);

  return { ...defined({ default: usual, orchestrator }), byRole };
}

/** A worker of a kind; the schema has seen to it that its keys are there. */
function workerOf(draft: WorkerDraft): WorkerSpec {
  const { kind = "offline", command = [], model = "", name = "", prompt = "stdin" } = draft;
  const { script, mode } = draft;
  const surroundings = surroundingsOf(draft);
  switch (kind) {
    case "acp":
      return { kind, command, ...defined({ mode }), ...surroundings };
    case "model":
      return { kind, model, ...surroundings };
    case "command":
      return { kind, command, prompt, ...surroundings };
    case "offline":
      return { kind, ...defined({ script }), ...surroundings };
    case "own":
      return { kind, name, ...surroundings };
  }
}

/** A worker that a preset stands for, with what the plan adds to it. */
function presetOf(draft: WorkerDraft, agent: AgentName): WorkerSpec {
  const { via: way = "acp", command, mode } = draft;
  const preset = agentSpec({ agent, way, command, mode });
  const { env = [], set, copyHome = [], ...more } = surroundingsOf(draft);
  const isServedByFile = agent === "claude" && way === "exec" && more.mcpServers !== undefined;

  return {
    ...defined(preset),
    command: isServedByFile ? [...preset.command, ...CLAUDE_SERVER_ARGS] : preset.command,
    ...more,
    env: [...new Set([...(preset.env ?? []), ...env])],
    set: { ...preset.set, ...set },
    copyHome: [...new Set([...(preset.copyHome ?? []), ...copyHome])],
  };
}

function surroundingsOf(draft: WorkerDraft): WorkerSurroundings {
  const { writable, allowHome, readsHome, copyHome, network } = draft;
  const mcpServers = serversOf(draft);
  const names = draft.env?.filter((entry) => !entry.includes("="));
  const values = draft.env?.filter((entry) => entry.includes("=")) ?? [];
  const set = values.length === 0 ? undefined : Object.fromEntries(values.map(literalOf));

  return defined({
    env: names,
    set,
    writable,
    allowHome,
    readsHome,
    copyHome,
    network,
    mcpServers,
  });
}

/** Undefined: it has none. */
function serversOf({ mcp = {}, mcpServers = [] }: WorkerDraft): readonly McpServer[] | undefined {
  const named = Object.entries(mcp).map(([name, server]): McpServer => {
    const { command = [], env, url, type = "http", headers } = server;
    return url === undefined
      ? { name, command, ...defined({ env }) }
      : { name, url, transport: type, ...defined({ headers }) };
  });
  const all = [...named, ...mcpServers];

  return all.length === 0 ? undefined : all;
}

/** Name and value of `NAME=value`. */
function literalOf(entry: string): [string, string] {
  const at = entry.indexOf("=");
  return [entry.slice(0, at), entry.slice(at + 1)];
}

function readText(file: string, text: string): YamlReading {
  const read = /\.(?:md|markdown)$/i.test(file) ? readMarkdown : readYaml;
  try {
    return read(file, text);
  } catch (error) {
    // An alias that grows without bound is refused only when its value is made.
    const problem: Problem = {
      file,
      line: 1,
      key: "",
      message: messageOf(error).replace(/\.$/, ""),
    };

    return {
      document: { file, value: undefined, locate: () => undefined },
      problems: [problem],
      problemCount: 1,
    };
  }
}

/** Members that may be undefined become members that may be missing. */
type Defined<Value> = {
  [Key in keyof Value as undefined extends Value[Key] ? never : Key]: Value[Key];
} & {
  [Key in keyof Value as undefined extends Value[Key] ? Key : never]?: Exclude<
    Value[Key],
    undefined
  >;
};

/** Without the members that are undefined: a plan is compared and stored, so it has none. */
function defined<Value extends object>(value: Value): Defined<Value> {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members) as Defined<Value>;
}

/** `value`, with the members of `defaults` where it has none. */
function withoutUndefined<Value extends object>(
  value: { readonly [Key in keyof Value]: Value[Key] | undefined },
  defaults: Value,
): Value {
  return { ...defaults, ...defined(value) };
}

/** A block of settings between two lines `---`, and the words below it. */
interface PlanFrontMatter {
  readonly settings: SettingsDocument;
  readonly words: string;
}

/**
 * A plan in Markdown: settings of the plan between two lines `---` at the top, and the same for
 * each port, with its goal as the words below. A line `---` begins settings only where `key:`
 * stands on the next one; elsewhere it is a rule.
 */
function readMarkdown(file: string, text: string): YamlReading {
  const lines = text.split(/\r?\n/);
  const isFence = (index: number): boolean => /^---\s*$/.test(lines[index] ?? "");
  const isBegin = (index: number): boolean =>
    isFence(index) && /^[A-Za-z_]+\s*:(?:\s|$)/.test(lines[index + 1] ?? "");
  const first = lines.findIndex((line) => line.trim() !== "");
  if (first < 0 || !isBegin(first)) {
    const line = Math.max(1, first + 1);
    const message = "does not begin with settings between two lines ---";
    const problem: Problem = { file, line, key: "", message };

    return { document: readYaml(file, "").document, problems: [problem], problemCount: 1 };
  }

  const blocks: PlanFrontMatter[] = [];
  const problems: Problem[] = [];
  for (let index = first; index < lines.length;) {
    let end = index + 1;
    while (end < lines.length && !isFence(end)) end++;
    if (end === lines.length) {
      const message = "settings are not closed by a line ---";
      problems.push({ file, line: index + 1, key: "", message });
    }
    const settings = readYaml(file, lines.slice(index + 1, end).join("\n"), index + 1);
    problems.push(...settings.problems);
    let next = end + 1;
    while (next < lines.length && !isBegin(next)) next++;
    const words = lines.slice(end + 1, next).join("\n");
    blocks.push({ settings: settings.document, words: words.trim() });
    index = next;
  }

  return {
    document: joined(file, blocks),
    problems: problems.slice(0, MAX_PROBLEMS),
    problemCount: problems.length,
  };
}

/** One document of the plan's block and its ports' blocks. */
function joined(file: string, [head, ...ports]: readonly PlanFrontMatter[]): SettingsDocument {
  const plan = head!.settings;
  const value = isObject(plan.value) ? { ...plan.value, ports: ports.map(withGoal) } : plan.value;
  const locate = (path: KeyPath) => {
    const port = path[0] === "ports" && path.length > 1 ? ports[Number(path[1])] : undefined;
    return port ? port.settings.locate(path.slice(2)) : plan.locate(path);
  };

  return { file, value, locate };
}

/** The settings of a port, with the words below them as its goal. */
function withGoal({ settings: { value }, words }: PlanFrontMatter): unknown {
  return isObject(value) && words !== "" ? { goal: words, ...value } : value;
}
