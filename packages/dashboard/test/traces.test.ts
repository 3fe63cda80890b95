// @module-tag slow
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { DureClient } from "dure/client";
import { expect, test } from "vitest";
import { startTraceTeam } from "../../dure/test/traces/trace-team.ts";
import { traceRows } from "../src/traces/trace-rows.ts";
import { violations } from "./browser.ts";
import { realPages, SLOW } from "./real-pages.ts";

const pages = realPages();

test(
  "a message, its turns and requests are one waterfall, and each leads to its page",
  SLOW,
  async () => {
    const { team } = await startTraceTeam({ tokens: false });
    const client = new DureClient({ baseUrl: team.url });
    await client.rooms("미나").post("web:general", { text: "@Ruda hand it over" });
    await using opened = await pages.open(`${team.url}/rooms/web%3Ageneral`);
    const { page, complaints } = opened;
    await page.getByRole("textbox", { name: /이름/ }).fill("미나");
    await page.keyboard.press("Enter");

    await page
      .getByRole("button", { name: /^맡은 에이전트: / })
      .first()
      .click();
    await page.getByRole("link", { name: "일의 흐름 보기" }).click();
    await page.waitForURL("**/traces/message_*");
    const tree = page.getByRole("tree", { name: "일의 흐름" });
    const rows = tree.getByRole("treeitem");
    const kinds = async (): Promise<readonly string[]> =>
      (await rows.all()).length === 0
        ? []
        : rows.evaluateAll((all) => all.map((row) => row.getAttribute("data-kind") ?? ""));
    await expect
      .poll(kinds, { timeout: 30_000 })
      .toEqual(expect.arrayContaining(["message", "turn", "agent", "model", "tool", "request"]));
    expect((await kinds()).slice(0, 4)).toEqual(["message", "turn", "agent", "model"]);
    expect(await rows.first().getAttribute("aria-current")).toBe("true");
    expect(await violations(page)).toEqual([]);

    await rows.first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => rows.nth(3).getAttribute("aria-selected")).toBe("true");
    expect(new URL(page.url()).searchParams.get("row")).toMatch(/^turn_\w+@/);
    const detail = page.getByRole("region", { name: "고른 항목" });
    await detail.getByText("해시가 같아서 그때 보낸 그대로예요", { exact: false }).waitFor();
    await page.reload();
    await expect.poll(() => rows.nth(3).getAttribute("aria-selected")).toBe("true");
    expect(await violations(page)).toEqual([]);

    await rows.nth(1).click();
    await detail.getByRole("link", { name: "화면 열기" }).click();
    await page.waitForURL("**/rooms/web*general");
    expect(complaints).toEqual([]);
  },
);

test(
  "a conversation and the job it asked for lead to the same chain",
  { ...FULL, ...SLOW },
  async () => {
    const { team } = await startTraceTeam({ tokens: false });
    const client = new DureClient({ baseUrl: team.url });
    const sent = client.sendMessage({
      sessionId: "t",
      service: "ruda",
      message: "in the background",
    });
    await sent.done;
    const turn = await sent.turnId;
    await using opened = await pages.open(`${team.url}/chat/t`);
    const { page } = opened;

    await page.getByRole("tab", { name: "추적" }).click();
    await page.getByRole("link", { name: "일의 흐름 보기" }).click();
    await page.waitForURL("**/traces/turn_*");
    const rows = page.getByRole("tree", { name: "일의 흐름" }).getByRole("treeitem");
    await rows.filter({ hasText: "맡긴 일" }).click();
    await page.getByRole("link", { name: "화면 열기" }).click();
    await page.waitForURL("**/jobs/job_*");
    await page.getByRole("link", { name: "일의 흐름 보기" }).click();
    await page.waitForURL("**/traces/job_*");
    await rows.filter({ hasText: "여기서 열었어요" }).waitFor();
    expect((await client.trace(turn)).items.map(({ id }) => id)).toContain(
      page.url().split("/").at(-1),
    );

    await page.goto(`${team.url}/traces/turn_0`);
    await page.getByRole("heading", { name: "이 흐름을 찾을 수 없어요" }).waitFor();
    expect(await violations(page)).toEqual([]);
  },
);

test(
  "the list of traces is filtered in the address, and a view is kept under a name",
  { ...FULL, ...SLOW },
  async () => {
    const { team } = await startTraceTeam({ tokens: false });
    const client = new DureClient({ baseUrl: team.url });
    for (const message of ["alpha", "beta"]) {
      await client.sendMessage({ sessionId: message, service: "ruda", message }).done;
    }
    await using opened = await pages.open(`${team.url}/traces`);
    const { page, complaints } = opened;
    const rows = page.getByRole("list", { name: "추적" }).getByRole("listitem");

    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole("textbox", { name: "찾을 말" }).fill("alpha");
    await expect.poll(() => rows.count()).toBe(1);
    expect(new URL(page.url()).searchParams.get("q")).toBe("alpha");
    await page.getByRole("textbox", { name: "보기 이름" }).fill("첫 번째");
    await page.getByRole("button", { name: "보기 저장" }).click();
    await page.goto(`${team.url}/traces`);
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole("link", { name: "첫 번째" }).click();
    await expect.poll(() => rows.count()).toBe(1);
    expect(await page.getByRole("textbox", { name: "찾을 말" }).inputValue()).toBe("alpha");
    expect(await violations(page)).toEqual([]);

    await rows.getByRole("link").click();
    await page.getByRole("tree", { name: "일의 흐름" }).waitFor();
    expect(complaints).toEqual([]);
  },
);

test("rows stand under their causes, and bars on one axis of time", () => {
  const node = (id: string, beganBy: string | null, at: number, endedAt: number | null) => ({
    ...{ id, beganBy, at, endedAt, kind: "turn" as const, title: "", who: "", status: "done" },
    ...{ session: null, place: null, tokens: null, agents: [] },
  });
  const items = [
    node("a", null, 0, 40),
    node("c", "a", 60, null),
    node("b", "a", 20, 30),
    node("d", "b", 25, 26),
  ];

  const { rows, wholeMs } = traceRows({ items, steps: [] }, 100);

  expect(wholeMs).toBe(100);
  expect(
    rows.map(({ key, depth, fromPercent, sharePercent }) => [
      key,
      depth,
      fromPercent,
      sharePercent,
    ]),
  ).toEqual([
    ["a", 0, 0, 40],
    ["b", 1, 20, 10],
    ["d", 2, 25, 1],
    ["c", 1, 60, 40],
  ]);
});
