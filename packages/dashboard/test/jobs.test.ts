// @module-tag slow
import { DureClient, JOB_OUTCOMES } from "dure/client";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL, sampled } from "../../dure/src/kernel/test-tiers.ts";
import { TEXTS } from "./texts.ts";
import {
  launchBrowser,
  openPage,
  siteInPackage,
  SLOW_HOOK_MS,
  violations,
  type OpenedPage,
} from "./browser.ts";
import { startJobsTeam, type JobsTeam } from "./jobs/team.ts";

/**
 * Jobs as people see and steer them: the real server, a real PostgreSQL, a real browser; only the
 * models are functions.
 */

const world = new AsyncDisposableStack();
let browser: Browser;
let server: JobsTeam;
let dure: DureClient;

beforeAll(async () => {
  const starting = siteInPackage().then(() => startJobsTeam());
  [browser, server] = await Promise.all([launchBrowser(), starting]);
  dure = new DureClient({ baseUrl: server.url });
  world.use(server);
  world.defer(() => browser.close());
}, SLOW_HOOK_MS);

afterAll(() => world.disposeAsync());

async function ask(
  message: string,
  more: { maxTurns?: number; waitSec?: number; topic?: string; target?: string } = {},
): Promise<string> {
  return (await dure.jobs.ask({ agent: "ruda", target: "eden", message, maxTurns: 3, ...more }))
    .jobId;
}

async function open(
  path: string,
  options: Parameters<typeof openPage>[2] = {},
): Promise<OpenedPage> {
  return openPage(browser, server.url + path, options);
}

/** Lines of the transcript, `who: words`. */
function said(page: Page): Promise<string[]> {
  return page
    .locator('[role="log"] .room-message')
    .evaluateAll((all) =>
      all.map(
        (one) =>
          `${one.querySelector("strong")?.textContent}: ${one.querySelector<HTMLElement>(".markdown, .person-words")?.innerText.trim()}`,
      ),
    );
}

async function expectWellMade({ page, complaints }: OpenedPage): Promise<void> {
  expect(await violations(page)).toEqual([]);
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  ).toBeLessThanOrEqual(0);
  expect(complaints).toEqual([]);
}

test("without a job the page says how one begins", { ...FULL, timeout: 60_000 }, async () => {
  await using opened = await open("/jobs");

  await opened.page.getByText("아직 맡긴 일이 없어요.").waitFor();
  await expectWellMade(opened);
});

const IN_WORDS = sampled(
  [
    ["ko-KR", { open: "일 맡기기", message: "부탁할 말", target: "맡는 에이전트", send: "맡기기" }],
    [
      "en-US",
      { open: "Give a job", message: "What is asked", target: "Who is asked", send: "Send" },
    ],
  ] as const,
  1,
);

test.for(IN_WORDS.rows)(
  "a person gives a job from the page, in %s, once, and sees it",
  { ...IN_WORDS.options, timeout: 60_000 },
  async ([locale, words]) => {
    const viewport = { width: 390, height: 780 };
    await using opened = await open("/jobs", { locale, viewport });
    const { page } = opened;
    const message = `${locale}: 목록을 봐 줘`;
    await page.getByRole("button", { name: words.open }).click();
    const dialog = page.getByRole("dialog");
    const target = dialog.getByRole("combobox", { name: words.target });
    expect(await dialog.getByRole("button", { name: words.send }).isDisabled()).toBe(true);
    await target.selectOption({ label: "루다" }); // who asks is chosen already
    await dialog.getByRole("textbox", { name: words.message }).fill(message);
    expect(await dialog.getByRole("button", { name: words.send }).isDisabled()).toBe(true);
    await target.selectOption({ label: "세움" });
    expect(await violations(page, "[role=dialog]")).toEqual([]);
    // The first answer is lost: the page asks again and gets the same job.
    await page.route(
      "**/v1/jobs",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await dialog.getByRole("button", { name: words.send }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByRole("button", { name: words.send }).click();

    await page.getByRole("heading", { level: 1, name: "루다 → 세움" }).waitFor();
    const { items } = await dure.jobs.list({ agent: "seum", limit: 200 });
    expect(items.filter((job) => job.message === message)).toHaveLength(1);
    expect(new URL(page.url()).pathname).toBe(`/jobs/${items[0]!.jobId}`);
  },
);

test("every outcome has words in both languages", () => {
  for (const language of ["ko", "en"] as const) {
    const { outcomes, outcomesShort } = TEXTS[language].jobs;
    expect(Object.keys(outcomes).toSorted()).toEqual([...JOB_OUTCOMES].toSorted());
    expect(Object.keys(outcomesShort).toSorted()).toEqual([...JOB_OUTCOMES].toSorted());
  }
});

test(
  "a running exchange is watched turn by turn, word by word, hears a person, and ends in words",
  { ...FULL, timeout: 90_000 },
  async () => {
    await using opened = await open("/jobs");
    const { page } = opened;
    const id = await ask("천천히 로그인 모듈을 함께 봐 줘", {
      waitSec: 0,
      maxTurns: 4,
      topic: "로그인",
    });

    await page
      .getByRole("link", { name: /루다 → 이든/ })
      .first()
      .click(); // it has come to the list by itself
    await page.getByRole("heading", { name: "루다 → 이든" }).waitFor();
    await page.locator(".exchange-now .markdown").first().waitFor(); // what an agent says now, before its turn has ended
    await page
      .getByRole("textbox", { name: "이 일에 끼어들어 말하기" })
      .fill("금요일에는 배포하지 말아 주세요");
    await page.keyboard.press("Enter");
    await page.getByText("금요일에는 배포하지 말아 주세요").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByText("정해 둔 턴을 다 써서 끝났어요.").waitFor({ timeout: 60_000 });

    const lines = await said(page);
    expect(lines.map((line) => line.split(":")[0])).toEqual(
      expect.arrayContaining(["루다", "이든", "operator"]),
    );
    expect(lines.filter((line) => line.includes("말씀 들었어요"))).toHaveLength(1);
    expect(lines.indexOf("operator: 금요일에는 배포하지 말아 주세요")).toBe(
      lines.findIndex((line) => line.includes("말씀 들었어요")) - 1,
    );
    expect(lines).toHaveLength(6);
    await expect.poll(() => page.locator(".room-message[data-turn]").count()).toBe(4);
    await expect.poll(() => page.getByText("4턴 중 4턴").first().isVisible()).toBe(true);
    expect((await dure.jobs.get(id)).status).toBe("COMPLETED");
    await expectWellMade(opened);
  },
);

test(
  "a job is cancelled after a question, and is then not offered to be tried again",
  { ...FULL, timeout: 60_000 },
  async () => {
    const id = await ask("멈춤: 끝나지 않는 일", { waitSec: 0 });
    await using opened = await open(`/jobs/${id}`);
    const { page } = opened;
    page.on("dialog", (dialog) => void dialog.accept());

    await page.getByRole("button", { name: "취소하기" }).click();
    await page.getByText("취소되었어요.").waitFor();

    expect(await page.getByRole("button", { name: "다시 해 보기" }).count()).toBe(0);
    expect((await dure.jobs.get(id)).status).toBe("CANCELLED");
    await expectWellMade(opened);
  },
);

test(
  "a failure says why, and parents and children lead to each other",
  { ...FULL, timeout: 60_000 },
  async () => {
    const failed = await ask("고장 난 일을 해 줘");
    const parent = await ask("다시 부탁할 것이 있어", { maxTurns: 1 });
    await using opened = await open(`/jobs/${failed}`);
    const { page } = opened;
    await page.getByText("에이전트에서 오류가 났어요.").waitFor();
    expect(await page.locator(".job-outcome").getAttribute("data-tone")).toBe("bad");
    await expectWellMade(opened);

    const retried = page.waitForResponse((answer) => answer.url().endsWith(`${failed}/retry`));
    await page.getByRole("button", { name: "다시 해 보기" }).click();
    expect((await retried).status()).toBe(200);
    await page.getByText("에이전트에서 오류가 났어요.").waitFor(); // the key is refused again

    await page.goto(`${server.url}/jobs/${parent}`);
    await page
      .getByRole("navigation", { name: "이어진 일" })
      .getByRole("link", { name: /이든 → 세움/ })
      .click();
    await page.getByRole("heading", { name: "이든 → 세움" }).waitFor();
    await page
      .getByRole("navigation", { name: "이어진 일" })
      .getByRole("link", { name: /루다 → 이든/ })
      .click();
    await page.getByRole("heading", { name: "루다 → 이든" }).waitFor();
    expect(page.url()).toContain(parent);

    await page.getByRole("link", { name: "이 일에서 나온 일 모두" }).click();
    await expect
      .poll(() =>
        page
          .locator(".job-row")
          .evaluateAll((all) => all.map((one) => one.querySelector("strong")?.textContent)),
      )
      .toEqual(["이든 → 세움", "루다 → 이든"]);
    await page.getByRole("button", { name: "한 가지 일에서 나온 것만" }).click();
    await expect.poll(() => page.locator(".job-row").count()).toBeGreaterThan(2);
    await expectWellMade(opened);
  },
);

test(
  "the list is filtered by status, agent and words, and keeps its place while jobs come",
  { ...FULL, timeout: 90_000 },
  async () => {
    await Promise.all(
      Array.from({ length: 14 }, (_, index) =>
        ask(`알림: 소식 ${index}`, { maxTurns: 1, ...(index === 3 && { target: "seum" }) }),
      ),
    );
    await using opened = await open("/jobs", { viewport: { width: 1280, height: 560 } });
    const { page } = opened;
    await page.getByText("소식 0", { exact: false }).first().waitFor();

    await page.getByRole("combobox", { name: "에이전트" }).selectOption("seum");
    await expect
      .poll(() =>
        page
          .locator(".job-row")
          .evaluateAll((all) => all.every((one) => one.textContent.includes("세움"))),
      )
      .toBe(true);
    await page.getByRole("combobox", { name: "에이전트" }).selectOption("");
    await page.getByRole("combobox", { name: "상태" }).selectOption("FAILED");
    await expect.poll(() => page.locator(".job-row").count()).toBe(1);
    await page.reload(); // the filters stand in the address
    await expect.poll(() => page.locator(".job-row").count()).toBe(1);
    await page.locator(".job-row").click();
    await page.getByRole("heading", { level: 1, name: "루다 → 이든" }).waitFor();
    expect(await page.getByRole("combobox", { name: "상태" }).inputValue()).toBe("FAILED");
    await page.getByRole("combobox", { name: "상태" }).selectOption("");
    await page.getByRole("textbox", { name: "맡긴 일 찾기" }).fill("소식 7");
    await expect.poll(() => page.locator(".job-row").count()).toBe(1);
    await page.getByRole("textbox", { name: "맡긴 일 찾기" }).fill("없는 말");
    await page.getByText("찾는 일이 없어요.").waitFor();
    await page.getByRole("textbox", { name: "맡긴 일 찾기" }).fill("");

    await expect.poll(() => page.locator(".job-row").count()).toBeGreaterThan(14);
    const row = page.locator(".job-row", { hasText: "소식 2" }).first();
    await row.scrollIntoViewIfNeeded();
    await page.locator(".jobs-list-side").evaluate((list) => (list.scrollTop += 60));
    const before = (await row.boundingBox())!.y;
    const count = await page.locator(".job-row").count();
    await Promise.all([
      ask("알림: 새 소식", { maxTurns: 1 }),
      ask("알림: 더 새로운 소식", { maxTurns: 1 }),
    ]);
    await expect.poll(() => page.locator(".job-row").count(), { timeout: 20_000 }).toBe(count + 2);

    expect(Math.abs((await row.boundingBox())!.y - before)).toBeLessThan(3);
    await row.click();
    await page.getByRole("heading", { name: /루다 → /, level: 1 }).waitFor();
    expect(Math.abs((await row.boundingBox())!.y - before)).toBeLessThan(3);
  },
);

test.for([
  ["ko-KR", "dark"],
  ["en-US", "light"],
] as const)(
  "it is whole at 360 px, in %s, %s",
  { ...FULL, timeout: 60_000 },
  async ([locale, colorScheme]) => {
    const id = await ask(
      "로그인 모듈을 봐 줘 https://example.com/averyveryverylongaddress/thatdoesnotend/anywhere/atall",
      { topic: "로그인과 결제와 배포를 한꺼번에 다루는 긴 주제" },
    );
    await using opened = await open("/jobs", {
      viewport: { width: 360, height: 740 },
      locale,
      colorScheme,
    });
    const { page } = opened;
    await page.locator(".job-row").first().waitFor();
    await expectWellMade(opened);

    await page.locator(".job-row", { hasText: "한꺼번에" }).first().click();
    await page.getByText(TEXTS[locale === "ko-KR" ? "ko" : "en"].jobs.outcomes.max_turns).waitFor();
    await expectWellMade(opened);
    await page
      .getByRole("link", { name: TEXTS[locale === "ko-KR" ? "ko" : "en"].jobs.toList })
      .click();
    await page.locator(".job-row").first().waitFor();

    expect((await dure.jobs.get(id)).outcome).toBe("max_turns");
  },
);

test(
  "a person who opens a running job late sees how long its turn has taken already",
  { ...FULL, timeout: 60_000 },
  async () => {
    const id = await ask("멈춤: 오래 걸리는 일", { waitSec: 0 });
    await using early = await open(`/jobs/${id}`);
    const taken = (page: Page): Promise<number> =>
      page
        .locator(".exchange-now span[aria-hidden]", { hasText: /초$/ })
        .first()
        .innerText()
        .then(Number.parseFloat);
    await expect.poll(() => taken(early.page), { timeout: 20_000 }).toBeGreaterThanOrEqual(4);

    await using late = await open(`/jobs/${id}`);

    expect(await taken(late.page)).toBeGreaterThanOrEqual(4);
    await dure.jobs.cancel(id);
  },
);

test(
  "a search looks on in older jobs that the list has not read yet",
  { ...FULL, timeout: 90_000 },
  async () => {
    await ask("알림: 아주 오래된 소식", { maxTurns: 1 });
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        ask(`알림: 새로운 소식 ${index}`, {
          maxTurns: 1,
          waitSec: 0,
          target: index % 2 ? "seum" : "eden",
        }),
      ),
    );
    await using opened = await open("/jobs");
    const { page } = opened;
    await page.locator(".job-row").first().waitFor();

    await page.getByRole("textbox").first().fill("아주 오래된");

    await expect
      .poll(() => page.locator(".job-row-message").allInnerTexts(), { timeout: 20_000 })
      .toEqual(["알림: 아주 오래된 소식"]);
  },
);

test("an unknown job says so and leads back", { ...FULL, timeout: 60_000 }, async () => {
  await using opened = await open("/jobs/job_00000000000000000000000000");

  await opened.page.getByText("이 일은 없어졌거나 볼 수 없어요").waitFor();
  await opened.page.getByRole("link", { name: "맡긴 일 목록으로" }).click();

  await expect.poll(() => opened.page.locator(".job-row").count()).toBeGreaterThan(0);
});

const SLOW = { ...FULL, timeout: 90_000 };

test("a schedule is run by hand, paused and resumed from the page", SLOW, async () => {
  await using opened = await open("/jobs");
  const { page } = opened;
  const row = page.getByRole("region", { name: "때가 되면 하는 일" }).getByRole("listitem");
  await row.getByText("다음:").waitFor();

  await row.getByRole("button", { name: "지금 하기: weekly" }).click();
  await row.getByRole("link", { name: "했어요" }).waitFor();
  await row.getByRole("button", { name: "멈추기: weekly" }).click();
  await row.getByText("멈춰 뒀어요").waitFor();
  await expectWellMade(opened);
  await row.getByRole("button", { name: "다시 하기: weekly" }).click();
  await row.getByText("다음:").waitFor();

  const [weekly] = await dure.schedules.list();
  expect(weekly).toMatchObject({ paused: null, last: [{ status: "done" }] });
  const { items } = await dure.jobs.list();
  expect(items.filter(({ message }) => message.includes("돌아보기"))).toHaveLength(1);
});
