import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";

/** Many tabs of one person. A browser has six connections to a server for all of them. */

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

const TABS = 8;
/** Streams of windows that are seen at once. Source: docs/spec/platform §5. */
const SEEN = 4;

test(
  "eight tabs all load; hidden ones let go, one listens, and none loses an event",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/nope`);
    await opened.page.context().addInitScript(() => {
      const wanted = window as unknown as { isHidden?: boolean };
      Object.defineProperty(document, "hidden", { get: () => wanted.isHidden ?? false });
      Object.defineProperty(document, "visibilityState", {
        get: () => (wanted.isHidden ? "hidden" : "visible"),
      });
    });

    const tabs: Page[] = [];
    for (let tab = 0; tab < TABS; tab++) {
      const page = await openEvents(opened.page, server);
      tabs.push(page);
      if (tab < TABS - 1) await setHidden(page, true);
    }

    // The one that is looked at, and the listener.
    await expect.poll(() => server.eventStreams, { timeout: 20_000 }).toBe(2);

    server.emit({ type: "turn.start", role: "conversation", session: "s1" });
    await tabs.at(-1)!.locator(".event-row").waitFor();
    await expect.poll(() => countWithEvent(tabs)).toBe(2);

    const [first] = tabs as [Page];
    await setHidden(tabs.at(-1)!, true);
    await setHidden(first, false);
    await first.locator(".event-row").waitFor();
    await first.locator(".live-dot").waitFor();
    await expect.poll(() => server.eventStreams, { timeout: 20_000 }).toBe(2);
  },
);

test(
  "eight windows side by side all load; four read, and one that is worked in takes a place",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/nope`);
    const pages: Page[] = [];
    for (let tab = 0; tab < TABS; tab++) pages.push(await openEvents(opened.page, server));
    await opened.page.close(); // which has a place too

    await expect.poll(() => server.eventStreams, { timeout: 20_000 }).toBe(SEEN);
    await expect.poll(() => countLive(pages)).toBe(SEEN);

    server.emit({ type: "turn.start", role: "conversation", session: "s1" });
    await expect.poll(() => countWithEvent(pages)).toBe(SEEN);

    const [first] = pages as [Page];
    await first.evaluate(() => dispatchEvent(new Event("focus")));
    await first.locator(".event-row").waitFor();
    await first.locator(".live-dot").waitFor();
    await expect.poll(() => countLive(pages)).toBe(SEEN);

    // A window that is closed leaves its place to one that waits.
    await first.close();
    await expect.poll(() => countLive(pages.slice(1))).toBe(SEEN);
    await expect.poll(() => countWithEvent(pages.slice(1))).toBeGreaterThanOrEqual(SEEN);
  },
);

async function openEvents(beside: Page, server: DoubleServer): Promise<Page> {
  const page = await beside.context().newPage();
  await page.goto(`${server.url}/events`);
  await page.locator(".live-dot").waitFor();
  return page;
}

async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((now) => {
    Object.assign(window, { isHidden: now });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

async function countWithEvent(tabs: readonly Page[]): Promise<number> {
  const counts = await Promise.all(tabs.map((tab) => tab.locator(".event-row").count()));
  return counts.filter((count) => count > 0).length;
}

async function countLive(pages: readonly Page[]): Promise<number> {
  const counts = await Promise.all(pages.map((page) => page.locator(".live-dot").count()));
  return counts.filter((count) => count > 0).length;
}
