import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Server } from "./servers.ts";

const START = 'console.log(JSON.stringify({ url: "up" })); setInterval(() => {}, 1_000);';

test("a server that does not end after SIGTERM is reported, and killed", async () => {
  await using late = await startServer(`process.on("SIGTERM", () => {}); ${START}`);
  const reported = Promise.withResolvers<string>();

  expect(late.server.drain((life) => reported.resolve(life.id), 50)).toBe(true);

  expect(await reported.promise).toBe("1.1");
  await expect.poll(() => late.server.lives[0]?.endedBy).toBe("SIGTERM");
  await expect.poll(() => late.server.lives[0]?.endedAt).toBeTypeOf("number");
});

test("a server that ends after SIGTERM is not reported", async () => {
  await using prompt = await startServer(START);
  const reported: string[] = [];

  prompt.server.drain((life) => reported.push(life.id), 20_000);

  await expect.poll(() => prompt.server.lives[0]?.endedAt).toBeTypeOf("number");
  expect(reported).toEqual([]);
});

/** A server whose program is `source`, when it has said that it is up. */
async function startServer(source: string): Promise<AsyncDisposable & { readonly server: Server }> {
  const tree = await mkdtemp(join(tmpdir(), "dure-server-"));
  await mkdir(join(tree, "packages/dure/src/cli"), { recursive: true });
  await writeFile(join(tree, "packages/dure/src/cli/main.ts"), source);
  await mkdir(join(tree, "chaos/team"), { recursive: true });
  const server = new Server({
    index: 0,
    host: { address: "127.0.0.1", wrap: (command) => command },
    port: 0,
    journal: { note: () => {} },
    database: { cut: () => 0, fallSilent: () => 0, speakAgain: () => {} },
    environment: () => ({}),
    tree,
  });
  server.start();
  await expect.poll(() => server.isReady).toBe(true);

  return {
    server,
    async [Symbol.asyncDispose]() {
      await server.stop(20);
      await rm(tree, { recursive: true, force: true });
    },
  };
}
