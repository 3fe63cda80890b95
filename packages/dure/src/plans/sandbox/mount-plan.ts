import path from "node:path";
import type { Confinement } from "./sandbox.ts";

/**
 * What is mounted where, as values: the rules of a confinement in the order in which they are
 * applied, parents before what lies in them. How a rule becomes a mount is up to the kind.
 */

/**
 * How one place looks inside. `hidden`: empty, but for what is opened in it; `shown`: as outside,
 * read-only; `temporary`: empty, and what is written vanishes; `pinned`: as the rule around it.
 */
export type MountKind =
  | "hidden"
  | "readOnly"
  | "disposable"
  | "writable"
  | "shown"
  | "temporary"
  | "pinned";

export interface MountEntry {
  readonly path: string;
  /** Where it lies outside. Absent: at the same path. */
  readonly source?: string | undefined;
  readonly look: MountKind;
  readonly isFolder: boolean;
  /**
   * Of an empty place: what must be there so that deeper places can be mounted, relative to this
   * one.
   */
  readonly skeleton: readonly SkeletonEntry[];
}

export interface SkeletonEntry {
  readonly path: string;
  readonly isFolder: boolean;
}

/** On the same path the first wins. */
const STRENGTH: readonly MountKind[] = [
  "hidden",
  "readOnly",
  "disposable",
  "writable",
  "shown",
  "temporary",
  "pinned",
];
/** Looks of places in which nothing of outside is seen. */
const EMPTY: readonly (MountKind | undefined)[] = ["hidden", "temporary"];

/** Rules that hold for every confinement. */
export interface Always {
  readonly hidden: readonly string[];
  readonly shown: readonly string[];
  /** Unless the confinement has a rule for it. */
  readonly temporary?: string | undefined;
}

/** What is on the disk at a path; undefined when nothing, or a symbolic link. */
export type KindOf = (path: string) => "folder" | "file" | undefined;

/**
 * The places of a confinement. Pure but for `kindOf`. Folders between a writable place and a
 * protected one in it are pinned: a folder that is a mount cannot be renamed, so no process can put
 * another one in its place.
 */
export function planPlaces(
  confinement: Confinement,
  always: Always,
  kindOf: KindOf,
): readonly MountEntry[] {
  const looks = claimAll(confinement, always);
  dropHiddenTwice(looks);
  pinBetween(looks);

  const present = byDepth(looks.keys()).flatMap((at) => {
    const kind = kindOf(at);
    if (kind === undefined) return [];
    return [{ path: at, look: looks.get(at)!, isFolder: kind === "folder" }];
  });
  const skeletons = skeletonsOf(present, looks);
  return present.map((entry) => ({ ...entry, skeleton: skeletons.get(entry.path) ?? [] }));
}

type Looks = Map<string, MountKind>;

function claim(looks: Looks, look: MountKind, paths: readonly string[]): void {
  for (const at of paths) {
    const before = looks.get(at);
    if (before === undefined || STRENGTH.indexOf(look) < STRENGTH.indexOf(before)) {
      looks.set(at, look);
    }
  }
}

/** The strongest look that a rule gives each path. */
function claimAll(
  { cwd, writable, disposable, readOnly, hidden, shown = [] }: Confinement,
  always: Always,
): Looks {
  const looks: Looks = new Map();
  claim(looks, "writable", writable);
  claim(looks, "disposable", disposable);
  claim(looks, "readOnly", readOnly);
  claim(looks, "hidden", [...hidden, ...always.hidden]);
  claim(looks, "shown", [...always.shown, ...shown]);
  if (always.temporary !== undefined) claim(looks, "temporary", [always.temporary]);
  const isCwdAbsent = !looks.has(cwd) && EMPTY.includes(enclosing(cwd, looks)?.look);
  if (isCwdAbsent) claim(looks, "shown", [cwd]);
  return looks;
}

/**
 * What lies in something empty is absent with it, unless a rule opens it again. What holds an opened
 * place in a temporary one stays hidden: it would be written there and vanish.
 */
function dropHiddenTwice(looks: Looks): void {
  const opened = [...looks].filter(([, look]) => look !== "hidden").map(([at]) => at);
  for (const at of byDepth(looks.keys())) {
    if (looks.get(at) !== "hidden") continue;
    const around = enclosing(at, looks)?.look;
    const isFloor = around === "temporary" && opened.some((place) => isWithin(place, at));
    if (EMPTY.includes(around) && !isFloor) looks.delete(at);
  }
}

const PROTECTED: readonly MountKind[] = ["hidden", "readOnly", "disposable"];

/** Pins the folders between a place that may be written and a protected one in it. */
function pinBetween(looks: Looks): void {
  for (const [at, look] of [...looks]) {
    if (!PROTECTED.includes(look)) continue;
    const around = enclosing(at, looks);
    if (around?.look !== "writable" && around?.look !== "disposable") continue;
    for (let between = path.dirname(at); between !== around.path; between = path.dirname(between)) {
      claim(looks, "pinned", [between]);
    }
  }
}

/** What must be there in each empty place so that the places in it can be mounted. */
function skeletonsOf(
  present: readonly Omit<MountEntry, "skeleton">[],
  looks: Looks,
): Map<string, SkeletonEntry[]> {
  const skeletons = new Map<string, SkeletonEntry[]>();
  for (const entry of present) {
    const around = enclosing(entry.path, looks);
    if (!around || !EMPTY.includes(around.look)) continue;
    const skeleton = skeletons.get(around.path) ?? [];
    skeleton.push({ path: path.relative(around.path, entry.path), isFolder: entry.isFolder });
    skeletons.set(around.path, skeleton);
  }
  return skeletons;
}

/**
 * The nearest place around a path that is not the path itself. Pinned ones are as their own
 * surroundings.
 */
function enclosing(
  at: string,
  looks: ReadonlyMap<string, MountKind>,
): { path: string; look: MountKind } | undefined {
  let below = at;
  for (;;) {
    const folder = path.dirname(below);
    if (folder === below) return undefined;
    const look = looks.get(folder);
    if (look !== undefined && look !== "pinned") return { path: folder, look };
    below = folder;
  }
}

/** Whether `inner` is `outer` or lies in it. Pure. */
export function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith("/") ? outer : `${outer}/`);
}

/**
 * Parents before children; else by name, so that the same confinement always gives the same plan.
 */
function byDepth(paths: Iterable<string>): readonly string[] {
  const depth = (at: string): number => (at === "/" ? 0 : at.split("/").length);
  return [...paths].sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
}
