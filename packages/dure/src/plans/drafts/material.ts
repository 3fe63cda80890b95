import type { CommitFiles } from "../context/gather.ts";
import { isTestPattern } from "../check-paths.ts";
import type { ReadSignatures } from "../context/outlines.ts";

/** What a draft is made from: the repository at its base. */
export interface DraftSource extends CommitFiles {
  /** Subjects of the last commits, the newest first. */
  readonly commits: readonly string[];
}

/** Characters of each part that the model sees; together some 30,000 tokens. */
const MAX_NAMES = 60_000;
const MAX_MANIFESTS = 16_000;
const MAX_SIGNATURES = 28_000;
/** Of one file in them. */
const MAX_MANIFEST = 3_000;
const MAX_SIGNATURE = 2_000;
const MAX_TEST = 1_500;
/** Bytes of a file that is opened at all, and files that are. */
const MAX_BYTES = 96_000;
const MAX_MANIFEST_FILES = 12;
const MAX_OPENED = 40;
const MAX_COMMITS = 20;
/** Files among which those worth opening are looked for. */
const MAX_LOOKED_AT = 20_000;

const MANIFEST = new RegExp(
  `(?:^|/)(?:${[
    "package\\.json|deno\\.json|pnpm-workspace\\.yaml",
    "pyproject\\.toml|setup\\.cfg|tox\\.ini|requirements\\.txt",
    "go\\.mod|go\\.work|Cargo\\.toml|pom\\.xml",
    "build\\.gradle(?:\\.kts)?|settings\\.gradle(?:\\.kts)?",
    "Makefile|justfile|Gemfile|composer\\.json|mix\\.exs",
  ].join("|")})$`,
);
const SOURCE = /\.(?:[cm]?[jt]sx?|py|go|java|kts?|rs)$/;

/** What the repository says, for a model that makes a plan. Bounded in every part. */
export async function readMaterial(
  source: DraftSource,
  goal: string,
  { signal, signatures }: { signal: AbortSignal; signatures: ReadSignatures },
): Promise<string> {
  const files = source.files.slice(0, MAX_LOOKED_AT).filter(({ bytes }) => bytes <= MAX_BYTES);
  const paths = files.map(({ path }) => path);

  const open = async (path: string): Promise<string | undefined> => {
    signal.throwIfAborted();
    return source.readFile(path);
  };

  const parts = [
    ["Files", listed(source.files.map(({ path }) => path))],
    ["Manifests", await readManifests(paths, open)],
    ["Last commits", source.commits.slice(0, MAX_COMMITS).map(oneLine).join("\n")],
    ["A test as they are written here", await readTest(paths, goal, open)],
    ["Signatures", await readSignatures(nearestTo(goal, paths), open, signatures)],
  ] as const;

  return parts
    .filter(([, text]) => text.trim() !== "")
    .map(([title, text]) => `## ${title}\n${text.trimEnd()}\n`)
    .join("\n");
}

type Open = (path: string) => Promise<string | undefined>;

function listed(files: readonly string[]): string {
  let text = "";
  for (const [index, file] of files.entries()) {
    if (text.length + file.length > MAX_NAMES) {
      return `${text}… and ${files.length - index} more\n`;
    }
    text += `${file}\n`;
  }

  return text;
}

/** Those near the root first: they say how the whole is built and tested. */
function readManifests(paths: readonly string[], open: Open): Promise<string> {
  const manifests = paths.filter((path) => MANIFEST.test(path)).toSorted(byDepth);
  const shown = manifests.slice(0, MAX_MANIFEST_FILES);

  return together(shown, MAX_MANIFESTS, async (path) => (await open(path))?.slice(0, MAX_MANIFEST));
}

async function readTest(paths: readonly string[], goal: string, open: Open): Promise<string> {
  const tests = paths.filter((path) => SOURCE.test(path) && isTestPattern(path));

  const [nearest] = nearestTo(goal, tests);
  if (nearest === undefined) return "";
  const text = await open(nearest);

  return text === undefined ? "" : `### ${nearest}\n${text.slice(0, MAX_TEST)}\n`;
}

function readSignatures(
  paths: readonly string[],
  open: Open,
  signatures: ReadSignatures,
): Promise<string> {
  const sources = paths.filter((path) => SOURCE.test(path) && !isTestPattern(path));

  const shown = sources.slice(0, MAX_OPENED);
  return together(shown, MAX_SIGNATURES, async (path) => {
    const text = await open(path);
    if (text === undefined) return undefined;

    return (await signatures(path, text)).text.slice(0, MAX_SIGNATURE);
  });
}

/** Texts of files below their names, as far as there is room. */
async function together(
  paths: readonly string[],
  most: number,
  textOf: (path: string) => Promise<string | undefined>,
): Promise<string> {
  let all = "";
  for (const path of paths) {
    const text = await textOf(path);
    if (text === undefined || text.trim() === "") continue;
    const part = `### ${path}\n${text.trimEnd()}\n\n`;
    if (all.length + part.length > most) break;
    all += part;
  }

  return all;
}

/** Paths that have words of the goal in them first, then those near the root. Pure. */
export function nearestTo(goal: string, paths: readonly string[]): readonly string[] {
  const words = new Set(wordsIn(goal).filter((word) => word.length > 2));

  const ranked = paths.map((path) => {
    const hits = new Set(wordsIn(path).filter((word) => words.has(word)));
    return { path, hits: hits.size };
  });

  return ranked
    .toSorted((a, b) => b.hits - a.hits || byDepth(a.path, b.path))
    .map(({ path }) => path);
}

/** Singular and plural are one. */
function wordsIn(text: string): readonly string[] {
  const words = text.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return (words.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.replace(/(?<=..)s$/, ""));
}

function byDepth(a: string, b: string): number {
  return a.split("/").length - b.split("/").length || (a < b ? -1 : 1);
}

function oneLine(subject: string): string {
  return `- ${subject.replace(/\s+/g, " ").trim().slice(0, 120)}`;
}
