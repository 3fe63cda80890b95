import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { openPage, violations, type OpenedPage } from "../browser.ts";

/** A window of a person who has said who they are. */
export async function visit(
  browser: Browser,
  person: string,
  { url, ...options }: BrowserContextOptions & { url: string },
): Promise<OpenedPage> {
  const opened = await openPage(browser, url, options);
  await opened.page.getByRole("textbox", { name: /^(?:이름|Name)$/ }).fill(person);
  await opened.page.keyboard.press("Enter");
  await field(opened.page).waitFor();
  return opened;
}

export function field(page: Page): Locator {
  return page.getByRole("textbox", { name: /메시지 쓰기|Write a message/ });
}

export async function say(page: Page, message: string): Promise<void> {
  await field(page).fill(message);
  await page.keyboard.press("Enter");
}

/** The newest message with this text. */
export function messageWith(page: Page, text: string): Locator {
  return page
    .locator(".room-message", { has: page.locator(".markdown", { hasText: text }) })
    .last();
}

/** The sign of a message that says what agents did with it. */
export function roleMark(message: Locator, words: RegExp): Locator {
  return message.getByRole("button", { name: words });
}

export async function expectWellMade({ page, complaints }: OpenedPage): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
  expect(complaints).toEqual([]);
}
