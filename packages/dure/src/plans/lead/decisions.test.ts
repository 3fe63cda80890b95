import { describe, expect, test } from "vitest";
import { ESCALATION_TYPES } from "../../kernel/escalation.ts";
import { parsePlan } from "../plan-file.ts";
import { decideMode, modeFacts, modeOfPlan, type ModeFacts } from "../mode.ts";
import type { Plan } from "../plan.ts";
import { planOf } from "../runs/test-runs.ts";
import { decideWrite, makeScope } from "../scope.ts";
import { grantGlobs, pathIn } from "../ask/grants.ts";
import { listenRange, ListenRanges, LISTEN_SLOTS } from "../rows/listen.ts";
import { narrowed } from "../runs/narrow-plan.ts";
import {
  escalationFor,
  orderOf,
  tokensTrigger,
  TRIGGERS,
  type TriggerName,
} from "../ask/triggers.ts";
import { decideTry } from "../port/tries.ts";

describe("which workers make the next try", () => {
  test.each([
    [0, 0, 3, 0, "1 of 3 by the pair"],
    [2, 0, 3, 0, "3 of 3 by the pair"],
    [3, 0, 3, 0, "no try: pair-exhausted"],
    [3, 0, 3, 2, "4 of 5 by the orchestrator"],
    [3, 2, 3, 2, "no try: all-exhausted"],
    [3, 2, 4, 2, "6 of 6 by the pair"], // one more, given by a person or because bisection blames the port
    [3, 1, 4, 2, "5 of 6 by the pair"],
    [4, 1, 4, 2, "6 of 6 by the orchestrator"],
    [3, 0, 4, 2, "4 of 6 by the pair"],
  ])(
    "after %i tries of the pair and %i of the orchestrator, of %i and %i: %s",
    (pair, orchestrator, triesPair, triesOrchestrator, said) => {
      const next = decideTry({ pair, orchestrator }, { triesPair, triesOrchestrator });

      expect(
        next.go ? `${next.number} of ${next.most} by the ${next.by}` : `no try: ${next.because}`,
      ).toBe(said);
    },
  );

  test.each([
    [0, 0, 3, 2, "1 of 3"],
    [1, 0, 3, 2, "2 of 3"],
    [3, 0, 3, 2, "1 of 2"],
    [3, 2, 4, 2, "4 of 4"],
  ])(
    "after %i and %i tries of %i and %i the workers are told their own number: %s",
    (pair, orchestrator, triesPair, triesOrchestrator, said) => {
      const next = decideTry({ pair, orchestrator }, { triesPair, triesOrchestrator });

      expect(next).toMatchObject({ go: true });
      expect("own" in next && `${next.own.number} of ${next.own.most}`).toBe(said);
    },
  );
});

describe("in order or side by side", () => {
  const facts: ModeFacts = {
    files: 12,
    layers: 3,
    modules: 3,
    targets: 2,
    moduleCycle: [],
    openContracts: [],
    independent: 2,
    parallelEnabled: true,
  };

  test.each<[Partial<ModeFacts>, string, string]>([
    [{}, "parallel", "every condition"],
    [{ files: 4 }, "in-order", "4 files are fewer than 5"],
    [{ files: 4, layers: 5 }, "in-order", "4 files"],
    [{ files: 9 }, "in-order", "at least 10 files change"],
    [{ files: 7, layers: 2, modules: 2 }, "in-order", "between the bounds"],
    [{ modules: 2 }, "in-order", "at least 3 modules in the project"],
    [{ targets: 1 }, "in-order", "at least 2 modules are worked on"],
    [{ moduleCycle: ["a", "b", "a"] }, "in-order", "a → b → a"],
    [{ openContracts: ["src/x.ts"] }, "in-order", "src/x.ts"],
    [{ parallelEnabled: false }, "in-order", "parallel_enabled"],
    [{ independent: 4, modules: 1, targets: 1 }, "parallel", "4 ports wait for no other"],
    [{ files: 9, independent: 4 }, "in-order", "at least 10 files change"],
    [{ files: 4, independent: 4 }, "in-order", "4 files are fewer than 5"],
    [{ independent: 4, openContracts: ["src/x.ts"] }, "in-order", "src/x.ts"],
    [{ independent: 4, parallelEnabled: false }, "in-order", "parallel_enabled"],
  ])("%j is %s, because of %s", (change, mode, because) => {
    const decided = decideMode({ ...facts, ...change });

    expect(decided.mode).toBe(mode);
    expect(decided.because).toContain(because);
    expect(decided.conditions).toHaveLength(10);
  });

  test("files are counted at the base: those that match, and listed paths that are not there yet", () => {
    const plan = planOf({ a: "", b: "a" });
    const own = modeFacts(
      { ...plan, ports: [{ ...plan.ports[0]!, owns: ["a/**", "a/new.ts"] }, plan.ports[1]!] },
      ["a/x.ts", "a/y.ts", "b/z.ts", "other.ts"],
      (port, path) => path.startsWith(`${port.id}/`),
    );

    expect(own.files).toBe(4);
  });

  test.each([
    ["parallel", "parallel", undefined],
    ["sequential", "in-order", undefined],
    ["single", "in-order", true],
  ] as const)(
    "mode: %s of the plan goes before the numbers, and is the reason",
    (wanted, mode, one) => {
      const decided = decideMode({ ...facts, files: one ? 12 : 4 }, wanted);

      expect(decided).toMatchObject({ mode, wanted, because: `the plan says mode: ${wanted}` });
      expect(decided.oneContext).toBe(one);
      expect(decided.conditions).toHaveLength(10);
    },
  );

  test("twelve new modules by glob work side by side, four small fixes in one context", () => {
    const modules = Array.from({ length: 12 }, (_, index) =>
      port(`m${index}`, `[src/m${index}/**]`),
    );
    const fixes = ["a", "b", "c", "d"].map((name) => port(name, `[src/${name}.ts]`));
    const planIn = (ports: readonly string[], more = ""): Plan =>
      parsePlan(
        "plan.yaml",
        `plan: p\nworkers: { default: { kind: offline } }\n${more}${planText("modules", ports)}`,
      );
    const files = ["README.md", ...["a", "b", "c", "d"].map((name) => `src/${name}.ts`)];

    const twelve = modeOfPlan(planIn(modules), ["README.md"]);
    const four = modeOfPlan(planIn(fixes), files);
    const bounds = "auto: { few_files: 1, changes: 4 }\n";
    const bounded = modeOfPlan(planIn(fixes, bounds), files);
    const forced = modeOfPlan(planIn(modules, "mode: sequential\n"), ["README.md"]);

    expect(twelve).toMatchObject({ mode: "parallel", because: "12 ports wait for no other one" });
    expect(twelve.conditions[0]).toMatchObject({ code: "few-files", value: "12", holds: false });
    expect(four).toMatchObject({ mode: "in-order", oneContext: true });
    expect(bounded).toMatchObject({ mode: "parallel", because: "4 ports wait for no other one" });
    expect(forced).toMatchObject({ mode: "in-order", because: "the plan says mode: sequential" });
  });

  const factsOf = (text: string, files: readonly string[]): ModeFacts =>
    modeFacts(
      parsePlan("plan.yaml", `plan: p\nworkers: { default: { kind: offline } }\n${text}`),
      files,
    );
  const port = (id: string, owns: string, more = ""): string =>
    `  - { id: ${id}, role: ${id}, goal: Do it., acceptance: npm test, owns: ${owns}${more} }\n`;
  const planText = (roles: string, ports: readonly string[]): string =>
    `roles: ${roles}\nports:\n${ports.join("")}`;
  const FOLDERS = [
    "README.md",
    "package.json",
    "src/api/a.ts",
    "src/cart/a.ts",
    "src/cart/deep/b.ts",
    "src/price/a.ts",
    "src/index.ts",
    "test/cart/a.test.ts",
    "docs/guide.md",
    ".github/ci.yml",
  ];

  test("modules are folders of the project that ports work on, not the roles of the plan", () => {
    const facts = factsOf(
      planText("modules", [
        port("one", "[src/cart/a.ts]"),
        port("two", "[src/cart/deep/**]"),
        port("three", "[README.md]"),
        port("four", "[docs/**]"),
      ]),
      FOLDERS,
    );

    // src/api, src/cart, src/price and src itself
    expect(facts).toMatchObject({ modules: 4, targets: 1, layers: 0 });
  });

  test("a folder with a manifest is a module; one that a port is to make is one too", () => {
    const files = [
      "package.json",
      "packages/shop/package.json",
      "packages/shop/src/a/x.ts",
      "packages/shop/src/b/y.ts",
      "server/main.go",
      "server/db/rows.go",
    ];
    const facts = factsOf(
      `roles: modules\nports:\n${port("one", "[packages/shop/src/a/**]")}${port("two", "[packages/new/**]")}`,
      files,
    );

    expect(facts).toMatchObject({ modules: 3, targets: 2 });
  });

  test("layers of one module are no modules, and count as layers", () => {
    const files = ["src/domain/a.ts", "src/api/a.ts", "src/infrastructure/a.ts"];
    const roles = ["domain", "api", "infrastructure"];
    const text = planText(
      "hexagonal",
      roles.map((role) => port(role, `[src/${role}/**]`)),
    );

    expect(factsOf(text, files)).toMatchObject({ modules: 1, targets: 1, layers: 3 });
    expect(
      factsOf(
        text,
        files.map((file) => file.replace("src/", "src/orders/")),
      ),
    ).toMatchObject({ modules: 2, layers: 3 }); // src/orders, and src, where the ports would work
  });

  test("modules whose ports need each other are a circle; ports of a shared module make none", () => {
    const circle = factsOf(
      planText("modules", [
        port("types", "[src/cart/a.ts]"),
        port("price", "[src/price/**]", ", dependsOn: [types]"),
        port("cart", "[src/cart/deep/**]", ", dependsOn: [price]"),
      ]),
      FOLDERS,
    );
    const line = factsOf(
      planText("modules", [
        port("one", "[src/cart/a.ts, src/api/a.ts]"),
        port("two", "[src/cart/deep/**, src/price/**]", ", dependsOn: [one]"),
      ]),
      FOLDERS,
    );

    expect(circle.moduleCycle).toEqual(["src/cart", "src/price", "src/cart"]);
    expect(line.moduleCycle).toEqual([]);
  });

  test("a contract that is not in the base is open, unless an orchestrator writes it first", () => {
    const paths = ["src/types.ts", "src/index.ts"];
    const contracts = paths.map((path) => `{ path: ${path}, by: orchestrator }`).join(", ");
    const text = `contracts: [${contracts}]\n${planText("modules", [port("one", "[src/cart/**]")])}`;

    expect(factsOf(text, FOLDERS).openContracts).toEqual(["src/types.ts"]);
    expect(factsOf(text, ["src/types.ts", ...FOLDERS]).openContracts).toEqual([]);
    expect(
      modeFacts(
        parsePlan(
          "plan.yaml",
          `plan: p\nworkers: { default: { kind: offline }, orchestrator: { kind: offline } }\n${text}`,
        ),
        FOLDERS,
      ).openContracts,
    ).toEqual([]);
  });
});

describe("what makes a run ask", () => {
  test.each(Object.entries(TRIGGERS))(
    "%s gives a type and actions that the inbox knows",
    (name, trigger) => {
      const asked = escalationFor(name as TriggerName, {
        tenant: "",
        run: "run_1",
        plan: "login",
        port: "api",
        title: "…",
      });

      expect(ESCALATION_TYPES).toContain(asked.type);
      expect(asked.severity).toBe(trigger.severity);
      expect(asked.suggestedActions.length).toBeGreaterThan(0);
      expect(asked.source).toEqual({ run: "run_1", port: "api" });
    },
  );

  test.each([
    [79, 100, undefined],
    [80, 100, "tokens-80"],
    [94, 100, "tokens-80"],
    [95, 100, "tokens-95"],
    [200, 100, "tokens-95"],
    [200, null, undefined],
  ] as const)("%i of %s tokens: %s", (used, most, trigger) => {
    expect(tokensTrigger(used, most)).toBe(trigger);
  });

  test.each([
    [
      { value: "retry", note: "use UTC" },
      { type: "retry", port: "api", tries: 1, hint: "use UTC" },
    ],
    [{ value: "more_tokens" }, { type: "retry", port: "api", tokens: 500 }],
    [{ value: "more_time" }, { type: "retry", port: "api", timeMs: 900_000 }],
    [
      { value: "own", note: "src/x.ts" },
      { type: "retry", port: "api", tries: 1, grants: [{ path: "src/x.ts", wants: "own" }] },
    ],
    [
      { value: "read" },
      {
        type: "retry",
        port: "api",
        tries: 1,
        grants: [
          { path: "docs/a.md", wants: "read" },
          { path: "app/[id]/page.tsx", wants: "read" },
        ],
      },
    ],
    [
      { value: "own", note: "ok, tests need it" },
      {
        type: "retry",
        port: "api",
        tries: 1,
        grants: [
          { path: "docs/a.md", wants: "own" },
          { path: "app/[id]/page.tsx", wants: "own" },
        ],
        hint: "ok, tests need it",
      },
    ],
    [
      { value: "own", note: "../x" },
      {
        type: "retry",
        port: "api",
        tries: 1,
        grants: [
          { path: "docs/a.md", wants: "own" },
          { path: "app/[id]/page.tsx", wants: "own" },
        ],
        hint: "../x",
      },
    ],
    [
      { value: "reassign", note: "mind the clock" },
      {
        type: "retry",
        port: "api",
        tries: 1,
        by: "orchestrator",
        pairTries: 1,
        hint: "mind the clock",
      },
    ],
    [{ value: "accept" }, { type: "retry", port: "api", acceptsWeakerTests: true }],
    [{ value: "skip" }, { type: "skip", port: "api" }],
    [{ value: "cancel" }, { type: "cancel" }],
    [{ value: "known" }, undefined],
  ])("the answer %j is the order %j", (answer, order) => {
    expect(
      orderOf(answer, {
        port: "api",
        pairTries: 1,
        paths: ["docs/a.md", "/etc/passwd", "app/[id]/page.tsx", ".git/config"],
        timeMs: 1_800_000,
        tokensMost: 1_000,
      }),
    ).toEqual(order);
  });

  test("a port is given to the orchestrator where there is one", () => {
    const asked = (hasOrchestrator: boolean): boolean =>
      escalationFor("tries-exhausted", {
        tenant: "",
        run: "run_1",
        plan: "login",
        port: "api",
        title: "…",
        hasOrchestrator,
      }).suggestedActions.some(({ value }) => value === "reassign");

    expect([asked(true), asked(false)]).toEqual([true, false]);
  });

  test("more tokens for the run are the run's; a port without a bound takes its share of the run's", () => {
    expect(orderOf({ value: "more_tokens" }, { runTokensMost: 1_000 })).toEqual({
      type: "extend",
      tokens: 500,
    });
    expect(
      orderOf({ value: "more_tokens" }, { port: "api", tokensMost: null, runTokensMost: 1_000 }),
    ).toEqual({ type: "retry", port: "api", tokens: 500 });
  });

  test.each([
    "tokens-80",
    "tokens-95",
    "build-failed",
    "ownership-violated",
    "worker-lost",
    "host-gone",
  ] as const)("%s of a run without a port offers only what acts there", (name) => {
    const asked = escalationFor(name, { tenant: "", run: "run_1", plan: "login", title: "…" });

    const idle = asked.suggestedActions.filter(
      ({ value }) =>
        value !== "known" && orderOf({ value }, { runTokensMost: 1_000 }) === undefined,
    );
    expect(idle).toEqual([]);
  });

  test("a run that is to be tried again is merged again", () => {
    expect(orderOf({ value: "retry" }, {})).toEqual({ type: "again" });
  });
});

describe("paths that are given", () => {
  test.each([
    ["src/x.ts", "src/x.ts"],
    [" src/x/ ", "src/x"],
    ["README.md", "README.md"],
    ["ok", undefined],
    ["ok, tests need it", undefined],
    ["네.그렇게", undefined],
    ["../x", undefined],
    ["/etc/passwd", undefined],
    [".git/config", undefined],
  ])("the note %j names the path %s", (note, path) => {
    expect(pathIn(note)).toBe(path);
  });

  test("a path is matched as it is written, brackets included, and a folder with all that is in it", () => {
    const scope = (path: string, isFolder: boolean): ReturnType<typeof makeScope> =>
      makeScope({ writes: grantGlobs({ path, wants: "own" }, isFolder), reads: [], contracts: [] });

    expect(decideWrite(scope("app/[id]/page.tsx", false), "app/[id]/page.tsx").allowed).toBe(true);
    expect(decideWrite(scope("app/[id]/page.tsx", false), "app/i/page.tsx").allowed).toBe(false);
    expect(decideWrite(scope("src/shared/", true), "src/shared/deep/x.ts").allowed).toBe(true);
    expect(grantGlobs({ path: "../x", wants: "own" }, false)).toEqual([]);
  });
});

describe("TCP ports of workers", () => {
  test("end below those that Linux gives to clients, and no two runs or ports share one", () => {
    const all = Array.from(
      { length: LISTEN_SLOTS * 25 },
      (_, number) =>
        listenRange(Math.floor(number / 25), number % 25)
          .split("-")
          .map(Number) as [number, number],
    );

    const seen = new Set(all.map(([from]) => from));
    expect(seen.size).toBe(all.length);
    expect(all.every(([from, to]) => from >= 12_000 && to === from + 19 && to < 32_768)).toBe(true);
  });

  test("are the lowest free ones of a run, and free again when a port has ended", () => {
    const ranges = new ListenRanges("orchestrator");

    expect([
      ranges.take("orchestrator"),
      ranges.take("a"),
      ranges.take("b"),
      ranges.take("a"),
    ]).toEqual([0, 1, 2, 1]);
    ranges.release("a");
    expect([ranges.take("c"), ranges.take("a")]).toEqual([1, 3]);
  });
});

describe("a part of a plan", () => {
  const plan = planOf({ a: "", b: "a", c: "b", d: "a", e: "" });
  const ids = (part: Parameters<typeof narrowed>[0]): string =>
    narrowed(part)
      .ports.map(({ id, dependsOn }) => `${id}(${dependsOn.join(" ")})`)
      .join(" ");

  test.each([
    [{ only: ["c"] }, "a() b(a) c(b)"],
    [{ from: ["b"] }, "b() c(b)"],
    [{ only: ["e"], from: ["d"] }, "d() e()"],
    [{}, "a() b(a) c(b) d(a) e()"],
  ])("%j has the ports %s", (part, expected) => {
    expect(ids({ plan, ...part })).toBe(expected);
  });

  test("of a port that is not there is refused with those that are", () => {
    expect(() => narrowed({ plan, only: ["x"] })).toThrow(
      expect.objectContaining({ code: "PLAN_PORT_UNKNOWN", hint: "Its ports are a, b, c, d, e." }),
    );
  });
});
