/** The files that a worker without a sandbox reads and writes, within its scope. */

import { constants, type Stats } from "node:fs";
import { readdir, unlink, type FileHandle } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import {
  decideRead,
  decideWrite,
  pathProblem,
  type WorkerScope,
  type ScopeDecision,
} from "../scope.ts";
import { refusal, violation, type FileAnswer, type FileRefusal } from "./file-answer.ts";
import { likeFolder, realPathOf, TreeAccess, type OpenedName, type Target } from "./tree-access.ts";
import { createHash } from "node:crypto";
import { codeOf } from "../../kernel/errors.ts";

/** Entries of folders that one walk looks at. */
const MAX_WALK = 20_000;
/** Never walked into unless asked for: git's own files, and what is installed or built. */
const NOT_WALKED = new Set([
  ".git",
  "node_modules",
  ".venv",
  "__pycache__",
  "target",
  "dist",
  "build",
  ".next",
]);

/**
 * The files of a tree as one worker may touch them, for requests that dure carries out itself. A
 * path is decided by the scope before anything is opened; then its real path is decided too; then
 * every folder of that is opened from the one above, and no symbolic link is followed, so that one
 * which appears in between leads nowhere. A file with several names is not written. A file that has
 * changed since the worker read it is not written either.
 */
export class ScopedFiles {
  readonly #tree: string;
  readonly #scope: WorkerScope;
  readonly #access: TreeAccess;
  /** SHA-256 of what the worker knows of a file, by real path. */
  readonly #known = new Map<string, string>();
  /** Paths, or folders with all below, that the operator gave. */
  readonly #granted: { readonly path: string; readonly wants: "read" | "own" }[] = [];

  /** @param options.tree absolute real path. */
  constructor(options: { tree: string; scope: WorkerScope }) {
    this.#tree = options.tree;
    this.#scope = options.scope;
    this.#access = new TreeAccess(options.tree);
  }

  /** The operator's yes goes before the scope. */
  grant(path: string, wants: "read" | "own"): void {
    this.#granted.push({ path, wants });
  }

  mayRead(path: string): boolean {
    return this.#decide(path, "read").allowed;
  }

  decideWrite(path: string): ScopeDecision {
    return this.#decide(path, "write");
  }

  decideRead(path: string): ScopeDecision {
    return this.#decide(path, "read");
  }

  /**
   * The path from the root of the tree, of an absolute path or of one that is relative already;
   * undefined when it is outside.
   */
  relativePath(path: string): string | undefined {
    if (!path.startsWith("/")) return path.replace(/^(?:\.\/)+/, "");
    if (path !== this.#tree && !path.startsWith(`${this.#tree}${sep}`)) return undefined;
    return path.slice(this.#tree.length + 1);
  }

  async read(path: string): Promise<FileAnswer<{ readonly text: string }>> {
    const found = await this.#resolve(path, "read");
    if (!found.ok) return found;
    return this.#access.open(found, constants.O_RDONLY, async (file, stats) => {
      const text = await textOf(file, stats, path);
      if (!text.ok) return text;
      this.#known.set(found.real, hashOf(text.text));
      return text;
    });
  }

  /**
   * Writes a whole file. One that exists must not have changed since it was read.
   *
   * @param options.unread whether a file that exists and was not read here may be written. Default `refused`.
   */
  async write(
    path: string,
    text: string,
    { unread = "refused" }: { unread?: "refused" | "allowed" } = {},
  ): Promise<FileAnswer<{ readonly created: boolean }>> {
    if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
      return tooLong(path);
    }
    return this.#change(path, () => ({ ok: true, text }), { mayCreate: true, unread });
  }

  /** Puts `next` in the place of `old`, which must stand in the file exactly once. */
  async edit(
    path: string,
    old: string,
    next: string,
  ): Promise<FileAnswer<{ readonly created: boolean }>> {
    return this.#change(path, (before) => replaced(path, before, { old, next }), {
      mayCreate: false,
      unread: "refused",
    });
  }

  async delete(path: string): Promise<FileAnswer<object>> {
    const found = await this.#resolve(path, "write");
    if (!found.ok) return found;
    return this.#access.inFolder(found, { make: false }, async (at) => {
      const checked = await this.#access.openIn(at, found, constants.O_RDONLY, (file, stats) =>
        this.#unchanged(file, stats, found, "refused"),
      );
      if (!checked.ok) return checked;
      await unlink(join(at.folder, at.name));
      this.#known.delete(found.real);
      return { ok: true };
    });
  }

  /**
   * Files that may be read, below a folder (empty: everything), sorted, with `more` when the bound
   * was reached. Nothing that may not be read is named.
   */
  async list(
    folder = "",
    options: { most?: number } = {},
  ): Promise<{ readonly paths: readonly string[]; readonly more: boolean }> {
    const paths: string[] = [];
    const { most = 500 } = options;
    for await (const path of this.#walk(folder)) {
      if (paths.length >= most) return { paths: paths.toSorted(), more: true };
      paths.push(path);
    }
    return { paths: paths.toSorted(), more: false };
  }

  /**
   * Lines that hold a text, in files that may be read. No pattern: one of a model can take for
   * ever.
   */
  async search(
    text: string,
    options: { folder?: string; most?: number; ignoreCase?: boolean; signal?: AbortSignal } = {},
  ): Promise<{
    readonly hits: readonly { path: string; line: number; text: string }[];
    readonly more: boolean;
  }> {
    const { folder = "", most = 100, ignoreCase = false, signal } = options;
    const fold = (line: string): string => (ignoreCase ? line.toLowerCase() : line);
    const wanted = fold(text);
    const hits: { path: string; line: number; text: string }[] = [];
    for await (const path of this.#walk(folder)) {
      signal?.throwIfAborted();
      const found = await this.#resolve(path, "read");
      if (!found.ok) continue;
      const file = await this.#access.open(found, constants.O_RDONLY, (handle, stats) =>
        textOf(handle, stats, path),
      );
      if (!file.ok) continue;
      for (const [index, line] of file.text.split("\n").entries()) {
        if (!fold(line).includes(wanted)) continue;
        if (hits.length >= most) return { hits, more: true };
        hits.push({ path, line: index + 1, text: line.slice(0, 300) });
      }
    }
    return { hits, more: false };
  }

  #decide(path: string, wanted: "read" | "write"): ScopeDecision {
    const isGranted = this.#granted.some(
      (grant) =>
        (wanted === "read" || grant.wants === "own") &&
        (path === grant.path || path.startsWith(`${grant.path}/`)),
    );
    if (isGranted && pathProblem(path) === undefined) {
      return { allowed: true, because: wanted === "read" ? "readable" : "owned" };
    }
    return wanted === "read" ? decideRead(this.#scope, path) : decideWrite(this.#scope, path);
  }

  /**
   * The path as written and, where links stand in it, the path that it leads to: both must be
   * allowed.
   */
  async #resolve(path: string, wanted: "read" | "write"): Promise<FileAnswer<Target>> {
    const asked = this.#decide(path, wanted);
    if (!asked.allowed) return violation(path, wanted, asked.because);
    let real: string;
    try {
      real = await realPathOf(join(this.#tree, path));
    } catch (error) {
      return notFollowed(error, path, wanted);
    }
    const inside = relative(this.#tree, real);
    if (inside === ".." || inside.startsWith(`..${sep}`) || inside.startsWith(sep)) {
      return violation(path, wanted, "absolute", "a symbolic link leads out of the tree");
    }
    if (inside === path) return { ok: true, path, real: inside, wanted };
    const led = this.#decide(inside, wanted);
    return led.allowed
      ? { ok: true, path, real: inside, wanted }
      : violation(path, wanted, led.because, `a symbolic link leads to ${inside}`);
  }

  async #change(
    path: string,
    next: (before: string) => FileAnswer<{ readonly text: string }>,
    options: { mayCreate: boolean; unread: "refused" | "allowed" },
  ): Promise<FileAnswer<{ readonly created: boolean }>> {
    const found = await this.#resolve(path, "write");
    if (!found.ok) return found;
    return this.#access.inFolder(found, { make: options.mayCreate }, async (at) => {
      const changed = await this.#changeExisting(at, found, next, options.unread);
      if (changed.ok || changed.kind !== "missing" || !options.mayCreate) return changed;
      const text = next("");
      return text.ok ? this.#create(at, found, text.text) : text;
    });
  }

  #changeExisting(
    at: OpenedName,
    found: Target,
    next: (before: string) => FileAnswer<{ readonly text: string }>,
    unread: "refused" | "allowed",
  ): Promise<FileAnswer<{ readonly created: boolean }>> {
    return this.#access.openIn(at, found, constants.O_RDWR, async (file, stats) => {
      const before = await this.#unchanged(file, stats, found, unread);
      if (!before.ok) return before;
      const after = next(before.text);
      if (!after.ok) return after;
      await file.truncate(0);
      await file.writeFile(after.text);
      this.#known.set(found.real, hashOf(after.text));
      return { ok: true, created: false };
    });
  }

  #create(
    at: OpenedName,
    found: Target,
    text: string,
  ): Promise<FileAnswer<{ readonly created: boolean }>> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    return this.#access.openIn(at, found, flags, async (file) => {
      await likeFolder(file, at.folder);
      await file.writeFile(text);
      this.#known.set(found.real, hashOf(text));
      return { ok: true, created: true };
    });
  }

  /** The text of a file that is about to be changed, if the worker knows it. */
  async #unchanged(
    file: FileHandle,
    stats: Stats,
    { path, real }: Target,
    unread: "refused" | "allowed",
  ): Promise<FileAnswer<{ readonly text: string }>> {
    if (stats.nlink > 1) {
      const others = "has other names on the disk, and writing it would change them too";
      return refusal("failed", path, "write", `${path} ${others}.`);
    }
    const text = await textOf(file, stats, path);
    if (!text.ok) return { ...text, wanted: "write" };
    const known = this.#known.get(real);
    if (known === undefined && unread === "allowed") return text;
    if (known === undefined) {
      return refusal("stale", path, "write", `${path} exists. Read it before you change it.`);
    }
    if (known === hashOf(text.text)) return text;
    const changed = `${path} has changed since you read it. Read it again.`;
    return refusal("stale", path, "write", changed);
  }

  async *#walk(folder: string): AsyncGenerator<string> {
    const waiting = [folder.replace(/^\.?\/*|\/+$/g, "")];
    if (waiting[0] !== "" && pathProblem(waiting[0]!) !== undefined) return;
    let seen = 0;
    while (waiting.length > 0) {
      const at = waiting.shift()!;
      const entries = await this.#entriesOf(at);
      for (const entry of entries) {
        if (++seen > MAX_WALK) return;
        const path = at === "" ? entry.name : `${at}/${entry.name}`;
        if (entry.isDirectory() && !NOT_WALKED.has(entry.name)) waiting.push(path);
        else if (!entry.isDirectory() && this.mayRead(path)) yield path;
      }
    }
  }

  /** Nothing where there is no folder, or where a link stands in its way. */
  async #entriesOf(folder: string): Promise<readonly { name: string; isDirectory(): boolean }[]> {
    const real = folder === "" ? "." : `${folder}${sep}.`;
    const target: Target = { path: folder, real, wanted: "read" };
    const answer = await this.#access.inFolder(target, { make: false }, async (at) => {
      const entries = await readdir(at.folder, { withFileTypes: true });
      return { ok: true, entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
    });
    return answer.ok ? answer.entries : [];
  }
}

/** Bytes of one file that is read or written: what is longer is no text for a model. */
export const MAX_FILE_BYTES = 1_000_000;
/** The text of an opened file. */
async function textOf(
  file: FileHandle,
  stats: Stats,
  path: string,
): Promise<FileAnswer<{ readonly text: string }>> {
  if (stats.size > MAX_FILE_BYTES) {
    const most = `at most ${MAX_FILE_BYTES} can be read`;
    return refusal("too-large", path, "read", `${path} has ${stats.size} bytes, and ${most}.`);
  }
  const bytes = Buffer.alloc(stats.size + 1);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return { ok: true, text: decoder.decode(bytes.subarray(0, bytesRead)) };
  } catch {
    return refusal("not-text", path, "read", `${path} is no text in UTF-8.`);
  }
}

/** The text with `next` in the place of `old`, which must stand in it exactly once. Pure. */
function replaced(
  path: string,
  before: string,
  { old, next }: { old: string; next: string },
): FileAnswer<{ readonly text: string }> {
  const refuse = (message: string): FileRefusal => refusal("failed", path, "write", message);
  if (old === "") return refuse("The text to replace is empty.");
  const at = before.indexOf(old);
  if (at < 0) return refuse(`The text to replace does not stand in ${path}. Read the file again.`);
  if (before.indexOf(old, at + 1) >= 0) {
    const twice = `The text to replace stands in ${path} more than once.`;
    return refuse(`${twice} Take more of the lines around it.`);
  }
  const text = `${before.slice(0, at)}${next}${before.slice(at + old.length)}`;
  return Buffer.byteLength(text) > MAX_FILE_BYTES ? tooLong(path) : { ok: true, text };
}

/** Pure. */
function tooLong(path: string): FileRefusal {
  const message = `${path} would be longer than ${MAX_FILE_BYTES} bytes.`;
  return refusal("too-large", path, "write", message);
}

/** Why a path leads nowhere. Pure. */
function notFollowed(error: unknown, path: string, wanted: "read" | "write"): FileRefusal {
  const code = codeOf(error);
  if (code === "ENOTDIR" || code === "ELOOP") {
    const through = `${path} leads through something that is no folder.`;
    return refusal("not-a-file", path, wanted, through);
  }
  return refusal("failed", path, wanted, `${path} cannot be looked at (${code ?? "unknown"}).`);
}

/** SHA-256, base64. Pure. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
