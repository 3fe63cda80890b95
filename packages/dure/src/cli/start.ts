import { flushCompileCache } from "node:module";
import { systemClock, type Cancel, type Clock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { accessText } from "../server/access-mode.ts";
import type { RunningTeam } from "../team/start.ts";
import { loadTeam } from "../team/config.ts";
import { settingsOf } from "../team/limits.ts";
import { openWhenUp } from "../team/open-database.ts";
import type { Environment } from "../team/environment.ts";
import { isSet } from "../team/terminal.ts";
import { createLogger } from "./logger.ts";
import { EXIT, isTerminal, type ExitCode, type Output } from "./output.ts";
import type { CliWords } from "./words/words.ts";
import { boundYoungGeneration } from "./young-generation.ts";
import { readFileSync } from "node:fs";

/** npm sets it for what a script or `npx` runs: what it names ends with its parent. */
export const STARTED_BY_NPM = "npm_lifecycle_event";
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
  boundYoungGeneration(systemClock);

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

// --- launcher

/** How often the way up to the launcher is looked at, milliseconds. */
const LOOK_EVERY_MS = 500;
/**
 * Processes between this one and its launcher at most: shells, wrappers, the bootstrap of a
 * checkout.
 */
const LONGEST_CHAIN = 8;
/** How npm and its like call themselves. */
const LAUNCHER = /^(npm|npx|pnpm|yarn|bun)\b|\b(npm|npx)-cli\.js\b|\b(pnpm|yarn)\.c?js\b/;

/**
 * Calls `onGone`, once, when the npm that has started this process is gone, or the shell between
 * them. npm runs a script in a shell, which does not pass SIGTERM and SIGINT on: it dies, and what
 * it has started would run on unseen. For processes that npm has started alone. On Linux the whole
 * way up to npm is watched, elsewhere the parent. A leader of a session of its own (`setsid`) was
 * meant to outlive the one that started it.
 */
function watchLauncher(clock: Clock, onGone: () => void): Cancel {
  if (isSessionLeader()) return () => {};

  const chain = chainToLauncher();

  const cancel = clock.every(LOOK_EVERY_MS, () => {
    if (isWhole(chain)) return;
    cancel();
    onGone();
  });

  return cancel;
}

/** This process, its parent, and so on up to the launcher; where none is seen, the parent alone. */
function chainToLauncher(): readonly number[] {
  const chain = [process.pid, process.ppid];
  while (chain.length <= LONGEST_CHAIN) {
    const last = chain.at(-1)!;
    if (LAUNCHER.test(commandOf(last))) return chain;
    const parent = parentOf(last);
    if (parent === undefined || parent <= 1) break;
    chain.push(parent);
  }

  return chain.slice(0, 2);
}

/** Whether each is still the child of the next: an orphan gets another parent at once. */
function isWhole(chain: readonly number[]): boolean {
  return chain.slice(1).every((parent, index) => parentOf(chain[index]!) === parent);
}

function parentOf(pid: number): number | undefined {
  return pid === process.pid ? process.ppid : statOf(pid)?.parent;
}

function isSessionLeader(): boolean {
  return statOf(process.pid)?.session === process.pid;
}

/** Source: proc_pid_stat(5), fields 4 and 6. Undefined where there is no /proc. */
function statOf(pid: number): { parent: number; session: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before it may hold anything
    return { parent: Number(fields[1]), session: Number(fields[3]) };
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}
