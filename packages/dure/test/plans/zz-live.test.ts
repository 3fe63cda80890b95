import { spawn } from "node:child_process";
import { test } from "vitest";
import { startPlanServer } from "./plan-server.ts";
test("live", { timeout: 120_000 }, async () => {
  await using at = await startPlanServer();
  for (const plan of ["shop", "steer"]) {
    const child = spawn("script", ["-qec", `stty cols 120 rows 40; ${process.execPath} --conditions=dure-source packages/dure/src/cli/main.ts plan run ${plan} --follow`, "/dev/null"], { env: { ...process.env, DURE_URL: at.server.url, TERM: "xterm" }, stdio: ["pipe", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (d: Buffer) => (out += d.toString()));
    if (plan === "steer") setTimeout(() => void fetch(at.server.url + "/v1/runs?limit=1").then((r) => r.json()).then((p: any) => fetch(`${at.server.url}/v1/runs/${p.items[0].id}/cancel`, { method: "POST" })), 8000);
    await new Promise((r) => child.on("close", r));
    (await import("node:fs")).writeFileSync(`/tmp/p-live-${plan}.txt`, out + `\nEXIT ${child.exitCode}`);
  }
});
