import { expect, test } from "vitest";
import { OpenAiChatBody, OpenAiResponseBody } from "../wire/openai.ts";
import { acceptedAt, idFor, turnOf } from "./answer-ids.ts";
import { chatAsked, responseAsked } from "./asked.ts";

const chat = (body: object) => chatAsked(OpenAiChatBody.parse({ model: "desk", ...body }));
const response = (body: object) =>
  responseAsked(OpenAiResponseBody.parse({ model: "desk", ...body }));

const DIALOGUE = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Hello!" },
  { role: "user", content: [{ type: "text", text: "And now?" }] },
];

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
  ["tools", { messages: DIALOGUE, tools: [{ type: "function" }] }],
  ["n", { messages: DIALOGUE, n: 2 }],
  ["response_format", { messages: DIALOGUE, response_format: { type: "json_object" } }],
  ["image_url", { messages: [{ role: "user", content: [{ type: "image_url" }] }] }],
  ["user", { messages: [{ role: "assistant", content: "Hello" }] }],
])("%s is refused rather than passed over", (field, body) => {
  expect(() => chat(body)).toThrow(field);
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
