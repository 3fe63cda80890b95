import { spawn, type ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { systemClock, type Cancel, withTimeout } from "../kernel/clock.ts";
import { childEnvironment, VARIABLES } from "../team/environment.ts";
import { isSet } from "../team/terminal.ts";
import { EXIT, type Output } from "./output.ts";
import path from "node:path";
import { DureError } from "../kernel/errors.ts";
import { connect, homeOf } from "./connect.ts";
import { watch } from "chokidar";

/** Changes that come together, as an editor and git make them, are one restart, milliseconds. */
const DEBOUNCE = 100;
/**
 * A child that does not end after SIGTERM is killed, milliseconds; its turns go on in the next one.
 */
const PATIENCE = 10_000;

export interface DevOptions {
  readonly folder: string;
  readonly output: Output;
  /** Script and arguments of the child: `dure start`. */
  readonly program: readonly string[];
}

/**
 * `dure start` in dev mode. The team that runs takes in a file that was saved; after a mistake it
 * answers as before. What it cannot take in, such as `.env`, is a restart. A team that cannot start
 * is tried again with the next change. Ends with the first SIGINT or SIGTERM.
 */
export async function dev(options: DevOptions): Promise<number> {
  const child = new RestartedChild(options);
  let cancel: Cancel = () => {};

  const changed = new Set<string>();
  const onChange = (file: string): void => {
    changed.add(file);
    cancel();
    cancel = systemClock.after(DEBOUNCE, () => {
      const files = [...changed];
      changed.clear();
      child.changed(files);
    });
  };

  const onTrouble = (error: Error): void =>
    options.output.note(options.output.words.start.unseen(error.message));
  await using watcher = watchTeam(options.folder, onChange, onTrouble);
  const onSignal = (): void => child.stop();
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);

  try {
    await watcher.ready;
    child.run();
    return await child.ended;
  } finally {
    cancel();
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

/** The process that runs the team. A restart ends it and starts the next one. */
class RestartedChild {
  readonly #options: DevOptions;
  readonly #ended = Promise.withResolvers<number>();
  #child: ChildProcess | undefined;
  #isStopping = false;
  #restarting: Promise<void> | undefined;
  #takingIn: Promise<void> = Promise.resolve();

  constructor(options: DevOptions) {
    this.#options = options;
  }

  /** The exit code, when there will be no next one. */
  get ended(): Promise<number> {
    return this.#ended.promise;
  }

  run(): void {
    const { name } = VARIABLES.devMode;
    const env = childEnvironment(isSet(name) ? {} : { [name]: "true" });

    const started = spawn(process.execPath, [...process.execArgv, ...this.#options.program], {
      stdio: "inherit",
      env,
    });

    this.#child = started;
    started.on("error", (error) => this.#ended.reject(error));

    started.on("exit", (code, signal) => {
      if (this.#child === started) this.#child = undefined;
      this.#settle(code ?? 128 + (signal ? constants.signals[signal] : 0));
    });
  }

  /** What follows the end of a child. */
  #settle(exitCode: number): void {
    if (this.#isStopping) return this.#ended.resolve(EXIT.ok);
    if (this.#restarting !== undefined) return;

    // A fenced process is restarted, as any supervisor would. After another failure a second try
    // without a change would fail the same way.
    if (exitCode === EXIT.fenced) return this.run();
    if (exitCode === EXIT.ok) return this.#ended.resolve(EXIT.ok);

    const { folder, output } = this.#options;
    output.note(output.words.start.waiting(exitCode, folder));
  }

  /** Files that were saved together. */
  changed(files: readonly string[]): void {
    const names = files.join(", ");
    const isTakenIn = this.#child !== undefined && !files.some(isOfProcess);
    if (!isTakenIn) return this.#restartFor(names);

    this.#takingIn = this.#takingIn.then(() => this.#takeIn(names));
  }

  /** Where the team cannot take the files in, a restart brings them. */
  async #takeIn(names: string): Promise<void> {
    if (this.#isStopping || this.#restarting !== undefined) return;
    const { folder, output } = this.#options;
    const taken = await takeIn(folder);
    if (taken.outcome === "restart") return this.#restartFor(names);
    const { start: words, said } = output.words;
    output.note(
      taken.outcome === "in-force"
        ? words.takenIn(names)
        : `${words.refused(names)} ${said(taken.message)}`,
    );
  }

  #restartFor(names: string): void {
    if (!this.#isStopping) this.#restarting ??= this.#restart(names);
  }

  async #restart(file: string): Promise<void> {
    const { output } = this.#options;
    output.note(output.words.start.restarting(file));
    await endOf(this.#child);
    this.#restarting = undefined;
    if (!this.#isStopping) this.run();
  }

  /** Ends the child; the second call kills it. */
  stop(): void {
    if (this.#isStopping) this.#child?.kill("SIGKILL");
    this.#isStopping = true;
    if (this.#child) this.#child.kill("SIGTERM");
    else if (this.#restarting === undefined) this.#ended.resolve(EXIT.ok);
    else void this.#restarting.then(() => this.#ended.resolve(EXIT.ok));
  }
}

async function endOf(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;

  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const cancel = systemClock.after(PATIENCE, () => child.kill("SIGKILL"));
  await gone;
  cancel();
}

// --- take in

/** What saved files led to. */
type TakenIn =
  | { readonly outcome: "in-force" }
  /** The team answers as before. */
  | { readonly outcome: "refused"; readonly message: string }
  /** No server that could take them in, or more has changed. */
  | { readonly outcome: "restart" };

/** Longest wait for the server, milliseconds; then the team is started anew. */
const PATIENCE_MS = 10_000;

/** Whether a process reads it once, at its start. Pure. */
export function isOfProcess(file: string): boolean {
  return [".env", "package.json", "package-lock.json", "tsconfig.json"].includes(file);
}

/**
 * Lets the server of this folder read its team anew, as `dure reload` does: turns that run end with
 * what they began with. A mistake changes nothing.
 */
async function takeIn(folder: string): Promise<TakenIn> {
  try {
    return await withTimeout(systemClock, PATIENCE_MS, tooLong, (signal) => reload(folder, signal));
  } catch (error) {
    if (!(error instanceof DureError) || error.class !== "input") return { outcome: "restart" };
    const message = [error.message, error.hint].filter(Boolean).join(" ");
    return { outcome: "refused", message };
  }
}

async function reload(folder: string, signal: AbortSignal): Promise<TakenIn> {
  const url = await ownServer(folder, signal);
  if (url === undefined) return { outcome: "restart" };
  const client = await connect({ dir: folder, url });
  const { restart } = await client.reload({ signal });

  return { outcome: restart.length === 0 ? "in-force" : "restart" };
}

function tooLong(): Error {
  return new Error("The server did not read its team in time.");
}

/** The one that was started with this data folder, and not another one that `DURE_URL` names. */
async function ownServer(folder: string, signal: AbortSignal): Promise<string | undefined> {
  const home = await homeOf(folder);
  const [{ readRunningServer }, { DureClient }] = await Promise.all([
    import("../server/running-server.ts"),
    import("../client/index.ts"),
  ]);
  const known = await readRunningServer(home);
  if (known === undefined) return undefined;

  const { processId } = await new DureClient({ baseUrl: known.url }).health({ signal });
  return processId === known.processId ? known.url : undefined;
}

// --- watch team

export interface TeamWatcher extends AsyncDisposable {
  /** Resolves when every file of the folder is watched. */
  readonly ready: Promise<void>;
}

/**
 * Tells each change of a file that can change the team, by its path within `folder`. Every kind of
 * save counts: written in place, replaced by a rename, removed and made again. Data, packages and
 * dot folders are not looked into.
 *
 * @param onTrouble a folder that cannot be watched, for example because the system allows no more
 *   watches; what is watched already goes on.
 */
export function watchTeam(
  folder: string,
  onChange: (file: string) => void,
  onTrouble: (error: Error) => void,
): TeamWatcher {
  const relative = (file: string): string => path.relative(folder, file);
  const watcher = watch(folder, {
    ignoreInitial: true,
    ignored: (file, stats) => {
      const name = relative(file);
      if (name === "" || stats === undefined) return false;
      return stats.isDirectory() ? isPassedOver(path.basename(name)) : !matters(name);
    },
  });

  const ready = new Promise<void>((resolve) => watcher.once("ready", () => resolve()));
  watcher.on("all", (_event, file) => {
    if (matters(relative(file))) onChange(relative(file));
  });
  watcher.on("error", (error) =>
    onTrouble(error instanceof Error ? error : new Error(String(error))),
  );

  return { ready, [Symbol.asyncDispose]: () => watcher.close() };
}

/** Whether a change of this file can change the team. Pure. @param file relative to the folder */
export function matters(file: string): boolean {
  const parts = file.split(path.sep);
  const name = parts.at(-1)!;
  const folders = parts.slice(0, -1);
  if (folders.some(isPassedOver)) return false;
  if (name === ".env") return true;

  return (
    !name.startsWith(".") &&
    /\.(m?[jt]s|json|ya?ml|md)$/.test(name) &&
    !/\.(test|spec)\.m?[jt]s$/.test(name)
  );
}

function isPassedOver(folder: string): boolean {
  return folder === "node_modules" || folder === "dist" || folder.startsWith(".");
}
