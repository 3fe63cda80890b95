import { flushCompileCache } from "node:module";
import { systemClock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { accessText } from "../server/access-mode.ts";
import type { RunningTeam } from "../team/start.ts";
import { loadTeam } from "../team/config.ts";
import { settingsOf } from "../team/limits.ts";
import { openWhenUp } from "../team/open-database.ts";
import { isSet, type Environment } from "../team/environment.ts";
import { watchLauncher } from "./launcher.ts";
import { createLogger } from "./logger.ts";
import { EXIT, isTerminal, type ExitCode, type Output } from "./output.ts";
import type { CliWords } from "./words/words.ts";

/** npm sets it for what a script or `npx` runs. */
const STARTED_BY_NPM = "npm_lifecycle_event";
/**
 * A second signal within this time is the first one again, milliseconds: a signal to a whole group
 * of processes reaches this one directly and through its parent.
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

  const stop = new StopRequest(logger);
  stop.listen();

  try {
    const team = await loadTeam(folder);
    const { startTeam } = await import("../team/start.ts");
    const { databaseWaitMs: waitMs } = settingsOf(team.config, environment);
    const begin = (): Promise<RunningTeam> =>
      startTeam(team, environment, { logger, signal: stop.signal });
    const running = await openWhenUp(begin, {
      waitMs,
      logger,
      clock: systemClock,
      signal: stop.signal,
    });
    const answers = output.words.start.answers(team.config.name, running.url);
    output.line([answers, ...accessLines(running, output.words)].join("\n"));
    output.result({ url: running.url, access: running.access, loginLink: running.loginLink });
    flushCompileCache(); // Node keeps it only at a good end; a start after a kill needs it most

    const fenced = (): "fenced" => "fenced";
    const end = await Promise.race([stop.asked, running.fenced.then(fenced, fenced)]);
    await running.stop();
    return end === "fenced" ? EXIT.fenced : EXIT.ok;
  } catch (error) {
    if (stop.signal.aborted) return EXIT.ok; // asked to stop before it stood
    if (codeOf(error) === "FENCED") return EXIT.fenced; // before it was ready; the lease has said why
    throw error;
  } finally {
    stop.close();
  }
}

/**
 * Reports when the process shall stop: by a signal, or because the npm that started it is gone. A
 * second signal ends the process at once.
 */
class StopRequest {
  readonly #logger: Logger;
  readonly #over = new AbortController();
  readonly #asked = Promise.withResolvers<"asked">();
  #askedAt = 0;
  #unwatch: () => void = () => {};

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Resolves when the process shall stop. */
  get asked(): Promise<"asked"> {
    return this.#asked.promise;
  }

  /** Aborts when the process shall stop. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  listen(): void {
    process.on("SIGINT", this.#onSignal);
    process.on("SIGTERM", this.#onSignal);
    if (isSet(STARTED_BY_NPM)) this.#unwatch = watchLauncher(systemClock, this.#onOrphaned);
  }

  close(): void {
    this.#unwatch();
    process.off("SIGINT", this.#onSignal);
    process.off("SIGTERM", this.#onSignal);
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    if (!this.signal.aborted) this.#ask(`${signal} received`);
    else if (systemClock.monotonic() - this.#askedAt > SAME_SIGNAL_MS) {
      process.exit(signal === "SIGINT" ? 130 : 143);
    }
  };

  readonly #onOrphaned = (): void => {
    if (this.signal.aborted) return;
    this.#logger.warn({}, "the npm that started this server is gone; the server stops");
    this.#ask("npm is gone");
  };

  #ask(because: string): void {
    this.#askedAt = systemClock.monotonic();
    this.#over.abort(new DOMException(because, "AbortError"));
    this.#asked.resolve("asked");
  }
}

/** Who comes in, and how the person at the machine opens the page. */
function accessLines(
  { access, loginLink }: RunningTeam,
  { start: words, said }: CliWords,
): readonly string[] {
  const who = said(accessText(access));
  if (loginLink !== undefined) return [who, words.openOnce(loginLink)];
  return access.mode === "credentials" ? [who, words.toOpen] : [who];
}
