/**
 * Pictures of rooms and agents over the real server, for human eyes:
 * `node --conditions=dure-source test/look-rooms.ts FOLDER [1360-light …]`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { launchBrowser, openPage, siteInPackage, violations } from "./browser.ts";
import { startRoomsTeam } from "./rooms/team.ts";

const [folder = "pictures", ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
await siteInPackage();
const browser = await launchBrowser();
try {
  for (const width of [1360, 360]) {
    for (const scheme of ["light", "dark"] as const) {
      if (wanted.length === 0 || wanted.includes(`${width}-${scheme}`)) {
        await pictures(width, scheme);
      }
    }
  }
} finally {
  await browser.close();
}

async function pictures(width: number, colorScheme: "light" | "dark"): Promise<void> {
  await using server = await startRoomsTeam();
  await using opened = await openPage(browser, `${server.url}/`, {
    viewport: { width, height: width > 600 ? 880 : 760 },
    colorScheme,
  });
  await using other = await openPage(browser, `${server.url}/rooms`, {
    viewport: { width: 1280, height: 800 },
  });
  const { page } = opened;
  const look = async (what: string): Promise<void> => {
    const name = join(folder, `${what}-${width}-${colorScheme}.png`);
    await page.screenshot({ path: name });
    for (const one of await violations(page)) console.log(name, one);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) console.log(name, `is ${over} px too wide`);
  };
  await page.getByRole("textbox", { name: "이름" }).waitFor();
  await look("1-name");
  await enter(page, "민준");
  await enter(other.page, "서연");
  await look("2-empty");
  await say(page, "오늘 배포해도 될까요? 아침 회의 전에 알고 싶어요.");
  await page.getByText("루다의 답입니다").first().waitFor();
  await say(other.page, "@이든 @세움 **결제 모듈**도 같이 봐 주세요.\n- 금액 검증\n- 재시도 규칙");
  await page.getByText("세움의 답입니다").waitFor();
  await say(page, "@루다 이든에게 로그인 검토를 부탁해줘");
  await page.getByText("스레드에서 이어집니다").waitFor();
  await page.getByText("님이 답했어요").waitFor();
  await say(other.page, "@루다 지금까지를 표로 정리해 줘요");
  await page.getByText("배포는 월요일입니다").waitFor();
  await page.waitForTimeout(800);
  await look("3-channel");
  await page.getByRole("textbox", { name: "메시지 쓰기" }).focus();
  for (let tab = 0; tab < 6; tab++) await page.keyboard.press("Shift+Tab");
  await page.waitForTimeout(200);
  await look("4-reason");
  await say(page, "@이든 천천히 봐 줘요");
  await page.locator(".room-writing", { hasText: "작성 중" }).waitFor();
  await page.getByRole("textbox", { name: "메시지 쓰기" }).pressSequentially("@");
  await look("5-completion");
  await page.keyboard.press("Escape");
  await page.getByRole("textbox", { name: "메시지 쓰기" }).fill("");
  await say(page, "@루다 이든에게 끝없이 이야기하자고 부탁해줘");
  const opener = page.getByRole("button", { name: "스레드와 참여자 보기" });
  if (await opener.isVisible()) await opener.click();
  await page.waitForTimeout(1500);
  await look("6-panel");
  await page
    .getByRole("link", { name: /끝없이/ })
    .last()
    .click();
  await page.getByText("쉬고 있어요").waitFor();
  await page.waitForTimeout(600);
  if ((await page.getByRole("dialog").count()) > 0) await page.keyboard.press("Escape");
  await look("7-thread");
  console.log(
    JSON.stringify(
      (await (await fetch(`${server.url}/v1/escalations`)).json()).items?.map(
        (one: { type: string; title: string }) => [one.type, one.title],
      ),
    ),
  );
  await page.goto(`${server.url}/agents`);
  await page.getByRole("article", { name: "루다" }).waitFor();
  await look("8-agents");
  if (width < 600) {
    await page.goto(`${server.url}/rooms`);
    await page.getByRole("button", { name: "메뉴 열기" }).click();
    await page.waitForTimeout(300);
    await look("9-menu");
  }
  for (const complaint of [...opened.complaints, ...other.complaints]) {
    console.log(`${width}-${colorScheme}`, complaint);
  }
}

async function enter(page: Page, name: string): Promise<void> {
  await page.getByRole("textbox", { name: "이름" }).fill(name);
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "메시지 쓰기" }).waitFor();
}

async function say(page: Page, message: string): Promise<void> {
  await page.getByRole("textbox", { name: "메시지 쓰기" }).fill(message);
  await page.getByRole("button", { name: "보내기" }).click();
}
