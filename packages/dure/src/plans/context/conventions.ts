import { skillOf } from "../../engine/files/skill-files.ts";
import type { WorkerSpec } from "../plan.ts";
import type { ScopeInput } from "../scope.ts";
import { cutTo } from "./cut-file.ts";
import type { CommitFiles } from "./gather.ts";
import type { PromptFile } from "./prompt.ts";

/** What a repository tells agents that work on it. */
export interface Conventions {
  /** AGENTS.md of the root, then those nearest to the paths that a worker owns. */
  readonly guides: readonly PromptFile[];
  /** The same for a program: by their names alone, for many read these files by themselves. */
  readonly named: readonly string[];
  readonly skills: readonly RepositorySkill[];
}

interface RepositorySkill {
  readonly path: string;
  /** Absent for a program: it reads the file, or knows it already. */
  readonly description?: string | undefined;
}

/** The convention of agents.md: the nearest one counts. */
const GUIDE = "AGENTS.md";
/** Folders of skills that belong to no single product. */
const SKILL = /^(?:\.agents\/)?skills\/([^/]+)\/SKILL\.md$/;
/** AGENTS.md of one prompt, and tokens of each. */
const MOST_GUIDES = 4;
const MAX_GUIDE = 3_000;
/** Skills that are named, and characters of one description. */
const MOST_SKILLS = 40;
const MAX_DESCRIPTION = 300;

interface ConventionsInput {
  readonly scope: ScopeInput;
  /** Programs read these files themselves; a model gets their text. */
  readonly kind: WorkerSpec["kind"];
  /** Files of the commit that the worker may read, its own included. */
  readonly readable: readonly string[];
}

/** Reads only what the worker may read. */
export async function conventionsOf(
  { scope, kind, readable }: ConventionsInput,
  commit: Pick<CommitFiles, "readFile">,
): Promise<Conventions> {
  const guides = guidesFor(scope.writes, new Set(readable));
  const skills = readable
    .filter((path) => SKILL.test(path))
    .toSorted()
    .slice(0, MOST_SKILLS);
  if (kind !== "model") {
    return { guides: [], named: guides, skills: skills.map((path) => ({ path })) };
  }

  return {
    guides: await Promise.all(guides.map(async (path) => guideFile(path, commit))),
    named: [],
    skills: await Promise.all(skills.map(async (path) => skillAt(path, commit))),
  };
}

/** Pure. @param owned patterns of what a worker may write */
export function guidesFor(owned: readonly string[], there: ReadonlySet<string>): readonly string[] {
  const nearest = owned.flatMap((pattern) => nearestTo(folderOf(pattern), there) ?? []);
  const root = there.has(GUIDE) ? [GUIDE] : [];
  return [...new Set([...root, ...nearest.toSorted()])].slice(0, MOST_GUIDES);
}

/** The part of a pattern that names folders. */
function folderOf(pattern: string): readonly string[] {
  const parts = pattern.split("/").slice(0, -1);
  const wild = parts.findIndex((part) => /[*?{[\]]/.test(part));
  return wild < 0 ? parts : parts.slice(0, wild);
}

function nearestTo(folder: readonly string[], there: ReadonlySet<string>): string | undefined {
  for (let depth = folder.length; depth > 0; depth--) {
    const path = [...folder.slice(0, depth), GUIDE].join("/");
    if (there.has(path)) return path;
  }
  return undefined;
}

async function guideFile(path: string, commit: Pick<CommitFiles, "readFile">): Promise<PromptFile> {
  const text = (await commit.readFile(path)) ?? "";
  return cutTo({ path, text, form: "whole" }, MAX_GUIDE);
}

async function skillAt(
  path: string,
  commit: Pick<CommitFiles, "readFile">,
): Promise<RepositorySkill> {
  const [, name = ""] = SKILL.exec(path) ?? [];
  const made = skillOf(path, (await commit.readFile(path)) ?? "", name);
  const description = "problems" in made ? name : made.description.replaceAll(/\s+/g, " ");
  return { path, description: description.slice(0, MAX_DESCRIPTION) };
}
