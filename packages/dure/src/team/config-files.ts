import { existsSync } from "node:fs";
import path from "node:path";

/** What the configuration of a team may be called. */
const CONFIG_FILES = [
  "dure.config.ts",
  "dure.config.mts",
  "dure.config.js",
  "dure.config.mjs",
  "dure.yaml",
  "dure.yml",
] as const;

/** Names of the configurations in `folder`; a team has one. */
export function configFilesIn(folder: string): readonly string[] {
  return CONFIG_FILES.filter((file) => existsSync(path.join(folder, file)));
}

/** Whether `folder` is that of a team. */
export function isTeamFolder(folder: string): boolean {
  return configFilesIn(folder).length > 0;
}
