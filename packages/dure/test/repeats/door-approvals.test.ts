// @module-tag slow
import { randomUUID } from "node:crypto";
import { TaskState, type Task } from "@a2a-js/sdk";
import { EventType, HttpAgent, type BaseEvent } from "@ag-ui/client";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { a2aClient, saying } from "../a2a/a2a-client.ts";
import { openAiClient } from "../openai/client.ts";
import { startPayingTeam, Till, type PayingTeam } from "./paying-team.ts";

/** A tool that asks the one who talks for a yes, behind each door and its official client. */

let database: TestDatabase;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // AG-UI's client logs refusals
  database = await testDatabase();
});
afterAll(async () => database?.[Symbol.asyncDispose]());

/** Says words in one conversation; gives what its client can show, as text. */
type Say = (words: string) => Promise<string>;

type Door = (team: PayingTeam, conversation: string) => Promise<Say>;

const DOORS: Readonly<Record<string, Door>> = {
  "OpenAI's chat completions": async ({ url, token }, user) => {
    const client = await openAiClient({ apiKey: token, baseURL: `${url}/openai/v1` });
    return async (content) => {
      const messages = [{ role: "user", content }];
      const { choices } = await client.chat.completions.create({ model: "till", user, messages });
      return choices[0]!.message.content;
    };
  },
  "OpenAI's responses": async ({ url, token }) => {
    const client = await openAiClient({ apiKey: token, baseURL: `${url}/openai/v1` });
    let previous: string | undefined;
    return async (input) => {
      const asked = { model: "till", input, previous_response_id: previous };
      const response = await client.responses.create(asked);
      previous = response.id;
      return JSON.stringify(response);
    };
  },
  "the AI SDK's chat": async ({ url, token }, chatId) => {
    const transport = new DefaultChatTransport<UIMessage>({
      api: `${url}/ai-sdk/v1/chat/till`,
      headers: { authorization: `Bearer ${token}` },
    });
    return async (text) => {
      const stream = await transport.sendMessages({
        trigger: "submit-message",
        chatId,
        messageId: undefined,
        messages: [{ id: randomUUID(), role: "user", parts: [{ type: "text", text }] }],
        abortSignal: undefined,
      });
      const chunks: UIMessageChunk[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      return chunks.map((chunk) => ("delta" in chunk ? chunk.delta : "")).join("");
    };
  },
  "AG-UI, by its interrupt": async ({ url, token }, threadId) => {
    const agent = new HttpAgent({
      url: `${url}/ag-ui/v1/agents/till`,
      headers: { authorization: `Bearer ${token}` },
      threadId,
    });
    let interruptId: string | undefined;
    return async (content) => {
      const events: BaseEvent[] = [];
      const resume = interruptId === undefined ? undefined : [resumeOf(interruptId, content)];
      if (!resume) agent.addMessage({ id: randomUUID(), role: "user", content });
      const onEvent = ({ event }: { event: BaseEvent }): void => void events.push(event);
      await agent.runAgent({ resume } as object, { onEvent }).catch(() => undefined);
      const end = events.find(({ type }) => type === EventType.RUN_FINISHED);
      const { outcome } = (end ?? {}) as { outcome?: { interrupts?: readonly { id: string }[] } };
      if (end) interruptId = outcome?.interrupts?.[0]?.id; // after an error it is still open
      return JSON.stringify(events);
    };
  },
  "A2A, by its task": async (team, context) => {
    const client = await a2aClient({ ...team, service: "till" });
    let open: string | undefined;
    return async (text) => {
      const said = { text, id: randomUUID(), context, task: open };
      const task = (await client.sendMessage(saying(said))) as Task;
      const { state } = task.status!;
      open = state === TaskState.TASK_STATE_INPUT_REQUIRED ? task.id : undefined;
      return JSON.stringify(task);
    };
  },
  MCP: async ({ url, token }, session) => {
    const client = new Client({ name: "test", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const address = new URL(`${url}/mcp?tools=services`);
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    return async (message) => {
      const call = { name: "chat", arguments: { service: "till", session, message } };
      return JSON.stringify(await client.callTool(call));
    };
  },
};

function resumeOf(interruptId: string, payload: string): object {
  return payload === "no, forget it"
    ? { interruptId, status: "cancelled" }
    : { interruptId, status: "resolved", payload };
}

let conversations = 0;

async function open(door: Door, till: Till): Promise<AsyncDisposable & { say: Say; pays: string }> {
  const number = ++conversations;
  const team = await startPayingTeam(database, till, { asks: true });
  const say = await door(team, `door-${number}`);
  return { say, pays: `pay ${number}`, [Symbol.asyncDispose]: () => team[Symbol.asyncDispose]() };
}

describe.each(Object.entries(DOORS))("over %s", (_name, door) => {
  test("a call that needs the person's yes is asked for, and a yes pays once", async () => {
    const till = new Till();
    await using at = await open(door, till);

    const asked = await at.say(at.pays);
    const before = [...till.booked];
    const paid = await at.say("yes");
    await at.say("yes");

    expect(asked).toContain(`Shall I ${at.pays}?`);
    expect(before).toEqual([]);
    expect(paid).toContain("Paid.");
    expect(till.booked).toEqual([at.pays]);
  });

  test.each(["no, forget it", "how much is the fee?"])(
    "“%s” instead of a yes closes the question: a later yes pays nothing",
    async (words) => {
      const till = new Till();
      await using at = await open(door, till);

      await at.say(at.pays);
      await at.say(words);
      await at.say("yes");

      expect(till.booked).toEqual([]);
      const left = await database.database.query({
        text: "select from dure.escalations where status = 'open' and type = 'decision'",
      });
      expect(left).toEqual([]);
    },
  );

  test.each(["before", "in", "after"] as const)(
    "a yes pays once, however often it is sent, where turns fail %s the payment",
    { ...FULL, timeout: 60_000 },
    async (point) => {
      const till = new Till(point, 503, 2);
      await using at = await open(door, till);

      for (let sent = 0; sent < 3; sent++) await at.say(at.pays).catch(() => undefined);
      const before = [...till.booked];
      for (let sent = 0; sent < 3; sent++) await at.say("yes").catch(() => undefined);

      expect([before, till.booked]).toEqual([[], [at.pays]]);
    },
  );
});

test("an A2A task that is cancelled asks for no yes any more, and nor does the inbox", async () => {
  const till = new Till();
  await using team = await startPayingTeam(database, till, { asks: true });
  const client = await a2aClient({ ...team, service: "till" });
  const context = "cancelled";
  const said = { text: "pay mina", id: randomUUID(), context };
  const { id } = (await client.sendMessage(saying(said))) as Task;

  const cancelled = await client.cancelTask({ tenant: "", id, metadata: undefined });
  const yes = { text: "yes", id: randomUUID(), context };
  await client.sendMessage(saying(yes));

  expect(cancelled.status!.state).toBe(TaskState.TASK_STATE_CANCELED);
  expect(till.booked).toEqual([]);
  const approvals = await database.database.query(
    {
      text: `select status, resolution->>'value' as value
      from dure.escalations
      where session_id = $1`,
    },
    [context],
  );
  expect(approvals).toEqual([{ status: "dismissed", value: "left" }]);
});
