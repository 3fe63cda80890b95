import { fileURLToPath } from "node:url";
import {
  compactEvents,
  EventType,
  HttpAgent,
  type BaseEvent,
  type HttpAgentFetchFn,
  type RunAgentParameters,
} from "@ag-ui/client";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startContractTeam, WORDS, type ContractTeam } from "../contract/contract-team.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { until } from "../until.ts";

/** `/ag-ui/v1` of a real team, with the official client, version 1.0. */
let team: ContractTeam;

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // the client logs refusals
  team = await startContractTeam();
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

interface To {
  readonly service?: string;
  readonly url?: string;
  readonly token?: string;
  readonly fetch?: HttpAgentFetchFn;
}

function agentIn(threadId: string, to: To = {}): HttpAgent {
  const { service = "desk", url = team.url, token = team.admin, fetch = globalThis.fetch } = to;
  const headers = { authorization: `Bearer ${token}` };
  return new HttpAgent({ url: `${url}/ag-ui/v1/agents/${service}`, headers, threadId, fetch });
}

/**
 * A body that breaks off ends here without an error: the client, 1.0.0, cancels what has failed, and
 * leaves the rejection of that to the process.
 */
const endingFetch: HttpAgentFetchFn = async (url, init) => {
  const { body, status, headers } = await fetch(url, init);
  const reader = body!.getReader();
  const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done) controller.close();
    else controller.enqueue(value);
  };
  return new Response(new ReadableStream({ pull }), { status, headers });
};

/** What the client has checked and told, in order. */
async function run(
  agent: HttpAgent,
  parameters: RunAgentParameters = {},
): Promise<readonly BaseEvent[]> {
  const events: BaseEvent[] = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });

  return events;
}

function say(agent: HttpAgent, content: string, runId?: string): Promise<readonly BaseEvent[]> {
  agent.addMessage({ id: `m-${agent.messages.length}`, role: "user", content });
  return run(agent, runId === undefined ? {} : { runId });
}

function shown({ messages }: HttpAgent): readonly string[] {
  return messages.map(({ role, content }) => `${role}: ${content as string}`);
}

/** The last event; of the ones before it nothing but their types is of interest. */
function end(events: readonly BaseEvent[]): BaseEvent {
  return events.at(-1)!;
}

interface Interrupted {
  readonly outcome: { readonly interrupts: readonly { readonly id: string }[] };
}

function interruptOf(events: readonly BaseEvent[]): string {
  return (end(events) as unknown as Interrupted).outcome.interrupts[0]!.id;
}

async function api<Answer>(path: string, method = "GET"): Promise<Answer> {
  const headers = { authorization: `Bearer ${team.admin}` };
  return (await (await fetch(team.url + path, { method, headers })).json()) as Answer;
}

async function saidIn(session: string): Promise<readonly string[]> {
  const { history } = await api<{ history: { role: string; content: string }[] }>(
    `/v1/agent/sessions/${session}`,
  );
  return history.filter(({ role }) => role === "user").map(({ content }) => content);
}

describe("the client of AG-UI", FULL, () => {
  test("is told an answer, its steps and the state", async () => {
    const agent = agentIn("ag-plain");

    const events = await say(agent, "안녕하세요");

    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set([
        "RUN_STARTED",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "STEP_FINISHED",
        "TEXT_MESSAGE_END",
        "STATE_SNAPSHOT",
        "RUN_FINISHED",
      ]),
    );
    expect(events[0]).toMatchObject({ protocolVersion: "1.0", threadId: "ag-plain" });
    expect(end(events)).toMatchObject({ outcome: { type: "success" } });
    expect(shown(agent)).toEqual(["user: 안녕하세요", "assistant: 네, 알겠습니다."]);
  });

  test("is told the call of a tool, and guests no more than its name", async () => {
    const agent = agentIn("ag-tool");
    const guest = agentIn("ag-tool-2", { token: team.guest });

    const events = await say(agent, WORDS.look);
    await say(guest, WORDS.look);

    const types = events.map(({ type }) => type).filter((type) => type.startsWith("TOOL_"));
    expect(types).toEqual([
      "TOOL_CALL_START",
      "TOOL_CALL_ARGS",
      "TOOL_CALL_END",
      "TOOL_CALL_RESULT",
    ]);
    const asked = (args: string) => ({
      toolCalls: [{ function: { name: "look_up", arguments: args } }],
    });
    const answer = { role: "assistant", content: "네, 알겠습니다." };
    expect(agent.messages.slice(1)).toMatchObject([
      asked('{"thing":"의자"}'),
      { role: "tool", content: '{"left":3}' },
      answer,
    ]);
    expect(guest.messages.slice(1)).toMatchObject([
      asked("{}"),
      { role: "tool", content: "null" },
      answer,
    ]);
  });

  test("that has a state is told what has changed of it", async () => {
    const agent = agentIn("ag-state", { service: "transfer" });
    await say(agent, "홍길동에게 보내줘");
    const before = structuredClone(agent.state);

    const events = await say(agent, "5만원");

    const types = events.map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("STATE_"))).toEqual([
      "STATE_SNAPSHOT",
      "STATE_DELTA",
    ]);
    // A server between them, such as CopilotKit's, keeps a run by itself.
    const kept = compactEvents([...events]).find(({ type }) => type === EventType.STATE_SNAPSHOT);
    expect(kept).toMatchObject({ snapshot: agent.state });
    expect(before).not.toEqual(agent.state);
    const { state } = await api<{ state: object }>("/v1/agent/sessions/ag-state");
    // The snapshot of DONE says besides which flow runs, and what is missing.
    expect(agent.state).toEqual({ ...state, scenario: "TRANSFER", missing_required: [] });
  });

  test("answers a question by its interrupt, once", async () => {
    const agent = agentIn("ag-pay", { service: "transfer" });
    const asked = await say(agent, "홍길동에게 5만원 보내줘");
    const resume = [{ interruptId: interruptOf(asked), status: "resolved" as const }];

    const paid = await run(agent, { runId: "pay", resume });
    const again = await run(agentIn("ag-pay", { service: "transfer" }), { runId: "pay", resume });

    expect(end(asked)).toMatchObject({
      outcome: { type: "interrupt", interrupts: [{ reason: "confirmation" }] },
    });
    expect(end(paid)).toMatchObject({
      outcome: { type: "success" },
      result: { receipt: { amount: 50_000 } },
    });
    expect(end(again)).toMatchObject({ result: { receipt: { amount: 50_000 } } });
    expect(await api("/v1/agent/completed?session_id=ag-pay")).toMatchObject({
      items: [expect.anything()],
    });
  });

  test("answers under the id of the run that asked, as CopilotKit does, once and for good", async () => {
    const agent = agentIn("ag-same", { service: "transfer" });
    const [id, runId] = ["m-same", "same"];
    agent.addMessage({ id, role: "user", content: "홍길동에게 6만원 보내줘" });
    const interruptId = interruptOf(await run(agent, { runId }));
    const yes = { runId, resume: [{ interruptId, status: "resolved" as const }] };
    const no = { runId, resume: [{ interruptId, status: "cancelled" as const }] };

    const paid = await run(agent, yes);
    const again = await run(agentIn("ag-same", { service: "transfer" }), yes);

    for (const events of [paid, again]) {
      expect(end(events)).toMatchObject({ result: { receipt: { amount: 60_000 } } });
    }
    await expect(run(agentIn("ag-same", { service: "transfer" }), no)).rejects.toThrow(
      "IDEMPOTENCY_KEY_REUSED",
    );
    expect(await api("/v1/agent/completed?session_id=ag-same")).toMatchObject({
      items: [expect.anything()],
    });
  });

  test("says no by cancelling the interrupt", async () => {
    const agent = agentIn("ag-no", { service: "transfer" });
    const interruptId = interruptOf(await say(agent, "홍길동에게 5만원 보내줘"));

    const ended = await run(agent, { resume: [{ interruptId, status: "cancelled" }] });

    expect(end(ended)).not.toMatchObject({ result: { receipt: expect.anything() as unknown } });
    expect(JSON.stringify(end(ended))).not.toContain("50000");
  });

  test("decides what needs a person, with the scope for it alone", async () => {
    const agent = agentIn("ag-buy");
    const asked = await say(agent, WORDS.buy);
    const interruptId = interruptOf(asked);
    const resume = [{ interruptId, status: "resolved" as const, payload: "approve" }];

    const refused = run(agentIn("ag-buy", { token: team.guest }), { resume });
    await expect(refused).rejects.toThrow("HTTP 403");
    const decided = await run(agent, { resume });

    expect(end(asked)).toMatchObject({ outcome: { interrupts: [{ reason: "approval" }] } });
    expect(end(decided)).toMatchObject({ outcome: { type: "success" } });
    expect(await api("/v1/audit?what=escalation.approve")).toMatchObject({
      items: [{ subject: interruptId, outcome: "done" }],
    });
    await expect(run(agentIn("ag-buy"), { resume })).rejects.toThrow("ESCALATION_UNKNOWN");
  });

  test("asks for a run again by its id: it is the same turn, from its beginning", async () => {
    const first = await say(agentIn("ag-once"), "한 번만", "r1");
    const agent = agentIn("ag-once");
    const again = await say(agent, "한 번만", "r1");

    expect(again[0]).toEqual(first[0]);
    expect(shown(agent)).toEqual(["user: 한 번만", "assistant: 네, 알겠습니다."]);
    expect(await saidIn("ag-once")).toEqual(["한 번만"]);
  });

  test("is told that a run was stopped", async () => {
    const running = say(agentIn("ag-stop"), WORDS.hang);
    const turn = await until(
      async () => {
        const session = await api<{ running_turn?: { turn_id: string } }>(
          "/v1/agent/sessions/ag-stop",
        );
        return session.running_turn?.turn_id;
      },
      () => "no turn runs",
    );
    await api(`/v1/agent/turns/${turn}/stop`, "POST");

    expect(end(await running)).toMatchObject({ outcome: { type: "cancelled" } });
  });
});

describe("refused", FULL, () => {
  test.each([
    ["an unknown service", "nope", "ag-r1", "hi", "HTTP 404"],
    ["a thread of dure's own", "desk", "job:j1", "hi", "SESSION_RESERVED"],
    ["a thread that is no session", "desk", "with space", "hi", "HTTP 400"],
    ["no words", "desk", "ag-r2", " ", "MESSAGE_INVALID"],
  ])("%s", async (_what, service, thread, words, message) => {
    await expect(say(agentIn(thread, { service }), words)).rejects.toThrow(message);
  });

  test("other words under the same run", async () => {
    await say(agentIn("ag-r3"), "처음", "r1");

    await expect(say(agentIn("ag-r3"), "다른 말", "r1")).rejects.toThrow("KEY_REUSED");
  });

  test("a picture", async () => {
    const agent = agentIn("ag-r4");
    const source = { type: "url", value: "https://example.com/a.png" } as const;
    agent.addMessage({ id: "m", role: "user", content: [{ type: "image", source }] });

    await expect(run(agent)).rejects.toThrow("NOT_SPOKEN");
  });

  test("no token, and a token without the scope chat", async () => {
    const store = new PostgresTokenStore({ database: team.database });
    const { token } = await store.create({ name: "worker", scopes: ["jobs"], tenant: "" });

    await expect(say(agentIn("ag-r5", { token: "none" }), "hi")).rejects.toThrow("HTTP 401");
    await expect(say(agentIn("ag-r5", { token }), "hi")).rejects.toThrow("HTTP 403");
  });

  test("another tenant's decision", async () => {
    const store = new PostgresTokenStore({ database: team.database });
    const { token } = await store.create({ name: "acme", scopes: ["admin"], tenant: "acme" });
    const interruptId = interruptOf(await say(agentIn("ag-r6"), WORDS.buy));
    const resume = [{ interruptId, status: "resolved" as const, payload: "approve" }];

    const tried = run(agentIn("ag-r6", { token }), { resume });

    await expect(tried).rejects.toThrow("ESCALATION_UNKNOWN");
  });
});

const KILLS = { ...FULL, timeout: 120_000 };

test("kill -9 in a run: asked for again, it is told whole, and was one turn", KILLS, async () => {
  await using db = await testDatabase();
  const folder = fileURLToPath(new URL("folder", import.meta.url));
  const serve = (more: Record<string, string>) =>
    ServerProcess.spawn({ DATABASE_URL: db.url, DURE_TOKEN: team.admin, ...more }, folder);
  await using first = serve({ TEST_HANGS: "1" });
  const to = { url: await first.url, service: "ruda", fetch: endingFetch };
  const cut = say(agentIn("ag-cut", to), "Do it.", "r1");
  const told = cut.catch(() => []);
  const turns = () => db.database.query({ text: "select status from dure.turns" });
  await until(
    async () => (await turns()).length === 1,
    () => "no turn was accepted",
  );
  await first.kill();
  const before = (await told).map(({ type }) => type);

  await using second = serve({});
  const agent = agentIn("ag-cut", { url: await second.url, service: "ruda" });
  const events = await say(agent, "Do it.", "r1");

  expect(before).not.toContain("RUN_FINISHED");
  expect(end(events)).toMatchObject({ type: "RUN_FINISHED" });
  expect(shown(agent)).toEqual(["user: Do it.", "assistant: It is done."]);
  expect(await turns()).toEqual([{ status: "done" }]);
});
