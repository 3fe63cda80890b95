/**
 * Pictures of the inbox over the real server, for human eyes: `node --conditions=dure-source
 * test/look-escalations.ts FOLDER [1360-light …]`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launchBrowser, openPage, siteInPackage, violations } from "./browser.ts";
import { startEscalationsTeam, TEST_FAILURE } from "./escalations/team.ts";

const [folder = "pictures", ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
await siteInPackage();
const browser = await launchBrowser();
await using server = await startEscalationsTeam();
await server.raise({
  title: "토큰의 80 %를 썼어요",
  type: "token_exhausted",
  severity: "low",
  source: { run: "run_1", port: "web" },
  context: { tokens: 80_000, budget: 100_000 },
});
await server.raise({
  title: "루다 (discord): 토큰이 거절됐어요",
  type: "account",
  severity: "critical",
  source: { room: "web:general" },
  context: { adapter: "discord", agent: "ruda" },
});
await server.raise(TEST_FAILURE);
const old = await server.raise({
  title: "서버를 새로 띄울까요?",
  type: "decision",
  severity: "medium",
  source: { session: "mina" },
  context: { tool: "deploy", input: { target: "운영 서버", date: "2026-12-01" } },
  suggestedActions: [
    { value: "approve", label: "승인", style: "primary" },
    { value: "reject", label: "거절" },
  ],
});
await server.raise({
  title: "결제 서버를 새로 띄울까요?",
  type: "decision",
  severity: "medium",
  source: { session: "mina" },
  context: { tool: "deploy", input: { target: "결제 서버", date: "2026-12-01" } },
  suggestedActions: [
    { value: "approve", label: "승인", style: "primary" },
    { value: "reject", label: "거절" },
  ],
  expiresMs: 3_600_000,
});
await server.team.inbox.answer(
  old,
  { value: "reject", note: "금요일은 피해 주세요" },
  { tenant: "", name: "서연" },
);
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
  await using opened = await openPage(browser, `${server.url}/escalations`, {
    viewport: { width, height: width > 600 ? 1_400 : 1_600 },
    colorScheme,
  });
  const { page } = opened;
  const look = async (what: string): Promise<void> => {
    const name = join(folder, `escalations-${what}-${width}-${colorScheme}.png`);
    await page.screenshot({ path: name });
    for (const one of await violations(page)) console.log(name, one);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) console.log(name, `is ${over} px too wide`);
  };
  await page.getByRole("article").first().waitFor();
  await page.getByRole("button", { name: "다시 시도…" }).click();
  await look("1-waiting");
  await page.getByRole("tab", { name: "지난 것" }).click();
  await page.getByText("금요일은 피해 주세요").waitFor();
  await look("2-history");
}
