// @module-tag slow
import type { EventType, PlanStep, PlatformEvent } from "dure/client";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { filesOf } from "../src/plans/patch.ts";
import { criticalPathOf, levelsOf } from "../src/plans/port-order.ts";
import { triesOf } from "../src/plans/port-tries.ts";
import { readChoice, readStart } from "../src/plans/run-filters.ts";
import { layoutRun } from "../src/plans/run-graph.ts";
import { signsAfter, stalledFor, waitsOf, type Signs } from "../src/plans/signs.ts";
import { TEXTS } from "./texts.ts";
import { rangeOfLine } from "../src/plans/text-lines.ts";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  violations,
  type OpenedPage,
} from "./browser.ts";
import { LEAVING } from "./double/plans.ts";
import { DoubleServer } from "./double/server.ts";
import {
  anEscalation,
  apiDetail,
  aPort,
  aRun,
  aStep,
  DIFF,
  FILES,
  manyPorts,
  runInTheMiddle,
  VIEW,
} from "./plans/runs.ts";

/** Plans as people see and steer them, over the scripted double. */

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

function serve(): Promise<DoubleServer> {
  return new DoubleServer({ site }).start();
}

async function open(
  server: DoubleServer,
  path: string,
  options: Parameters<typeof openPage>[2] = {},
): Promise<OpenedPage> {
  return openPage(browser, server.url + path, options);
}

/** A page that shows the run and follows it. */
async function openRun(
  server: DoubleServer,
  path = "/plans/runs/run_middle",
  options: Parameters<typeof openPage>[2] = {},
): Promise<OpenedPage> {
  const opened = await open(server, path, options);
  await opened.page.locator(".port-box, .port-row, .port-panel").first().waitFor();
  await expect.poll(() => server.plans.readersOf("run_middle")).toBe(1);
  return opened;
}

function box(page: Page, title: string) {
  return page.locator(".port-box, .port-row", { has: page.locator("strong", { hasText: title }) });
}

function sent(server: DoubleServer, path: RegExp): unknown[] {
  return server.journal
    .filter((entry) => entry.method === "POST" && path.test(entry.path))
    .map(({ body }) => body ?? null);
}

async function expectFits({ page, complaints }: OpenedPage): Promise<void> {
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
  expect(complaints).toEqual([]);
}

async function expectWellMade(opened: OpenedPage): Promise<void> {
  expect(await violations(opened.page)).toEqual([]);
  await expectFits(opened);
}

describe("decisions", () => {
  const ports = [
    aPort(["a", "A", "domain", [], ""]),
    aPort(["b", "B", "domain", [], ""]),
    aPort(["c", "C", "api", ["b"], ""]),
    aPort(["d", "D", "api", ["a", "c"], ""]),
  ];

  test("levels, and the longest chain, whose first of several is the first in the plan", () => {
    expect(levelsOf(ports)).toEqual([["a", "b"], ["c"], ["d"]]);
    expect(criticalPathOf(ports)).toEqual(["b", "c", "d"]);
    expect(criticalPathOf(manyPorts(60).slice(0, 30))).toEqual(["p0", "p25"]);
  });

  test("what is needed stands left of what needs it, and arrows go from it", () => {
    const { boxes, ways } = layoutRun(ports);
    const at = new Map(boxes.map((one) => [one.id, one.x]));

    expect(ways.map(({ from, to, isCritical }) => [from, to, isCritical])).toEqual([
      ["b", "c", true],
      ["a", "d", false],
      ["c", "d", true],
    ]);
    for (const { from, to } of ways) expect(at.get(from)! + 260).toBeLessThan(at.get(to)!);
    // Each stands in the column of its level, also one that is needed much later.
    expect([at.get("a"), at.get("b")]).toEqual([0, 0]);
  });

  test("steps become tries, newest first, each with what the tests said", () => {
    const { before, tries } = triesOf(apiDetail().steps!, true);

    expect(before.map(({ kind }) => kind)).toEqual(["setup"]);
    expect(tries.map(({ number, outcome }) => [number, outcome])).toEqual([
      [2, "running"],
      [1, "failed"],
    ]);
    expect(tries[1]!.steps.map(({ kind }) => kind)).toEqual(["implement", "test", "accept"]);
    expect(tries[1]!.feedback?.failedTests[0]).toMatchObject({
      expected: "429",
      actual: "401",
      file: "test/api/login.test.ts",
      line: 41,
    });
  });

  test("a try that had passed and was blamed for the merged tree says so", () => {
    const passed = {
      success: true,
      failedTests: [],
      suggestions: [],
      metrics: { total: 2, passed: 2, failed: 0, durationMs: 10 },
    };
    const steps: PlanStep[] = [
      aStep("a", {}),
      aStep("a", { kind: "accept", member: null, output: { feedback: passed } }),
      aStep("a", {
        kind: "integrate",
        member: null,
        output: { ...passed, success: false } as never,
      }),
    ];

    expect(triesOf(steps, false).tries).toMatchObject([{ outcome: "failed", isRecalled: true }]);
    expect(triesOf(steps.slice(0, 2), false).tries).toMatchObject([
      { outcome: "passed", isRecalled: false },
    ]);
    expect(triesOf(steps.slice(0, 1), false).tries).toMatchObject([{ outcome: "stopped" }]);
  });

  test("events move a worker's sign; only a worker that should speak and does not is stalled", () => {
    const event = (type: EventType, at: number, data: object): PlatformEvent => {
      const event = { id: `${at}`, at, type, role: "orchestration", data: { port: "a", ...data } };
      return event as PlatformEvent;
    };
    const all: Signs[] = [{}];
    for (const one of [
      event("worker.spawn", 1_000, { member: "implementer", try: 1 }),
      event("worker.progress", 2_000, {
        member: "implementer",
        try: 1,
        progress: 0.5,
        task: "writing",
        tokens: 90,
      }),
      event("worker.complete", 3_000, { member: "implementer", try: 1 }),
    ]) {
      all.push(signsAfter(all.at(-1)!, one));
    }

    expect(all[2]).toEqual({
      a: {
        try: 1,
        kind: "implement",
        member: "implementer",
        progress: 0.5,
        task: "writing",
        at: 2_000,
      },
    });
    expect(stalledFor({ status: "running" }, all[2]!["a"], 12_000)).toBeUndefined();
    expect(stalledFor({ status: "running" }, all[2]!["a"], 12_001)).toBe(10_001);
    expect(stalledFor({ status: "succeeded" }, all[2]!["a"], 99_000)).toBeUndefined();
    expect(stalledFor({ status: "running" }, all[3]!["a"], 99_000)).toBeUndefined(); // a command runs, which says nothing
  });

  test("a port that waits for a provider says until when and is not stalled; its next sign ends it", () => {
    const worker = { port: "a", member: "implementer", try: 1 } as const;
    const waiting = { ...worker, for: "rate_limit", until: 90_000, says: "429" } as const;
    const told = (type: EventType, at: number, data: object): PlatformEvent =>
      ({ id: `${at}`, at, type, role: "orchestration", data }) as PlatformEvent;
    const waits = signsAfter({}, told("worker.waiting", 1_000, waiting));
    const progress = { ...worker, progress: 0, task: "", tokens: 0 };
    const goesOn = signsAfter(waits, told("worker.progress", 90_000, progress));

    expect(waitsOf({ status: "running", waiting: null }, waits["a"])?.until).toBe(90_000);
    expect(stalledFor({ status: "running" }, waits["a"], 80_000)).toBeUndefined();
    expect(waitsOf({ status: "running", waiting: null }, goesOn["a"])).toBeUndefined();
  });

  test("what a silent worker waits for is kept until its next sign", () => {
    const worker = { port: "a", member: "implementer", try: 1 } as const;
    const told = (type: EventType, at: number, data: object): PlatformEvent =>
      ({ id: `${at}`, at, type, role: "orchestration", data }) as PlatformEvent;
    const progress = { ...worker, progress: 0.4, task: "npm ci", tokens: 0 };
    const works = signsAfter({}, told("worker.progress", 1_000, progress));
    const stalled = { ...worker, silentMs: 20_000, on: "tool", task: "npm ci" };

    const silent = signsAfter(works, told("worker.stalled", 21_000, stalled));

    expect(silent["a"]).toMatchObject({ stalledOn: "tool", at: 1_000, progress: 0.4 });
    const goesOn = signsAfter(silent, told("worker.progress", 30_000, progress));
    expect(goesOn["a"]?.stalledOn).toBeUndefined();
    expect(signsAfter({}, told("worker.stalled", 21_000, stalled))).toEqual({});
  });

  test("a patch is read as its files, new and deleted ones by their names", () => {
    const gone =
      "diff --git a/old name.ts b/old name.ts\ndeleted file mode 100644\n--- a/old name.ts\n+++ /dev/null\n@@ -1 +0,0 @@\n---- a line of dashes\n\\ No newline at end of file\n";
    const moved =
      "diff --git a/a.ts b/b.ts\nsimilarity index 100%\nrename from a.ts\nrename to b.ts\n";

    expect(filesOf(DIFF.patch).map(({ path, added, removed }) => [path, added, removed])).toEqual([
      ["src/api/index.ts", 2, 1],
      ["src/api/login.ts", 2, 0],
    ]);
    expect(filesOf(gone)[0]).toMatchObject({
      path: "old name.ts",
      removed: 1,
      lines: [
        { kind: "meta" },
        { kind: "removed", text: "--- a line of dashes" },
        { kind: "meta" },
      ],
    });
    expect(filesOf(moved).map(({ path }) => path)).toEqual(["b.ts"]);
    expect(filesOf("")).toEqual([]);
  });
});

test("the page says in both languages who bounds a worker's memory and CPU time", () => {
  const held = { network: "enforced", user: 60_578, isOtherUser: true, files: "enforced" } as const;
  const said = [TEXTS.en, TEXTS.ko].flatMap(({ plans: { run } }) => [
    run.promisesOf({ ...held, memory: "group", cpu: "group" }),
    run.promisesOf({ ...held, memory: "watched", cpu: "yields" }),
  ]);

  expect(said.map((words) => words.split(" · ").slice(-2))).toEqual([
    ["memory bounded by the kernel", "CPU bounded by the kernel"],
    ["memory watched and bounded by dure", "CPU given to others first"],
    ["메모리를 커널이 제한해요", "CPU를 커널이 제한해요"],
    ["메모리를 dure가 지켜보며 제한해요", "CPU는 다른 프로세스가 먼저 써요"],
  ]);
});

describe("what may be chosen", () => {
  test("ports, a repository and a branch stand in the address, ports up to a choice before ports from it on", () => {
    expect(
      readChoice(readStart({ from: "a,b", repository: "../shop", base: "develop", q: "x" })),
    ).toEqual({ from: ["a", "b"], repository: "../shop", base: "develop" });
    expect(readChoice(readStart({ only: "a", from: "b", repository: "" }))).toEqual({
      only: ["a"],
    });
    expect(readChoice(readStart({ only: 7 }))).toEqual({});
  });

  test("a line of a text is found by its number, and one behind the last is its end", () => {
    expect([1, 2, 3, 4].map((line) => rangeOfLine("plan: a\n\nports:", line))).toEqual([
      [0, 7],
      [8, 8],
      [9, 15],
      [15, 15],
    ]);
  });
});

describe("the list", () => {
  test("without plans and runs says how they come about", FULL, async () => {
    await using server = await serve();
    await using opened = await open(server, "/plans");

    await opened.page.getByText("아직 계획이 없어요.").waitFor();
    await opened.page.getByText("아직 실행한 계획이 없어요.").waitFor();
    await expectFits(opened);
  });

  test(
    "names what is wrong in a file by its line, and starts a whole one after showing what it would do",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      server.plans.files.push(...FILES);
      server.plans.views.set("login", VIEW);
      server.plans.nextRun = () => aRun("run_new");
      await using opened = await open(server, "/plans");
      const { page } = opened;
      const problems = page.getByRole("list", { name: "billing에서 고칠 곳" });
      await expect
        .poll(() => problems.innerText())
        .toMatch(
          /billing\.yaml:12:5[\s\S]*invoce 포트가[\s\S]*invoice 이름을[\s\S]*:20\n.*값이 없어요 · .*셸 명령/,
        );
      expect(await page.getByRole("link", { name: "billing 시작하기" }).count()).toBe(0);
      await expectWellMade(opened);

      await page.getByRole("link", { name: "login 시작하기" }).click();
      await page.getByRole("heading", { name: "login 시작하기 전에" }).waitFor();
      const words = await page.locator(".before").innerText();
      for (const part of [
        "최대 2개",
        "1단계",
        "4단계",
        "크리티컬 패스",
        "나란히 동시에",
        "아래 조건이 모두 맞아야 하는 건 아니에요",
        "파일이 10개 이상",
        "24",
        "2개 파일은 맡은 포트가 없어서",
        "커밋하지 않은 변경이 있어요",
      ]) {
        expect(words).toContain(part);
      }
      expect(sent(server, /runs$/)).toEqual([{ plan: "login", dry_run: true }]);
      expect(await violations(page)).toEqual([]);
      server.plans.views.set("login", { ...VIEW, mode: { ...VIEW.mode, wanted: "parallel" } });
      await page.getByRole("checkbox", { name: "시도 제한" }).check();
      await page.getByRole("button", { name: "고른 대로 다시 보기" }).click();
      await page.getByText("계획에 mode: parallel로 적혀 있어서 그렇게 해요").waitFor();
      await expect
        .poll(() => sent(server, /runs$/).at(-1))
        .toEqual({ plan: "login", only: ["limits"], dry_run: true });
      await page.getByRole("button", { name: "이대로 시작하기" }).click();
      await page.getByRole("heading", { level: 1, name: "login", exact: true }).waitFor();

      expect(new URL(page.url()).pathname).toBe("/plans/runs/run_new");
      const start = server.journal
        .filter(({ method, path }) => method === "POST" && path === "/v1/runs")
        .at(-1)!;
      expect(start.body).toEqual({ plan: "login", only: ["limits"] });
      expect(start.key).toMatch(/^.{10,}/);
    },
  );

  test(
    "a plan that has become wrong says every place to change, and is shown when it is mended",
    FULL,
    async () => {
      await using server = await serve();
      server.plans.files.push(...FILES);
      await using opened = await open(server, "/plans/start/billing");
      const { page } = opened;
      await page.getByRole("alert").filter({ hasText: "계획 파일에 고칠 곳이 있어요." }).waitFor();
      await expect
        .poll(() => page.getByRole("list", { name: "billing에서 고칠 곳" }).innerText())
        .toMatch(/billing\.yaml:12:5[\s\S]*invoce/);
      await expectWellMade(opened);

      server.plans.files[1] = { ...FILES[1]!, problems: [] };
      server.plans.views.set("billing", { ...VIEW, plan: "billing" });
      await page.getByRole("button", { name: "다시 시도" }).click();

      await page.getByRole("button", { name: "이대로 시작하기" }).waitFor();
    },
  );

  test(
    "counts all problems where only some are listed: of a file, a text and what is started",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      server.plans.files.push({ ...FILES[1]!, problemCount: 173 });
      server.plans.findProblems = (_, text) => (text.includes("invoce") ? FILES[1]!.problems : []);
      server.plans.unlistedProblems = 98;
      await using opened = await open(server, "/plans");
      const { page } = opened;
      const counts = page.getByText(/^고칠 곳 \d+군데$/);
      await expect.poll(() => counts.allTextContents()).toContain("고칠 곳 173군데");

      await page.getByRole("button", { name: "계획 써 보기…" }).click();
      const area = page.getByRole("textbox", { name: "계획의 글" });
      await area.fill("plan: [invoce]\n");
      await page.getByRole("button", { name: "검사하기" }).click();
      await expect.poll(() => counts.allTextContents()).toContain("고칠 곳 100군데");

      server.plans.unlistedProblems = 58;
      await area.fill("plan: [invoce, invoce]\n");
      await page.getByRole("button", { name: "검사하기" }).click();
      await expect.poll(() => counts.allTextContents()).toContain("고칠 곳 60군데");

      // A text that became wrong between its check and its start.
      server.plans.findProblems = () => [];
      server.plans.views.set("first", VIEW);
      await area.fill("plan: first\n");
      await page.getByRole("button", { name: "검사하기" }).click();
      const begin = page.getByRole("button", { name: "이 글로 시작하기…" });
      await begin.waitFor();
      server.plans.findProblems = () => FILES[1]!.problems;
      server.plans.unlistedProblems = 49;
      await begin.click();
      await expect.poll(() => counts.allTextContents()).toContain("고칠 곳 51군데");

      await page.goto(`${server.url}/plans/start/billing`);
      await expect.poll(() => counts.allTextContents()).toContain("고칠 곳 173군데");
    },
  );

  test(
    "a draft is answered, its ports are changed on a graph, and it is started without problems",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      const port = (id: string, more: string): string =>
        `  - { id: ${id}, role: ${id}, goal: Do it., owns: [src/${id}/**], ${more}acceptance: "true" }\n`;
      const text = `plan: ends\nroles: modules\nports:\n${port("core", "")}${port("api", "dependsOn: [cor], ")}`;
      server.plans.proposal = text;
      server.plans.proposalNotes = { questions: ["통화는 무엇인가요?"], open: ["테스트가 없어요"] };
      const key = "ports.1.dependsOn.0";
      const wrong = { file: "draft.yaml", line: 5, column: 1, key, message: "names no port" };
      server.plans.findProblems = (_, now) => (now.includes("[cor]") ? [wrong] : []);
      server.plans.views.set("ends", VIEW);
      await using opened = await open(server, "/plans");
      const { page } = opened;
      await page.getByRole("button", { name: "계획 써 보기…" }).click();
      await page.getByText("모델에게 초안 받기").click();
      await page.getByRole("textbox", { name: "하고 싶은 일" }).fill("세션이 끝나요");
      await page.getByRole("button", { name: "초안 받기" }).click();
      await page.getByRole("textbox", { name: "통화는 무엇인가요?" }).fill("원");
      await page.getByText("테스트가 없어요").waitFor();
      await expectWellMade(opened);
      await page.getByRole("button", { name: "이 답으로 다시 받기" }).click();
      await page.getByText("답한 것", { exact: true }).waitFor();
      expect(sent(server, /answers$/)).toEqual([
        { version: 1, answers: [{ question: "통화는 무엇인가요?", answer: "원" }] },
      ]);

      const start = page.getByRole("button", { name: "시작 전에 살펴보기…" });
      expect(await start.isDisabled()).toBe(true);
      await page.getByRole("button", { name: /^api[\s\S]*고칠 곳 1군데/ }).click();
      const form = page.getByRole("form", { name: "포트 api 고치기" });
      await form.getByText("names no port").waitFor();
      await form.getByRole("checkbox", { name: "core", exact: true }).check();
      await form.getByRole("checkbox", { name: "cor", exact: true }).uncheck();
      await form.getByRole("textbox", { name: "제목" }).fill("API");
      await expectWellMade(opened);

      // Another person is faster; what was written here stays.
      server.plans.drafts[0] = { ...server.plans.drafts[0]!, version: 7, updatedBy: "서연" };
      await form.getByRole("button", { name: "저장하기" }).click();
      await form.getByRole("alert").getByText("그사이 서연 님이 초안을 바꿔서").waitFor();
      await form.getByRole("button", { name: "새 초안 불러오기" }).click();
      await page.getByText(/서연님이 바꿨어요/).waitFor();
      await expect.poll(() => form.getByRole("textbox", { name: "제목" }).inputValue()).toBe("API");
      server.plans.findProblems = () => [];
      await form.getByRole("button", { name: "저장하기" }).click();
      await form.getByText("저장하고 검사했어요.").waitFor();
      await page.getByText("고칠 곳이 없어요").waitFor();

      await page.getByRole("button", { name: "포트 더하기…" }).click();
      await page.getByRole("textbox", { name: /^이름/ }).fill("web");
      await page.keyboard.press("Enter");
      await page.getByRole("form", { name: "포트 web 고치기" }).waitFor();
      page.on("dialog", (dialog) => void dialog.accept());
      await page.getByRole("button", { name: "포트 빼기" }).click();
      await expect.poll(() => page.getByRole("button", { name: /^web/ }).count()).toBe(0);
      expect(server.plans.drafts[0]?.ports.map(({ id }) => id)).toEqual(["core", "api"]);
      expect(server.plans.drafts[0]?.ports[1]).toMatchObject({ title: "API", dependsOn: ["core"] });
      await start.click();
      await page.getByRole("button", { name: "이대로 시작하기" }).waitFor();
      await expectFits(opened);
    },
  );

  test(
    "a plan starts from some of its ports on, in another repository, and from another branch",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      server.plans.views.set("login", VIEW);
      server.plans.nextRun = () => aRun("run_new");
      await using opened = await open(server, "/plans/start/login");
      const { page } = opened;
      await page.getByRole("checkbox", { name: "로그인 API" }).check();
      await page.getByText("고른 것부터").click();
      await page.getByText("시작하는 커밋에 이미 있다고 봐요").waitFor();
      await page.getByRole("button", { name: "고른 대로 다시 보기" }).click();
      await expect
        .poll(() => sent(server, /runs$/).at(-1))
        .toEqual({ plan: "login", from: ["api"], dry_run: true });

      await page.getByText("다른 저장소나 브랜치에서 하기").click();
      await page.getByRole("textbox", { name: "저장소 폴더" }).fill("../nowhere");
      await page.keyboard.press("Enter");
      await page
        .getByRole("alert")
        .filter({ hasText: "../nowhere 폴더는 git 저장소가 아니에요." })
        .waitFor();
      await page.getByRole("textbox", { name: "저장소 폴더" }).fill("../shop");
      await page.getByRole("textbox", { name: "시작할 브랜치" }).fill("develop");
      await page.getByRole("button", { name: "여기서 다시 보기" }).click();
      await page.getByRole("definition").filter({ hasText: "../shop" }).waitFor();
      await expectWellMade(opened);
      await page.getByRole("button", { name: "이대로 시작하기" }).click();
      await page.getByRole("heading", { level: 1, name: "login", exact: true }).waitFor();

      expect(sent(server, /runs$/).at(-1)).toEqual({
        plan: "login",
        from: ["api"],
        repository: "../shop",
        base: "develop",
      });
    },
  );

  test(
    "a plan that is no file yet is drafted, checked line by line and downloaded; files are checked again",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      server.plans.files.push(...FILES);
      server.plans.findProblems = (file, text) =>
        text.includes("invoce")
          ? [
              {
                file,
                line: 3,
                column: 8,
                key: "ports.0.dependsOn",
                message: "names the port invoce, which does not exist",
                hint: "Did you mean invoice?",
              },
            ]
          : [];
      await using opened = await open(server, "/plans");
      const { page } = opened;
      await page.getByRole("button", { name: "계획 써 보기…" }).click();
      await page.getByText("모델에게 초안 받기").click();
      await page.getByRole("textbox", { name: "하고 싶은 일" }).fill("청구서를 나눠요");
      await page.getByRole("button", { name: "초안 받기" }).click();
      await page.getByRole("alert").filter({ hasText: "쓸 수 있는 모델이 없어요." }).waitFor();
      const area = page.getByRole("textbox", { name: "계획의 글" });
      await area.fill("plan: billing\nports:\n  - dependsOn: [invoce]\n");
      await page.getByRole("button", { name: "검사하기" }).click();
      await page.getByText("고칠 곳 1군데").waitFor();
      await page.getByRole("button", { name: "plan.yaml:3:8" }).click();
      expect(
        await area.evaluate((element: HTMLTextAreaElement) =>
          element.value.slice(element.selectionStart, element.selectionEnd),
        ),
      ).toBe("  - dependsOn: [invoce]");
      await expectWellMade(opened);

      await page.keyboard.type("  - dependsOn: [invoice]");
      await page.getByText("글이 바뀌었어요.").waitFor();
      await page.getByRole("button", { name: "검사하기" }).click();
      await page.getByText("고칠 곳이 없어요").waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "내려받기" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("plan.yaml");
      await page.locator("input[type=file]").setInputFiles({
        name: "other.yaml",
        mimeType: "text/yaml",
        buffer: Buffer.from("a\nb\n[invoce]"),
      });
      await page.getByRole("button", { name: "other.yaml:3:8" }).waitFor();
      expect(sent(server, /check$/)).toEqual([
        { file: "plan.yaml", text: "plan: billing\nports:\n  - dependsOn: [invoce]\n" },
        { file: "plan.yaml", text: "plan: billing\nports:\n  - dependsOn: [invoice]\n" },
        { file: "other.yaml", text: "a\nb\n[invoce]" },
      ]);
      server.plans.files[1] = { ...FILES[1]!, problems: [] };
      await page.getByRole("button", { name: "다시 검사" }).click();
      await page.getByRole("link", { name: "billing 시작하기" }).waitFor();
      await expectFits(opened);

      server.plans.views.set("first", VIEW);
      server.plans.nextRun = () => aRun("run_new");
      await area.fill("plan: first\n");
      await page.getByRole("button", { name: "검사하기" }).click();
      await page.getByRole("button", { name: "이 글로 시작하기…" }).click();
      await page.getByText("팀의 파일이 아닌 글이에요.").waitFor();
      await page.reload();
      await page.getByRole("checkbox", { name: "로그인 API" }).check();
      await page.getByRole("button", { name: "고른 대로 다시 보기" }).click();
      await expect
        .poll(() => sent(server, /runs$/).at(-1))
        .toEqual({ file: "other.yaml", text: "plan: first\n", only: ["api"], dry_run: true });
      await expectWellMade(opened);
      await page.getByRole("button", { name: "이대로 시작하기" }).click();
      await page.getByRole("heading", { level: 1, name: "login", exact: true }).waitFor();
      expect(sent(server, /runs$/).at(-1)).toEqual({
        file: "other.yaml",
        text: "plan: first\n",
        only: ["api"],
      });
      await page.goto(`${server.url}/plans/start/other.yaml?text=of-another-window`);
      await page.getByText("이 창에 그 글이 더는 없어요.").waitFor();
    },
  );

  test(
    "old runs are cleaned after showing what would go; what would be lost only where it is given up",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      const ended = (id: string, days: number): void =>
        void server.plans.runs.push(
          aRun(id, {
            plan: id,
            status: "success",
            phase: "over",
            finishedAt: Date.now() - days * 86_400_000,
          }),
        );
      for (const [id, days] of [
        ["run_a", 30],
        ["run_b", 30],
        ["run_c", 30],
        ["run_d", 30],
        ["run_new", 1],
      ] as const) {
        ended(id, days);
      }
      server.plans.keeps.set("run_b", {
        code: "RUN_UNMERGED",
        message: "What succeeded in it is on no branch of /home/user/shop.",
        hint: "Merge it.",
      });
      server.plans.keeps.set("run_c", {
        code: "TREE_NOT_SAFE",
        message: "The tree of api holds what no commit has: notes.md.",
        hint: "Look at it.",
      });
      server.plans.keeps.set("run_d", {
        code: "RUN_GOING",
        message: "It is running, or a request for it is open.",
      });
      await using opened = await open(server, "/plans");
      const { page } = opened;
      await page.getByRole("button", { name: "오래된 실행 정리하기…" }).click();
      await page.getByRole("button", { name: "무엇이 지워질지 보기" }).click();
      await page.getByRole("heading", { name: "정리할 실행 (1)" }).waitFor();
      const box = page.getByRole("group", { name: "오래된 실행 정리하기" });
      // What a reason names is in words that are fetched when they are first needed.
      await box.getByText("notes.md").waitFor();
      const words = await box.innerText();
      for (const part of [
        "남겨 둘 실행 (3)",
        "성공한 결과가 어느 브랜치에도 없어요",
        "notes.md",
        "아직 진행 중이거나",
        "남는 것: 결과 브랜치와 실행의 기록",
      ]) {
        expect(words).toContain(part);
      }
      expect(words).not.toContain("run_new");
      expect(await box.getByRole("checkbox").count()).toBe(2);
      expect(
        sent(server, /clean$/).every((body) => (body as { dry_run?: boolean }).dry_run === true),
      ).toBe(true);
      await expectWellMade(opened);

      await box.getByRole("checkbox", { name: "run_b run_b: 잃어도 괜찮아요" }).check();
      await box.getByRole("button", { name: "2개 정리하기 (1개는 잃는 것이 있어요)" }).click();
      await page.getByText("실행 2개를 정리했어요. 2개는 남겨 뒀어요.").waitFor();

      expect(
        server.plans.runs.filter(({ cleanedAt }) => cleanedAt !== null).map(({ id }) => id),
      ).toEqual(["run_a", "run_b"]);
      expect(
        sent(server, /clean$/).filter((body) => (body as { force?: boolean }).force === true),
      ).toEqual([{ run: "run_b", force: true }]);
      await expect.poll(() => page.locator(".run-cleaned").count()).toBe(2);
      await expectWellMade(opened);
    },
  );

  test("a refused start says why and what to do", FULL, async () => {
    await using server = await serve();
    server.plans.views.set("login", VIEW);
    await using opened = await open(server, "/plans/start/login");

    await opened.page.getByRole("button", { name: "이대로 시작하기" }).click();

    await opened.page
      .getByRole("alert")
      .filter({ hasText: "git was not found. Install git." })
      .waitFor();
    expect(new URL(opened.page.url()).pathname).toBe("/plans/start/login");
  });

  test(
    "runs come and move by themselves, are filtered and searched, and keep their place",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      for (let index = 0; index < 14; index++) {
        server.plans.runs.unshift(
          aRun(`run_${index}`, {
            plan: `plan-${index}`,
            ...(index === 3 && {
              status: "failed",
              phase: "over",
              because: { code: "NO_GIT", message: "git was not found." },
            }),
          }),
        );
      }
      await using opened = await open(server, "/plans", { viewport: { width: 1280, height: 560 } });
      const { page } = opened;
      await page.locator(".run-row", { hasText: "plan-13" }).waitFor();
      expect((await page.locator(".run-row strong").allTextContents()).slice(0, 3)).toEqual([
        "plan-13",
        "plan-12",
        "plan-11",
      ]);

      await page.getByRole("combobox", { name: "상태" }).selectOption("failed");
      await expect.poll(() => page.locator(".run-row").allTextContents()).toHaveLength(1);
      await page.getByText("git was not found.").waitFor();
      await page.reload(); // the filter stands in the address
      await expect.poll(() => page.locator(".run-row").count()).toBe(1);
      await page.getByRole("combobox", { name: "상태" }).selectOption("");
      await page.getByRole("textbox", { name: "실행 찾기" }).fill("plan-7");
      await expect.poll(() => page.locator(".run-row").count()).toBe(1);
      await page.getByRole("textbox", { name: "실행 찾기" }).fill("없는 말");
      await page.getByText("찾는 실행이 없어요.").waitFor();
      await page.getByRole("textbox", { name: "실행 찾기" }).fill("");

      const row = page.locator(".run-row", { hasText: "plan-5" });
      await row.scrollIntoViewIfNeeded();
      await page.locator(".plans").evaluate((list) => (list.scrollTop += 40));
      const before = (await row.boundingBox())!.y;
      await expect.poll(() => server.eventReaders).toBeGreaterThan(0);
      server.plans.runs.unshift(aRun("run_newest", { plan: "newest" }));
      server.plans.changePort(
        "run_5",
        "domain",
        { status: "succeeded" },
        { type: "port.success", data: {} },
      );
      await row.getByText("6개 중 1개 끝남").waitFor();
      await expect.poll(() => page.locator(".run-row").count()).toBe(15);
      expect(Math.abs((await row.boundingBox())!.y - before)).toBeLessThan(3);
      await expectFits(opened);
    },
  );
});

describe("a run", () => {
  test(
    "shows its ports as a graph that moves with the work, and follows again after a cut",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      runInTheMiddle(server);
      await using opened = await openRun(server);
      const { page } = opened;
      await expect
        .poll(() => box(page, "로그인 API").innerText())
        .toMatch(/일하는 중[\s\S]*5번 중 2번째 시도/);
      await expect
        .poll(() => box(page, "세션 만료").innerText())
        .toMatch(/성공[\s\S]*크리티컬 패스[\s\S]*5번 중 2번째 시도[\s\S]*토큰 24,120/);
      await expect.poll(() => page.locator(".react-flow__edge").count()).toBe(6);
      await expect.poll(() => page.locator(".port-way-critical").count()).toBe(3);
      const left = async (title: string): Promise<number> =>
        (await box(page, title).boundingBox())!.x;
      expect(await left("세션 만료")).toBeLessThan(await left("로그인 API"));
      expect(await left("로그인 API")).toBeLessThan(await left("로그인 화면"));
      await expectWellMade(opened);

      const bar = box(page, "로그인 API").getByRole("progressbar");
      await expect.poll(() => bar.getAttribute("aria-valuenow")).toBe("40");
      server.plans.tell("run_middle", {
        type: "worker.progress",
        data: {
          port: "api",
          member: "tester",
          try: 2,
          progress: 0.85,
          task: "테스트를 돌려 보는 중",
          tokens: 500,
        },
      });
      await expect.poll(() => bar.getAttribute("aria-valuenow")).toBe("85");
      await box(page, "로그인 API").getByText("테스트 쓰기").waitFor();
      server.plans.changePort(
        "run_middle",
        "api",
        { status: "succeeded" },
        { type: "port.success", data: {} },
      );
      await box(page, "로그인 API").getByText("성공").waitFor();

      const asked = server.journal.filter(
        ({ path }) => path === "/v1/runs/run_middle/events",
      ).length;
      server.plans.cutReaders();
      await expect
        .poll(
          () => server.journal.filter(({ path }) => path === "/v1/runs/run_middle/events").length,
        )
        .toBeGreaterThan(asked);
      await expect.poll(() => server.plans.readersOf("run_middle")).toBe(1);
      expect(
        server.journal.findLast(({ path }) => path === "/v1/runs/run_middle/events")?.lastEventId,
      ).toBeDefined();
      server.plans.changePort(
        "run_middle",
        "web",
        { status: "running", triesMade: 1 },
        { type: "port.start", data: { attempt: 1 } },
      );
      await box(page, "로그인 화면").getByText("일하는 중").waitFor();
      await expect.poll(() => page.locator(".run-banner").count()).toBe(0);
      await expect.poll(() => page.locator(".react-flow__edge").count()).toBe(6);
      await expectFits(opened);
    },
  );

  test(
    "is paused, gone on with, and cancelled after a question; its end is told",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      runInTheMiddle(server);
      await using opened = await openRun(server);
      const { page } = opened;
      const asked: string[] = [];
      page.on("dialog", (dialog) => {
        asked.push(dialog.message());
        void (asked.length === 1 ? dialog.dismiss() : dialog.accept());
      });

      await page.getByRole("button", { name: "멈추기" }).click();
      await page.locator(".run-head").getByText("멈춰 둠").waitFor();
      await page.getByRole("button", { name: "이어서 하기" }).click();
      await page.locator(".run-head").getByText("만드는 중").waitFor();
      await page.getByRole("button", { name: "취소하기" }).click(); // asked, and not meant
      expect(sent(server, /cancel$/)).toEqual([]);
      await page.getByRole("button", { name: "취소하기" }).click();
      await page.locator(".run-head").getByText("취소됨").waitFor();

      expect(asked).toHaveLength(2);
      await expect.poll(() => page.getByRole("button", { name: "멈추기" }).count()).toBe(0);
      await expectFits(opened);
    },
  );

  test(
    "that ended says what was kept, what is missing and why, and is merged; a retry lets it go on",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      const report = {
        commit: "dd".padEnd(40, "0"),
        branch: "dure/login-3",
        kept: ["domain", "store"],
        missing: [
          {
            port: "limits",
            because: {
              code: "TRIES_EXHAUSTED",
              message: "3 of 3 tries did not pass.",
              hint: "Say what to do differently.",
            },
          },
        ],
        conflicts: [
          { path: "src/shared/index.ts", ports: ["domain", "store"], solvedBy: "orchestrator" },
        ],
        integration: {
          passed: false,
          exitCode: 1,
          output: "expected 200 to be 204",
          blamed: ["store"],
        },
      };
      server.plans.runs.push(
        aRun(
          "run_middle",
          { status: "partial", phase: "over", finishedAt: Date.now(), report },
          {
            domain: { status: "succeeded" },
            store: { status: "succeeded" },
            limits: { status: "failed", triesMade: 3, because: report.missing[0]!.because },
            api: { status: "blocked" },
          },
        ),
      );
      await using opened = await open(server, "/plans/runs/run_middle");
      const { page } = opened;
      const shown = page.getByRole("region", { name: "합친 결과" });
      // The page's words for a reason are read when it is shown.
      await expect.poll(() => shown.innerText()).toContain("3 of 3 tries did not pass.");
      const words = await shown.innerText();
      for (const part of [
        "통과하지 못했어요 (종료 코드 1)",
        "원인으로 짚은 포트: 세션 저장소",
        "expected 200 to be 204",
        "들어간 포트 (2)",
        "세션 만료",
        "시도를 다 썼어요. 무엇을 다르게 할지 알려 주고 다시 시도하게 해 주세요. 3 of 3 tries did not pass.",
        "src/shared/index.ts",
        "푼 쪽: 조율 담당",
      ]) {
        expect(words).toContain(part);
      }

      const merging = page.getByRole("button", { name: "테스트가 실패했지만 합치기" });
      expect(await merging.getAttribute("data-variant")).toBe("default");
      await merging.click();
      await page.getByText("합치면 실패하는 채로 브랜치에 들어가요").waitFor();
      await page.getByRole("textbox", { name: "합칠 브랜치" }).fill("dirty");
      await page.keyboard.press("Enter");
      await page
        .getByRole("alert")
        .filter({ hasText: "커밋하지 않은 변경이 있어요: a.ts" })
        .waitFor();
      await page.getByRole("textbox", { name: "합칠 브랜치" }).fill("release");
      await page.keyboard.press("Enter");
      await page.getByText("release: 합쳤어요 (ffffffffff)").waitFor();
      expect(sent(server, /merge$/)).toEqual([{ into: "dirty" }, { into: "release" }]);
      await expectWellMade(opened);

      await shown.getByRole("link", { name: "시도 제한" }).click();
      await page.getByRole("button", { name: "다시 시도…" }).click();
      await page.keyboard.type("시계를 흉내 내 주세요");
      await page.keyboard.press("Control+Enter");
      await page.locator(".run-head").getByText("만드는 중").waitFor();
      expect(sent(server, /retry$/)).toEqual([{ hint: "시계를 흉내 내 주세요" }]);
      await expect.poll(() => server.plans.readersOf("run_middle")).toBe(1); // followed again
      server.plans.changePort(
        "run_middle",
        "limits",
        { status: "succeeded" },
        { type: "port.success", data: {} },
      );
      await page.locator(".port-head").getByText("성공").waitFor();
    },
  );

  test(
    "shows what leaves, and who approves, before Merge is pressed",
    { timeout: 60_000 },
    async () => {
      await using server = await serve();
      const report = {
        commit: "dd".padEnd(40, "0"),
        branch: "dure/login-3",
        kept: ["domain"],
        missing: [],
        conflicts: [],
      };
      const ended = { status: "success", phase: "over", finishedAt: Date.now(), report } as const;
      server.plans.runs.push(aRun("run_middle", ended, { domain: { status: "succeeded" } }));
      server.plans.leaving = {
        target: "main",
        review: LEAVING,
        allowed: [{ rule: "ci", path: ".github/workflows/**", by: "team" }],
        gate: {
          commit: report.commit,
          needed: 2,
          counted: 1,
          approvals: [{ person: "junho", by: "token_1", createdAt: 0 }],
          not: "author",
          author: "mina",
        },
        mayConfirm: false,
      };
      await using opened = await open(server, "/plans/runs/run_middle");
      const { page } = opened;

      const part = page.locator(".report-part").filter({ hasText: "내보내기 전에 볼 것" });
      await part.getByText("승인한 사람: junho").waitFor();
      const words = await part.innerText();
      for (const said of [
        "203곳",
        "GitHub 토큰",
        "src/client.ts:3",
        "빌드 서버 설정 .github/workflows/** 팀 설정",
        "승인이 2개 필요해요. 지금은 1개예요.",
        "mina 님의 승인은 세지 않아요",
        "plans:confirm",
      ]) {
        expect(words).toContain(said);
      }
      expect(words).not.toContain("github-token");
      await expectWellMade(opened);
      expect(sent(server, /merge$/)).toEqual([]);
    },
  );

  test(
    "whose result brings a secret and a build file asks once to look at exactly these",
    { timeout: 60_000 },
    async () => {
      await using server = await serve();
      const commit = "dd".padEnd(40, "0");
      const report = {
        commit,
        branch: "dure/login-3",
        kept: ["domain"],
        missing: [],
        conflicts: [],
      };
      const ended = { status: "success", phase: "over", finishedAt: Date.now(), report } as const;
      server.plans.runs.push(aRun("run_middle", ended, { domain: { status: "succeeded" } }));
      await using opened = await open(server, "/plans/runs/run_middle");
      const { page } = opened;
      await page.getByRole("button", { name: "브랜치에 합치기" }).click();
      await page.getByRole("textbox", { name: "합칠 브랜치" }).fill("reviewed");
      await page.keyboard.press("Enter");

      const asked = page.getByRole("alert").filter({ hasText: "203곳을 확인해 주세요" });
      await asked.waitFor();
      const words = await asked.innerText();
      const parts = ["src/client.ts:3", "ghp_… (+36)", "빌드 서버 설정", "201곳이 더"];
      for (const part of parts) expect(words).toContain(part);
      await expectWellMade(opened);
      await asked.getByRole("button", { name: "확인했어요, 이대로 내보내기" }).click();
      await page.getByText("reviewed: 합쳤어요 (ffffffffff)").waitFor();

      const confirm = "c".repeat(32);
      expect(sent(server, /merge$/)).toEqual([{ into: "reviewed" }, { into: "reviewed", confirm }]);
    },
  );

  test.each([
    [
      "ko-KR",
      "브랜치에 합치기",
      "합치기",
      "합친 것 되돌리기",
      /되돌릴까요/,
      "main 브랜치에서 되돌렸어요",
    ],
    [
      "en-US",
      "Merge into a branch",
      "Merge",
      "Undo the merge",
      /again\?/,
      "Taken out of main again",
    ],
  ] as const)(
    "that was merged is not offered again, and is undone after a question (%s)",
    { timeout: 60_000 },
    async (locale, offer, merge, undo, question, said) => {
      await using server = await serve();
      const commit = "dd".padEnd(40, "0");
      const report = { commit, branch: "dure/login-3", kept: [], missing: [], conflicts: [] };
      const ended = { status: "success", phase: "over", finishedAt: Date.now(), report } as const;
      server.plans.runs.push(aRun("run_middle", ended, { domain: { status: "succeeded" } }));
      await using opened = await open(server, "/plans/runs/run_middle", { locale });
      const { page } = opened;
      const [merging, undoing] = [offer, undo].map((name) => page.getByRole("button", { name }));
      await merging!.click();
      await page.getByRole("button", { name: merge, exact: true }).click();
      await undoing!.waitFor();
      expect(await merging!.count()).toBe(0);
      await expectWellMade(opened);

      const asked: string[] = [];
      page.once("dialog", (dialog) => (asked.push(dialog.message()), dialog.dismiss()));
      await undoing!.click();
      page.once("dialog", (dialog) => (asked.push(dialog.message()), dialog.accept()));
      await undoing!.click();

      await page.getByText(said).waitFor();
      expect(asked).toEqual([expect.stringMatching(question), expect.stringMatching(question)]);
      expect(sent(server, /undo$/)).toHaveLength(1);
      expect(await undoing!.count()).toBe(0);
      expect(await merging!.count()).toBe(0);
      await expectWellMade(opened);
    },
  );

  test(
    "that is wider than its room begins at its first port; a picked one is in sight",
    FULL,
    async () => {
      await using server = await serve();
      const ports = Array.from({ length: 8 }, (_, index) =>
        aPort([`p${index}`, `Port ${index}`, "api", index === 0 ? [] : [`p${index - 1}`], ""]),
      );
      server.plans.runs.push(aRun("run_wide", { ports }));
      await using opened = await open(server, "/plans/runs/run_wide");
      const { page } = opened;
      const isWhole = async (title: string): Promise<boolean> => {
        const [room, port] = await Promise.all([
          page.locator(".port-graph").boundingBox(),
          box(page, title).boundingBox(),
        ]);
        return port!.x >= room!.x && port!.x + port!.width <= room!.x + room!.width;
      };
      await box(page, "Port 0").waitFor();

      await expect.poll(() => isWhole("Port 0")).toBe(true);
      expect(await isWhole("Port 7")).toBe(false);

      await page.goto(`${server.url}/plans/runs/run_wide/ports/p7`);
      await box(page, "Port 7").waitFor();
      await expect.poll(() => isWhole("Port 7")).toBe(true);
    },
  );

  test("whose result a later run replaced says so and leads there", FULL, async () => {
    await using server = await serve();
    const report = { commit: "dd".padEnd(40, "0"), kept: [], missing: [], conflicts: [] };
    const ended = { status: "success", phase: "over", finishedAt: Date.now(), report } as const;
    const replaced = { delivery: "superseded", supersededBy: "run_later" } as const;
    server.plans.runs.push(aRun("run_middle", { ...ended, ...replaced }));
    await using opened = await open(server, "/plans");
    await opened.page.getByText("다음 실행이 대신함").waitFor();
    await opened.page.goto(`${server.url}/plans/runs/run_middle`);

    const later = opened.page.getByRole("link", { name: "run_later" });

    expect(await later.getAttribute("href")).toContain("/plans/runs/run_later");
    await expectWellMade(opened);
  });

  test(
    "that ended is cleaned after saying what is lost, and is then its history alone",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      const report = {
        commit: "dd".padEnd(40, "0"),
        branch: "dure/login-3",
        kept: ["domain"],
        missing: [],
        conflicts: [],
      };
      server.plans.runs.push(
        aRun(
          "run_middle",
          { status: "partial", phase: "over", finishedAt: Date.now(), report },
          { domain: { status: "succeeded" }, limits: { status: "failed", triesMade: 3 } },
        ),
      );
      server.plans.keeps.set("run_middle", {
        code: "RUN_UNMERGED",
        message: "What succeeded in it is on no branch of /home/user/shop.",
      });
      await using opened = await open(server, "/plans/runs/run_middle");
      const { page } = opened;
      await page.getByRole("button", { name: "파일 정리하기…" }).click();
      const box = page.getByRole("group", { name: "파일 정리하기" });
      await box.getByText("성공한 결과가 어느 브랜치에도 없어요.").waitFor();
      await box.getByText("남는 것: 실행의 기록과 브랜치 dure/login-3").waitFor();
      expect(await box.getByRole("button", { name: "그래도 정리하기" }).isDisabled()).toBe(true);
      await box.getByRole("checkbox", { name: "이것을 잃어도 괜찮아요" }).check();
      await expectWellMade(opened);
      await box.getByRole("button", { name: "그래도 정리하기" }).click();
      await page.getByText(/파일을 정리했어요\. 기록과 브랜치 dure\/login-3만/).waitFor();

      expect(sent(server, /clean$/)).toEqual([
        { run: "run_middle", dry_run: true },
        { run: "run_middle", force: true },
      ]);
      await expect.poll(() => page.locator(".run-actions").count()).toBe(0);
      await expect.poll(() => page.getByText("모든 변경 보기").count()).toBe(0);
      await page.goto(`${server.url}/plans/runs/run_middle/ports/limits?tab=diff`);
      await page.getByText("이 실행의 파일을 정리해서 변경을 볼 수 없어요.").waitFor();
      await expect.poll(() => page.getByRole("button", { name: "다시 시도…" }).count()).toBe(0);
      await expectWellMade(opened);
    },
  );

  test(
    "is published by one press, after saying where to; elsewhere it says how",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      const report = { commit: "dd".padEnd(40, "0"), kept: [], missing: [], conflicts: [] };
      const ended = { status: "success", phase: "over", finishedAt: Date.now(), report } as const;
      const { definition } = aRun("run_0");
      const publish = { remote: "gone", branch: "review/login", pullRequest: "gh" } as const;
      server.plans.runs.push(
        aRun("run_plain", ended),
        aRun("run_sent", { ...ended, definition: { ...definition, publish } }),
      );
      await using opened = await open(server, "/plans/runs/run_plain");
      const { page } = opened;
      await page.getByText("publish: { remote: origin, pull_request: gh }").waitFor();
      expect(await page.getByRole("button", { name: /푸시/ }).count()).toBe(0);

      await page.goto(`${server.url}/plans/runs/run_sent`);
      const button = page.getByRole("button", { name: "푸시하고 풀 리퀘스트 열기" });
      await button.waitFor();
      const shown = page.locator(".run-report");
      expect(await shown.innerText()).toContain("review/login");
      expect(await shown.innerText()).toContain("“login” → main (gh)");
      await expectWellMade(opened);
      await button.focus();
      await page.keyboard.press("Enter");
      await page
        .getByRole("alert")
        .getByText("login 브랜치를 푸시하지 못했어요: no answer")
        .waitFor();

      const there = { ...publish, remote: "origin" };
      server.plans.change("run_sent", { definition: { ...definition, publish: there } });
      await button.press("Enter");
      await page.getByText("방금 푸시했어요.").waitFor();
      await page.getByRole("link", { name: "https://example.org/pull/7" }).waitFor();
      await page.getByRole("button", { name: "다시 푸시하기" }).waitFor();
      expect(sent(server, /run_sent\/publish$/)).toHaveLength(2);
      await expectWellMade(opened);
    },
  );

  test(
    "is commented on line by line where it is held, sent back with that, and approved",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      runInTheMiddle(server);
      server.plans.changePort("run_middle", "api", { status: "held" });
      const gate = {
        source: { run: "run_middle", port: "api" },
        type: "decision",
        description: "Look at what it changed: dure plan review",
        context: { code: "PORT_HELD", commit: "c" },
      } as const;
      server.plans.escalations.push(anEscalation("run_middle", gate));
      await using opened = await open(server, "/plans/runs/run_middle/ports/api?tab=diff");
      const { page } = opened;
      // Beside the port alone, and without words of the command line.
      await page.getByText("확인을 통과했어요. 포트의 변경을 보고 정해 주세요.").waitFor();
      await expect.poll(() => page.locator(".escalation").count()).toBe(1);
      expect(await page.getByText("dure plan review").count()).toBe(0);
      const file = page.getByRole("group", { name: /src\/api\/login\.ts/ });
      await file.getByRole("button", { name: "2 번째 줄에 의견 남기기" }).click();
      await page.getByRole("textbox", { name: "2번 줄에 의견 남기기" }).fill("이름을 줄여 주세요");
      await expectWellMade(opened);
      await page.keyboard.press("Control+Enter");
      await file.getByText("이름을 줄여 주세요").waitFor();
      await file.getByText("아직 안 보냈어요").waitFor();
      await file.getByText("이 컴퓨터의 사용자").waitFor(); // no address

      await page.getByRole("textbox", { name: "전체에 대한 의견" }).fill("거의 다 됐어요");
      await page.getByRole("button", { name: "의견 1개와 돌려보내기" }).click();
      await page.getByText(/시도 뒤에 보냄/).waitFor();
      expect(sent(server, /comments$/)).toMatchObject([{ line: 2, side: "new" }]);
      expect(sent(server, /review$/)).toEqual([{ text: "거의 다 됐어요" }]);
      await expect.poll(() => page.getByRole("region", { name: "검토" }).count()).toBe(0);

      const held = { type: "port.held", data: { commit: "c" } };
      server.plans.changePort("run_middle", "api", { status: "held" }, held);
      await page.getByRole("button", { name: "승인", exact: true }).click();
      await page.locator(".port-head").getByText("성공").waitFor();
      await expectWellMade(opened);
    },
  );

  test("keeps a comment on a line that left the change meanwhile, and says why", FULL, async () => {
    await using server = await serve();
    runInTheMiddle(server);
    server.plans.changePort("run_middle", "api", { status: "held" });
    server.plans.commentTrouble = {
      message: "Line 2 (new) of src/api/login.ts is not in this change.",
      hint: "The change shows these new lines: 10–14, 30–33.",
    };
    await using opened = await open(server, "/plans/runs/run_middle/ports/api?tab=diff");
    const { page } = opened;
    const file = page.getByRole("group", { name: /src\/api\/login\.ts/ });
    await file.getByRole("button", { name: "2 번째 줄에 의견 남기기" }).click();
    const said = page.getByRole("textbox", { name: "2번 줄에 의견 남기기" });
    await said.fill("이름을 줄여 주세요");

    await page.keyboard.press("Control+Enter");

    const why = page.getByRole("alert");
    await why.getByText("src/api/login.ts 파일의 2번 줄은 이번 변경에 없어요").waitFor();
    await why.getByText("의견을 남길 수 있는 줄: 10–14, 30–33").waitFor();
    expect(await said.inputValue()).toBe("이름을 줄여 주세요");
    await expectWellMade(opened);
  });

  test("that has used up its tokens or calls is given more of them", FULL, async () => {
    await using server = await serve();
    server.plans.runs.push(
      aRun("run_middle", {
        status: "failed",
        phase: "over",
        finishedAt: Date.now(),
        because: { code: "RUN_TOKENS_EXHAUSTED", message: "400,000 of 400,000 tokens are used." },
      }),
    );
    await using opened = await open(server, "/plans/runs/run_middle");
    const { page } = opened;

    await page.getByRole("button", { name: "한도 늘리기…" }).click();
    await page.getByRole("spinbutton", { name: "늘릴 토큰" }).fill("100000");
    await page.getByRole("spinbutton", { name: "늘릴 모델 호출" }).fill("50");
    await page.keyboard.press("Enter");

    await page.locator(".run-head").getByText("만드는 중").waitFor();
    expect(sent(server, /extend$/)).toEqual([{ tokens: 100_000, calls: 50 }]);
    await page.getByText("/ 500,000").waitFor();
  });

  test("without isolation says so on the run and on each of its ports", FULL, async () => {
    await using server = await serve();
    runInTheMiddle(server, "run_middle", { isolation: "audit" });
    await using opened = await openRun(server);
    const { page } = opened;
    await page.getByText("막지 않고 감시만 하는 실행이에요").waitFor();

    await box(page, "로그인 API").click();
    await page.getByRole("heading", { level: 1, name: "로그인 API" }).waitFor();

    await expect
      .poll(() => page.getByText("막지 않고 감시만 하는 실행이에요").isVisible())
      .toBe(true);
    expect(opened.complaints).toEqual([]);
  });

  test(
    "asks its questions where it is looked at, and they are answered there with words",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      runInTheMiddle(server);
      await using opened = await openRun(server);
      const { page } = opened;
      server.plans.escalations.push(anEscalation("run_middle"), anEscalation("run_other"));
      server.plans.tell("run_middle", { type: "escalation.new", data: { id: "esc_run_middle" } });
      await page.getByText("사람을 기다리는 것 (1)").waitFor(); // it came by itself, and not that of another run

      await page.getByRole("button", { name: "다시 시도…" }).click();
      await page.locator("textarea:focus").waitFor();
      await page.keyboard.type("시계를 흉내 내 주세요");
      await page.keyboard.press("Control+Enter");

      await expect.poll(() => page.locator(".run-escalations").count()).toBe(0);
      expect(sent(server, /answer$/)).toEqual([{ value: "retry", note: "시계를 흉내 내 주세요" }]);
      expect(opened.complaints).toEqual([]);
    },
  );

  test(
    "of 250 ports is a list by level that can be searched",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      server.plans.runs.push(aRun("run_many", { ports: manyPorts(250) }));
      await using opened = await open(server, "/plans/runs/run_many?view=graph");
      const { page } = opened;
      await page.getByText("포트가 250개라서 그림 대신 목록으로 보여요.").waitFor();
      await page.getByRole("heading", { name: "10단계 0/25 끝남" }).waitFor();

      await expect.poll(() => page.locator(".port-row").count()).toBe(250);
      expect(await page.locator(".react-flow").count()).toBe(0);
      await page.getByRole("textbox", { name: "포트 찾기" }).fill("일하는");
      await expect.poll(() => page.locator(".port-row").count()).toBe(3);
      await expectFits(opened);
    },
  );

  test("that is not there says so and leads back", FULL, async () => {
    await using server = await serve();
    await using opened = await open(server, "/plans/runs/run_gone");

    await opened.page.getByText("이 실행은 없어졌거나 볼 수 없어요").waitFor();
    await opened.page.getByRole("link", { name: "계획과 실행 목록으로" }).click();

    await opened.page.getByRole("heading", { level: 1, name: "계획" }).waitFor();
    expect(opened.complaints).toEqual([]);
  });
});

describe("a port", () => {
  test(
    "shows every try with its failing tests, the words of the pair, its scope, context and changes",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      runInTheMiddle(server);
      await using opened = await openRun(server, "/plans/runs/run_middle/ports/api");
      const { page } = opened;
      const failing = page.getByRole("list", { name: "실패한 테스트" });
      await failing.waitFor();
      const said = await failing.innerText();
      for (const part of [
        "login > locks after five failures",
        "test/api/login.test.ts:41",
        "기대한 값",
        "429",
        "실제 값",
        "401",
        "실패 횟수를 답하기 전에",
      ]) {
        expect(said).toContain(part);
      }
      await expect
        .poll(() => page.locator(".try h2").allTextContents())
        .toEqual(["2번째 시도", "1번째 시도"]);
      await page.getByText("9개 중 7개 통과, 2개 실패").waitFor();
      await expect
        .poll(() => page.getByRole("region", { name: "지금 하는 일" }).innerText())
        .toMatch(/구현 담당 · 구현[\s\S]*마지막 소식 \d+초 전[\s\S]*잠금 시각 비교를 고치는 중/);
      await expectWellMade(opened);

      await page.getByRole("tab", { name: "주고받은 말" }).click();
      await expect
        .poll(() => page.getByRole("list", { name: "주고받은 말" }).innerText())
        .toMatch(
          /테스트 담당 → 구현 담당[\s\S]*질문[\s\S]*계정마다인가요[\s\S]*읽음[\s\S]*계정마다예요[\s\S]*통과하지 못함[\s\S]*전해짐/,
        );
      await page.getByRole("tab", { name: "범위" }).click();
      const scope = await page.getByRole("tabpanel").innerText();
      for (const part of [
        "src/domain/session.ts",
        "맡은 곳이 아님",
        "하기 전에 막음",
        "src/api/**",
        "test/api/**",
        "src/shared/clock.ts · 읽기 · 민준 허락",
        "npx vitest run test/api",
        "로그인 화면",
      ]) {
        expect(scope).toContain(part);
      }
      await page.getByRole("tab", { name: "맥락" }).click();
      await page.getByText("44% 아낌").waitFor();
      await expect
        .poll(() => page.getByRole("tabpanel").innerText())
        .toMatch(
          /준 것 3,440 토큰, 파일을 통째로 읽으면 6,100 토큰[\s\S]*계약 src\/ports\/sessions\.ts\s+640/,
        );
      await page.getByRole("tab", { name: "변경" }).click();
      await page.getByText("바뀐 파일 2개").waitFor();
      expect(
        await page.getByRole("group", { name: "src/api/index.ts의 변경" }).innerText(),
      ).toMatch(/−[\s\S]*const routes = \{\};[\s\S]*\+[\s\S]*import \{ login \}/);
      expect(new URL(page.url()).search).toBe("?tab=diff");
      await page.reload(); // the tab stands in the address
      await page.getByText("바뀐 파일 2개").waitFor();
      await expectWellMade(opened);
    },
  );

  test(
    "is given another try with a hint, and a worker is spoken to",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      runInTheMiddle(server);
      await using opened = await openRun(server, "/plans/runs/run_middle/ports/limits");
      const { page } = opened;
      await page.getByText("시도를 다 썼어요.").first().waitFor();

      await page.getByRole("button", { name: "다시 시도…" }).click();
      await page.getByRole("textbox").last().fill("15분이 지난 뒤를 먼저 보세요");
      await page.getByRole("spinbutton", { name: "토큰" }).fill("0");
      await expect
        .poll(() => page.getByRole("button", { name: "이 힌트로 다시 시도" }).isDisabled())
        .toBe(true);
      await page.getByText("1부터 1,000,000,000까지의 정수로").waitFor();
      await expectWellMade(opened);
      await page.getByRole("spinbutton", { name: "토큰" }).fill("50000");
      await page.getByRole("spinbutton", { name: "시간 (분)" }).fill("15");
      await page.getByRole("spinbutton", { name: "시도 (번)" }).fill("2");
      await page.getByRole("button", { name: "이 힌트로 다시 시도" }).click();
      await page.locator(".port-head").getByText("일하는 중").waitFor();
      expect(sent(server, /ports\/limits\/retry$/)).toEqual([
        { hint: "15분이 지난 뒤를 먼저 보세요", tokens: 50_000, time_ms: 900_000, tries: 2 },
      ]);
      await page.getByRole("button", { name: "작업자에게 말하기…" }).click();
      await page.getByRole("combobox", { name: "누구에게" }).selectOption("tester");
      await page.getByRole("textbox", { name: "할 말" }).fill("느린 테스트는 빼 주세요");
      await page.getByRole("button", { name: "말하기", exact: true }).click();
      await page.getByRole("status").getByText("보냈고, 아직 전해지지 않음").waitFor();
      await page.getByRole("tab", { name: "주고받은 말" }).click();

      await page
        .getByRole("list", { name: "주고받은 말" })
        .getByText("느린 테스트는 빼 주세요")
        .waitFor();
      expect(sent(server, /say$/)).toEqual([{ to: "tester", text: "느린 테스트는 빼 주세요" }]);
      expect(opened.complaints).toEqual([]);
    },
  );

  test("says when its worker has said nothing for too long", FULL, async () => {
    await using server = await serve();
    runInTheMiddle(server);
    server.plans.details.set("run_middle/api", {
      steps: [
        aStep("api", {
          try: 2,
          status: "running",
          progress: 0.2,
          task: "멈춘 일",
          finishedAt: null,
          seenAt: Date.now() - 45_000,
        }),
      ],
    });
    await using opened = await openRun(server);
    const { page } = opened;

    await box(page, "로그인 API")
      .getByText(/\d+초째 소식 없음/)
      .waitFor();
    await box(page, "로그인 API").click();

    await page
      .getByRole("status")
      .filter({ hasText: /\d0초째 소식이 없어요\. 멈췄을 수 있어요\./ })
      .waitFor();
    await expect.poll(() => page.locator(".port-now").getAttribute("data-stalled")).toBe("true");
  });

  test(
    "is reached by keyboard alone, and left the same way",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      runInTheMiddle(server);
      await using opened = await openRun(server);
      const { page } = opened;

      await page.getByRole("radio", { name: "그림" }).focus();
      await page.keyboard.press("Tab");
      expect(
        await page.evaluate(() => document.activeElement?.querySelector("strong")?.textContent),
      ).toBe("세션 만료");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      expect(
        await page.evaluate(() => document.activeElement?.querySelector("strong")?.textContent),
      ).toBe("로그인 API");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "로그인 API" }).waitFor();
      await page.getByRole("tab", { name: "시도" }).focus();
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => new URL(page.url()).search).toBe("?tab=channel");
      await page.getByRole("link", { name: "실행으로 돌아가기" }).focus();
      await page.keyboard.press("Enter");

      await page.getByRole("heading", { level: 1, name: "login" }).waitFor();
      expect(opened.complaints).toEqual([]);
    },
  );

  test(
    "in English, dark, at 360 px: the run is a list, and everything fits",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await serve();
      runInTheMiddle(server);
      server.plans.escalations.push(
        anEscalation("run_middle", { title: "averylongword".repeat(20) }),
      );
      await using opened = await openRun(server, "/plans/runs/run_middle", {
        viewport: { width: 360, height: 740 },
        locale: "en-US",
        colorScheme: "dark",
      });
      const { page } = opened;
      await page.locator(".port-row").first().waitFor();
      await page.getByText("Waits for a person (1)").waitFor();
      expect(await page.locator(".react-flow").count()).toBe(0);
      await expectWellMade(opened);

      await box(page, "로그인 API").click();
      await page.getByText("7 of 9 passed, 2 failed").waitFor();
      await expectWellMade(opened);
      for (const name of ["Messages", "Scope", "Context", "Changes"]) {
        await page.getByRole("tab", { name }).click();
        await page.locator(".port-part").waitFor();
        await expectFits(opened);
      }
      await page.getByRole("link", { name: "Back to the run" }).click();
      await page.locator(".port-row").first().waitFor();
      await page.goto(`${server.url}/plans`);
      await page.locator(".run-row").first().waitFor();
      await expectFits(opened);
      server.plans.runs.push(
        aRun("run_old", { status: "success", phase: "over", finishedAt: 1_000 }),
      );
      server.plans.keeps.set("run_old", {
        code: "TREE_NOT_SAFE",
        message: `The tree of api holds what no commit has: ${"folder/".repeat(20)}notes.md.`,
      });
      server.plans.views.set("login", VIEW);
      await page.reload();
      await page.getByRole("button", { name: "Try out a plan…" }).click();
      await page.getByText("Let a model draft it").click();
      await page.getByRole("button", { name: "Clean old runs…" }).click();
      await page.getByRole("button", { name: "Show what would go" }).click();
      await page.getByText("Cleaning loses them").waitFor();
      await page.getByRole("checkbox", { name: "login run_old: I can do without it" }).check();
      await expectWellMade(opened);
      await page.goto(`${server.url}/plans/start/login?from=api&repository=../shop&base=develop`);
      await page.getByText("What comes before is taken as done").waitFor();
      await expectWellMade(opened);
    },
  );
});
