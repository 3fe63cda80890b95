// @module-tag slow
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { startBank, type Bank } from "../../../examples/transfer/bank/bank.ts";
import { testDatabaseUrl } from "../../dure/src/durable/test-database.ts";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  violations,
  type OpenedPage,
} from "./browser.ts";
import { ServerProcess } from "./real/server-process.ts";
import { SLOW_SENTENCES } from "./real/team/desk.ts";

/**
 * The page as people use it: the real server in a process of its own, a real PostgreSQL, a real
 * bank, a real browser.
 */

const world = new AsyncDisposableStack();
let browser: Browser;
let bank: Bank;
let server: ServerProcess;

beforeAll(async () => {
  const database = world.use(await testDatabaseUrl());
  bank = await startBank();
  world.defer(() => bank.stop());
  const starting = siteInPackage().then(() =>
    ServerProcess.start({ DATABASE_URL: database.url, BANK_URL: bank.url }),
  );
  [browser, server] = await Promise.all([launchBrowser(), starting]);
  world.use(server);
  world.defer(() => browser.close());
}, SLOW_HOOK_MS);

afterAll(() => world.disposeAsync());

/** A page of `service`, ready to write. */
async function openChat(service = "이체", options = {}): Promise<OpenedPage> {
  const opened = await openPage(browser, `${server.url}/chat`, options);
  opened.page.setDefaultTimeout(30_000);
  await opened.page.getByRole("button", { name: new RegExp(`^${service}`) }).click();
  return opened;
}

async function say(page: Page, message: string): Promise<void> {
  await page.getByRole("textbox", { name: "메시지 쓰기" }).fill(message);
  await page.keyboard.press("Enter");
}

function confirm(page: Page): Promise<void> {
  return page.getByRole("button", { name: "확인", exact: true }).click();
}

async function openPanel(page: Page, tab: string): Promise<void> {
  const opener = page.getByRole("button", { name: "자세히", exact: true });
  if (await opener.isVisible()) await opener.click();
  await page.getByRole("tab", { name: tab }).click();
}

/** What the bank has booked for the conversation of this page: to whom. */
function bookedBy(page: Page): string[] {
  const session = new URL(page.url()).pathname.slice("/chat/".length);
  return bank
    .bookings()
    .filter(({ key }) => key.startsWith(`${session}/`))
    .map(({ to }) => to);
}

function sentences(text: string): number {
  return text.match(/번째 문장/g)?.length ?? 0;
}

async function expectWellMade({ page, complaints }: OpenedPage): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
  expect(complaints).toEqual([]);
}

describe("a transfer", { timeout: 90_000 }, () => {
  test("is asked for, survives small talk, is confirmed in words, and its receipt stays after a reload", async () => {
    await using opened = await openChat();
    const { page } = opened;
    await say(page, "홍길동에게 5만원 보내줘");
    await page.getByText("홍길동님에게 50,000원을 보낼까요?").waitFor();
    await say(page, "고마워");
    await page.getByText("천만에요").waitFor();
    await expect.poll(() => page.getByText("홍길동님에게 50,000원을 보낼까요?").count()).toBe(2); // asked again
    expect(bookedBy(page)).toEqual([]);

    await say(page, "네 보내주세요");
    const receipt = page.getByRole("log").getByRole("article", { name: "영수증" });
    await receipt.getByText("50,000원").waitFor();

    expect(bookedBy(page)).toEqual(["홍길동"]);
    await expect
      .poll(() => receipt.innerText())
      .toMatch(/완료[\s\S]*홍길동[\s\S]*거래 번호[\s\S]*tx_/);
    await page.getByText("에이전트를 부르지 않고 코드가 바로 정했어요.").waitFor();
    await page.locator(".turn-log summary", { hasText: "홍길동에게 5만원 보내줘" }).click();
    await page.locator(".turn-log[open]").getByText("의도 파악 중").waitFor();
    await page.getByRole("tab", { name: "추적" }).click();
    await page.getByText("코드와 도구").waitFor();
    await page.getByRole("tab", { name: "기억" }).click();
    await page.locator(".memory").getByText("네 보내주세요").waitFor();
    await page.reload();
    await receipt.getByText("50,000원").waitFor();
    await expect.poll(() => receipt.count()).toBe(1);
    await expectWellMade(opened);
  });

  test(
    "is one of three, of which the bank refuses one, and every place tells the same",
    FULL,
    async () => {
      await using opened = await openChat();
      const { page } = opened;
      await say(page, "엄마에게 3만원, 부자에게 2백만원, 민지에게 2만원 보내줘");
      await openPanel(page, "상태");
      await confirm(page);
      await page.getByText("(2/3) 부자님에게").waitFor();
      bank.changeAccounts({ limit: 1_000_000 });
      await confirm(page);
      await page.getByText("이체 한도를 넘어서").waitFor();
      await page.locator(".queue").getByText("한도 초과").waitFor();
      await page.getByRole("button", { name: "계속 진행" }).click();
      await page.getByText("(3/3) 민지님에게 20,000원을 보낼까요?").waitFor();
      await confirm(page);
      await page.getByText("모두 3건 중 완료 2건, 취소 0건, 실패 1건이에요.").waitFor();

      bank.changeAccounts({ limit: 10_000_000 });
      expect(bookedBy(page)).toEqual(["엄마", "민지"]);
      await expect
        .poll(() => page.locator(".queue-mark").allInnerTexts())
        .toEqual(["완료", "실패", "완료"]);
      await expect
        .poll(() => page.getByRole("log").getByRole("article", { name: "영수증" }).count())
        .toBe(2);
      await page.getByRole("img", { name: "지금 EXECUTED" }).waitFor();
      await expectWellMade(opened);
    },
  );

  test("is changed on the slot card, which says what is wrong with a value", FULL, async () => {
    await using opened = await openChat();
    const { page } = opened;
    await say(page, "엄마에게 5만원 보내줘");
    await page.getByText("엄마에게 50,000원을 보낼까요?").waitFor();
    await openPanel(page, "상태");
    const edit = async (amount: string): Promise<void> => {
      await page.getByRole("button", { name: "고치기" }).click();
      await page.getByLabel("금액").fill(amount);
      await page.getByRole("button", { name: "고친 내용 보내기" }).click();
    };

    await edit("70,000");
    await page.getByText("엄마에게 70,000원을 보낼까요?").waitFor();
    await page.locator(".slots").getByText("70,000원").waitFor();
    await edit("많이");
    await page.locator(".slots .error-note").waitFor();

    expect(await page.locator(".slots .error-note").innerText()).not.toMatch(/[A-Z]{3}/); // words, no key
    expect(bookedBy(page)).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });

  test("is cancelled on a phone, dark, and nothing is sent", FULL, async () => {
    await using opened = await openChat("이체", {
      viewport: { width: 360, height: 760 },
      colorScheme: "dark",
    });
    const { page } = opened;
    await say(page, "엄마에게 3만원 보내줘");
    await page.getByText("보낼까요?").waitFor();

    await page.getByRole("button", { name: "취소", exact: true }).click();
    await page.getByText("이체를 취소했어요. 보낸 돈은 없어요.").waitFor();

    expect(bookedBy(page)).toEqual([]);
    await openPanel(page, "상태");
    await page.getByRole("img", { name: "지금 CANCELLED" }).waitFor();
    await expectWellMade(opened);
  });

  test("is not sent by the Enter that ends a Korean syllable", FULL, async () => {
    await using opened = await openChat();
    const { page } = opened;
    const field = page.getByRole("textbox", { name: "메시지 쓰기" });
    await field.fill("엄마에게 3만원 보내");
    await field.focus();
    const keyboard = await page.context().newCDPSession(page);
    await keyboard.send("Input.imeSetComposition", {
      text: "줘",
      selectionStart: 1,
      selectionEnd: 1,
    });
    await keyboard.send("Input.dispatchKeyEvent", {
      type: "rawKeyDown",
      key: "Enter",
      code: "Enter",
      windowsVirtualKeyCode: 229,
    });
    await keyboard.send("Input.insertText", { text: "줘" });
    expect(await page.locator(".bubble").count()).toBe(0);

    await page.keyboard.press("Enter");
    await page.getByText("엄마에게 30,000원을 보낼까요?").waitFor();

    await expect
      .poll(() => page.locator(".bubble").allInnerTexts())
      .toEqual(["엄마에게 3만원 보내줘"]);
  });
});

describe("an answer that takes its time", { timeout: 120_000 }, () => {
  test("goes on after a reload in its middle, and is there once", FULL, async () => {
    await using opened = await openChat("창구");
    const { page } = opened;
    await say(page, "천천히 설명해줘");
    await page.getByText("3번째 문장").waitFor();

    await page.reload();
    await page.getByText("설명을 마칩니다.").waitFor();

    expect(sentences(await page.getByRole("log").innerText())).toBe(SLOW_SENTENCES);
    await expect.poll(() => page.locator(".bubble").allInnerTexts()).toEqual(["천천히 설명해줘"]);
    expect(opened.complaints).toEqual([]);
  });

  test("keeps what was read when it is stopped", FULL, async () => {
    await using opened = await openChat("창구");
    const { page } = opened;
    await say(page, "천천히 설명해줘");
    await page.getByText("2번째 문장").waitFor();

    await page.getByRole("button", { name: "멈추기" }).click();
    await page.getByText("여기서 멈췄어요").waitFor();

    expect(sentences(await page.getByRole("log").innerText())).toBeGreaterThanOrEqual(2);
    expect(await page.getByText("설명을 마칩니다.").count()).toBe(0);
  });

  test(
    "arrives once although the server was killed in its middle and started again",
    FULL,
    async () => {
      await using opened = await openChat("창구");
      const { page } = opened;
      await say(page, "천천히 설명해줘");
      await page.getByText("3번째 문장").waitFor();

      await server.kill();
      await page.getByText("연결이 끊겨 다시 잇는 중이에요").waitFor();
      await server.start();
      await page.getByText("설명을 마칩니다.").waitFor({ timeout: 60_000 });
      await page.locator(".message[data-streaming]").waitFor({ state: "detached" });

      expect(sentences(await page.getByRole("log").innerText())).toBe(SLOW_SENTENCES);
      expect(
        await page
          .locator(".message")
          .evaluateAll((all) => all.map((one) => one.getAttribute("data-role"))),
      ).toEqual(["user", "assistant"]);
      await say(page, "고마워");
      await page.getByText("“고마워”라고 하셨네요.").waitFor(); // the conversation goes on
      expect(opened.complaints).toEqual([]);
    },
  );
});

describe("what a person must decide", { timeout: 90_000 }, () => {
  test(
    "is asked in the conversation, and when it was answered the turn that waited comes by itself",
    FULL,
    async () => {
      await using opened = await openChat("창구");
      const { page } = opened;
      await say(page, "환불해줘");
      const question = page.getByRole("log").getByRole("article", { name: "승인이 필요해요" });
      await question.getByText("주문 A-1024의 38,000원을 환불할까요?").waitFor();
      await page.locator('.message[data-tone="waits"]').waitFor();
      await expectWellMade(opened);

      await question.getByRole("button", { name: "승인", exact: true }).click();
      await page.getByText("말씀하신 대로 처리했어요.").waitFor();
      await page.getByText("시스템이 시작한 답변").waitFor();

      await expect.poll(() => question.count()).toBe(0);
      await expect.poll(() => page.locator(".bubble").count()).toBe(1); // the system's turn has no words of a person

      await openPanel(page, "에이전트");
      await page.locator(".turn-log").first().locator("summary").first().click();
      const asked = page.locator(".turn-log").getByRole("list", { name: "도구 호출" });
      await asked.getByText("사람의 답을 기다려요").last().waitFor();
      await asked.getByText("인자와 결과").click();
      await asked.getByText('"order": "A-1024"').waitFor();
      await expectWellMade(opened);
      await page.reload();
      await openPanel(page, "에이전트");
      const newest = page.getByRole("region", { name: "가장 최근 턴" });
      await newest.getByText("도구 호출", { exact: true }).click();
      await newest.getByText("refund", { exact: true }).waitFor();
      await newest.getByText("인자와 결과").click();
      await newest.getByText('"refunded": true').waitFor();
    },
  );

  test(
    "stands in the inbox, the gravest first, and in its history when it is closed",
    FULL,
    async () => {
      await using opened = await openChat("창구", { viewport: { width: 360, height: 760 } });
      const { page } = opened;
      await say(page, "환불해줘");
      await page.getByRole("log").getByText("환불할까요?").waitFor();
      await say(page, "소포 보내줘");
      await page.getByRole("article", { name: "처리됐는지 확인해 주세요" }).waitFor();

      await page.getByRole("button", { name: "메뉴 열기" }).click();
      await page.getByRole("link", { name: /확인 요청.*기다리는 요청 2건/ }).click();
      const titles = page.locator(".inbox-row .badge");
      await expect
        .poll(() => titles.allInnerTexts(), { timeout: 20_000 })
        .toEqual(["처리됐는지 확인해 주세요", "승인이 필요해요"]);
      await expectWellMade(opened);
      await page.getByRole("button", { name: "처리되지 않았음" }).click();
      await expect
        .poll(() => titles.allInnerTexts(), { timeout: 20_000 })
        .toEqual(["승인이 필요해요"]);
      await page.getByRole("button", { name: "거절" }).click();
      await page.getByText("기다리는 요청이 없어요.").waitFor();

      await page.getByRole("tab", { name: "지난 것" }).click();
      await page.getByText(/^거절 · /).waitFor();
    },
  );
});

test(
  "the log of events begins with what has happened, and goes on live",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using chat = await openChat("창구");
    await say(chat.page, "이전 이야기");
    await chat.page.getByText("“이전 이야기”라고").waitFor();
    await using opened = await openPage(browser, `${server.url}/events`);
    const { page } = opened;
    page.setDefaultTimeout(30_000);

    await page.getByText(/만에 답했어요.*이전 이야기/).waitFor();
    await say(chat.page, "지금 이야기");
    await page.getByText(/만에 답했어요.*지금 이야기/).waitFor();

    expect(opened.complaints).toEqual([]);
  },
);
