import { ESCALATION_TYPES } from "dure/client";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { TEXTS } from "./texts.ts";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  violations,
  type OpenedPage,
} from "./browser.ts";
import { startEscalationsTeam, TEST_FAILURE, type EscalationsTeam } from "./escalations/team.ts";

/** The inbox as people see and use it: the real server, a real PostgreSQL, a real browser. */

const world = new AsyncDisposableStack();
let browser: Browser;
let server: EscalationsTeam;
const boss = { tenant: "", name: "서연" };

beforeAll(async () => {
  const starting = siteInPackage().then(() => startEscalationsTeam());
  [browser, server] = await Promise.all([launchBrowser(), starting]);
  world.use(server);
  world.defer(() => browser.close());
}, SLOW_HOOK_MS);

afterAll(() => world.disposeAsync());

/** On a busy machine. */

async function open(
  path = "/escalations",
  options: Parameters<typeof openPage>[2] = {},
): Promise<OpenedPage> {
  return openPage(browser, server.url + path, options);
}

/** Closes what a test before has left. */
async function emptyInbox(): Promise<void> {
  const { items } = await server.team.inbox.list({ tenant: "", status: "open", limit: 200 });
  for (const { id } of items) await server.team.inbox.dismiss(id, boss);
}

/** Opens one of the list. */
function pick(page: Page, title: string): Promise<void> {
  return page.locator(".inbox-row button").filter({ hasText: title }).click();
}

/** Headings of the groups and titles in them, from top to bottom. */
function outline(page: Page): Promise<string[]> {
  return page.locator('[role="tabpanel"]').locator("h2, .inbox-title").allTextContents();
}

async function expectWellMade({ page, complaints }: OpenedPage): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
  expect(complaints).toEqual([]);
}

test("every type has words in both languages", () => {
  for (const language of ["ko", "en"] as const) {
    expect(Object.keys(TEXTS[language].escalations.titles).toSorted()).toEqual(
      [...ESCALATION_TYPES].toSorted(),
    );
  }
});

test(
  "without an escalation the page says what will appear there",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using opened = await open();

    await opened.page.getByText("기다리는 요청이 없어요.").waitFor();
    await opened.page.getByRole("tab", { name: "지난 것" }).click();
    await opened.page.getByText("아직 지난 요청이 없어요.").waitFor();
    await expectWellMade(opened);
  },
);

test(
  "what is raised appears by itself, the gravest first, in plain words, with a link to its origin",
  { ...FULL, timeout: 90_000 },
  async () => {
    await emptyInbox();
    await using opened = await open();
    const { page } = opened;
    await page.getByText("기다리는 요청이 없어요.").waitFor();

    await server.raise({ title: "가끔 보면 되는 일", severity: "low" });
    await server.raise({
      title: "계정이 막혔어요",
      type: "account",
      severity: "critical",
      source: { room: "web:general" },
      context: { place: "web:general", agent: "ruda", adapter: "web" },
    });
    await server.raise(TEST_FAILURE);
    await page.getByText("api: 세 번 고쳤지만 테스트가 실패해요").waitFor();

    await expect
      .poll(() => outline(page))
      .toEqual([
        "긴급 1건",
        "계정이 막혔어요",
        "높음 1건",
        "api: 세 번 고쳤지만 테스트가 실패해요",
        "낮음 1건",
        "가끔 보면 되는 일",
      ]);
    await pick(page, "api: 세 번 고쳤지만 테스트가 실패해요");
    const card = page.getByRole("article", { name: "통과 조건을 계속 못 맞춰요" });
    const words = await card.innerText();
    for (const part of [
      "POST /login이 다섯 번째",
      "실패한 테스트",
      "login > locks after five failures",
      "기대한 값",
      "429",
      "실제 값",
      "401",
      "잠금 시각을",
      "계획 실행 보기",
      "포트 api",
    ]) {
      expect(words).toContain(part);
    }
    expect(words).not.toMatch(/[{}[\]"]|run_1/); // no raw JSON, no ids
    await pick(page, "계정이 막혔어요");
    const account = page.getByRole("article", { name: "계정을 쓸 수 없어요" });
    expect(await account.innerText()).not.toContain("web:general"); // the link leads there
    await expectWellMade(opened);
    await account.getByRole("link", { name: "방 보기" }).click();
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/rooms\//);
  },
);

test(
  "by keyboard alone: an action that asks for words gets them, and the history shows both",
  { ...FULL, timeout: 90_000 },
  async () => {
    await emptyInbox();
    const id = await server.raise({ ...TEST_FAILURE, source: {} }); // of no run that would have to take it up
    await using opened = await open();
    const { page } = opened;
    const retry = page.getByRole("button", { name: "다시 시도…" });

    await retry.focus();
    await page.keyboard.press("Enter");
    const note = page.getByRole("textbox", { name: "다시 시도: 함께 전할 말" });
    await note.waitFor();
    await expect
      .poll(() => note.evaluate((element) => element === document.activeElement))
      .toBe(true);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect
      .poll(() => retry.evaluate((element) => element === document.activeElement))
      .toBe(true);
    await page.keyboard.press("Enter");
    await page.keyboard.type("시계를 흉내 내는 테스트예요");
    await page.keyboard.press("Control+Enter");
    await page.getByText("기다리는 요청이 없어요.").waitFor();

    expect(await server.team.inbox.get(id, boss)).toMatchObject({
      status: "resolved",
      resolution: { value: "retry", note: "시계를 흉내 내는 테스트예요" },
    });
    await page.getByRole("tab", { name: "지난 것" }).click();
    await page.getByText("시계를 흉내 내는 테스트예요").waitFor();
    await page.getByText(/^다시 시도 · /).waitFor();
    await page.reload(); // the tab stands in the address
    await page.getByText("시계를 흉내 내는 테스트예요").waitFor();
    await expectWellMade(opened);
  },
);

test(
  "a call that two people approve says whom it needs, and who has approved first",
  FULL,
  async () => {
    await emptyInbox();
    const { inbox } = server.team;
    const id = await server.raise({
      type: "decision",
      title: "홍길동에게 50,000원을 보낼까요?",
      context: {
        tool: "transfer",
        input: { amount: 50_000 },
        needs: { role: "treasury", two: true },
      },
      suggestedActions: [
        { value: "approve", label: "승인", style: "primary" },
        { value: "reject", label: "거절" },
      ],
    });
    const kim = { key: "person:kim", name: "kim", roles: ["treasury"] };
    const yes = { value: "approve", note: "영수증을 봤어요" };
    await inbox.answer(id, yes, { tenant: "", name: "token_kim", person: kim });
    await using opened = await open();
    const approvers = opened.page.locator(".escalation-approvers");

    await approvers.getByText(TEXTS.ko.escalations.approvers.oneOfTwo).waitFor();
    const told = await approvers.innerText();

    expect(told).toContain(TEXTS.ko.escalations.approvers.two({ role: "treasury" }));
    expect(told).toContain("kim");
    expect(told).toContain("영수증을 봤어요");
    await expectWellMade(opened);
  },
);

test(
  "a call is approved with arguments that a person changes, and the history shows them",
  { ...FULL, timeout: 90_000 },
  async () => {
    await emptyInbox();
    const { inbox } = server.team;
    const stop = inbox.onAnswer({ type: "decision" }, async (_escalation, { input }) =>
      input === undefined ? undefined : { input },
    );
    onTestFinished(stop);
    const id = await server.raise({
      type: "decision",
      title: "홍길동에게 50,000원을 보낼까요?",
      context: { tool: "transfer", input: { to: "홍길동", amount: 50_000, tags: ["집세"] } },
      suggestedActions: [
        { value: "approve", label: "승인", style: "primary", asks: "input" },
        { value: "reject", label: "거절" },
      ],
    });
    await using opened = await open();
    const { page } = opened;

    await page.getByRole("button", { name: "바꿔서 승인…" }).click();
    const amount = page.getByRole("textbox", { name: "금액" });
    await amount.fill("30000");
    const tags = page.getByRole("textbox", { name: "tags" });
    await tags.fill("[집세");
    await page.getByText("읽을 수 없는 값이에요.").waitFor();
    expect(await page.getByRole("button", { name: "이렇게 승인" }).isDisabled()).toBe(true);
    await tags.fill('["생활비"]');
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "이렇게 승인" }).click();
    await page.getByText("기다리는 요청이 없어요.").waitFor();

    const input = { to: "홍길동", amount: 30_000, tags: ["생활비"] };
    expect((await inbox.get(id, boss)).resolution).toEqual({ value: "approve", input });
    await page.getByRole("tab", { name: "지난 것" }).click();
    await page.getByText("이렇게 바꿔서 승인했어요.").waitFor();
    await expectWellMade(opened);
  },
);

test(
  "an answer from elsewhere takes it away here; dismissed and expired ones say so in the history",
  { ...FULL, timeout: 90_000 },
  async () => {
    await emptyInbox();
    const answered = await server.raise({
      title: "다른 곳에서 답할 일",
      suggestedActions: [{ value: "yes", label: "그렇게 해요" }],
    });
    await server.raise({ title: "닫을 일" });
    await server.raise({ title: "기한이 있는 일", expiresMs: 3_000 });
    await using opened = await open();
    const { page } = opened;
    await page.locator(".inbox-title", { hasText: "다른 곳에서 답할 일" }).waitFor();

    await server.team.inbox.answer(answered, { value: "yes" }, boss);
    await page
      .locator(".inbox-title", { hasText: "다른 곳에서 답할 일" })
      .waitFor({ state: "detached" });
    await pick(page, "닫을 일");
    await page.getByRole("button", { name: "정하지 않고 닫기" }).click();
    await page.getByText("기다리는 요청이 없어요.").waitFor(); // the third one's time has passed
    await page.getByRole("tab", { name: "지난 것" }).click();

    await pick(page, "다른 곳에서 답할 일");
    await page.getByText(/^그렇게 해요 · 서연 · /).waitFor();
    const words = async (title: string): Promise<string> => {
      await pick(page, title);
      return page.locator(".escalation-answer").innerText();
    };
    expect(await words("닫을 일")).toMatch(/^정하지 않고 닫았어요 · /);
    expect(await words("기한이 있는 일")).toMatch(/^기한이 지났어요 · 시스템 · /);
    await expectWellMade(opened);
  },
);

test(
  "an answer that comes too late says so and changes nothing",
  { ...FULL, timeout: 60_000 },
  async () => {
    await emptyInbox();
    const id = await server.raise({
      title: "둘이 함께 답할 일",
      suggestedActions: [
        { value: "yes", label: "그렇게 해요" },
        { value: "no", label: "하지 말아요" },
      ],
    });
    await using opened = await open();
    const { page } = opened;
    await page.locator(".inbox-title", { hasText: "둘이 함께 답할 일" }).waitFor();
    await page.route("**/v1/escalations/*/answer", async (route) => {
      await server.team.inbox.answer(id, { value: "no" }, boss).catch(() => {});
      await route.continue();
    });
    await page.route("**/v1/escalations?**", (route) => route.abort()); // the list does not come in time

    await page.getByRole("button", { name: "그렇게 해요" }).click();

    await page.getByRole("alert").filter({ hasText: "이미 결정이 끝났어요" }).waitFor();
    expect(await server.team.inbox.get(id, boss)).toMatchObject({
      resolution: { value: "no" },
      resolvedBy: "서연",
    });
  },
);

test(
  "what comes while an answer is written far down takes neither the words, nor the place, nor the focus",
  { ...FULL, timeout: 90_000 },
  async () => {
    await emptyInbox();
    for (let index = 0; index < 12; index++) await server.raise({ title: `알림 ${index}` });
    const gone = await server.raise({ title: "곧 사라질 일", severity: "high" });
    await server.raise({ ...TEST_FAILURE, source: {}, severity: "low", title: "여기에 답해요" });
    await using opened = await open();
    const { page } = opened;
    await pick(page, "여기에 답해요");
    const card = page.getByRole("article");
    await card.getByRole("button", { name: "다시 시도…" }).click();
    const note = card.getByRole("textbox");
    await note.pressSequentially("시계를 ");
    const before = (await note.boundingBox())!;

    await server.raise({ title: "급한 일", severity: "critical" });
    await server.team.inbox.answer(gone, { value: "seen" }, boss);
    await server.raise({ title: "새 알림" });
    await page.getByText("급한 일", { exact: true }).waitFor();
    await page.getByText("새 알림", { exact: true }).waitFor();
    await page.getByText("곧 사라질 일").waitFor({ state: "detached" });
    await page.keyboard.type("맞춰요");

    expect(await note.inputValue()).toBe("시계를 맞춰요");
    expect(Math.abs((await note.boundingBox())!.y - before.y)).toBeLessThan(40);
    expect(opened.complaints).toEqual([]);
  },
);

test(
  "what grows more severe while it is answered says so, keeps words and focus, and moves only later",
  { ...FULL, timeout: 90_000 },
  async () => {
    await emptyInbox();
    const worsening = {
      ...TEST_FAILURE,
      source: {},
      subject: "worsening",
      title: "점점 급해지는 일",
      severity: "low",
    } as const;
    await server.raise(worsening);
    await server.raise({ title: "그대로인 일" });
    await using opened = await open();
    const { page } = opened;
    await pick(page, "점점 급해지는 일");
    const card = page.getByRole("article");
    await card.getByRole("button", { name: "다시 시도…" }).click();
    const note = card.getByRole("textbox");
    await note.pressSequentially("시계를 ");
    const field = await note.elementHandle();

    await server.raise({ ...worsening, severity: "critical" });
    await card.getByText("긴급", { exact: true }).waitFor();
    await page.keyboard.type("맞춰요");

    expect(await note.inputValue()).toBe("시계를 맞춰요");
    expect(
      await field.evaluate((element) => element.isConnected && element === document.activeElement),
    ).toBe(true); // the very same one: what an input method composes stays, too
    expect(await outline(page)).toEqual([
      "보통 1건",
      "그대로인 일",
      "낮음 1건",
      "점점 급해지는 일",
    ]);
    await page.keyboard.press("Escape");
    const retry = card.getByRole("button", { name: "다시 시도…" });
    await expect
      .poll(() => retry.evaluate((element) => element === document.activeElement))
      .toBe(true);
    await page.getByRole("textbox", { name: "확인 요청 찾기" }).focus();
    await expect
      .poll(() => outline(page))
      .toEqual(["긴급 1건", "점점 급해지는 일", "보통 1건", "그대로인 일"]);
    await expectWellMade(opened);
  },
);

test(
  "the history names the person whose token decided, as the audit does",
  { ...FULL, timeout: 60_000 },
  async () => {
    await emptyInbox();
    const token = await server.tokenFor("하늘");
    const id = await server.raise({
      title: "사람이 정할 일",
      suggestedActions: [{ value: "yes", label: "그렇게 해요" }],
    });
    const { escalation } = await server.team.inbox.answer(
      id,
      { value: "yes" },
      { tenant: "", name: token },
    );
    expect(escalation).toMatchObject({ resolvedBy: token, resolvedByPerson: "하늘" });
    expect(await (await fetch(`${server.url}/v1/escalations/${id}`)).json()).toMatchObject({
      resolved_by: token,
      resolved_by_person: "하늘",
    });

    await using opened = await open("/escalations?tab=history");
    const { page } = opened;

    await page.getByText(/^그렇게 해요 · 하늘 · /).waitFor();
    await page.getByRole("textbox", { name: "확인 요청 찾기" }).fill("하늘");
    await expect.poll(() => page.locator(".inbox-row").count()).toBe(1);
  },
);

test(
  "search finds subjects on any page; a long inbox is read in pages, the grave before all others",
  { ...FULL, timeout: 90_000 },
  async () => {
    await emptyInbox();
    await server.raise({ title: "묻힌 급한 일", severity: "critical" });
    for (let index = 0; index < 130; index++) {
      await server.raise({ title: `알림 ${index}`, context: { order: `주문-${index}` } });
    }
    await using opened = await open();
    const { page } = opened;
    await page.getByText("알림 129", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".inbox-row").count()).toBe(101);
    expect((await outline(page)).slice(0, 3)).toEqual(["긴급 1건", "묻힌 급한 일", "보통 130건"]);
    await page.getByRole("textbox", { name: "확인 요청 찾기" }).fill('주문-3"'); // not on this page: the next one is read by itself

    await expect.poll(() => outline(page)).toEqual(["보통 1건", "알림 3"]);
    await page.getByRole("textbox", { name: "확인 요청 찾기" }).fill("");
    await page.getByText("알림 0", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".inbox-row").count()).toBe(131);
    await page.getByRole("textbox", { name: "확인 요청 찾기" }).fill("주문-77");

    await expect.poll(() => outline(page)).toEqual(["보통 1건", "알림 77"]);
    await page.getByRole("textbox", { name: "확인 요청 찾기" }).fill("없는 말");
    await page.getByText("“없는 말”에 맞는 요청이 없어요.").waitFor();
    expect(opened.complaints).toEqual([]);
  },
);

test(
  "by keys a person goes through the list, approves, rejects, and answers several at once",
  { ...FULL, timeout: 90_000 },
  async () => {
    await emptyInbox();
    const ids: string[] = [];
    for (const title of ["첫째", "둘째", "셋째", "넷째"]) {
      const suggestedActions = [
        { value: "approve", label: "승인", style: "primary" as const },
        { value: "reject", label: "거절" },
      ];
      ids.push(await server.raise({ title, type: "decision", suggestedActions }));
    }
    await using opened = await open();
    const { page } = opened;
    const active = (): Promise<string | null> =>
      page.locator(".inbox-row [data-active] .inbox-title").textContent();
    await expect.poll(() => outline(page)).toEqual(["보통 4건", "첫째", "둘째", "셋째", "넷째"]);

    await page.keyboard.press("j");
    await expect.poll(active).toBe("둘째");
    await page.keyboard.press("a");
    await expect.poll(() => outline(page)).toEqual(["보통 3건", "첫째", "셋째", "넷째"]);
    await expect.poll(active).toBe("셋째");
    await page.keyboard.press("k");
    await page.keyboard.press("r");
    await expect.poll(() => outline(page)).toEqual(["보통 2건", "셋째", "넷째"]);
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("2건 표시함").waitFor();
    await expectWellMade(opened);
    await page.locator(".inbox-bulk").getByRole("button", { name: "승인" }).click();
    await page.getByText("기다리는 요청이 없어요.").waitFor();

    const ended = await Promise.all(ids.map((id) => server.team.inbox.get(id, boss)));
    expect(ended.map(({ resolution }) => resolution?.value)).toEqual([
      ...["reject", "approve", "approve", "approve"],
    ]);
  },
);

test.each([
  ["ko-KR", "light"],
  ["en-US", "dark"],
] as const)(
  "at 360 px in %s, %s, everything can be reached and read",
  { ...FULL, timeout: 60_000 },
  async (locale, colorScheme) => {
    await emptyInbox();
    await server.raise({ ...TEST_FAILURE, title: "아주긴말".repeat(30) });
    await using opened = await open("/escalations", {
      locale,
      colorScheme,
      viewport: { width: 360, height: 760 },
    });
    const { page } = opened;

    await page.getByRole("article").first().waitFor();
    await expectWellMade(opened);
    const named = "조율 담당에게 이 포트를 통째로 맡기고 그 결과를 기다리기…";
    await page.getByRole("button", { name: named, exact: true }).waitFor();
    expect(
      await page
        .locator("article, article button")
        .evaluateAll((all) =>
          all
            .filter((one) => one.getBoundingClientRect().right > innerWidth)
            .map((one) => one.textContent),
        ),
    ).toEqual([]);
    await page.getByRole("button", { name: "다시 시도…" }).click();
    await page.getByRole("textbox", { name: /다시 시도: / }).waitFor();
    await expectWellMade(opened);
  },
);
