import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { toWire } from "../../dure/src/kernel/wire.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS, violations } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";
import { ESCALATIONS } from "./languages/records.ts";
import { runInTheMiddle } from "./plans/runs.ts";

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

test(
  "one finds and opens things by keyboard, sees the keys, and the title counts what waits",
  { ...FULL, timeout: 90_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    runInTheMiddle(server, "run_1");
    await using opened = await openPage(browser, `${server.url}/costs`);
    const { page } = opened;
    const waiting = ESCALATIONS.filter(({ status }) => status === "open");
    await page.route(/\/v1\/escalations\?/, (route) =>
      route.fulfill({ json: toWire({ items: waiting, nextCursor: null }) }),
    );
    await page.reload();
    const title = `(${waiting.length}) 비용 · dure`;
    await expect.poll(() => page.title(), { timeout: 20_000 }).toBe(title);

    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "단축키" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });

    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: /찾기/ });
    await field.fill("run_1");
    await page.getByRole("option", { name: /run_1.*계획 실행/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/plans\/runs\/run_1/);
    await expect.poll(() => page.title()).toMatch(/^\(\d+\) /);

    await page.keyboard.press("Control+k");
    await field.fill("송금?");
    await page.getByRole("option", { name: /이벤트에서 “송금\?” 찾기/ }).waitFor();
    expect(await page.getByRole("dialog", { name: "단축키" }).count()).toBe(0);
    await page.keyboard.press("Enter");
    await expect
      .poll(() => page.getByRole("textbox", { name: "받은 이벤트에서 찾기" }).inputValue())
      .toBe("송금?");
    expect(opened.complaints).toEqual([]);
  },
);

test(
  "notifications are asked for by a button alone, and a refusal is said",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/escalations`);
    const { page } = opened;
    await page.addInitScript(() => {
      const asked = { count: 0 };
      Object.assign(window, { asked });
      Notification.requestPermission = async () => {
        asked.count++;
        return "denied";
      };
    });
    await page.reload();
    const button = page.getByRole("button", { name: "알림 받기" });
    await button.waitFor();
    expect(await page.evaluate("asked.count")).toBe(0);

    await button.click();

    await page.getByText("브라우저가 알림을 막고 있어요.").waitFor();
    expect(await page.evaluate("asked.count")).toBe(1);
  },
);

test(
  "a key that is pressed at once, before the page has all its parts, opens too",
  FULL,
  async () => {
    await using server = await new DoubleServer({ site }).start();
    await using opened = await openPage(browser, `${server.url}/costs`);
    const { page } = opened;

    await page.getByRole("heading", { name: "비용", exact: true }).waitFor();
    await page.keyboard.press("Control+k");

    const field = page.getByRole("combobox", { name: /찾기/ });
    await field.waitFor();
    expect(await field.count()).toBe(1);
  },
);
