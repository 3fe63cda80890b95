import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chartDays, roundUp } from "../src/costs/chart-days.ts";
import { dayOf, moneyOf, shareOf } from "../src/costs/sums.ts";
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

const sum = { calls: 3, tokens_in: 2_030, tokens_out: 106, micro_usd: 7_500, unpriced: 1 };
const row = (id: string, name: string, micro_usd: number, tokens_in = 1_000): object => ({
  id,
  name,
  calls: 1,
  tokens_in,
  tokens_out: 0,
  micro_usd,
  unpriced: 0,
});
const budget = {
  of: "team",
  per: "day",
  agent: null,
  name: null,
  unit: "micro_usd",
  most: 1_000_000,
  used: 7_500,
};

/** Two agents, one of whom has spent more than it may. */
const COSTS = {
  since: "2026-10-24",
  time_zone: "Asia/Seoul",
  total: sum,
  by_day: [row("2026-11-22", "2026-11-22", 7_500), row("2026-11-20", "2026-11-20", 0)],
  by_agent: [row("ruda", "루다", 7_000), row("eden", "이든", 500)],
  by_service: [row("transfer", "송금", 7_500)],
  by_model: [row("openai:gpt", "openai:gpt", 7_500)],
  over_time: {
    agent: [
      { day: "2026-11-20", id: "ruda", name: "루다", tokens: 800, micro_usd: 2_000 },
      { day: "2026-11-22", id: "ruda", name: "루다", tokens: 900, micro_usd: 5_000 },
      { day: "2026-11-22", id: "eden", name: "이든", tokens: 100, micro_usd: 500 },
    ],
    service: [{ day: "2026-11-22", id: "transfer", name: "송금", tokens: 1, micro_usd: 7_500 }],
    model: [{ day: "2026-11-22", id: "openai:gpt", name: "openai:gpt", tokens: 1, micro_usd: 1 }],
  },
  budgets: [
    budget,
    { ...budget, of: "agent", agent: "ruda", name: "루다", unit: "tokens", most: 500, used: 1_000 },
    { ...budget, of: "turn", per: "turn", unit: "tokens", most: 900_000, used: null },
  ],
};

async function expectWellMade({ page, complaints }: OpenedPage): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
  expect(complaints).toEqual([]);
}

test("money, days and shares are told so that they say something", () => {
  expect([moneyOf(7_500, "en"), moneyOf(0, "en"), moneyOf(12_345_678, "en")]).toEqual([
    "$0.0075",
    "$0.00",
    "$12.35",
  ]);
  expect(dayOf("2026-11-22", "en")).toBe("November 22, 2026");
  expect([
    shareOf(0, 10),
    shareOf(1, 10_000),
    shareOf(5, 10),
    shareOf(20, 10),
    shareOf(1, 0),
  ]).toEqual([0, 1, 50, 100, 100]);
});

test("a chart has every day of its span, the dearest first, and the rest at the end", () => {
  const point = (day: string, id: string, microUsd: number) => ({
    ...{ day, id, microUsd },
    name: id,
    tokens: 7,
  });
  const span = { since: "2026-02-27", days: 4 };
  const points = [
    point("2026-02-27", "", 900),
    point("2026-02-28", "a", 100),
    point("2026-03-02", "b", 200),
    point("2026-03-02", "a", 50),
  ];

  expect(chartDays(points, span)).toEqual({
    days: ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"],
    series: [
      { id: "b", name: "b", values: [0, 0, 0, 200] },
      { id: "a", name: "a", values: [0, 100, 0, 50] },
      { id: "", name: "", values: [900, 0, 0, 0] },
    ],
    sums: [900, 100, 0, 250],
    unit: "money",
  });
  expect(chartDays([point("2026-02-28", "a", 0)], span)).toMatchObject({
    sums: [0, 7, 0, 0],
    unit: "tokens",
  });
  expect([roundUp(0), roundUp(7), roundUp(101), roundUp(5_000)]).toEqual([1, 10, 200, 5_000]);
});

test(
  "where nothing was used the page says how something comes about",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/costs`);

    await opened.page.getByText("이 기간에는 쓴 것이 없어요.").waitFor();
    await opened.page.getByText("정해 둔 예산이 없어요.").waitFor();
    await expectWellMade(opened);
  },
);

test.for([
  [
    "ko-KR",
    "light",
    1280,
    {
      page: "비용",
      service: "계좌 이체",
      agents: "에이전트별",
      model: "모델",
      table: "표로 보기",
      over: "오늘 500 토큰 중 1,000 토큰 씀",
      turn: "턴 하나에 900,000 토큰까지",
      search: "에이전트, 서비스 검색",
      none: "“없는 말”에 맞는 에이전트나 서비스가 없어요.",
    },
  ],
  [
    "en-US",
    "dark",
    360,
    {
      page: "Costs",
      service: "Bank transfer",
      agents: "By agent",
      model: "Model",
      table: "As a table",
      over: "1,000 tokens of 500 tokens used today",
      turn: "at most 900,000 tokens per turn",
      search: "Search agents and services",
      none: "No agent or service matches “없는 말”.",
    },
  ],
] as const)(
  "budgets and sums by agent, service and day, in %s, %s, at %i px",
  { ...FULL, timeout: 60_000 },
  async ([locale, colorScheme, width, words]) => {
    await using server = await new DoubleServer({ site }).start();
    server.costs = COSTS;
    await using opened = await openPage(browser, `${server.url}/costs`, {
      locale,
      colorScheme,
      viewport: { width, height: 760 },
    });
    const { page } = opened;
    await page.getByRole("heading", { level: 1, name: words.page }).waitFor();

    await page.getByText(words.over).waitFor();
    await page.getByText(words.turn).waitFor();
    const agents = page.getByRole("table", { name: words.agents });
    await expect
      .poll(() => agents.getByRole("rowheader").allTextContents())
      .toEqual(["루다", "이든"]);
    await page.getByRole("rowheader", { name: words.service }).waitFor();
    await expect.poll(() => page.locator(".costs-plot rect").count()).toBe(3);
    await page.locator(".costs-chart .choice label", { hasText: words.model }).click();
    await page.locator(".costs-legend", { hasText: "openai:gpt" }).waitFor();
    await page.getByText(words.table).click();
    await page.getByRole("columnheader", { name: "openai:gpt" }).waitFor();
    await expect.poll(() => page.title()).toBe(`${words.page} · dure`);
    await expectWellMade(opened);

    await page.getByRole("textbox", { name: words.search }).fill("이든");
    await expect.poll(() => agents.getByRole("rowheader").allTextContents()).toEqual(["이든"]);
    await page.getByRole("textbox", { name: words.search }).fill("없는 말");
    await page.getByText(words.none).waitFor();
  },
);

test(
  "by keyboard: another period is read; new sums come by themselves and the place is kept",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    server.costs = {
      ...COSTS,
      by_day: Array.from({ length: 60 }, (_, index) =>
        row(new Date(Date.UTC(2026, 10, 22 - index)).toISOString().slice(0, 10), "", 100),
      ),
    };
    await using opened = await openPage(browser, `${server.url}/chat`, {});
    const { page } = opened;
    await page.clock.install();
    await page.getByRole("link", { name: "비용" }).focus();
    await page.keyboard.press("Enter");
    const period = page.getByRole("combobox", { name: "기간" });
    await period.focus();
    await page.keyboard.press("ArrowUp");
    await expect
      .poll(() => server.journal.filter(({ path }) => path === "/v1/costs").length)
      .toBe(2);
    await expect.poll(() => period.inputValue()).toBe("7");

    const before = await page.locator(".costs").evaluate((scroller) => (scroller.scrollTop = 900));
    server.costs = { ...server.costs, total: { ...sum, calls: 4_321 } };
    await page.clock.fastForward(11_000);

    await page.getByText("호출 4,321번").waitFor({ state: "attached" });
    expect(await page.locator(".costs").evaluate((scroller) => scroller.scrollTop)).toBe(before);
    expect(opened.complaints).toEqual([]);
  },
);
