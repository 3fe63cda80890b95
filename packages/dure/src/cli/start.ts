import { flushCompileCache } from "node:module";
import { systemClock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import { accessText } from "../server/access-mode.ts";
import type { RunningTeam } from "../team/start.ts";
import { loadTeam } from "../team/config.ts";
import { settingsOf } from "../team/limits.ts";
import { openWhenUp } from "../team/open-database.ts";
import { isSet, type Environment } from "../team/environment.ts";
import { watchLauncher } from "./launcher.ts";
import { createLogger } from "./logger.ts";
import { EXIT, isTerminal, type ExitCode, type Output } from "./output.ts";

/** npm sets it for what a script or `npx` runs. */
const STARTED_BY_NPM = "npm_lifecycle_event";
/**
 * A second signal within this time is the first one again, milliseconds: who ends a whole group of
 * processes reaches this one directly and through its parent.
 */
const SAME_SIGNAL_MS = 1_000;

/**
 * Runs the team of a folder until a signal, until it is fenced (exit code 75: another process has
 * taken over its work), or until the npm that has started it is gone. The first SIGINT or SIGTERM
 * drains, a later one leaves at once.
 */
export async function start(options: {
  folder: string;
  environment: Environment;
  output: Output;
}): Promise<ExitCode> {
  const { folder, environment, output } = options;
  const logger = createLogger({
    level: environment.logLevel ?? "info",
    isTerminal: isTerminal(output.streams.stderr) && !output.json,
  });
  for (const warning of environment.warnings) logger.warn({}, warning);

  const over = new AbortController();
  const asked = Promise.withResolvers<"asked">();
  let askedAt = 0;
  const ask = (because: string): void => {
    askedAt = systemClock.monotonic();
    over.abort(new DOMException(because, "AbortError"));
    asked.resolve("asked");
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (!over.signal.aborted) ask(`${signal} received`);
    else if (systemClock.monotonic() - askedAt > SAME_SIGNAL_MS) {
      process.exit(signal === "SIGINT" ? 130 : 143);
    }
  };
  const onOrphaned = (): void => {
    if (over.signal.aborted) return;
    logger.warn({}, "the npm that started this server is gone; the server stops");
    ask("npm is gone");
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  const unwatch = isSet(STARTED_BY_NPM) ? watchLauncher(systemClock, onOrphaned) : (): void => {};
  try {
    const team = await loadTeam(folder);
    const { startTeam } = await import("../team/start.ts");
    const { databaseWaitMs: waitMs } = settingsOf(team.config, environment);
    const begin = (): Promise<RunningTeam> =>
      startTeam(team, environment, { logger, signal: over.signal });
    const running = await openWhenUp(begin, {
      waitMs,
      logger,
      clock: systemClock,
      signal: over.signal,
    });
    output.line(
      [`${team.config.name ?? "The team"} answers at ${running.url}`, ...accessLines(running)].join(
        "\n",
      ),
    );
    output.result({ url: running.url, access: running.access, loginLink: running.loginLink });
    flushCompileCache(); // Node itself keeps it only at a good end, and who starts after a kill needs it most

    const end = await Promise.race([
      asked.promise,
      running.fenced.then(
        () => "fenced" as const,
        () => "fenced" as const,
      ),
    ]);
    await running.stop();
    return end === "fenced" ? EXIT.fenced : EXIT.ok;
  } catch (error) {
    if (over.signal.aborted) return EXIT.ok; // asked to stop before it stood
    if (codeOf(error) === "FENCED") return EXIT.fenced; // before it was ready; the lease has said why
    throw error;
  } finally {
    unwatch();
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

/** Who comes in, and how the person at the machine opens the page. */
function accessLines({ access, loginLink }: RunningTeam): readonly string[] {
  if (loginLink !== undefined) {
    return [
      accessText(access),
      `Open this once, within 10 minutes: ${loginLink} (dure login prints another one)`,
    ];
  }
  return [
    accessText(access),
    ...(access.mode === "credentials" ? ["To open the page at this machine: dure login"] : []),
  ];
}
