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
    const rows = page.getByRole("region", { name: "일의 흐름" }).getByRole("listitem");
    await rows.filter({ hasText: "Eden" }).nth(1).waitFor();
    await expect
      .poll(async () => (await rows.allInnerTexts()).slice(0, 4).map((text) => text.split("\n")[0]))
      .toEqual(["메시지", "턴", "부탁", "턴"]);
    expect(await rows.first().innerText()).toContain("여기서 열었어요");
    expect(await violations(page)).toEqual([]);

    await rows.nth(1).getByRole("link").click();
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
    const rows = page.getByRole("region", { name: "일의 흐름" }).getByRole("listitem");
    await rows.filter({ hasText: "맡긴 일" }).getByRole("link").click();
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

  const { rows, wholeMs } = traceRows(items, 100);

  expect(wholeMs).toBe(100);
  expect(
    rows.map(({ node: { id }, depth, fromPercent, sharePercent }) => [
      id,
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
