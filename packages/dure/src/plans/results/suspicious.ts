import type { TestFile, Weakness } from "./weakened.ts";

/** Findings that are told. */
const MOST = 20;

/** What code is not told by those who use it, but by who tests it. */
const DETECTS =
  /NODE_TEST_CONTEXT|\bVITEST(?:_[A-Z_]+)?\b|\bJEST_WORKER_ID\b|\bPYTEST_\w+|\bDURE_(?:RUN|PORT_ID|MEMBER|TRY|WORKER)\b|["'`]--test\b|\bsys\.modules\b.*(?:pytest|unittest)|\b(?:execArgv|argv)\b.*\btest|\.stack\b.*\btest|\binspect\.stack\(/i;
/** Another assertion in the place of the real one. */
const REPLACES =
  /\b(?:assert|expect)\w*(?:\.\w+)+\s*=(?![=>])|\b(?:globalThis|global)\.(?:assert|expect|test|it|describe)\s*=|\bObject\.(?:assign|definePropert(?:y|ies))\(\s*(?:assert|expect)\b/;
const REACHES =
  /(?:\bfrom|\brequire\(|\bimport\()\s*["'](?:node:test|vitest|@jest\/\w+|jest|chai)\b|^\s*(?:import|from)\s+_?pytest\b/;
const SETS_CLOCK =
  /\bprocess\.env\.TZ\s*=|\bprocess\.env\[["']TZ["']\]\s*=|\bos\.environ\[["']TZ["']\]\s*=|\b(?:Date\.now|(?:globalThis|global)\.Date)\s*=(?!=)|\btime\.time\s*=(?!=)/;
/** A result that says it equals whatever it is compared with; its body may stand in the next line. */
const EQUALS_ALL =
  /\bdef __eq__\([^)]*\)[^:]*:\s*return True\b|\b__eq__\s*=\s*lambda\b[^:]*:\s*True\b/;
const CODE = /\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|php|sh|vue|svelte)$/;
const COMMENT = /^\s*(?:\/\/|#|\*|\/\*)/;

const RULES: readonly {
  readonly pattern: RegExp;
  readonly says: string;
  /** That are read together; absent: 1. */
  readonly lines?: number;
}[] = [
  { pattern: DETECTS, says: "asks whether it is tested" },
  { pattern: REPLACES, says: "puts another assertion in the place of the real one" },
  { pattern: REACHES, says: "reaches into what runs its tests" },
  { pattern: SETS_CLOCK, says: "sets the clock of its tests" },
  { pattern: EQUALS_ALL, says: "gives what equals everything", lines: 2 },
];

/**
 * Code that does more for its tests than for its users: lines that came, of files that are no tests.
 * It may be meant well, so it is asked about. Pure.
 */
export function suspiciousCode(files: readonly TestFile[]): readonly Weakness[] {
  const code = files.filter(({ path }) => CODE.test(path));
  const found = code.flatMap(({ path, before = "", after = "" }): Weakness[] => {
    const known = new Set(before.split("\n"));
    const came = after.split("\n").filter((line) => !known.has(line) && !COMMENT.test(line));
    return RULES.flatMap(({ pattern, says, lines = 1 }): Weakness[] => {
      const line = came.find((_, at) => pattern.test(came.slice(at, at + lines).join("\n")));
      if (line === undefined) return [];
      return [{ kind: "suspicious", path, says: `${path} ${says}: ${line.trim().slice(0, 120)}` }];
    });
  });

  return found.slice(0, MOST);
}

/** Files that decide how tests run, and what they are compared with. */
const RUNNER =
  /(?:^|\/)(?:package\.json|\.npmrc|\.yarnrc(?:\.yml)?|\.?(?:vitest|vite|jest|mocha|ava|karma|babel|nyc|c8)(?:\.\w+)*\.config\.\w+|(?:vitest|vite|jest|babel)\.\w[\w.]*|\.mocharc\.\w+|\.babelrc(?:\.\w+)?|conftest\.py|pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|sitecustomize\.py|usercustomize\.py|\.env(?:\.\w+)?|Makefile|justfile)$|\.snap(?:shot)?$|(?:^|\/)__(?:mocks|snapshots)__\//;

/** Whether a file decides how tests run. Pure. */
export function isOfRunner(path: string): boolean {
  return RUNNER.test(path);
}
