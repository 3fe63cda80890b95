import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  type OpenedPage,
} from "./browser.ts";

/** For a test over the real server. */
export const SLOW = { timeout: 90_000 } as const;

/** A browser for the tests of one file, whose servers answer with the built page. */
export function realPages(): { readonly open: (url: string) => Promise<OpenedPage> } {
  let browser: Browser | undefined;
  beforeAll(async () => {
    await siteInPackage();
    browser = await launchBrowser();
  }, SLOW_HOOK_MS);
  afterAll(() => browser?.close());

  return { open: (url) => openPage(browser!, url) };
}
