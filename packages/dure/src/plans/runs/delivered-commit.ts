import { resultTitle } from "../../kernel/publish-target.ts";
import type { Plan, WorkerSpec } from "../plan.ts";
import type { PlanRun } from "../rows/run.ts";
import { personOf, squash } from "../workspace/person.ts";
import type { CommitIdentity } from "../workspace/git.ts";
import type { Repository } from "../workspace/repository.ts";
import type { RunReport } from "../../wire/runs.ts";

/** What leaves a run: a commit, in whose name, and how it is told. */
export interface Delivered {
  readonly commit: string;
  readonly identity: CommitIdentity;
  readonly message: string;
}

/** Names of agents in trailers. Source: what these agents write into commits of their own. */
const EMAILS: Readonly<Record<string, string>> = {
  claude: "noreply@anthropic.com",
  codex: "noreply@openai.com",
};
/** Ports that a message names. */
const MAX_NAMED = 50;

/**
 * The result of a run as it is taken over or pushed: with its history, or (`history: squash`) as one
 * commit of the person. The same for the same result.
 */
export async function deliveredCommit(
  run: PlanRun,
  report: RunReport & { readonly commit: string },
  repository: Repository,
  { env, signal }: { env: Readonly<Record<string, string | undefined>>; signal: AbortSignal },
): Promise<Delivered> {
  const now = run.finishedAt ?? run.createdAt;
  const identity = await personOf(repository, env, { now, signal });
  const told = { message: messageOf(run, report), identity };
  if (run.plan.history !== "squash") return { ...told, commit: report.commit };
  const { message } = told;
  const onto = run.baseCommit;
  const commit = await squash(repository, report.commit, { onto, message, identity, signal });

  return { ...told, commit };
}

/** Pure. */
function messageOf(
  { id, plan }: Pick<PlanRun, "id" | "plan">,
  { kept }: Pick<RunReport, "kept">,
): string {
  const ports = plan.ports.filter((port) => kept.includes(port.id));
  const named = ports.slice(0, MAX_NAMED).map((port) => `- ${port.id}: ${port.title}`);
  const agents = [...new Set(ports.flatMap(({ role }) => agentsOf(plan, role)))];
  const trailers = agents.map((agent) => `Co-authored-by: ${agent}`);
  const body = [`Run: ${id}`, ...trailers].join("\n");

  return [resultTitle(plan), named.join("\n"), body].filter(Boolean).join("\n\n") + "\n";
}

/** Who worked on ports of a role, as trailers name them. */
function agentsOf({ workers }: Plan, role: string): readonly string[] {
  const { byRole, default: standard } = workers;
  const specs = [byRole[role] ?? byRole["implementer"] ?? standard, byRole["tester"]];

  return specs.flatMap((spec) => (spec === undefined ? [] : [trailerOf(spec)]));
}

function trailerOf(spec: WorkerSpec): string {
  const name = nameOf(spec).replace(/[<>\n]/g, "");
  return `${name} <${EMAILS[name] ?? "agent@localhost"}>`;
}

function nameOf(spec: WorkerSpec): string {
  if (spec.agent !== undefined) return spec.agent;
  switch (spec.kind) {
    case "model":
      return spec.model;
    case "own":
      return spec.name;
    case "acp":
    case "command":
      return spec.command[0]?.split("/").at(-1) ?? spec.kind;
    case "offline":
      return "dure offline";
    default:
      return spec satisfies never;
  }
}
