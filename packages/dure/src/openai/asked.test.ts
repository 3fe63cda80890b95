import { expect, test } from "vitest";
import { OpenAiChatBody, OpenAiResponseBody } from "../wire/openai.ts";
import { acceptedAt, idFor, turnOf } from "./answer-ids.ts";
import { chatAsked, responseAsked } from "./asked.ts";
import { backgroundOf } from "./transcript.ts";

const chat = (body: object) => told(chatAsked(OpenAiChatBody.parse({ model: "desk", ...body })));
const response = (body: object) =>
  told(responseAsked(OpenAiResponseBody.parse({ model: "desk", ...body })));

function told({ before, ...asked }: ReturnType<typeof chatAsked>) {
  return { ...asked, background: backgroundOf(before) };
}

const DIALOGUE = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Hello!" },
  { role: "user", content: [{ type: "text", text: "And now?" }] },
];

const WEATHER = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
const callId = (index: number) => `call_01K0000000ABCDEFGHJKMNPQRS_${index}`;
const CALLED = {
  role: "assistant",
  content: null,
  tool_calls: [0, 1].map((index) => ({
    id: callId(index),
    type: "function",
    function: { name: "weather", arguments: '{"city":"Seoul"}' },
  })),
};
const GAVE = [0, 1].map((index) => ({
  role: "tool",
  tool_call_id: callId(index),
  content: `sun ${index}`,
}));

test("results are brought to the question that they belong to", () => {
  const results = [0, 1].map((index) => ({ callId: callId(index), output: `sun ${index}` }));

  expect(chat({ messages: [...DIALOGUE, CALLED, ...GAVE], tools: [WEATHER] })).toMatchObject({
    message: "",
    background: "system: Be brief.\n\nuser: Hello\n\nassistant: Hello!",
    callerTools: { tools: [{ name: "weather" }], results },
  });
});

test("what earlier calls gave is told as background, cut where it is long", () => {
  const long = { ...GAVE[0], content: "x".repeat(3_000) };
  const answered = [CALLED, long, GAVE[1], { role: "assistant", content: "Sunny." }];
  const { background = "" } = chat({ messages: [...DIALOGUE, ...answered, DIALOGUE[1]] });

  expect(background).toContain('assistant called weather: {"city":"Seoul"}');
  expect(background).toContain("result of weather: sun 1");
  expect(background).toContain("x [cut]");
  expect(background.length).toBeLessThan(2_500);
});

test("results with a message behind them are told with it, also where a session goes on", () => {
  const { message, background, callerTools } = chat({
    messages: [...DIALOGUE, CALLED, ...GAVE, { role: "user", content: "And?" }],
    user: "kim",
  });

  expect([message, callerTools]).toEqual(["And?", undefined]);
  expect(background).toContain("result of weather: sun 0");
  expect(background).not.toContain("Hello");
});

test("of a response the results are items, in whichever order the calls stand", () => {
  const item = (type: string, index: number, more: object) => ({
    type,
    call_id: callId(index),
    ...more,
  });
  const input = [
    { role: "user", content: "Weather?" },
    { type: "item_reference", id: "msg_01K0000000ABCDEFGHJKMNPQRS" },
    ...[0, 1].flatMap((index) => [
      item("function_call", index, { name: "weather", arguments: "{}" }),
      item("function_call_output", index, { output: "sun" }),
    ]),
  ];

  expect(response({ input })).toMatchObject({
    message: "",
    background: undefined,
    callerTools: { tools: [], results: [{ callId: callId(0) }, { callId: callId(1) }] },
  });
});

test.each([
  ["auto", "auto"],
  ["none", "none"],
  ["required", "required"],
  [namedTool("weather"), { tool: "weather" }],
  [{ type: "function", name: "weather" }, { tool: "weather" }],
])("the choice %o is %o", (tool_choice, choice) => {
  const { callerTools } = chat({ messages: DIALOGUE, tools: [WEATHER], tool_choice });

  expect(callerTools).toMatchObject({ choice });
});

test("without a session what was said before is told as background", () => {
  expect(chat({ messages: DIALOGUE })).toMatchObject({
    message: "And now?",
    background: "system: Be brief.\n\nuser: Hello\n\nassistant: Hello!",
    session: undefined,
  });
});

test("a session that goes on is told the instructions alone, for it remembers the rest", () => {
  expect(chat({ messages: DIALOGUE, user: "kim" })).toMatchObject({
    message: "And now?",
    background: "system: Be brief.",
    session: "kim",
  });
});

test.each([
  [
    { input: "Hi", conversation: "c1", user: "kim" },
    { session: "c1", previous: undefined },
  ],
  [
    { input: "Hi", conversation: { id: "c1" } },
    { session: "c1", previous: undefined },
  ],
  [
    { input: "Hi", previous_response_id: "resp_1", user: "kim" },
    { session: undefined, previous: "resp_1" },
  ],
  [
    { input: "Hi", user: "kim" },
    { session: "kim", previous: undefined },
  ],
  [{ input: "Hi" }, { session: undefined, previous: undefined }],
])("a response to %o goes on where it says", (body, expected) => {
  expect(response(body)).toMatchObject({ message: "Hi", ...expected });
});

test.each([
  ["functions", { messages: DIALOGUE, functions: [{ name: "f" }] }],
  ["tools.0.type", { messages: DIALOGUE, tools: [{ type: "custom", name: "f" }] }],
  ["tools.0.name", { messages: DIALOGUE, tools: [{ type: "function", function: {} }] }],
  ["tool_choice", { messages: DIALOGUE, tools: [WEATHER], tool_choice: { type: "mcp" } }],
  ["nowhere", { messages: DIALOGUE, tools: [WEATHER], tool_choice: namedTool("nowhere") }],
  ["messages.2.content", { messages: [CALLED, GAVE[0], { ...GAVE[1], content: null }] }],
  ["n", { messages: DIALOGUE, n: 2 }],
  ["response_format", { messages: DIALOGUE, response_format: { type: "json_object" } }],
  ["messages.0.content", { messages: [{ role: "user", content: [{ type: "image_url" }] }] }],
  [
    "messages.0.content",
    { messages: [{ role: "user", content: [picture("https://example.org/cat.png")] }] },
  ],
  ["refusal", { messages: [{ role: "user", content: [{ type: "refusal" }] }] }],
  ["image_url", { messages: [{ role: "system", content: [picture("data:;base64,aGk=")] }] }],
  ["user", { messages: [{ role: "assistant", content: "Hello" }] }],
])("%s is refused rather than passed over", (field, body) => {
  expect(() => chat(body)).toThrow(field);
});

function picture(url: string): object {
  return { type: "image_url", image_url: { url } };
}

function namedTool(name: string): object {
  return { type: "function", function: { name } };
}

test("an output that is missing is refused: the call would be used up", () => {
  const input = [{ type: "function_call_output", call_id: callId(0) }];

  expect(() => response({ input })).toThrow("input.0.output");
});

test("members that ask for nothing special are passed over", () => {
  const quiet = { n: 1, tools: [], response_format: { type: "text" }, temperature: 0.2 };

  expect(chat({ messages: DIALOGUE, ...quiet })).toMatchObject({ service: "desk" });
});

test("an id of OpenAI's kind names its turn, and says when it was accepted", () => {
  const turn = "turn_01K0000000ABCDEFGHJKMNPQRS";

  expect(turnOf(idFor("resp", turn))).toBe(turn);
  expect(acceptedAt("turn_0000000Z00ABCDEFGHJKMNPQRS")).toBe(31);
});
