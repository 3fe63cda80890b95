import { existsSync } from "node:fs";
import path from "node:path";
import { problemText, type Problem } from "../engine/files/load-service-document.ts";
import { checkService } from "../engine/files/load-service-check.ts";
import { DureError } from "../kernel/errors.ts";
import { isTeamFolder } from "../team/config-files.ts";
import { loadTeam } from "../team/config.ts";
import { serviceFolders } from "./doctor/files.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

/**
 * Checks the service of a folder; in a team's folder its configuration and every folder under
 * `services/`. Exit code 1 when something was found.
 */
export async function check(options: { folder: string; output: Output }): Promise<ExitCode> {
  const { output } = options;
  const folder = path.resolve(options.folder);
  if (!existsSync(folder)) {
    throw new DureError("FOLDER_MISSING", `${folder} does not exist.`, {
      class: "input",
      hint: "Name the folder of a service or of a team.",
    });
  }

  const isTeam = isTeamFolder(folder);
  const folders = isTeam ? await serviceFolders(folder) : [folder];
  const services: { folder: string; name: string | undefined; problems: readonly Problem[] }[] = [];
  for (const service of folders) {
    const { name, problems, file } = await checkService(service);
    services.push({ folder: service, name, problems });
    if (problems.length === 0) {
      output.line(`${output.colors.green("ok  ")} ${name ?? path.basename(service)} (${file})`);
    }
    for (const problem of problems) {
      output.line(`${output.colors.red("fail")} ${problemText(problem)}`);
    }
  }
  // Read last: a broken service also breaks the configuration that imports it, and its own lines
  // say more.
  const found = services.reduce((sum, { problems }) => sum + problems.length, 0);
  if (isTeam && found === 0) {
    await loadTeam(folder);
    output.line(`${output.colors.green("ok  ")} configuration`);
  }
  output.result({ ok: found === 0, services });
  if (found > 0) output.line(`${found} ${found === 1 ? "problem" : "problems"}`);
  return found === 0 ? EXIT.ok : EXIT.failed;
}
