import path from "node:path";
import type { RepositorySetting } from "../plans/runs/named-repositories.ts";
import type { TeamRuns } from "../plans/workspace/team-files.ts";
import type { LoadedTeam } from "./config.ts";

/** The repositories of a configuration, by name, with absolute paths. */
export function repositoriesOf({
  config,
  folder,
}: Pick<LoadedTeam, "config" | "folder">): Readonly<Record<string, RepositorySetting>> {
  const { repositories = {} } = config;
  const named = Object.entries(repositories).map(
    ([name, setting]) => [name, { ...setting, path: path.resolve(folder, setting.path) }] as const,
  );

  return Object.fromEntries(named);
}

/** Where a run may work here. One of no tenant was begun by a caller who may have all. */
export function foldersForRun(
  team: Pick<LoadedTeam, "config" | "folder">,
  { tenant }: { readonly tenant: string },
): readonly string[] {
  const named = Object.values(repositoriesOf(team));
  if (tenant === "") return [...named.map((one) => one.path), team.folder];
  const own = named.filter(({ tenants }) => tenants?.includes(tenant));

  return own.map((one) => one.path);
}

/** What the server runs beside the team's folder: services, modules, programs of MCP servers. */
export function runsFromElsewhere({ config, folder, modules = [] }: LoadedTeam): TeamRuns {
  const services = Object.values(config.services).filter((given) => typeof given === "string");
  const programs = Object.values(config.mcp ?? {}).flatMap(({ command, args = [], cwd = "." }) =>
    command === undefined ? [] : [command, ...args].map((word) => path.resolve(folder, cwd, word)),
  );

  return {
    folders: services.map((given) => path.resolve(folder, given)),
    files: [...modules, ...programs],
  };
}
