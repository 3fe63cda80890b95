import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { checkService } from "../../engine/files/load-service-check.ts";
import { importModule } from "../../engine/files/import-module.ts";
import { problemText } from "../../engine/files/load-service-document.ts";
import { messageOf } from "../../kernel/errors.ts";
import { planFilesIn, readPlanFile } from "../../plans/plan-folder.ts";
import { loadTeam, type LoadedTeam } from "../../team/config.ts";
import type { Environment } from "../../team/environment.ts";
import { settingsOf } from "../../team/limits.ts";
import { missingPersonas } from "../../team/missing-personas.ts";
import { withOfflineModels } from "../../team/offline-models.ts";
import { failed, type Finding } from "./finding.ts";

/** Problems of one file that are told; the rest are counted. */
const MAX_TOLD = 5;

/** The configuration, or what keeps it from being read: first the services that it imports. */
export async function readTeam(
  folder: string,
  environment: Environment,
): Promise<{ team: LoadedTeam | undefined; findings: readonly Finding[] }> {
  try {
    const team = await withOfflineModels(await loadTeam(folder), environment);
    settingsOf(team.config, environment);
    const services = Object.keys(team.services);
    const named = services.length === 0 ? "no services" : `services ${services.join(", ")}`;
    const detail = `${team.document?.file ?? "defineTeam"}, ${named}`;
    return { team, findings: [{ name: "config", status: "ok", detail }] };
  } catch (error) {
    const services = await brokenServices(folder);
    return { team: undefined, findings: [...services, failed("config", error)] };
  }
}

/** A broken service breaks the configuration that imports it; its own lines say more. */
async function brokenServices(folder: string): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const service of await serviceFolders(folder)) {
    const problems = await problemsOf(service);
    findings.push(...toldOf("service", problems, problems.length));
  }
  return findings;
}

/** With files as they stand in the team's folder. */
async function problemsOf(service: string): Promise<readonly string[]> {
  try {
    const { problems } = await checkService(service);
    const faults = problems.filter(({ level }) => level === undefined);
    return faults.map((problem) =>
      problemText({ ...problem, file: fileInTeam(problem.file, service) }),
    );
  } catch (error) {
    return [`services/${path.basename(service)}: ${messageOf(error)}`];
  }
}

/** A file is named from where the command runs if it lies below, else from the folder `services`. */
function fileInTeam(file: string, service: string): string {
  const full = path.resolve(file);
  const services = path.dirname(service);
  const isBelow = full.startsWith(`${service}${path.sep}`);
  return isBelow ? path.relative(path.dirname(services), full) : path.join("services", file);
}

/** Folders under `services` of a team's folder, sorted. */
export async function serviceFolders(team: string): Promise<readonly string[]> {
  const root = path.join(team, "services");
  if (!existsSync(root)) return [];
  const entries = await readdir(root, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map((entry) => path.join(root, entry.name))
    .sort();
}

/** Files that a start does not need, and work does: personas and plans. */
export async function checkFiles(team: LoadedTeam): Promise<readonly Finding[]> {
  const personas = missingPersonas(team).map(({ detail, hint }): Finding => ({
    name: "agents",
    status: "fail",
    detail,
    hint,
  }));
  return [...personas, ...(await brokenPlans(team.folder))];
}

async function brokenPlans(folder: string): Promise<readonly Finding[]> {
  const plans = path.join(folder, "plans");
  const findings: Finding[] = [];
  for (const name of await planFilesIn(plans)) {
    const { problems, problemCount } = await readPlanFile(
      path.join(plans, name),
      path.join("plans", name),
      { importModule },
    );
    findings.push(...toldOf("plan", problems.map(problemText), problemCount));
  }
  return findings;
}

function toldOf(name: string, texts: readonly string[], count: number): readonly Finding[] {
  const told = texts
    .slice(0, MAX_TOLD)
    .map((detail): Finding => ({ name, status: "fail", detail }));
  const left = count - told.length;
  if (left <= 0) return told;
  return [...told, { name, status: "fail", detail: `and ${left} more problems of this file` }];
}
