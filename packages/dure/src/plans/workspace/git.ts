import type { Readable, Writable } from "node:stream";
import { execa } from "execa";
import { DureError } from "../../kernel/errors.ts";
import { onlyDefined } from "../../kernel/json.ts";
import { type Ended, failure, OLDEST_GIT, STDERR_TAIL } from "./git-failure.ts";

/**
 * Where one call of git looks. Absolute paths. What is left out is not set: git then looks by
 * itself, from `cwd`.
 */
export interface GitPlace {
  readonly cwd: string;
  readonly gitDir?: string | undefined;
  readonly workTree?: string | undefined;
  readonly indexFile?: string | undefined;
  /**
   * Where objects are written; read from there and its alternates. Default: the git directory's
   * own.
   */
  readonly objectDir?: string | undefined;
}

export interface GitCall {
  readonly at: GitPlace;
  readonly input?: string | Uint8Array | undefined;
  /** Exit codes that are an answer. Default: 0 alone. */
  readonly accept?: readonly number[];
  /**
   * Output beyond it is an error, or the end of what is given back when `cut` is set. Default 256
   * MiB.
   */
  readonly outputBytes?: number;
  readonly cut?: boolean;
  /** Milliseconds. Default 10 min: a fetch of a large repository. */
  readonly timeMs?: number;
  /** Who makes a commit, and when. */
  readonly identity?: CommitIdentity;
  /** Further settings `name=value`, stronger than those of the repository. */
  readonly settings?: readonly string[];
  /**
   * For a call over the network: the person's environment, whose settings and credentials it reads.
   * Hooks stay off, and git asks for no password.
   */
  readonly network?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Author and committer are one. `at`: milliseconds since the epoch; git keeps whole seconds, in
 * UTC.
 */
export interface CommitIdentity {
  readonly name: string;
  readonly email: string;
  readonly at: number;
}

export interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  /** The output was longer than `outputBytes`. */
  readonly cut: boolean;
}

const OUTPUT_BYTES = 256 * 1024 * 1024;
const TIME_MS = 600_000;

/**
 * What a repository, the machine or a person could make git run or read beside what it is told: all
 * off. `safe.directory`: the list of trusted folders stands in the person's own settings, which are
 * not read; what it guards against is off anyway.
 */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.alternateRefsCommand=true",
  "core.pager=cat",
  "advice.graftFileDeprecated=false",
  "gc.auto=0",
  "gc.autoDetach=false",
  "maintenance.auto=false",
  "protocol.ext.allow=never",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "commit.gpgSign=false",
  "pack.threads=1",
  "safe.directory=*",
  "core.fsync=committed,reference",
];

const ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_GRAFT_FILE: "/dev/null",
  GIT_ALLOW_PROTOCOL: "file",
  LC_ALL: "C",
};

/** What of that holds where the person's own settings are read. */
const NETWORK_ENVIRONMENT = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_ALLOW_PROTOCOL: "file:ssh:https",
  LC_ALL: "C",
};
/** Variables of the person that lead to a remote and open it. */
const NETWORK_PASSED = new RegExp(
  `^(?:${[
    "HOME|USER|LOGNAME",
    "SSH_AUTH_SOCK|SSH_AGENT_PID|GIT_SSH|GIT_SSH_COMMAND|GIT_ASKPASS",
    "XDG_CONFIG_HOME",
    "(?:https?|all|no)_proxy",
    "SSL_CERT_(?:FILE|DIR)|GIT_SSL_CAINFO",
  ].join("|")})$`,
  "i",
);

/**
 * git as a program that does what it is told and nothing else: argument lists, never a shell; an
 * environment that is complete; no hooks, no settings of machine or person, no network where it is
 * not asked for; bounded in time and output.
 */
export class Git {
  readonly #path: string;

  /** @param env where `PATH` is found; nothing else of it is handed on. */
  constructor({ env }: { env: Readonly<Record<string, string | undefined>> }) {
    this.#path = env.PATH ?? "";
  }

  /** Throws `GIT_MISSING` or `GIT_TOO_OLD`. */
  async check(options: { signal?: AbortSignal | undefined } = {}): Promise<string> {
    const said = await this.text(["version"], { at: { cwd: "/" }, ...options });
    const version = /(\d+)\.(\d+)[.\d]*/.exec(said);
    const [major, minor] = [Number(version?.[1] ?? 0), Number(version?.[2] ?? 0)];
    if (major > OLDEST_GIT[0] || (major === OLDEST_GIT[0] && minor >= OLDEST_GIT[1])) {
      return version![0];
    }
    throw new DureError(
      "GIT_TOO_OLD",
      `Plans need git ${OLDEST_GIT.join(".")}; this is "${said}".`,
      { class: "unavailable", hint: "Install a newer git, or put it first on PATH." },
    );
  }

  /**
   * Runs git once. Throws `GIT_FAILED` for an exit code that is no answer, `DISK_FULL`,
   * `GIT_MISSING`, or the signal's reason; the process is gone then.
   */
  async run(args: readonly string[], call: GitCall): Promise<GitAnswer> {
    call.signal?.throwIfAborted();
    const limit = call.outputBytes ?? OUTPUT_BYTES;
    const result = await execa("git", this.#arguments(args, call), {
      ...this.#common(call),
      encoding: "buffer",
      maxBuffer: { stdout: limit, stderr: 65_536 },
      ...(call.input === undefined ? { stdin: "ignore" } : { input: call.input }),
    });
    const stdout = result.stdout ? bufferOf(result.stdout) : Buffer.alloc(0);
    if (result.isCanceled) throw call.signal!.reason;
    if (result.isMaxBuffer && call.cut && stdout.length >= limit) {
      return { exitCode: 0, stdout, cut: true };
    }
    if (!isAnswer(result, call)) {
      throw failure(args, call, result, Buffer.from(result.stderr ?? []).toString());
    }
    return { exitCode: result.exitCode!, stdout, cut: false };
  }

  /** The output as text, without the line's end. */
  async text(args: readonly string[], call: GitCall): Promise<string> {
    return (await this.run(args, call)).stdout.toString().replace(/\n$/, "");
  }

  /** Starts git for a conversation. The caller ends it: `end()` or `kill()`. */
  start(args: readonly string[], call: GitCall): GitSession {
    call.signal?.throwIfAborted();
    const process = execa("git", this.#arguments(args, call), {
      ...this.#common(call),
      buffer: false,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    return new GitSession(process, (result, stderr) =>
      call.signal?.aborted ? (call.signal.reason as Error) : failure(args, call, result, stderr),
    );
  }

  #arguments(args: readonly string[], { settings = [] }: GitCall): string[] {
    return [...[...SETTINGS, ...settings].flatMap((setting) => ["-c", setting]), ...args];
  }

  #common({ at, identity, network, signal, timeMs }: GitCall) {
    return {
      cwd: at.cwd,
      // What is undefined here is no variable for the process.
      extendEnv: false,
      env: {
        ...(network ? { ...passedOf(network), ...NETWORK_ENVIRONMENT } : ENVIRONMENT),
        PATH: this.#path,
        GIT_DIR: at.gitDir,
        GIT_WORK_TREE: at.workTree,
        GIT_INDEX_FILE: at.indexFile,
        GIT_OBJECT_DIRECTORY: at.objectDir,
        // Several variables, or none of them.
        ...(identity ? variablesOf(identity) : {}),
      },
      reject: false,
      stripFinalNewline: false,
      timeout: timeMs ?? TIME_MS,
      ...onlyDefined({ cancelSignal: signal }),
    } as const;
  }
}

/** The same bytes, not copied. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Whether git came to an end that the caller accepts. Where git answered before it read all input,
 * its exit code tells the truth and the broken pipe does not.
 */
function isAnswer({ exitCode, isMaxBuffer, timedOut }: Ended, { accept = [0] }: GitCall): boolean {
  if (exitCode === undefined || isMaxBuffer || timedOut) return false;
  return accept.includes(exitCode);
}

function passedOf(network: NonNullable<GitCall["network"]>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(network).filter(([name]) => NETWORK_PASSED.test(name)));
}

function variablesOf({ name, email, at }: CommitIdentity): Record<string, string> {
  const date = `@${Math.floor(at / 1000)} +0000`;
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: date,
  };
}

/** git while it runs; its end is what it resolves to. */
interface RunningGit extends PromiseLike<Ended> {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  kill(signal: NodeJS.Signals): unknown;
}

/** One git that is talked with. Bytes are held one per character (latin1), as in paths.ts. */
export class GitSession {
  readonly #process: RunningGit;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #fail: (result: Ended, stderr: string) => Error;
  #unread = "";
  #stderr = "";

  constructor(process: RunningGit, fail: (result: Ended, stderr: string) => Error) {
    this.#process = process;
    this.#fail = fail;
    this.#chunks = process.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    process.stderr.on(
      "data",
      (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_TAIL)),
    );
    process.stdin.on("error", () => undefined); // told by the exit code
  }

  /** Waits where git is slower than we are. */
  async write(data: string | Uint8Array): Promise<void> {
    const stdin = this.#process.stdin;
    if (stdin.destroyed) return this.#throwEnd();
    if (stdin.write(typeof data === "string" ? Buffer.from(data, "latin1") : data)) return;
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        stdin.off("drain", settle).off("close", settle);
        resolve();
      };
      stdin.on("drain", settle).on("close", settle);
    });
  }

  /** The text up to the next separator, without it. */
  async read(separator: string): Promise<string> {
    for (;;) {
      const end = this.#unread.indexOf(separator);
      if (end >= 0) {
        const field = this.#unread.slice(0, end);
        this.#unread = this.#unread.slice(end + separator.length);
        return field;
      }
      const { value, done } = await this.#chunks.next();
      if (done) return this.#throwEnd();
      this.#unread += value.toString("latin1");
    }
  }

  /** So many bytes. */
  async readBytes(count: number): Promise<Buffer> {
    const parts: Buffer[] = [Buffer.from(this.#unread.slice(0, count), "latin1")];
    this.#unread = this.#unread.slice(count);
    for (let missing = count - parts[0]!.length; missing > 0;) {
      const { value, done } = await this.#chunks.next();
      if (done) return this.#throwEnd();
      parts.push(value.subarray(0, missing));
      if (value.length > missing) this.#unread = value.toString("latin1", missing);
      missing -= value.length;
    }
    return Buffer.concat(parts);
  }

  /** No more input; waits until git is gone. Throws when it failed. */
  async end(): Promise<void> {
    this.#process.stdin.end();
    while (!(await this.#chunks.next()).done); // output that was not asked for
    const result = await this.#process;
    if (result.exitCode !== 0) throw this.#fail(result, this.#stderr);
  }

  /** Ends git whatever it does. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    this.#process.stdout.destroy();
    await this.#process;
  }

  async #throwEnd(): Promise<never> {
    this.#process.stdin.destroy();
    throw this.#fail(await this.#process, this.#stderr);
  }
}
