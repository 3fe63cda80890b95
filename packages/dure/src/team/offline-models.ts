import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import { NO_MODEL, noModel } from "../models/no-model.ts";
import type { OfflineModel } from "../models/offline.ts";
import type { LoadedTeam, TeamConfig } from "./config.ts";
import type { Environment } from "./environment.ts";
import { modelOf } from "./limits.ts";

/**
 * The team with its offline models at hand. Those that a function gives are loaded only where the
 * team's model is an offline one. Throws `CONFIG_INVALID` and `CONFIG_UNREADABLE`.
 */
export async function withOfflineModels(
  team: LoadedTeam,
  environment: Environment,
): Promise<LoadedTeam> {
  const { offlineModels: load } = team.config;
  if (typeof load !== "function") return team;
  const isUsed = modelOf(team.config, environment).provider === "offline";
  const offlineModels = isUsed ? await loaded(load) : [];
  return { ...team, config: { ...team.config, offlineModels: [...offlineModels] } };
}

/** Those that are at hand, and the one that stands in where the team has no model. */
export function offlineModelsOf({
  offlineModels = [],
  locale,
}: TeamConfig): readonly OfflineModel[] {
  const own = typeof offlineModels === "function" ? [] : offlineModels;

  return own.some(({ name }) => name === NO_MODEL) ? own : [...own, noModel(locale ?? "en")];
}

async function loaded(load: () => Promise<readonly OfflineModel[]>): Promise<OfflineModel[]> {
  const models: unknown = await load().catch((error: unknown) => {
    throw new DureError("CONFIG_UNREADABLE", `offlineModels: ${messageOf(error)}`, {
      class: "input",
      hint: `The function that gives them failed${codeOf(error) ? ` (${codeOf(error)})` : ""}.`,
      cause: error,
    });
  });
  if (Array.isArray(models) && models.every(isOfflineModel)) return models;
  throw new DureError("CONFIG_INVALID", "offlineModels gave no list of models.", {
    class: "input",
    hint: "Let the function give what offlineModel(name, respond) makes, in a list.",
  });
}

function isOfflineModel(value: unknown): value is OfflineModel {
  return isObject(value) && typeof value["name"] === "string";
}
