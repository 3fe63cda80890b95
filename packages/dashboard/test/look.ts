/**
 * Takes pictures of the dashboard for human eyes:
 * `node --conditions=dure-source test/look.ts FOLDER`. With `serve` instead of a folder it only
 * serves the built dashboard with the scripted double.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { buildSite, launchBrowser, openPage, violations } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";

/** One kind of event for each role. */
const KINDS = [
  { type: "turn.accepted", role: "conversation" },
  { type: "job.started", role: "delegation" },
  { type: "plan.port_done", role: "orchestration" },
  { type: "process.started", role: "system" },
];

const folder = process.argv[2] ?? "serve";
const { site, remove } = await buildSite();
if (folder === "serve") {
  const server = await new DoubleServer({ site, tokenMs: 25, port: 4601 }).start();
  console.log(`dashboard on ${server.url}`);
} else {
  await mkdir(folder, { recursive: true });
  const browser = await launchBrowser();
  for (const width of [1280, 360]) {
    for (const colorScheme of ["light", "dark"] as const) await pictures(width, colorScheme);
  }
  await browser.close();
  await remove();

  async function pictures(width: number, colorScheme: "light" | "dark"): Promise<void> {
    await using server = await new DoubleServer({ site, tokenMs: 2 }).start();
    const name = (what: string): string => join(folder, `${what}-${width}-${colorScheme}.png`);
    await using opened = await openPage(browser, `${server.url}/chat`, {
      viewport: { width, height: width > 600 ? 820 : 740 },
      colorScheme,
    });
    const { page } = opened;
    const look = async (what: string): Promise<void> => {
      await page.screenshot({ path: name(what) });
      for (const one of await violations(page)) console.log(name(what), one);
    };
    await page.getByRole("heading", { name: "무엇을 도와드릴까요?" }).waitFor();
    await look("1-welcome");
    await say(page, "세 명에게 한꺼번에 보내줘");
    await page.getByRole("button", { name: "확인", exact: true }).click();
    await page.getByText("민지님에게").waitFor();
    await panel(page, "상태");
    await look("2-state");
    await closePanel(page);
    await say(page, "한도를 마크다운으로 알려줘");
    await page.getByText("한도 안내").waitFor();
    await say(page, "실패하면 어떻게 돼?");
    await page.getByText("LLM_TIMEOUT").first().waitFor();
    await look("3-chat");
    await say(page, "길게 설명해줘");
    await page.getByText("5번째 문장").waitFor();
    await say(page, "그리고 하나 더 물어볼게");
    await page.getByText("차례를 기다리는 중").waitFor();
    await panel(page, "에이전트");
    await look("4-running");
    await closePanel(page);
    await page.getByRole("button", { name: "멈추기" }).click();
    await page.getByText("여기서 멈췄어요").waitFor();
    await panel(page, "추적");
    await look("5-trace");
    await page.getByRole("tab", { name: "기억" }).click();
    await page.getByText("엄마와 민지").waitFor();
    await look("6-memory");
    await page.goto(`${server.url}/events`);
    await page.getByText("받는 중").waitFor();
    for (let index = 0; index < 60; index++) {
      server.emit({
        ...KINDS[index % KINDS.length]!,
        session: `s${index}`,
        data: { step: index, note: "잘 되고 있어요" },
      });
    }
    await page.getByText("step=59").waitFor();
    await page.getByText("step=57").click();
    await look("7-events");
    if (width < 600) {
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "메뉴 열기" }).click();
      await page.getByRole("dialog").waitFor();
      await page.getByRole("dialog").getByRole("link", { name: "대화" }).click();
      await page.getByRole("heading", { name: "무엇을 도와드릴까요?" }).waitFor();
      await page.getByRole("button", { name: "메뉴 열기" }).click();
      await page.getByRole("dialog").getByText("세 명에게").waitFor();
      await look("8-menu");
    }
    for (const complaint of opened.complaints) console.log(name("?"), complaint);
  }
}

async function say(page: Page, message: string): Promise<void> {
  await page.getByRole("textbox", { name: "메시지 쓰기" }).fill(message);
  await page.keyboard.press("Enter");
}

async function panel(page: Page, tab: string): Promise<void> {
  const opener = page.getByRole("button", { name: "자세히", exact: true });
  if (await opener.isVisible()) await opener.click();
  await page.getByRole("tab", { name: tab }).click();
  await page.waitForTimeout(150);
}

async function closePanel(page: Page): Promise<void> {
  if ((await page.getByRole("dialog").count()) === 0) return;
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}
