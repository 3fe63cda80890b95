// @module-tag slow
import type { Browser, BrowserContextOptions } from "playwright-core";
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
import { startRoomsTeam, type RoomsTeam } from "./rooms/team.ts";
import { expectWellMade, field, messageWith, roleMark, say, visit } from "./rooms/visit.ts";

/**
 * Rooms as people use them: the real server, a real PostgreSQL, real browsers; only the models are
 * functions.
 */

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

/** A window of a person who has said who they are. */
function enter(
  person: string,
  options: BrowserContextOptions & { path?: string; at?: RoomsTeam } = {},
): Promise<OpenedPage> {
  const { path = "/rooms/web%3Ageneral", at = server, ...rest } = options;
  return visit(browser, person, { url: at.url + path, ...rest });
}

describe("a team with more rooms than a page of the server has", { timeout: 60_000 }, () => {
  test("lists and finds all of them, and opens one of the last", FULL, async () => {
    await using many = await startRoomsTeam({ others: 260 });
    await using opened = await enter("민준", { path: "/rooms/web%3Aother-255", at: many });
    const { page } = opened;
    const list = page.getByRole("navigation", { name: "방", exact: true });

    await page.getByRole("heading", { name: "방 255", exact: true }).waitFor();
    await say(page, "끝에 있는 방에서 하는 말");
    await messageWith(page, "루다의 답입니다").waitFor();
    await list.getByRole("link", { name: "방 260" }).waitFor();
    await list.getByRole("textbox").fill("방 26");

    await expect
      .poll(() => list.getByRole("link", { name: /^방 / }).allInnerTexts())
      .toEqual(["방 26", "방 260"]);
    expect(await page.getByRole("button", { name: "방 더 보기" }).count()).toBe(0); // all of them are here
    await expectWellMade(opened);
  });
});

describe("two persons in two windows", { timeout: 60_000 }, () => {
  test(
    "see each other's words at once, under their names, with what each agent does and why",
    FULL,
    async () => {
      await using first = await enter("민준", { path: "/rooms" });
      await using second = await enter("서연");

      await say(first.page, "첫 창에서 하는 **중요한** 말");
      await messageWith(second.page, "첫 창에서 하는 중요한 말").waitFor();
      await say(second.page, "둘째 창에서 하는 말");
      await messageWith(first.page, "둘째 창에서 하는 말").waitFor();

      const seen = messageWith(second.page, "첫 창에서 하는 중요한 말");
      expect(await seen.locator("strong").first().innerText()).toBe("민준");
      expect(await seen.locator(".markdown strong").innerText()).toBe("중요한");
      await roleMark(seen, /루다 담당 · 답함.*관찰: 이든, 세움, 다짐/).waitFor();
      await expect
        .poll(() => first.page.locator(".room-message .markdown", { hasText: "첫 창에서" }).count())
        .toBe(1); // the row that was shown before the server had it is gone
      await expectWellMade(first);
      await expectWellMade(second);
    },
  );

  test("are asked for a name once, and an agent's name is taken", FULL, async () => {
    await using opened = await openPage(browser, `${server.url}/rooms`);
    const { page } = opened;
    await page.getByRole("textbox", { name: "이름" }).fill("루다");
    await page.keyboard.press("Enter");
    await page.getByText("에이전트의 이름이에요. 다른 이름을 써 주세요.").waitFor();
    await page.getByRole("textbox", { name: "이름" }).fill("지우");
    await page.keyboard.press("Enter");
    await page.getByText("지우 이름으로 말해요").waitFor();

    await page.reload();
    await field(page).waitFor();

    expect(await page.getByRole("textbox", { name: "이름" }).count()).toBe(0);
  });

  test("whose name an agent has got since keep their menu, and are asked anew", FULL, async () => {
    await using opened = await openPage(browser, "about:blank");
    const { page } = opened;
    await page.addInitScript(() => (localStorage["dure-person"] ??= "이든"));
    await page.goto(server.url);
    const menu = page.getByRole("complementary").getByRole("navigation");
    await menu.getByRole("link", { name: "맡긴 일" }).waitFor();
    await menu.getByRole("link", { name: "에이전트" }).waitFor();
    await menu.getByRole("link", { name: "방" }).click();

    await page.getByText("에이전트의 이름이에요. 다른 이름을 써 주세요.").waitFor();
    const name = page.getByRole("textbox", { name: "이름" });
    expect(await name.inputValue()).toBe("이든");
    await name.fill("지우");
    await page.keyboard.press("Enter");
    await page.getByText("지우 이름으로 말해요").waitFor();
  });

  test(
    "reply to a message: its agent answers unmentioned, the reply leads back, Escape takes it back",
    FULL,
    async () => {
      await using opened = await enter("민준");
      const { page } = opened;
      await say(page, "@세움 처음 부탁");
      const answer = page.locator('.room-message[data-kind="agent"]', { hasText: "세움" }).last();
      await answer.waitFor();
      const reply = page.getByRole("button", { name: "세움의 메시지에 답장하기" }).last();

      await reply.focus();
      await page.keyboard.press("Enter");
      await page.getByText("세움에게 답장").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByText("세움에게 답장").waitFor({ state: "detached" });
      await reply.click();
      await field(page).fill("이름 없이 이어서 부탁");
      await page.keyboard.press("Enter");

      const said = messageWith(page, "이름 없이 이어서 부탁");
      await roleMark(said, /세움 담당 · 답함/).waitFor();
      await expect.poll(() => page.getByText("세움에게 답장").count()).toBe(0);
      await expectWellMade(opened);
    },
  );

  test("see who writes, and a mark where something new is", FULL, async () => {
    await using first = await enter("민준");
    await using second = await enter("서연", { path: "/rooms/web%3Aquiet" });

    await say(first.page, "@이든 천천히 봐 주세요");
    await second.page.getByRole("link", { name: /일반.*읽지 않은 메시지/ }).waitFor();
    await first.page.getByText("이든 작성 중…").waitFor();
    await second.page.getByRole("link", { name: /일반/ }).click();
    await second.page.getByText("여기부터 새 메시지").waitFor();
    await roleMark(messageWith(first.page, "@이든 천천히 봐 주세요"), /답함/).waitFor();

    await first.page.getByText("이든 작성 중…").waitFor({ state: "detached" });
    await second.page.getByRole("link", { name: "조용한 방" }).click();
    await expect
      .poll(() => second.page.getByRole("link", { name: /일반/ }).innerText())
      .toBe("일반");
  });
});

describe("a mention", { timeout: 60_000 }, () => {
  test(
    "is completed by the keyboard, reaches that agent alone; its badge says why and leads to the answer",
    FULL,
    async () => {
      await using opened = await enter("민준");
      const { page } = opened;
      await field(page).pressSequentially("안녕 @루");
      await page.getByRole("listbox", { name: "부를 사람과 에이전트" }).waitFor();
      await expect
        .poll(() => page.getByRole("option").allInnerTexts())
        .toEqual([expect.stringContaining("루다")]);
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Enter");
      await expect.poll(() => field(page).inputValue()).toBe("안녕 @루다 ");
      await field(page).pressSequentially("그리고 @ㅅ");
      await page.keyboard.press("Tab");
      await field(page).pressSequentially("함께 봐 주세요");
      await page.keyboard.press("Enter");

      const said = messageWith(page, "함께 봐 주세요");
      const mark = roleMark(said, /루다 담당 · 먼저 · 답함.*세움 담당 · 이어서 · 답함/);
      await mark.waitFor();
      await expect.poll(() => said.locator(".mention").allInnerTexts()).toEqual(["@루다", "@세움"]);

      await mark.hover();
      await page.getByRole("tooltip", { name: /세움 담당 · 이어서.*관찰: 이든, 다짐/s }).waitFor();
      await page.mouse.move(0, 0);
      await page.getByRole("tooltip").waitFor({ state: "detached" });
      await field(page).focus();
      while (!(await mark.evaluate((element) => element === document.activeElement))) {
        await page.keyboard.press("Shift+Tab");
      }
      await page.getByRole("tooltip").waitFor();
      await page.keyboard.press("Enter");
      const picked = page.getByRole("region", { name: "고른 메시지" });
      await picked
        .locator('[data-agent="dajim"]', { hasText: "다른 에이전트가 멘션되었어요." })
        .waitFor();
      await expectWellMade(opened);
      await picked.locator('[data-agent="ruda"]').getByRole("button", { name: "답 보기" }).click();
      await expect.poll(() => page.locator("[data-lit]").innerText()).toContain("루다의 답입니다");
      await expectWellMade(opened);
    },
  );

  test("is not sent by the Enter that ends a Korean syllable", FULL, async () => {
    await using opened = await enter("하늘", { path: "/rooms/web%3Aquiet" });
    const { page } = opened;
    await field(page).focus();
    const keyboard = await page.context().newCDPSession(page);
    await field(page).pressSequentially("@");
    await keyboard.send("Input.imeSetComposition", {
      text: "룯",
      selectionStart: 1,
      selectionEnd: 1,
    });
    await page.getByRole("option", { name: /루다/ }).waitFor(); // an open syllable finds it already
    await keyboard.send("Input.dispatchKeyEvent", {
      type: "rawKeyDown",
      key: "Enter",
      code: "Enter",
      windowsVirtualKeyCode: 229,
    });
    await keyboard.send("Input.insertText", { text: "루다" });

    expect(await field(page).inputValue()).toBe("@루다");
    expect(await page.locator(".room-message", { hasText: "하늘" }).count()).toBe(0);
  });
});

describe("work that is handed over", { timeout: 90_000 }, () => {
  test(
    "goes on in a thread, which rests when the agents have said enough, and a person lifts it",
    FULL,
    async () => {
      await using opened = await enter("민준");
      await using other = await enter("서연");
      const { page } = opened;
      await say(page, "@루다 이든에게 끝없이 이야기하자고 부탁해줘");
      const card = page
        .getByRole("complementary", { name: "스레드와 참여자" })
        .getByRole("link", { name: /끝없이/ });
      await card.getByText("쉬는 중").waitFor();
      await messageWith(page, "스레드에서 이어집니다").waitFor();
      await page
        .locator(".room-notice", { hasText: "이든 님이 답했어요" })
        .getByRole("link", { name: /끝없이/ })
        .waitFor();

      await card.click();
      const thread = page.getByRole("region", { name: /루다 → 이든/ });
      await thread.getByRole("heading", { name: /루다 → 이든/ }).waitFor();
      await thread.getByText("이 대화를 쉬고 있어요").waitFor();
      await page.getByRole("heading", { level: 1, name: "일반" }).waitFor(); // its channel stays
      const address = page.url();
      await expectWellMade(opened);

      await other.page.goto(address);
      await other.page.getByRole("button", { name: "다시 이어 가기" }).click();
      await thread.getByText("이 대화를 쉬고 있어요").waitFor({ state: "detached" }); // in the other window, too
      await page.reload();
      await thread.waitFor();
      expect(page.url()).toBe(address);

      for (const window of [page, other.page]) {
        await window.getByRole("button", { name: "스레드와 참여자 보기" }).click();
      }
      const people = page.getByRole("region", { name: "참여자", exact: true });
      await expect
        .poll(() => people.getByRole("listitem").allInnerTexts())
        .toEqual([expect.stringContaining("루다"), expect.stringContaining("이든")]);
      await expectWellMade(opened);
      await people.getByRole("button", { name: "이든 내보내기" }).click();
      await other.page
        .getByRole("region", { name: "참여자" })
        .getByRole("button", { name: "이든 내보내기" })
        .waitFor({ state: "detached" });
      await page.getByRole("button", { name: "스레드와 참여자 닫기" }).click();
      await page.getByRole("link", { name: "일반 채널로" }).click();
      await thread.waitFor({ state: "detached" });
      expect(other.complaints).toEqual([]);
    },
  );

  test(
    "that needs a person's yes asks in the room, and the first answer counts in every window",
    FULL,
    async () => {
      await using opened = await enter("민준", { path: "/rooms/web%3Aquiet" });
      await using other = await enter("서연", { path: "/rooms/web%3Aquiet" });
      const { page } = opened;
      await say(page, "@루다 배포 요일을 기억해줘");
      const question = page.locator(".room-notice", { hasText: "MEMORY.md" });
      await question.getByRole("button", { name: "거절" }).waitFor();
      await expectWellMade(opened);

      await question.getByRole("button", { name: "거절" }).click();
      await question.getByText("‘거절’(으)로 답했어요.").waitFor();

      await other.page
        .locator(".room-notice", { hasText: "MEMORY.md" })
        .getByText("‘거절’(으)로 답했어요.")
        .waitFor();
    },
  );
});

describe("a message", { timeout: 60_000 }, () => {
  test("that found no server goes by itself, once, when the server is back", FULL, async () => {
    await using opened = await enter("민준", { path: "/rooms/web%3Aquiet" });
    const { page } = opened;
    await page.route(/\/(readyz|healthz|v1\/.*)$/, (route) => route.abort("connectionrefused"));
    await page.getByText("서버와 연결이 끊겼어요").waitFor();
    await say(page, "서버가 없을 때 쓴 말");
    await page.getByText("보내지 못했어요").waitFor();

    await page.unrouteAll();
    await page.locator(".room-message[id]", { hasText: "서버가 없을 때 쓴 말" }).waitFor();

    await page.locator(".room-message[data-status]").waitFor({ state: "detached" });
    await expect.poll(() => page.getByText("서버가 없을 때 쓴 말").count()).toBe(1);
  });

  test(
    "that did not arrive is sent again; one that did, although its answer was lost, stands there once",
    FULL,
    async () => {
      await using opened = await enter("민준", { path: "/rooms/web%3Aquiet" });
      const { page } = opened;
      const failing = async (text: string, how: { arrives: boolean }): Promise<void> => {
        await page.route("**/messages", async (route) => {
          if (how.arrives) await route.fetch();
          await route.abort("connectionreset");
        });
        await say(page, text);
      };
      await failing("오지 못한 말", { arrives: false });
      await page.getByText("보내지 못했어요").waitFor();
      await page.unroute("**/messages");
      await page.getByRole("button", { name: "다시 보내기" }).click();
      await page.locator(".room-message[id]", { hasText: "오지 못한 말" }).waitFor();
      await page.locator(".room-message[data-status]").waitFor({ state: "detached" });

      await failing("한 번만 서야 하는 말", { arrives: true });
      await page.locator(".room-message[id]", { hasText: "한 번만 서야 하는 말" }).waitFor();
      await page.locator(".room-message[data-status]").waitFor({ state: "detached" });

      for (const text of ["오지 못한 말", "한 번만 서야 하는 말"]) {
        await expect.poll(() => page.locator(".room-message", { hasText: text }).count()).toBe(1);
      }
      await expect.poll(() => page.getByText("보내지 못했어요").count()).toBe(0);
    },
  );

  test("that is being answered is stopped by its room's brake, which all see", FULL, async () => {
    await using first = await enter("민준");
    await using second = await enter("서연");

    await say(first.page, "@다짐 끝까지 생각해 보고 답해 주세요");
    await second.page.getByText("다짐 작성 중…").waitFor();
    await second.page.getByRole("button", { name: "하던 일 멈추기" }).click();
    await second.page.getByRole("button", { name: "모두 멈추기" }).click();

    await second.page.getByRole("status").getByText("멈췄어요: 답 1건").waitFor();
    await first.page.getByText("다짐 작성 중…").waitFor({ state: "detached" });
    await first.page.getByText("서연 님이 여기서 하던 일을 멈췄어요: 답 1건.").waitFor();
    await roleMark(messageWith(first.page, "끝까지 생각해 보고"), /다짐 멈춤/).waitFor();
    await expectWellMade(second);
  });

  test("that could not be delivered says why", FULL, async () => {
    await using opened = await enter("민준");
    const { page } = opened;
    await say(page, "@다짐 답이 전해지지 않는 말");
    await messageWith(page, "다짐의 답입니다").waitFor();
    await page.route("**/messages?*", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as {
        items: { author: string; delivery: string; delivery_error: unknown }[];
      };
      for (const item of body.items) {
        if (item.author === "dajim") {
          Object.assign(item, {
            delivery: "failed",
            delivery_error: { code: "not-found", message: "The channel is gone." },
          });
        }
      }
      await route.fulfill({ response, json: body });
    });

    await page.reload();

    await messageWith(page, "다짐의 답입니다")
      .getByText("전하지 못했어요: The channel is gone.")
      .waitFor();
    await expectWellMade(opened);
  });

  test(
    "that comes while a person reads above waits behind a pill, and nothing moves",
    FULL,
    async () => {
      await using opened = await enter("민준", { viewport: { width: 1280, height: 600 } });
      await using other = await enter("서연");
      const { page } = opened;
      for (let line = 1; line <= 5; line++) {
        await say(
          page,
          Array.from({ length: 6 }, (_, index) => `${line}-${index} 길게 쓰는 줄`).join("\n"),
        );
      }
      await page.locator(".room-writing", { hasText: "작성 중" }).waitFor({ state: "detached" });
      await roleMark(messageWith(page, "5-5 길게 쓰는 줄"), /답함/).waitFor();
      const log = page.getByRole("log");
      await log.evaluate((element) => {
        element.scrollTop = 200;
        element.append(""); // the list is drawn again before the browser tells of the scroll
      });
      await page.getByRole("button", { name: "맨 아래로" }).waitFor();

      await say(other.page, "@세움 새 소식이에요");
      await page.getByRole("button", { name: "새 메시지 2개" }).waitFor();
      expect(await log.evaluate((element) => element.scrollTop)).toBe(200);
      await page.getByRole("button", { name: "새 메시지 2개" }).click();
      await messageWith(page, "새 소식이에요").waitFor();

      await expect
        .poll(() =>
          log.evaluate((element) =>
            Math.round(element.scrollHeight - element.scrollTop - element.clientHeight),
          ),
        )
        .toBeLessThan(5);
    },
  );
});

describe("what is gone", { timeout: 60_000 }, () => {
  test(
    "says so where people look: a thread that was deleted, and an agent whose token is refused",
    FULL,
    async () => {
      await using opened = await enter("민준");
      const { page } = opened;
      await say(page, "@루다 이든에게 검토를 부탁해줘");
      await page
        .getByRole("complementary", { name: "스레드와 참여자" })
        .getByRole("link", { name: /로그인 모듈을 검토해 줘/ })
        .click();
      const thread = page.getByRole("region", { name: /루다 → 이든/ });
      await thread.waitFor();
      await page.route("**/v1/threads/*", async (route) => {
        const response = await route.fetch();
        await route.fulfill({
          response,
          json: {
            ...((await response.json()) as object),
            state: "closed",
            closed_because: "the thread was deleted",
            closed_for: { code: "thread-deleted", facts: {} },
          },
        });
      });
      await page.route("**/v1/agents", async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as { items: { id: string; accounts: object[] }[] };
        for (const item of body.items) {
          if (item.id === "eden") {
            item.accounts = item.accounts.map((account) => ({
              ...account,
              state: "refused",
              detail: "Discord does not accept the bot's token.",
              reason: { code: "token-refused", facts: {} },
            }));
          }
        }
        for (const item of body.items) {
          if (item.id === "seum") {
            item.accounts = item.accounts.map((account) => ({
              ...account,
              detail: "Discord has an outage in the server 두레: what is said there waits.",
              reason: { code: "outage", facts: { servers: ["두레"] } },
            }));
          }
        }
        for (const item of body.items) {
          if (item.id === "dajim") {
            item.accounts = item.accounts.map((account) => ({
              ...account,
              detail: "It said something new.",
            }));
          }
        }
        await route.fulfill({ response, json: body });
      });

      await page.reload();
      const banner = page.getByRole("status").filter({ hasText: "이 방은 닫혔어요." });
      await banner.getByText("스레드가 지워졌어요.").waitFor();
      await page.getByText("닫힌 방에는 쓸 수 없어요.").waitFor();
      const fields = thread.getByRole("textbox");
      expect((await fields.count()) + (await banner.getByRole("button").count())).toBe(0);
      await expectWellMade(opened);

      await page.route("**/v1/rooms/*/threads*", async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as { items: object[] };
        await route.fulfill({
          response,
          json: { ...body, items: body.items.map((thread) => ({ ...thread, archived: true })) },
        });
      });
      await page.route(/\/v1\/rooms(\?|$)/, async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as { items: { id: string }[] };
        await route.fulfill({
          response,
          json: {
            ...body,
            items: body.items.map((room) => ({
              ...room,
              ...(room.id === "web:general" && { deaf: ["eden"] }),
            })),
          },
        });
      });
      await page.goto(`${server.url}/rooms/${encodeURIComponent("web:general")}`);
      const aside = page.getByRole("complementary", { name: "스레드와 참여자" });
      await aside.getByText("보관됨").first().waitFor();
      await aside
        .getByRole("listitem")
        .filter({ hasText: "이든" })
        .getByRole("link", { name: "여기를 읽지 못해요" })
        .waitFor();
      expect(await aside.getByText("여기를 읽지 못해요").count()).toBe(1);
      await expectWellMade(opened);

      await page.goto(`${server.url}/agents`);
      const card = page.getByRole("article", { name: "이든" });
      await card.getByText("거부됨").first().waitFor();
      await card
        .getByText(
          "봇의 토큰이 받아들여지지 않아요. 개발자 포털에서 토큰을 새로 만들어 넣고 서버를 다시 시작해 주세요.",
        )
        .waitFor();
      await page
        .getByRole("article", { name: "세움" })
        .getByText(
          "Discord의 서버 두레에 장애가 있어요. 거기서 할 말은 장애가 끝날 때까지 기다려요.",
        )
        .waitFor();
      await page
        .getByRole("article", { name: "다짐" })
        .getByText("서버 메시지: It said something new.")
        .waitFor();
      await expectWellMade(opened);
    },
  );
});

describe("on a telephone", { timeout: 60_000 }, () => {
  test("everything is within 360 px and within reach, dark and in English", FULL, async () => {
    await using opened = await enter("Mina", {
      viewport: { width: 360, height: 740 },
      colorScheme: "dark",
      locale: "en-US",
    });
    const { page } = opened;
    await say(
      page,
      "@ruda a_very_long_word_without_any_place_to_break_it_because_somebody_pasted_a_path/that/goes/on/and/on",
    );
    await roleMark(messageWith(page, "a_very_long_word"), /answered/).waitFor();
    await expectWellMade(opened);
    await page.getByRole("button", { name: "Show threads and participants" }).click();
    await page.getByRole("dialog").getByText("Agents of this room").waitFor();
    await expectWellMade(opened);
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Open menu" }).click();
    await page.getByRole("dialog").getByRole("button", { name: /이든/ }).click();
    await page.getByRole("heading", { level: 1, name: "이든" }).waitFor();
    await say(page, "안녕하세요");
    await messageWith(page, "이든의 답입니다").waitFor();

    await roleMark(messageWith(page, "안녕하세요"), /이든 Handler · answered/).waitFor();
    await expectWellMade(opened);
  });

  test("the agents' page fits, and pauses an agent, which the others see", FULL, async () => {
    await using opened = await openPage(browser, `${server.url}/agents`, {
      viewport: { width: 360, height: 740 },
    });
    await using other = await enter("서연", { colorScheme: "dark" });
    const { page } = opened;
    const card = page.getByRole("article", { name: "다짐" });
    await card.getByText("온라인").first().waitFor();
    await expectWellMade(opened);

    await card.getByRole("button", { name: /멈추기/ }).click();
    await card.getByText(/부터 멈춰/).waitFor();
    await expectWellMade(opened);
    await other.page.locator('.room-people .online-dot[data-state="paused"]').waitFor();
    await expectWellMade(other);

    await card.getByRole("button", { name: /다시 시작하기/ }).click();
    await other.page
      .locator('.room-people .online-dot[data-state="paused"]')
      .waitFor({ state: "detached" });
  });
});

test(
  "the agents' page is searched in English, by name, account and service, and says when none fits",
  FULL,
  async () => {
    await using opened = await openPage(browser, `${server.url}/agents`, {
      locale: "en-US",
      colorScheme: "dark",
    });
    const { page } = opened;
    const cards = page.getByRole("article");
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    await page.getByRole("article", { name: "다짐" }).waitFor();
    const all = await cards.count();
    const search = page.getByRole("textbox", { name: "Search agents" });

    await search.fill("EDEN");
    await expect
      .poll(
        () => cards.evaluateAll((found) => found.map((card) => card.getAttribute("aria-label"))),
        { timeout: 20_000 },
      )
      .toEqual(["이든"]);
    await search.fill("nobody like that");
    await page.getByText(/nobody like that/).waitFor();
    expect(await cards.count()).toBe(0);
    expect(await page.title()).toContain("Agents · dure");
    await expectWellMade(opened);

    await search.fill("");
    await expect.poll(() => cards.count(), { timeout: 20_000 }).toBe(all);
  },
);

test(
  "an agent's page shows what it is and did, and nothing of another person's direct room",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using first = await enter("하은");
    const rooms = first.page.getByRole("navigation", { name: "방", exact: true });
    await rooms.getByRole("button", { name: /세움/ }).click();
    await first.page.getByRole("heading", { level: 1, name: "세움" }).waitFor();
    await say(first.page, "나만 아는 이야기");
    await messageWith(first.page, "세움의 답입니다").waitFor();

    await using second = await enter("도윤", {
      path: "/rooms/web%3Ageneral",
      locale: "en-US",
      colorScheme: "dark",
      viewport: { width: 390, height: 844 },
    });
    await say(second.page, "@세움 모두가 아는 이야기");
    await messageWith(second.page, "세움의 답입니다").waitFor();
    await second.page.locator(".room-message-head a", { hasText: "세움" }).last().click();

    const { page } = second;
    await page.getByRole("heading", { level: 1, name: "세움" }).waitFor();
    await page.getByText("모두가 아는 이야기").waitFor();
    await page.getByText("offline:seum").waitFor();
    await page.getByText("Gives work to another agent.").waitFor();
    expect(await page.getByText("나만 아는 이야기").count()).toBe(0);
    await expect.poll(() => page.title()).toContain("세움 · dure");
    await expectWellMade(second);

    await first.page.goto(`${server.url}/agents/seum`);
    await first.page.getByText("나만 아는 이야기").waitFor();
    await expectWellMade(first);
  },
);

test.each([390, 1_360])(
  "at %i px a message with a quoted question above it stays within its column",
  { timeout: 60_000 },
  async (width) => {
    await using opened = await enter(`폭 ${width}`, { viewport: { width, height: 844 } });
    const { page } = opened;
    const question = `@세움 ${width} 아주 긴 물음이에요 `.padEnd(400, "로그인 화면을 보고 있어요 ");
    await say(page, question);
    const asked = messageWith(page, `${width} 아주 긴 물음이에요`);
    await roleMark(asked, /세움 담당 · 답함/).waitFor();
    await asked.hover();
    await asked.getByRole("button", { name: /^(?:Reply to|.*답장)/ }).click();
    await say(page, `@다짐 ${width} 위의 물음에 붙이는 말`);

    const quote = messageWith(page, `${width} 위의 물음에 붙이는 말`).locator(".room-reply");
    await quote.waitFor();
    const [inner, column] = await Promise.all([
      quote.boundingBox(),
      page.locator(".room-log").first().boundingBox(),
    ]);

    expect(inner!.x + inner!.width).toBeLessThanOrEqual(column!.x + column!.width);
    await expectWellMade(opened);
  },
);

test("where there are no agents their page says how one comes to be", FULL, async () => {
  await using opened = await openPage(browser, server.url);
  const { page } = opened;
  await page.route("**/v1/agents", (route) => route.fulfill({ json: { items: [] } }));
  await page.goto(`${server.url}/agents`);

  await page.getByText("아직 에이전트가 없어요.").waitFor();
  expect(await page.getByRole("textbox", { name: "에이전트 찾기" }).count()).toBe(0);
  await expectWellMade(opened);
});

test("a room that is gone says so and leads back", FULL, async () => {
  await using opened = await openPage(browser, `${server.url}/rooms/thread_gone`);
  const { page } = opened;
  await page.getByRole("textbox", { name: "이름" }).fill("지우");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "이 방은 없어졌거나 볼 수 없어요" }).waitFor();

  await page.getByRole("link", { name: "방 목록으로" }).click();

  await page.getByRole("heading", { level: 1, name: "일반" }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/rooms\/web(:|%3A)general$/);
});
