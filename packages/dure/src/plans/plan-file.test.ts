import { describe, expect, test } from "vitest";
import { problemText, type Problem } from "../engine/files/load-service-document.ts";
import { DureError } from "../kernel/errors.ts";
import { concurrencyOf, definePlan, workerOf } from "./plan.ts";
import { parsePlan, readPlan, readPlanInput } from "./plan-file.ts";
import { isTestPattern } from "./check-paths.ts";
import type { PlanInput } from "./plan-schema.ts";
import { problemInKorean } from "../korean/problem-words.ts";
import { FULL } from "../kernel/test-tiers.ts";

/** The example of docs/spec/plans §2, as it stands there. */
const LOGIN = `plan: login
base: main
setup: npm ci
integration: npm test
roles: hexagonal
limits: { max_concurrency: 3, timeout_per_port: 30m, tries: 3 }
workers: { default: { kind: acp, command: [claude-agent-acp] }, orchestrator: { kind: model, model: "openai:gpt-5" } }
contracts:
  - { path: src/ports/sessions.ts, by: orchestrator }
ports:
  - id: domain
    role: domain
    owns: [src/core/**]
    tests: [test/core/**] # the pair's tester owns these
    acceptance: npx vitest run test/core
    goal: Sessions expire after 30 minutes.
  - { id: api, role: api, dependsOn: [domain], owns: [src/api/**], tests: [test/api/**], acceptance: npx vitest run test/api, goal: POST /login answers 429 after five failures. }
`;

/** What a plan's text is told, one line each. All of it has its words in Korean. */
function told(text: string, file = "plan.yaml"): string[] {
  const { problems } = readPlan(file, text);
  for (const problem of problems) expect(englishIn(problem)).toEqual([]);
  return problems.map(problemText);
}

/** Three words of English and more that a Korean reader would meet. Values stay as written. */
function englishIn(problem: Problem): readonly string[] {
  const { message, allowed = "", hint = "" } = problemInKorean(problem);
  return [message, allowed, hint].filter((words) => /[a-z]{2,} [a-z]{1,} [a-z]{2,}/.test(words));
}

/** A plan of ports that are given as lines of YAML, right in everything else. */
function withPorts(...ports: string[]): string {
  return `plan: p\nroles: modules\nworkers: { default: { kind: offline } }\nports:\n${ports.map((port) => `  - ${port}\n`).join("")}`;
}

const port = (id: string, more = `owns: [src/${id}/**]`): string =>
  `{ id: ${id}, role: core, goal: Do it., acceptance: npm test, ${more} }`;

test("a worker's model is no object: the plan says so, in both languages", () => {
  const [line, ...more] = told(
    withPorts(port("a")).replace("kind: offline", "kind: offline, model: { a: 1 }"),
  );

  expect(more).toEqual([]);
  expect(line).toMatch(/workers\.default\.model.*a worker is a program, which gets no object/);
});

describe("roles bind paths", () => {
  test.each([
    ["domain", "src/core/**", "src/infrastructure/**", "infrastructure"],
    ["domain", "src/core/**", "'src/shop/{core,routes}/**'", "api"],
    ["api", "src/api/**", "src/domain/user.ts", "domain"],
  ])("the role %s of the preset does not own another layer", (role, own, foreign, layer) => {
    const [refusal, ...more] = told(LOGIN.replace(own, foreign));

    expect(more).toEqual([]);
    expect(refusal).toContain(`is of the layer ${layer}, which the role ${role} does not own`);
    expect(refusal).toContain(`Give it to a port of the role ${layer}`);
  });

  test("a port owns nothing that its role's own definition forbids, and may own what lies around", () => {
    const roles = "roles: { domain: { forbidden: [src/db/**] }, api: {} }";
    const ownRoles = LOGIN.replace("roles: hexagonal", roles);
    const [refusal, ...more] = told(ownRoles.replace("src/core/**", "'src/{core,db}/**'"));

    expect(more).toEqual([]);
    expect(refusal).toContain("is forbidden to the role domain (src/db/**)");
    expect(told(ownRoles.replace("[src/core/**]", "[src/d*/**]"))).toEqual([]);
  });

  test.each([
    ["its own layer, below another's name", LOGIN.replace("src/core/**", "apps/api/src/domain/**")],
    ["folders of no layer", LOGIN.replace("src/core/**", "src/login/**")],
    ["tests of any layer", LOGIN.replace("src/core/**", "test/api/login/**")],
    [
      "all, where the plan names its own roles",
      LOGIN.replace("roles: hexagonal", "roles: { domain: {}, api: {} }").replace(
        "src/core/**",
        "src/infrastructure/**",
      ),
    ],
  ])("a port may own %s", (_what, text) => {
    expect(told(text.replace("[test/api/**]", "[test/more/**]"))).toEqual([]);
  });
});

describe("a plan that is right", () => {
  test("is read with its defaults", () => {
    const plan = parsePlan("plan.yaml", LOGIN);

    expect(plan).toMatchObject({
      name: "login",
      base: "main",
      setup: "npm ci",
      integration: "npm test",
      isolation: "enforced",
    });
    expect(plan.limits).toEqual({
      maxConcurrency: 3,
      parallelEnabled: true,
      timeoutPerPortMs: 1_800_000,
      tries: 3,
      merge: "at_end",
    });
    expect(plan.contracts).toEqual([{ path: "src/ports/sessions.ts", by: "orchestrator" }]);
    expect(
      plan.ports.map(({ id, title, dependsOn, timeoutMs }) => ({
        id,
        title,
        dependsOn,
        timeoutMs,
      })),
    ).toEqual([
      { id: "domain", title: "domain", dependsOn: [], timeoutMs: 1_800_000 },
      { id: "api", title: "api", dependsOn: ["domain"], timeoutMs: 1_800_000 },
    ]);
    expect(workerOf(plan.workers, "api")).toEqual({ kind: "acp", command: ["claude-agent-acp"] });
    expect(workerOf(plan.workers, "orchestrator")).toEqual({
      kind: "model",
      model: "openai:gpt-5",
    });
  });

  test("gives each member its worker: a tester's before its role's, a role's before all implementers'", () => {
    const plan = parsePlan(
      "plan.yaml",
      `plan: p
roles: modules
workers:
  implementer: { kind: acp, command: [claude-agent-acp], mcp_servers: [{ name: t, command: [node, t.mjs] }] }
  tester: { kind: model, model: "openai:gpt-5" }
  web: { kind: offline }
ports:
  - { id: api, role: api, goal: g, owns: [src/api/**], acceptance: "true" }
  - { id: web, role: web, goal: g, owns: [src/web/**], acceptance: "true" }
`,
    );
    const kindOf = (role: string, member: "implementer" | "tester"): string | undefined =>
      workerOf(plan.workers, role, member)?.kind;

    expect([kindOf("api", "implementer"), kindOf("api", "tester")]).toEqual(["acp", "model"]);
    expect([kindOf("web", "implementer"), kindOf("web", "tester")]).toEqual(["offline", "model"]);
    expect(workerOf(plan.workers, "api")?.mcpServers).toEqual([
      { name: "t", command: ["node", "t.mjs"] },
    ]);
  });

  test("says the same in YAML, JSON, Markdown and code", () => {
    const input = {
      plan: "p",
      roles: { core: { title: "Core", reads: ["docs/**"] } },
      workers: { default: { kind: "offline" } },
      limits: { max_retries: 2, parallel_enabled: false, budget: "20 USD", merge: "as_ready" },
      ports: [
        {
          id: "a",
          role: "core",
          goal: "Do it.\n\nAnd well.",
          owns: ["src/**"],
          acceptance: "npm test",
          timeout: "5m",
          budget: "1000 tokens",
          depends_on: [],
        },
      ],
    };
    const yaml = `plan: p
roles: { core: { title: Core, reads: [docs/**] } }
workers: { default: { kind: offline } }
limits: { maxRetries: 2, parallelEnabled: false, budget: { usd: 20 }, merge: as_ready }
ports:
  - { id: a, role: core, goal: "Do it.\\n\\nAnd well.", owns: [src/**], acceptance: npm test, timeout: 300000, budget: { tokens: 1000 } }
`;
    const markdown = `---
plan: p
roles: { core: { title: Core, reads: [docs/**] } }
workers: { default: { kind: offline } }
limits: { tries: 2, parallel_enabled: false, budget: 20 USD, merge: as_ready }
---
---
id: a
role: core
owns: [src/**]
acceptance: npm test
timeout: 5m
budget: 1000 tokens
---
Do it.

And well.
`;
    const plan = parsePlan("plan.yaml", yaml);

    expect(parsePlan("plan.json", JSON.stringify(input))).toEqual(plan);
    expect(parsePlan("plan.md", markdown)).toEqual(plan);
    expect(readPlanInput(input as never, "plan.ts").plan).toEqual(plan);
    expect(plan.limits).toMatchObject({
      tries: 2,
      parallelEnabled: false,
      budget: { microUsd: 20_000_000 },
      merge: "as_ready",
    });
    expect(concurrencyOf(plan.limits)).toBe(1);
  });

  test("says in its workers what of the machine they get, in either spelling", () => {
    const workers = (written: string): unknown =>
      parsePlan("plan.yaml", withPorts(port("a")).replace("{ kind: offline }", written)).workers
        .default;

    expect(workers("{ kind: offline, script: team.offline.yaml }")).toEqual({
      kind: "offline",
      script: "team.offline.yaml",
    });
    expect(
      workers(
        "{ kind: acp, command: [claude-agent-acp], env: [ANTHROPIC_API_KEY, CI=1], writable: [~/.cache/x, /var/cache/x], allow_home: [.claude, .config/claude], reads_home: [datasets/x], mode: default, copy_home: [.claude/CLAUDE.md] }",
      ),
    ).toEqual({
      kind: "acp",
      command: ["claude-agent-acp"],
      mode: "default",
      env: ["ANTHROPIC_API_KEY"],
      set: { CI: "1" },
      writable: ["~/.cache/x", "/var/cache/x"],
      allowHome: [".claude", ".config/claude"],
      readsHome: ["datasets/x"],
      copyHome: [".claude/CLAUDE.md"],
    });
  });

  test("names an agent, which stands for its command, mode, variables and copies", () => {
    const worker = (written: string) =>
      parsePlan("plan.yaml", withPorts(port("a")).replace("{ kind: offline }", written)).workers
        .default;

    expect(worker("{ agent: claude, env: [MY_FLAG, A=b=c] }")).toMatchObject({
      kind: "acp",
      agent: "claude",
      command: ["claude-agent-acp"],
      mode: "default",
      env: expect.arrayContaining(["ANTHROPIC_API_KEY", "MY_FLAG"]) as string[],
      set: { IS_SANDBOX: "1", A: "b=c" },
      copyHome: expect.arrayContaining([".claude/.credentials.json"]) as string[],
    });
    expect(worker("{ agent: gemini }")).toMatchObject({ clientFiles: false, mode: "default" });
    expect(worker("{ agent: codex, via: exec, copy_home: [.codex/prompts] }")).toMatchObject({
      kind: "command",
      prompt: "stdin",
      command: expect.arrayContaining(["exec", 'sandbox_mode="danger-full-access"']) as string[],
      copyHome: expect.arrayContaining([".codex/auth.json", ".codex/prompts"]) as string[],
    });
    expect(worker("{ agent: opencode, command: [/opt/opencode, acp] }")).toMatchObject({
      kind: "acp",
      command: ["/opt/opencode", "acp"],
    });
  });

  test.each([
    ["{ agent: claud }", /agent: .*allowed: claude/],
    ["{ agent: claude, kind: acp }", /kind: cannot stand beside agent: claude/],
    ["{ agent: claude, model: offline }", /model: is no key of agent: claude/],
    ["{ kind: acp, command: [x], via: exec }", /via: belongs to agent/],
    ["{ env: [A] }", /kind: is missing.*agent/],
    ["{ kind: model, model: offline, mode: default }", /mode: is no key of a worker of kind model/],
  ])("names what is wrong with the worker %s", (written, words) => {
    expect(told(withPorts(port("a")).replace("{ kind: offline }", written))).toEqual([
      expect.stringMatching(words),
    ]);
  });

  test.each([
    ["~/.claude", /agent: claude/],
    ["~/.codex/sessions", /agent: claude/],
    ["~/.config", /logins and settings of an agent/],
    ["~/.local/share/opencode", /copy_home/],
    ["~/.bashrc", /settings of programs/],
    ["~/.ssh/keys", /settings of programs/],
  ])("refuses to let a worker write %s, which runs for the person afterwards", (place, words) => {
    const written = `{ kind: acp, command: [x], writable: [${place}] }`;

    expect(told(withPorts(port("a")).replace("{ kind: offline }", written))).toEqual([
      expect.stringMatching(words),
    ]);
  });

  test("may be written in code, where problems name the module's line", () => {
    const source = `export default definePlan({
  plan: "p",
  roles: "modules",
  workers: { default: { kind: "offline" } },
  ports: [
    { id: "a", role: "core", goal: "Do it.", owns: ["src/**"], acceptance: "npm test", dependsOn: ["b"] },
  ],
});`;
    const input = definePlan({
      plan: "p",
      roles: "modules",
      workers: { default: { kind: "offline" } },
      ports: [
        {
          id: "a",
          role: "core",
          goal: "Do it.",
          owns: ["src/**"],
          acceptance: "npm test",
          dependsOn: ["b"],
        },
      ],
    });

    expect(readPlanInput(input, "plan.ts", source).problems.map(problemText)).toEqual([
      'plan.ts:6:100 ports.0.dependsOn.0: port a depends on "b", which is no port; found "b"; Did you mean "a"?',
    ]);
  });

  test("keeps a rule and a block of code in the words of a Markdown port", () => {
    const plan = parsePlan(
      "plan.md",
      `---\nplan: p\nroles: modules\nworkers: { default: { kind: offline } }\n---\n# A plan\n\n---\nid: a\nrole: core\nowns: [src/**]\nacceptance: npm test\n---\nFirst.\n\n---\n\nThen.\n`,
    );

    expect(plan.ports[0]!.goal).toBe("First.\n\n---\n\nThen.");
  });
});

describe("a plan that is wrong in one key", () => {
  test.each([
    ["env: [LD_PRELOAD]", /workers\.default\.env\.0: is a variable that dure sets or keeps away/],
    ["env: [A, DURE_HOOK_TOKEN]", /workers\.default\.env\.1: DURE_HOOK_TOKEN is dure's own/],
    ["env: [DURE_TOKEN]", /workers\.default\.env\.0: DURE_TOKEN is dure's own.*another name/],
    ["env: [DATABASE_URL]", /workers\.default\.env\.0: DATABASE_URL is dure's own.*another name/],
    ["env: [database_url]", /workers\.default\.env\.0: database_url is dure's own/],
    ["env: [DISCORD_TOKEN_RUDA]", /workers\.default\.env\.0: DISCORD_TOKEN_RUDA is dure's own/],
    ['env: ["1A=B"]', /workers\.default\.env\.0: cannot be used; .*the name of a variable/],
    ['env: ["HOME=/root"]', /workers\.default\.env\.0: is a variable that dure sets/],
    ['env: ["DURE_TOKEN=x"]', /workers\.default\.env\.0: DURE_TOKEN is dure's own/],
    ["env: A", /workers\.default\.env: cannot be used; .*names of variables/],
    ["writable: [cache]", /workers\.default\.writable\.0: cannot be used; .*begins with \/ or ~\//],
    ["writable: [~/../etc]", /workers\.default\.writable\.0: cannot be used/],
    ["writable: [/]", /workers\.default\.writable\.0: cannot be used/],
    [
      "allow_home: [/root]",
      /workers\.default\.allow_?[hH]ome\.0: cannot be used; .*below the home folder/,
    ],
    ["reads_home: [a/../b]", /workers\.default\.reads_?[hH]ome\.0: cannot be used/],
    ["reads_home: [.ssh/config]", /reads_?[hH]ome\.0: ~\/\.ssh\/config may hold secrets/],
    ["allow_home: [a/../b]", /workers\.default\.allow_?[hH]ome\.0: cannot be used/],
    ["script: ../other.yaml", /workers\.default\.script: the path has a segment . or \.\./],
    ["model: offline", /workers\.default\.model: is no key of a worker of kind offline/],
  ])("names what a worker may not get: %s", (written, words) => {
    expect(
      told(withPorts(port("a")).replace("{ kind: offline }", `{ kind: offline, ${written} }`)),
    ).toEqual([expect.stringMatching(words)]);
  });

  const cases: readonly (readonly [what: string, line: string, with_: string, told: string])[] = [
    [
      "an unknown key",
      "base: main",
      "bsae: main",
      'plan.yaml:2:1 bsae: unknown key "bsae"; did you mean "base"?',
    ],
    [
      "one key in two spellings",
      "limits: { max_concurrency: 3,",
      "limits: { max_concurrency: 3, maxConcurrency: 4,",
      'plan.yaml:6:31 limits.maxConcurrency: "max_concurrency" and "maxConcurrency" are one setting; keep one of them',
    ],
    [
      "tries and max_retries",
      "tries: 3 }",
      "tries: 3, max_retries: 3 }",
      'plan.yaml:6:64 limits.maxRetries: "tries" and "max_retries" are one setting; keep one of them',
    ],
    [
      "a concurrency out of bounds",
      "max_concurrency: 3",
      "max_concurrency: 0",
      "plan.yaml:6:11 limits.maxConcurrency: cannot be used; found 0; allowed: a whole number from 1 to 100",
    ],
    [
      "a timeout without a unit",
      "timeout_per_port: 30m",
      "timeout_per_port: half an hour",
      'plan.yaml:6:31 limits.timeoutPerPort: cannot be used; found "half an hour"; allowed: a duration from 1s to 24h, such as "30m", or milliseconds',
    ],
    [
      "a merge that is none",
      "tries: 3 }",
      "merge: later }",
      'plan.yaml:6:54 limits.merge: cannot be used; found "later"; allowed: at_end, as_ready',
    ],
    [
      "a base that is an option of git",
      "base: main",
      "base: --upload-pack=x",
      'plan.yaml:2:1 base: cannot be used; found "--upload-pack=x"; allowed: a branch, a tag or a commit',
    ],
    [
      "a role that the preset lacks",
      "role: api",
      "role: apis",
      'plan.yaml:17:16 ports.1.role: is no role of this plan; found "apis"; allowed: domain, infrastructure, api, test; Did you mean "api"?',
    ],
    [
      "a worker for no role",
      "orchestrator: {",
      "orchestrater: {",
      'plan.yaml:7:65 workers.orchestrater: "orchestrater" is no role of this plan; found {"kind":"model","model":"openai:gpt-5"}; Did you mean "orchestrator"?',
    ],
    [
      "a worker without what its kind needs",
      "kind: acp, command: [claude-agent-acp]",
      "kind: acp",
      "plan.yaml:7:12 workers.default.command: is missing; a worker of kind acp needs it",
    ],
    [
      "a worker with another kind's key",
      "kind: acp, command",
      "kind: acp, model: offline, command",
      'plan.yaml:7:34 workers.default.model: is no key of a worker of kind acp; found "offline"',
    ],
    [
      "a contract without an owner",
      ", by: orchestrator",
      "",
      "plan.yaml:9:5 contracts.0.by: is missing; allowed: orchestrator",
    ],
    [
      "a contract with another owner",
      "by: orchestrator",
      "by: domain",
      'plan.yaml:9:36 contracts.0.by: cannot be used; found "domain"; allowed: orchestrator',
    ],
    [
      "a contract outside of the repository",
      "path: src/ports/sessions.ts",
      "path: ../sessions.ts",
      'plan.yaml:9:7 contracts.0.path: the path has a segment . or ..; write the path of a file, from the root of the repository; found "../sessions.ts"',
    ],
    [
      "a missing acceptance",
      "    acceptance: npx vitest run test/core\n",
      "",
      "plan.yaml:11:5 ports.0.acceptance: is missing; allowed: a shell command",
    ],
    [
      "a pattern that leaves the repository",
      "src/core/**",
      "/src/core/**",
      'plan.yaml:13:12 ports.0.owns.0: is absolute; Write it from the root of the repository; found "/src/core/**"',
    ],
    [
      "a folder that is written like a file",
      "src/core/**",
      "src/core/",
      'plan.yaml:13:12 ports.0.owns.0: has an empty segment; A folder with all that is in it is "folder/**"; found "src/core/"',
    ],
    [
      "a pattern in owns and tests",
      "tests: [test/core/**]",
      "tests: [src/core/**]",
      "plan.yaml:14:13 ports.0.tests.0: stands in owns too; found \"src/core/**\"; owns is the implementer's, tests the tester's.",
    ],
    [
      "a contract that a port claims",
      "owns: [src/core/**]",
      "owns: [src/core/**, SRC/ports/sessions.ts]",
      'plan.yaml:13:25 ports.0.owns.1: is a contract, which the orchestrator owns; found "SRC/ports/sessions.ts"; Remove it here, or from contracts.',
    ],
    [
      "an id that git would take for an option",
      "id: domain",
      "id: -domain",
      'plan.yaml:11:5 ports.0.id: cannot be used; found "-domain"; allowed: 1 to 64 Latin letters, digits, _ or -, beginning with a letter or digit',
    ],
  ];

  test.each(cases)(
    "%s is told with its line, its value and what may stand there",
    (_what, line, replacement, expected) => {
      expect(LOGIN).toContain(line);

      expect(told(LOGIN.replace(line, () => replacement))).toEqual([expected]);
    },
  );

  test("YAML that cannot be read is told with its line, and an alias that explodes is refused", () => {
    expect(told("plan: p\nports: [\n")[0]).toMatch(/^plan\.yaml:\d:\d /);
    expect(told("plan: p\nplan: q\n")[0]).toMatch(/^plan\.yaml:2:1 .*unique/);
    expect(told('{"plan": "p",,}', "plan.json")[0]).toContain("plan.json:1:");
    const bomb = [
      "a: &a [x,x,x,x,x,x,x,x,x,x]",
      ...Array.from(
        { length: 8 },
        (_, index) =>
          `${"bcdefghi"[index]}: &${"bcdefghi"[index]} [${Array.from({ length: 10 }).fill(`*${"abcdefgh"[index]}`).join(",")}]`,
      ),
    ].join("\n");
    expect(told(bomb)[0]).toMatch(/alias/i);
    expect(told("")).toEqual([
      "plan.yaml is empty; a plan has at least plan, roles, workers and ports",
    ]);
    expect(told("just words", "plan.md")).toEqual([
      "plan.md:1 does not begin with settings between two lines ---",
    ]);
    expect(told("---\nplan: p\n", "plan.md")[0]).toBe(
      "plan.md:1 settings are not closed by a line ---",
    );
  });

  test("a Markdown port's problem names its own line", () => {
    const text = `---\nplan: p\nroles: modules\nworkers: { default: { kind: offline } }\n---\n\n---\nid: a\nrole: core\nowns: [src/**]\nacceptence: npm test\n---\nDo it.\n`;

    expect(told(text, "plan.md")).toEqual([
      "plan.md:8:1 ports.0.acceptance: is missing; allowed: a shell command",
      'plan.md:11:1 ports.0.acceptence: unknown key "acceptence"; did you mean "acceptance"?',
    ]);
  });

  test("everything that is wrong is thrown as one error", () => {
    const error = (() => {
      try {
        return parsePlan(
          "plan.yaml",
          LOGIN.replace("base: main", "bass: main").replace("role: api", "role: [api]"),
        );
      } catch (thrown) {
        return thrown as DureError;
      }
    })();

    expect(error).toBeInstanceOf(DureError);
    expect((error as DureError).code).toBe("PLAN_INVALID");
    expect((error as DureError).message).toMatch(
      /^The plan plan\.yaml has 2 problems:\n {2}plan\.yaml:2:1 bass: .*\n {2}plan\.yaml:17:16 ports\.1\.role: /,
    );
  });
});

describe("ports that do not fit together", () => {
  test("a cycle is told with its path, at the entry that closes it", () => {
    expect(
      told(
        withPorts(
          port("z"),
          port("a", "owns: [a/**], dependsOn: [b]"),
          port("b", "owns: [b/**], dependsOn: [z, c]"),
          port("c", "owns: [c/**], dependsOn: [a]"),
        ),
      ),
    ).toEqual([
      'plan.yaml:6:88 ports.1.dependsOn.0: ports wait for each other: a → b → c → a; found "b"; Remove one dependsOn entry along this path.',
    ]);
  });

  test("two cycles are both told", () => {
    const twoWays = withPorts(
      port("a", "owns: [a/**], dependsOn: [b]"),
      port("b", "owns: [b/**], dependsOn: [a]"),
      port("c", "owns: [c/**], dependsOn: [d]"),
      port("d", "owns: [d/**], dependsOn: [c]"),
    );

    expect(told(twoWays).map((line) => /: (a|c) → .*?;/.exec(line)?.[0])).toEqual([
      ": a → b → a;",
      ": c → d → c;",
    ]);
  });

  test("unknown, own and repeated dependencies are told, and what was probably meant", () => {
    expect(
      told(
        withPorts(
          port("domain"),
          port("api", "owns: [api/**], dependsOn: [domian, api, domain, domain]"),
        ),
      ),
    ).toEqual([
      'plan.yaml:6:92 ports.1.dependsOn.0: port api depends on "domian", which is no port; found "domian"; Did you mean "domain"?',
      'plan.yaml:6:100 ports.1.dependsOn.1: port api depends on itself; found "api"; Remove this entry.',
      'plan.yaml:6:113 ports.1.dependsOn.3: stands here twice; found "domain"; Remove one of them.',
    ]);
  });

  test("ids that differ by case alone are one folder", () => {
    expect(
      told(
        withPorts(
          port("api"),
          port("api", "owns: [b/**]"),
          port("API", "owns: [c/**]"),
          port("Orchestrator", "owns: [d/**]"),
        ),
      ),
    ).toEqual([
      'plan.yaml:6:7 ports.1.id: stands on two ports; found "api"; Give one of them another id.',
      'plan.yaml:7:7 ports.2.id: differs from "api" by case alone, and is the name of a folder and a branch; found "API"; Give one of them another id.',
      'plan.yaml:8:7 ports.3.id: is the name of the one who owns the contracts; found "Orchestrator"; Give the port another id.',
    ]);
  });

  test("a port that owns nothing is told", () => {
    expect(told(withPorts(port("a", "owns: []")))[0]).toContain("port a owns nothing");
  });

  test("ports that may run side by side must not own one path, ports in order may", () => {
    const overlap = (second: string): string[] =>
      told(withPorts(port("a", "owns: [src/**/model.ts]"), port("b", second)));

    expect(overlap("owns: ['src/{api,core}/**']")).toEqual([
      'plan.yaml:6:69 ports.1.owns.0: meets owns "src/**/model.ts" of port a, which may run at the same time; found "src/{api,core}/**"; Give each path one owner, make it a contract, or let one port depend on the other.',
    ]);
    expect(overlap("owns: [Src/Model.ts]")).toHaveLength(1);
    expect(overlap("owns: [b/**], tests: ['src/[l-n]odel.ts']")).toHaveLength(1);
    expect(overlap("owns: [src/api/view.ts, 'src/*.json']")).toEqual([]);
    expect(overlap("owns: [src/api/**], dependsOn: [a]")).toEqual([]);
  });

  test("an order through other ports keeps two owners apart", () => {
    expect(
      told(
        withPorts(
          port("a", "owns: [x/**]"),
          port("b", "owns: [y/**], dependsOn: [a]"),
          port("c", "owns: [x/y.ts], dependsOn: [b]"),
          port("d", "owns: [x/z.ts]"),
        ),
      ).map((line) => line.slice(0, 45)),
    ).toEqual(['plan.yaml:8:69 ports.3.owns.0: meets owns "x/']);
  });

  test("a port of the test role comes after all others", () => {
    const text = (needs: string): string =>
      LOGIN +
      `  - { id: e2e, role: test, tests: [e2e/**], dependsOn: [${needs}], acceptance: npm run e2e, goal: Tests. }\n`;

    expect(told(text("domain"))).toEqual([
      'plan.yaml:18:45 ports.2.dependsOn: port e2e has the role test, so it comes after all others, but not after api; found ["domain"]; Add them to dependsOn.',
    ]);
    expect(told(text("api"))).toEqual([]);
  });

  test("a port of the test role changes no production code and owns no tests that a pair owns", () => {
    const text = (owns: string): string =>
      LOGIN +
      `  - { id: e2e, role: test, owns: ${owns}, dependsOn: [api], acceptance: npm run e2e, goal: Tests. }\n`;

    expect(told(text("[src/new/**, 'test/{e2e,login}/**']"))).toEqual([
      'plan.yaml:18:35 ports.2.owns.0: is no path of tests, and the role test changes no production code; found "src/new/**"; Name a folder of tests (test/e2e/**) or files of tests (src/**/*.test.ts).',
    ]);
    expect(told(text("[test/**]")).map((line) => line.replace(/.*owns\.0: /, ""))).toEqual([
      'meets tests "test/core/**" of port domain, and a port of the role test owns only tests that no pair owns; found "test/**"; Give it a folder of tests of its own, such as test/e2e/**.',
      'meets tests "test/api/**" of port api, and a port of the role test owns only tests that no pair owns; found "test/**"; Give it a folder of tests of its own, such as test/e2e/**.',
    ]);
  });

  test.each([
    ["test/e2e/**", true],
    ["src/**/*.test.ts", true],
    ["pkg/**/*_test.go", true],
    ["**/__tests__/*", true],
    ["{test,spec}/**", true],
    ["{test,src}/**", false],
    ["test", false],
    ["src/latest/**", false],
    ["**", false],
  ])("%s names tests alone: %s", (pattern, isOne) => {
    expect(isTestPattern(pattern)).toBe(isOne);
  });

  test("a worker must be named for each role, and for the contracts", () => {
    expect(
      told(
        LOGIN.replace(
          "default: { kind: acp, command: [claude-agent-acp] }, orchestrator",
          "domain",
        ),
      ),
    ).toEqual([
      'plan.yaml:7:1 workers: no worker for the role api; found {"domain":{"kind":"model","model":"openai:gpt-5"}}; Add workers.default or workers.api.',
      'plan.yaml:7:1 workers: no worker writes the contracts; found {"domain":{"kind":"model","model":"openai:gpt-5"}}; Add workers.orchestrator.',
    ]);
  });
});

describe("10,000 ports", () => {
  const many = (ports: (index: number) => { owns: string[]; dependsOn?: string[] }): PlanInput => ({
    plan: "p",
    roles: "modules",
    workers: { default: { kind: "offline" } },
    ports: Array.from({ length: 10_000 }, (_, index) => ({
      id: `p${index}`,
      role: "core",
      goal: "Do it.",
      acceptance: "npm test",
      ...ports(index),
    })),
  });
  const problems = (input: PlanInput): readonly Problem[] =>
    readPlanInput(input, "plan.ts").problems;

  test("in a chain that all own the same are checked", FULL, () => {
    expect(
      problems(
        many((index) => ({ owns: ["src/**"], dependsOn: index === 0 ? [] : [`p${index - 1}`] })),
      ),
    ).toEqual([]);
  });

  test("side by side that all own the same are told some fifty times", () => {
    expect(problems(many(() => ({ owns: ["src/**"] })))).toHaveLength(50);
  });

  test("that own each their folder are read from a file", FULL, () => {
    expect(
      readPlan("plan.json", JSON.stringify(many((index) => ({ owns: [`src/${index}/**`] })))).plan
        ?.ports,
    ).toHaveLength(10_000);
  });

  test("that wait for each other all around are told in one line", () => {
    expect(
      problems(
        many((index) => ({ owns: [`src/${index}/**`], dependsOn: [`p${(index + 1) % 10_000}`] })),
      ),
    ).toHaveLength(1);
  });
});

describe("of many problems 50 are listed and all are counted", () => {
  const head = "plan: big\nroles: modules\nworkers: { default: { kind: offline } }\nports:\n";

  test("unknown keys", FULL, () => {
    const { problems, problemCount } = readPlan(
      "plan.yaml",
      Array.from({ length: 20_000 }, (_, index) => `key${index}: 1\n`).join(""),
    );

    expect(problems).toHaveLength(50);
    expect(problemCount).toBe(20_000 + 4); // and the four keys that a plan must have
  });

  test("repeated keys, at their lines", () => {
    const { problems, problemCount } = readPlan("plan.yaml", "plan: one\n".repeat(1_000));

    expect(problems).toHaveLength(50);
    expect(problems.slice(0, 2).map(({ line, message }) => ({ line, message }))).toEqual([
      { line: 2, message: "Map keys must be unique" },
      { line: 3, message: "Map keys must be unique" },
    ]);
    expect(problemCount).toBe(999);
  });

  test("keys repeated deep inside, and in the settings of a port of Markdown, at their lines", () => {
    const deep = readPlan("plan.yaml", "a:\n  - b: { c: 1, d: 2,\n      c: 3 }\n");
    const markdown = readPlan("plan.md", "---\nplan: one\n---\n\n---\nid: a\nid: b\n---\n");

    expect(deep.problems).toMatchObject([
      { line: 3, column: 7, message: "Map keys must be unique" },
    ]);
    expect(markdown.problems).toMatchObject([
      { line: 7, column: 1, message: "Map keys must be unique" },
    ]);
  });

  test("needed ports that are none, with what was meant for those that are listed", FULL, () => {
    const ports = Array.from(
      { length: 2_000 },
      (_, index) =>
        `  - { id: port${index}, role: web, owns: [m${index}/**], dependsOn: [prt${index}], acceptance: "true", goal: g }\n`,
    );

    const { problems, problemCount } = readPlan("plan.yaml", head + ports.join(""));

    expect(problems).toHaveLength(50);
    expect(problems[49]).toMatchObject({
      key: "ports.49.dependsOn.0",
      hint: 'Did you mean "port49"?',
    });
    expect(problemCount).toBe(2_000);
  });
});
