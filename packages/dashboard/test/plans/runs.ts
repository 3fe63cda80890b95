import type {
  ContextManifest,
  Escalation,
  PlanFile,
  PlanPort,
  PlanStep,
  PlanView,
  PortDetail,
  RunDetail,
  TranscriptLine,
  TreeDiff,
} from "dure/client";
import type { DoubleServer } from "../double/server.ts";

/** What the double of the server has of plans, for tests and pictures. */

const NOW = (): number => Date.now();
const PORTS: readonly (readonly [
  id: string,
  title: string,
  role: string,
  dependsOn: readonly string[],
  goal: string,
])[] = [
  ["domain", "세션 만료", "domain", [], "세션이 30분 뒤에 만료돼요. 시각은 밀리초로 다뤄요."],
  ["store", "세션 저장소", "infrastructure", ["domain"], "세션을 메모리와 파일에 저장해요."],
  ["limits", "시도 제한", "domain", [], "다섯 번 실패하면 15분 동안 막아요."],
  [
    "api",
    "로그인 API",
    "api",
    ["domain", "limits"],
    "POST /login이 다섯 번 실패한 뒤에는 429로 답해요.",
  ],
  ["web", "로그인 화면", "api", ["api", "store"], "남은 시간을 화면에 보여요."],
  ["e2e", "전체 테스트", "test", ["web"], "로그인부터 만료까지 이어서 테스트해요."],
];

export function aPort(
  [id, title, role, dependsOn, goal]: (typeof PORTS)[number],
  change: Partial<PlanPort> = {},
): PlanPort {
  return {
    id,
    title,
    goal,
    role,
    owns: [`src/${id}/**`],
    tests: [`test/${id}/**`],
    dependsOn,
    acceptance: `npx vitest run test/${id}`,
    status: "waiting",
    because: null,
    attempt: 0,
    triesMade: 0,
    waiting: null,
    unproven: false,
    triesPair: 3,
    triesOrchestrator: 2,
    spentMs: 0,
    timeMs: 1_800_000,
    tokensIn: 0,
    tokensCached: 0,
    tokensOut: 0,
    tokensMost: null,
    hint: null,
    grants: [],
    startCommit: null,
    resultCommit: null,
    startedAt: null,
    finishedAt: null,
    ...change,
  };
}

const DEFINITION: RunDetail["definition"] = {
  plan: "login",
  base: "main",
  integration: "npm test",
  roles: "hexagonal",
  limits: {
    maxConcurrency: 3,
    parallelEnabled: true,
    timeoutPerPortMs: 1_800_000,
    tries: 3,
    merge: "at_end",
  },
  isolationWanted: "enforced",
  violations: "stop",
  workers: [{ role: "default", kind: "acp", command: ["claude-agent-acp"] }],
  contracts: [{ path: "src/ports/sessions.ts", by: "orchestrator" }],
};

const MODE: PlanView["mode"] = {
  mode: "parallel",
  because: "every condition for working side by side holds",
  conditions: [
    {
      code: "few-files",
      facts: { below: 5, found: 24 },
      name: "fewer than 5 files",
      value: "24",
      holds: false,
    },
    {
      code: "many-files",
      facts: { least: 10, found: 24 },
      name: "at least 10 files",
      value: "24",
      holds: true,
    },
    {
      code: "many-modules",
      facts: { least: 3, found: 4 },
      name: "at least 3 modules in the project",
      value: "4",
      holds: true,
    },
    {
      code: "no-module-cycle",
      facts: { cycle: [] },
      name: "modules do not depend on each other in a circle",
      value: "none",
      holds: true,
    },
    {
      code: "parallel-enabled",
      facts: { enabled: true },
      name: "parallel_enabled",
      value: "true",
      holds: true,
    },
  ],
};

export function aRun(
  id: string,
  change: Partial<RunDetail> = {},
  ports: Readonly<Record<string, Partial<PlanPort>>> = {},
): RunDetail {
  const at = NOW() - 190_000;
  return {
    id,
    plan: "login",
    status: "running",
    phase: "building",
    because: null,
    repository: "/home/user/shop",
    baseCommit: "8c1f2ab90de3".padEnd(40, "0"),
    startCommit: "77aa".padEnd(40, "0"),
    isolation: "bubblewrap",
    promises: null,
    mode: MODE,
    report: null,
    delivery: change.report?.commit === undefined ? null : "kept",
    supersededBy: null,
    tokensIn: 48_210,
    tokensCached: 0,
    tokensOut: 9_340,
    tokensMost: 400_000,
    calls: 12,
    callsMost: 3_000,
    startedBy: "민준",
    createdAt: at,
    updatedAt: at,
    finishedAt: null,
    cleanedAt: null,
    definition: DEFINITION,
    orchestrator: [],
    ...change,
    ports: change.ports ?? PORTS.map((port) => aPort(port, ports[port[0]])),
  };
}

export function manyPorts(count: number): PlanPort[] {
  return Array.from({ length: count }, (_, index) =>
    aPort(
      [
        `p${index}`,
        `조각 ${index}`,
        "domain",
        index < 25 ? [] : [`p${index - 25}`],
        `조각 ${index}을 고쳐요.`,
      ],
      index < 60
        ? { status: "succeeded", triesMade: 1 }
        : index < 63
          ? { status: "running", triesMade: 1 }
          : {},
    ),
  );
}

export const FILES: readonly PlanFile[] = [
  { name: "login", file: "login.yaml", ports: 6, problems: [], problemCount: 0 },
  {
    name: "billing",
    file: "billing.yaml",
    ports: 0,
    problemCount: 2,
    problems: [
      {
        file: "billing.yaml",
        line: 12,
        column: 5,
        key: "ports.1.dependsOn.0",
        message: 'port charge depends on "invoce", which is no port',
        found: '"invoce"',
        hint: 'Did you mean "invoice"?',
      },
      {
        file: "billing.yaml",
        line: 20,
        key: "ports.2.acceptance",
        message: "is missing",
        allowed: "a shell command",
      },
    ],
  },
];

export const VIEW: PlanView = {
  ...DEFINITION,
  file: "login.yaml",
  network: [],
  ports: PORTS.map(([id, title, role, dependsOn, goal]) => ({
    id,
    title,
    role,
    dependsOn,
    goal,
    owns: [`src/${id}/**`],
    tests: [`test/${id}/**`],
    acceptance: `npx vitest run test/${id}`,
    timeoutMs: 1_800_000,
  })),
  levels: [["domain", "limits"], ["store", "api"], ["web"], ["e2e"]],
  criticalPath: ["domain", "store", "web", "e2e"],
  maxParallel: 2,
  mode: MODE,
  baseCommit: "8c1f2ab90de3".padEnd(40, "0"),
  unowned: ["README.md", "docs/guide.md"],
  unownedCount: 2,
  warnings: [
    {
      code: "UNCOMMITTED",
      facts: { root: "/home/user/shop", commit: "8c1f2ab90de3" },
      message: "Files in /home/user/shop are changed and not committed.",
    },
  ],
};

let steps = 0;
export function aStep(port: string, change: Partial<PlanStep>): PlanStep {
  const at = NOW() - 60_000 + steps * 100;
  const id = ++steps;
  const node = {
    id: `run_1/${port}/${id}`,
    parent: "run_1/operator",
    root: "run_1",
    path: ["run_1", "run_1/operator", `run_1/${port}/${id}`],
    depth: 2,
  } as const;
  return {
    id,
    node,
    port,
    try: 1,
    kind: "implement",
    member: "implementer",
    worker: "acp",
    status: "done",
    starts: 1,
    progress: 1,
    task: "",
    tokensIn: 4_100,
    tokensCached: 0,
    tokensOut: 800,
    output: null,
    log: "",
    startedAt: at,
    seenAt: at + 20_000,
    stalled: false,
    waiting: null,
    finishedAt: at + 20_000,
    ...change,
  };
}

const FEEDBACK = {
  success: false,
  failedTests: [
    {
      name: "login > locks after five failures",
      expected: "429",
      actual: "401",
      file: "test/api/login.test.ts",
      line: 41,
      stackTrace: "AssertionError: expected 401 to be 429\n    at test/api/login.test.ts:41:26",
      suggestedFix: "실패 횟수를 답하기 전에 세어 주세요.",
    },
    {
      name: "login > says how long it is locked",
      file: "test/api/login.test.ts",
      line: 58,
      stackTrace: "TypeError: Cannot read properties of undefined (reading 'retryAfter')",
    },
  ],
  suggestions: ["잠금 시각을 밀리초로 비교해 주세요."],
  metrics: { total: 9, passed: 7, failed: 2, durationMs: 1_840, coverage: 0.82 },
};

/** The steps, messages and violations of a port in its second try. */
export function apiDetail(): Partial<PortDetail> {
  const first = aStep("api", {
    output: {
      status: "ready",
      summary: "로그인 경로와 실패 횟수 세기를 넣었어요.",
      changes: [
        { path: "src/api/login.ts", kind: "new" },
        { path: "src/api/index.ts", kind: "modified" },
      ],
    },
    log: "reading src/ports/sessions.ts\nwriting src/api/login.ts\nready: 로그인 경로를 넣었어요.\n",
  });
  const tested = aStep("api", {
    kind: "test",
    member: "tester",
    output: {
      status: "ready",
      summary: "잠금과 남은 시간 테스트를 더했어요.",
      changes: [{ path: "test/api/login.test.ts", kind: "new" }],
    },
  });
  const accepted = aStep("api", {
    kind: "accept",
    member: null,
    worker: null,
    tokensIn: 0,
    tokensCached: 0,
    tokensOut: 0,
    output: {
      feedback: FEEDBACK,
      framework: "vitest",
      exitCode: 1,
      because: "failures",
      output: "",
    },
    log: "FAIL test/api/login.test.ts\n 7 passed, 2 failed\n",
  });
  const now = aStep("api", {
    try: 2,
    status: "running",
    progress: 0.4,
    task: "잠금 시각 비교를 고치는 중",
    output: null,
    finishedAt: null,
    startedAt: NOW() - 9_000,
    seenAt: NOW() - 2_000,
    tokensIn: 1_900,
    tokensCached: 0,
    tokensOut: 320,
  });
  const at = NOW() - 50_000;
  return {
    steps: [
      aStep("api", {
        try: 0,
        kind: "setup",
        member: null,
        worker: null,
        tokensIn: 0,
        tokensCached: 0,
        tokensOut: 0,
        output: { exitCode: 0 },
        log: "added 212 packages in 9s",
      }),
      first,
      tested,
      accepted,
      now,
    ],
    messages: [
      {
        id: 1,
        from: "implementer",
        to: "tester",
        type: "result",
        payload: {
          status: "ready",
          changedFiles: ["src/api/login.ts", "src/api/index.ts"],
          summary: "로그인 경로와 실패 횟수 세기를 넣었어요.",
        },
        replyTo: null,
        createdAt: at,
        deliveredAt: at + 20,
        processedAt: at + 40,
      },
      {
        id: 2,
        from: "tester",
        to: "implementer",
        type: "query",
        payload: { text: "잠금은 계정마다인가요, 주소마다인가요?" },
        replyTo: null,
        createdAt: at + 4_000,
        deliveredAt: at + 4_020,
        processedAt: at + 9_000,
      },
      {
        id: 3,
        from: "implementer",
        to: "tester",
        type: "ack",
        payload: { text: "계정마다예요." },
        replyTo: 2,
        createdAt: at + 9_000,
        deliveredAt: at + 9_010,
        processedAt: at + 9_020,
      },
      {
        id: 4,
        from: "tester",
        to: "implementer",
        type: "feedback",
        payload: FEEDBACK,
        replyTo: null,
        createdAt: at + 30_000,
        deliveredAt: at + 30_010,
        processedAt: null,
      },
    ],
    violations: [
      {
        port: "api",
        try: 1,
        member: "implementer",
        path: "src/domain/session.ts",
        wanted: "write",
        because: "not-owned",
        detail: null,
        found: "request",
        at: at + 2_000,
      },
    ],
  };
}

type Said = readonly [kind: TranscriptLine["kind"], text: string, title?: string, status?: string];

/** Lines of a step, numbered behind `from`. */
export function saidIn(
  { id: step, try: number, member }: PlanStep,
  said: readonly Said[],
  from = 0,
): TranscriptLine[] {
  return said.map(([kind, text, title = "", status], index) => ({
    id: from + index + 1,
    step,
    try: number,
    member,
    kind,
    title,
    text,
    status,
    at: NOW() - 60_000 + index * 1_000,
  }));
}

/** What the pair of `api` did: one thing of each kind. */
function apiTranscript(steps: readonly PlanStep[]): TranscriptLine[] {
  const [, first, tested, , now] = steps;
  const run = '{"command":"npx vitest run test/api","timeout":60000}';
  const output = Array.from({ length: 30 }, (_, line) => `✓ api > case ${line + 1}`).join("\n");
  const said = saidIn(first!, [
    ["prompt", "You are the implementer of the port api.\nYou own src/api/**.", "implementer"],
    ["session", "sess_1", "new"],
    ["thought", "먼저 실패 횟수를 어디에 두는지 봐야 해요.\n저장소의 계약을 읽어 볼게요."],
    ["tool", "{}", "Read src/ports/sessions.ts"],
    ["tool", '{"path":"src/ports/sessions.ts"}', "Read src/ports/sessions.ts"],
    [
      "result",
      "export interface Sessions {\n  failures(account: string): number;\n}",
      "Read src/ports/sessions.ts",
      "completed",
    ],
    ["tool", '{"path":"src/api/login.ts"}', "Edit src/api/login.ts"],
    [
      "diff",
      "-const limit = 3;\n+const limit = 5;\n+const lockMs = 15 * 60_000;",
      "src/api/login.ts",
    ],
    ["result", "", "Edit src/api/login.ts", "completed"],
    ["refused", "not-owned", "write src/domain/session.ts"],
    ["asked", "granted", "read src/shared/clock.ts"],
    ["tool", run, "npx vitest run test/api"],
    [
      "result",
      `${output}\nFAIL login > locks after five failures`,
      "npx vitest run test/api",
      "failed",
    ],
    ["message", "로그인 경로를 넣었어요. **다섯 번** 실패하면 `429`로 답해요."],
    ["end", "로그인 경로와 실패 횟수 세기를 넣었어요.\n4100 tokens in, 800 out", "ready", "ready"],
  ]);
  const shell = saidIn(
    tested!,
    [
      ["stdout", "collecting tests\n9 tests written"],
      ["stderr", "warning: the coverage file is old"],
      ["end", "잠금 테스트를 더했어요.\n900 tokens in, 120 out", "ready", "ready"],
    ],
    said.length,
  );
  const again = saidIn(
    now!,
    [
      ["session", "sess_1", "resumed"],
      ["heard", "느린 테스트는 빼 주세요", "operator"],
      ["tool", run, "npx vitest run test/api/login.test.ts"],
    ],
    said.length + shell.length,
  );
  return [...said, ...shell, ...again];
}

const MANIFEST: ContextManifest = {
  blocks: [
    { code: "who-you-are", name: "who you are", tokens: 160 },
    { code: "what-you-own", name: "what you own", tokens: 120 },
    { code: "contracts", name: "contracts", path: "src/ports/sessions.ts", tokens: 640 },
    { code: "task", name: "task", tokens: 410 },
    { code: "references", name: "references", path: "src/api/index.ts", tokens: 1_900 },
    { code: "how-to-report", name: "how to report", tokens: 210 },
  ],
  total: 3_440,
  fullContext: 6_100,
  saved: 0.436,
};

export const DIFF: TreeDiff = {
  changes: [
    { path: "src/api/login.ts", kind: "new" },
    { path: "src/api/index.ts", kind: "modified" },
  ],
  patch: `diff --git a/src/api/index.ts b/src/api/index.ts
index 1111111..2222222 100644
--- a/src/api/index.ts
+++ b/src/api/index.ts
@@ -1,3 +1,4 @@
 import { createServer } from "node:http";
-const routes = {};
+import { login } from "./login.ts";
+const routes = { "POST /login": login };
 export default createServer();
diff --git a/src/api/login.ts b/src/api/login.ts
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/src/api/login.ts
@@ -0,0 +1,2 @@
+/** Answers 429 after five failures. */
+export function login(): number { return 429; }
`,
  isCut: false,
};

export function anEscalation(run: string, change: Partial<Escalation> = {}): Escalation {
  return {
    id: `esc_${run}`,
    source: { run, port: "limits" },
    type: "test_failure",
    severity: "high",
    title: "login › 시도 제한: 3번 모두 통과하지 못했어요",
    description: "These still fail: limits > opens again after 15 minutes.",
    context: { tries: 3 },
    suggestedActions: [
      { value: "retry", code: "retry", label: "Retry", style: "primary", asks: "text" },
      {
        value: "reassign",
        code: "to-orchestrator",
        label: "Give it to the orchestrator",
        asks: "text",
      },
      { value: "skip", code: "skip", label: "Go on without it" },
      { value: "cancel", code: "cancel-run", label: "Cancel the run", style: "danger" },
    ],
    status: "open",
    resolution: null,
    resolvedBy: null,
    resolvedByPerson: null,
    resolvedAt: null,
    createdAt: NOW() - 20_000,
    expiresAt: null,
    step: "person",
    nextStepAt: null,
    ...change,
  };
}

/**
 * A run in the middle of its work: one port done, two at work, one failed, its dependents waiting.
 */
export function runInTheMiddle(
  server: DoubleServer,
  id = "run_middle",
  change: Partial<RunDetail> = {},
): RunDetail {
  const run = aRun(id, change, {
    domain: {
      status: "succeeded",
      triesMade: 2,
      attempt: 1,
      tokensIn: 20_100,
      tokensCached: 0,
      tokensOut: 4_020,
      spentMs: 92_000,
      resultCommit: "aa".padEnd(40, "0"),
    },
    store: {
      status: "running",
      triesMade: 1,
      attempt: 1,
      tokensIn: 4_000,
      tokensCached: 0,
      tokensOut: 900,
      spentMs: 20_000,
    },
    limits: {
      status: "failed",
      triesMade: 3,
      triesOrchestrator: 0,
      attempt: 1,
      tokensIn: 11_000,
      tokensCached: 0,
      tokensOut: 2_100,
      spentMs: 140_000,
      because: {
        code: "TRIES_EXHAUSTED",
        message:
          "3 of 3 tries did not pass the acceptance. These still fail: limits > opens again after 15 minutes.",
        hint: "Say what to do differently, and let it try again.",
      },
    },
    api: {
      status: "running",
      triesMade: 2,
      attempt: 1,
      tokensIn: 8_200,
      tokensCached: 0,
      tokensOut: 1_600,
      spentMs: 61_000,
      grants: [{ path: "src/shared/clock.ts", wants: "read", by: "민준" }],
    },
  });
  server.plans.runs.unshift(run);
  const api = apiDetail();
  server.plans.details.set(`${id}/api`, api);
  server.plans.transcripts.set(`${id}/api`, apiTranscript(api.steps!));
  server.plans.details.set(`${id}/store`, {
    steps: [
      aStep("store", {
        status: "running",
        progress: 0.7,
        task: "파일 저장을 쓰는 중",
        finishedAt: null,
        startedAt: NOW() - 70_000,
        seenAt: NOW() - 1_000,
      }),
    ],
  });
  server.plans.diffs.set(`${id}/api`, DIFF);
  for (const { id: step } of server.plans.details.get(`${id}/api`)!.steps!) {
    server.plans.manifests.set(step, MANIFEST);
  }
  return run;
}
