/**
 * The pages of the site, put together from those of the repository: links lead to where the pages
 * stand in the site, and what does not go along becomes words.
 */

import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { ENGLISH, type Group } from "../site/structure.ts";
import { root } from "./processes.ts";

/** Pages beside `docs` that stand in the site, by their place there. */
const BESIDE: Readonly<Record<string, string>> = {
  "README.md": "index.md",
  "README.ko.md": "ko/index.md",
  "ARCHITECTURE.md": "ARCHITECTURE.md",
  "CHANGELOG.md": "CHANGELOG.md",
  "CONTRIBUTING.md": "CONTRIBUTING.md",
  "STYLE.md": "STYLE.md",
  "SECURITY.md": "reporting.md",
};

/** Folders of `docs` whose pages are listed on a page of their own. */
const LISTED = {
  spec: "What it must do",
  decisions: "Why it is so",
  reference: "Reference",
} as const;

/** A page of the site. */
export interface SitePage {
  /** In the site: `guides/effects.md`. */
  readonly place: string;
  readonly text: string;
}

/** Writes the pages into an empty `folder`, with the pictures that they show. */
export async function writeSite(folder: string): Promise<readonly SitePage[]> {
  await rm(folder, { recursive: true, force: true });
  const pages = await readSite();
  for (const { place, text } of pages) {
    const found = isInternal(place) ? `---\nsearch: false\n---\n\n${text}` : text;
    await write(path.join(folder, place), found);
    if (!isInternal(place)) await write(path.join(folder, "public", place), text); // as llms.txt names it
  }
  await write(path.join(folder, "public/llms.txt"), llmsText(ENGLISH, pages));
  for (const picture of await filesOf("docs", /\.(?:svg|png)$/)) {
    await copyFile(path.join(root, picture), path.join(folder, placeOf(picture)!));
  }
  return pages;
}

/** Pages for people who change dure: there by the menu, and not found by the search. Pure. */
export function isInternal(place: string): boolean {
  return /^(?:spec|decisions)\/|^[A-Z]+\.md$/.test(place);
}

/** What a model reads first: each page with its first sentence. Source: llmstxt.org. Pure. */
export function llmsText(groups: readonly Group[], pages: readonly SitePage[]): string {
  const textOf = new Map(pages.map(({ place, text }) => [place, text]));
  const parts = groups.map(({ title, pages: listed }) => {
    const lines = listed
      .map(([words, page]) => ({ words, place: `${page}.md` }))
      .filter(({ place }) => !isInternal(place))
      .map(({ words, place }) => `- [${words}](/${place}): ${firstSentence(textOf.get(place)!)}`);
    return lines.length === 0 ? "" : `\n## ${title}\n\n${lines.join("\n")}\n`;
  });
  return `# dure\n\n> ${firstSentence(textOf.get("index.md")!)}\n${parts.join("")}`;
}

function firstSentence(text: string): string {
  const [words = ""] =
    /^[A-Z*`].*(?:\n(?!\n).*)*/m.exec(text.replaceAll(/^```[^]*?^```$/gm, "")) ?? [];
  return words.replaceAll("\n", " ").split(/(?<=[.:]) (?=[A-Z`])/)[0]!;
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** Every page of the site. */
export async function readSite(): Promise<readonly SitePage[]> {
  const names = [...Object.keys(BESIDE), ...(await filesOf("docs", /\.md$/))];
  const known = new Set(names);
  const pages = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(path.join(root, name), "utf8");
      return { place: placeOf(name)!, text: sitePageOf(name, text, known) };
    }),
  );
  return [
    ...pages,
    ...Object.keys(LISTED).map((name) => listOf(name as keyof typeof LISTED, pages)),
  ];
}

/** Where a file of the repository stands in the site; undefined: nowhere. Pure. */
export function placeOf(name: string): string | undefined {
  if (name in BESIDE) return BESIDE[name];
  if (name.startsWith("docs/")) return name.slice("docs/".length);
  return undefined;
}

/** The text of a page as the site has it. `known`: the pages and pictures that go along. Pure. */
export function sitePageOf(name: string, text: string, known: ReadonlySet<string>): string {
  const withoutComments = outsideCode(text, (part) => part.replaceAll(/<!--[^]*?-->\n?/g, ""));
  return outsideCode(withoutComments, (part) =>
    part.replaceAll(
      /\[([^\]\n]*)\]\(([^)\s]+)\)/g,
      (whole, words: string, target: string) => linkOf({ name, words, target }, known) ?? whole,
    ),
  );
}

/** Undefined: the link stays as it is. */
function linkOf(
  { name, words, target }: { name: string; words: string; target: string },
  known: ReadonlySet<string>,
): string | undefined {
  if (/^(?:https?:|mailto:|#)/.test(target)) return undefined;
  const [file = "", hash] = target.split("#");
  const led = path.posix.join(path.posix.dirname(name), file).replace(/\/$/, "");
  const place = known.has(led) || isPicture(led) ? placeOf(led) : listPlace(led);
  if (place === undefined) return words;

  const from = path.posix.dirname(placeOf(name)!);
  const relative = path.posix.relative(from, place);
  const address = relative.startsWith(".") ? relative : `./${relative}`;
  return `[${words}](${address}${hash === undefined ? "" : `#${hash}`})`;
}

function isPicture(name: string): boolean {
  return /\.(?:svg|png)$/.test(name);
}

/** The page that lists a folder of `docs`. */
function listPlace(name: string): string | undefined {
  const folder = name.replace(/^docs\//, "");
  return name.startsWith("docs/") && folder in LISTED ? `${folder}/index.md` : undefined;
}

/** Changes a page outside of its fenced code. */
function outsideCode(text: string, change: (part: string) => string): string {
  return text
    .split(/(^```[^]*?^```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join("");
}

function listOf(folder: keyof typeof LISTED, pages: readonly SitePage[]): SitePage {
  const links = pages
    .filter(({ place }) => path.posix.dirname(place) === folder && !place.includes("template"))
    .toSorted((a, b) => a.place.localeCompare(b.place, "en"))
    .map(({ place, text }) => `- [${titleOf(text)}](./${path.posix.basename(place)})`);
  return { place: `${folder}/index.md`, text: `# ${LISTED[folder]}\n\n${links.join("\n")}\n` };
}

function titleOf(text: string): string {
  return /^# (?<title>.*)$/m.exec(text)?.groups!["title"] ?? "";
}

/** Files below a folder of the repository, by their paths in it. */
async function filesOf(folder: string, kind: RegExp): Promise<readonly string[]> {
  const names = await readdir(path.join(root, folder), { recursive: true });
  return names
    .map((name) => `${folder}/${name.replaceAll(path.sep, "/")}`)
    .filter((name) => kind.test(name))
    .toSorted();
}
