import { existsSync } from "node:fs";
import path from "node:path";
import { importModule } from "../engine/files/import-module.ts";
import type { Problem } from "../engine/files/load-service-document.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { planFilesIn, readPlanFile } from "../plans/plan-folder.ts";
import { contractProblems, ownershipOf, ownershipWarnings } from "../plans/plan-ownership.ts";
import type { Plan } from "../plans/plan.ts";
import type { Project } from "../plans/project/project.ts";
import { readProject } from "../plans/project/read-project.ts";
import { AUTO_SETUP } from "../plans/project/settle-setup.ts";
import { NamedRepositories, shownRepository } from "../plans/runs/named-repositories.ts";
import { TeamGuard } from "../plans/runs/team-guard.ts";
import { Git } from "../plans/workspace/git.ts";
import { ownedWarnings } from "../plans/workspace/owned-warnings.ts";
import { Repository } from "../plans/workspace/repository.ts";
import { TeamFiles } from "../plans/workspace/team-files.ts";
import { loadTeam } from "../team/config.ts";
import { childEnvironment } from "../team/environment.ts";
import { repositoriesOf, runsFromElsewhere } from "../team/repositories.ts";
import { agentsOf, checkAgents } from "./doctor/agents.ts";
import type { Finding } from "./doctor/finding.ts";
import { projectLines } from "./task-ground.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

/** Files without an owner that are listed. */
const UNOWNED_SHOWN = 20;
/** A plan that names no repository works on the one around the team's folder. */
const UNNAMED_HINT =
  "Name the repository in the plan (repository: ../../shop), or in the configuration (repositories).";

/** What a plan means for the files that it starts from. */
interface CheckedBase {
  readonly commit: string;
  /** Of a plan with `setup: auto`: what its repository says. */
  readonly project?: Project | undefined;
  /** At most {@link UNOWNED_SHOWN}; `unownedCount` counts all. */
  readonly unowned: readonly string[];
  readonly unownedCount: number;
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
}

interface CheckedPlan {
  readonly file: string;
  readonly plan: string | undefined;
  readonly ports: number;
  readonly problems: readonly Problem[];
  /** Null: the plan is wrong, or its repository cannot be read here. */
  readonly base: CheckedBase | null;
}

/**
 * Checks plans without a server: one by its file or name, or all of the team's folder `plans`; each
 * by itself, and against the files of its repository where that is there. 1 when a problem was
 * found.
 */
export async function checkPlans(
  what: string | undefined,
  { folder, output, agents }: { folder: string; output: Output; agents: boolean },
): Promise<ExitCode> {
  const plans = path.resolve(folder, "plans");
  const files =
    what === undefined
      ? (await planFilesIn(plans)).map((name) => path.join(plans, name))
      : [await findPlan(what, plans)];

  const git = new Git({ env: childEnvironment({}) });
  const repositories = await repositoriesFor(folder, plans, git);
  const checked: CheckedPlan[] = [];
  const read: Plan[] = [];
  for (const file of files) {
    const { plan, ...shown } = await checkPlan(file, { repositories, git, output });
    checked.push({ ...shown, plan: plan?.name });
    if (plan && shown.problems.length === 0) read.push(plan);
  }

  if (files.length === 0) {
    output.note(output.words.plans.list.noneIn(plans));
  }
  const found = checked.reduce((sum, { problems }) => sum + problems.length, 0);
  const asked = agents ? await askAgents(read, output) : [];
  const answers = asked.length > 0 ? asked : undefined;
  output.result({ ok: found === 0, plans: checked, agents: answers });

  return found === 0 ? EXIT.ok : EXIT.failed;
}

/** What each agent of the plans answers here. One that does not is no problem of the plan. */
async function askAgents(plans: readonly Plan[], output: Output): Promise<readonly Finding[]> {
  const network = { team: {}, env: childEnvironment({}) };
  const checks = await checkAgents(agentsOf(plans), network);
  for (const { status, name, detail, hint } of checks) {
    const { green, yellow } = output.colors;
    const { check, plans: words, said } = output.words;
    const mark = status === "ok" ? green(check.marks.ok) : yellow(words.check.look);
    output.line(`${mark} ${check.about(name)}: ${said(detail)}`);
    if (hint !== undefined && status !== "ok") output.line(`     ${said(hint)}`);
  }

  return checks;
}

/** Checks one plan, and says what is wrong with it. */
async function checkPlan(
  file: string,
  { output, ...parts }: BaseParts & { output: Output },
): Promise<Omit<CheckedPlan, "plan"> & { readonly plan: Plan | undefined }> {
  const shown = path.relative(process.cwd(), file);
  const name = shown.startsWith("..") ? file : shown;
  const { plan, ...reading } = await readPlanFile(file, name, { importModule });
  const found = plan && (await checkBase(plan, name, parts));

  const problems = [...reading.problems, ...(found?.problems ?? [])];
  const base = found?.base ?? null;
  const checked = { file: shown, plan: plan?.name, ports: plan?.ports.length ?? 0, problems, base };
  printChecked(checked, output);
  const unshown = reading.problemCount - reading.problems.length;
  if (unshown > 0) output.line(output.words.plans.check.more(name, unshown));
  if (base) printBase(base, output);

  return { ...checked, plan };
}

function printChecked({ file, plan, ports, problems }: CheckedPlan, output: Output): void {
  const { words } = output;
  if (plan !== undefined && problems.length === 0) {
    const mark = output.colors.green(words.check.marks.ok);
    output.line(`${mark} ${plan} (${file}): ${words.plans.ports(ports)}`);
  }
  for (const problem of problems) output.line(words.said(planProblemText(problem)));
}

interface BaseParts {
  readonly repositories: NamedRepositories;
  readonly git: Git;
}

/**
 * Where plans work, as the team's configuration says. Where that cannot be read here, `dure check`
 * says so, and nothing is known of the team's own folder.
 */
async function repositoriesFor(
  folder: string,
  plans: string,
  git: Git,
): Promise<NamedRepositories> {
  const team = await loadTeam(folder).catch(() => undefined);
  const files = new TeamFiles({ folder, git, runs: team && runsFromElsewhere(team) });
  const ownFolder = team === undefined || team.config.plans?.ownFolder === true;

  return new NamedRepositories({
    repository: folder,
    folder: plans,
    repositories: team && repositoriesOf(team),
    git,
    readPlan: (name) => readPlanFile(path.join(plans, name), name, { importModule }),
    team: new TeamGuard({ files, ownFolder }),
  });
}

function printBase(
  { project, warnings, unowned, unownedCount }: CheckedBase,
  output: Output,
): void {
  const { plans: words, said } = output.words;
  for (const line of project ? projectLines(project, words) : []) output.line(`     ${line}`);
  for (const { message } of warnings) {
    output.line(`${output.colors.yellow(words.check.look)} ${said(message)}`);
  }
  if (unownedCount === 0) return;

  const left = unownedCount - unowned.length;
  const files = unowned.join(", ");
  output.line(`     ${words.check.unowned(left > 0 ? words.andMore(files, left) : files)}`);
}

/** A plan against the files that it starts from. What the run would refuse is a problem here. */
async function checkBase(
  plan: Plan,
  file: string,
  { repositories, git }: BaseParts,
): Promise<{
  readonly problems: readonly Problem[];
  readonly base?: CheckedBase;
}> {
  let commit: string;
  let files: string[];
  let project: Project | undefined;
  let ignored: CheckedBase["warnings"];

  try {
    const { signal } = new AbortController();
    const shown = shownRepository(plan.repository);
    const asked = { tenant: null, signal };
    const folder = await repositories.allowed(
      repositories.locate(undefined, plan, null),
      shown,
      asked,
    );
    const repository = await Repository.open(folder, { git });
    commit = await repository.resolve(plan.base);
    files = (await repository.listFiles(commit)).map(({ path: listed }) => listed);
    if (plan.setup === AUTO_SETUP) project = await readProject(repository, commit, {});
    ignored = await ownedWarnings(repository, { commit, ports: plan.ports });
  } catch (error) {
    return { problems: [unreadProblem(plan, file, error)] };
  }

  const ownership = ownershipOf(plan, files);
  const found = ownershipWarnings(plan, ownership);

  const problems = contractProblems(found, file);
  const warnings = [...found.filter(({ code }) => code !== "CONTRACTS_MISSING"), ...ignored];
  const { unowned } = ownership;

  return {
    problems,
    base: {
      commit,
      project,
      unowned: unowned.slice(0, UNOWNED_SHOWN),
      unownedCount: unowned.length,
      warnings,
    },
  };
}

/** Which key of a plan leads to what is wrong with its repository. */
const KEYS: Readonly<Record<string, string>> = { BASE_UNKNOWN: "base", PROJECT_INVALID: "setup" };

/** Why the plan cannot run: its files cannot be read. Pure. */
function unreadProblem({ repository }: Plan, file: string, error: unknown): Problem {
  const { code, hint } = error instanceof DureError ? error : { code: undefined, hint: undefined };
  const isUnnamed = repository === undefined && code === "NOT_A_REPOSITORY";

  return {
    file,
    key: KEYS[code ?? ""] ?? "repository",
    message: messageOf(error).replace(/\.$/, ""),
    hint: isUnnamed ? UNNAMED_HINT : hint,
  };
}

/** `plan.yaml:12:5 ports.0.owns: message — hint`. Pure. */
export function planProblemText({
  file,
  line,
  column,
  key,
  message,
  found,
  allowed,
  hint,
}: Problem): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  const where = key === "" ? "" : `${key}: `;

  const facts = [
    found === undefined ? undefined : `found ${found}`,
    allowed === undefined ? undefined : `allowed: ${allowed}`,
    hint,
  ].filter((fact) => fact !== undefined);

  const behind = facts.length === 0 ? "" : ` — ${facts.join("; ")}`;

  return `${place} ${where}${message}${behind}`;
}

async function findPlan(what: string, plans: string): Promise<string> {
  for (const file of [path.resolve(what), path.join(plans, what)]) {
    if (path.extname(file) !== "" && existsSync(file)) return file;
  }
  const names: string[] = [];

  for (const name of await planFilesIn(plans)) {
    const file = path.join(plans, name);
    const { plan } = await readPlanFile(file, name, { importModule });
    const known = plan?.name ?? path.basename(name, path.extname(name));
    if (known === what) return file;
    names.push(known);
  }

  throw new DureError(
    "PLAN_UNKNOWN",
    `There is no file ${what}, and no plan of this name in ${plans}.`,
    {
      class: "input",
      hint:
        names.length > 0 ? `There are ${names.join(", ")}.` : "Make one with: dure new plan NAME",
    },
  );
}
