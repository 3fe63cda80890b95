import type { Browser, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { eventually } from "../../dure/test/until.ts";
import { TEXTS } from "./texts.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS } from "./browser.ts";
import { addTexts, collectGiven, foreignWords, shownOn } from "./languages/foreign-words.ts";
import { answerRecords, OWN_WORDS, startServer, VISITS } from "./languages/pages.ts";

/** What every page does when its server refuses, breaks, or is killed beneath it. */

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

/** Each path once: what is opened on a page is of no matter here. */
const PAGES = VISITS.filter(({ path }) => path !== "/nope");
const SLOW = { ...FULL, timeout: 60_000 };

/** Refusals with the server's own words, as it sends them. */
const REFUSALS = [
  { status: 403, code: "SCOPE_MISSING", detail: "This needs the scope plans; the token has chat." },
  { status: 404, code: "RUN_UNKNOWN", detail: "There is no run run_1." },
  { status: 500, code: "INTERNAL", detail: "The server could not answer this request." },
  { status: 503, code: "DATABASE_UNAVAILABLE", detail: "The database does not answer: refused." },
  { status: 409, code: "TREE_LEASED", detail: "The tree of port api is held by process_1." },
] as const;

describe.each(REFUSALS)("where the server answers $code", (refusal) => {
  // The log of events is not refused, and needs nothing else.
  const pages = PAGES.filter(({ path }) => path !== "/events");

  test.each(pages)("$name says so in Korean", SLOW, async ({ path }) => {
    await using server = await startServer(site);
    await using opened = await openPage(browser, `${server.url}/nope`);
    const { page, complaints } = opened;
    const given = namesIn(path);
    await page.route(isRead, (route) => refuse(route, refusal));

    await page.goto(server.url + path);
    await page.locator(".shell-main").waitFor();

    // What one may not see, or the team does not have, is not on the start page.
    if (path !== "/" || refusal.status >= 409) await expectSaid(page);
    await expectKorean(page, given);
    expect(await page.locator(".server-words").count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});

describe("where the server is killed", () => {
  test.each(PAGES)("$name says so, and shows nothing as alive", SLOW, async (visit) => {
    const server = await startServer(site);
    await using opened = await openPage(browser, `${server.url}/nope`);
    const { page } = opened;
    const { given, settle } = collectGiven(page);
    await answerRecords(page);
    await page.goto(server.url + visit.path);
    await page.locator(visit.ready).first().waitFor();
    await settle();

    const { url } = server;
    await server[Symbol.asyncDispose]();
    // How soon is for outage.test.ts; here the machine may be busy.
    await page.getByText(TEXTS.ko.shell.connection.gone).first().waitFor({ timeout: 30_000 });

    expect(await aliveOn(page)).toEqual([]);
    await expectKorean(page, new Set([...given, ...namesIn(visit.path)]));
    await using _again = await startServer(site, Number(new URL(url).port));
    await page.getByText(TEXTS.ko.shell.connection.back).first().waitFor();
    await page.locator(visit.ready).first().waitFor();
  });
});

/** All but what the frame of a page needs. */
function isRead(url: URL): boolean {
  return url.pathname.startsWith("/v1/") && !/^\/v1\/(me|login|events)$/.test(url.pathname);
}

function refuse(route: Route, { status, code, detail }: (typeof REFUSALS)[number]): Promise<void> {
  const body = { type: "about:blank", title: "Refused", status, code, detail };
  return route.fulfill({
    status,
    contentType: "application/problem+json",
    body: JSON.stringify(body),
  });
}

/** Nothing is waited for any more, and the page says what is wrong. */
async function expectSaid(page: Page): Promise<void> {
  const main = page.locator(".shell-main");
  await main.locator(".problem, [role=alert], .center-page h1").first().waitFor();
  await main.locator("[role=status].mantine-Loader-root").first().waitFor({ state: "detached" });
}

async function expectKorean(page: Page, given: ReadonlySet<string>): Promise<void> {
  await eventually(
    async () => {
      expect(foreignWords(await shownOn(page), "ko", given)).toEqual([]);
    },
    { everyMs: 250 },
  );
}

/** What people wrote, and what stands in an address. */
function namesIn(path: string): Set<string> {
  const names = new Set<string>();
  addTexts([...OWN_WORDS, ...decodeURIComponent(path).split(/[/?=]/)], names);
  return names;
}

/** What moves as if the server answered. */
async function aliveOn(page: Page): Promise<readonly string[]> {
  return page
    .locator(".live-dot, .pulse, .online-dot")
    .evaluateAll((marks) =>
      marks
        .filter(
          (mark) => mark.matches(".live-dot") || getComputedStyle(mark).animationName !== "none",
        )
        .map((mark) => mark.className),
    );
}
