import nodeModule from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";

/**
 * Runs `load` so that the modules of `folder` are read anew, whatever this process has imported
 * before. Packages are not: there is one dure in a process. What these modules import later, on
 * their own, is of the same reading.
 *
 * Node keeps every module that it has imported, so each reading costs the memory of the folder's
 * code again. Throws `RELOAD_IMPOSSIBLE` where Node is older than 22.15 or cannot run TypeScript
 * itself.
 */
export async function withFreshModules<T>(folder: string, load: () => Promise<T>): Promise<T> {
  // No import of its name: where Node has none, no module of dure could be loaded.
  const { registerHooks } = nodeModule;
  if (typeof registerHooks !== "function" || !process.features.typescript) {
    throw new DureError("RELOAD_IMPOSSIBLE", `Node ${process.version} cannot read modules anew.`, {
      class: "conflict",
      hint: "Restart the server, or run it with Node 24.",
    });
  }

  const inside = `${pathToFileURL(path.resolve(folder)).href}/`;
  const reading = `reload=${ulid()}`;
  let isLoading = true;

  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const isOurs = isLoading || context.parentURL?.endsWith(`?${reading}`);

      const isFolders =
        found.url.startsWith(inside) &&
        !found.url.includes("/node_modules/") &&
        !found.url.includes("?");

      return isOurs && isFolders ? { ...found, url: `${found.url}?${reading}` } : found;
    },
  });

  try {
    return await load();
  } finally {
    isLoading = false;
  }
}

/**
 * What `load` gives, and the modules outside of `folder` that are imported meanwhile, by their real
 * paths: also those that a linked package leads to. Installed packages are not among them, nor what
 * was imported before. None where Node is older than 22.15.
 */
export async function withModulesOutside<T>(
  folder: string,
  load: () => Promise<T>,
): Promise<{ readonly loaded: T; readonly modules: readonly string[] }> {
  const { registerHooks } = nodeModule;
  if (typeof registerHooks !== "function") return { loaded: await load(), modules: [] };
  const inside = `${pathToFileURL(path.resolve(folder)).href}/`;
  const found = new Set<string>();
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const { protocol, href } = new URL(resolved.url);
      const isOutside = !href.startsWith(inside) && !href.includes("/node_modules/");
      if (protocol === "file:" && isOutside) found.add(fileURLToPath(href));

      return resolved;
    },
  });
  try {
    return { loaded: await load(), modules: [...found] };
  } finally {
    hooks.deregister();
  }
}
