import { execFile } from "node:child_process";
import { statfsSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import { findTool } from "./tools.ts";

/** Between two looks at what a tree has written, milliseconds. */
const LOOK_MS = 1_000;
/** A look at many files takes long: dure rests for this many times as long after it. */
const REST = 10;
/** Of what a tree may write where nothing says it, at most. */
const MOST_BYTES = 10_737_418_240;

/** Bytes that a worker may add to the disk: half of what is free, and 10 GiB at most. */
export function diskOfWorkers(folder: string): number {
  return Math.min(MOST_BYTES, Math.floor(freeOn(folder) / 2));
}

export interface DiskBound {
  readonly bytes: number;
  /** Folders that the tree may write, none in another. */
  readonly places: readonly string[];
  /** What they took before the tree began. */
  readonly before: DiskUse;
}

/** What places take, and what their file systems have free. */
export interface DiskUse {
  readonly size: Size;
  readonly free: readonly number[];
}

/** Asked for before a tree begins: what it writes meanwhile would not count. */
export async function diskUseOf(places: readonly string[]): Promise<DiskUse> {
  const free = places.map(freeOn);
  return { size: await sizeOf(places), free };
}

/**
 * Looks at the places until it is cancelled, and tells once that they have grown by more than they
 * may. A folder that the tree has closed to
 * dure counts with what its file system has lost.
 */
export function watchDisk(
  { bytes, places, before }: DiskBound,
  { clock, onOver }: { readonly clock: Clock; readonly onOver: () => void },
): () => void {
  let isCancelled = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    const began = clock.now();
    const now = await sizeOf(places);
    if (isCancelled) return;
    const lost = Math.max(...places.map((at, index) => before.free[index]! - freeOn(at)));
    if (grownBy(before.size, now, lost) > bytes) onOver();
    else cancel = clock.after(Math.max(LOOK_MS, REST * (clock.now() - began)), () => void look());
  };
  cancel = clock.after(LOOK_MS, () => void look());
  return () => {
    isCancelled = true;
    cancel();
  };
}

/** Bytes that the places have grown by; `lost`: what their file system has less than then. Pure. */
export function grownBy(before: Size, now: Size, lost: number): number {
  const grown = now.bytes - before.bytes;
  return now.isWhole ? grown : Math.max(grown, lost);
}

interface Size {
  readonly bytes: number;
  /** False where a folder could not be entered. */
  readonly isWhole: boolean;
}

/** What the places take, as the file system counts it. */
async function sizeOf(places: readonly string[]): Promise<Size> {
  const args = ["-s", "-c", "-x", "-k", "--", ...places];
  const [output, errors] = await new Promise<readonly [string, string]>((resolve) => {
    const env = { LC_ALL: "C" };
    execFile(findTool("du"), args, { env }, (_error, stdout, stderr) => resolve([stdout, stderr]));
  });
  const total = /^(\d+)\ttotal$/m.exec(output)?.[1];
  return { bytes: Number(total ?? 0) * 1_024, isWhole: !errors.includes("Permission denied") };
}

function freeOn(at: string): number {
  const { bavail, bsize } = statfsSync(at);
  return bavail * bsize;
}
