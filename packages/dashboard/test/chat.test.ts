// @module-tag slow
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL, sampled } from "../../dure/src/kernel/test-tiers.ts";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  violations,
  type OpenedPage,
} from "./browser.ts";
import { DoubleServer, type DoubleOptions } from "./double/server.ts";

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

function serve(options: DoubleOptions = {}): Promise<DoubleServer> {
  return new DoubleServer({ site, ...options }).start();
}

async function openChat(server: DoubleServer, path = "/chat", options = {}): Promise<OpenedPage> {
  const opened = await openPage(browser, server.url + path, options);
  await opened.page.getByRole("textbox", { name: "메시지 쓰기" }).waitFor();
  return opened;
}

async function say(page: Page, message: string): Promise<void> {
  await page.getByRole("textbox", { name: "메시지 쓰기" }).fill(message);
  await page.keyboard.press("Enter");
}

function postsOf(
  server: DoubleServer,
): { message?: string; confirm_id?: string; slots?: unknown; service?: string }[] {
  return server.journal
    .filter((entry) => entry.path.endsWith("chat/stream"))
    .map((entry) => entry.body as object);
}

test("a file that a tool made is a link under its answer, also after a reload", async () => {
  await using server = await serve();
  await using opened = await openChat(server);
  const { page } = opened;
  const link = page
    .getByRole("list", { name: "이 메시지의 파일" })
    .getByRole("link", { name: "그림.png" });

  await say(page, "그려 줘");

  await link.waitFor();
  expect(await link.getAttribute("href")).toBe("/v1/agent/files/file_1");
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await link.waitFor();
});

describe("an answer whose model was away", () => {
  test("goes on where it ended, also after a reload, and only while nothing follows", async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;
    const resume = page.getByRole("button", { name: "이어서 다시 시도" });

    await say(page, "없는 모델에게 하나");
    await resume.waitFor();
    await say(page, "없는 모델에게 둘");
    await expect.poll(() => page.getByText("모델에 닿지 못했어요.").count()).toBe(2);
    await expect.poll(() => resume.count()).toBe(1);
    await page.reload();
    await resume.waitFor();
    expect(await violations(page)).toEqual([]);
    await resume.click();
    await page.getByText("돌아온 모델: 잘 받았어요.").waitFor();

    await resume.waitFor({ state: "detached" });
    await expect.poll(() => page.getByText("모델에 닿지 못했어요.").count()).toBe(1);
    expect(postsOf(server)).toHaveLength(2);
  });
});

describe("a conversation", () => {
  test(
    "begins with an example, and the confirm button says yes to what was shown",
    FULL,
    async () => {
      await using server = await serve();
      await using opened = await openChat(server);
      const { page } = opened;

      await page.getByRole("button", { name: "엄마에게 5만원 보내줘" }).click();
      await page.getByRole("button", { name: "확인", exact: true }).click();
      await page.getByText("엄마님에게 50,000원을 보냈어요.").waitFor();

      const [first, second] = postsOf(server);
      expect(first).toMatchObject({
        message: "엄마에게 5만원 보내줘",
        service: "transfer",
        time_zone: "Asia/Seoul",
      });
      expect(second).toMatchObject({ message: "확인" });
      expect(second?.confirm_id).toMatch(/^c-/);
      expect(new URL(page.url()).pathname).toMatch(/^\/chat\/web-/);
      await expect
        .poll(() => page.getByRole("button", { name: "확인", exact: true }).count())
        .toBe(0);
      expect(opened.complaints).toEqual([]);
    },
  );

  test(
    "is told which question its button answers, also by the one that says no",
    FULL,
    async () => {
      await using server = await serve();
      await using opened = await openChat(server);
      const { page } = opened;

      await page.getByRole("button", { name: "엄마에게 5만원 보내줘" }).click();
      await page.getByRole("button", { name: "취소", exact: true }).click();

      await expect.poll(() => postsOf(server).at(-1)).toMatchObject({ message: "취소" });
      expect(postsOf(server).at(-1)?.confirm_id).toMatch(/^c-/);
    },
  );

  test("is taken up again after a reload in the middle of its answer", FULL, async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;
    await say(page, "길게 설명해줘");
    await page.getByText("5번째 문장").waitFor();

    await page.reload();
    await page.getByText("5번째 문장").waitFor();
    server.openGate("long");
    await page.getByText("12번째 문장").waitFor();

    const answer = (await page.locator(".markdown").allInnerTexts()).join("\n");
    expect(answer.match(/번째 문장/g)).toHaveLength(12);
    await expect.poll(() => page.locator(".bubble").allInnerTexts()).toEqual(["길게 설명해줘"]);
    expect(postsOf(server)).toHaveLength(1);
    expect(opened.complaints).toEqual([]);
  });

  test("goes on when the connection is cut, without a word twice", FULL, async () => {
    await using server = await serve({ tokenMs: 2 });
    server.openGate("long");
    server.cut(/chat\/stream/, 20);
    server.cut(/turns/, 15);
    await using opened = await openChat(server);
    const { page } = opened;

    await say(page, "길게 설명해줘");
    await page.getByText("12번째 문장").waitFor();
    await page.locator(".message[data-streaming]").waitFor({ state: "detached" });

    expect((await page.locator(".markdown").innerText()).match(/번째 문장/g)).toHaveLength(12);
    expect(
      server.journal.filter((entry) => entry.path.includes("/turns/")).length,
    ).toBeGreaterThanOrEqual(2);
  });

  test(
    "hands messages over at once while a turn runs, and shows them as waiting until their turn comes",
    FULL,
    async () => {
      await using server = await serve();
      await using opened = await openChat(server);
      const { page } = opened;
      await say(page, "길게 설명해줘");
      await page.getByText("5번째 문장").waitFor();

      await say(page, "둘째");
      await say(page, "셋째");
      await expect.poll(() => postsOf(server).length).toBe(3); // accepted before the answer is there
      await expect.poll(() => page.getByText("차례를 기다리는 중").count()).toBe(2);
      server.openGate("long");
      await page.getByText("셋째: 잘 받았어요").waitFor();

      await expect.poll(() => page.getByText("차례를 기다리는 중").count()).toBe(0);
      expect(
        await page
          .locator(".message")
          .evaluateAll((all) => all.map((one) => one.getAttribute("data-role"))),
      ).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
    },
  );

  test("is stopped by the button, and keeps what was said", FULL, async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;
    await say(page, "길게 설명해줘");
    await page.getByText("5번째 문장").waitFor();

    await page.getByRole("button", { name: "멈추기" }).click();
    await page.getByText("여기서 멈췄어요").waitFor();

    await expect.poll(() => page.locator(".markdown").innerText()).toContain("5번째 문장");
    await expect.poll(() => page.getByRole("button", { name: "멈추기" }).count()).toBe(0);
  });

  test("says why a message was refused, and sends it again with the same key", async () => {
    await using server = await serve();
    server.refuse(/chat\/stream/, 429, {
      code: "SESSION_BUSY",
      detail: "The session web is answering another message.",
      hint: "Try again between its turns.",
    });
    await using opened = await openChat(server);
    const { page } = opened;

    await say(page, "안녕");
    await page.getByText("끝난 뒤에 다시 시도해 주세요.").waitFor();
    await page.getByRole("button", { name: "다시 보내기" }).click();
    await page.getByText("안녕: 잘 받았어요").waitFor();

    const keys = server.journal
      .filter((entry) => entry.path.endsWith("chat/stream"))
      .map((entry) => entry.key);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
    await expect.poll(() => page.locator(".bubble").count()).toBe(1);
  });

  test("shows a turn that the system began", async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;
    await say(page, "안녕");
    await page.getByText("안녕: 잘 받았어요").waitFor();
    await expect.poll(() => server.journal.some((entry) => entry.path === "/v1/events")).toBe(true);

    server.systemTurn(
      new URL(page.url()).pathname.slice("/chat/".length),
      "승인되어 이체를 마쳤어요.",
    );
    await page.getByText("승인되어 이체를 마쳤어요.").waitFor();

    await page.getByText("시스템이 시작한 답변").waitFor();
    await expect.poll(() => page.locator(".message").count()).toBe(3);
  });

  test(
    "shows what another agent answers to work that was handed over in it, once",
    FULL,
    async () => {
      await using server = await serve();
      await using opened = await openChat(server);
      const { page } = opened;
      await say(page, "안녕");
      await page.getByText("안녕: 잘 받았어요").waitFor();
      await expect.poll(() => server.eventReaders).toBeGreaterThan(0);

      const session = new URL(page.url()).pathname.slice("/chat/".length);
      const data = { request: "request_1", from: "ruda", to: "eden", message: "m", thread: "t" };
      const answered = { type: "collaborate.answered", role: "delegation", session };
      server.emit({ ...answered, data: { ...data, text: "비밀번호 비교를 고쳐 주세요." } });
      server.emit({ ...answered, data: { ...data, text: "비밀번호 비교를 고쳐 주세요." } });
      await page.getByText("비밀번호 비교를 고쳐 주세요.").first().waitFor();

      await say(page, "고마워");
      await page.getByText("고마워: 잘 받았어요").waitFor();
      await expect.poll(() => page.getByText("비밀번호 비교를 고쳐 주세요.").count()).toBe(1);
      await expect.poll(() => page.getByText("@eden").count()).toBe(1);

      await page.reload();
      await page.getByText("비밀번호 비교를 고쳐 주세요.").waitFor();
      await page.getByText("고마워: 잘 받았어요").waitFor();
      const texts = await page.locator(".message").allInnerTexts();
      const at = (text: string): number => texts.findIndex((shown) => shown.includes(text));
      expect(at("비밀번호 비교를")).toBeLessThan(at("고마워"));
      expect(texts.filter((shown) => shown.includes("@eden"))).toHaveLength(1);
    },
  );
});

describe("writing", () => {
  test("Enter never sends while a syllable is being composed", FULL, async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;
    const field = page.getByRole("textbox", { name: "메시지 쓰기" });
    await field.fill("안녕하세");
    await field.focus();

    await field.dispatchEvent("keydown", {
      key: "Enter",
      code: "Enter",
      keyCode: 13,
      isComposing: true,
      bubbles: true,
    });
    await field.dispatchEvent("keydown", {
      key: "Enter",
      code: "Enter",
      keyCode: 229,
      bubbles: true,
    });
    const keyboard = await page.context().newCDPSession(page);
    await keyboard.send("Input.imeSetComposition", {
      text: "요",
      selectionStart: 1,
      selectionEnd: 1,
    });
    await keyboard.send("Input.dispatchKeyEvent", {
      type: "rawKeyDown",
      key: "Enter",
      code: "Enter",
      windowsVirtualKeyCode: 229,
    });
    await keyboard.send("Input.insertText", { text: "요" }); // the syllable is finished
    expect(postsOf(server)).toHaveLength(0);
    await page.keyboard.press("Enter");
    await page.getByText("안녕하세요: 잘 받았어요").waitFor();

    expect(postsOf(server).map((post) => post.message)).toEqual(["안녕하세요"]);
    await expect.poll(() => field.inputValue()).toBe("");
  });

  test("many messages typed fast arrive once each and in order", FULL, async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;
    const words = ["가", "나", "다", "라", "마"];

    for (const word of words) await say(page, word);
    await page.getByText("마: 잘 받았어요").waitFor();

    expect(postsOf(server).map((post) => post.message)).toEqual(words);
    await expect.poll(() => page.locator(".bubble").allInnerTexts()).toEqual(words);
  });
});

describe("what a model wrote", () => {
  test("is markdown without raw HTML, without images, with links that hand nothing on", async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;

    await say(page, "마크다운으로 알려줘");
    await page.getByText("한도 안내").waitFor();
    await page.getByText("추적 그림 (불러오지 않음)").waitFor();

    const answer = page.locator(".markdown").last();
    expect(await answer.locator("img, script, iframe").count()).toBe(0);
    expect(await answer.getByRole("link").getAttribute("rel")).toContain("noreferrer");
    expect(opened.complaints).toEqual([]);
  });
});

describe("the panel", () => {
  test("draws the stage, and sends edited slots as values, not as a sentence", FULL, async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;
    await say(page, "엄마에게 5만원 보내줘");
    await page.getByRole("button", { name: "확인", exact: true }).waitFor();

    await page.getByRole("tab", { name: "상태" }).click();
    await page
      .getByRole("img", { name: "지금 READY, 다음은 FILLING, CONFIRMED, CANCELLED" })
      .waitFor();
    await page.getByRole("button", { name: "고치기" }).click();
    await page.getByLabel("금액").fill("70,000");
    await page.getByRole("button", { name: "고친 내용 보내기" }).click();
    await page.locator(".markdown").getByText("70,000원").waitFor();

    expect(postsOf(server).at(-1)).toMatchObject({ slots: { amount: 70_000 } });
    await page.locator(".slots").getByText("70,000").waitFor();
  });

  test(
    "shows retries and failures of agents, the batch with its receipts, memory and trace",
    FULL,
    async () => {
      await using server = await serve();
      await using opened = await openChat(server);
      const { page } = opened;

      await say(page, "실패하면?");
      await page.getByText("재시도 2번").waitFor();
      await page.locator(".agent-line[data-status=failed]").getByText("LLM_TIMEOUT").waitFor();
      await page.getByRole("tab", { name: "추적" }).click();
      await page.getByText("2.1초").waitFor();
      await say(page, "세 명에게 보내줘");
      await page.getByRole("button", { name: "확인", exact: true }).click();
      await page.getByText("민지님에게").waitFor();
      await page.getByRole("tab", { name: "상태" }).click();
      await page.getByText("(2/3)").waitFor();
      await page.locator(".panel").getByText("TX-1002").waitFor();
      await expect
        .poll(() => page.getByRole("log").getByRole("article", { name: "영수증" }).count())
        .toBe(1);
      await page.getByRole("tab", { name: "기억" }).click();
      await page.getByText("엄마와 민지에게 자주 보낸다.").waitFor();

      expect(opened.complaints).toEqual([]);
    },
  );

  test("a refused key ends in a next step, the provider's words in a fold, and a button", async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;

    await say(page, "거절해 줘");
    await page.getByText("OPENAI_API_KEY 값을 확인하고").waitFor();
    const words = page.getByText("Incorrect API key provided");
    expect(await words.isVisible()).toBe(false);
    await page.getByRole("log").locator("summary").click();
    await words.waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "다시 보내기" }).click();

    await expect
      .poll(() => postsOf(server).map(({ message }) => message))
      .toEqual(["거절해 줘", "거절해 줘"]);
    expect(opened.complaints).toEqual([]);
  });

  test("does not ask for memory outside dev mode, and says how to see it", FULL, async () => {
    await using server = await serve({ devMode: false });
    await using opened = await openChat(server);
    const { page } = opened;
    await say(page, "안녕");
    await page.getByText("안녕: 잘 받았어요").waitFor();

    await page.getByRole("tab", { name: "기억" }).click();
    await page.getByText("개발 모드에서만").waitFor();

    expect(server.journal.some((entry) => entry.path.includes("/debug/"))).toBe(false);
  });
});

describe("sessions", () => {
  test("are listed by their words, can be searched, opened and deleted", FULL, async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;
    await say(page, "강릉 날씨 알려줘");
    await page.getByText("강릉 날씨 알려줘: 잘").waitFor();
    await page.getByRole("link", { name: "새 대화" }).click();
    await page.getByRole("heading", { name: "무엇을 도와드릴까요?" }).waitFor();
    await say(page, "부산 가는 길");
    await page.getByText("부산 가는 길: 잘").waitFor();

    const list = page.getByRole("region", { name: "지난 대화" });
    await expect.poll(() => list.getByRole("listitem").count()).toBe(2);
    await list.getByRole("textbox").fill("강릉");
    await expect.poll(() => list.getByRole("listitem").count()).toBe(1);
    await list.getByRole("link", { name: /강릉/ }).click();
    await page.getByText("강릉 날씨 알려줘: 잘").waitFor();
    page.once("dialog", (dialog) => void dialog.accept());
    await list.getByRole("listitem").hover();
    await list.getByRole("button", { name: /대화 지우기/ }).click();

    await page.getByRole("heading", { name: "무엇을 도와드릴까요?" }).waitFor();
    await list.getByText("“강릉”에 맞는 대화가 없어요.").waitFor();
  });
});

describe("who may look", () => {
  test(
    "a server with tokens asks for one, keeps it in a cookie and lets go of it",
    FULL,
    async () => {
      await using server = await serve({ token: "secret-token" });
      await using opened = await openPage(browser, `${server.url}/chat`);
      const { page } = opened;
      await page.getByLabel("토큰", { exact: true }).fill("wrong");
      await page.getByRole("button", { name: "들어가기" }).click();
      await page.getByText("토큰이 맞지 않거나 기한이 지났어요.").waitFor();
      expect(await violations(page)).toEqual([]);

      await page.getByLabel("토큰", { exact: true }).fill("secret-token");
      await page.getByRole("button", { name: "들어가기" }).click();
      await page.getByRole("heading", { name: "무엇을 도와드릴까요?" }).waitFor();
      expect(
        await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]) + document.cookie),
      ).not.toContain("secret-token");
      await page.getByRole("button", { name: "로그아웃" }).click();

      await page.getByRole("heading", { name: "들어가기" }).waitFor();
    },
  );
});

describe("everybody", () => {
  test("can go through it by keyboard, in English, on a dark screen", FULL, async () => {
    await using server = await serve();
    await using opened = await openChat(server);
    const { page } = opened;

    await page.getByText("English").click();
    await page.getByRole("heading", { name: "How can I help?" }).waitFor();
    await expect.poll(() => page.getAttribute("html", "lang")).toBe("en");
    await page.getByText("Dark", { exact: true }).click({ force: true });
    await page.reload();
    await page.getByRole("heading", { name: "How can I help?" }).waitFor();
    await expect.poll(() => page.getAttribute("html", "data-mantine-color-scheme")).toBe("dark");
    await page.getByRole("button", { name: "자주 묻는 질문" }).focus();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "영업 시간이 어떻게 되나요?" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("영업 시간이 어떻게 되나요?: 잘").waitFor();

    const [asked] = postsOf(server);
    expect(asked).toMatchObject({ service: "faq" });
    expect(asked).not.toHaveProperty("locale"); // the words tell it, not the page
  });

  const SCREENS = [
    [1280, "light"],
    [360, "dark"],
    [1280, "dark"],
    [360, "light"],
  ] as const;
  /** Each width and each scheme once; DURE_TEST_LONG=1 takes all four. */
  const CHOSEN = sampled(process.env["DURE_TEST_LONG"] === "1" ? SCREENS : SCREENS.slice(0, 2), 1);

  test.for(CHOSEN.rows)(
    "meets WCAG AA at %i px, %s, and never scrolls sideways",
    { ...CHOSEN.options, timeout: 120_000 },
    async ([width, colorScheme]) => {
      await using server = await serve();
      await using opened = await openChat(server, "/chat", {
        viewport: { width, height: 760 },
        colorScheme,
      });
      const { page } = opened;
      const check = async (within?: string): Promise<void> => {
        expect(await violations(page, within)).toEqual([]);
        expect(
          await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        ).toBeLessThanOrEqual(0);
      };

      await check();
      await say(page, "세 명에게 보내줘");
      await page.getByRole("button", { name: "확인", exact: true }).waitFor();
      await say(page, "실패하면?");
      await page.getByText("LLM_TIMEOUT").first().waitFor();
      await say(page, "마크다운");
      await page.getByText("한도 안내").waitFor();
      await check();
      const opener = page.getByRole("button", { name: "자세히", exact: true });
      if (await opener.isVisible()) await opener.click();
      for (const tab of ["에이전트", "상태", "기억", "추적"]) {
        await page.getByRole("tab", { name: tab }).click();
        await page.getByRole("tabpanel").waitFor();
        await check(".panel");
      }
      expect(opened.complaints).toEqual([]);
    },
  );
});
