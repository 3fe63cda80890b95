// @module-tag slow
import { DureClient } from "dure/client";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS, violations } from "./browser.ts";
import { startRoomsTeam, type RoomsTeam } from "./rooms/team.ts";

/** Over the real server. */
const SLOW = { timeout: 90_000 } as const;

let browser: Browser;
let team: RoomsTeam;

beforeAll(async () => {
  await siteInPackage();
  [browser, team] = await Promise.all([launchBrowser(), startRoomsTeam()]);
}, SLOW_HOOK_MS);

afterAll(async () => {
  await browser?.close();
  await team?.[Symbol.asyncDispose]();
});

test("a stored answer is replayed with a named model, beside the first", SLOW, async () => {
  const client = new DureClient({ baseUrl: team.url });
  const sent = client.sendMessage({
    sessionId: "played",
    service: "faq",
    message: "배송 언제 와요?",
  });
  const { message } = await sent.done;
  const turn = await sent.turnId;
  await using opened = await openPage(browser, `${team.url}/chat/played`);
  const { page, complaints } = opened;

  await page.getByRole("tab", { name: "추적" }).click();
  await page.getByRole("link", { name: "다른 모델이나 프롬프트로 다시 해 보기" }).click();
  await page.waitForURL(`**/replay/${turn}`);
  const stored = page.getByRole("region", { name: "저장된 답" });
  await stored.waitFor();
  await expect.poll(() => stored.innerText()).toContain(message.split("\n")[0]);
  await page.getByRole("textbox", { name: "모델" }).fill("offline:examples");
  await page.getByRole("button", { name: "다시 해 보기" }).click();

  const replayed = page.getByRole("region", { name: "다시 한 답" });
  await replayed.waitFor({ timeout: 30_000 });
  await expect.poll(() => replayed.innerText()).toContain(message.split("\n")[0]);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  const { items } = await client.audit({ what: "turn.replay" });
  expect(items).toMatchObject([{ subject: turn, outcome: "done" }]);
});

test("a turn that is not there says so", SLOW, async () => {
  await using opened = await openPage(
    browser,
    `${team.url}/replay/turn_01J00000000000000000000000`,
  );

  const title = opened.page.getByRole("heading", { level: 1 });
  await title.waitFor();
  await expect.poll(() => title.innerText()).toBe("다시 해 볼 수 없어요");
});
