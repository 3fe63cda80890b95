import { describe, expect, test } from "vitest";
import { encryptedBy, responsesRefusal } from "./responses-rules.ts";

const USER = { role: "user", content: [{ type: "input_text", text: "hello" }] };
const CALL = { type: "function_call", call_id: "call_1", name: "rate", arguments: "{}" };
const RESULT = { type: "function_call_output", call_id: "call_1", output: "1" };
const SAID = { role: "assistant", content: "so" };
const THOUGHT = {
  type: "reasoning",
  id: "rs_1",
  summary: [],
  encrypted_content: encryptedBy("gpt"),
};
const PARAMETERS = { type: "object", properties: {}, required: [], additionalProperties: false };
const TOOL = { type: "function", name: "rate", parameters: PARAMETERS };

function refused(body: object, abilities = {}): string | undefined {
  const refusal = responsesRefusal({ model: "gpt", input: [USER], ...body }, abilities);

  return refusal && (refusal.body as { error: { message: string } }).error.message;
}

const input = (...items: readonly object[]): object => ({ input: items });
const format = (one: object): object => ({ text: { format: one } });

describe("the rules of OpenAI's responses", () => {
  test("take a text, items with tools, and reasoning before what came of it", () => {
    const items = [USER, THOUGHT, SAID, CALL, RESULT];

    expect(refused({ input: "hello" })).toBeUndefined();
    expect(refused({ input: items, tools: [TOOL], store: false })).toBeUndefined();
  });

  test.each<[string, object, RegExp]>([
    ["an unknown parameter", { messages: [] }, /Unknown parameter: 'messages'/],
    ["no input", { input: undefined }, /Missing required parameter: 'input'/],
    ["an unknown member", input({ ...USER, name: "a" }), /Unknown parameter: 'input\[0\]\.name'/],
    ["a kind of item", input({ type: "tool", text: "a" }), /Invalid value: 'tool'/],
    ["a role", input({ role: "tool", content: "a" }), /Invalid value: 'tool'/],
    ["an input of a model", input({ ...USER, role: "assistant" }), /'output_text' and 'refusal'/],
    [
      "a call without an output",
      input(USER, CALL),
      /No tool output found for function call call_1/,
    ],
    ["an output without a call", input(USER, RESULT), /No tool call found .* call_id call_1/],
    ["an output before its call", input(USER, RESULT, CALL), /No tool call found/],
    ["two outputs of one call", input(CALL, RESULT, RESULT), /No tool call found/],
    ["a call without its id", input({ ...CALL, call_id: undefined }), /'input\[0\]\.call_id'/],
    [
      "a long id of a call",
      input({ ...CALL, call_id: "c".repeat(65) }),
      /maximum length 64.*length 65/,
    ],
    ["an id of another kind", input({ ...CALL, id: "call_1" }), /begins with 'fc'/],
    ["arguments that are no text", input({ ...CALL, arguments: {} }), /expected a string/],
    ["a called name with a dot", input({ ...CALL, name: "a.b" }), /does not match pattern/],
    [
      "an item twice",
      input(USER, THOUGHT, SAID, THOUGHT, SAID),
      /Duplicate item found with id rs_1/,
    ],
    ["reasoning at the end", input(USER, THOUGHT), /without its required following item/],
    [
      "reasoning before words of a person",
      input(THOUGHT, USER),
      /'rs_1' of type 'reasoning' was provided without its required following item/,
    ],
    [
      "reasoning before reasoning",
      input(THOUGHT, { ...THOUGHT, id: "rs_2" }, SAID),
      /'rs_1'.*following item/,
    ],
    [
      "reasoning of another model",
      input({ ...THOUGHT, encrypted_content: encryptedBy("other") }, SAID),
      /could not be verified/,
    ],
    [
      "bare reasoning that is not stored",
      { ...input({ ...THOUGHT, encrypted_content: undefined }, SAID), store: false },
      /not persisted when `store` is set to false/,
    ],
    [
      "a reference to what is not stored",
      { ...input({ type: "item_reference", id: "msg_1" }), store: false },
      /not persisted/,
    ],
    ["a nested tool", { tools: [{ type: "function", function: TOOL }] }, /'tools\[0\]\.name'/],
    ["a name in Korean", { tools: [{ ...TOOL, name: "송금" }] }, /does not match pattern/],
    [
      "an open tool that does not say that it is not strict",
      { tools: [{ ...TOOL, parameters: { type: "object", properties: {} } }] },
      /'additionalProperties' is required/,
    ],
    [
      "variants at the top of a tool",
      { tools: [{ ...TOOL, strict: false, parameters: { ...PARAMETERS, anyOf: [] } }] },
      /at the top level/,
    ],
    ["a choice without tools", { tool_choice: "required" }, /specified with 'tools'/],
    [
      "a choice of no tool",
      { tools: [TOOL], tool_choice: { type: "function", name: "pay" } },
      /'pay' not found in 'tools'/,
    ],
    ["too short an answer", { max_output_tokens: 8 }, /Expected a value >= 16/],
    ["half of a surrogate pair", { input: "\ud83d" }, /invalid surrogate/],
    [
      "JSON of which nothing is said",
      format({ type: "json_object" }),
      /must contain the word 'json'/,
    ],
    [
      "an open strict schema",
      format({ type: "json_schema", name: "a", strict: true, schema: { type: "object" } }),
      /'additionalProperties' is required/,
    ],
  ])("refuse %s", (_, body, message) => {
    expect(refused(body)).toMatch(message);
  });

  test("refuse what a model does not know, and what is too long for it", () => {
    expect(refused({ temperature: 0 }, { temperature: false })).toMatch(/'temperature'/);
    expect(
      responsesRefusal({ model: "gpt", input: "a".repeat(100) }, { contextTokens: 10 }),
    ).toEqual(
      expect.objectContaining({
        body: { error: expect.objectContaining({ code: "context_length_exceeded" }) as object },
      }),
    );
  });
});
