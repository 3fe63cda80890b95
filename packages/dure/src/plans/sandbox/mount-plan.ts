import path from "node:path";
import type { Confinement } from "./sandbox.ts";

/**
 * What is mounted where, as values: the rules of a confinement in the order in which they are
 * applied, parents before what lies in them. How a rule becomes a mount is up to the kind.
 */

/** How one place looks inside. `shown`: as outside, read-only; `pinned`: as the rule around it. */
export type Look = "hidden" | "readOnly" | "disposable" | "writable" | "shown" | "pinned";

export interface Place {
  readonly path: string;
  /** Where it lies outside. Absent: at the same path. */
  readonly source?: string | undefined;
  readonly look: Look;
  readonly isFolder: boolean;
  /**
   * Below a hidden place: what must be there so that deeper places can be mounted, relative to this
   * one.
   */
  readonly skeleton: readonly SkeletonEntry[];
}

export interface SkeletonEntry {
  readonly path: string;
  readonly isFolder: boolean;
}

/** On the same path the first wins. */
const STRENGTH: readonly Look[] = [
  "hidden",
  "readOnly",
  "disposable",
  "writable",
  "shown",
  "pinned",
];

/** What is on the disk at a path; undefined when nothing, or a symbolic link. */
export type KindOf = (path: string) => "folder" | "file" | undefined;

/**
 * The places of a confinement. Pure but for `kindOf`. Folders between a writable place and a
 * protected one in it are pinned: a folder that is a mount cannot be renamed, so nobody can put
 * another one in its place.
 */
export function planPlaces(
  confinement: Confinement,
  always: { readonly hidden: readonly string[]; readonly shown: readonly string[] },
  kindOf: KindOf,
): readonly Place[] {
  const looks = new Map<string, Look>();
  const claim = (at: string, look: Look): void => {
    const before = looks.get(at);
    if (before === undefined || STRENGTH.indexOf(look) < STRENGTH.indexOf(before)) {
      looks.set(at, look);
    }
  };
  for (const at of confinement.writable) claim(at, "writable");
  for (const at of confinement.disposable) claim(at, "disposable");
  for (const at of confinement.readOnly) claim(at, "readOnly");
  for (const at of [...confinement.hidden, ...always.hidden]) claim(at, "hidden");

  if (!looks.has(confinement.cwd) && enclosing(confinement.cwd, looks)?.look === "hidden") {
    claim(confinement.cwd, "shown");
  }
  for (const at of always.shown) claim(at, "shown");

  // What lies in something hidden is hidden with it, unless a rule opens it again.
  for (const at of byDepth(looks.keys())) {
    if (looks.get(at) === "hidden" && enclosing(at, looks)?.look === "hidden") looks.delete(at);
  }
  for (const [at, look] of [...looks]) {
    if (look !== "hidden" && look !== "readOnly" && look !== "disposable") continue;
    const around = enclosing(at, looks);
    if (around?.look !== "writable" && around?.look !== "disposable") continue;
    for (let between = path.dirname(at); between !== around.path; between = path.dirname(between)) {
      claim(between, "pinned");
    }
  }

  const present = byDepth(looks.keys()).flatMap((at) => {
    const kind = kindOf(at);
    return kind === undefined
      ? []
      : [{ path: at, look: looks.get(at)!, isFolder: kind === "folder" }];
  });
  const skeletons = new Map<string, SkeletonEntry[]>();
  for (const place of present) {
    const around = enclosing(place.path, looks);
    if (around?.look !== "hidden") continue;
    const skeleton = skeletons.get(around.path) ?? [];
    skeleton.push({ path: path.relative(around.path, place.path), isFolder: place.isFolder });
    skeletons.set(around.path, skeleton);
  }
  return present.map((place) => ({ ...place, skeleton: skeletons.get(place.path) ?? [] }));
}

/**
 * The nearest place around a path that is not the path itself. Pinned ones are as their own
 * surroundings.
 */
function enclosing(
  at: string,
  looks: ReadonlyMap<string, Look>,
): { path: string; look: Look } | undefined {
  for (
    let folder = path.dirname(at), below = at;
    folder !== below;
    below = folder, folder = path.dirname(folder)
  ) {
    const look = looks.get(folder);
    if (look !== undefined && look !== "pinned") return { path: folder, look };
  }
  return undefined;
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
