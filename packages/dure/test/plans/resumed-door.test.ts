import { glob, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { codeOf } from "../../src/kernel/errors.ts";
import { LeaderProcess } from "./leader-process.ts";
import { realPlan, startRealRuns, testRepository } from "./real-runs.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

/**
 * Stands for the provider of a model. It holds its answers back until `open` is called, and hears
 * each question with the doors that stand open at that moment.
 */
async function startProvider(doors: () => Promise<readonly string[]>) {
  const heard: (readonly string[])[] = [];
  const waiting: ServerResponse[] = [];
  let isOpen = false;
  const server = createServer((_, response) => {
    void doors().then((now) => {
      heard.push(now);
      if (isOpen) response.end("answered");
      else waiting.push(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    open: () => void (isOpen = true),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const planFor = (provider: number): string => `
plan: door
roles: modules
workers:
  default:
    kind: command
    command:
      - node
      - -e
      - |
        fetch("http://127.0.0.1:${provider}/")
          .then((answer) => answer.text())
          .then((said) => require("node:fs").writeFileSync("src/price/said.txt", said));
    network: ["127.0.0.1:${provider}"]
ports:
  - { id: price, role: price, goal: Ask., owns: [src/price/**], acceptance: grep -q answered src/price/said.txt }
`;

test(
  "a step resumed after kill -9 of its leader gets a new door that works, and the old one is gone",
  { ...FULL, timeout: 180_000 },
  async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    const { url } = stack.use(await testDatabase());
    const repository = stack.use(await testRepository({ "src/price/price.txt": "base\n" }));
    const home = await mkdtemp(join(tmpdir(), "dure-door-"));
    stack.defer(() => rm(home, { recursive: true, force: true }));
    const doors = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const door of glob(join(home, "sandbox/p-*/door/door"))) found.push(door);
      return found;
    };
    const provider = stack.use(await startProvider(doors));
    const script = join(home, "script.yaml");
    await writeFile(script, "ports: {}\n");
    const watcher = stack.use(await startRealRuns({ url, home, script: "ports: {}" }));
    await watcher.runs.stop();
    const lead = (): LeaderProcess => stack.use(new LeaderProcess({ url, home, script }));

    const first = lead();
    await first.ready;
    const { id } = await watcher.runs.run(
      { plan: realPlan(planFor(provider.port)), repository: repository.folder, by: "me" },
      { signal: new AbortController().signal },
    );
    await expect.poll(() => provider.heard.length, { timeout: 60_000 }).toBe(1);
    await first.kill();
    provider.open();
    const second = lead();
    await expect
      .poll(async () => (await watcher.runs.get(id)).finishedAt !== null, { timeout: 90_000 })
      .toBe(true);

    const { steps } = await watcher.runs.port(id, "price");
    const implement = steps.filter(({ kind }) => kind === "implement");
    expect((await watcher.runs.get(id)).status, second.log.join("\n")).toBe("success");
    expect(implement.map(({ try: number, starts }) => [number, starts])).toEqual([[1, 2]]);
    const [[old], [renewed, ...others]] = provider.heard as [[string], [string]];
    expect(provider.heard).toHaveLength(2);
    expect(others).toEqual([]);
    expect(renewed).not.toBe(old);
    await expect(stat(old).catch(codeOf)).resolves.toBe("ENOENT");
    expect(await doors()).toEqual([]);
  },
);
