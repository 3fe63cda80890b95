/**
 * `npm run site`: builds the site of the documents into `site/dist`; `npm run site -- --serve` shows
 * it on this machine. Its builder is installed into `site` on the first run: nothing else needs it.
 */

import { copyFile, readFile } from "node:fs/promises";
import path from "node:path";
import { root, run } from "./processes.ts";
import { writeSite } from "./site.ts";

const SITE = path.join(root, "site");
const INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

if (await isStale()) await orStop("npm", INSTALL);
const pages = await writeSite(path.join(SITE, "pages"));
const mermaid = path.join(SITE, "node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js");
await copyFile(mermaid, path.join(SITE, "pages/public/mermaid.js"));
console.log(`[site] ${pages.length} pages`);
await vitepress("build");
await stopAtEmptyPages();
if (process.argv.includes("--serve")) await vitepress("preview");

/** VitePress logs a page that it cannot draw, writes it without its text, and exits with 0. */
async function stopAtEmptyPages(): Promise<void> {
  const drawn = await Promise.all(
    pages.map(async ({ place }) => {
      const html = await readFile(path.join(SITE, "dist", place.replace(/md$/, "html")), "utf8");
      return { place, hasTitle: html.includes("<h1") };
    }),
  );
  const empty = drawn.filter(({ hasTitle }) => !hasTitle).map(({ place }) => place);
  if (empty.length === 0) return;
  console.error(`[site] These pages have no text: ${empty.join(", ")}.`);
  process.exit(1);
}

/** Whether what is installed is not what the lock file names. */
async function isStale(): Promise<boolean> {
  const [wanted, found] = await Promise.all(
    ["package-lock.json", "node_modules/.package-lock.json"].map(async (name) => {
      const text = await readFile(path.join(SITE, name), "utf8").catch(() => "{}");
      const { packages = {} } = JSON.parse(text) as Lock;
      return ["vitepress", "@mermaid-js/tiny"].map(
        (part) => packages[`node_modules/${part}`]?.version,
      );
    }),
  );
  return String(wanted) !== String(found);
}

interface Lock {
  readonly packages?: Readonly<Record<string, { readonly version?: string }>>;
}

async function vitepress(command: "build" | "preview"): Promise<void> {
  const program = path.join(SITE, "node_modules/vitepress/bin/vitepress.js");
  await orStop(process.execPath, [program, command, "."]);
}

async function orStop(program: string, args: readonly string[]): Promise<void> {
  const { exitCode } = await run(program, args, { cwd: SITE, show: true });
  if (exitCode !== 0) process.exit(exitCode);
}
