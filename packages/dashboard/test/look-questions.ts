/**
 * Pictures of a question in a room, for human eyes: who was asked, who was not, and its end:
 * `node --conditions=dure-source test/look-questions.ts FOLDER`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { launchBrowser, openPage, siteInPackage, violations } from "./browser.ts";
import { startRoomsTeam } from "./rooms/team.ts";

const [folder = "pictures"] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
await siteInPackage();
const browser = await launchBrowser();
try {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"] as const) {
      await pictures(width, scheme, scheme === "light" ? "ko" : "en");
    }
  }
} finally {
  await browser.close();
}

async function pictures(
  width: number,
  colorScheme: "light" | "dark",
  locale: "ko" | "en",
): Promise<void> {
  await using server = await startRoomsTeam({ locale, teller: true });
  const path = `${server.url}/rooms/web%3Ageneral`;
  const viewport = { width, height: 760 };
  await using opened = await openPage(browser, path, { viewport, colorScheme, locale });
  await using other = await openPage(browser, path, { viewport, colorScheme, locale });
  const { page } = opened;
  const look = async (at: Page, what: string): Promise<void> => {
    const name = join(folder, `${what}-${width}-${colorScheme}-${locale}.png`);
    await at.waitForTimeout(400);
    await at.screenshot({ path: name });
    for (const one of await violations(at)) console.log(name, one);
    const over = await at.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) console.log(name, `is ${over} px too wide`);
  };
  await enter(page, "민준");
  await enter(other.page, "서연");
  await say(page, "@가람 홍길동 님에게 점심값 5만원 보내줘");
  const yes = page.getByRole("button", { name: /^(승인|Approve)$/ });
  await yes.waitFor();
  await look(page, "1-asked");
  await other.page.getByText(/물어본 분만|Only the person/).waitFor();
  await look(other.page, "2-other");
  await yes.focus();
  await page.keyboard.press("Enter");
  await page.getByText(/승인했어요|approved it/).waitFor();
  await page.getByText(/tx_1/).waitFor();
  await look(page, "3-answered");
  console.log(await page.evaluate(() => document.activeElement?.className));
  for (const complaint of [...opened.complaints, ...other.complaints]) {
    console.log(`${width}-${colorScheme}`, complaint);
  }
}

async function enter(page: Page, name: string): Promise<void> {
  await page.getByRole("textbox", { name: /^(이름|Name|Your name)$/ }).fill(name);
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: /메시지 쓰기|Write a message/ }).waitFor();
}

async function say(page: Page, message: string): Promise<void> {
  await page.getByRole("textbox", { name: /메시지 쓰기|Write a message/ }).fill(message);
  await page.keyboard.press("Enter");
}
