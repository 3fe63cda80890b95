import { existsSync } from "node:fs";
import path from "node:path";
import type { Logger } from "../kernel/logger.ts";
import type { LoadedTeam } from "./config.ts";

/** An agent of the configuration without its folder. */
export interface MissingPersona {
  readonly agent: string;
  readonly detail: string;
  readonly hint: string;
}

/** Agents that would answer without a persona. */
export function missingPersonas({ folder, config }: LoadedTeam): readonly MissingPersona[] {
  return Object.entries(config.agents ?? {})
    .filter(([, agent]) => agent.service === undefined)
    .filter(([id]) => !existsSync(path.join(folder, "agents", id)))
    .map(([id]) => ({
      agent: id,
      detail: `the folder agents/${id} is missing, so ${id} would answer without a persona`,
      hint: `Put it back, run dure new agent ${id}, or take ${id} out of the configuration.`,
    }));
}

/** A team that was given in code has no folder that a person keeps. */
export function warnOfMissingPersonas(team: LoadedTeam, logger: Logger): void {
  if (team.document === undefined) return;
  for (const { agent, detail, hint } of missingPersonas(team)) {
    logger.warn({ agent }, `${detail}. ${hint}`);
  }
}
