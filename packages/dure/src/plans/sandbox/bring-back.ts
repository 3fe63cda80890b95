import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeSync,
  type Stats,
} from "node:fs";
import path from "node:path";
import { isWithin } from "./mount-plan.ts";

/**
 * Calls `enter` for a file, link or folder, then, when it says so, for all that a folder holds.
 * Follows no link.
 */
export function visit(at: string, enter: (at: string, isFolder: boolean) => boolean): void {
  const isFolder = lstatSync(at).isDirectory();
  if (!enter(at, isFolder) || !isFolder) return;
  for (const name of readdirSync(at)) visit(path.join(at, name), enter);
}

/**
 * Makes `to` what a process has made of `from`: regular files, folders and links; nothing else
 * comes over, and no mode beyond 0777. `kept` and what lies in it stays as it is in `to`. No other
 * process may work in either.
 */
export function bringBack(from: string, to: string, kept: readonly string[]): void {
  if (kept.some((other) => isWithin(to, other))) return;
  const source = lstatSync(from, { throwIfNoEntry: false });
  const target = lstatSync(to, { throwIfNoEntry: false });
  const holdsKept = kept.some((other) => isWithin(other, to));

  if (source?.isDirectory()) {
    bringFolder(from, to, kept);
    if (!holdsKept) chmodSync(to, (source.mode & 0o777) | 0o700);
  } else if (holdsKept) {
    // A file cannot stand where something must stay.
    if (target?.isDirectory()) bringEach(readdirSync(to), { from, to, kept });
  } else if (source?.isSymbolicLink()) bringLink(from, to, target);
  else if (source?.isFile()) copyContent(from, to, target);
  else if (target) rmSync(to, { recursive: true });
}

function bringEach(
  names: Iterable<string>,
  { from, to, kept }: { from: string; to: string; kept: readonly string[] },
): void {
  for (const name of names) bringBack(path.join(from, name), path.join(to, name), kept);
}

function bringFolder(from: string, to: string, kept: readonly string[]): void {
  const target = lstatSync(to, { throwIfNoEntry: false });
  if (target && !target.isDirectory()) unlinkSync(to);
  if (!target?.isDirectory()) mkdirSync(to);
  const names = new Set(readdirSync(from));
  const gone = readdirSync(to).filter((name) => !names.has(name));
  bringEach(gone, { from, to, kept });
  bringEach(names, { from, to, kept });
}

function bringLink(from: string, to: string, target: Stats | undefined): void {
  if (target?.isSymbolicLink() && readlinkSync(from) === readlinkSync(to)) return;
  if (target) rmSync(to, { recursive: true });
  symlinkSync(readlinkSync(from), to);
}

function copyContent(from: string, to: string, target: Stats | undefined): void {
  const input = openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { mode, isFile } = {
      mode: fstatSync(input).mode & 0o777,
      isFile: fstatSync(input).isFile(),
    };
    if (!isFile) return;
    if (target) rmSync(to, { recursive: true });
    const output = openSync(
      to,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      mode,
    );
    try {
      const buffer = Buffer.alloc(1 << 16);
      for (let read = readSync(input, buffer); read > 0; read = readSync(input, buffer)) {
        writeSync(output, buffer, 0, read);
      }
    } finally {
      closeSync(output);
    }
    chmodSync(to, mode);
  } finally {
    closeSync(input);
  }
}
