import { constants, type Stats } from "node:fs";
import {
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  stat,
  unlink,
  type FileHandle,
} from "node:fs/promises";
import { createHash } from "node:crypto";
import { dirname, join, relative, resolve, sep } from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import {
  decideRead,
  decideWrite,
  pathProblem,
  type Scope,
  type ScopeDecision,
  type ScopeReason,
} from "../scope.ts";

/** A file that a worker asked for, or why it does not get it. */
export type FileAnswer<Value> = ({ readonly ok: true } & Value) | FileRefusal;

export interface FileRefusal {
  readonly ok: false;
  /** `violation`: outside of the scope. Everything else is the way things are, and no offence. */
  readonly kind:
    | "violation"
    | "missing"
    | "not-a-file"
    | "too-large"
    | "not-text"
    | "stale"
    | "failed";
  readonly path: string;
  readonly wanted: "read" | "write";
  /** With a violation. */
  readonly because?: ScopeReason;
  /** For the worker, in words. */
  readonly message: string;
}

/**
 * Bytes of one file that is read or written. Source: our choice; what is longer is no text for a
 * model.
 */
export const MAX_FILE_BYTES = 1_000_000;
/** Entries of folders that one walk looks at. Source: our choice. */
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
  readonly #scope: Scope;
  /** SHA-256 of what the worker knows of a file, by real path. */
  readonly #known = new Map<string, string>();
  /** Paths, or folders with all below, that the operator gave. */
  readonly #granted: { readonly path: string; readonly wants: "read" | "own" }[] = [];

  /** @param options.tree absolute real path. */
  constructor(options: { tree: string; scope: Scope }) {
    this.#tree = options.tree;
    this.#scope = options.scope;
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
    return this.#opened(found, "read", constants.O_RDONLY, async (file, stats) => {
      const text = await this.#textOf(file, stats, path);
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
      return refusal(
        "too-large",
        path,
        "write",
        `${path} would be longer than ${MAX_FILE_BYTES} bytes.`,
      );
    }
    return this.#change(path, () => ({ ok: true, text }), { mayCreate: true, unread });
  }

  /** Puts `next` in the place of `old`, which must stand in the file exactly once. */
  async edit(
    path: string,
    old: string,
    next: string,
  ): Promise<FileAnswer<{ readonly created: boolean }>> {
    return this.#change(
      path,
      (before) => {
        if (old === "") return refusal("failed", path, "write", "The text to replace is empty.");
        const at = before.indexOf(old);
        if (at < 0) {
          return refusal(
            "failed",
            path,
            "write",
            `The text to replace does not stand in ${path}. Read the file again.`,
          );
        }
        if (before.indexOf(old, at + 1) >= 0) {
          return refusal(
            "failed",
            path,
            "write",
            `The text to replace stands in ${path} more than once. Take more of the lines around it.`,
          );
        }
        const text = `${before.slice(0, at)}${next}${before.slice(at + old.length)}`;
        return Buffer.byteLength(text) > MAX_FILE_BYTES
          ? refusal(
              "too-large",
              path,
              "write",
              `${path} would be longer than ${MAX_FILE_BYTES} bytes.`,
            )
          : { ok: true, text };
      },
      { mayCreate: false, unread: "refused" },
    );
  }

  async delete(path: string): Promise<FileAnswer<object>> {
    const found = await this.#resolve(path, "write");
    if (!found.ok) return found;
    return this.#inFolder(found, "write", { make: false }, async (folder, name) => {
      const checked = await this.#openedIn(
        folder,
        name,
        found,
        "write",
        constants.O_RDONLY,
        (file, stats) => this.#unchanged(file, stats, found, "refused"),
      );
      if (!checked.ok) return checked;
      await unlink(join(folder, name));
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
      const file = await this.#opened(found, "read", constants.O_RDONLY, (handle, stats) =>
        this.#textOf(handle, stats, path),
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
  async #resolve(
    path: string,
    wanted: "read" | "write",
  ): Promise<FileAnswer<{ readonly path: string; readonly real: string }>> {
    const asked = this.#decide(path, wanted);
    if (!asked.allowed) return violation(path, wanted, asked.because);
    let real: string;
    try {
      real = await realPathOf(join(this.#tree, path));
    } catch (error) {
      if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ELOOP") {
        return refusal(
          "not-a-file",
          path,
          wanted,
          `${path} leads through something that is no folder.`,
        );
      }
      return refusal(
        "failed",
        path,
        wanted,
        `${path} cannot be looked at (${codeOf(error) ?? "unknown"}).`,
      );
    }
    const inside = relative(this.#tree, real);
    if (inside === ".." || inside.startsWith(`..${sep}`) || inside.startsWith(sep)) {
      return violation(path, wanted, "absolute", "a symbolic link leads out of the tree");
    }
    if (inside === path) return { ok: true, path, real: inside };
    const led = this.#decide(inside, wanted);
    return led.allowed
      ? { ok: true, path, real: inside }
      : violation(path, wanted, led.because, `a symbolic link leads to ${inside}`);
  }

  async #change(
    path: string,
    next: (before: string) => FileAnswer<{ readonly text: string }>,
    options: { mayCreate: boolean; unread: "refused" | "allowed" },
  ): Promise<FileAnswer<{ readonly created: boolean }>> {
    const found = await this.#resolve(path, "write");
    if (!found.ok) return found;
    return this.#inFolder(found, "write", { make: options.mayCreate }, async (folder, name) => {
      const changed = await this.#openedIn(
        folder,
        name,
        found,
        "write",
        constants.O_RDWR,
        async (file, stats) => {
          const before = await this.#unchanged(file, stats, found, options.unread);
          if (!before.ok) return before;
          const after = next(before.text);
          if (!after.ok) return after;
          await file.truncate(0);
          await file.writeFile(after.text);
          this.#known.set(found.real, hashOf(after.text));
          return { ok: true, created: false };
        },
      );
      if (changed.ok || changed.kind !== "missing" || !options.mayCreate) return changed;
      const text = next("");
      if (!text.ok) return text;
      return this.#openedIn(
        folder,
        name,
        found,
        "write",
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
        async (file) => {
          await likeFolder(file, folder);
          await file.writeFile(text.text);
          this.#known.set(found.real, hashOf(text.text));
          return { ok: true, created: true };
        },
      );
    });
  }

  /** The text of a file that is about to be changed, if the worker knows it. */
  async #unchanged(
    file: FileHandle,
    stats: Stats,
    found: { path: string; real: string },
    unread: "refused" | "allowed",
  ): Promise<FileAnswer<{ readonly text: string }>> {
    if (stats.nlink > 1) {
      return refusal(
        "failed",
        found.path,
        "write",
        `${found.path} has other names on the disk, and writing it would change them too.`,
      );
    }
    const text = await this.#textOf(file, stats, found.path);
    if (!text.ok) return { ...text, wanted: "write" };
    const known = this.#known.get(found.real);
    if (known === undefined && unread === "allowed") return text;
    if (known === undefined) {
      return refusal(
        "stale",
        found.path,
        "write",
        `${found.path} exists. Read it before you change it.`,
      );
    }
    if (known !== hashOf(text.text)) {
      return refusal(
        "stale",
        found.path,
        "write",
        `${found.path} has changed since you read it. Read it again.`,
      );
    }
    return text;
  }

  async #textOf(
    file: FileHandle,
    stats: Stats,
    path: string,
  ): Promise<FileAnswer<{ readonly text: string }>> {
    if (stats.size > MAX_FILE_BYTES) {
      return refusal(
        "too-large",
        path,
        "read",
        `${path} has ${stats.size} bytes, and at most ${MAX_FILE_BYTES} can be read.`,
      );
    }
    const bytes = Buffer.alloc(stats.size + 1);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    try {
      return {
        ok: true,
        text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
          bytes.subarray(0, bytesRead),
        ),
      };
    } catch {
      return refusal("not-text", path, "read", `${path} is no text in UTF-8.`);
    }
  }

  #opened<Value>(
    found: { path: string; real: string },
    wanted: "read" | "write",
    flags: number,
    use: (file: FileHandle, stats: Stats) => Promise<FileAnswer<Value>>,
  ): Promise<FileAnswer<Value>> {
    return this.#inFolder(found, wanted, { make: false }, (folder, name) =>
      this.#openedIn(folder, name, found, wanted, flags, use),
    );
  }

  async #openedIn<Value>(
    folder: string,
    name: string,
    { path }: { path: string },
    wanted: "read" | "write",
    flags: number,
    use: (file: FileHandle, stats: Stats) => Promise<FileAnswer<Value>>,
  ): Promise<FileAnswer<Value>> {
    let file: FileHandle | undefined;
    try {
      // Not blocking: a FIFO has nobody at its other end.
      file = await open(
        join(folder, name),
        flags | constants.O_NOFOLLOW | constants.O_NONBLOCK,
        0o644,
      );
      const stats = await file.stat();
      if (!stats.isFile()) return refusal("not-a-file", path, wanted, `${path} is no file.`);
      return await use(file, stats);
    } catch (error) {
      return fileError(error, path, wanted);
    } finally {
      await file?.close();
    }
  }

  /**
   * Opens the folder of a real path, each folder from the one above it, and hands on a name of it
   * that cannot be exchanged.
   */
  async #inFolder<Value>(
    { path, real }: { path: string; real: string },
    wanted: "read" | "write",
    options: { make: boolean },
    use: (folder: string, name: string) => Promise<FileAnswer<Value>>,
  ): Promise<FileAnswer<Value>> {
    const segments = real.split(sep);
    const name = segments.pop()!;
    let folder: FileHandle | undefined;
    try {
      folder = await open(this.#tree, FOLDER);
      let at = placeOf(folder, this.#tree);
      for (const segment of segments) {
        const below = join(at, segment);
        const isMade =
          options.make && (await mkdir(below).then(() => true, unless("EEXIST"))) === true;
        const next = await open(below, FOLDER);
        if (isMade) await likeFolder(next, at);
        await folder.close();
        folder = next;
        at = placeOf(folder, below);
      }
      return await use(at, name);
    } catch (error) {
      return fileError(error, path, wanted);
    } finally {
      await folder?.close();
    }
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
    const answer = await this.#inFolder(
      { path: folder, real: folder === "" ? "." : `${folder}${sep}.` },
      "read",
      { make: false },
      async (at) => {
        const entries = await readdir(at, { withFileTypes: true });
        return { ok: true, entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
      },
    );
    return answer.ok ? answer.entries : [];
  }
}

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * On Linux a name for the opened folder itself; elsewhere its path, which was opened without
 * following its last link.
 */
function placeOf(folder: FileHandle, path: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : path;
}

/** As `realpath`, for a path whose end need not be there. */
async function realPathOf(path: string): Promise<string> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(await realpath(at), ...missing);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || dirname(at) === at) throw error;
      // A link whose target is missing: writing "through" it would make the target.
      const target = await linkTarget(at);
      if (target !== undefined) return join(await realPathOf(target), ...missing);
      missing.unshift(relative(dirname(at), at));
    }
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return resolve(await realpath(dirname(path)), await readlink(path));
  } catch {
    return undefined;
  }
}

function violation(
  path: string,
  wanted: "read" | "write",
  because: ScopeReason,
  detail?: string,
): FileRefusal {
  return { ok: false, kind: "violation", path, wanted, because, message: detail ?? "" };
}

function refusal(
  kind: Exclude<FileRefusal["kind"], "violation">,
  path: string,
  wanted: "read" | "write",
  message: string,
): FileRefusal {
  return { ok: false, kind, path, wanted, message };
}

function fileError(error: unknown, path: string, wanted: "read" | "write"): FileRefusal {
  switch (codeOf(error)) {
    case "ENOENT":
      return refusal("missing", path, wanted, `There is no file ${path}.`);
    case "ELOOP":
    case "ENOTDIR":
    case "EISDIR":
    case "ENXIO":
      return refusal(
        "not-a-file",
        path,
        wanted,
        `${path} is no file, or is behind a symbolic link.`,
      );
    default:
      return refusal(
        "failed",
        path,
        wanted,
        `${path} cannot be ${wanted === "read" ? "read" : "written"} (${codeOf(error) ?? "unknown"}).`,
      );
  }
}

/** What root makes for a worker that is another user belongs to whom the folder belongs. */
async function likeFolder(made: FileHandle, folder: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(folder);
  if (uid !== 0) await made.chown(uid, gid);
}

function unless(code: string): (error: unknown) => void {
  return (error) => {
    if (codeOf(error) !== code) throw error;
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
