import { spawn, type ChildProcess } from "node:child_process";
import { watch } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { systemClock, type Cancel } from "../kernel/clock.ts";
import { childEnvironment, isSet, VARIABLES } from "../team/environment.ts";
import { EXIT, type Output } from "./output.ts";

/** Changes that come together, as an editor and git make them, are one restart, milliseconds. */
const DEBOUNCE = 200;
/**
 * A child that does not end after SIGTERM is killed, milliseconds; its turns go on in the next one.
 */
const PATIENCE = 10_000;

/**
 * `dure start` in dev mode, started anew when something in the folder changes. A team that cannot start (a mistake in a
 * file) is tried again with the next change. Ends with the first SIGINT or SIGTERM.
 */
export async function dev(options: {
  folder: string;
  output: Output;
  program: readonly string[];
}): Promise<number> {
  const { folder, output, program } = options;
  const ended = Promise.withResolvers<number>();
  let child: ChildProcess | undefined;
  let stopping = false;
  let restarting: Promise<void> | undefined;

  const run = (): void => {
    const env = childEnvironment(
      isSet(VARIABLES.devMode.name) ? {} : { [VARIABLES.devMode.name]: "true" },
    );
    const started = spawn(process.execPath, [...process.execArgv, ...program], {
      stdio: "inherit",
      env,
    });
    child = started;
    started.on("error", (error) => ended.reject(error));
    started.on("exit", (code, signal) => {
      if (child === started) child = undefined;
      if (stopping) ended.resolve(EXIT.ok);
      else if (restarting === undefined) {
        const exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
        // A second try without a change would fail the same way; a fenced process is started anew
        // as any supervisor would.
        if (exitCode === EXIT.fenced) run();
        else if (exitCode === EXIT.ok) ended.resolve(EXIT.ok);
        else {
          output.note(
            `The team stopped with exit code ${exitCode}. Waiting for a change in ${folder} …`,
          );
        }
      }
    });
  };
  const restart = (file: string): void => {
    restarting ??= (async () => {
      output.note(`${file} changed; restarting …`);
      await endOf(child);
      restarting = undefined;
      if (!stopping) run();
    })();
  };
  let cancel: Cancel = () => {};
  const watcher = watch(folder, { recursive: true }, (_event, file) => {
    if (file === null || !matters(file)) return;
    cancel();
    cancel = systemClock.after(DEBOUNCE, () => restart(file));
  });
  const onSignal = (): void => {
    if (stopping) child?.kill("SIGKILL");
    stopping = true;
    if (child) child.kill("SIGTERM");
    else if (restarting === undefined) ended.resolve(EXIT.ok);
    else void restarting.then(() => ended.resolve(EXIT.ok));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  try {
    run();
    return await ended.promise;
  } finally {
    cancel();
    watcher.close();
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

/** Whether a change of this file can change the team. Pure. @param file relative to the folder */
export function matters(file: string): boolean {
  const parts = file.split(path.sep);
  const name = parts.at(-1)!;
  if (
    parts
      .slice(0, -1)
      .some((part) => part === "node_modules" || part === "dist" || part.startsWith("."))
  ) {
    return false;
  }
  if (name === ".env") return true;
  return (
    !name.startsWith(".") &&
    /\.(m?[jt]s|json|ya?ml|md)$/.test(name) &&
    !/\.(test|spec)\.m?[jt]s$/.test(name)
  );
}

async function endOf(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const cancel = systemClock.after(PATIENCE, () => child.kill("SIGKILL"));
  await gone;
  cancel();
}
