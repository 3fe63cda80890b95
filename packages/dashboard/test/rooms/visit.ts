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

/** Whose side is shorter than this: what is pressed, and is shown. Links in words are none. */
export function smallTargets(page: Page, least: number): Promise<readonly string[]> {
  return page.evaluate((side) => {
    const pressed = "button, input, summary, label, a:not(.markdown a)";
    return [...document.querySelectorAll<HTMLElement>(pressed)].flatMap((element) => {
      const { width, height } = element.getBoundingClientRect();
      const isShown = element.checkVisibility({ visibilityProperty: true });
      const isHidden = width <= 1 || getComputedStyle(element).pointerEvents === "none";
      const isLarge = width >= side && height >= side;
      if (!isShown || isHidden || isLarge) return [];
      return [`${element.className || element.tagName} ${Math.round(width)}x${Math.round(height)}`];
    });
  }, least);
}

/** Parts that reach over the right edge of the page, or hold more than they show across. */
function wideParts(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("body *")].flatMap((element) => {
      const { right, width } = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      const isMeant = style.overflowX !== "visible" || style.clipPath !== "none" || width <= 1;
      const isOver = right > innerWidth + 1 && width > 0 && element.checkVisibility();
      const holdsMore = !isMeant && element.scrollWidth > element.clientWidth + 1;
      const isInline = style.display === "inline" || element instanceof SVGElement;
      if ((!isOver && !(holdsMore && !isInline)) || isMeant) return [];
      return [`${element.className || element.tagName} reaches ${Math.round(right)} px`];
    }),
  );
}

/**
 * What a person may trip over on a page of rooms. The button that leads to the newest message floats
 * over words that are scrolled from under it, so it is looked at by itself.
 */
export async function faultsOf(
  { page, complaints }: OpenedPage,
  { isTouch }: { isTouch: boolean },
): Promise<readonly string[]> {
  const float = page.locator(".room-newer");
  const faults = [...complaints, ...(await wideParts(page))];
  if (isTouch) faults.push(...(await smallTargets(page, 44)));
  if ((await float.count()) > 0) faults.push(...(await violations(page, ".room-newer")));
  const show = (visibility: string): Promise<void> =>
    float.evaluateAll((all: HTMLElement[], how) => {
      for (const one of all) one.style.visibility = how;
    }, visibility);
  await show("hidden");
  faults.push(...(await violations(page)));
  await show("");
  return faults;
}
