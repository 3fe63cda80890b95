/**
 * Pictures of jobs over the real server, for human eyes:
 * `node --conditions=dure-source test/look-jobs.ts FOLDER [1360-light …]`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DureClient } from "dure/client";
import { launchBrowser, openPage, siteInPackage, violations } from "./browser.ts";
import { startJobsTeam } from "./jobs/team.ts";

const [folder = "pictures", ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
await siteInPackage();
const browser = await launchBrowser();
await using server = await startJobsTeam();
const { jobs } = new DureClient({ baseUrl: server.url });
const done = await jobs.ask({
  agent: "ruda",
  target: "eden",
  message: "로그인 모듈을 함께 봐 주세요. **만료 시각**이 이상해요.",
  topic: "로그인",
  maxTurns: 4,
  payload: { kind: "task_delegation", task: "만료 시각 확인", deadline: "2026-12-01" },
});
await jobs.ask({ agent: "ruda", target: "seum", message: "고장 난 서버를 봐 주세요" });
await jobs.ask({ agent: "seum", target: "eden", message: "알림: 백업이 끝났어요" });
const parent = await jobs.ask({
  agent: "ruda",
  target: "eden",
  message: "배포 전에 서버를 다시 부탁해서 확인해 주세요",
  maxTurns: 2,
});
const stuck = await jobs.ask({
  agent: "ruda",
  target: "eden",
  message: "멈춤: 끝나지 않는 일",
  waitSec: 0,
});
await jobs.cancel(stuck.jobId);
try {
  for (const width of [1360, 360]) {
    for (const scheme of ["light", "dark"] as const) {
      if (wanted.length === 0 || wanted.includes(`${width}-${scheme}`)) {
        await pictures(width, scheme);
      }
    }
  }
} finally {
  await browser.close();
}

async function pictures(width: number, colorScheme: "light" | "dark"): Promise<void> {
  await using opened = await openPage(browser, `${server.url}/jobs`, {
    viewport: { width, height: width > 600 ? 880 : 760 },
    colorScheme,
  });
  const { page } = opened;
  const look = async (what: string): Promise<void> => {
    const name = join(folder, `jobs-${what}-${width}-${colorScheme}.png`);
    await page.screenshot({ path: name });
    for (const one of await violations(page)) console.log(name, one);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) console.log(name, `is ${over} px too wide`);
  };
  await page.locator(".job-row").first().waitFor();
  await look("1-list");
  await page.goto(`${server.url}/jobs/${done.jobId}`);
  await page.locator(".room-message[data-turn='4']").waitFor();
  await look("2-done");
  await page.goto(`${server.url}/jobs/${parent.jobId}`);
  await page.locator(".job-relatives").waitFor();
  await look("3-parent");
  await page.goto(`${server.url}/jobs/${stuck.jobId}`);
  await page.locator(".job-outcome").waitFor();
  await look("4-cancelled");
  const running = await jobs.ask({
    agent: "ruda",
    target: "seum",
    message: "천천히 배포 시간을 정해 봐요",
    waitSec: 0,
    maxTurns: 6,
  });
  await page.goto(`${server.url}/jobs/${running.jobId}`);
  await page.locator(".room-message[data-turn='1']").waitFor();
  await jobs.speak(running.jobId, "금요일은 빼 주세요", { asPerson: "민준" });
  await page.locator(".exchange-now .markdown").waitFor();
  await look("5-running");
  await jobs.cancel(running.jobId);
}
