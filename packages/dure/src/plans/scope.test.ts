import path from "node:path";
import fc from "fast-check";
import { escaped } from "./ask/grants.ts";
import { describe, expect, test } from "vitest";
import { globMatches, globOf, globsMeet, readGlob } from "./glob.ts";
import { parsePlan, readPlan } from "./plan-file.ts";
import type { Plan } from "./plan.ts";
import { scopeOf } from "./port/member-scope.ts";
import { narrowed } from "./runs/narrow-plan.ts";
import {
  decideRead,
  decideRename,
  decideWrite,
  isHiddenFrom,
  makeScope,
  pathProblem,
  sayReason,
  type ScopeReason,
} from "./scope.ts";

const isLong = process.env["DURE_TEST_LONG"] === "1";

/** The implementer of a port that owns src/api and has its tests beside the sources. */
const scope = makeScope({
  writes: ["src/api/**", "src/routes/[id]-*.ts"],
  exceptions: ["src/api/**/*.test.ts"],
  reads: ["docs/**", "src/core/**"],
  forbidden: ["docs/secret/**", "src/api/generated/**"],
  contracts: ["src/api/types.ts", "src/ports/sessions.ts", "app/[slug].ts"],
});

describe("writing", () => {
  test.each<[path: string, because: ScopeReason]>([
    ["src/api/login.ts", "owned"],
    ["src/api/.env", "owned"],
    ["src/api/deep/er/x.ts", "owned"],
    ["src/api/types.ts", "contract"],
    ["src/api/Types.ts", "contract"],
    ["SRC/API/TYPES.TS", "contract"],
    ["src/ports/sessions.ts", "contract"],
    ["app/[slug].ts", "contract"],
    ["app/s.ts", "not-owned"],
    ["src/api/login.test.ts", "others-tests"],
    ["src/api/Login.TEST.ts", "others-tests"],
    ["src/api/generated/x.ts", "forbidden"],
    ["src/api/GENERATED/x.ts", "forbidden"],
    ["src/api", "not-owned"],
    ["src/apis/x.ts", "not-owned"],
    ["src/core/x.ts", "not-owned"],
    ["docs/readme.md", "not-owned"],
    ["Src/api/login.ts", "case-variant"],
    ["ſrc/api/login.ts", "case-variant"],
    ["src/routes/i-1.ts", "owned"],
  ])("%s: %s", (file, because) => {
    expect(decideWrite(scope, file)).toEqual({ allowed: because === "owned", because });
  });
});

describe("reading", () => {
  test.each<[path: string, allowed: boolean, because: ScopeReason]>([
    ["src/api/login.ts", true, "owned"],
    ["src/api/types.ts", true, "contract"],
    ["src/core/x.ts", true, "readable"],
    ["docs/guide/x.md", true, "readable"],
    ["docs/secret/x.md", false, "forbidden"],
    ["docs/SECRET/x.md", false, "forbidden"],
    ["src/api/login.test.ts", false, "not-readable"],
    ["src/infra/x.ts", false, "not-readable"],
    ["Docs/guide/x.md", false, "case-variant"],
    ["src/api/generated/x.ts", false, "forbidden"],
    ["docs/.git/config", false, "git-internals"],
  ])("%s: %s, %s", (file, allowed, because) => {
    expect(decideRead(scope, file)).toEqual({ allowed, because });
  });
});

describe("moving", () => {
  test("writes both ends", () => {
    expect(decideRename(scope, "src/api/a.ts", "src/api/b.ts")).toEqual({
      allowed: true,
      because: "owned",
    });
    expect(decideRename(scope, "src/core/a.ts", "src/api/a.ts")).toEqual({
      allowed: false,
      because: "not-owned",
      at: "from",
    });
    expect(decideRename(scope, "src/api/a.ts", "src/core/a.ts")).toEqual({
      allowed: false,
      because: "not-owned",
      at: "to",
    });
    expect(decideRename(scope, "src/api/types.ts", "src/api/types2.ts")).toEqual({
      allowed: false,
      because: "contract",
      at: "from",
    });
    expect(decideRename(scope, "src/api/a.ts", "src/api/TYPES.ts")).toEqual({
      allowed: false,
      because: "contract",
      at: "to",
    });
  });
});

test("what a person's tools run is no port's that only owns all, and its own that names it", () => {
  const port = (id: string, owns: string): string =>
    `  - { id: ${id}, role: core, goal: g, acceptance: npm test, owns: [${owns}] }\n`;
  const plan = parsePlan(
    "plan.yaml",
    `plan: p
roles: modules
workers: { default: { kind: offline } }
ports:
${port("a", '"**"')}${port("b", '".vscode/**", .mcp.json, "src/**"').replace("goal: g", "goal: g, dependsOn: [a]")}`,
  );
  const [all, named] = plan.ports.map((one) => makeScope(scopeOf(plan, one, "implementer")));
  const because = (path: string) => [all!, named!].map((one) => decideWrite(one, path).because);

  expect(because(".claude/settings.json")).toEqual(["persons-tools", "not-owned"]);
  expect(because(".Claude/hooks/stop.sh")).toEqual(["persons-tools", "not-owned"]);
  expect(because("src/.husky/pre-commit")).toEqual(["persons-tools", "persons-tools"]);
  expect(because(".mcp.json")).toEqual(["persons-tools", "owned"]);
  expect(because(".vscode/tasks.json")).toEqual(["persons-tools", "owned"]);
  expect(because("src/claude/settings.json")).toEqual(["owned", "owned"]);
  expect(decideRead(all!, ".claude/settings.json").allowed).toBe(true);
});

test("the members of a pair write each their own, and both read the contracts", () => {
  const plan = parsePlan(
    "plan.yaml",
    `plan: p
roles: { core: { reads: [docs/**], forbidden: [docs/secret/**] } }
workers: { default: { kind: offline } }
contracts: [{ path: src/types.ts, by: orchestrator }]
ports:
  - { id: a, role: core, goal: Do it., acceptance: npm test, owns: [src/**], tests: [src/**/*.test.ts] }
  - { id: b, role: core, goal: Do it., acceptance: npm test, owns: [lib/**], reads: [src/**] }
`,
  );
  const [a, b] = plan.ports;
  const [implementer, tester, other] = [
    makeScope(scopeOf(plan, a!, "implementer")),
    makeScope(scopeOf(plan, a!, "tester")),
    makeScope(scopeOf(plan, b!, "implementer")),
  ];
  const who = (decide: typeof decideWrite, file: string): string =>
    [implementer, tester, other].map((one) => (decide(one, file).allowed ? "yes" : "no")).join(" ");

  expect(who(decideWrite, "src/a.ts")).toBe("yes no no");
  expect(who(decideWrite, "src/a.test.ts")).toBe("no yes no");
  expect(who(decideWrite, "src/types.ts")).toBe("no no no");
  expect(who(decideRead, "src/types.ts")).toBe("yes yes yes");
  expect(who(decideRead, "src/a.ts")).toBe("yes yes yes");
  expect(who(decideRead, "src/a.test.ts")).toBe("yes yes yes");
  expect(who(decideRead, "docs/guide.md")).toBe("yes yes yes");
  expect(who(decideRead, "docs/secret/x.md")).toBe("no no no");
});

describe("what processes of a worker see of other ports", () => {
  const text = (roles: string, more = ""): string => `plan: p
roles: ${roles}
workers: { default: { kind: offline } }
ports:
  - { id: core, role: domain, goal: Do it., acceptance: npm test, owns: [src/core/**], tests: [test/core/**] }
  - { id: api, role: api, goal: Do it., acceptance: npm test, owns: [src/api/**], tests: [test/api/**], dependsOn: [core] }
  - { id: db, role: infrastructure, goal: Do it., acceptance: npm test, owns: [src/db/**, package.json] }
${more}`;
  const seenBy = (
    plan: Plan,
    id: string,
    files: readonly string[],
    member: "implementer" | "tester" = "implementer",
  ): string[] => {
    const scope = makeScope(
      scopeOf(
        plan,
        plan.ports.find((port) => port.id === id)!,
        member,
      ),
    );
    return files.filter((file) => !isHiddenFrom(scope, file));
  };
  const FILES = [
    "package.json",
    "README.md",
    "docs/guide.md",
    "src/index.ts",
    "src/core/a.ts",
    "src/api/a.ts",
    "src/db/a.ts",
    "test/core/a.ts",
    "test/api/a.ts",
    "test/old.ts",
    "db/migrations/1.sql",
  ];

  test("a port sees what it depends on and what no port owns, not what works beside it", () => {
    const plan = parsePlan("plan.yaml", text("modules"));

    expect(seenBy(plan, "api", FILES)).toEqual(FILES.filter((file) => file !== "src/db/a.ts"));
    expect(seenBy(plan, "core", FILES)).toEqual(
      FILES.filter((file) => !/^(?:src|test)\/(?:api|db)/.test(file)),
    );
    expect(seenBy(plan, "core", ["SRC/API/a.ts", "Src/DB/deep/x"])).toEqual([]);
  });

  test("under hexagonal the table of what a role does not get counts too, but for its tests and dependencies", () => {
    const plan = parsePlan("plan.yaml", text("hexagonal"));

    expect(seenBy(plan, "core", FILES)).toEqual([
      "package.json",
      "README.md",
      "docs/guide.md",
      "src/index.ts",
      "src/core/a.ts",
      "test/core/a.ts",
    ]);
    expect(seenBy(plan, "api", FILES)).toEqual([
      "package.json",
      "README.md",
      "docs/guide.md",
      "src/index.ts",
      "src/core/a.ts",
      "src/api/a.ts",
      "test/core/a.ts",
      "test/api/a.ts",
    ]);
  });

  test("what a port may read by the plan it sees, even if another owns it", () => {
    const plan = parsePlan(
      "plan.yaml",
      text("modules").replace("owns: [src/core/**]", "owns: [src/core/**], reads: [src/db/**]"),
    );

    expect(seenBy(plan, "core", FILES)).toContain("src/db/a.ts");
    expect(
      decideRead(makeScope(scopeOf(plan, plan.ports[0]!, "implementer")), "src/db/a.ts").allowed,
    ).toBe(true);
  });

  test("what follows from a refusal goes with the scope, as the plan says", () => {
    const [stop, refuse, report] = ["", "violations: refuse\n", "violations: report\n"].map(
      (more) => parsePlan("plan.yaml", text("modules").replace("ports:", `${more}ports:`)),
    );

    expect([stop!.violations, refuse!.violations, report!.violations]).toEqual([
      "stop",
      "refuse",
      "report",
    ]);
    expect(
      [stop!, refuse!, report!].map(
        (plan) => makeScope(scopeOf(plan, plan.ports[0]!, "tester")).onViolation,
      ),
    ).toEqual(["stop", "refuse", "report"]);
    expect(
      readPlan("plan.yaml", text("modules").replace("ports:", "violations: shrug\nports:"))
        .problems,
    ).toHaveLength(1);
  });

  test("the role Test reads all; a module reads the documents of the project", () => {
    const plan = parsePlan(
      "plan.yaml",
      text(
        "hexagonal",
        "  - { id: e2e, role: test, goal: Do it., acceptance: npm test, owns: [test/e2e/**], dependsOn: [core, api, db] }\n",
      ),
    );
    const [test, module] = [
      makeScope(scopeOf(plan, plan.ports[3]!, "implementer")),
      makeScope(scopeOf(parsePlan("plan.yaml", text("modules")), plan.ports[0]!, "implementer")),
    ];

    expect(FILES.filter((file) => !decideRead(test, file).allowed)).toEqual([]);
    expect(FILES.filter((file) => decideWrite(test, file).allowed)).toEqual([]);
    const isOthers = (file: string): boolean => /^(?:src|test)\/(?:api|db)/.test(file);
    expect(FILES.filter((file) => !decideRead(module, file).allowed)).toEqual(
      FILES.filter(isOthers),
    );
  });

  describe("how much a port may read (isolation)", () => {
    const with_ = (isolation: string): Plan =>
      parsePlan("plan.yaml", text("modules").replace("ports:", `isolation: ${isolation}\nports:`));
    const readBy = (plan: Plan, id: string, neighbours: readonly string[] = []): string[] => {
      const port = plan.ports.find((one) => one.id === id)!;
      const scope = makeScope(scopeOf(plan, port, "implementer", { neighbours }));
      return FILES.filter((file) => decideRead(scope, file).allowed);
    };

    test("normal: what it depends on and what no port owns, as its processes see it", () => {
      const plan = with_("normal");

      expect(readBy(plan, "api")).toContain("src/core/a.ts");
      for (const id of ["core", "api", "db"]) {
        expect(readBy(plan, id)).toEqual(seenBy(plan, id, FILES));
      }
      expect(readBy(plan, "core")).toEqual(readBy(with_("enforced"), "core"));
    });

    test("normal: ports that work in its module are read too", () => {
      const plan = with_("normal");

      expect(readBy(plan, "core")).not.toContain("src/db/a.ts");
      expect(readBy(plan, "core", ["db"])).toContain("src/db/a.ts");
      expect(readBy(plan, "core", ["db"])).not.toContain("src/api/a.ts");
    });

    test("a part of a plan leaves what the other ports own as covered as it was", () => {
      const plan = with_("normal");
      const part = narrowed({ plan, only: ["core"] });
      const later = narrowed({ plan, from: ["api"] });

      expect(part.ports.map(({ id }) => id)).toEqual(["core"]);
      expect(seenBy(part, "core", FILES)).toEqual(seenBy(plan, "core", FILES));
      expect(readBy(part, "core", ["db"])).toEqual(readBy(plan, "core", ["db"]));
      expect(readBy(part, "core")).not.toContain("src/db/a.ts");
      expect(readBy(later, "api")).toEqual(readBy(plan, "api"));
    });

    test("strict: its own, what the plan names and what its role gets", () => {
      expect(readBy(with_("strict"), "api", ["db"])).toEqual([
        "README.md",
        "docs/guide.md",
        "src/api/a.ts",
      ]);
    });

    test("open: everything", () => {
      expect(readBy(with_("open"), "core")).toEqual(FILES);
    });
  });
});

describe("a path that cannot be spoken of", () => {
  const everything = makeScope({ writes: ["**"], reads: ["**"], contracts: [] });

  test.each<[path: string, because: ScopeReason]>([
    ["", "empty"],
    ["x".repeat(1_025), "too-long"],
    ["/etc/passwd", "absolute"],
    ["C:/x", "absolute"],
    ["~/x", "absolute"],
    ["a//b", "empty-segment"],
    ["a/", "empty-segment"],
    ["../x", "dot-segment"],
    ["a/../../x", "dot-segment"],
    ["./a", "dot-segment"],
    ["a/./b", "dot-segment"],
    ["a\u0000b", "control-character"],
    ["a\u202eb", "control-character"],
    [".g\u200cit/config", "git-internals"],
    ["src\\.git\\config", "git-internals"],
    ["\ud800", "broken-text"],
    [".git", "git-internals"],
    [".git/hooks/pre-commit", "git-internals"],
    [".GIT/config", "git-internals"],
    [".Git/config", "git-internals"],
    ["vendor/lib/.git/config", "git-internals"],
    [".git./config", "git-internals"],
    [".git /config", "git-internals"],
    ["GIT~1/config", "git-internals"],
    [".git::$INDEX_ALLOCATION/config", "git-internals"],
    [".gıt/config".replace("ı", "i"), "git-internals"],
    ["．git/config", "git-internals"],
  ])("%j: %s", (file, because) => {
    expect(decideWrite(everything, file)).toEqual({ allowed: false, because });
    expect(decideRead(everything, file)).toEqual({ allowed: false, because });
    expect(sayReason(because).length).toBeGreaterThan(10);
  });

  test.each([
    ".gitignore",
    ".github/workflows/ci.yml",
    "src/console.ts",
    "src/common.ts",
    "app/[id]/(group)/@slot/page.tsx",
    "문서/회의록.md",
    "café.ts",
    "a b.ts",
    "comet1",
    "src/nullable.ts",
    "ı.ts",
    "cafe\u0301.ts",
    "문서/회의록.md".normalize("NFD"),
    "src/NUL.ts",
    "src/a:stream",
    "src/a?*.ts",
    'src/say "hi" <now>|later',
    "src/back\\slash",
    "src/tab\there",
    "src/new\nline",
    "src/blank ",
    "src/dot.",
    "src/가족 👨\u200d👩.ts",
  ])("a legal name is none: %j", (file) => {
    expect(pathProblem(file)).toBeUndefined();
    expect(decideWrite(everything, file)).toEqual({ allowed: true, because: "owned" });
  });
});

describe("a pattern", () => {
  test.each<[pattern: string, yes: string[], no: string[]]>([
    ["src/**", ["src/a", "src/a/b/.c"], ["src", "srcs/a", "a/src/b"]],
    ["**/*.ts", ["a.ts", "x/y/a.ts", ".ts"], ["a.tsx", "a.ts/b"]],
    ["**", ["a", "a/b"], []],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]],
    ["*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.js", "a/b.ts"]],
    ["{src,test/{unit,e2e}}/x", ["src/x", "test/unit/x", "test/e2e/x"], ["test/x"]],
    ["a?c", ["abc", "a€c", "a😀c"], ["ac", "a/c", "abbc"]],
    ["[a-c]x", ["ax", "cx"], ["dx", "Ax"]],
    ["[!a-c]x", ["dx", "Ax"], ["ax", "/x"]],
    ["[]a]x", ["]x", "ax"], ["bx"]],
    ["\\[id\\].ts", ["[id].ts"], ["i.ts"]],
    ["a*b*c", ["abc", "axxbyyc", "abcbc"], ["ab", "acb"]],
  ])("%s", (pattern, yes, no) => {
    const glob = globOf(pattern);

    expect(yes.filter((file) => !globMatches(glob, file))).toEqual([]);
    expect(no.filter((file) => globMatches(glob, file))).toEqual([]);
  });

  test.each([
    ["", "is empty"],
    ["/a", "is absolute"],
    ["C:/a", "is absolute"],
    ["!a", "begins with !"],
    ["a/../b", "has a segment . or .."],
    ["./a", "has a segment . or .."],
    ["a//b", "has an empty segment"],
    ["a/", "has an empty segment"],
    ["a**", "has ** beside other characters"],
    ["{a,b", "has a brace that is not closed"],
    ["[a", "has a [ that is not closed, or a range that runs backwards"],
    ["[z-a]", "has a [ that is not closed, or a range that runs backwards"],
    ["@(a|b)", "has an extended pattern such as +(…)"],
    ["a\\", "ends with a \\"],
    [".git/hooks/*", "reaches into .git"],
    ["x/.GIT", "reaches into .git"],
    ["a\u0007", "has a control character"],
    ["{a,b}".repeat(7), "has more than 64 combinations of braces"],
    ["{a,{..,b}}/c", "has a segment . or .."],
  ])("%j %s", (pattern, message) => {
    expect(readGlob(pattern)).toMatchObject({ ok: false, message });
  });

  test("is folded for what it refuses even where its range would run backwards", () => {
    const odd = makeScope({
      writes: ["**"],
      reads: [],
      forbidden: ["secret/[Z-a]x"],
      contracts: [],
    });

    expect(decideWrite(odd, "SECRET/Zx").because).toBe("forbidden");
  });
});

const segment = fc
  .string({ unit: fc.constantFrom("a", "b", "*", "?", "[ab]", "[!a]"), minLength: 1, maxLength: 3 })
  .filter((text) => !text.includes("**"));
const pattern = fc
  .array(fc.oneof({ weight: 3, arbitrary: segment }, { weight: 1, arbitrary: fc.constant("**") }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((segments) => segments.join("/"));
const file = fc
  .array(fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((segments) => segments.join("/"));

test(
  "a pattern matches what Node's own matcher matches, where both have the same words",
  { timeout: 600_000 },
  () => {
    fc.assert(
      fc.property(pattern, file, (text, name) => {
        const glob = globOf(text);

        // Node lets a last ** stand for nothing; here it is at least one segment, so that src/** is
        // no file src.
        if (text.endsWith("**") && !globMatches(glob, name)) return;
        expect(`${text} ${name} ${globMatches(glob, name)}`).toBe(
          `${text} ${name} ${path.posix.matchesGlob(name, text)}`,
        );
      }),
      { numRuns: isLong ? 100_000 : 2_000 },
    );
  },
);

test("two patterns meet exactly when some path matches both", { timeout: 600_000 }, () => {
  const short = ["a", "b", "c"].flatMap((one) => ["", "a", "b", "c"].map((other) => one + other));
  const files = [
    ...short,
    ...short.flatMap((one) => short.map((other) => `${one}/${other}`)),
    ...["a", "b", "c"].flatMap((one) =>
      ["a", "b", "c"].flatMap((two) => ["a", "b", "c"].map((three) => `${one}/${two}/${three}`)),
    ),
  ];
  const small = fc
    .array(fc.constantFrom("a", "b", "*", "?", "a*", "*b", "[!a]", "[ab]?", "**"), {
      minLength: 1,
      maxLength: 2,
    })
    .map((segments) => segments.join("/"));
  fc.assert(
    fc.property(small, small, (one, other) => {
      const [a, b] = [globOf(one), globOf(other)];
      const common = files.find((name) => globMatches(a, name) && globMatches(b, name));

      expect(globsMeet(a, b)).toBe(globsMeet(b, a));
      if (common !== undefined) {
        expect(`${one} ${other} ${globsMeet(a, b)}`).toBe(`${one} ${other} true`);
      }
      // Without ** a meeting has as many segments as the patterns, and a witness among the files.
      else if (!one.includes("**") && !other.includes("**")) {
        expect(`${one} ${other} ${globsMeet(a, b)}`).toBe(`${one} ${other} false`);
      }
    }),
    { numRuns: isLong ? 10_000 : 500 },
  );
});

test("no spelling of a refused path is allowed", { timeout: 600_000 }, () => {
  const spelling = fc
    .constantFrom(
      "src/api/types.ts",
      "src/api/generated/x.ts",
      "src/api/a.test.ts",
      "src/api/.git/config",
    )
    .chain((name) =>
      fc
        .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
        .map((upper) =>
          Array.from(name, (char, index) => (upper[index] ? char.toUpperCase() : char)).join(""),
        ),
    );
  fc.assert(
    fc.property(spelling, fc.constantFrom("", "./", "x/../", "/"), (name, before) => {
      expect(decideWrite(scope, before + name).allowed).toBe(false);
      expect(decideRename(scope, "src/api/a.ts", before + name).allowed).toBe(false);
      expect(decideRename(scope, before + name, "src/api/a.ts").allowed).toBe(false);
    }),
    { numRuns: isLong ? 20_000 : 500 },
  );
});

describe("names as macOS writes them", () => {
  const composed = "src/문서/회의록.md";
  const decomposed = composed.normalize("NFD");

  test.each([composed, decomposed, "src/문서/**", "src/문서/**".normalize("NFD")])(
    "the pattern %s owns both forms",
    (pattern) => {
      const scope = makeScope({ writes: [pattern], reads: [], contracts: [] });

      for (const path of [composed, decomposed]) {
        expect(decideWrite(scope, path)).toEqual({ allowed: true, because: "owned" });
      }
    },
  );

  test("a pattern that refuses one form refuses the other", () => {
    const given = { writes: ["src/**"], reads: [] };
    for (const [one, other] of [
      [composed, decomposed],
      [decomposed, composed],
    ] as const) {
      const excepted = makeScope({ ...given, contracts: [], exceptions: [one] });
      const contract = makeScope({ ...given, contracts: [one] });

      expect(decideWrite(excepted, other).because).toBe("others-tests");
      expect(decideWrite(contract, other).because).toBe("contract");
    }
  });
});

test("signs of patterns in a name are escaped, and a contract is taken as it is written", () => {
  const name = "src/+(a) [b]{c}*?!.ts";
  const owner = makeScope({ writes: [escaped(name)], reads: [], contracts: [] });
  const reader = makeScope({ writes: ["src/**"], reads: [], contracts: [name] });

  expect(decideWrite(owner, name).allowed).toBe(true);
  expect(decideWrite(owner, "src/a b.ts").allowed).toBe(false);
  expect(decideWrite(reader, name).because).toBe("contract");
});
