import path from "node:path";
import { watch } from "chokidar";

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
