import path from "node:path";
import type { RepositorySetting } from "../plans/runs/named-repositories.ts";
import type { LoadedTeam } from "./config.ts";

/** The repositories of a configuration, by name, with absolute paths. */
export function repositoriesOf({
  config,
  folder,
}: LoadedTeam): Readonly<Record<string, RepositorySetting>> {
  const { repositories = {} } = config;
  const named = Object.entries(repositories).map(
    ([name, setting]) => [name, { ...setting, path: path.resolve(folder, setting.path) }] as const,
  );

  return Object.fromEntries(named);
}
