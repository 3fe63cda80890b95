// @module-tag slow
import { randomUUID } from "node:crypto";
import { HttpAgent } from "@ag-ui/client";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { DefaultChatTransport, type UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { DureClient } from "../../src/client/client.ts";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { a2aClient, saying } from "../a2a/a2a-client.ts";
import { startPayingTeam, Till, type PayingTeam } from "./paying-team.ts";

let database: TestDatabase;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // AG-UI's client logs refusals
  database = await testDatabase();
});
afterAll(async () => database?.[Symbol.asyncDispose]());

/** Says the words once, with new ids of its own, as a client that tries again does. */
type Send = (team: PayingTeam, words: string) => Promise<unknown>;

const post = ({ url, token }: PayingTeam, path: string, body: object): Promise<Response> =>
  fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const DOORS: Readonly<Record<string, Send>> = {
  "REST without a session": async (team, message) =>
    (await post(team, "/v1/agent/chat", { service: "till", message })).text(),
  "REST in a session": async (team, message) => {
    const body = { session_id: message.replace(" ", "-"), service: "till", message };
    return (await post(team, "/v1/agent/chat/stream", body)).text();
  },
  "dure's client without a session": ({ url, token }, message) =>
    new DureClient({ baseUrl: url, token }).sendMessage({ service: "till", message }).done,
  "OpenAI's responses": async (team, input) =>
    (await post(team, "/openai/v1/responses", { model: "till", input })).text(),
  "the AI SDK's chat": async ({ url, token }, text) => {
    const transport = new DefaultChatTransport<UIMessage>({
      api: `${url}/ai-sdk/v1/chat/till`,
      headers: { authorization: `Bearer ${token}` },
    });
    const stream = await transport.sendMessages({
      trigger: "submit-message",
      chatId: `ui-${text.replace(" ", "-")}`,
      messageId: undefined,
      messages: [{ id: randomUUID(), role: "user", parts: [{ type: "text", text }] }],
      abortSignal: undefined,
    });
    for await (const _ of stream) void _;
  },
  "AG-UI": async ({ url, token }, content) => {
    const agent = new HttpAgent({
      url: `${url}/ag-ui/v1/agents/till`,
      headers: { authorization: `Bearer ${token}` },
      threadId: `ag-${content.replace(" ", "-")}`,
    });
    agent.addMessage({ id: randomUUID(), role: "user", content });
    return agent.runAgent().catch((error: unknown) => error);
  },
  "A2A without a context": async (team, words) => {
    const client = await a2aClient({ ...team, service: "till" });
    return client.sendMessage(saying({ text: words, id: randomUUID() }));
  },
  MCP: async ({ url, token }, message) => {
    const client = new Client({ name: "test", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const address = new URL(`${url}/mcp?tools=services`);
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    try {
      return await client.callTool({ name: "chat", arguments: { service: "till", message } });
    } finally {
      await client.close();
    }
  },
};

let orders = 0;

describe.each(Object.entries(DOORS))("over %s", (_door, send) => {
  test("what fails after it paid is not paid again, at any process", async () => {
    const till = new Till("after");
    await using team = await startPayingTeam(database, till);
    await using other = await startPayingTeam(database, till);
    const words = `pay ${++orders}`;

    for (const place of [team, other, team]) await send(place, words);

    expect(till.booked).toEqual([words]);
  });
});

test("a session that the server chose is named, and can be gone on with", async () => {
  const till = new Till();
  await using team = await startPayingTeam(database, till);
  const client = new DureClient({ baseUrl: team.url, token: team.token });
  const turn = client.sendMessage({ service: "till", message: "hello" });
  await turn.done;
  const sessionId = await turn.sessionId;

  expect((await client.session(sessionId)).history.map(({ content }) => content)).toEqual([
    "hello",
    "hello",
  ]);
});
