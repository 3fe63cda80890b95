import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testDatabase } from "../../src/durable/test-database.ts";
import { importModule } from "../../src/engine/files/import-module.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { DraftWish } from "../../src/plans/drafts/draft-prompt.ts";
import { reviewDraft } from "../../src/plans/drafts/draft.ts";
import { DraftRows } from "../../src/plans/rows/draft-rows.ts";
import { HookRequests } from "../../src/plans/runs/hook-requests.ts";
import { PlanThreads } from "../../src/plans/threads/plan-threads.ts";
import { PlanLibrary } from "../../src/plans/runs/plan-library.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { TeamGuard } from "../../src/plans/runs/team-guard.ts";
import { Git } from "../../src/plans/workspace/git.ts";
import { TeamFiles } from "../../src/plans/workspace/team-files.ts";
import type { ServerOptions } from "../../src/server/server.ts";
import { startTestServer, type TestServer } from "../../src/server/test-server.ts";
import { startRealRuns, testRepository, type TestRepository } from "./real-runs.ts";

/**
 * A server with plans on a small repository; workers are offline or programs, everything else is
 * real.
 */
export interface PlanServer extends AsyncDisposable {
  readonly server: TestServer;
  readonly library: PlanLibrary;
  readonly runs: TestRuns;
  readonly repository: TestRepository;
  /** The team's folder. */
  readonly folder: string;
  /** Another server over the same plans. */
  serve(options: Partial<ServerOptions>): Promise<TestServer>;
}

const NODE_TEST = (body: string): string =>
  `import { test } from "node:test";\nimport assert from "node:assert/strict";\n${body}\n`;
const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Whose the repository is, besides callers without a tenant. */
const TENANTS = ["acme", "beta", "reach"];
/** What its repository holds. */
export const FILES = {
  "package.json": '{ "name": "shop", "type": "module" }\n',
  "README.md": "A shop.\n",
  "src/price/price.mjs": "export const price = (cents) => cents;\n",
  "src/stock/stock.mjs": "export const left = (have, sold) => have + sold;\n",
  "test/price/price.test.mjs": NODE_TEST(
    'import { price } from "../../src/price/price.mjs";\ntest("a price is written with two ' +
      'digits", () => assert.equal(price(1250), "12.50"));',
  ),
  "test/stock/stock.test.mjs": NODE_TEST(
    'import { left } from "../../src/stock/stock.mjs";\ntest("what is sold is gone", () => ' +
      "assert.equal(left(5, 2), 3));",
  ),
};

const many = (folder: string): string =>
  Array.from({ length: 10 }, (_, index) => `${folder}/${index}.txt`).join(", ");
/** What a tool has found in a worker's tree. */
const REPORT = JSON.stringify({
  failed_tests: [{ name: "found by a tool", expected: 1, actual: 2 }],
  metrics: { total: 3, failed: 1 },
});

const PLANS = {
  "shop.yaml": `
plan: shop
roles: modules
integration: node --test
workers: { default: { kind: offline } }
ports:
  - { id: price, role: price, goal: Write prices., owns: [src/price/**], tests: [test/price/**], acceptance: node --test test/price/*.test.mjs }
  - { id: stock, role: stock, goal: Count the stock., owns: [src/stock/**], tests: [test/stock/**], acceptance: node --test test/stock/*.test.mjs, dependsOn: [price] }
`,
  // hold never ends, bad fails until its second try, told writes down what it was told.
  "steer.yaml": `
plan: steer
roles: modules
limits: { tries: 1 }
workers: { default: { kind: offline }, told: { kind: command, command: [sh, -c, "cat > src/told/prompt.txt"] } }
ports:
  - { id: hold, role: hold, goal: Wait., owns: [${many("src/hold")}], acceptance: "true", no_change: allowed }
  - { id: bad, role: bad, goal: Be good., owns: [src/bad/**], acceptance: test -f src/bad/good.txt }
  - { id: told, role: told, goal: Listen., owns: [src/told/**], acceptance: grep -q teal src/told/prompt.txt, dependsOn: [bad] }
`,
  // Its worker reports failing tests by itself; the acceptance wants to see them in the next
  // prompt.
  "hooked.yaml": `
plan: hooked
roles: modules
limits: { tries: 2 }
workers:
  default:
    kind: command
    command:
      - sh
      - -c
      - env; echo "$DURE_HOOK_TOKEN" > src/hooked/token.txt; cat > src/hooked/prompt.txt; echo '${REPORT}' | node --conditions=dure-source ${CLI} hook test-feedback > src/hooked/answer.json
ports:
  - { id: hooked, role: hooked, goal: Report., owns: [src/hooked/**], acceptance: 'grep -q "found by a too[l]" src/hooked/prompt.txt && grep -q decision src/hooked/answer.json' }
`,
  // A program asks its partner, which is the same program with another prompt, and the operator for
  // a path.
  "asking.yaml": `
plan: asking
roles: modules
limits: { tries: 1 }
workers:
  default:
    kind: command
    command:
      - sh
      - -c
      - |
        prompt=$(cat)
        case "$prompt" in *"Your partner asks"*) echo "Blue, of course. You asked: $(echo "$prompt" | grep -o 'Which colour[^?]*')"; exit 0;; esac
        echo "$prompt" > src/asking/prompt.txt
        node --conditions=dure-source ${CLI} hook ask "Which colour is it?" > src/asking/answer.txt 2> src/asking/error.txt
        node --conditions=dure-source ${CLI} hook request-access src/price/price.mjs --why "I must see it." > src/asking/access.json
        node --conditions=dure-source ${CLI} hook request-access ../etc --own --why "Everything." > src/asking/refused.json
        true
ports:
  - { id: asking, role: asking, goal: Ask., owns: [src/asking/**], acceptance: 'cat src/asking/error.txt && grep -q "Blue, of course. You asked. Which colour" src/asking/answer.txt && grep -q "The operator was asked" src/asking/access.json && grep -q "no path of the repository" src/asking/refused.json && grep -q "dure hook as[k]" src/asking/prompt.txt' }
`,
  "broken.yaml":
    "plan: broken\nroles: modules\nworkers: { default: { kind: offline } }\nports:\n  - { id: a, " +
    "role: a, goal: x, owns: [a/**], dependsOn: [b], acceptance: 'true', no_change: allowed }\n",
};

const SCRIPT = `
ports:
  price:
    implementer:
      - edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => String(cents / 100);\\n" }]
        summary: Divide by a hundred.
        claims: [src/price/price.mjs, README.md]
      - edits: [{ path: src/price/price.mjs, content: "export const price = (cents) => (cents / 100).toFixed(2);\\n" }]
        summary: Two digits, as the test says.
  stock:
    implementer:
      - edits: [{ path: src/stock/stock.mjs, replace: { old: "have + sold", new: "have - sold" } }]
        summary: Subtract.
  hold:
    implementer: [{ hang: true }]
  bad:
    implementer:
      - summary: Nothing came to mind.
      - edits: [{ path: src/bad/good.txt, content: "good\\n" }]
        summary: It is good now.
  orchestrator:
    orchestrator:
      - edits: [{ path: src/stock/stock.mjs, content: "export const left = (have, sold) => Math.max(0, have - sold);\\n" }]
        summary: Both hold now.
        tokens: 700
`;

const NO_NOTES = { questions: [], open: [], problems: [], problemCount: 0 };
/** A team without workers of its own. */
const NO_WORKERS = { own: [], agents: [], model: undefined };

/** @param propose the text of a draft, as a model would write it. */
export async function startPlanServer(propose?: (wish: DraftWish) => string): Promise<PlanServer> {
  await using stack = new AsyncDisposableStack();
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(await testRepository(FILES));
  const folder = await mkdtemp(join(tmpdir(), "dure-team-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "plans"));
  for (const [name, text] of Object.entries(PLANS)) {
    await writeFile(join(folder, "plans", name), text);
  }
  const started: { server?: TestServer } = {};
  const runs = stack.use(
    await startRealRuns({
      url,
      home: join(folder, ".dure"),
      script: SCRIPT,
      hookUrl: () => started.server && `${started.server.url}/v1/hooks/test-feedback`,
    }),
  );
  const threads = new PlanThreads();
  const git = new Git({ env: process.env });
  const library = new PlanLibrary({
    threads,
    runs: runs.runs,
    inbox: runs.inbox,
    requests: new HookRequests({ ...runs, clock: systemClock, env: {} }),
    git,
    team: new TeamGuard({ files: new TeamFiles({ folder, git }), ownFolder: false }),
    approvals: { database: runs.database, rule: undefined },
    repositories: { shop: { path: repository.folder, tenants: TENANTS } },
    folder: join(folder, "plans"),
    repository: repository.folder,
    clock: systemClock,
    env: process.env,
    importModule,
    draftRows: new DraftRows(runs.database),
    review: (text, files, work) => reviewDraft(text, files, { threads, workers: NO_WORKERS }, work),
    draft: propose && (async (wish) => ({ ...NO_NOTES, text: propose(wish) })),
  });
  const serve = (options: Partial<ServerOptions>): Promise<TestServer> =>
    startTestServer({ plans: library, events: runs.events, inbox: runs.inbox, ...options });
  const server = (started.server = stack.use(await serve({})));
  const kept = stack.move();
  return {
    server,
    library,
    runs,
    repository,
    folder,
    serve,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
