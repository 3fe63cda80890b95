// @module-tag slow
import { LLMock } from "@copilotkit/aimock";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { chatAgent, conversationalAgent, type Agent } from "../../src/engine/agent/agent.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import { developerText } from "../../src/engine/texts.ts";
import { tool, type AnyTool } from "../../src/engine/agent/tool.ts";
import { DureError } from "../../src/kernel/errors.ts";
import type { Done, TurnEvent } from "../../src/kernel/turn-events.ts";
import type { CardInput } from "../../src/models/card.ts";
import { MESSAGE_START, RawProvider, sendFrames } from "./raw-provider.ts";

/** One address that speaks both formats. */
const mock = new LLMock({ port: 0, logLevel: "silent" });
let database: TestDatabase;
beforeAll(async () => {
  await mock.start();
  database = await testDatabase();
});
afterAll(async () => {
  await mock.stop();
  await database[Symbol.asyncDispose]();
});
afterEach(() => void mock.reset());

type Wire = "openai" | "anthropic";
const MODELS = { openai: "gpt-4.1-mini", anthropic: "claude-sonnet-4-5" } as const satisfies Record<
  Wire,
  string
>;
const USAGE = {
  openai: { prompt_tokens: 100, completion_tokens: 20 },
  anthropic: { input_tokens: 100, output_tokens: 20 },
} as const satisfies Record<Wire, object>;
let sessions = 0;
/** Slow enough that every piece leaves on its own. */
const AS_TYPED = { ttft: 20, tps: 40 } as const;
const QUICK = { maxAttempts: 3, backoffSec: 0 } as const;

interface Run {
  readonly done: Done;
  readonly events: readonly TurnEvent[];
  /** What was shown while it came. */
  readonly shown: string;
  readonly started: readonly (number | undefined)[];
  readonly calls: readonly {
    provider: string;
    model: string;
    attempt: number;
    tokens_in: number;
    tokens_out: number;
    estimated: boolean;
    error: string | null;
  }[];
}

/** One turn of a service of one agent, from the message to `DONE`, and its books. */
async function say(
  wire: Wire,
  message: string,
  options: {
    agent?: Agent;
    card?: CardInput;
    tools?: Record<string, AnyTool>;
    baseUrl?: string;
  } = {},
): Promise<Run> {
  const agent =
    options.agent ??
    chatAgent({
      name: "helper",
      prompt: "Help.",
      ...(options.tools && { tools: options.tools }),
      card: { policy: QUICK, ...options.card },
    });
  const service = defineService({
    name: "desk",
    agents: { helper: agent },
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({ message: (await turn.agent("helper", "답변 작성 중")).text }),
      ),
    },
  });
  const settings = { apiKey: "a-key", baseUrl: options.baseUrl ?? `${mock.url}/v1` };
  await using t = await startTestEngine(service, {
    on: database,
    model: `${wire}:${MODELS[wire]}`,
    providers: { openai: settings, anthropic: settings },
  });
  const { done, events, turnId } = await t.say(message, { session: `s${++sessions}` });
  const calls = await t.database.query<Run["calls"][number]>(
    {
      text: `
        select provider, model, attempt, tokens_in::int, tokens_out::int, estimated, error
        from dure.model_calls
        where turn_id = $1
        order by id`,
    },
    [turnId],
  );
  return {
    done,
    events,
    shown: events.map((event) => (event.type === "LLM_TOKEN" ? event.data : "")).join(""),
    started: events
      .filter((event) => event.type === "AGENT_START")
      .map((event) => event.data.attempt),
    calls,
  };
}

/** What a developer is told of the provider. */
const REFUSED = {
  openai: {
    title: "OpenAI",
    keyVariable: "OPENAI_API_KEY",
    addressVariable: "OPENAI_BASE_URL",
  },
  anthropic: {
    title: "Anthropic",
    keyVariable: "ANTHROPIC_API_KEY",
    addressVariable: "ANTHROPIC_BASE_URL",
  },
} as const satisfies Record<Wire, object>;

/** The end of a turn whose agent failed for good. @param wire of the provider that said so, if one did */
function failed(wire: Wire | undefined, code: string, retries: number): object {
  const details = wire && { ...REFUSED[wire], model: MODELS[wire] };
  const error = new DureError(code, "", { details });
  return {
    message: developerText(error, "ko"),
    nextAction: "ASK",
    error: { code },
    trace: { agents: [{ agent: "helper", success: false, error: code, retries }] },
  };
}

describe.each<{ wire: Wire }>([{ wire: "openai" }, { wire: "anthropic" }])(
  "a service whose model speaks the wire format of $wire",
  ({ wire }) => {
    const other = wire === "openai" ? "anthropic" : "openai";

    test("streams its answer and books what it cost", async () => {
      mock.onMessage(
        "hello",
        { content: "안녕하세요, 무엇을 도와 드릴까요?", usage: USAGE[wire] },
        { chunkSize: 4, streamingProfile: AS_TYPED },
      );

      const { done, events, shown, calls } = await say(wire, "hello");

      expect(shown).toBe("안녕하세요, 무엇을 도와 드릴까요?");
      expect(events.filter(({ type }) => type === "LLM_TOKEN").length).toBeGreaterThan(2);
      expect(events.filter(({ type }) => type !== "LLM_TOKEN").map(({ type }) => type)).toEqual([
        "AGENT_START",
        "LLM_DONE",
        "AGENT_DONE",
        "DONE",
      ]);
      expect(done).toMatchObject({
        message: shown,
        trace: { agents: [{ success: true, retries: 0, tokensIn: 100, tokensOut: 20 }] },
      });
      expect(calls).toEqual([
        {
          provider: wire,
          model: MODELS[wire],
          attempt: 1,
          tokens_in: 100,
          tokens_out: 20,
          estimated: false,
          error: null,
        },
      ]);
    });

    describe("with an agent that answers in JSON", () => {
      const schema = z.object({ action: z.enum(["answer", "ask"]), message: z.string() });
      const decider = (more: { fallbackMessage?: string } = {}): Agent =>
        conversationalAgent({
          name: "helper",
          prompt: "Decide.",
          schema,
          card: { policy: QUICK },
          ...more,
        });

      /** Also when our complaint about an answer is the last message. */
      const RATE = {
        predicate: ({ messages }: { messages: unknown }) =>
          JSON.stringify(messages).includes("rate"),
      };

      test("shows the growing message and nothing of the JSON around it", async () => {
        mock.onMessage(
          "rate",
          { content: '{"action":"answer","message":"오늘 환율은 \\"1,380원\\"입니다."}' },
          { chunkSize: 6, streamingProfile: AS_TYPED },
        );

        const { done, events, shown } = await say(wire, "rate", { agent: decider() });

        expect(shown).toBe('오늘 환율은 "1,380원"입니다.');
        expect(events.filter(({ type }) => type === "LLM_TOKEN").length).toBeGreaterThan(2);
        expect(events.find(({ type }) => type === "LLM_DONE")?.data).toEqual({
          action: "answer",
          message: shown,
        });
        expect(done.message).toBe(shown);
      });

      test("asks again after half an answer of which nothing was shown", async () => {
        let calls = 0;
        mock.on(RATE, () => ({
          content: ++calls === 1 ? '{"action": "answ' : '{"action":"answer","message":"1,380원"}',
        }));

        const { done, shown, started } = await say(wire, "rate", { agent: decider() });

        expect([done.message, shown, started]).toEqual(["1,380원", "1,380원", [undefined, 2]]);
        expect(JSON.stringify(mock.getLastRequest()?.body)).toContain("not readable JSON");
      });

      test("says its fallback message after half an answer that was shown, and LLM_DONE is the truth of the text", async () => {
        mock.onMessage("rate", { content: '{"action":"answer","message":"오늘 환' });

        const { done, events, shown } = await say(wire, "rate", {
          agent: decider({ fallbackMessage: "다시 말씀해 주세요." }),
        });

        expect(shown).toBe("오늘 환");
        expect(events.find(({ type }) => type === "LLM_DONE")?.data).toMatchObject({
          message: "다시 말씀해 주세요.",
        });
        expect(done).toMatchObject({
          message: "다시 말씀해 주세요.",
          trace: { agents: [{ success: true, retries: 0 }] },
        });
        expect(done.error).toBeUndefined();
        expect(mock.getRequests()).toHaveLength(1);
      });

      test("ends with the text for a wrong format when no attempt is readable and there is no fallback message", async () => {
        mock.on(RATE, { content: '{"action":"sing"}' });

        const { done } = await say(wire, "rate", { agent: decider() });

        expect(done).toMatchObject(failed(undefined, "MODEL_FORMAT", 2));
        expect(mock.getRequests()).toHaveLength(3);
      });
    });

    describe("with tools", () => {
      const weather = (asked: string[]): AnyTool =>
        tool({
          description: "The weather.",
          inputSchema: z.object({ city: z.string() }),
          execute: ({ city }) => (asked.push(city), { sky: `sunny in ${city}` }),
        });

      test("runs two that are called at once, each once and in order, and gives their results back", async () => {
        const asked: string[] = [];
        mock.on(
          { userMessage: "weather", hasToolResult: false },
          {
            toolCalls: [
              { id: "call_a", name: "weather", arguments: '{"city":"서울"}' },
              { id: "call_b", name: "weather", arguments: '{"city":"부산"}' },
            ],
          },
        );
        mock.on({ userMessage: "weather", hasToolResult: true }, { content: "둘 다 맑아요." });

        const { done, calls } = await say(wire, "weather", { tools: { weather: weather(asked) } });

        expect(done.message).toBe("둘 다 맑아요.");
        expect(asked).toEqual(["서울", "부산"]);
        const sent = JSON.stringify(mock.getLastRequest()?.body);
        expect(sent.indexOf("sunny in 서울")).toBeGreaterThan(0);
        expect(sent.indexOf("sunny in 부산")).toBeGreaterThan(sent.indexOf("sunny in 서울"));
        expect(calls.map(({ attempt, error }) => ({ attempt, error }))).toEqual([
          { attempt: 1, error: null },
          { attempt: 1, error: null },
        ]);
      });

      test("tells the model that there is no such tool", async () => {
        const asked: string[] = [];
        mock.on(
          { userMessage: "weather", hasToolResult: false },
          { toolCalls: [{ id: "call_a", name: "forecast", arguments: '{"city":"서울"}' }] },
        );
        mock.on({ userMessage: "weather", hasToolResult: true }, { content: "알 수 없어요." });

        const { done } = await say(wire, "weather", { tools: { weather: weather(asked) } });

        expect([done.message, asked]).toEqual(["알 수 없어요.", []]);
        expect(JSON.stringify(mock.getLastRequest()?.body)).toMatch(
          /There is no tool [\\"]+forecast[\\"]+\. Tools: weather\./,
        );
      });

      test("makes a once call one time although the answer after it is tried again", async () => {
        const booked: string[] = [];
        const book = tool({
          description: "Books.",
          inputSchema: z.object({ seat: z.int() }),
          effect: "once",
          recover: "ask",
          execute: ({ seat }, { key }) => (booked.push(key), { seat }),
        });
        mock.on(
          { userMessage: "book", hasToolResult: false },
          { toolCalls: [{ id: "call_a", name: "book", arguments: '{"seat":7}' }] },
        );
        let answers = 0;
        mock.on({ userMessage: "book", hasToolResult: true }, () =>
          ++answers === 1
            ? { error: { message: "down", type: "server_error" }, status: 503 }
            : { content: "7번 자리를 잡았어요." },
        );

        const { done, started, calls } = await say(wire, "book", { tools: { book } });

        expect([done.message, booked.length, started]).toEqual([
          "7번 자리를 잡았어요.",
          1,
          [undefined, 2],
        ]);
        expect(calls.map(({ error }) => error)).toEqual([null, "MODEL_SERVER_ERROR", null]);
        expect(
          await database.database.query(
            { text: "select status, attempts, result from dure.effects where key = $1" },
            [booked[0]],
          ),
        ).toEqual([{ status: "done", attempts: 1, result: { seat: 7 } }]);
      });
    });

    test("asks again after an empty answer", async () => {
      let calls = 0;
      mock.onMessage("try", () => ({ content: ++calls === 1 ? "" : "네, 말씀하세요." }));

      const { done, started } = await say(wire, "try");

      expect([done.message, started]).toEqual(["네, 말씀하세요.", [undefined, 2]]);
    });

    test("says that it could not put an answer together when all of them are empty", async () => {
      mock.onMessage("try", { content: "" });

      const { done } = await say(wire, "try");

      expect(done).toMatchObject(failed(wire, "MODEL_EMPTY", 2));
    });

    test("takes a refusal as final", async () => {
      await using provider = await RawProvider.start((response) =>
        sendFrames(
          response,
          wire === "openai"
            ? [{ choices: [{ index: 0, delta: {}, finish_reason: "content_filter" }] }]
            : [
                MESSAGE_START,
                {
                  type: "message_delta",
                  delta: { stop_reason: "refusal" },
                  usage: { output_tokens: 1 },
                },
                { type: "message_stop" },
              ],
        ),
      );

      const { done } = await say(wire, "try", { baseUrl: provider.url });

      expect(done).toMatchObject(failed(wire, "MODEL_REFUSED", 0));
      expect(provider.requests).toBe(1);
    });

    test("waits after a 429 as long as it is told, announces the second attempt, and counts it", async () => {
      let calls = 0;
      mock.onMessage("try", () =>
        ++calls === 1
          ? {
              error: { message: "slow down", type: "rate_limit_error" },
              status: 429,
              retryAfter: 1,
            }
          : { content: "이제 됐어요." },
      );

      const { done, events, started, calls: booked } = await say(wire, "try");

      expect([done.message, started]).toEqual(["이제 됐어요.", [undefined, 2]]);
      expect(done.trace.agents).toMatchObject([{ success: true, retries: 1 }]);
      expect(done.trace.totalElapsedMs).toBeGreaterThanOrEqual(950);
      expect(events.find(({ type }) => type === "AGENT_DONE")?.data).toMatchObject({
        success: true,
        retryCount: 1,
      });
      expect(booked.map(({ attempt, error }) => ({ attempt, error }))).toEqual([
        { attempt: 1, error: "MODEL_RATE_LIMITED" },
        { attempt: 2, error: null },
      ]);
    });

    test("asks the next model of its card, of another provider, when the first one stays down", async () => {
      mock.on(
        { userMessage: "try", model: MODELS[wire] },
        { error: { message: "down", type: "server_error" }, status: 500 },
      );
      mock.on({ userMessage: "try", model: MODELS[other] }, { content: "제가 대신 답할게요." });

      const { done, started, calls } = await say(wire, "try", {
        card: {
          llm: { provider: wire, model: MODELS[wire], fallbacks: [`${other}:${MODELS[other]}`] },
          policy: { maxAttempts: 2, backoffSec: 0 },
        },
      });

      expect([done.message, started]).toEqual(["제가 대신 답할게요.", [undefined, 2, 3]]);
      expect(calls.map(({ model, error }) => [model, error])).toEqual([
        [MODELS[wire], "MODEL_SERVER_ERROR"],
        [MODELS[wire], "MODEL_SERVER_ERROR"],
        [MODELS[other], null],
      ]);
    });

    test("interrupts a model that hangs and says that it took too long", async () => {
      mock.onMessage("try", () => new Promise<never>(() => {}));

      const { done, calls } = await say(wire, "try", {
        card: { policy: { maxAttempts: 2, backoffSec: 0, timeoutSec: 0.3 } },
      });

      expect(done).toMatchObject(failed(undefined, "MODEL_TIMEOUT", 1));
      expect(calls.map(({ error }) => error)).toEqual(["MODEL_TIMEOUT", "MODEL_TIMEOUT"]);
    });

    test("does not ask again when the stream is cut after its first token, and names the connection", async () => {
      mock.onMessage(
        "try",
        { content: "word ".repeat(100) },
        { chunkSize: 5, truncateAfterChunks: 10, streamingProfile: { ttft: 1, tps: 100 } },
      );

      const { done, shown, started, calls } = await say(wire, "try");

      expect(done).toMatchObject(failed(wire, "MODEL_UNREACHABLE", 0));
      expect(shown).toMatch(/^word /);
      expect(started).toEqual([undefined]);
      expect(calls).toMatchObject([{ error: "MODEL_UNREACHABLE", estimated: true }]);
      expect(calls[0]!.tokens_out).toBeGreaterThan(0);
    });

    test("tries again after frames that are no JSON, then says that the answer has the wrong format", async () => {
      await using provider = await RawProvider.start((response) =>
        sendFrames(response, [
          `${wire === "anthropic" ? "event: message_start\n" : ""}data: {oops\n\n`,
        ]),
      );

      const { done } = await say(wire, "try", { baseUrl: provider.url });

      expect(done).toMatchObject(failed(wire, "MODEL_FORMAT", 2));
      expect(provider.requests).toBe(3);
    });

    test("tells a developer which key is wrong, without its text, and does not try it again", async () => {
      mock.onMessage("try", {
        error: { message: "invalid key a-key", type: "authentication_error" },
        status: 401,
      });

      const { done } = await say(wire, "try");

      expect(done).toMatchObject({
        ...failed(wire, "MODEL_UNAUTHORIZED", 0),
        message: expect.stringContaining(`${wire.toUpperCase()}_API_KEY 값을 확인하고`) as string,
      });
      expect(done.message).not.toContain("a-key");
      expect(mock.getRequests()).toHaveLength(1);
    });

    test("carries no key to another address that a provider redirects to", async () => {
      await using other = await RawProvider.start((response) => void response.end());
      await using provider = await RawProvider.start((response) => {
        response.writeHead(307, { location: `${other.url}/v1` }).end();
      });

      const { done } = await say(wire, "try", { baseUrl: provider.url });

      expect(done).toMatchObject(failed(wire, "REDIRECT_REFUSED", 0));
      expect([provider.requests, other.requests]).toEqual([1, 0]);
    });
  },
);
