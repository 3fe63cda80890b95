import path from "node:path";

/** A file of tests before and after a port's work; undefined: it is not there. */
export interface TestFile {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** How tests came to say less. */
export interface Weakness {
  readonly kind:
    | "removed"
    | "fewer-tests"
    | "assertions-gone"
    | "skipped"
    | "silenced"
    | "mocked"
    /** Of code: it does more for its tests than for its users. */
    | "suspicious"
    /** A test that has to fail does not. */
    | "not-judged"
    /** Tests as they were before fail with the work. */
    | "base-fails";
  /** Undefined: what the acceptance runs as a whole. */
  readonly path?: string | undefined;
  /** For people. */
  readonly says: string;
}

/** Weaknesses that are told. */
const MOST = 20;

/** Source: names of vitest, jest, node:test, mocha, pytest, unittest, go test, JUnit, Rust. */
const TEST =
  /^\s*(?:(?:test|it)(?:\.\w+)*\s*[(`]|(?:async\s+)?def\s+test_?\w*|func\s+Test\w*|@(?:Test|ParameterizedTest)\b|#\[(?:\w+::)?test\])/;
const ASSERTION =
  /\bexpect\w*\s*[(.]|\bassert\w*!?\s*[(.!]|^\s*assert\s|\.should\b|\bt\.(?:is|not|ok|equal|deepEqual|same|match|throws|rejects|true|false|Errorf?|Fatalf?|FailNow|Fail)\s*\(|\brequire\.\w+\s*\(|\bself\.(?:assert|fail)\w*\s*\(|\bpytest\.raises\b/;
/** It is true whatever the code does. */
const EMPTY =
  /expect\(\s*(true|false|1|0|null|undefined|"[^"]*"|'[^']*')\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*\1\s*\)|expect\(\s*(?:true|1)\s*\)\.(?:toBeTruthy|toBeDefined)|assert(?:\.ok|\.equal|\.strictEqual)?!?\(\s*(?:true|1|1\s*,\s*1|true\s*,\s*true)\s*\)|^\s*assert\s+(?:True|1)\b|assertTrue\(\s*[Tt]rue\s*\)/;
const SKIPPED =
  /\b(?:test|it|describe|suite|context)\.(?:skip|todo|only|fails|failing|skipIf|runIf)\b|\bx(?:it|test|describe)\s*\(|\bf(?:it|describe)\s*\(|@(?:pytest\.mark\.(?:skip|skipif|xfail)|unittest\.(?:skip|expectedFailure)\w*|Disabled|Ignore)\b|\bpytest\.skip\(|\bt\.Skip\w*\(|#\[ignore|\{\s*(?:skip|todo)\s*:|\bprocess\.exit\(|\b(?:sys|os)\._?exit\(|\bos\.Exit\(/;
/** Assertions stand there, and what they find comes to nothing: each of these may be meant well. */
const CAUGHT =
  /\bcatch\s*(?:\(\s*\w*\s*\)\s*)?\{|\.catch\(\s*\(|^\s*except\b|\brecover\(\)|^\s*return;?\s*$|\bif\s*\(\s*(?:false|0|!1|!true)\s*\)|^\s*if\s+(?:False|0)\s*:/;
/** These never are: another assertion in the place of the real one, or another end of the program. */
const REPLACED =
  /\b(?:assert|expect)(?:\.\w+)+\s*=(?![=>])|\b(?:globalThis|global)\.(?:assert|expect)\s*=|^\s*(?:const|let|var|function|class)\s+(?:assert|expect)\b(?!.*\b(?:require|import|chai)\b)|\bprocess\.(?:exitCode\s*=|reallyExit\()/;
/** What stands in the place of a module: its name is the first text. */
const MOCK =
  /\b(?:vi|jest)\.(?:mock|doMock|unstable_mockModule)\(\s*(?:import\(\s*)?["'`]([^"'`]+)["'`]|\bmock\.module\(\s*["'`]([^"'`]+)["'`]|(?:\bpatch(?:\.object)?|\bmonkeypatch\.setattr)\(\s*["']([\w.]+)["']/g;
const COMMENT = /^\s*(?:\/\/|#(?!\[)|\*|\/\*)/;

/**
 * Where tests say less than before: they are gone, fewer, with less to hold, skipped, or ask a
 * double in the place of what they are about. What moved from one file to another is not gone. Pure.
 *
 * @param owns whether a path is the port's own code.
 */
export function weakenedTests(
  files: readonly TestFile[],
  owns: (path: string) => boolean,
): readonly Weakness[] {
  const all = files.map((file) => ({
    ...file,
    old: readTests(file.before ?? ""),
    now: readTests(file.after ?? ""),
  }));
  const kept = new Map<string, number>();
  for (const line of all.flatMap(({ now }) => now.assertions)) {
    kept.set(line, (kept.get(line) ?? 0) + 1);
  }
  const tests = (which: "old" | "now"): number =>
    all.reduce((sum, file) => sum + file[which].tests, 0);
  const lost = tests("old") - tests("now");
  const found = all.flatMap((file) => weaknessesOf(file, { kept, lost, owns }));

  return found.slice(0, MOST);
}

interface ReadTests {
  readonly tests: number;
  /** Without blanks, so that a new form is no new assertion. */
  readonly assertions: readonly string[];
  readonly skipped: number;
  readonly caught: number;
  readonly replaced: number;
  readonly mocks: readonly string[];
}

function weaknessesOf(
  file: TestFile & { readonly old: ReadTests; readonly now: ReadTests },
  all: {
    /** Assertions that are somewhere now; each is found once. */
    readonly kept: Map<string, number>;
    /** Tests that are nowhere now. */
    readonly lost: number;
    readonly owns: (path: string) => boolean;
  },
): Weakness[] {
  const { old, now } = file;
  const found: Weakness[] = [];
  const tell = (kind: Weakness["kind"], says: string): void =>
    void found.push({ kind, path: file.path, says });
  const gone = old.assertions.filter((line) => !takeOne(all.kept, line));
  const fewer = old.tests - now.tests;
  if (file.after === undefined && (all.lost > 0 || gone.length > 0)) {
    tell("removed", `${file.path} is gone, with ${old.tests} tests`);
  } else if (fewer > 0 && all.lost > 0) {
    tell("fewer-tests", `${file.path} has ${now.tests} tests instead of ${old.tests}`);
  } else if (gone.length > 0) {
    const first = gone[0]!.slice(0, 120);
    tell("assertions-gone", `${gone.length} assertions of ${file.path} are gone, such as ${first}`);
  }
  if (now.skipped > old.skipped) {
    tell("skipped", `${file.path} skips ${now.skipped - old.skipped} more`);
  }
  const silenced = silencedIn(old, now);
  if (silenced > 0) {
    tell("silenced", `${file.path} lets what ${silenced} assertions or more find come to nothing`);
  }
  const mocks = now.mocks.filter((name) => !old.mocks.includes(name));
  const own = mocks.find((name) => modulesOf(file.path, name).some(all.owns));
  if (own !== undefined) tell("mocked", `${file.path} puts a double in the place of ${own}`);

  return found;
}

/**
 * Places where the tests that were there come to nothing now. A file that gains tests may catch or
 * return in those. Pure.
 */
function silencedIn(old: ReadTests, now: ReadTests): number {
  const replaced = Math.max(0, now.replaced - old.replaced);
  const isOld = old.tests > 0 && now.tests <= old.tests;

  return replaced + (isOld ? Math.max(0, now.caught - old.caught) : 0);
}

function takeOne(kept: Map<string, number>, line: string): boolean {
  const left = kept.get(line) ?? 0;
  if (left > 0) kept.set(line, left - 1);

  return left > 0;
}

function readTests(text: string): ReadTests {
  const lines = text.split("\n").filter((line) => !COMMENT.test(line));
  const asserting = lines.filter((line) => ASSERTION.test(line) && !EMPTY.test(line));

  return {
    tests: countOf(TEST, lines),
    assertions: asserting.map((line) => line.replace(/[\s;]+/g, "")),
    skipped: countOf(SKIPPED, lines),
    caught: countOf(CAUGHT, lines),
    replaced: countOf(REPLACED, lines),
    mocks: [...lines.join("\n").matchAll(MOCK)].map(([, a, b, c]) => a ?? b ?? c!),
  };
}

function countOf(pattern: RegExp, lines: readonly string[]): number {
  return lines.filter((line) => pattern.test(line)).length;
}

const ENDINGS = [
  "",
  ".ts",
  ".tsx",
  ".js",
  ".jsx",
  ".mjs",
  ".cjs",
  ".mts",
  ".py",
  "/index.ts",
  "/index.js",
];

/** Paths that a module's name in a test may mean, from the root of the repository. */
function modulesOf(test: string, name: string): readonly string[] {
  if (name.startsWith(".")) {
    const at = path.posix.join(path.posix.dirname(test), name);
    const bare = at.replace(/\.[cm]?[jt]sx?$/, "");

    return [...new Set([at, bare])].flatMap((one) => ENDINGS.map((ending) => one + ending));
  }
  if (!/^[\w.]+$/.test(name)) return [];
  // `shop.price.total` of Python: the module, or a name in it.
  const parts = name.split(".");

  return [parts, parts.slice(0, -1), parts.slice(0, -2)]
    .filter((some) => some.length > 0)
    .flatMap((some) => ["", "src/"].map((root) => `${root}${some.join("/")}.py`));
}
