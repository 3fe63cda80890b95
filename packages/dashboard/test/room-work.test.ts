// @module-tag slow
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  type OpenedPage,
} from "./browser.ts";
import { startRoomsTeam, type RoomsTeam } from "./rooms/team.ts";
import {
  expectWellMade,
  field,
  messageWith,
  roleMark,
  say,
  smallTargets,
  visit,
} from "./rooms/visit.ts";

/** Rooms as a place to work: what people find, reach and read in a room that has grown. */

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

const GENERAL = "/rooms/web%3Ageneral";
const QUIET = "/rooms/web%3Aquiet";
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** A page that is there before its person has said anything, with channels of other platforms. */
async function withPlatforms(
  path: string,
  options: Parameters<typeof openPage>[2] = {},
): Promise<OpenedPage> {
  const opened = await openPage(browser, `${server.url}/healthz`, options);
  const { page } = opened;
  await page.addInitScript(() => localStorage.setItem("dure-person", "민준"));
  await page.route(/\/v1\/rooms(\?|$)/, async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as { items: { id: string; name: string }[] };
    const general = body.items.find(({ id }) => id === "web:general")!;
    const elsewhere = ["discord", "slack"].flatMap((adapter) =>
      ["general", "design", "ops", "random"].map((name) => ({
        ...general,
        id: `${adapter}:${name}`,
        adapter,
        name,
      })),
    );
    const items = [...body.items.filter((one) => one !== general), { ...general, name: "general" }];
    await route.fulfill({ response, json: { ...body, items: [...items, ...elsewhere] } });
  });
  await page.route(/\/v1\/rooms\/discord(?::|%3A)general\//, (route) =>
    route.fulfill({ json: { items: [], typing: [] } }),
  );
  await page.goto(server.url + path);
  await page.getByRole("log").waitFor();
  opened.complaints.length = 0; // the first page had another address
  return opened;
}

describe("channels of three platforms", { timeout: 60_000 }, () => {
  test("with one name stand under their platforms, and more than half of them are in sight", async () => {
    await using opened = await withPlatforms(GENERAL, { viewport: { width: 1280, height: 760 } });
    const list = opened.page.getByRole("navigation", { name: "방", exact: true });

    await list.getByRole("heading", { name: "Discord" }).waitFor();

    const headings = await list.getByRole("heading").allInnerTexts();
    expect(headings).toEqual(["웹", "Discord", "Slack", "1:1 대화"]);
    const inSight = await list.getByRole("link").evaluateAll((all) => {
      const bottom = document.querySelector(".side-middle")!.getBoundingClientRect().bottom;
      return all.filter((one) => one.getBoundingClientRect().bottom <= bottom).length;
    });
    expect(inSight).toBeGreaterThanOrEqual(9);
    await expectWellMade(opened);
  });

  test(
    "say one thing where nothing was said: that people write on that platform",
    FULL,
    async () => {
      await using opened = await withPlatforms("/rooms/discord%3Ageneral");
      const { page } = opened;

      await page.getByText("이 방은 Discord에 있어요. 글은 그곳에서 써 주세요.").waitFor();

      expect(await page.getByText("아직 메시지가 없어요").count()).toBe(1);
      expect(await page.getByText(/첫 메시지를 남겨 보세요/).count()).toBe(0);
      await expectWellMade(opened);
    },
  );
});

describe("what is pressed", { timeout: 60_000 }, () => {
  test("is at least 44 px for a finger and 24 px for a pointer, in a room and its menu", async () => {
    await using phone = await withPlatforms(GENERAL, { ...PHONE, locale: "ko-KR" });
    const { page } = phone;
    await say(page, "@세움 손가락으로 누를 말");
    await roleMark(messageWith(page, "손가락으로"), /세움 담당 · 답함/).tap();
    await page.getByRole("dialog").getByText("고른 메시지").waitFor();
    expect(await smallTargets(page, 44)).toEqual([]);
    await page.getByRole("button", { name: "스레드와 참여자 닫기" }).tap();
    await messageWith(page, "손가락으로").tap();
    await page.getByRole("button", { name: "민준의 메시지에 답장하기" }).last().tap();
    await page.getByText("민준에게 답장").waitFor();
    expect(await smallTargets(page, 44)).toEqual([]);
    await page.getByRole("button", { name: "메뉴 열기" }).tap();
    expect(await smallTargets(page, 44)).toEqual([]);

    await using desk = await withPlatforms(GENERAL, { viewport: { width: 1280, height: 800 } });

    await messageWith(desk.page, "손가락으로").waitFor();
    expect(await smallTargets(desk.page, 24)).toEqual([]);
    await expectWellMade(phone);
  });
});

describe("a message", { timeout: 60_000 }, () => {
  test("of one line is no higher for its roles, and a notice says that it is one", async () => {
    await using opened = await visit(browser, "민준", { url: server.url + GENERAL });
    const { page } = opened;
    await say(page, "@루다 이든에게 검토를 부탁해줘");
    const notice = page.locator(".room-notice", { hasText: "이든 님이 답했어요" }).last();
    await notice.waitFor();

    await notice.getByText("안내", { exact: true }).waitFor();
    const said = messageWith(page, "검토를 부탁해줘");
    await roleMark(said, /루다 담당 · 답함/).waitFor();
    const [row, words] = await Promise.all([
      said.boundingBox(),
      said.locator(".markdown").boundingBox(),
    ]);

    expect(row!.height - words!.height).toBeLessThan(48);
    await expectWellMade(opened);
  });

  test("is reached by j and k, answered by r, opened by t, and left by Escape", FULL, async () => {
    await using opened = await visit(browser, "민준", { url: server.url + QUIET });
    const { page } = opened;
    const focused = (): Promise<string> =>
      page.evaluate(() => document.activeElement?.closest("li")?.textContent ?? "");
    await say(page, "@세움 첫째 말");
    await messageWith(page, "세움의 답입니다").waitFor();
    await say(page, "@다짐 둘째 말");
    await messageWith(page, "다짐의 답입니다").waitFor();
    await field(page).fill("jk");
    expect(await field(page).inputValue()).toBe("jk"); // they are letters where one writes
    await field(page).fill("");
    await page.getByRole("log").focus();

    await page.keyboard.press("j");
    await expect.poll(focused).toContain("다짐의 답입니다");
    await page.keyboard.press("k");
    await expect.poll(focused).toContain("둘째 말");
    await expectWellMade(opened);
    await page.keyboard.press("r");
    await page.getByText("민준에게 답장").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("민준에게 답장").waitFor({ state: "detached" });

    await page.getByRole("log").focus();
    await page.keyboard.press("k");
    await page.keyboard.press("t");
    await page.getByText("스레드에서 이어 가기").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("스레드에서 이어 가기").waitFor({ state: "detached" });
    await page.getByRole("log").focus();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("고른 메시지에 답장하기").waitFor();
  });
});

/** A room of 500 messages as the server gives them, each by its number. */
async function withLongRoom(page: Page): Promise<void> {
  const message = (seq: number) => ({
    id: `message_${seq}`,
    place: "web:quiet",
    seq,
    author: "하늘",
    author_kind: "person",
    author_name: "하늘",
    text: `${seq}번째 말`,
    mentions: [],
    mark: null,
    reply_to: null,
    delivery: "sent",
    delivery_error: null,
    attachments: [],
    buttons: null,
    at: Date.UTC(2026, 10, 20) + seq * 600_000,
    edited_at: null,
    deleted_at: null,
    roles: [],
    reactions: [],
    thread: null,
  });
  await page.route(/\/v1\/rooms\/web(?::|%3A)quiet\/messages/, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const limit = Number(query.get("limit"));
    const last = Number(query.get("before") ?? 501) - 1;
    const from = query.has("after")
      ? Number(query.get("after")) + 1
      : Math.max(1, last - limit + 1);
    const to = Math.min(500, query.has("after") ? from + limit - 1 : last);
    const items = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => message(from + at));
    await route.fulfill({ json: { items, typing: [] } });
  });
  await page.route(/\/v1\/messages\/message_\d+/, async (route) => {
    const [, seq = "0"] = /message_(\d+)/u.exec(route.request().url()) ?? [];
    await (Number(seq) > 500
      ? route.fulfill({ status: 404, json: { error: { code: "ROOM_MESSAGE_UNKNOWN" } } })
      : route.fulfill({ json: message(Number(seq)) }));
  });
}

describe("the link of a message", { timeout: 60_000 }, () => {
  test("leads to it, lit, also far above what a page loads, and from there to the newest", async () => {
    await using opened = await visit(browser, "민준", { url: server.url + GENERAL });
    const { page } = opened;
    await withLongRoom(page);

    await page.goto(`${server.url}${QUIET}#message_120`);

    const reached = messageWith(page, "120번째 말");
    await reached.and(page.locator("[data-lit]")).waitFor();
    await expect.poll(() => reached.evaluate((row) => row === document.activeElement)).toBe(true);
    expect(await reached.evaluate((row) => row.getBoundingClientRect().top > 0)).toBe(true);
    expect(await messageWith(page, "500번째 말").count()).toBe(0);
    await page.getByRole("button", { name: "이후 메시지 보기" }).click();
    await messageWith(page, "200번째 말").waitFor();
    await expectWellMade(opened);
    await page.getByRole("button", { name: "맨 아래로" }).click();
    await messageWith(page, "500번째 말").waitFor();

    const time = messageWith(page, "441번째 말").getByRole("link", { name: /로 가는 링크/ });
    expect(await time.getAttribute("href")).toMatch(/\/rooms\/web(:|%3A)quiet#message_441$/);
    await page.evaluate(() => (location.hash = "#message_9999"));
    await page.getByText("그 메시지는 이 방에 없어요.").waitFor();
    await expectWellMade(opened);
  });
});

describe("a search for messages", { timeout: 60_000 }, () => {
  test("finds one by its words in any room, by author and time, and leads there", async () => {
    await using other = await visit(browser, "서연", { url: server.url + QUIET });
    await say(other.page, "@세움 찾을 낱말은 바다거북이에요");
    await messageWith(other.page, "세움의 답입니다").waitFor();
    await using opened = await visit(browser, "민준", { url: server.url + GENERAL });
    const { page } = opened;
    const list = page.getByRole("navigation", { name: "방", exact: true });

    await list.getByRole("textbox").fill("바다거북");
    const found = list.getByRole("link", { name: /서연 · 조용한 방.*바다거북/ });
    await found.waitFor();
    await expectWellMade(opened);
    await list.getByRole("combobox", { name: "쓴 사람" }).selectOption("세움");
    await list.getByText("“바다거북”에 맞는 메시지가 없어요.").waitFor();
    await list.getByRole("combobox", { name: "쓴 사람" }).selectOption("서연");
    await list.getByRole("combobox", { name: "쓴 때" }).selectOption("1");
    await found.click();
    await messageWith(page, "바다거북").and(page.locator("[data-lit]")).waitFor();

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /찾기/ }).fill("바다거북");
    await page.getByRole("option", { name: /서연: .*바다거북/ }).waitFor();
    await expectWellMade(opened);
  });
});

test(
  "the names of people who wrote in a room are offered beside the agents",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using other = await visit(browser, "이서연", { url: server.url + QUIET });
    await say(other.page, "@다짐 저도 있어요");
    await using opened = await visit(browser, "민준", { url: server.url + QUIET });
    const { page } = opened;
    await messageWith(page, "저도 있어요").waitFor();

    await field(page).pressSequentially("@이");
    await expect
      .poll(() => page.getByRole("option").allInnerTexts())
      .toEqual([expect.stringContaining("이든"), expect.stringContaining("이서연")]);
    await expectWellMade(opened);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");

    expect(await field(page).inputValue()).toBe("@이서연 ");
  },
);

test(
  "a wide page shows a thread beside its channel, and both are written in",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using opened = await visit(browser, "민준", {
      url: server.url + GENERAL,
      viewport: { width: 1440, height: 900 },
    });
    const { page } = opened;
    await say(page, "@루다 이든에게 나란히 볼 검토를 부탁해줘");
    const notice = page.locator(".room-notice", { hasText: "이든 님이 답했어요" }).last();
    await notice.waitFor();
    await notice.focus();
    await page.keyboard.press("t");

    const [channel, thread] = ["일반", /루다 → 이든/].map((name) =>
      page.getByRole("region", { name, exact: true }),
    );
    await thread!.getByRole("textbox").fill("@이든 스레드에서 하는 말");
    await page.keyboard.press("Enter");
    await messageWith(page, "스레드에서 하는 말").waitFor();
    await channel!.getByRole("textbox").fill("@세움 채널에서 하는 말");
    await page.keyboard.press("Enter");

    await channel!.locator(".room-message", { hasText: "채널에서 하는 말" }).waitFor();
    await thread!.locator(".room-message", { hasText: "스레드에서 하는 말" }).waitFor();
    expect(await thread!.getByText("채널에서 하는 말").count()).toBe(0);
    await roleMark(thread!.locator(".room-message").last(), /맡은 에이전트/).click();
    await page.getByRole("region", { name: "고른 메시지" }).waitFor();
    await expectWellMade(opened);
    await page.keyboard.press("Escape");
    await thread!.waitFor();
    await page.setViewportSize({ width: 900, height: 900 });
    await channel!.waitFor({ state: "detached" });
    await expectWellMade(opened);
  },
);
