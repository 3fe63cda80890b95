import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { pauseAfter, watchedAfter, type Watched } from "../src/server-watch.ts";
import { ERROR_WORDS_KO } from "../../dure/src/korean/error-words.ko.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS, violations } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";
import { answerRecords } from "./languages/pages.ts";
import { DETAIL } from "./languages/records.ts";

/** The page while its server is away, has another release, or was asked for what it has not. */

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

const PHONE = { viewport: { width: 390, height: 780 } };

/** Nothing sticks out, and axe finds nothing. */
async function expectNeat(page: Page): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
}

/** Its stylesheet came too. */
async function expectStyled(page: Page): Promise<void> {
  const display = await page.locator(".costs").evaluate((it) => getComputedStyle(it).display);
  expect(display).toBe("grid");
}

const SEEN: Watched = { standing: "there", misses: 0, backSince: 0, isOld: false };

test("two bad answers in a row mean gone or starved, and each next state follows from the answer", () => {
  const once = watchedAfter(SEEN, "none", 0);
  const gone = watchedAfter(once, "none", 0);
  const starved = watchedAfter(gone, "starved", 500);
  const back = watchedAfter(starved, "well", 1_000);

  const standings = [once, gone, starved, back].map(({ standing }) => standing);
  expect(standings).toEqual(["there", "gone", "starved", "back"]);
  expect(watchedAfter(once, "well", 0)).toEqual(SEEN);
  expect(watchedAfter(watchedAfter(SEEN, "starved", 0), "starved", 0).standing).toBe("starved");
  expect(watchedAfter(back, "well", 5_999).standing).toBe("back");
  expect(watchedAfter(back, "well", 6_000).standing).toBe("there");
  expect(pauseAfter(SEEN, 0.999) + pauseAfter(once, 0.999)).toBeLessThan(3_000);
  expect(pauseAfter(SEEN, 0)).toBeLessThan(pauseAfter(SEEN, 0.5)); // not all windows at once
});

test(
  "a killed server is told, nothing looks alive, and the page goes on when it is back",
  { ...FULL, timeout: 60_000 },
  async () => {
    const server = await new DoubleServer({ site }).start();
    const { url } = server;
    const port = Number(new URL(url).port);
    await using opened = await openPage(browser, `${server.url}/events`, PHONE);
    const { page } = opened;
    await page.locator(".live-dot").waitFor();

    await server[Symbol.asyncDispose]();
    await page.getByText("서버와 연결이 끊겼어요").waitFor();
    await expect.poll(() => page.locator(".live-dot").count()).toBe(0);
    expect(
      await page
        .locator(".events-connection .pulse")
        .evaluate((dot) => getComputedStyle(dot).animationName),
    ).toBe("none");
    await expectNeat(page);

    await using again = await new DoubleServer({ site, port }).start();
    await page.getByText("서버와 다시 이어졌어요").waitFor();
    await page.locator(".live-dot").waitFor();
    expect(again.url).toBe(url);
    await page.getByText("서버와 다시 이어졌어요").waitFor({ state: "detached" });
  },
);

test(
  "a gateway that speaks JSON for a dead server is no server; nonsense does not end the watch",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/events`);
    const { page, complaints } = opened;
    const probes = /\/(readyz|healthz)$/;
    let nonsense = 0;
    await page.route(probes, (route) => {
      nonsense++;
      return route.fulfill({ json: null });
    });
    await expect.poll(() => nonsense, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(await page.getByText("서버와 연결이 끊겼어요").count()).toBe(0);

    await page.unroute(probes);
    const gateway = { status: 502, json: { message: "no healthy upstream" } };
    await page.route(probes, (route) => route.fulfill(gateway));
    await page.getByText("서버와 연결이 끊겼어요").waitFor();

    await page.unroute(probes);
    const closing = { status: 503, json: { type: "urn:dure:problem:server-draining" } };
    await page.route(/\/readyz$/, (route) => route.fulfill(closing));
    await page.getByText("서버와 다시 이어졌어요").waitFor();
    expect(complaints).toEqual([]);
  },
);

test("a mistake in saved files is shown with its place on every page until it is mended", async () => {
  await using server = await new DoubleServer({ site }).start();
  await using opened = await openPage(browser, `${server.url}/events`);
  const { page, complaints } = opened;
  const files = { ok: false, detail: "services/faq/service.ts:8: nope is not defined" };
  const checks = { database: { ok: true }, files };
  await page.route(/\/readyz$/, (route) => route.fulfill({ json: { ready: true, checks } }));

  await page.getByText("service.ts:8: nope is not defined").waitFor();
  await page.getByText("팀은 전과 같이 답해요").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.unroute(/\/readyz$/);
  await page.getByText("nope is not defined").waitFor({ state: "detached" });

  expect(complaints).toEqual([]);
});

test(
  "a page whose code cannot be fetched leaves the menu, and opens when the server is back",
  { ...FULL, timeout: 60_000 },
  async () => {
    const server = await new DoubleServer({ site }).start();
    const { url } = server;
    await using opened = await openPage(browser, `${url}/events`);
    const { page } = opened;
    await page.locator(".live-dot").waitFor();
    await server[Symbol.asyncDispose]();

    await page.getByRole("link", { name: "비용" }).click();
    await page.getByRole("heading", { name: "이 화면을 불러오지 못했어요" }).waitFor();
    await page.getByText("저절로 열려요").waitFor();
    await expectNeat(page);
    await page.getByRole("link", { name: "이벤트" }).click();
    await page.getByRole("heading", { name: "이벤트" }).waitFor();
    await page.getByRole("link", { name: "비용" }).click();
    await page.getByRole("heading", { name: "이 화면을 불러오지 못했어요" }).waitFor();

    await using _again = await new DoubleServer({ site, port: Number(new URL(url).port) }).start();
    await page.getByRole("heading", { name: "비용", exact: true }).waitFor();
    await expectStyled(page);
  },
);

test("one lost chunk is fetched again without a word", { ...FULL, timeout: 60_000 }, async () => {
  await using server = await new DoubleServer({ site }).start();
  await using opened = await openPage(browser, `${server.url}/chat`);
  const { page, complaints } = opened;
  await page.getByRole("heading", { name: "무엇을 도와드릴까요?" }).waitFor();
  let lost = 0;
  await page.route(/costs-page.*\.(js|css)$/, (route) =>
    lost++ < 2 ? route.abort() : route.continue(),
  );

  await page.getByRole("link", { name: "비용" }).click();
  await page.getByRole("heading", { name: "비용", exact: true }).waitFor();

  await expectStyled(page);
  expect(lost).toBeGreaterThan(2);
  expect(complaints).toEqual([]);
});

test(
  "words for what the server said are waited for, and come when the server is back",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/nope`);
    const { page } = opened;
    await answerRecords(page);
    const words = /server-korean.*\.js$/;
    let lost = 0;
    await page.route(words, (route) => {
      lost++;
      return route.abort();
    });
    const tries = 5; // more than a part of the page has before it gives up

    await page.goto(`${server.url}/jobs/job_1`);
    await expect.poll(() => lost, { timeout: 20_000 }).toBeGreaterThanOrEqual(tries);
    expect(await page.getByText(DETAIL.lastError!.message).count()).toBe(0);

    await page.unroute(words);
    await page.getByText(ERROR_WORDS_KO["JOB_STALE"]!).waitFor();
  },
);

test(
  "chunks that a new release took away bring the offer to reload, and the draft stays",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/chat`, PHONE);
    const { page } = opened;
    const field = page.getByRole("textbox", { name: "메시지" }).last();
    await field.fill("보내지 않은 말");
    let isGone = true;
    await page.route(/costs-page.*\.js$/, (route) =>
      isGone ? route.fulfill({ status: 404 }) : route.continue(),
    );
    await page.route(`${server.url}/costs`, (route) => {
      isGone = false; // the page is loaded anew
      return route.continue();
    });
    await page.route(`${server.url}/`, async (route) => {
      const answer = await route.fetch();
      const document = await answer.text();
      await route.fulfill({ body: document.replaceAll(/index-[\w-]+\.js/g, "index-next.js") });
    });

    await page.getByRole("button", { name: "메뉴 열기" }).click();
    await page.getByRole("dialog").getByRole("link", { name: "비용" }).click();
    await page.getByRole("heading", { name: "이 화면을 불러오지 못했어요" }).waitFor();
    const reload = page.locator(".shell-main").getByRole("button", { name: "새로 고침" });
    await reload.waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expectNeat(page);
    await reload.click();
    await page.getByRole("heading", { name: "비용", exact: true }).waitFor();
    await page.goto(`${server.url}/chat`);

    await expect.poll(() => field.inputValue()).toBe("보내지 않은 말");
  },
);

test.for([
  { path: "/nope", locale: "ko-KR", title: "이 주소에는 아무것도 없어요", home: "처음 화면으로" },
  {
    path: "/nope/하나/둘",
    locale: "en-US",
    title: "There is nothing at this address",
    home: "To the first page",
  },
])(
  "the unknown address $path says so in $locale, with a way back",
  { ...FULL, timeout: 60_000 },
  async ({ path, locale, title, home }) => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, server.url + path, { ...PHONE, locale });
    const { page, complaints } = opened;

    await page.getByRole("heading", { name: title }).waitFor();
    await page.getByText(path, { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(encodeURI(path));
    await expectNeat(page);
    await page.getByRole("link", { name: home }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.url}/`);

    expect(complaints).toEqual([]);
  },
);

test(
  "a page that fails by itself says so, and the console has the error",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/chat`);
    const { page } = opened;
    const logged: string[] = [];
    page.on("console", (message) => message.type() === "error" && logged.push(message.text()));
    await page.route(/\/v1\/costs/, (route) => route.fulfill({ json: {} }));

    await page.goto(`${server.url}/costs`);
    await page.getByText("서버가 아니라 이 화면에 문제가 생겼어요.").waitFor();

    expect(await page.getByText("서버에 닿지 않아요").count()).toBe(0);
    expect(logged.join("\n")).toContain("TypeError");
  },
);
