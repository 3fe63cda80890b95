/**
 * Breaks one guard of the sources at a time, in a copy, and looks whether a test notices. Why a
 * list of our own: docs/decisions/0012-guards-are-broken-one-by-one.md
 *
 *   locate → baseline → for each guard: break → test → mend
 *
 * The working tree is never changed: each job has a copy of it, and a PostgreSQL of its own.
 */

import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { linkPackages } from "./linked-packages.ts";

/** One guard, and how to break it. */
export interface Guard {
  readonly id: string;
  /** Path from the root, or the SQL function that is meant. */
  readonly at: { readonly file: string } | { readonly sql: string };
  /** Stands there exactly once; how it is broken into lines does not count. */
  readonly find: string;
  readonly replace: string;
  /**
   * At least one of them is red without the guard:
   * `path/of.test.ts > its name without that of its group, or a part of it`.
   */
  readonly tests: readonly string[];
  /** What goes wrong without it. */
  readonly why: string;
  /** Without it the tests named may not end: a time-out counts as noticed. */
  readonly hangs?: true | undefined;
}

export type Outcome =
  /** A test named turned red. */
  | "killed"
  /** All tests named stayed green. */
  | "SURVIVED"
  /** The tests named did not end in time. */
  | "TIMED OUT"
  /** The text to find is not there exactly once. */
  | "GONE"
  /** Nothing was tried: no test ran, or the change does not compile or migrate. */
  | "BROKEN";

export interface Verdict {
  readonly guard: Guard;
  readonly outcome: Outcome;
  readonly seconds: number;
  /** The test that noticed, or why the guard was not tried. */
  readonly detail: string;
}

export interface MutateOptions {
  /** The tree to copy. */
  readonly root: string;
  readonly guards: readonly Guard[];
  /** Longest time for the tests of one guard, milliseconds. */
  readonly timeoutMs: number;
  /** Copies that are tried at the same time. */
  readonly jobs: number;
  readonly signal?: AbortSignal | undefined;
  /** What a job's tests need besides the copy: a database of their own. */
  readonly environment?: ((job: number) => Promise<NodeJS.ProcessEnv>) | undefined;
  readonly onVerdict?: ((verdict: Verdict) => void) | undefined;
}

/** Verdicts in the order of the list. */
export async function mutate(options: MutateOptions): Promise<readonly Verdict[]> {
  const { root, guards } = options;
  const located = guards.map((guard) => ({ guard, location: locate(root, guard) }));
  const usable = located.flatMap(({ guard, location }) =>
    location.ok ? [{ guard, location }] : [],
  );
  const verdicts = new Map<Guard, Verdict>();
  const note = (verdict: Verdict): void => {
    verdicts.set(verdict.guard, verdict);
    options.onVerdict?.(verdict);
  };
  for (const { guard, location } of located) {
    if (!location.ok) note({ guard, outcome: "GONE", seconds: 0, detail: location.because });
  }

  await using benches = new AsyncDisposableStack();
  const copies: Bench[] = [];
  for (let job = 0; job < Math.min(options.jobs, Math.max(usable.length, 1)); job++) {
    copies.push(benches.use(await Bench.open(options, job)));
  }
  const green =
    usable.length > 0 ? await copies[0]!.baseline(usable.map(({ guard }) => guard)) : NOTHING;

  const waiting = [...usable];
  await Promise.all(
    copies.map(async (copy) => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        options.signal?.throwIfAborted();
        note(await copy.judge(next.guard, next.location, green));
      }
    }),
  );
  return guards.map((guard) => verdicts.get(guard)!);
}

/** Whether nothing is left to do: each guard was noticed, or is said to hang. Pure. */
export function isNoticed({ guard, outcome }: Verdict): boolean {
  return outcome === "killed" || (outcome === "TIMED OUT" && guard.hangs === true);
}

// --- where a guard stands

type Location =
  | { readonly ok: true; readonly file: string; readonly from: number; readonly to: number }
  | { readonly ok: false; readonly because: string };

/**
 * Where the text of a guard stands. It must be there exactly once, so that a refactoring has to
 * move the guard along.
 */
export function locate(root: string, guard: Guard): Location {
  const region =
    "file" in guard.at ? regionOfFile(root, guard.at.file) : regionOfFunction(root, guard.at.sql);
  if (typeof region === "string") return { ok: false, because: region };
  const { file, text, start } = region;
  const [first, second] = text.matchAll(patternOf(guard.find));
  const where = "file" in guard.at ? file : `dure.${guard.at.sql} (${file})`;
  if (!first) return { ok: false, because: `the text is not in ${where}; move the guard along` };
  if (second) {
    return { ok: false, because: `the text is more than once in ${where}; make it longer` };
  }
  if (guard.replace === guard.find) return { ok: false, because: "nothing would be changed" };
  const from = start + first.index;
  return { ok: true, file, from, to: from + first[0].length };
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/**
 * Matches `find` in any line breaks that the formatter may choose, with the commas that it adds.
 */
function patternOf(find: string): RegExp {
  const tokens = find.match(/\s+|[({[]|[)}\]]|[^\s(){}[\]]+/g) ?? [];
  const parts = tokens.map((token) => {
    if (/^\s/.test(token)) return "\\s*";
    if (/^[({[]$/.test(token)) return `${escapeRegExp(token)}\\s*`;
    if (/^[)}\]]$/.test(token)) return `,?\\s*${escapeRegExp(token)}`;
    return escapeRegExp(token);
  });
  return new RegExp(parts.join(""), "g");
}

interface Region {
  readonly file: string;
  readonly text: string;
  /** Of `text` in the file. */
  readonly start: number;
}

const SOURCES = "packages/dure/src";

function regionOfFile(root: string, file: string): Region | string {
  if (!existsSync(path.join(root, file))) return `there is no file ${file}`;
  return { file, text: readFileSync(path.join(root, file), "utf8"), start: 0 };
}

/** A function stands in one file (the check `sql` holds it there). */
function regionOfFunction(root: string, name: string): Region | string {
  const head = new RegExp(`^create or replace function dure\\.${name}\\(`, "m");
  for (const file of sqlFiles(root)) {
    const text = readFileSync(path.join(root, file), "utf8");
    const from = head.exec(text)?.index;
    if (from === undefined) continue;
    const next = /^create /gm;
    next.lastIndex = from + 1;
    const end = next.exec(text)?.index ?? text.length;
    return { file, text: text.slice(from, end), start: from };
  }
  return `no file *.sql.ts defines dure.${name}`;
}

function sqlFiles(root: string): readonly string[] {
  return readdirSync(path.join(root, SOURCES), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".sql.ts"))
    .map((file) => path.join(SOURCES, file));
}

// --- which tests are meant

interface NamedTests {
  readonly file: string;
  readonly name: string;
}

export function testsOf(guard: Guard): readonly NamedTests[] {
  return guard.tests.map((test) => {
    const at = test.indexOf(" > ");
    return at < 0
      ? { file: test, name: "" }
      : { file: test.slice(0, at), name: test.slice(at + " > ".length) };
  });
}

// --- a copy in which guards are broken

/** Tests that are green as long as nothing is broken, as `file > name`. */
type Green = ReadonlySet<string>;
const NOTHING: Green = new Set();

class Bench implements AsyncDisposable {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #options: MutateOptions;

  static async open(options: MutateOptions, job: number): Promise<Bench> {
    const folder = await mkdtemp(path.join(tmpdir(), "dure-mutate-"));
    try {
      await copyTree(options.root, folder);
      return new Bench(folder, { ...process.env, ...(await options.environment?.(job)) }, options);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(folder: string, env: NodeJS.ProcessEnv, options: MutateOptions) {
    this.#folder = folder;
    this.#env = env;
    this.#options = options;
  }

  /** All tests that are named, once, with nothing broken: what is red already proves nothing. */
  async baseline(guards: readonly Guard[]): Promise<Green> {
    const tests = guards.flatMap(testsOf);
    const run = await this.#test(tests, { timeoutMs: MAX_BASELINE_MS });
    if (run.kind !== "ended") {
      throw new Error(`The tests did not run with nothing broken: ${run.because}`);
    }
    return new Set(run.results.filter(({ status }) => status === "passed").map(keyOf));
  }

  async judge(
    guard: Guard,
    location: Extract<Location, { ok: true }>,
    green: Green,
  ): Promise<Verdict> {
    const startedAt = performance.now();
    const { outcome, detail } = await this.#judged(guard, location, green);
    return { guard, outcome, detail, seconds: (performance.now() - startedAt) / 1_000 };
  }

  async #judged(
    guard: Guard,
    location: Extract<Location, { ok: true }>,
    green: Green,
  ): Promise<Pick<Verdict, "outcome" | "detail">> {
    const tests = testsOf(guard);
    const missing = tests.find((test) => ![...green].some((key) => isMeant(key, test)));
    if (missing) {
      return {
        outcome: "BROKEN",
        detail: `with nothing broken no test is green that is named ${missing.file} > ${missing.name}`,
      };
    }

    const file = path.join(this.#folder, location.file);
    const whole = await readFile(file, "utf8");
    await writeFile(file, whole.slice(0, location.from) + guard.replace + whole.slice(location.to));
    try {
      const run = await this.#test(tests, { timeoutMs: this.#options.timeoutMs, bail: true });
      return verdictOf(run, green);
    } finally {
      await writeFile(file, whole);
    }
  }

  async #test(
    tests: readonly NamedTests[],
    limits: { timeoutMs: number; bail?: boolean },
  ): Promise<TestRun> {
    const output = path.join(this.#folder, "node_modules", "results.json");
    await rm(output, { force: true });
    const files = [...new Set(tests.map(({ file }) => file))];
    const names = tests.some(({ name }) => name === "")
      ? []
      : ["-t", [...new Set(tests.map(({ name }) => escaped(name)))].join("|")];
    const vitest = path.join(this.#folder, "node_modules", "vitest", "vitest.mjs");
    const args = [
      vitest,
      "run",
      "--reporter=json",
      `--outputFile=${output}`,
      "--no-color",
      ...(limits.bail ? ["--bail=1"] : []),
      ...names,
      ...files,
    ];
    const ended = await runGroup(process.execPath, args, {
      cwd: this.#folder,
      env: this.#env,
      timeoutMs: limits.timeoutMs,
      signal: this.#options.signal,
    });
    if (ended.timedOut) {
      return { kind: "timed-out", because: `no end within ${limits.timeoutMs / 1_000} s` };
    }
    if (!existsSync(output)) return { kind: "crashed", because: ended.output.trim().slice(-500) };
    return readResults(this.#folder, await readFile(output, "utf8"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** For all tests together, which are many. */
const MAX_BASELINE_MS = 30 * 60_000;

interface TestResult {
  readonly file: string;
  readonly name: string;
  readonly status: string;
  readonly message: string;
}

type TestRun = EndedRun | { readonly kind: "timed-out" | "crashed"; readonly because: string };

interface EndedRun {
  readonly kind: "ended";
  readonly results: readonly TestResult[];
  /** Why a file did not run at all. */
  readonly because: string;
}

function keyOf({ file, name }: Pick<TestResult, "file" | "name">): string {
  return `${file} > ${name}`;
}

function isMeant(key: string, { file, name }: NamedTests): boolean {
  return key.startsWith(`${file} > `) && key.slice(file.length + " > ".length).includes(name);
}

/** What the tests say about a broken guard. A test that was red before says nothing. Pure. */
function verdictOf(run: TestRun, green: Green): Pick<Verdict, "outcome" | "detail"> {
  if (run.kind !== "ended") {
    return { outcome: run.kind === "timed-out" ? "TIMED OUT" : "BROKEN", detail: run.because };
  }

  const red = run.results.filter(
    (result) => result.status === "failed" && green.has(keyOf(result)),
  );
  const invalid = red.find(({ message }) => message.includes("MIGRATION_FAILED"));
  if (invalid) {
    return {
      outcome: "BROKEN",
      detail: `the change does not migrate: ${firstLine(invalid.message)}`,
    };
  }
  if (red[0]) return { outcome: "killed", detail: red[0].name };

  const ran = run.results.filter(({ status }) => status === "passed");
  if (ran.length === 0) return { outcome: "BROKEN", detail: run.because || "no test ran" };
  return { outcome: "SURVIVED", detail: `${ran.length} green` };
}

/** The part of vitest's JSON report that we read. */
interface JsonReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[] | null;
    }[];
  }[];
}

function readResults(folder: string, json: string): EndedRun {
  const { testResults } = JSON.parse(json) as JsonReport;
  const results = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status, failureMessages }) => ({
      file: path.relative(folder, name).split(path.sep).join("/"),
      name: fullName.trim(),
      status,
      message: (failureMessages ?? []).join("\n"),
    })),
  );
  const because = testResults
    .map(({ message }) => firstLine(message))
    .filter((line) => line !== "");
  return { kind: "ended", results, because: because.join("; ").slice(0, 500) };
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]!.slice(0, 300);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

// --- copying

const NOT_COPIED: ReadonlySet<string> = new Set(["node_modules", ".git", "coverage", ".dure"]);

/**
 * Everything but what is installed, which is linked. Links of workspaces lead into the copy, so
 * that no test reads the original.
 */
async function copyTree(from: string, to: string): Promise<void> {
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => source === from || !NOT_COPIED.has(path.basename(source)),
  });
  await linkPackages(path.join(from, "node_modules"), path.join(to, "node_modules"));
}

// --- a program with all its children

interface Ended {
  readonly timedOut: boolean;
  readonly output: string;
}

/** Runs a program in a process group of its own, so that a time-out ends its workers too. */
function runGroup(
  program: string,
  args: readonly string[],
  options: {
    cwd: string;
    env: NodeJS.ProcessEnv;
    timeoutMs: number;
    signal?: AbortSignal | undefined;
  },
): Promise<Ended> {
  options.signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: options.env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const parts: Buffer[] = [];
    let timedOut = false;
    const end = (): void => {
      try {
        process.kill(-child.pid!, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, options.timeoutMs);
    options.signal?.addEventListener("abort", end, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (part: Buffer) => parts.push(part));
    }
    const settle = (then: () => void): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", end);
      end(); // what it has left behind
      then();
    };
    child.once("error", (error) => settle(() => reject(error)));
    child.once("exit", () =>
      settle(() => resolve({ timedOut, output: Buffer.concat(parts).toString("utf8") })),
    );
  });
}
