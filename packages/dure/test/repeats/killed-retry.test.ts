import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { DureClient } from "../../src/client/client.ts";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { until } from "../until.ts";

const TEAM = fileURLToPath(new URL("killed-team", import.meta.url));
const TOKEN = "paying-admin-token-0123456789";

test(
  "a retry that kill -9 cuts off goes on in another process: it is paid once",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using stored = await testDatabase();
    const book = path.join(tmpdir(), `dure-book-${stored.url.split("/").at(-1)}`);
    onTestFinished(() => rm(book, { force: true }));
    const spawn = (env: Record<string, string>): ServerProcess =>
      ServerProcess.spawn(
        { DATABASE_URL: stored.url, DURE_TOKEN: TOKEN, PAYING_BOOK: book, ...env },
        TEAM,
      );
    await using first = spawn({ PAYING_FAILS: "after:503", PAYING_PATIENCE: "100ms" });
    const asked = (await clientOf(first)).sendMessage({ sessionId: "s1", message: "pay mina" });
    const failed = await asked.done;
    const turnId = await asked.turnId;
    await first.kill();

    await using second = spawn({ PAYING_HANGS: "yes" });
    await (await clientOf(second)).retryTurn(turnId);
    await until(
      async () => second.log.includes("the model hangs") || undefined,
      () => `the model was not asked:\n${second.log.join("\n")}`,
    );
    await second.kill();
    await using third = spawn({ PAYING_FAILS: "never:0" });
    const done = await (await clientOf(third)).followTurn(turnId).done;

    expect(failed.error).toMatchObject({ code: "MODEL_SERVER_ERROR", retry: true });
    expect([done.message, done.error]).toEqual(["Paid.", undefined]);
    expect((await readFile(book, "utf8")).trim().split("\n")).toHaveLength(1);
  },
);

async function clientOf(server: ServerProcess): Promise<DureClient> {
  return new DureClient({ baseUrl: await server.url, token: TOKEN });
}
