// @module-tag slow
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL, sampled } from "../../dure/src/kernel/test-tiers.ts";
import { eventually } from "../../dure/test/until.ts";
import { TEXTS } from "./texts.ts";
import type { Language } from "../src/words.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";
import { addTexts, collectGiven, foreignWords, shownOn } from "./languages/foreign-words.ts";
import { answerRecords, OWN_WORDS, startServer, VISITS } from "./languages/pages.ts";

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

describe("a word in the wrong language", () => {
  const none = new Set<string>();

  test.each([
    ["ko", "Retry", true],
    ["ko", "방 2 unread", true],
    ["ko", "Enter로 보내고 Shift+Enter로 줄을 바꿔요", false],
    ["en", "다시 시도", true],
    ["en", "2 건", true],
    ["en", "Retry", false],
  ] as const)("on a page in %s: “%s” is found (%s)", (language, words, isForeign) => {
    expect(foreignWords([words], language, none)).toEqual(isForeign ? [words] : []);
  });

  test("is not what the server sent: names, ids, codes and what people wrote", () => {
    const given = new Set(["루다", "job_1", "Support desk"]);

    expect(foreignWords(["Pause: 루다 · web"], "en", given)).toEqual([]);
    expect(foreignWords(["멈추기: Support desk (job_1)"], "ko", given)).toEqual([]);
    expect(foreignWords(["멈추기: Support"], "ko", given)).toEqual(["멈추기: Support"]);
  });

  test("is also one that the server happens to send, if it is a whole sentence of ours", () => {
    const word = TEXTS.en.jobs.waitsForPerson;

    expect(foreignWords([word], "ko", new Set([word]))).toEqual([word]);
  });
});

const SHOWN = sampled(VISITS, 4);

describe.each([
  ["ko", "ko-KR"],
  ["en", "en-US"],
] as const)("pages in %s", (language, locale) => {
  const options = { ...SHOWN.options, timeout: 60_000 };

  test.each(SHOWN.rows)("$name: every word of ours is in it", options, async (visit) => {
    await using server = await startServer(site);
    await using opened = await openPage(browser, `${server.url}/events`, { locale });
    const { page } = opened;
    const { given, settle } = collectGiven(page);
    await answerRecords(page);

    await page.goto(server.url + visit.path);
    await page.locator(visit.ready).first().waitFor();
    await expectOnlyOwnWords(page, language, { given, settle });
    for (const place of visit.open ?? []) {
      await page.locator(place).first().click();
      await expectOnlyOwnWords(page, language, { given, settle });
    }
  });

  test(
    "a conversation and its panel: every word of ours is in it",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await startServer(site);
      await using opened = await openPage(browser, `${server.url}/chat`, { locale });
      const { page } = opened;
      const { given, settle } = collectGiven(page);
      const words = TEXTS[language];
      await page.getByLabel(words.chat.placeholder).fill("엄마에게 5만원 보내줘");
      await page.getByLabel(words.chat.placeholder).press("Enter");
      await page.locator(".message[data-role=assistant]").first().waitFor();
      await page.getByText(words.chat.inputHint).waitFor();
      await page.waitForURL(/\/chat\/.+/);
      await page.reload();
      await page.locator(".message[data-role=assistant]").first().waitFor();

      for (const tab of ["agents", "state", "memory", "trace"] as const) {
        await page.getByRole("tab", { name: words.panel[tab] }).click();
        await expectOnlyOwnWords(page, language, { given, settle }, SERVICE_WORDS);
      }
    },
  );

  test("the login: every word of ours is in it", { timeout: 60_000 }, async () => {
    await using server = await new DoubleServer({ site, token: "secret" }).start();
    await using opened = await openPage(browser, server.url, { locale });
    await opened.page.getByRole("button", { name: TEXTS[language].shell.login.submit }).waitFor();

    expect(foreignWords(await shownOn(opened.page), language, new Set(["두레"]))).toEqual([]);
  });
});

/**
 * Fails where a page keeps a word of the other language. What the server sent is read after what is
 * shown, and the look is taken again: an answer may be on the page before this side has read it.
 */
async function expectOnlyOwnWords(
  page: Page,
  language: Language,
  sent: ReturnType<typeof collectGiven>,
  written?: ReadonlySet<string>,
): Promise<void> {
  const loader = page.locator("[role=status].mantine-Loader-root");
  await page.waitForLoadState("domcontentloaded");
  await eventually(
    async () => {
      await loader.first().waitFor({ state: "detached" });
      const shown = await shownOn(page);
      await sent.settle();
      addTexts(OWN_WORDS, sent.given);

      expect(foreignWords(shown, language, sent.given, written)).toEqual([]);
    },
    { everyMs: 250 },
  );
}

/** Buttons and slots of the service of the double, which names them in Korean. */
const SERVICE_WORDS = new Set(["확인", "취소", "받는 분", "금액", "메모", "보낼 날짜"]);
