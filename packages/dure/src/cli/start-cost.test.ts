import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const DURE = fileURLToPath(new URL("main.ts", import.meta.url));

/** Tells on stderr, at the end, which packages a process has loaded. */
const TELL_PACKAGES = `data:text/javascript,
  import { registerHooks } from "node:module";
  const packages = new Set();
  registerHooks({
    load(url, context, next) {
      const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\/(?!.*node_modules)/.exec(url) ?? [];
      if (name) packages.add(name);
      return next(url, context);
    },
  });
  process.on("exit", () => console.error(JSON.stringify([...packages].sort())));`;

test("help loads nothing of a team: no settings, no database, no schemas", async () => {
  const hook = TELL_PACKAGES.replaceAll("\n", " ");
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    "--conditions=dure-source",
    "--import",
    encodeURI(hook).replaceAll("#", "%23"),
    DURE,
    "--help",
  ]);

  expect(stdout).toContain("dure dev");
  expect(JSON.parse(stderr)).toEqual(["commander", "picocolors"]);
});
