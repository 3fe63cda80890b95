// @module-tag slow
import { DureClient } from "dure/client";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { launchBrowser, siteInPackage, SLOW_HOOK_MS } from "./browser.ts";
import { furnishedTeam, scenes, SIGHTS } from "./rooms/scenes.ts";
import { startRoomsTeam, type RoomsTeam } from "./rooms/team.ts";
import { expectWellMade, faultsOf, field, messageWith, say, visit } from "./rooms/visit.ts";

/** Rooms as a place where people are together: who looks, who writes, what goes on below a message. */

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

const GENERAL = "web:general";

function enter(person: string) {
  return visit(browser, person, { url: `${server.url}/rooms/${encodeURIComponent(GENERAL)}` });
}

/** What this server is asked by the page about people, as `typing` of each. */
function saidBy(page: Awaited<ReturnType<typeof enter>>["page"]): boolean[] {
  const said: boolean[] = [];
  page.on("request", (request) => {
    if (!request.url().endsWith("/presence")) return;
    said.push((request.postDataJSON() as { typing: boolean }).typing);
  });
  return said;
}

describe("two people in one room", { timeout: 60_000 }, () => {
  test("see each other, and who of them writes until the words are there", async () => {
    await using first = await enter("민준");
    await using second = await enter("서연");
    const said = saidBy(second.page);
    const writing = first.page.locator(".room-writing");
    await first.page.getByTitle("지금 보는 사람: 서연").waitFor();
    await first.page.getByRole("region", { name: "지금 보는 사람" }).getByText("서연").waitFor();

    await field(second.page).pressSequentially("세움에게 물어볼게요");

    await writing.getByText("서연 작성 중…").waitFor();
    expect(await second.page.locator(".room-writing").innerText()).toBe(""); // not of oneself
    expect(said.filter((typing) => typing)).toHaveLength(1); // of eleven keys
    await expectWellMade(first);
    await field(second.page).fill("");
    await say(second.page, "@민준 다 썼어요");
    await messageWith(first.page, "다 썼어요").waitFor();
    await expect.poll(() => writing.innerText()).toBe("");
    await expectWellMade(second);
  });

  test("who is alone in a room reads nothing of people", FULL, async () => {
    await using opened = await visit(browser, "민준", { url: `${server.url}/rooms/web%3Aquiet` });
    const { page } = opened;
    await page.getByRole("log").waitFor();

    expect(await page.getByText("지금 보는 사람").count()).toBe(0);
  });

  test("more writers than three are counted", FULL, async () => {
    await using opened = await enter("민준");
    const { page } = opened;
    const client = new DureClient({ baseUrl: server.url });

    for (const name of ["가은", "나래", "다온", "라희", "마루"]) {
      await client.rooms(name).bePresent(GENERAL, { typing: true });
    }

    await page.getByText("가은, 나래, 다온 외 2명 작성 중…").waitFor();
    await expectWellMade(opened);
  });
});

describe("a message of a channel", { timeout: 60_000 }, () => {
  test("says how many answers stand below it, and more as they come; a press opens them", async () => {
    await using opened = await enter("민준");
    const { page } = opened;
    const client = new DureClient({ baseUrl: server.url });
    const id = await client.rooms("민준").post(GENERAL, { text: "@서연 아래에 답해 주세요" });
    const message = page.locator(`[id="${id}"]`);
    await message.waitFor();
    const answer = { text: "@민준 첫 답", below: id };

    const { place } = await client.rooms("서연").postBelow(GENERAL, answer);
    await message.getByRole("link", { name: "스레드 열기: 답 1개 · 방금" }).waitFor();
    await client.rooms("지우").post(place, { text: "@민준 둘째 답" });
    const link = message.getByRole("link", { name: "스레드 열기: 답 2개 · 방금" });
    await link.waitFor();

    const card = page
      .getByRole("region", { name: "스레드" })
      .getByRole("link", { name: /답해 주세요/ });
    await card.getByText("지우, 서연").waitFor();
    await card.getByText("읽지 않은 메시지 2개").waitFor();
    await expectWellMade(opened);
    await link.click();
    await messageWith(page, "둘째 답").waitFor();
    const above = page
      .getByRole("log")
      .getByRole("link", { name: "민준 @서연 아래에 답해 주세요" });
    await above.waitFor();
    expect(await above.getAttribute("href")).toBe(`/rooms/${encodeURIComponent(GENERAL)}#${id}`);
    await expectWellMade(opened);
  });

  test("names who set a sign below it, on focus and to those who listen", FULL, async () => {
    await using opened = await enter("민준");
    const { page } = opened;
    const client = new DureClient({ baseUrl: server.url });
    const id = await client.rooms("민준").post(GENERAL, { text: "@서연 손 들어 주세요" });
    const message = page.locator(`[id="${id}"]`);
    await message.waitFor();

    for (let index = 1; index <= 12; index++) await client.rooms(`사람 ${index}`).react(id, "👍");

    const sign = message.getByRole("button", { name: /^👍 12명: 사람 1, .*사람 10 외 2명$/u });
    await sign.focus();
    await page
      .getByRole("tooltip")
      .getByText(/사람 10 외 2명$/)
      .waitFor();
    await expectWellMade(opened);
  });
});

/** Each thing that can be open in a room, at each width, in both schemes and languages. */
describe.each(["ko", "en"] as const)("a furnished room in %s", { timeout: 300_000 }, (language) => {
  const sights = SIGHTS.filter((sight) => sight.language === language);

  test("has no fault that axe finds, nothing too wide, and room for fingers", FULL, async () => {
    await using team = await furnishedTeam(language);
    for (const sight of sights) {
      for await (const { name, opened } of scenes(browser, team, sight)) {
        const faults = await faultsOf(opened, { isTouch: sight.width === 390 });
        expect({ name, ...sight, faults }).toEqual({ name, ...sight, faults: [] });
      }
    }
  });
});
