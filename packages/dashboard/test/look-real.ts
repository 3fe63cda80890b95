/**
 * Pictures of the dashboard over the real server, for human eyes:
 * `node --conditions=dure-source test/look-real.ts FOLDER [1280-light …]`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startBank } from "../../../examples/transfer/bank/bank.ts";
import { testDatabaseUrl } from "../../dure/src/durable/test-database.ts";
import { launchBrowser, openPage, siteInPackage, violations } from "./browser.ts";
import { ServerProcess } from "./real/server-process.ts";

const [folder = "pictures", ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
await siteInPackage();
await using database = await testDatabaseUrl();
const bank = await startBank();
await using server = await ServerProcess.start({ DATABASE_URL: database.url, BANK_URL: bank.url });
const browser = await launchBrowser();
try {
  for (const width of [1280, 360]) {
    for (const scheme of ["light", "dark"] as const) {
      if (wanted.length === 0 || wanted.includes(`${width}-${scheme}`)) {
        await pictures(width, scheme);
      }
    }
  }
} finally {
  await browser.close();
  await bank.stop();
}

async function pictures(width: number, colorScheme: "light" | "dark"): Promise<void> {
  await using opened = await openPage(browser, `${server.url}/chat`, {
    viewport: { width, height: width > 600 ? 860 : 760 },
    colorScheme,
  });
  const { page } = opened;
  /**
   * A picture, and what axe has to say; in mid-stream only the picture, because the stream does not
   * wait.
   */
  const look = async (what: string, { hurried = false } = {}): Promise<void> => {
    const name = join(folder, `${what}-${width}-${colorScheme}.png`);
    await page.screenshot({ path: name });
    if (hurried) return;
    for (const one of await violations(page)) console.log(name, one);
  };
  await page.getByRole("heading", { name: "무엇을 도와드릴까요?" }).waitFor();
  await look("1-welcome");
  await say(page, "홍길동에게 5만원 보내줘");
  await page.getByRole("button", { name: "확인", exact: true }).waitFor();
  await panel(page, "상태");
  await look("2-confirm-state");
  await closePanel(page);
  await say(page, "네 보내주세요");
  await page.getByText("거래 번호").first().waitFor();
  await page.waitForTimeout(300);
  await look("3-receipt");
  await panel(page, "에이전트");
  await look("4-agents");
  await panel(page, "추적");
  await look("5-trace");
  await panel(page, "기억");
  await look("6-memory");
  await closePanel(page);
  await say(page, "엄마에게 3만원, 부자에게 2천만원, 민지에게 2만원 보내줘");
  await page.getByRole("button", { name: "확인", exact: true }).click();
  await page.getByText("(2/3)").first().waitFor();
  await page.getByRole("button", { name: "확인", exact: true }).click();
  await page.getByRole("button", { name: "계속 진행" }).waitFor();
  await panel(page, "상태");
  await look("7-batch");
  await closePanel(page);
  await page.getByRole("button", { name: "계속 진행" }).click();
  await page.getByText("(3/3)").first().waitFor();
  await page.getByRole("button", { name: "확인", exact: true }).click();
  await page.getByText("모두 3건").waitFor();
  await panel(page, "상태");
  await look("8-batch-end");
  await closePanel(page);

  await page.goto(`${server.url}/chat`);
  await page.getByRole("button", { name: /^창구/ }).click();
  await say(page, "환불해줘");
  await page.getByText("승인이 필요해요").first().waitFor();
  await page.waitForTimeout(700);
  await look("9-approval");
  await say(page, "소포 보내줘");
  await page.getByText("EFFECT_UNKNOWN").first().waitFor();
  await say(page, "고장 내줘");
  await page.getByText("MODEL_").first().waitFor();
  await say(page, "천천히 설명해줘");
  await page.getByText("3번째").waitFor();
  await look("10-streaming", { hurried: true });
  await page.getByRole("button", { name: "멈추기" }).click();
  await page.getByText("여기서 멈췄어요").waitFor();
  await look("11-errors");
  await page.goto(`${server.url}/events`);
  await page.getByText("받는 중").waitFor();
  await page.waitForTimeout(900);
  await look("12-events");
  await page.goto(`${server.url}/escalations`);
  await page.waitForTimeout(900);
  await look("13-escalations");
  if (width < 600) {
    await page.getByRole("button", { name: "메뉴 열기" }).click();
    await page.waitForTimeout(300);
    await look("14-menu");
  }
  for (const complaint of opened.complaints) console.log(`${width}-${colorScheme}`, complaint);
}

async function say(page: Page, message: string): Promise<void> {
  await page.getByRole("textbox", { name: "메시지 쓰기" }).fill(message);
  await page.keyboard.press("Enter");
}

async function panel(page: Page, tab: string): Promise<void> {
  const opener = page.getByRole("button", { name: "자세히", exact: true });
  if ((await page.getByRole("dialog").count()) === 0 && (await opener.isVisible())) {
    await opener.click();
  }
  await page.getByRole("tab", { name: tab }).click();
  await page.waitForTimeout(150);
}

async function closePanel(page: Page): Promise<void> {
  if ((await page.getByRole("dialog").count()) === 0) return;
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}
