/** `.dure/project.yaml`: how a repository is set up, in its own words. */

import { z } from "zod";
import { problemsError, problemsOf, readYaml } from "../../engine/files/load-service-document.ts";
import { settings } from "../../engine/files/load-service-schema.ts";
import { AGENTS } from "../agents/presets.ts";
import { globs } from "../plan-schema.ts";
import { command } from "../schema-words.ts";
import { hosts } from "../worker-schema.ts";

const schema = settings({
  setup: command.optional(),
  setupHosts: hosts.optional(),
  acceptance: command.optional(),
  own: globs.optional(),
  tests: globs.optional(),
  agent: z.enum(AGENTS, { error: `must be one of ${AGENTS.join(", ")}` }).optional(),
});

export type ProjectFile = z.output<typeof schema>;

/** Throws `PROJECT_INVALID` with each problem at its line. Pure. */
export function readProjectFile(file: string, text: string): ProjectFile {
  const { document, problems } = readYaml(file, text);
  if (problems.length > 0) throw invalid(file, problems);
  const read = schema.safeParse(document.value ?? {});
  if (read.success) return read.data;
  throw invalid(file, problemsOf(read.error, document));
}

function invalid(
  file: string,
  problems: Parameters<typeof problemsError>[2],
): ReturnType<typeof problemsError> {
  return problemsError("PROJECT_INVALID", `The file ${file} of the repository`, problems);
}
