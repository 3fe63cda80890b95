import type { PlanStep, TranscriptLine } from "dure/client";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../../dure/src/kernel/test-tiers.ts";
import {
  conversationOf,
  endOf,
  excerptOf,
  inputOf,
  piecesOf,
  withNewer,
  withOlder,
} from "../../src/plans/transcript-lines.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS, violations } from "../browser.ts";
import { DoubleServer } from "../double/server.ts";
import { aStep, runInTheMiddle, saidIn } from "./runs.ts";

/** A port's transcript as people read it. */

const STEP = aStep("api", {});

function counted(from: number, to: number, step: PlanStep = STEP): TranscriptLine[] {
  const words = Array.from({ length: to - from + 1 }, (_, at) => `words ${from + at}`);
  return saidIn(
    step,
    words.map((text) => ["message", text] as const),
    from - 1,
  );
}

describe("lines", () => {
  test("what comes is added once; what is too much goes at the other end", () => {
    const some = { lines: counted(101, 200), hasOlder: true, hasNewer: false };

    const newer = withNewer(some, counted(200, 800));
    expect([newer.lines[0]!.id, newer.lines.length, newer.hasOlder]).toEqual([201, 600, true]);
    const older = withOlder(newer, counted(1, 201), false);
    expect([older.lines[0]!.id, older.lines.length]).toEqual([1, 600]);
    expect(older).toMatchObject({ hasOlder: false, hasNewer: true });
    expect(withNewer(older, counted(801, 802))).toBe(older);
  });

  test("a call stands with what it changed and gave, also beside another one", () => {
    const lines = saidIn(STEP, [
      ["tool", "{}", "a"],
      ["tool", '{"path":"a"}', "a"],
      ["tool", '{"path":"b"}', "b"],
      ["result", "of a", "a", "completed"],
      ["diff", "+x", "b.ts"],
      ["result", "of b", "call_17", "completed"],
      ["result", "of none", "c", "completed"],
    ]);
    const [part] = conversationOf(lines);

    expect(
      part!.blocks.map(({ line, parts }) => [line.text, ...parts.map(({ text }) => text)]),
    ).toEqual([['{"path":"a"}', "of a"], ['{"path":"b"}', "+x", "of b"], ["of none"]]);
  });

  test("a command reads as one, the tokens of an end as numbers", () => {
    expect(inputOf('{"command":"npm test"}')).toBe("$ npm test");
    expect(inputOf('{"cut')).toBe('{"cut');
    expect(endOf("made it\n12 tokens in, 3 out")).toEqual({
      words: "made it",
      tokens: { input: 12, output: 3 },
    });
    expect(endOf("made it")).toEqual({ words: "made it" });
  });

  test("a long text begins where the words stand that are looked for", () => {
    const text = Array.from({ length: 40 }, (_, line) => `line ${line + 1}`).join("\n");

    expect(excerptOf(text, "").text.split("\n")[0]).toBe("line 1");
    expect(excerptOf(text, "").left).toBe(28);
    expect(excerptOf(text, "LINE 30").text.split("\n")[2]).toBe("line 30");
    expect(excerptOf("x".repeat(9_000), "").text).toHaveLength(2_000);
    expect(piecesOf("one Two two", "two")).toEqual(["one ", "Two", " ", "two", ""]);
  });
});

describe("on the page", () => {
  let browser: Browser;
  let site: string;

  beforeAll(async () => {
    [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
  }, SLOW_HOOK_MS);
  afterAll(() => browser?.close());

  const PATH = "/plans/runs/run_middle/ports/api?tab=transcript";

  async function expectWellMade(page: Page): Promise<void> {
    expect(await violations(page)).toEqual([]);
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
    ).toBeLessThanOrEqual(0);
  }

  test("it is read, searched, and goes on", { ...FULL, timeout: 60_000 }, async () => {
    await using server = await new DoubleServer({ site }).start();
    runInTheMiddle(server);
    const viewport = { width: 390, height: 800 };
    await using opened = await openPage(browser, server.url + PATH, { viewport });
    const { page } = opened;
    const parts = page.locator(".transcript-part");
    await parts.first().waitFor();

    await expect
      .poll(() => parts.locator("h2").allInnerTexts())
      .toEqual([
        expect.stringMatching(/구현 담당\s+1번째 시도 · 구현/),
        expect.stringMatching(/테스트 담당\s+1번째 시도 · 테스트/),
        expect.stringMatching(/구현 담당\s+2번째 시도 · 구현/),
      ]);
    const call = parts.locator("li", { hasText: "$ npx vitest run test/api" }).first();
    await expect
      .poll(() => call.innerText())
      .toMatch(/실패[\s\S]*case 12\n[\s\S]*나머지 19줄 보기/);
    await call.getByRole("button", { name: "나머지 19줄 보기" }).click();
    await call.getByText("FAIL login > locks after five failures").waitFor();
    await expect
      .poll(() => page.getByRole("group", { name: "src/api/login.ts의 변경" }).innerText())
      .toMatch(/−[\s\S]*limit = 3[\s\S]*\+[\s\S]*limit = 5/);
    await parts.getByText("생각", { exact: true }).click();
    await parts.getByText("저장소의 계약을 읽어 볼게요.").last().waitFor();
    await expect
      .poll(() => parts.locator("[data-kind=stderr]").last().innerText())
      .toContain("warning");
    await expectWellMade(page);

    const box = page.getByRole("textbox", { name: "작업 기록에서 찾기" });
    await box.fill("clock");
    await expect.poll(() => parts.locator("li").count()).toBe(1);
    await expect.poll(() => page.locator("mark").allInnerTexts()).toEqual(["clock"]);
    await box.fill("없는 말");
    await page.getByText("“없는 말”에 맞는 기록이 없어요.").waitFor();
    await box.fill("");
    await page.getByRole("combobox", { name: "누구의 기록" }).selectOption("tester");
    await expect.poll(() => parts.count()).toBe(1);
    await page.getByRole("combobox", { name: "누구의 기록" }).selectOption("");

    const now = server.plans.details.get("run_middle/api")!.steps!.at(-1)!;
    server.plans.transcripts
      .get("run_middle/api")!
      .push(...saidIn(now, [["message", "이제 통과해요."]], 100));
    await parts.getByText("이제 통과해요.").waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test("older lines come when they are asked for", { ...FULL, timeout: 60_000 }, async () => {
    await using server = await new DoubleServer({ site }).start();
    runInTheMiddle(server);
    const step = server.plans.details.get("run_middle/api")!.steps![1]!;
    server.plans.transcripts.set("run_middle/api", counted(1, 250, step));
    await using opened = await openPage(browser, server.url + PATH);
    const { page } = opened;
    const lines = page.locator(".transcript-part li");

    await lines.first().waitFor();
    await expect.poll(() => lines.count()).toBe(100);
    await page.getByRole("button", { name: "이전 기록 보기" }).click();
    await expect.poll(() => lines.count()).toBe(200);
    await page.getByRole("button", { name: "이전 기록 보기" }).click();
    await expect.poll(() => lines.first().innerText()).toContain("words 1");
    await expect.poll(() => page.getByRole("button", { name: "이전 기록 보기" }).count()).toBe(0);
    expect(opened.complaints).toEqual([]);
  });

  test("the orchestrator has one of its own", { ...FULL, timeout: 60_000 }, async () => {
    await using server = await new DoubleServer({ site }).start();
    const step = aStep("orchestrator", { kind: "merge", member: "orchestrator" });
    runInTheMiddle(server, "run_middle", { orchestrator: [step] });
    const lines = saidIn(step, [
      ["heard", "Keep both branches.", "operator"],
      ["asked", "Which comes first?", "implementer"],
      ["cost", "900 tokens in, 70 out", "0.42 USD"],
      ["message", "Merged by hand."],
    ]);
    server.plans.transcripts.set("run_middle/orchestrator", lines);
    await using opened = await openPage(browser, `${server.url}/plans/runs/run_middle`);
    const { page } = opened;

    await page.locator("summary", { hasText: "작업 기록" }).click();
    await page.getByText("Merged by hand.").waitFor();
    const said = await page.locator(".transcript-part li").allInnerTexts();
    expect(said.map((text) => text.replace(/\s+/g, " "))).toEqual([
      expect.stringMatching(/운영자.*Keep both branches/),
      expect.stringMatching(/구현 담당.*Which comes first/),
      expect.stringMatching(/0\.42 USD.*900 tokens/),
      expect.stringMatching(/Merged by hand/),
    ]);
    await expectWellMade(page);
    expect(opened.complaints).toEqual([]);
  });

  test("none yet says so, and a refusal is tried again", { ...FULL, timeout: 60_000 }, async () => {
    await using server = await new DoubleServer({ site }).start();
    runInTheMiddle(server);
    server.plans.transcripts.delete("run_middle/api");
    server.plans.transcriptTrouble = true;
    await using opened = await openPage(browser, server.url + PATH);
    const { page } = opened;

    const again = page.getByRole("tabpanel").getByRole("button", { name: "다시" });
    await again.first().waitFor({ timeout: 30_000 });
    server.plans.transcriptTrouble = false;
    await again.first().click();
    await page.getByText("아직 기록이 없어요.").waitFor();
    await expectWellMade(page);
  });
});
