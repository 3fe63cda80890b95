import { decideWrite, type WorkerScope, type ScopeReason } from "../scope.ts";

/** Paths of one step that are recorded. */
const MOST = 20;
/** Characters of one line that are read. */
const LONGEST = 2_000;

/** What the system says of a write that a mount held. */
const HELD = /read-only file system|\bEROFS\b/i;
/** A path as programs print one: in quotes, or a word with a slash or an ending. */
const NAMES = /['"`‘’“”]([^'"`‘’“”]+)['"`‘’“”]|([^\s'"`:;,()[\]]*[/.][^\s'"`:;,()[\]]*)/g;
/** What programs write beside their work, such as caches. */
const BESIDE = /^(?:node_modules|\.git|\.venv|target|dist|build)(?:\/|$)/;

/** A write outside of its scope that the sandbox held. */
export interface HeldWrite {
  readonly path: string;
  readonly because: ScopeReason;
}

/**
 * Finds in the output of a worker's programs the writes that the sandbox refused them: a program
 * does not ask first, so what it prints is all that is known of them. Each path is told once.
 */
export class RefusedWrites {
  readonly #tree: string;
  readonly #scope: WorkerScope;
  readonly #told = new Set<string>();
  #rest = "";

  constructor({ tree, scope }: { readonly tree: string; readonly scope: WorkerScope }) {
    this.#tree = tree;
    this.#scope = scope;
  }

  /** Takes output in pieces. */
  push(chunk: string): readonly HeldWrite[] {
    const lines = `${this.#rest}${chunk}`.split("\n");
    this.#rest = lines.pop()!.slice(-LONGEST);
    return lines.flatMap((line) => this.#in(line));
  }

  /** The last line, which has no end. */
  end(): readonly HeldWrite[] {
    const last = this.#rest;
    this.#rest = "";
    return this.#in(last);
  }

  #in(line: string): readonly HeldWrite[] {
    if (!HELD.test(line) || this.#told.size >= MOST) return [];
    const names = [...line.slice(0, LONGEST).matchAll(NAMES)].map(
      ([, quoted, word]) => quoted ?? word!,
    );
    for (const name of names) {
      const path = pathIn(this.#tree, name);
      if (path === undefined || BESIDE.test(path)) continue;
      const { allowed, because } = decideWrite(this.#scope, path);
      if (allowed || this.#told.has(path)) continue;
      this.#told.add(path);
      return [{ path, because }];
    }
    return [];
  }
}

/** From the root of the tree; undefined: elsewhere, or no path. Pure. */
function pathIn(tree: string, name: string): string | undefined {
  if (name.startsWith("/")) {
    return name.startsWith(`${tree}/`) ? name.slice(tree.length + 1) : undefined;
  }
  const plain = name.replace(/^(?:\.\/)+/, "").replace(/\.+$/, "");
  const isNamed = /^[\w@+.-][\w@+./ -]*$/.test(plain) && /[/.]/.test(plain);
  const isPath = isNamed && !plain.split("/").includes("..");
  return isPath ? plain : undefined;
}
