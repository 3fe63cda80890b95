import type { ServerResponse } from "node:http";
import { expect, describe, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { startBank, type Bank } from "../../../../examples/transfer/bank/bank.ts";
import { MESSAGES } from "../../../../examples/transfer/messages.ts";
import { answerTransfer } from "../../../../examples/transfer/offline.ts";
import { agentAsked } from "../../../../examples/transfer/prompts.ts";
import { createTransferService } from "../../../../examples/transfer/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import type { Done, TurnEvent } from "../../src/kernel/turn-events.ts";
import type { TurnRequest } from "../../src/engine/api.ts";
import { MESSAGE_START, RawProvider, sendFrames, type RawRequest } from "./raw-provider.ts";

/**
 * The transfer example over the bytes that real providers speak: what its agents ask, and what they
 * make of the answers. The provider understands what a person says as the offline model does, so
 * that only the wire is different.
 */
type Wire = "openai" | "anthropic";
type AgentName = NonNullable<ReturnType<typeof agentAsked>>;

const { ko } = MESSAGES;
const HONG = { target: "홍길동", amount: 50_000 };

/** One request, in the words that both formats share. */
interface Asked {
  readonly agent: AgentName;
  readonly system: string;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  readonly path: string;
  readonly headers: RawRequest["headers"];
  readonly body: Record<string, unknown>;
}

interface Desk extends AsyncDisposable {
  readonly asked: Asked[];
  readonly bank: Bank;
  /**
   * What the next calls for `agent` are answered, before the provider thinks again for itself;
   * `half` ends as a cut-off answer does.
   */
  script(
    agent: AgentName,
    ...answers: readonly { readonly text: string; readonly half?: boolean }[]
  ): void;
  say(
    message: string,
    request?: Partial<TurnRequest>,
  ): Promise<{ done: Done; events: readonly TurnEvent[]; shown: string }>;
}

async function openDesk(wire: Wire): Promise<Desk> {
  await using stack = new AsyncDisposableStack();
  const bank = await startBank();
  stack.defer(() => bank.stop());
  const asked: Asked[] = [];
  const scripted = new Map<AgentName, { text: string; half?: boolean }[]>();
  const provider = stack.use(
    await RawProvider.start((response, _, request) => {
      const call = FORMATS[wire].read(request);
      asked.push(call);
      const next = scripted.get(call.agent)?.shift() ?? { text: thinkOf(call) };
      FORMATS[wire].answer(response, next.text, next.half ?? false);
    }),
  );
  const settings = { apiKey: "a-key", baseUrl: `${provider.url}/v1` };
  const t = stack.use(
    await startTestEngine(createTransferService({ bankUrl: bank.url }), {
      model: MODELS[wire],
      providers: { openai: settings, anthropic: settings },
    }),
  );
  const kept = stack.move();
  return {
    asked,
    bank,
    script: (agent, ...answers) => void scripted.set(agent, [...answers]),
    async say(message, request) {
      const { done, events } = await t.say(message, request);
      return {
        done,
        events,
        shown: events.map((event) => (event.type === "LLM_TOKEN" ? event.data : "")).join(""),
      };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const MODELS = {
  openai: "openai:gpt-4.1-mini",
  anthropic: "anthropic:claude-sonnet-4-5",
} as const satisfies Record<Wire, string>;

/**
 * What a model would say that reads these messages well. A complaint about an answer is no sentence
 * of the person.
 */
function thinkOf({ system, messages }: Asked): string {
  const said = messages.filter(
    ({ role, text }) => role === "user" && !text.startsWith("The answer "),
  );
  const answer = answerTransfer({
    system,
    messages: said.map(({ text }) => ({ role: "user", text })),
  });
  return JSON.stringify(answer?.object);
}

interface OpenAiBody {
  readonly messages: readonly { role: string; content: string }[];
  readonly response_format?: {
    readonly type: string;
    readonly json_schema?: {
      readonly name: string;
      readonly strict: boolean;
      readonly schema: object;
    };
  };
}

interface AnthropicBody {
  readonly system: readonly { text: string }[];
  readonly messages: readonly { role: string; content: readonly { text: string }[] }[];
  readonly output_config?: { readonly format?: { readonly type: string; readonly schema: object } };
}

/** How each format is read and spoken, and where it says which JSON it wants. */
const FORMATS = {
  openai: {
    path: "/v1/chat/completions",
    key: ({ headers }: Asked) => headers.authorization,
    keyIs: "Bearer a-key",
    output: ({ body }: Asked) => {
      const { response_format: format } = body as unknown as OpenAiBody;
      return {
        type: format?.type,
        schema: format?.json_schema?.schema,
        rest: { name: format?.json_schema?.name, strict: format?.json_schema?.strict },
      };
    },
    rest: { name: "answer", strict: true },
    // Strict mode: an optional member is required, and may be null.
    value: { anyOf: [{ type: "string" }, { type: "number" }, { type: "boolean" }] },
    ofChange: ["slot", "value", "quote"],
    ofReading: ["kind", "items", "clear", "note"],
    read(request: RawRequest): Asked {
      const body = JSON.parse(request.body) as OpenAiBody;
      const system = body.messages
        .filter(({ role }) => role === "system")
        .map(({ content }) => content)
        .join("\n");
      return {
        ...askedOf(
          system,
          body.messages
            .filter(({ role }) => role !== "system")
            .map(({ role, content }) => [role, content]),
        ),
        ...request,
        body: body as never,
      };
    },
    answer(response: ServerResponse, text: string, half: boolean): void {
      sendFrames(response, [
        ...piecesOf(text).map((content) => ({
          choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }],
        })),
        { choices: [{ index: 0, delta: {}, finish_reason: half ? "length" : "stop" }] },
        { choices: [], usage: { prompt_tokens: 30, completion_tokens: 10, total_tokens: 40 } },
        "data: [DONE]\n\n",
      ]);
    },
  },
  anthropic: {
    path: "/v1/messages",
    key: ({ headers }: Asked) => headers["x-api-key"],
    keyIs: "a-key",
    output: ({ body }: Asked) => {
      const format = (body as unknown as AnthropicBody).output_config?.format;
      return { type: format?.type, schema: format?.schema, rest: {} };
    },
    rest: {},
    value: { anyOf: [{ type: "string" }, { type: "number" }, { type: "boolean" }] },
    ofChange: ["slot", "value"],
    ofReading: ["kind"],
    read(request: RawRequest): Asked {
      const body = JSON.parse(request.body) as AnthropicBody;
      const system = body.system.map(({ text }) => text).join("\n");
      // Messages of one role that follow each other are parts of one.
      return {
        ...askedOf(
          system,
          body.messages.flatMap(({ role, content }) =>
            content.map(({ text }) => [role, text] as const),
          ),
        ),
        ...request,
        body: body as never,
      };
    },
    answer(response: ServerResponse, text: string, half: boolean): void {
      sendFrames(response, [
        MESSAGE_START,
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        ...piecesOf(text).map((piece) => ({
          type: "content_block_delta",
          index: 0,
          delta: { type: "text_delta", text: piece },
        })),
        { type: "content_block_stop", index: 0 },
        {
          type: "message_delta",
          delta: { stop_reason: half ? "max_tokens" : "end_turn" },
          usage: { output_tokens: 10 },
        },
        { type: "message_stop" },
      ]);
    },
  },
} as const;

function askedOf(
  system: string,
  messages: readonly (readonly [role: string, text: string])[],
): Pick<Asked, "agent" | "system" | "messages"> {
  const agent = agentAsked(system);
  if (!agent) throw new Error(`no agent of the service has this prompt: ${system.slice(0, 80)}`);
  return {
    agent,
    system,
    messages: messages.map(([role, text]) => ({ role: role as "user", text })),
  };
}

function piecesOf(text: string): string[] {
  return text.match(/.{1,6}/gsu) ?? [];
}

/** What the prompt's context block says. */
function factsOf({ system }: Asked): Record<string, unknown> {
  return JSON.parse(/<context>\n(.*)\n<\/context>/.exec(system)![1]!) as Record<string, unknown>;
}

/**
 * Keywords of JSON Schema that Anthropic's structured outputs refuse. Source: docs.claude.com,
 * "Structured outputs", JSON Schema limitations.
 */
const REFUSED_BY_ANTHROPIC = [
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "multipleOf",
  "maxItems",
  "propertyNames",
];

describe.each<{ wire: Wire }>([{ wire: "openai" }, { wire: "anthropic" }])(
  "the transfer service over the wire format of $wire",
  ({ wire }) => {
    const format = FORMATS[wire];

    test(
      "fills slot by slot, asks for a confirmation, sends once and gives the receipt",
      FULL,
      async () => {
        await using desk = await openDesk(wire);

        const begun = await desk.say("이체하고 싶어");
        const named = await desk.say("홍길동");
        const asked = await desk.say("5만원");
        const callsBefore = desk.asked.length;
        const done = await desk.say("확인", { confirmId: asked.done.uiHint!.confirmId! });

        expect([begun.done.message, named.done.message]).toEqual([
          "누구에게 얼마를 보낼까요?",
          "홍길동님에게 얼마를 보낼까요?",
        ]);
        expect([begun.shown, named.shown], "no model words a question").toEqual(["", ""]);
        expect(asked.done).toMatchObject({
          message: ko.confirmQuestion(HONG),
          nextAction: "CONFIRM",
          uiHint: { buttons: ["확인", "취소"] },
          stateSnapshot: { stage: "READY", slots: HONG },
        });
        expect(done.done).toMatchObject({
          message: ko.receipt(HONG, { transaction_id: "tx_000001" }),
          nextAction: "DONE",
          receipt: { status: "booked", ...HONG },
        });
        expect(desk.bank.bookings()).toMatchObject([{ to: "홍길동", amount: 50_000 }]);
        expect(desk.asked.length, "the confirmation is decided without a model").toBe(callsBefore);
        expect(desk.asked.map(({ agent }) => agent)).toEqual(["intent", "slots", "slots", "slots"]);
      },
    );

    test(
      "asks each agent with its prompt, its facts, the schema of its answer, and without tools",
      FULL,
      async () => {
        await using desk = await openDesk(wire);

        await desk.say("이체하고 싶어");
        await desk.say("홍길동");
        await desk.say("수수료는 얼마예요?");

        const [intent, slots, secondSlots, , interaction] = desk.asked;
        for (const call of desk.asked) {
          const { type, rest } = format.output(call);
          expect(call.path).toBe(format.path);
          expect(format.key(call)).toBe(format.keyIs);
          expect({ type, rest }).toEqual({ type: "json_schema", rest: format.rest });
          expect(call.body).toMatchObject({ model: MODELS[wire].split(":")[1], stream: true });
          expect(call.body).not.toHaveProperty("tools");
        }
        expect(format.output(intent!).schema).toMatchObject({
          properties: { scenario: { enum: ["TRANSFER", "GENERAL"] } },
          required: ["scenario"],
        });
        expect(format.output(slots!).schema).toMatchObject({
          properties: {
            kind: {},
            items: {
              items: {
                properties: {
                  changes: {
                    items: {
                      properties: {
                        slot: { enum: ["target", "amount", "memo", "alias", "transfer_date"] },
                        value: format.value,
                        quote: {},
                      },
                      required: format.ofChange,
                    },
                  },
                },
              },
            },
            clear: {},
            note: {},
          },
          required: format.ofReading,
        });
        expect(format.output(interaction!).schema).toMatchObject({
          properties: { action: { enum: ["ask", "chat"] }, message: { type: "string" } },
          required: ["action", "message"],
        });
        expect(factsOf(slots!)).toMatchObject({
          locale: "ko",
          stage: "INIT",
          slots: {},
          missing: ["target", "amount"],
        });
        expect(factsOf(secondSlots!)).toMatchObject({ stage: "FILLING", asked_slot: "target" });
        expect(secondSlots!.messages.at(-1)).toEqual({ role: "user", text: "홍길동" });
        expect(intent!.messages).toEqual([{ role: "user", text: "이체하고 싶어" }]);
      },
    );

    test(
      "asks the slot agent again after half an answer, says what was wrong, and takes nothing of it",
      FULL,
      async () => {
        await using desk = await openDesk(wire);
        desk.script("slots", {
          text: '{"kind":"details","items":[{"changes":[{"slot":"target","value":"김철수"},{"slot":"amo',
          half: true,
        });

        const { done, events } = await desk.say("홍길동에게 5만원 보내줘");

        const slots = desk.asked.filter(({ agent }) => agent === "slots");
        expect(slots).toHaveLength(2);
        expect(slots[1]!.messages.at(-1)!.text).toContain("not readable JSON");
        expect(
          events.filter(({ type }) => type === "AGENT_START").map(({ data }) => data),
        ).toMatchObject([{ agent: "intent" }, { agent: "slots" }, { agent: "slots", attempt: 2 }]);
        expect(done).toMatchObject({
          message: ko.confirmQuestion(HONG),
          stateSnapshot: { slots: HONG },
        });
        expect(done.trace.agents.find(({ agent }) => agent === "slots")).toMatchObject({
          success: true,
          retries: 1,
        });
        expect(desk.bank.bookings()).toEqual([]);
      },
    );

    test(
      "asks the person again when no answer of the slot agent is whole, and keeps what was known",
      FULL,
      async () => {
        await using desk = await openDesk(wire);
        await desk.say("홍길동에게 보내줘");
        const half = {
          text: '{"kind":"details","items":[{"changes":[{"slot":"amount","value":"5만',
          half: true,
        };
        desk.script("slots", half, half);

        const { done } = await desk.say("5만원");
        const again = await desk.say("5만원");

        expect(done).toMatchObject({
          nextAction: "ASK",
          stateSnapshot: {
            stage: "FILLING",
            slots: { target: "홍길동" },
            meta: { slot_errors: { _unclear: "UNREADABLE" } },
          },
        });
        expect(done.error).toBeUndefined();
        expect(done.message).toContain("말씀을 잘 이해하지 못했어요.");
        expect(again.done).toMatchObject({
          message: ko.confirmQuestion(HONG),
          nextAction: "CONFIRM",
        });
      },
    );

    test("lets no answer of the model confirm, cancel or invent: the wire is not trusted more than the person", async () => {
      await using desk = await openDesk(wire);
      await desk.say("홍길동에게 5만원 보내줘");
      desk.script("slots", {
        text: JSON.stringify({
          kind: "details",
          confirm: true,
          items: [{ changes: [{ slot: "amount", value: -5, quote: "얼른" }] }],
        }),
      });

      const { done } = await desk.say("그냥 얼른");

      expect(desk.bank.bookings()).toEqual([]);
      expect(done.nextAction).not.toBe("DONE");
      expect(done.stateSnapshot).toMatchObject({ stage: expect.stringMatching(/READY|FILLING/) });
    });
  },
);

test("what Anthropic's structured outputs refuse is not in any schema that is sent to it", async () => {
  await using desk = await openDesk("anthropic");

  await desk.say("이체하고 싶어");

  const schemas = desk.asked.map((call) => JSON.stringify(FORMATS.anthropic.output(call).schema));
  // The intent and the slots: what is asked is the form's own words.
  expect(schemas).toHaveLength(2);
  expect(
    REFUSED_BY_ANTHROPIC.filter((keyword) =>
      schemas.some((schema) => schema.includes(`"${keyword}"`)),
    ),
  ).toEqual([]);
});
