import { mkdir } from "node:fs/promises";
import { defineTeam, readEnvironment, readTeam, silentLogger, startTeam } from "dure";
import { DureClient } from "dure/client";
import { makeShop } from "../../../examples/dev-team/repository.ts";
import minimal from "../../../examples/minimal/service.ts";
import { minimalModel } from "../../../examples/minimal/offline.ts";
import { testDatabaseUrl } from "../../dure/src/durable/test-database.ts";
import { launchBrowser, openPage, siteInPackage, violations } from "./browser.ts";
const TEAM = "/tmp/d-work/real";
await mkdir("/tmp/d-work/pics3", { recursive: true });
await siteInPackage();
await makeShop(`${TEAM}/.dure/shop`);
await using owned = await testDatabaseUrl();
const team = await startTeam(await readTeam(defineTeam({ name: "두레", locale: "ko", timeZone: "Asia/Seoul", model: "offline:minimal", offlineModels: [minimalModel], agents: { ruda: { displayName: "루다", leads: true } }, services: { minimal } }), TEAM), readEnvironment({ DATABASE_URL: owned.url, HOST: "127.0.0.1", PORT: "0" }), { logger: silentLogger });
const browser = await launchBrowser();
try {
  await using opened = await openPage(browser, `${team.url}/plans`, { viewport: { width: 1360, height: 880 } });
  const { page } = opened;
  page.setDefaultTimeout(60_000);
  const look = async (name: string): Promise<void> => {
    await page.screenshot({ path: `/tmp/d-work/pics3/${name}.png` });
    for (const one of await violations(page)) console.log(name, one);
  };
  await page.locator(".plan-file").first().waitFor();
  await look("1-list");
  await page.locator(".plan-file a").first().click();
  await page.locator(".before-levels").waitFor();
  await look("2-before");
  await page.getByRole("button", { name: "이대로 시작하기" }).click();
  await page.locator(".port-box").first().waitFor();
  await page.getByText("일하는 중").first().waitFor();
  await page.waitForTimeout(2500);
  await look("3-run");
  const id = page.url().split("/").at(-1)!;
  const dure = new DureClient({ baseUrl: team.url });
  await page.goto(`${team.url}/plans/runs/${id}/ports/money`);
  await page.locator(".try").first().waitFor();
  await look("4-port");
  for (let n = 0; n < 120; n++) {
    const run = await dure.plans.run(id);
    if (run.finishedAt !== null) break;
    await new Promise((r) => setTimeout(r, 1000));
  }
  await page.locator(".run-report").first().waitFor();
  await look("5-end-port");
  for (const tab of ["주고받은 말", "범위", "맥락", "변경"]) {
    await page.getByRole("tab", { name: tab }).click();
    await page.waitForTimeout(800);
    await look(`6-${tab}`);
  }
  await page.goto(`${team.url}/plans/runs/${id}`);
  await page.locator(".run-report").first().waitFor();
  await page.waitForTimeout(500);
  await look("7-end");
  await page.getByText("모든 변경 보기").click();
  await page.waitForTimeout(1000);
  await page.getByText("모든 변경 보기").scrollIntoViewIfNeeded();
  await look("8-diff");
  console.log(JSON.stringify((await dure.plans.run(id)).report)?.slice(0, 600));
  for (const complaint of opened.complaints) console.log("?", complaint);
} finally {
  await browser.close();
  await team.stop();
}
process.exit(0);
