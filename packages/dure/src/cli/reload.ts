import type { DureClient } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

/**
 * Lets the server reload its team, and prints what needs a restart. On a mistake in the files the
 * server keeps its team.
 */
export async function reload({
  client,
  output,
}: {
  client: DureClient;
  output: Output;
}): Promise<ExitCode> {
  const report = await client.reload();
  const { reload: words } = output.words.admin;
  output.line(words.services(report.services.join(", ")));
  if (report.agents.length > 0) output.line(words.agents(report.agents.join(", ")));
  if (report.restart.length > 0) {
    output.note(words.restart(report.restart.join(", ")));
  }
  output.result(report);

  return EXIT.ok;
}
