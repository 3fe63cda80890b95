import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { until } from "../until.ts";
import { openAiClient } from "./client.ts";

const TEAM = fileURLToPath(new URL("killed-team", import.meta.url));
const TOKEN = "caller-admin-token-0123456789";
const WEATHER = { type: "function", function: { name: "weather", parameters: { type: "object" } } };

function hangs({ log }: ServerProcess): Promise<true> {
  return until(
    async () => log.includes("the model hangs") || undefined,
    () => `the model was not asked:\n${log.join("\n")}`,
  );
}

test(
  "a call outlives kill -9 before it, after it, and between its result and the answer",
  { ...FULL, timeout: 240_000 },
  async () => {
    await using stored = await testDatabase();
    const spawn = (hangs: string) =>
      ServerProcess.spawn(
        { DATABASE_URL: stored.url, DURE_TOKEN: TOKEN, CALLER_HANGS: hangs },
        TEAM,
      );
    const ask = async (server: ServerProcess, messages: readonly object[], key?: string) => {
      const baseURL = `${await server.url}/openai/v1`;
      const client = await openAiClient({ apiKey: TOKEN, baseURL, maxRetries: 0 });
      const headers = key === undefined ? {} : { "Idempotency-Key": key };
      const body = { model: "ruda", messages, tools: [WEATHER] };
      return client.chat.completions.create(body, { headers });
    };
    const question = { role: "user", content: "weather in Seoul?" };

    await using first = spawn("user");
    const cut = ask(first, [question], "k-1");
    cut.catch(() => undefined);
    await hangs(first);
    await first.kill();

    await using second = spawn("tool");
    const { choices } = await ask(second, [question], "k-1");
    const { message } = choices[0]!;
    await second.kill();

    await using third = spawn("tool");
    await using fourth = spawn("");
    await fourth.url;
    const result = { role: "tool", tool_call_id: message.tool_calls![0]!.id, content: "sunny" };
    const messages = [question, message, result];
    const lost = ask(third, messages);
    lost.catch(() => undefined);
    await hangs(third);
    await third.kill();
    const answer = await ask(fourth, messages);
    const again = await ask(fourth, messages);

    expect(answer.choices[0]?.message.content).toBe("It is sunny.");
    expect(again.id).toBe(answer.id);
    const turns = await stored.database.query<{ done: { message: string } }>({
      text: "select done from dure.turns order by accepted_at",
    });
    expect(turns.map(({ done }) => done.message)).toEqual(["", "It is sunny."]);
  },
);
