// @module-tag slow
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL, sampled } from "../../dure/src/kernel/test-tiers.ts";
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

function serve(): Promise<DoubleServer> {
  return new DoubleServer({ site }).start();
}

async function openEvents(server: DoubleServer, options = {}): Promise<OpenedPage> {
  const opened = await openPage(browser, `${server.url}/events`, options);
  await opened.page.getByText("받는 중").waitFor();
  return opened;
}

function emit(server: DoubleServer, from: number, to: number, type = "job.step"): void {
  for (let step = from; step <= to; step++) {
    server.emit({ type, role: "delegation", session: "s1", data: { step: `n${step}.` } });
  }
}

async function topRow(page: Page): Promise<string> {
  return page.locator(".event-scroll").evaluate((scroller) => {
    const top = scroller.getBoundingClientRect().top;
    const rows = [...scroller.querySelectorAll(".event-item")];
    return (
      rows
        .find((row) => row.getBoundingClientRect().bottom > top + 1)
        ?.querySelector(".event-subject")?.textContent ?? ""
    );
  });
}

test("events arrive live, and what was cut off comes after", FULL, async () => {
  await using server = await serve();
  server.cut(/events/, 3);
  await using opened = await openEvents(server);
  const { page } = opened;

  emit(server, 1, 10);
  await page.getByText("n10.").waitFor();

  await expect.poll(() => page.locator(".event-item").count()).toBe(10);
  expect(opened.complaints).toEqual([]);
});

test("the newest 2,000 are kept, drawn only in sight, and the page says so", async () => {
  await using server = await serve();
  await using opened = await openEvents(server);
  const { page } = opened;

  emit(server, 1, 2_500);
  await page.getByText("n2500.").waitFor();

  await page.getByText("2,000건 · 최근 2,000건만 두어요").waitFor();
  await page.getByText("오래된 500건은 내려놓았어요").waitFor();
  expect(await page.locator(".event-item").count()).toBeLessThan(80);
});

test("a reader in the middle keeps the place while rows come and go", FULL, async () => {
  await using server = await serve();
  await using opened = await openEvents(server);
  const { page } = opened;
  emit(server, 1, 1_990);
  await page.getByText("n1990.").waitFor();

  await page.locator(".event-scroll").evaluate((scroller) => scroller.scrollTo(0, 38 * 1_000));
  await expect.poll(() => topRow(page)).toContain("n1001.");
  emit(server, 1_991, 2_100);
  await page.getByText("새 이벤트 110건").waitFor();

  expect(await topRow(page)).toContain("n1001.");
  await page.getByText("새 이벤트 110건").click();
  await page.getByText("n2100.").waitFor();
});

test("paused, new events wait and are counted", FULL, async () => {
  await using server = await serve();
  await using opened = await openEvents(server);
  const { page } = opened;
  emit(server, 1, 3);
  await page.getByText("n3.").waitFor();

  await page.getByRole("button", { name: "잠시 멈춤" }).click();
  emit(server, 4, 8);
  await page.getByText("멈춘 사이 5건이 왔어요").waitFor();
  await expect.poll(() => page.locator(".event-item").count()).toBe(3);
  await page.getByRole("button", { name: "이어 보기" }).click();

  await page.getByText("n8.").waitFor();
  await expect.poll(() => page.locator(".event-item").count()).toBe(8);
});

test("types, session and role are filtered by the server, words by the page", FULL, async () => {
  await using server = await serve();
  await using opened = await openEvents(server);
  const { page } = opened;

  await page.getByText("더 자세히 거르기").click();
  await page.getByRole("textbox", { name: "종류" }).fill("job.*, plan.done");
  await page.getByRole("combobox", { name: "역할" }).selectOption("delegation");
  await expect
    .poll(() => server.filters.at(-1))
    .toEqual({ types: "job.*,plan.done", role: "delegation", last: "200" });
  await page.getByText("받는 중").waitFor();
  await expect.poll(() => server.eventReaders).toBe(1);
  emit(server, 1, 2);
  emit(server, 3, 3, "turn.done");
  emit(server, 4, 4);
  await page.getByText("n4.").waitFor();

  await expect.poll(() => page.locator(".event-item").count()).toBe(3);
  await page.getByRole("textbox", { name: "받은 이벤트에서 찾기" }).fill("n2.");
  await expect.poll(() => page.locator(".event-item").count()).toBe(1);
  await page.getByRole("textbox", { name: "받은 이벤트에서 찾기" }).fill("없는 말");
  await page.getByText("찾는 말에 맞는 이벤트가 없어요").waitFor();
});

test("a reset of the log is said, and the log goes on", FULL, async () => {
  await using server = await serve();
  await using opened = await openEvents(server);
  const { page } = opened;

  server.resetReaders("1.900.1");
  emit(server, 1, 1);
  await page.getByText("n1.").waitFor();

  await expect
    .poll(() => page.getByText("보관 기간이 지난 이벤트는 건너뛰고").isVisible())
    .toBe(true);
});

test(
  "beside an open event the arrows go from event to event, and the focus goes along",
  FULL,
  async () => {
    await using server = await serve();
    await using opened = await openEvents(server);
    const { page } = opened;
    emit(server, 1, 200);
    await page.getByText("n200.").waitFor();
    await page.locator(".event-row").last().click();

    for (let step = 0; step < 40; step++) await page.keyboard.press("ArrowUp");

    await expect.poll(() => page.locator(":focus").getAttribute("aria-pressed")).toBe("true");
    await page.locator(".event-detail summary").click();
    await page.locator(".event-detail pre").getByText('"step": "n160."').waitFor();
  },
);

const SCREENS = sampled(
  [
    [1280, "light"],
    [360, "dark"],
  ] as const,
  1,
);
test.for(SCREENS.rows)(
  "an event opens as JSON by keyboard, meeting WCAG AA at %i px, %s",
  { ...SCREENS.options, timeout: 90_000 },
  async ([width, colorScheme]) => {
    await using server = await serve();
    await using opened = await openEvents(server, {
      viewport: { width, height: 760 },
      colorScheme,
    });
    const { page } = opened;
    emit(server, 1, 40);
    await page.getByText("n40.").waitFor();
    expect(await violations(page)).toEqual([]);

    await page.locator(".event-row").last().focus();
    await page.keyboard.press("Enter");
    await page.locator(".event-detail summary").click();
    await page.locator(".event-detail pre").getByText('"step": "n40."').waitFor();

    expect(await violations(page)).toEqual([]);
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
    ).toBeLessThanOrEqual(0);
    expect(opened.complaints).toEqual([]);
  },
);

test.for([
  ["ko-KR", "계좌 이체가 메시지를 받았어요."],
  ["en-US", "Bank transfer received a message."],
] as const)("a service is called as the page's language calls it, in %s", FULL, async (row) => {
  const [locale, sentence] = row;
  await using server = await serve();
  server.emit({
    ...{ type: "turn.accepted", role: "conversation", session: "s1", service: "transfer" },
    data: { author: "person" },
  });
  await using opened = await openPage(browser, `${server.url}/events`, { locale });

  await opened.page.locator(".event-item").waitFor();
  await expect.poll(() => opened.page.getByText(sentence).count()).toBe(1);
});
