/**
 * Pictures of files in a room, for human eyes: chosen, on their way, refused, too many, shown:
 * `node --conditions=dure-source test/look-room-files.ts FOLDER [390-dark-ko …]`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { launchBrowser, openPage, siteInPackage, violations } from "./browser.ts";
import { choose, hand, image, textFile } from "./rooms/files.ts";
import { startRoomsTeam } from "./rooms/team.ts";

const [folder = "pictures", ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
await siteInPackage();
const browser = await launchBrowser();
try {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"] as const) {
      for (const locale of ["ko", "en"] as const) {
        const name = `${width}-${scheme}-${locale}`;
        if (wanted.length === 0 || wanted.includes(name)) await pictures(width, scheme, locale);
      }
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
  await using server = await startRoomsTeam({ locale });
  const path = `${server.url}/rooms/web%3Ageneral`;
  const viewport = { width, height: 760 };
  await using opened = await openPage(browser, path, { viewport, colorScheme, locale });
  const { page } = opened;
  const look = async (what: string): Promise<void> => {
    const name = join(folder, `${what}-${width}-${colorScheme}-${locale}.png`);
    await page.waitForTimeout(400);
    await page.screenshot({ path: name });
    for (const one of await violations(page)) console.log(name, one);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) console.log(name, `is ${over} px too wide`);
  };
  await enter(page, "민준");
  await choose(page, [image("화면 2026-11-29.png", [42, 120, 90])]);
  await hand(page, "paste", image("붙여 넣은 것.png", [180, 90, 40]));
  await hand(
    page,
    "drop",
    textFile("a very long name of a report of the last quarter, final 2.txt"),
  );
  await page.waitForFunction(() => document.querySelectorAll(".file-tray progress").length === 0);
  await look("1-chosen");
  await page.keyboard.press("Enter");
  await page.locator(".file-links img").first().waitFor();
  await page.getByText("루다의 답입니다").first().waitFor();
  await look("2-shown");
  await page.route("**/files?*", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await route.continue();
  });
  await choose(page, [image("느린 것.png", [90, 40, 160])]);
  await look("3-on-its-way");
  await page.unrouteAll({ behavior: "wait" });
  const program = { name: "run.exe", mimeType: "application/x-msdownload" };
  await choose(page, [
    { ...program, buffer: Buffer.from([0x4d, 0x5a, 0, 1]) },
    { name: "large.png", mimeType: "image/png", buffer: large(2_000_000) },
    textFile("ok.txt"),
  ]);
  await page.locator(".file-problem").nth(1).waitFor();
  await look("4-refused");
  await choose(
    page,
    Array.from({ length: 9 }, (_none, index) => textFile(`${index + 1}.txt`)),
  );
  await page.locator(".file-note span").first().waitFor();
  await look("5-too-many");
  for (const complaint of opened.complaints) {
    console.log(`${width}-${colorScheme}-${locale}`, complaint);
  }
}

function large(bytes: number): Buffer {
  const { buffer } = image("", [1, 2, 3]);
  return Buffer.concat([buffer, Buffer.alloc(bytes, 1)]);
}

async function enter(page: Page, name: string): Promise<void> {
  await page.getByRole("textbox", { name: /^(이름|Name|Your name)$/ }).fill(name);
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: /메시지 쓰기|Write a message/ }).waitFor();
}
