import { DureClient, type Escalation, type Job, type Room, type RoomAgent } from "dure/client";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { toWire } from "../../dure/src/kernel/wire.ts";
import {
  failedOf,
  firstStepsOf,
  nextStepsOf,
  runningOf,
  type Told,
} from "../src/start/overview.ts";
import { stopsOf } from "../src/start/tour-stops.ts";
import { TEXTS } from "./texts.ts";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  violations,
  type OpenedPage,
} from "./browser.ts";
import { DoubleServer } from "./double/server.ts";
import { AGENTS, ESCALATIONS, GENERAL, JOBS } from "./languages/records.ts";
import { aRun } from "./plans/runs.ts";
import { startRoomsTeam } from "./rooms/team.ts";
import { weightsOf } from "./weight.ts";

/** The first page: what it tells, its checklist, its tour, and its language. */

const { ko } = TEXTS;

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

const PATIENCE = { timeout: 20_000 };
const NOW = Date.UTC(2026, 10, 22, 3);
const HOUR = 3_600_000;
const [ABANDONED, RUNNING] = JOBS as readonly [Job, Job];

const NONE: Told = {
  model: "offline",
  escalations: [],
  jobs: [],
  runs: [],
  sessions: [],
  agents: [],
  rooms: [],
  costs: null,
};

/** Bytes. Source: docs/spec/platform §5. */
const START_PAGE_BYTES = 180_000;

test(
  "the first page brings at most 180 kB of JavaScript, in eight files, in each language",
  FULL,
  async () => {
    const start = (await weightsOf(site)).filter(({ page }) => page === "start");

    expect(start.map(({ language }) => language)).toEqual(["ko", "en"]);
    for (const { scripts, scriptBytes } of start) {
      expect(scriptBytes).toBeLessThanOrEqual(START_PAGE_BYTES);
      expect(scripts).toBeLessThanOrEqual(8);
    }
  },
);

test("what runs is told of runs, jobs, conversations and agents; the idle are left out", () => {
  const runs = [aRun("run_1", { status: "paused" }), aRun("run_2", { status: "success" })];
  const sessions = ["s1", "s2"].map((sessionId) => ({
    sessionId,
    title: sessionId,
    runningTurn: sessionId === "s1" ? { turnId: "t1" } : null,
  }));
  const told = { ...NONE, runs, jobs: JOBS, agents: AGENTS, sessions } as unknown as Told;

  expect(runningOf(told).map(({ kind }) => kind)).toEqual(["run", "job", "session", "agent"]);
  expect(runningOf({ ...NONE, jobs: null, runs: undefined })).toEqual([]);
});

test("a failure is news for a day, the newest first", () => {
  const jobs = [
    { ...ABANDONED, jobId: "old", finishedAt: NOW - 25 * HOUR },
    { ...ABANDONED, jobId: "job", finishedAt: NOW - 2 * HOUR },
    { ...ABANDONED, jobId: "good", status: "COMPLETED" as const, finishedAt: NOW - HOUR },
  ];
  const runs = [aRun("run_1", { status: "partial", finishedAt: NOW - HOUR })];
  const told = { ...NONE, jobs, runs } as unknown as Told;

  expect(failedOf(told, NOW).map(({ kind }) => kind)).toEqual(["run", "job"]);
  expect(nextStepsOf(told, NOW)).toEqual(["look", "talk"]);
});

test("the checklist waits for what is read, and leaves out what one may not see", () => {
  const done = { ...NONE, model: "provider" as const, agents: AGENTS, rooms: [GENERAL] };

  expect(firstStepsOf({ ...NONE, rooms: undefined })).toBeUndefined();
  expect(firstStepsOf({ ...done, runs: null })).toEqual([
    { id: "model", isDone: true },
    { id: "agent", isDone: true },
    { id: "room", isDone: true },
  ]);
  expect(firstStepsOf(NONE)?.map(({ isDone }) => isDone)).toEqual([false, false, false, false]);
});

test("a tour has three stops, whatever the team has", () => {
  expect([stopsOf(true), stopsOf(false)]).toEqual([
    ["chat", "rooms", "plans"],
    ["chat", "plans", "events"],
  ]);
});

/** How far from the top each of some words stands on the page, pixels. */
function topsOf(page: Page, words: readonly string[]): Promise<readonly number[]> {
  const main = page.getByRole("main");
  const shown = words.map((text) => main.getByText(text, { exact: true }).first());
  return Promise.all(shown.map(async (one) => (await one.boundingBox())?.y ?? -1));
}

/** Holds the code of the pages back until it is called. */
async function holdCode(page: Page): Promise<() => void> {
  const { promise: released, resolve } = Promise.withResolvers<void>();
  await page.route(/\/assets\/.*\.js$/, async (route) => {
    await released;
    await route.continue();
  });
  return resolve;
}

test.for([
  ["/", 390, ko.start.pageTitle, ko.start.what],
  ["/plans", 1440, ko.plans.pageTitle, ko.plans.lead],
  ["/chat", 1440, ko.chat.hello, ko.chat.lead],
  ["/rooms", 390, ko.rooms.ask.title, ko.rooms.ask.lead],
] as const)(
  "the first words of %s stand before its code has come, where they stay, at %i px",
  { ...FULL, timeout: 60_000 },
  async ([path, width, ...words]) => {
    await using server = await new DoubleServer({ site }).start();
    const viewport = { width, height: 900 };
    await using opened = await openPage(browser, "about:blank", { viewport });
    const { page } = opened;
    const release = await holdCode(page);

    // The page's own load may wait for the code.
    await page.goto(server.url + path, { waitUntil: "commit" });
    const first = page.locator(".first-words");
    await first.waitFor();
    await page.waitForFunction(() => {
      const linked = document.querySelectorAll("link[rel=stylesheet]").length;
      return [...document.styleSheets].filter(({ href }) => href !== null).length === linked;
    });
    const before = await topsOf(page, words);
    expect(Math.min(...before)).toBeGreaterThan(0);
    expect(await violations(page)).toEqual([]);

    release();
    await first.waitFor({ state: "detached" });
    const after = await topsOf(page, words);
    for (const [index, top] of after.entries()) {
      expect(Math.abs(top - before[index]!)).toBeLessThan(1);
    }
    expect(opened.complaints.filter((one) => !one.startsWith("request"))).toEqual([]);
  },
);

test(
  "words of another language, and a question that was answered, are not shown first",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, server.url);
    const { page } = opened;
    await page.evaluate(() => {
      localStorage.setItem("dure-language", "en");
      localStorage.setItem("dure-person", "민준");
    });
    const release = await holdCode(page);

    await page.goto(server.url, { waitUntil: "commit" });
    const lead = page.getByText(ko.start.what, { exact: true });
    await lead.waitFor({ state: "attached" });
    expect(await lead.isVisible()).toBe(false);

    await page.evaluate(() => localStorage.setItem("dure-language", "ko"));
    await page.goto(`${server.url}/rooms`, { waitUntil: "commit" });
    const asks = page.getByText(ko.rooms.ask.lead, { exact: true });
    await asks.waitFor({ state: "attached" });
    expect(await asks.isVisible()).toBe(false);
    release();
  },
);

interface World {
  readonly jobs?: readonly Job[];
  readonly agents?: readonly RoomAgent[];
  readonly rooms?: readonly Room[];
  readonly escalations?: readonly Escalation[];
}

/** Rooms, jobs and escalations, which the double does not have. */
async function answer(page: Page, world: World): Promise<void> {
  const { jobs = [], agents = [], rooms = [], escalations = [] } = world;
  const list = (items: readonly unknown[]) => toWire({ items, nextCursor: null });
  await page.route(/\/v1\/jobs\?/, (route) => {
    const status = new URL(route.request().url()).searchParams.get("status");
    const items = jobs.filter((job) => status === null || job.status === status);
    return route.fulfill({ json: list(items) });
  });
  await page.route(/\/v1\/agents(\?|$)/, (route) => route.fulfill({ json: list(agents) }));
  await page.route(/\/v1\/rooms(\?|$)/, (route) => route.fulfill({ json: list(rooms) }));
  await page.route(/\/v1\/escalations\?/, (route) => route.fulfill({ json: list(escalations) }));
}

async function expectWellMade({ page, complaints }: OpenedPage): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
  expect(complaints).toEqual([]);
}

test.for([
  [
    "ko-KR",
    "light",
    1440,
    {
      title: "한눈에 보기",
      waits: "내 답을 기다리는 것",
      runs: "지금 하는 일",
      failed: "실패한 일",
      next: "다음 할 일",
      decide: "기다리는 요청에 답하기",
    },
  ],
  [
    "en-US",
    "dark",
    390,
    {
      title: "Overview",
      waits: "Waits for my answer",
      runs: "Running now",
      failed: "Failed",
      next: "Next steps",
      decide: "Answer what waits for you",
    },
  ],
] as const)(
  "it tells what waits, runs, failed and was spent, in %s, %s, at %i px",
  { ...FULL, timeout: 60_000 },
  async ([locale, colorScheme, width, words]) => {
    await using server = await new DoubleServer({ site }).start();
    server.model = "provider";
    server.plans.runs.push(aRun("run_1"));
    const sum = { calls: 3, tokens_in: 2_000, tokens_out: 100, micro_usd: 7_500, unpriced: 0 };
    server.costs = { ...server.costs, total: sum };
    await using opened = await openPage(browser, "about:blank", {
      locale,
      colorScheme,
      viewport: { width, height: 900 },
    });
    const { page } = opened;
    opened.complaints.length = 0;
    const now = Date.now();
    await answer(page, {
      jobs: [{ ...ABANDONED, finishedAt: now - HOUR }, RUNNING],
      agents: AGENTS,
      rooms: [GENERAL],
      escalations: ESCALATIONS.filter(({ status }) => status === "open"),
    });

    await page.goto(server.url);
    await page.getByRole("heading", { level: 1, name: words.title }).waitFor();

    const waiting = page.getByRole("region", { name: words.waits });
    await expect.poll(() => waiting.getByRole("listitem").count(), PATIENCE).toBe(2);
    await waiting.getByRole("listitem").first().getByText("세 번 모두").waitFor();
    const running = page.getByRole("region", { name: words.runs });
    await running.getByRole("link", { name: "루다 → 이든" }).waitFor();
    await expect.poll(() => running.getByRole("listitem").count(), PATIENCE).toBe(3);
    const failed = page.getByRole("region", { name: words.failed, exact: true });
    await failed.getByRole("link", { name: "루다 → 이든" }).waitFor();
    await page.getByText("$0.0075").waitFor();
    await page
      .getByRole("region", { name: words.next })
      .getByRole("link", { name: words.decide })
      .waitFor();
    expect(await page.title()).toContain(`${words.title} · dure`);
    await expectWellMade({ ...opened, complaints: ownComplaints(opened, server) });

    await failed.getByRole("link", { name: "루다 → 이든" }).click();
    await page.waitForURL(`${server.url}/jobs/job_1`);
  },
);

/** The page began as about:blank, so what it asked its server is no complaint. */
function ownComplaints({ complaints }: OpenedPage, server: DoubleServer): string[] {
  return complaints.filter((line) => !line.startsWith(`request: ${server.url}`));
}

test(
  "everything is read once on opening, and again when something happens",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, "about:blank");
    const { page } = opened;
    const reads = (): number =>
      server.journal.filter(({ path }) => path === "/v1/agent/sessions").length;
    const roundTrip = (): Promise<unknown> => page.evaluate(() => fetch("/healthz"));
    await page.clock.install();
    await page.goto(server.url);
    await expect.poll(() => server.eventReaders, PATIENCE).toBeGreaterThan(0);
    await roundTrip();
    await page.clock.runFor(2_000); // news are gathered for 500 ms
    await roundTrip();
    expect(reads()).toBe(1);

    server.emit({ type: "session.start", session: "s1" });

    await expect.poll(reads, PATIENCE).toBe(2);
  },
);

test(
  "the menu shows the keys for finding, which a click presses; on a telephone none",
  FULL,
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, server.url, {
      viewport: { width: 1440, height: 900 },
    });
    const { page } = opened;
    await page.getByRole("button", { name: "단축키" }).click();
    await page.getByRole("heading", { name: "단축키" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "찾기" }).click();
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    await page.keyboard.press("Escape");

    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole("button", { name: ko.shell.nav.open }).click();
    await page.getByRole("dialog").getByRole("link", { name: ko.shell.nav.plans }).waitFor();
    expect(await page.getByRole("button", { name: "단축키" }).count()).toBe(0);
  },
);

test(
  "a box of the checklist ticks itself when it is done",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using team = await startRoomsTeam();
    await using opened = await openPage(browser, team.url, {
      viewport: { width: 390, height: 800 },
    });
    const { page } = opened;
    const steps = page.getByRole("region", { name: "처음 할 일" }).getByRole("listitem");
    const ticked = (): Promise<string[]> =>
      steps.filter({ has: page.getByRole("img", { name: "끝냄" }) }).allTextContents();
    await steps.first().waitFor();
    await expect.poll(ticked, PATIENCE).toEqual(["첫 에이전트 만들기"]);
    await expectWellMade(opened);

    await new DureClient({ baseUrl: team.url })
      .rooms("민준")
      .post("web:general", { text: "안녕하세요" });

    await expect.poll(ticked, PATIENCE).toEqual(["첫 에이전트 만들기", "방에서 말 걸기"]);
  },
);

test(
  "a tour of three clicks leads through the team, by keyboard",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, server.url, { locale: "en-US" });
    const { page } = opened;
    const bar = page.getByRole("region", { name: "Tour", exact: true });
    const press = async (name: string): Promise<void> => {
      await page.getByRole("button", { name, exact: true }).focus();
      await page.keyboard.press("Enter");
    };

    await press("Start the tour");
    await page.waitForURL(`${server.url}/chat`);
    await bar.getByText("1/3").waitFor();
    await page.getByRole("button", { name: "엄마에게 5만원 보내줘" }).waitFor();
    await expectWellMade(opened);
    await press("Next");
    await page.waitForURL(`${server.url}/plans`);
    await press("Next");
    await page.waitForURL(`${server.url}/events`);
    await bar.getByText("3/3").waitFor();
    await press("End the tour");

    await bar.waitFor({ state: "detached" });
  },
);

test.for([
  ["ko-KR", "한눈에 보기", "두레는"],
  ["ja-JP", "Overview", "dure runs teams"],
  ["de-DE", "Overview", "dure runs teams"],
] as const)(
  "a first visit in %s reads “%s”, and what dure is",
  { timeout: 60_000 },
  async ([locale, title, what]) => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, server.url, { locale });

    await opened.page.getByRole("heading", { level: 1, name: title }).waitFor();
    await opened.page.getByText(what).waitFor();

    expect(await opened.page.title()).toContain(`${title} · dure`);
  },
);

test("what one may not see is left out, and the rest stands", { timeout: 60_000 }, async () => {
  await using server = await new DoubleServer({ site }).start();
  await using opened = await openPage(browser, "about:blank");
  const { page } = opened;
  const refused = { type: "about:blank", status: 403, code: "SCOPE_MISSING", detail: "No." };
  for (const path of [/\/v1\/(escalations|jobs|agents|rooms)(\?|$)/, /\/v1\/runs/]) {
    await page.route(path, (route) =>
      route.fulfill({ status: 403, json: refused, contentType: "application/problem+json" }),
    );
  }

  await page.goto(server.url);
  const steps = page.getByRole("region", { name: "처음 할 일" }).getByRole("listitem");
  await steps.first().waitFor();

  expect(await steps.count()).toBe(1);
  expect(await page.getByRole("region", { name: "내 답을 기다리는 것" }).count()).toBe(0);
});
