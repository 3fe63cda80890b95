import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { importModule } from "../../engine/files/import-module.ts";
import { systemClock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { isAgent, tryAgent, type AcpAgentSpec, type AgentTrial } from "../../plans/agents/trial.ts";
import { rolesOf, type NetworkFacts } from "../../plans/network-needs.ts";
import { planFilesIn, readPlanFile } from "../../plans/plan-folder.ts";
import type { Plan } from "../../plans/plan.ts";
import { openSandbox } from "../../plans/sandbox/sandbox.ts";
import { childEnvironment } from "../../team/environment.ts";
import type { LoadedTeam } from "../../team/config.ts";
import type { WorkerBounds } from "../../team/plan-sandboxes.ts";
import type { Finding } from "./finding.ts";

/** Agents that are asked; a team has a few. */
const MOST = 8;

/** Each agent of the team's plans, asked once. */
export async function checkTeamAgents(team: LoadedTeam): Promise<readonly Finding[]> {
  const agents = agentsOf(await plansIn(team.folder).catch(() => []));
  const network = { team: team.config.plans?.network ?? {}, env: childEnvironment({}) };
  return checkAgents(agents, network, team.config.plans);
}

/** Plans of the team's folder that can be read. */
async function plansIn(folder: string): Promise<readonly Plan[]> {
  const plans = path.join(folder, "plans");
  const read: Plan[] = [];
  for (const name of await planFilesIn(plans)) {
    const { plan } = await readPlanFile(path.join(plans, name), name, { importModule });
    if (plan) read.push(plan);
  }
  return read;
}

/** Each agent of these plans once. */
export function agentsOf(plans: readonly Plan[]): readonly AcpAgentSpec[] {
  const specs = plans.flatMap((plan) => rolesOf(plan).map(([, spec]) => spec));
  const agents = new Map(specs.filter(isAgent).map((spec) => [JSON.stringify(spec), spec]));
  return [...agents.values()].slice(0, MOST);
}

/** Asks each agent one question in the sandbox: program, version, login and model show here. */
export async function checkAgents(
  agents: readonly AcpAgentSpec[],
  network: NetworkFacts,
  { filesByModes }: WorkerBounds = {},
): Promise<readonly Finding[]> {
  if (agents.length === 0) return [];
  const folder = await mkdtemp(path.join(tmpdir(), "dure-agents-"));
  try {
    const sandbox = await openSandbox({
      wanted: "enforced",
      prefer: "namespaces",
      folder: path.join(folder, "sandbox"),
      home: homedir(),
      filesByModes,
      programs: (network.env["PATH"] ?? "").split(path.delimiter).filter(Boolean),
      clock: systemClock,
    });
    const parts = { sandbox, clock: systemClock, folder, home: homedir(), network };
    const checks: Finding[] = [];
    for (const spec of agents) {
      const { signal } = new AbortController();
      checks.push(checkOf(await tryAgent(spec, parts, { signal })));
    }
    return checks;
  } catch (error) {
    return [{ name: "agents", status: "warn", detail: `were not asked: ${messageOf(error)}` }];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the trial of one agent means. A provider that takes no calls now was reached. Pure. */
function checkOf({ name, version, tookMs, answer, error }: AgentTrial): Finding {
  const who = version === undefined ? name : `${name} (${version})`;
  if (error === undefined) {
    const words = (answer ?? "").trim().split("\n").at(-1)!.slice(0, 60);
    const seconds = (tookMs / 1_000).toFixed(1);
    return { name: "agent", status: "ok", detail: `${who}: answers "${words}" in ${seconds} s` };
  }
  const status = error.code === "WORKER_RATE_LIMITED" ? "warn" : "fail";
  return { name: "agent", status, detail: `${who}: ${error.message}`, hint: error.hint };
}
