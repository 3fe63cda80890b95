import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";
import { expect, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { openAiClient } from "../openai/client.ts";
import { until } from "../until.ts";

const TEAM = fileURLToPath(new URL("killed-team", import.meta.url));
const TOKEN = "paying-admin-token-0123456789";

/** Asks with the client's own retries, through `send`. */
const CLIENTS: Readonly<Record<string, (send: typeof fetch) => Promise<unknown>>> = {
  "OpenAI's client": async (send) => {
    const client = await openAiClient({ apiKey: TOKEN, baseURL: "http://dure/v1", fetch: send });
    const messages = [{ role: "user", content: "pay mina" }];
    return client.chat.completions.create({ model: "till", messages });
  },
  "the AI SDK": (send) => {
    const openai = createOpenAI({ apiKey: TOKEN, baseURL: "http://dure/v1", fetch: send });
    return generateText({ model: openai.chat("till"), prompt: "pay mina" });
  },
};

test.each(Object.entries(CLIENTS))(
  "%s repeats a request that kill -9 cut off after the payment: it is paid once",
  { ...FULL, timeout: 120_000 },
  async (_name, ask) => {
    await using stored = await testDatabase();
    const book = path.join(tmpdir(), `dure-book-${stored.url.split("/").at(-1)}`);
    const spawn = (hangs: string): ServerProcess =>
      ServerProcess.spawn(
        { DATABASE_URL: stored.url, DURE_TOKEN: TOKEN, PAYING_BOOK: book, PAYING_HANGS: hangs },
        TEAM,
      );
    await using first = spawn("yes");
    await first.url;
    await using second = spawn("");
    const servers = [await first.url, await second.url];
    let sent = 0;
    const asked = ask((_input, init) => {
      const url = servers[Math.min(sent++, 1)]!;
      return fetch(`${url}/openai/v1/chat/completions`, init);
    }).then(
      () => "answered",
      (error: unknown) => error,
    );
    await until(
      async () => first.log.includes("the model hangs") || undefined,
      () => `the model was not asked:\n${first.log.join("\n")}`,
    );
    await first.kill();
    const end = await asked;

    const lines = (await readFile(book, "utf8")).trim().split("\n");
    await rm(book);
    expect(lines).toEqual(["pay mina"]);
    expect(end).toMatchObject({
      message: expect.stringContaining("Some of it was done") as string,
    });
    const rows = await stored.database.query({ text: "select from dure.turns" });
    expect([rows.length, sent]).toEqual([1, 2]);
  },
);
