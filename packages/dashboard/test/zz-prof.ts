import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { buildSite, openPage } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";
import { readFileSync, readdirSync } from "node:fs";
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const built = await buildSite();
const server = await new DoubleServer({ site: built.site }).start();
const base = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
const variants: Record<string, string[]> = {
  base,
  lean: [...base, "--in-process-gpu", "--disable-extensions", "--disable-component-extensions-with-background-pages", "--renderer-process-limit=1", "--disable-features=WebUI,InitialWebUI,TopChromeWebUI,Translate,MediaRouter,OptimizationHints", "--no-zygote"],
};
/** CPU of all chromium descendants of pid, ticks */
function cpu(mark: string): number { let sum = 0; for (const p of readdirSync("/proc")) { if (!/^\d+$/.test(p)) continue; try { const c = readFileSync(`/proc/${p}/cmdline`, "utf8"); if (!c.includes(mark)) continue; const s = readFileSync(`/proc/${p}/stat`, "utf8").split(") ")[1]!.split(" "); sum += Number(s[11]) + Number(s[12]) + Number(s[13]) + Number(s[14]); } catch {} } return sum; }
for (const [name, args] of Object.entries(variants)) {
  const mark = `--dure-mark=${name}${process.pid}`;
  const t0 = performance.now();
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: [...args, mark] });
  console.log(name, "launch", Math.round(performance.now() - t0), "cpu", cpu("chromium"));
  const sums: Record<string, number[]> = {};
  const note = (n: string, t: number) => (sums[n] ??= []).push(Math.round(performance.now() - t));
  const shared = await browser.newContext({ locale: "ko-KR", reducedMotion: "reduce", viewport: { width: 1280, height: 800 } });
  const c0 = procs(browser);
  for (let i = 0; i < 5; i++) {
    let t = performance.now();
    const o = await openPage(browser, server.url + "/chat");
    note("fresh goto", t); 
    await o.page.getByRole("textbox", { name: "메시지 쓰기" }).waitFor(); note("fresh shown", t);
    t = performance.now();
    await new AxeBuilder({ page: o.page }).setLegacyMode(true).options({ resultTypes: ["violations"], preload: false }).include("html").withTags(tags).analyze(); note("axe1", t);
    t = performance.now();
    await new AxeBuilder({ page: o.page, axeSource: "0" }).setLegacyMode(true).options({ resultTypes: ["violations"], preload: false }).include("html").withTags(tags).analyze(); note("axe2 loaded", t);
    t = performance.now();
    await o[Symbol.asyncDispose](); note("close", t);
    t = performance.now();
    const page = await shared.newPage(); await page.goto(server.url + "/chat"); await page.getByRole("textbox", { name: "메시지 쓰기" }).waitFor(); note("shared shown", t);
    t = performance.now(); await page.close(); note("shared close", t);
  }
  console.log(name, sums);
  await browser.close();
}
function procs(_: unknown) { return 0; }
await server[Symbol.asyncDispose](); await built.remove();
