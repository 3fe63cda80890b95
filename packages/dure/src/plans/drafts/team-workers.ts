import { accessSync, constants } from "node:fs";
import path from "node:path";
import type { Problem } from "../../engine/files/load-service-document.ts";
import type { Llm } from "../../models/card.ts";
import { AGENTS, PRESETS, type AgentName, type AgentWay } from "../agents/presets.ts";
import type { Plan, WorkerSpec } from "../plan.ts";

/** A coding agent whose program is on this machine. */
export interface FoundAgent {
  readonly agent: AgentName;
  readonly via: AgentWay;
}

/** Workers that a draft may name: those that are there. */
export interface TeamWorkers {
  /** `plans.workers` of the configuration. */
  readonly own: readonly string[];
  readonly agents: readonly FoundAgent[];
  /** Undefined: the team's model only repeats a script. */
  readonly model: string | undefined;
}

/**
 * The workers of a team, the most meant first: its own, then agents of this machine, then its model.
 * Pure.
 */
export function teamWorkers(
  own: readonly string[],
  { provider, model }: Llm,
  agents: readonly FoundAgent[] = [],
): TeamWorkers {
  const isNamed = provider !== "offline" && provider !== "ai-sdk";
  return { own, agents, model: isNamed ? `${provider}:${model}` : undefined };
}

/** Agents whose program stands in a folder of PATH. Whether one is signed in is not asked. */
export function agentsOnPath(folders: string | undefined): readonly FoundAgent[] {
  const places = (folders ?? "").split(path.delimiter).filter((place) => path.isAbsolute(place));

  const isThere = ([program = ""]: readonly string[]): boolean =>
    places.some((folder) => isProgram(path.join(folder, program)));

  return AGENTS.flatMap((agent): FoundAgent[] => {
    const { acp, exec } = PRESETS[agent];
    if (isThere(acp.command)) return [{ agent, via: "acp" }];

    return isThere(exec.command) ? [{ agent, via: "exec" }] : [];
  });
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** As a plan writes them, the default first. None: there is nothing but a stand-in. Pure. */
export function workerTexts({ own, agents, model }: TeamWorkers): readonly string[] {
  return [
    ...own.map((name) => `{ kind: own, name: ${JSON.stringify(name)} }`),
    ...agents.map(({ agent, via }) =>
      via === "acp" ? `{ agent: ${agent} }` : `{ agent: ${agent}, via: exec }`,
    ),
    ...(model === undefined ? [] : [`{ kind: model, model: ${JSON.stringify(model)} }`]),
  ];
}

/** Workers of a plan that the team does not have, or that do nothing. Pure. */
export function workerProblems(
  { workers }: Pick<Plan, "workers">,
  team: TeamWorkers,
  file: string,
): Problem[] {
  const allowed = workerTexts(team);

  if (allowed.length === 0) return [];
  return Object.entries(workers).flatMap(([role, spec]): Problem[] => {
    if (spec === undefined) return [];

    const message = whyNot(spec, team);
    const key = `workers.${role}`;

    const hint = `Take one of ${allowed.slice(0, 5).join(", ")}.`;
    return message === undefined ? [] : [{ file, key, message, hint }];
  });
}

function whyNot(spec: WorkerSpec, { own, agents, model }: TeamWorkers): string | undefined {
  if (spec.agent !== undefined) {
    const isThere = agents.some(({ agent }) => agent === spec.agent);
    return isThere ? undefined : `${spec.agent} is not on this machine`;
  }
  switch (spec.kind) {
    case "offline":
      return "the offline worker changes nothing";
    case "own":
      return own.includes(spec.name) ? undefined : `${spec.name} is no worker of the team`;
    case "model":
      return spec.model === model ? undefined : `${spec.model} is not the team's model`;
    case "acp":
    case "command":
      return "a program of a proposal's own is no worker of the team";
  }
}
