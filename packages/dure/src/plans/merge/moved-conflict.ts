/** A result and a branch that moved meanwhile, where both changed the same lines. */

import { ownersIn } from "../plan-ownership.ts";
import type { Plan } from "../plan.ts";
import type { MergeConflict } from "../workspace/merge-into-branch.ts";
import type { RunFiles } from "./merge.ts";

/** What is to be solved of a merge, and how. */
export interface MovedConflict extends MergeConflict {
  /** The branch. */
  readonly target: string;
  /** The same for the same work: what was done of it is not done again. */
  readonly number: number;
  /** What a person said to it. */
  readonly hint?: string | undefined;
  /** A person has chosen: of all its files, those of this side. */
  readonly takes?: "ours" | "theirs" | undefined;
}

/** What became of it. */
export interface MovedSolution {
  readonly commit: string;
  /** Files that still conflict. */
  readonly open: readonly string[];
  /** What the agent said that was asked; undefined: the plan has none. */
  readonly words: string | undefined;
}

/** Characters of one side of one file in a goal, and of all of them. */
const MAX_SIDE = 12_000;
const MAX_SIDES = 60_000;
/** Files of which a goal tells more than their names. */
const MAX_FILES = 50;

const WANTED = [
  "Write each of them once, so that what both wanted holds, and leave no marker.",
  "A file that one side deleted: leave it as it is, or delete it.",
];

/** What an agent is asked for: each file with its sides, and who wrote them and why. */
export async function movedGoal(
  { target, ours, theirs, files, hint }: MovedConflict,
  plan: Pick<Plan, "ports">,
  store: RunFiles,
): Promise<string> {
  const base = await store.mergeBase(ours, theirs);
  const owners = ownersIn(plan.ports);
  let room = MAX_SIDES;
  const sideOf = async (name: string, commit: string | undefined, path: string) => {
    const text = commit && (await store.read(commit, path));
    const said = (text ?? "(not there, or no text)").slice(0, Math.min(MAX_SIDE, room));
    room -= said.length;
    return said === "" ? "" : `### as ${name} has it\n${said}`;
  };
  const parts: string[] = [];
  for (const path of files.slice(0, MAX_FILES)) {
    const ports = owners(path).map(({ id, goal }) => `- port ${id}: ${goal.slice(0, 1_000)}`);
    const told = await store.told(path, { from: theirs, to: ours });
    parts.push(
      [
        `## ${path}`,
        "### why the result changed it",
        ...ports,
        `### commits of ${target} that changed it`,
        ...told.map((subject) => `- ${subject}`),
        await sideOf("both began with", base, path),
        await sideOf(target, ours, path),
        await sideOf("the result", theirs, path),
      ]
        .filter(Boolean)
        .join("\n"),
    );
  }
  const begin = [
    `The branch ${target} has moved since the run began: it and the result changed the same files.`,
    `In your tree they stand with conflict markers: first ${target}, then what both began with,`,
    "then the result.",
    ...WANTED,
  ].join(" ");
  const said = hint === undefined ? [] : [`A person said: ${hint}`];
  const more = files.slice(MAX_FILES).map((path) => `- ${path}`);

  return [begin, ...said, ...parts, more.join("\n")].filter(Boolean).join("\n\n");
}

/**
 * Files of a solved tree that still conflict: with a marker, or such as git could not mark and that
 * were left as they are. A file that one side deleted is kept by leaving it.
 */
export async function stillOpen(
  conflict: MergeConflict,
  { commit, left }: { readonly commit: string; readonly left: readonly string[] },
  store: Pick<RunFiles, "read" | "list">,
): Promise<readonly string[]> {
  const { ours, theirs } = conflict;
  const [atOurs, atTheirs] = [new Set(await store.list(ours)), new Set(await store.list(theirs))];
  const untouched = new Set(left);
  const open: string[] = [];
  for (const path of conflict.files) {
    const isDeleted = atOurs.has(path) !== atTheirs.has(path);
    const hasMarkers = hunksOf((await store.read(commit, path)) ?? "", conflict).length > 0;
    if (hasMarkers || (untouched.has(path) && !isDeleted)) open.push(path);
  }

  return open;
}

/** The places of a file that conflict, each from its first to its last marker. Pure. */
export function hunksOf(
  text: string,
  { ours, theirs }: Pick<MergeConflict, "ours" | "theirs">,
): readonly string[] {
  const hunks: string[] = [];
  let hunk: string[] | undefined;
  for (const line of text.split("\n")) {
    const bare = line.trimEnd();
    if (bare === `<<<<<<< ${ours}`) hunk = [];
    hunk?.push(line);
    if (bare !== `>>>>>>> ${theirs}`) continue;
    hunks.push((hunk ?? [line]).join("\n"));
    hunk = undefined;
  }
  if (hunk !== undefined) hunks.push(hunk.join("\n"));

  return hunks;
}
