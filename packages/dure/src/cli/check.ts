import { existsSync } from "node:fs";
import path from "node:path";
import { problemText, type Problem } from "../engine/files/load-service-document.ts";
import { checkService } from "../engine/files/load-service-check.ts";
import { checkImportedServices, type ModuleCheck } from "../engine/files/load-service-imports.ts";
import { DureError } from "../kernel/errors.ts";
import { configFilesIn, isTeamFolder } from "../team/config-files.ts";
import { loadTeam } from "../team/config.ts";
import { serviceFolders } from "./doctor/files.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

/**
 * Checks the service of a folder; in a team's folder its configuration, every folder under
 * `services/`, and every service that the configuration imports. Exit code 1 when something was found
 * that has to be changed.
 */
export async function check(options: { folder: string; output: Output }): Promise<ExitCode> {
  const { output } = options;
  const { check: words, said } = output.words;
  const { green, red, yellow } = output.colors;
  const folder = path.resolve(options.folder);
  if (!existsSync(folder)) {
    throw new DureError("FOLDER_MISSING", `${folder} does not exist.`, {
      class: "input",
      hint: "Name the folder of a service or of a team.",
    });
  }

  const isTeam = isTeamFolder(folder);
  const services = isTeam ? await checkTeam(folder) : [await checkFolder(folder)];
  for (const { name, folder: at, file, problems } of services) {
    if (faultsIn(problems) === 0) {
      output.line(`${green(words.marks.ok)} ${name ?? path.basename(at)} (${file})`);
    }
    for (const problem of problems) {
      const mark = problem.level ? yellow(words.marks.warn) : red(words.marks.fail);
      output.line([mark, problem.code, said(problemText(problem))].filter(Boolean).join(" "));
    }
  }
  // Read last: a broken service also breaks the configuration that imports it, and its own lines
  // say more.
  const all = services.flatMap(({ problems }) => problems);
  const found = faultsIn(all);
  if (isTeam && found === 0) {
    await loadTeam(folder);
    output.line(`${green(words.marks.ok)} ${words.configuration}`);
  }
  output.result({
    ok: found === 0,
    services: services.map(({ folder: at, name, problems }) => ({ folder: at, name, problems })),
  });
  if (isTeam) output.line(words.services(services.length));
  if (all.length > found) output.line(words.verdict.warn(all.length - found));
  if (found > 0) output.line(words.problems(found));
  return found === 0 ? EXIT.ok : EXIT.failed;
}

/** How many of them have to be changed. Pure. */
function faultsIn(problems: readonly Problem[]): number {
  return problems.filter(({ level }) => level === undefined).length;
}

/** Services in folders under `services/`, then those of the configuration's own modules. */
async function checkTeam(folder: string): Promise<readonly ModuleCheck[]> {
  const folders = await serviceFolders(folder);
  const checked: ModuleCheck[] = [];
  for (const service of folders) checked.push(await checkFolder(service));

  for (const config of configFilesIn(folder).filter((file) => /\.m?[jt]s$/.test(file))) {
    checked.push(...(await checkImportedServices(path.join(folder, config), folders)));
  }
  return checked;
}

async function checkFolder(folder: string): Promise<ModuleCheck> {
  return { ...(await checkService(folder)), folder };
}
