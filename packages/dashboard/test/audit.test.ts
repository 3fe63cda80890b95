import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AUDIT_WORDS } from "words:later/audit";
import { deedOf, endOf, pageOf, whoOf } from "../src/audit/words.ts";
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

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

const AT = Date.UTC(2026, 10, 22, 3);
const entry = (id: number, what: string, more: object = {}) => ({
  id,
  at: AT + id,
  tenant: "",
  name: "token_1",
  person: "민준",
  role: null,
  what,
  subject: `job_${id}`,
  outcome: "done" as string | null,
  ...more,
});

async function expectWellMade({ page, complaints }: OpenedPage): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
  expect(complaints).toEqual([]);
}

test("deeds, people, ends and places are told in words", () => {
  expect(
    ["job.cancel", "escalation.approve", "escalation.use the other", "constructor", "own.deed"].map(
      (what) => deedOf(what, AUDIT_WORDS.en),
    ),
  ).toEqual([
    "Cancelled a job",
    "Approved an escalation",
    "Answered an escalation with “use the other”",
    "constructor",
    "own.deed",
  ]);
  expect(
    [
      { person: "민준", name: "token_1" },
      { person: null, name: "agent:ruda" },
      { person: null, name: "127.0.0.1" },
    ].map((entry) => whoOf(entry, { text: TEXTS.ko, nameOf: () => "루다" })),
  ).toEqual(["민준", "루다", TEXTS.ko.common.actors.atMachine]);
  expect(["done", "JOB_UNKNOWN", null].map(endOf)).toEqual(["done", "refused", "unknown"]);
  expect(["job_1", "run_1/api", "thread_1", "s1", ""].map(pageOf)).toEqual([
    { to: "job", id: "job_1" },
    { to: "run", id: "run_1" },
    { to: "place", id: "thread_1" },
    undefined,
    undefined,
  ]);
});

test(
  "where nothing was done the page says how something comes about",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/audit`);

    await opened.page.getByText("아직 기록된 일이 없어요.").waitFor();
    await expectWellMade(opened);
  },
);

test.for([
  [
    "ko-KR",
    "light",
    1280,
    {
      page: "감사 기록",
      deeds: ["포트를 건너뜀", "맡긴 일을 취소함", "확인 요청을 승인함"],
      ends: ["시작됨, 끝은 알 수 없음", "되지 않음: JOB_UNKNOWN", "완료"],
      search: "사람, 한 일, 대상 검색",
      none: "찾는 기록이 없어요.",
      kind: "무엇에 한 일",
    },
  ],
  [
    "en-US",
    "dark",
    360,
    {
      page: "Audit",
      deeds: ["Skipped a port", "Cancelled a job", "Approved an escalation"],
      ends: ["begun, its end is not known", "not done: JOB_UNKNOWN", "done"],
      search: "Search people, deeds, ids",
      none: "No entry matches.",
      kind: "What it was done to",
    },
  ],
] as const)(
  "who did what, how it ended, and a search, in %s, %s, at %i px",
  { ...FULL, timeout: 60_000 },
  async ([locale, colorScheme, width, words]) => {
    await using server = await new DoubleServer({ site }).start();
    server.audit = [
      entry(3, "run.skip", {
        subject: `run_${"0".repeat(26)}/a-port-with-a-long-name`,
        outcome: null,
        tenant: "acme",
      }),
      entry(2, "job.cancel", { outcome: "JOB_UNKNOWN" }),
      entry(1, "escalation.approve", { subject: "escalation_1", person: "서연" }),
    ];
    await using opened = await openPage(browser, `${server.url}/audit`, {
      locale,
      colorScheme,
      viewport: { width, height: 760 },
    });
    const { page } = opened;
    await page.getByRole("heading", { level: 1, name: words.page }).waitFor();
    const rows = page.getByRole("list", { name: words.page }).getByRole("listitem");

    await expect
      .poll(() => rows.locator("strong").allTextContents(), { timeout: 20_000 })
      .toEqual(words.deeds);
    await expect.poll(() => rows.locator(".audit-end").allTextContents()).toEqual(words.ends);
    await expect.poll(() => rows.first().textContent()).toContain("민준 (acme)");
    expect(await page.title()).toBe(`${words.page} · dure`);
    await expectWellMade(opened);

    await page.getByRole("textbox", { name: words.search }).fill("서연");
    await expect
      .poll(() => rows.locator("strong").allTextContents(), { timeout: 20_000 })
      .toEqual([words.deeds[2]]);
    await page.getByRole("combobox", { name: words.kind }).selectOption("job");
    await page.getByText(words.none).waitFor();
    await expectWellMade(opened);
  },
);

test(
  "by keyboard: older entries are read; new ones come by themselves and the place is kept",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    server.audit = Array.from({ length: 80 }, (_, index) => entry(80 - index, "job.cancel"));
    await using opened = await openPage(browser, server.url, {});
    const { page } = opened;
    await page.clock.install();
    await page.getByRole("link", { name: "감사 기록" }).focus();
    await page.keyboard.press("Enter");
    const rows = page.getByRole("list", { name: "감사 기록" }).getByRole("listitem");
    await page.getByRole("button", { name: "이전 기록 더 보기" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(80);

    const seen = page.getByRole("link", { name: "job_40", exact: true });
    await seen.evaluate((link) => link.scrollIntoView({ block: "center" }));
    const top = (): Promise<number> =>
      seen.evaluate((link) => Math.round(link.getBoundingClientRect().top));
    const before = await top();
    server.audit = [entry(81, "run.merge", { subject: "run_1" }), ...server.audit];
    await page.clock.fastForward(11_000);

    await page.getByText("실행 결과를 합침").waitFor({ state: "attached" });
    await expect.poll(top, { timeout: 20_000 }).toBe(before);
    await expect
      .poll(() => page.getByRole("list", { name: "감사 기록" }).getByRole("listitem").count())
      .toBe(81);
    expect(opened.complaints).toEqual([]);
  },
);
