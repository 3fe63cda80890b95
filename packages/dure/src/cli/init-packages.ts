import { rename } from "node:fs/promises";
import path from "node:path";
import { execa } from "execa";

const INSTALL = ["install", "--no-audit", "--no-fund", "--loglevel=error"];

/**
 * Moves a `node_modules` into the folder of a new team, and lets npm bring what is missing. False:
 * npm has failed, and has said why on the terminal. A process that dies between the two leaves a
 * team that `npm install` completes.
 */
export async function installFrom(packages: string, folder: string): Promise<boolean> {
  await rename(packages, path.join(folder, "node_modules"));

  const { exitCode } = await execa("npm", INSTALL, {
    cwd: folder,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    reject: false,
  });

  return exitCode === 0;
}
