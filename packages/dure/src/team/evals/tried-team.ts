/** A team that is tried by itself: it answers as the real one, and reaches no people by itself. */

import path from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { parseModelNames } from "../../models/card.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { LoadedTeam } from "../config.ts";
import type { Environment } from "../environment.ts";
import { modelOf, settingsOf } from "../limits.ts";
import { startTeam, type EmbeddedTeam } from "../start.ts";
import { actorServices } from "./actors.ts";

/** Below the data folder of the team: database and records of evaluations. */
const FOLDER = "evals";

export interface TriedTeamOptions {
  /** Of judge and simulated people. Default: that of the team. */
  readonly judgeModel?: string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Folder of the records of a team's runs. */
export function recordsOf(team: LoadedTeam, environment: Environment): string {
  return path.join(homeOf(team, environment), "runs");
}

/** `provider:model` that the team answers with where an agent names none. */
export function triedModel(team: LoadedTeam, environment: Environment): string {
  const { provider, model } = modelOf(team.config, environment);
  return `${provider}:${model}`;
}

/** The team with another model where an agent names none, whatever `DURE_MODEL` says. Pure. */
export function withModel<Parts extends { team: LoadedTeam; environment: Environment }>(
  parts: Parts,
  model: string | undefined,
): Parts {
  if (model === undefined) return parts;
  const { model: _model, ...environment } = parts.environment;
  const config = { ...parts.team.config, model: parseModelNames(model) };
  return { ...parts, environment, team: { ...parts.team, config } };
}

/**
 * Starts it with a database of its own, whatever `DATABASE_URL` says. It has no port, and none of
 * what begins or is told by itself: schedules, hooks, platforms, notifications. Its tools are the
 * team's own: they do what they do.
 */
export function startTriedTeam(
  team: LoadedTeam,
  environment: Environment,
  { judgeModel, logger, clock, signal }: TriedTeamOptions,
): Promise<EmbeddedTeam> {
  const {
    rooms: _rooms,
    schedules: _schedules,
    hooks: _hooks,
    notify: _notify,
    ...rest
  } = team.config;
  const { escalations, agents } = rest;
  const config = {
    ...rest,
    escalations: escalations && { operator: escalations.operator },
    agents: agents && withoutChannels(agents),
  };
  const services = { ...team.services, ...actorServices(judgeModel) };
  const { databaseUrl: _url, variable: _variable, ...own } = environment;
  const alone = { ...own, home: homeOf(team, environment), discordTokens: {} };

  return startTeam({ ...team, config, services }, alone, { logger, clock, signal, listen: false });
}

function withoutChannels(agents: NonNullable<LoadedTeam["config"]["agents"]>): typeof agents {
  return Object.fromEntries(
    Object.entries(agents).map(([id, { channel: _channel, ...agent }]) => [id, agent]),
  );
}

function homeOf(team: LoadedTeam, environment: Environment): string {
  const { home } = settingsOf(team.config, environment);
  return path.join(path.resolve(team.folder, home), FOLDER);
}
