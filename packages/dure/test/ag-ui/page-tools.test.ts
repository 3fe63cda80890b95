import { HttpAgent, type BaseEvent, type Tool } from "@ag-ui/client";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { startCallerTeam, type CallerTeam } from "../openai/caller-team.ts";

/** Tools of a page over `/ag-ui/v1`, with the official client, version 1.0. */
let team: CallerTeam;

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // the client logs refusals
  team = await startCallerTeam();
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

const WEATHER: Tool = {
  name: "weather",
  description: "The weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};

function agentIn(threadId: string, service = "ruda"): HttpAgent {
  const headers = { authorization: `Bearer ${team.token}` };
  return new HttpAgent({ url: `${team.url}/ag-ui/v1/agents/${service}`, headers, threadId });
}

async function run(agent: HttpAgent): Promise<readonly BaseEvent[]> {
  const events: BaseEvent[] = [];
  const onEvent = ({ event }: { event: BaseEvent }) => void events.push(event);
  await agent.runAgent({ tools: [WEATHER] }, { onEvent });
  return events;
}

function ask(agent: HttpAgent, content: string): Promise<readonly BaseEvent[]> {
  agent.addMessage({ id: `m-${agent.messages.length}`, role: "user", content });
  return run(agent);
}

/** As a page does that has done what its tools were called for. */
function giveResults(agent: HttpAgent, content: string): void {
  for (const message of agent.messages) {
    if (message.role !== "assistant") continue;
    for (const { id: toolCallId } of message.toolCalls ?? []) {
      agent.addMessage({ id: `${toolCallId}-r`, role: "tool", toolCallId, content });
    }
  }
}

describe("tools of a page", FULL, () => {
  test("are called, and their results begin the next run of the thread", async () => {
    const agent = agentIn("page-1");
    const first = await ask(agent, "weather in Seoul and Busan?");
    const calls = agent.messages.flatMap((one) =>
      one.role === "assistant" ? (one.toolCalls ?? []) : [],
    );
    giveResults(agent, "sunny");
    await run(agent);

    expect(first.map(({ type }) => type)).not.toContain("TOOL_CALL_RESULT");
    expect(calls.map((one) => one.function)).toEqual([
      { name: "weather", arguments: '{"city":"Seoul"}' },
      { name: "weather", arguments: '{"city":"Busan"}' },
    ]);
    expect(agent.messages.at(-1)).toMatchObject({ content: "It is sunny and sunny." });
  });

  test("of a service with a handler of its own are passed over", async () => {
    const agent = agentIn("page-2", "desk");
    await ask(agent, "weather in Seoul?");

    expect(agent.messages.at(-1)).toMatchObject({ role: "assistant", content: "Welcome." });
  });

  test("whose results no call of the thread waits for are refused", async () => {
    const agent = agentIn("page-3");
    await ask(agent, "weather in Seoul?");
    giveResults(agent, "sunny");
    const stranger = agentIn("page-4");
    stranger.setMessages([...agent.messages]);

    await expect(run(stranger)).rejects.toThrow(/TOOL_CALL_CLOSED|409/u);
    await run(agent);
    expect(agent.messages.at(-1)).toMatchObject({ content: "It is sunny." });
  });
});
