/**
 * Pictures of plans over the scripted double, for human eyes:
 * `node --conditions=dure-source test/look-plans.ts FOLDER [1360-light …]`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { buildSite, launchBrowser, openPage, violations } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";
import { anEscalation, aRun, FILES, manyPorts, runInTheMiddle, VIEW } from "./plans/runs.ts";

const [folder = "pictures", ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const { site, remove } = await buildSite();
const browser = await launchBrowser();
try {
  for (const width of [1360, 360]) {
    for (const scheme of ["light", "dark"] as const) {
      if (wanted.length === 0 || wanted.includes(`${width}-${scheme}`)) {
        await pictures(width, scheme);
      }
    }
  }
} finally {
  await browser.close();
  await remove();
}

async function pictures(width: number, colorScheme: "light" | "dark"): Promise<void> {
  await using server = await new DoubleServer({ site }).start();
  await using opened = await openPage(browser, `${server.url}/plans`, {
    viewport: { width, height: width > 600 ? 880 : 760 },
    colorScheme,
    ...(colorScheme === "dark" && { locale: "en-US" }),
  });
  const { page } = opened;
  const look = async (what: string): Promise<void> => {
    const name = join(folder, `plans-${what}-${width}-${colorScheme}.png`);
    await page.screenshot({ path: name });
    for (const one of await violations(page)) console.log(name, one);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) console.log(name, `is ${over} px too wide`);
  };
  await page.locator(".plans-empty").first().waitFor();
  await look("1-empty");
  server.plans.files.push(...FILES);
  server.plans.views.set("login", VIEW);
  server.plans.runs.push(
    aRun(
      "run_done",
      {
        status: "success",
        phase: "over",
        finishedAt: Date.now() - 3_600_000,
        createdAt: Date.now() - 4_000_000,
        report: {
          commit: "cc".padEnd(40, "0"),
          branch: "dure/login-1",
          kept: ["domain", "store", "limits", "api", "web", "e2e"],
          missing: [],
          conflicts: [],
          integration: { passed: true, exitCode: 0, output: "41 passed" },
        },
      },
      Object.fromEntries(
        ["domain", "store", "limits", "api", "web", "e2e"].map((id) => [
          id,
          { status: "succeeded", triesMade: 1 },
        ]),
      ),
    ),
    aRun("run_failed", {
      status: "failed",
      phase: "over",
      finishedAt: Date.now(),
      because: {
        code: "ISOLATION_UNAVAILABLE",
        message:
          "No way to keep workers apart works here: bubblewrap is not installed, unshare is not allowed.",
        hint: "Install bubblewrap.",
      },
    }),
  );
  runInTheMiddle(server);
  server.plans.escalations.push(anEscalation("run_middle"));
  await page.reload();
  await page.locator(".run-row").first().waitFor();
  await look("2-list");
  const ko = colorScheme === "light";
  server.plans.proposal =
    "plan: billing\nbase: main\nlimits: { max_concurrency: 3, tries: 3 }\nports:\n  - id: ledger\n    owns: [src/ledger/**]\n  - id: invoice\n    dependsOn: [leger]\n";
  server.plans.findProblems = (file) => [
    {
      file,
      line: 5,
      column: 5,
      key: "ports.0.acceptance",
      message: "is missing",
      hint: "Say the command whose exit code decides.",
    },
    {
      file,
      line: 8,
      column: 17,
      key: "ports.1.dependsOn",
      message: "names the port leger, which does not exist",
      found: '"leger"',
      allowed: "one of ledger, invoice",
      hint: "Did you mean ledger?",
    },
  ];
  await page.getByRole("button", { name: ko ? "계획 써 보기…" : "Try out a plan…" }).click();
  await page.getByText(ko ? "모델에게 초안 받기" : "Let a model draft it").click();
  await page
    .getByRole("textbox", { name: ko ? "하고 싶은 일" : "Goal" })
    .fill(ko ? "청구서를 장부에서 나눠 따로 만들어요." : "Split invoices from the ledger.");
  await page.getByRole("button", { name: ko ? "초안 받기" : "Draft it" }).click();
  await page.locator(".plan-found").waitFor();
  await page.locator(".port-box").first().waitFor();
  await look("2b-draft");
  await page.locator(".port-box").last().click();
  await page.locator(".draft-port").scrollIntoViewIfNeeded();
  await look("2c-port");
  server.plans.findProblems = () => [];
  await page.goto(`${server.url}/plans`);
  for (const id of ["run_01JC4S0Q4A", "run_01JC4S0Q4B", "run_01JC4S0Q4C", "run_01JC4S0Q4D"]) {
    server.plans.runs.push(
      aRun(id, {
        status: "success",
        phase: "over",
        createdAt: 1_790_000_000_000,
        finishedAt: 1_790_000_100_000,
        ...(id.endsWith("D") && { cleanedAt: 1_792_000_000_000 }),
      }),
    );
  }
  server.plans.keeps.set("run_01JC4S0Q4B", {
    code: "RUN_UNMERGED",
    message: "What succeeded in it is on no branch of /home/user/shop.",
  });
  server.plans.keeps.set("run_01JC4S0Q4C", {
    code: "RUN_GOING",
    message: "It is running, or a request for it is open.",
  });
  await page.reload();
  await page
    .getByRole("button", { name: ko ? "오래된 실행 정리하기…" : "Clean old runs…" })
    .click();
  await page
    .getByRole("button", { name: ko ? "무엇이 지워질지 보기" : "Show what would go" })
    .click();
  await page.locator(".clean-found input").first().check();
  await page.locator(".clean-runs").evaluate((element) => element.scrollIntoView());
  await look("2d-clean");
  await page.locator(".run-row").last().scrollIntoViewIfNeeded();
  await look("2e-cleaned");
  await page.goto(`${server.url}/plans/start/login`);
  await page.locator(".before-levels").waitFor();
  await look("3-before");
  await page.goto(`${server.url}/plans/start/login?from=api&repository=../shop`);
  await page.locator(".before-levels").waitFor();
  await look("3b-from");
  await page.locator(".mode-table").scrollIntoViewIfNeeded();
  await look("3c-mode");
  await page.goto(`${server.url}/plans/runs/run_middle`);
  await page.locator(".port-box, .port-row").first().waitFor();
  await look("4-run");
  await page.locator(".port-box, .port-row").first().scrollIntoViewIfNeeded();
  await look("4b-ports");
  await page.goto(`${server.url}/plans/runs/run_middle/ports/api`);
  await page.locator(".failing").waitFor();
  await look("5-port");
  await page.locator(".failing").scrollIntoViewIfNeeded();
  await look("5b-tries");
  for (const [index, tab] of ["channel", "transcript", "scope", "context", "diff"].entries()) {
    await page
      .getByRole("tab")
      .nth(index + 1)
      .click();
    await page.locator(".port-part").waitFor();
    await page.waitForTimeout(300);
    await page.locator(".port-tabs").evaluate((element) => element.scrollIntoView());
    await look(`6-${tab}`);
  }
  server.plans.runs.unshift(
    aRun(
      "run_partial",
      {
        status: "partial",
        phase: "over",
        isolation: "audit",
        finishedAt: Date.now(),
        report: {
          commit: "dd".padEnd(40, "0"),
          branch: "dure/login-3",
          kept: ["domain", "store"],
          missing: [
            {
              port: "limits",
              because: {
                code: "TRIES_EXHAUSTED",
                message: "3 of 3 tries did not pass the acceptance.",
              },
            },
            {
              port: "api",
              because: {
                code: "DEPENDENCY_FAILED",
                message: "It needs limits, which failed.",
                hint: "Retry what failed; its own work is kept.",
              },
            },
          ],
          conflicts: [
            { path: "src/shared/index.ts", ports: ["domain", "store"], solvedBy: "orchestrator" },
          ],
          integration: {
            passed: false,
            exitCode: 1,
            output: "FAIL test/e2e/session.test.ts\n  expected 200 to be 204",
            blamed: ["store"],
          },
        },
      },
      {
        domain: { status: "succeeded", triesMade: 1 },
        store: { status: "succeeded", triesMade: 4 },
        limits: { status: "failed", triesMade: 3 },
        api: { status: "blocked" },
        web: { status: "blocked" },
        e2e: { status: "blocked" },
      },
    ),
    aRun("run_many", { ports: manyPorts(250) }),
  );
  await page.goto(`${server.url}/plans/runs/run_partial`);
  await page.locator(".run-report").waitFor();
  await page.locator(".port-box, .port-row").first().waitFor();
  await look("7-partial");
  server.plans.keeps.set("run_partial", {
    code: "TREE_NOT_SAFE",
    message: "The tree of api holds what no commit has: src/api/login.ts, notes.md.",
  });
  await page.getByRole("button", { name: ko ? "파일 정리하기…" : "Clean its files…" }).click();
  await page.locator(".clean-box input").check();
  await page.locator(".clean-box").scrollIntoViewIfNeeded();
  await look("7b-clean");
  await page.locator(".clean-force").click();
  await page.locator(".run-cleaned-note").waitFor();
  await look("7c-cleaned");
  await page.goto(`${server.url}/plans/runs/run_middle/ports/limits`);
  await page
    .getByRole("button", { name: ko ? "다시 시도…" : "Retry…", exact: true })
    .first()
    .click();
  await page.locator(".port-more").scrollIntoViewIfNeeded();
  await look("7d-retry");
  await page.goto(`${server.url}/plans/runs/run_many`);
  await page.locator(".port-row").first().waitFor();
  await look("8-many");
  for (const complaint of opened.complaints) console.log("?", complaint);
}
