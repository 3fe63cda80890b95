import type { ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { RawProvider } from "../conversation/raw-provider.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { eventually } from "../until.ts";

const TEAM = fileURLToPath(new URL("folder", import.meta.url));

test(
  "kill -9 while an agent waits for its model: the next process answers once, under one notice",
  { ...FULL, timeout: 120_000 },
  async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    const owned = stack.use(await testDatabase());
    let isAway = true;
    const provider = stack.use(
      await RawProvider.start((response) => (isAway ? refuse(response) : say(response, "왔어요"))),
    );
    const serve = (): ServerProcess =>
      stack.use(
        ServerProcess.spawn(
          {
            DATABASE_URL: owned.url,
            DURE_MODEL: "openai:gpt-4.1-mini",
            OPENAI_BASE_URL: `${provider.url}/v1`,
          },
          TEAM,
        ),
      );
    const shown = async (): Promise<readonly string[]> => {
      const rows = await owned.database.query<{ text: string }>({
        text: "select text from dure.room_messages where author_kind = 'agent' order by seq",
      });
      return rows.map(({ text }) => text);
    };
    const first = serve();
    const response = await fetch(`${await first.url}/v1/rooms/web:general/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "@루다 안녕", as_person: "민준" }),
    });
    expect(response.status).toBeLessThan(300);
    await eventually(async () =>
      expect(await shown()).toEqual(["모델에 연결되지 않아요. 다시 연결되면 답할게요."]),
    );

    await first.kill();
    const before = provider.requests;
    serve();
    await eventually(() => expect(provider.requests).toBeGreaterThan(before));
    isAway = false;

    await eventually(async () =>
      expect(await shown()).toEqual(["모델에 다시 연결됐어요.", "왔어요"]),
    );
  },
);

function refuse(response: ServerResponse): void {
  response.writeHead(503, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message: "overloaded", type: "server_error" } }));
}

function say(response: ServerResponse, content: string): void {
  const chunk = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({
      id: "c1",
      object: "chat.completion.chunk",
      created: 1,
      model: "gpt-4.1-mini",
      choices: [{ index: 0, delta, finish_reason: finish }],
    })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chunk({ role: "assistant", content }, null));
  response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
}
