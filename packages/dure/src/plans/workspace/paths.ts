import { isUtf8 } from "node:buffer";

/**
 * A path as git and the file system know it: bytes. Held one byte per character (latin1), so that
 * any name can be a key, and `/` is still `/`. Relative to the root of the tree.
 */
export type PathKey = string & { readonly isPathKey: true };

export function bytesOf(key: PathKey): Buffer {
  return Buffer.from(key, "latin1");
}

/** Whether the bytes are text that a pattern can speak of. */
export function isText(key: PathKey): boolean {
  return isUtf8(bytesOf(key));
}

/** For people, and for patterns when `isText`. Bytes that are no text are written `\xNN`. */
export function textOf(key: PathKey): string {
  const bytes = bytesOf(key);
  return isUtf8(bytes)
    ? bytes.toString("utf8")
    : key.replace(
        /[^\x20-\x7e]/g,
        (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`,
      );
}

/** Of a name in a folder; the root is "". */
export function joinKey(folder: PathKey | "", name: string): PathKey {
  return (folder === "" ? name : `${folder}/${name}`) as PathKey;
}

/** The folders above a path, the nearest last, without the root. */
export function foldersAbove(path: string): string[] {
  const above: string[] = [];
  for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1)) {
    above.push(path.slice(0, end));
  }
  return above;
}

/** Absolute, as bytes. */
export function absolute(root: string, key: PathKey | ""): Buffer {
  return key === "" ? Buffer.from(root) : Buffer.concat([Buffer.from(`${root}/`), bytesOf(key)]);
}

/** The first five names, and how many more there are. */
export function someOf(names: readonly string[]): string {
  if (names.length <= 5) return names.join(", ");
  return `${names.slice(0, 5).join(", ")} and ${names.length - 5} more`;
}
