/**
 * Removes what a run leaves behind: `node cleaner.ts <folder>`. It waits for the end of its stdin,
 * which is the end of the harness, however that came, and then ends the processes that `left.json`
 * of the folder names, and removes the network namespaces. A pid that another process has by now
 * is left alone: the start of each is noted with it.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { removeNamespaces } from "./network.ts";
import { startOf, type Left } from "./left.ts";

const {
  positionals: [folder = ""],
} = parseArgs({ allowPositionals: true });
// Ctrl+C is for the harness; this one stays for the end.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
process.stdin.resume().once("close", () => {
  void clean().finally(() => process.exit(0));
});

async function clean(): Promise<void> {
  const file = join(folder, "left.json");
  if (!existsSync(file)) return;
  const { processes, namespaces, keep } = JSON.parse(readFileSync(file, "utf8")) as Left;
  for (const { pid, started } of processes) {
    if (startOf(pid) !== started) continue;
    process.kill(pid, "SIGKILL");
  }
  await removeNamespaces(namespaces);
  if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
