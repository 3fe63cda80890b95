import { flushCompileCache } from "node:module";
import { codeOf } from "../kernel/errors.ts";
import { loadTeam } from "../team/config.ts";
import type { Environment } from "../team/environment.ts";
import { createLogger } from "./logger.ts";
import { EXIT, isTerminal, type ExitCode, type Output } from "./output.ts";

/**
 * Runs the team of a folder until a signal or until it is fenced (exit code 75: another process has taken over its work).
 * The first SIGINT or SIGTERM drains, a second one leaves at once.
 */
export async function start(options: { folder: string; environment: Environment; output: Output }): Promise<ExitCode> {
  const { folder, environment, output } = options;
  const logger = createLogger({ level: environment.logLevel ?? "info", isTerminal: isTerminal(output.streams.stderr) && !output.json });
  for (const warning of environment.warnings) logger.warn({}, warning);

  const over = new AbortController();
  const asked = Promise.withResolvers<"asked">();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (over.signal.aborted) process.exit(signal === "SIGINT" ? 130 : 143);
    over.abort(new DOMException(`${signal} received`, "AbortError"));
    asked.resolve("asked");
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  try {
    const team = await loadTeam(folder);
    const { startTeam } = await import("../team/start.ts");
    const running = await startTeam(team, environment, { logger, signal: over.signal });
    output.line(`${team.config.name ?? "The team"} answers at ${running.url}`);
    output.result({ url: running.url });
    flushCompileCache(); // Node itself keeps it only at a good end, and who starts after a kill needs it most

    const end = await Promise.race([asked.promise, running.fenced.then(() => "fenced" as const, () => "fenced" as const)]);
    await running.stop();
    return end === "fenced" ? EXIT.fenced : EXIT.ok;
  } catch (error) {
    if (over.signal.aborted) return EXIT.ok; // asked to stop before it stood
    if (codeOf(error) === "FENCED") return EXIT.fenced; // before it was ready; the lease has said why
    throw error;
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}
