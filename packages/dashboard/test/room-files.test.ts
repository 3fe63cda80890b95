// @module-tag slow
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  violations,
  type OpenedPage,
} from "./browser.ts";
import { choose, hand, handLarge, image, textFile } from "./rooms/files.ts";
import { startRoomsTeam, type RoomsTeam } from "./rooms/team.ts";

const world = new AsyncDisposableStack();
let browser: Browser;
let server: RoomsTeam;

beforeAll(async () => {
  const starting = siteInPackage().then(() => startRoomsTeam());
  [browser, server] = await Promise.all([launchBrowser(), starting]);
  world.use(server);
  world.defer(() => browser.close());
}, SLOW_HOOK_MS);

afterAll(() => world.disposeAsync());

const GREEN = image("화면.png", [42, 120, 90]);
const PROGRAM = {
  name: "run.exe",
  mimeType: "application/x-msdownload",
  buffer: Buffer.from([0x4d, 0x5a, 0, 1]),
};

/** A window of a person who has said who they are. */
async function enter(person: string, path = "/rooms/web%3Ageneral"): Promise<OpenedPage> {
  const opened = await openPage(browser, server.url + path);
  await opened.page.getByRole("textbox", { name: "이름" }).fill(person);
  await opened.page.keyboard.press("Enter");
  await field(opened.page).waitFor();
  return opened;
}

function field(page: Page) {
  return page.getByRole("textbox", { name: "메시지 쓰기" });
}

function tray(page: Page) {
  return page.getByRole("list", { name: "이 메시지의 파일" });
}

function sendButton(page: Page) {
  return page.getByRole("button", { name: "보내기" });
}

/** Width of the image as the browser has decoded it; 0: it could not be read. */
async function widthOf(page: Page, name: string): Promise<number> {
  const shown = page.getByRole("img", { name });
  await shown.waitFor();
  return shown.evaluate(async (element) => {
    const picture = element as HTMLImageElement;
    await picture.decode().catch(() => {});
    return picture.naturalWidth;
  });
}

async function expectWellMade({ page, complaints }: OpenedPage): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
}

test("files of a message in a chat reach the agent and are shown, also after a reload", async () => {
  await using opened = await openPage(browser, `${server.url}/chat`);
  const { page, complaints } = opened;
  const own = page.locator('.message[data-role="user"]');
  await field(page).waitFor();

  await choose(page, [GREEN]);
  await hand(page, "paste", textFile("보고서.txt"));
  await expect.poll(() => tray(page).getByRole("listitem").count()).toBe(2);
  await expect.poll(() => sendButton(page).isEnabled()).toBe(true);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Enter");

  await own.getByRole("link", { name: "보고서.txt" }).waitFor();
  expect(await widthOf(page, "화면.png")).toBe(240);
  expect(await page.locator(".composer").getByRole("list").count()).toBe(0);
  await page.locator('.message[data-role="assistant"] time').waitFor();
  await page.reload();
  await own.getByRole("link", { name: "보고서.txt" }).waitFor();
  expect(await widthOf(page, "화면.png")).toBe(240);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

describe("files of a message in a room", { timeout: 60_000 }, () => {
  test("are chosen, pasted and dropped, and shown to all who see the room", async () => {
    await using first = await enter("민준");
    await using second = await enter("서연");
    const { page } = first;

    await choose(page, [GREEN]);
    await hand(page, "paste", image("붙임.png", [180, 90, 40]));
    await hand(page, "drop", textFile("보고서.txt"));
    await expect.poll(() => tray(page).getByRole("listitem").count()).toBe(3);
    await expect.poll(() => sendButton(page).isEnabled()).toBe(true);
    await expectWellMade(first);
    await page.keyboard.press("Enter");

    expect(await widthOf(second.page, "화면.png")).toBe(240);
    expect(await widthOf(second.page, "붙임.png")).toBe(240);
    await second.page.getByRole("link", { name: "보고서.txt" }).waitFor();
    expect(await tray(page).count()).toBe(0);
    await expectWellMade(second);
  });

  test("are shown in a direct room to its person, who has no login", FULL, async () => {
    const { id } = await server.team.rooms!.direct({ tenant: "", person: "지우" }, "ruda");
    await using opened = await enter("지우", `/rooms/${id}`);
    const { page } = opened;

    await choose(page, [GREEN]);
    await field(page).fill("이것 좀 봐 주세요");
    await expect.poll(() => sendButton(page).isEnabled()).toBe(true);
    await page.keyboard.press("Enter");

    expect(await widthOf(page, "화면.png")).toBe(240);
    await page.reload();
    expect(await widthOf(page, "화면.png")).toBe(240);
    const address = await page.getByRole("img", { name: "화면.png" }).getAttribute("src");
    const [url] = address!.split("?");
    expect((await page.request.get(`${server.url}${url}?as_person=other`)).status()).toBe(404);
    await expectWellMade(opened);
  });

  test("that are refused keep the message until they are removed", async () => {
    await using opened = await enter("하늘");
    const { page } = opened;

    await choose(page, [PROGRAM, textFile("맞는 것.txt")]);
    await field(page).fill("같이 보내요");
    await tray(page).getByText("run.exe 파일은 받지 않는 종류예요.").waitFor();
    await page.keyboard.press("Enter");

    await page.getByText("올리지 못한 파일이 있어요.").waitFor();
    expect(await sendButton(page).isEnabled()).toBe(false);
    expect(await field(page).inputValue()).toBe("같이 보내요");
    await expectWellMade(opened);
    await page.getByRole("button", { name: "run.exe 빼기" }).click();
    await sendButton(page).click();
    await page.getByRole("link", { name: "맞는 것.txt" }).waitFor();
  });

  test("that found no server are uploaded again by a button", FULL, async () => {
    await using opened = await enter("별");
    const { page } = opened;
    await page.route("**/files?*", (route) => route.abort(), { times: 1 });

    await choose(page, [GREEN]);
    await page.getByRole("button", { name: "화면.png 다시 올리기" }).click();

    await expect.poll(() => sendButton(page).isEnabled()).toBe(true);
  });

  test("beyond ten are said, not dropped in silence", FULL, async () => {
    await using opened = await enter("봄");
    const { page } = opened;
    const twelve = Array.from({ length: 12 }, (_none, index) => textFile(`${index}.txt`));

    await choose(page, twelve);

    await page.getByText("나머지 2개는 첨부하지 않았어요.").waitFor();
    expect(await tray(page).getByRole("listitem").count()).toBe(10);
    await expectWellMade(opened);
  });

  test("of a body larger than any that is taken are refused in words", FULL, async () => {
    await using opened = await enter("가을");
    const { page } = opened;

    await handLarge(page, "큰 것.png", 30_000_000);

    await tray(page).getByText("파일이 너무 커요.").waitFor();
    expect(await sendButton(page).isEnabled()).toBe(false);
  });
});
