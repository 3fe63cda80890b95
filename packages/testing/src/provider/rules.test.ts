import { describe, expect, test } from "vitest";
import { anthropicRefusal } from "./anthropic-rules.ts";
import { openAiRefusal } from "./openai-rules.ts";

const USER = { role: "user", content: "hello" };

function openAi(body: object, abilities = {}): string | undefined {
  const refusal = openAiRefusal({ model: "gpt", messages: [USER], ...body }, abilities);

  return refusal && (refusal.body as { error: { message: string } }).error.message;
}

function anthropic(body: object, abilities = {}): string | undefined {
  const asked = { model: "claude", max_tokens: 100, messages: [USER], ...body };
  const refusal = anthropicRefusal(asked, abilities);

  return refusal && (refusal.body as { error: { message: string } }).error.message;
}

function strictly(schema: object): string | undefined {
  const json_schema = { name: "answer", strict: true, schema };

  return openAi({ response_format: { type: "json_schema", json_schema } });
}

const closed = (properties: object, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const CALL = { id: "a", type: "function", function: { name: "rate", arguments: "{}" } };

/** A call and its result. */
function called(rest: object): object {
  const call = { ...CALL, ...rest };

  return {
    messages: [
      USER,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: "1" },
    ],
  };
}

const openAiTool = (rest: object): object => ({
  tools: [{ function: { name: "pay", parameters: { type: "object", properties: {}, ...rest } } }],
});

const anthropicTool = (input_schema?: object): object => ({
  tools: [{ name: "pay", input_schema }],
});

describe("OpenAI's rules", () => {
  test("take a plain request, one with tools, and one with their results", () => {
    const tools = [{ type: "function", function: { name: "rate", parameters: closed({}) } }];

    expect(openAi({})).toBeUndefined();
    expect(openAi({ ...called({}), tools, temperature: 0 })).toBeUndefined();
  });

  test.each<[string, object, RegExp]>([
    ["an unknown parameter", { top_k: 3 }, /Unrecognized request argument supplied: top_k/],
    ["no message", { messages: [] }, /minimum length 1/],
    ["a name with a dot", { tools: [{ function: { name: "a.b" } }] }, /does not match pattern/],
    ["a name in Korean", { tools: [{ function: { name: "송금" } }] }, /does not match pattern/],
    ["a long name", { tools: [{ function: { name: "a".repeat(65) } }] }, /maximum length 64/],
    ["no tool in the list", { tools: [] }, /empty array/],
    ["variants at the top of a tool's schema", openAiTool({ anyOf: [] }), /not have 'oneOf'/],
    ["a tool's object without members", openAiTool({ properties: null }), /missing properties/],
    [
      "a list that does not say what it holds",
      openAiTool({ properties: { a: closed({ b: { type: "array" } }) } }),
      /context=\('properties', 'a', 'properties', 'b'\), array schema missing items/,
    ],
    ["a choice without tools", { tool_choice: "auto" }, /only allowed when 'tools'/],
    ["a hot temperature", { temperature: 2.5 }, /out of range/],
    ["no token", { max_tokens: 0 }, /below minimum/],
    ["json_object without the word", { response_format: { type: "json_object" } }, /'json'/],
    [
      "a call without its result",
      { messages: [USER, { role: "assistant", tool_calls: [CALL] }, USER] },
      /must be followed by tool messages.*: a/,
    ],
    [
      "a called name with a dot",
      called({ function: { name: "default_api.pay", arguments: "{}" } }),
      /tool_calls\[0\]\.function\.name.*does not match pattern/,
    ],
    ["a long id of a call", called({ id: "a".repeat(41) }), /tool_calls\[0\]\.id.*length 40/],
    [
      "a result without its call",
      { messages: [USER, { role: "tool", tool_call_id: "b", content: "1" }] },
      /must be a response to a preceding message/,
    ],
  ])("refuse %s", (_, body, message) => {
    expect(openAi(body)).toMatch(message);
  });

  test.each<[string, object, RegExp]>([
    ["a root that is no object", { type: "array", items: {} }, /schema must be a JSON Schema of/],
    ["an open object", { type: "object", properties: {} }, /'additionalProperties' is required/],
    [
      "an optional member, by its path",
      closed({ a: closed({ b: { type: "string" } }, []) }),
      /context=\('properties', 'a'\).*Missing 'b'/,
    ],
    ["a keyword", closed({ a: { type: "string", minLength: 1 } }), /'minLength' is not permitted/],
    ["a union by oneOf", closed({ a: { oneOf: [] } }), /'oneOf' is not permitted/],
    ["a format", closed({ a: { type: "string", format: "uri" } }), /'uri' is not a valid format/],
    ["anything", closed({ a: {} }), /must have a 'type' key/],
  ])("refuse for strict mode %s", (_, schema, message) => {
    expect(strictly(schema)).toMatch(message);
  });

  test("refuse what an endpoint does not know", () => {
    const response_format = { type: "json_schema", json_schema: { name: "a", schema: closed({}) } };

    expect(openAi({ response_format }, { formats: ["json_object"] })).toMatch(/response_format/);
    expect(openAi({ temperature: 0 }, { temperature: false })).toMatch(/'temperature'/);
  });
});

describe("Anthropic's rules", () => {
  const call = {
    role: "assistant",
    content: [{ type: "tool_use", id: "a", name: "rate", input: {} }],
  };
  const result = { type: "tool_result", tool_use_id: "a", content: "1" };
  const words = { type: "text", text: "and now?" };
  const EPHEMERAL = { type: "ephemeral" };

  test("take results first and words behind them", () => {
    const messages = [USER, call, { role: "user", content: [result, words] }];
    const tools = [{ name: "rate", input_schema: { type: "object" } }];

    expect(anthropic({ messages, tools, temperature: 0 })).toBeUndefined();
  });

  test.each<[string, object, RegExp]>([
    ["an unknown parameter", { response_format: {} }, /Extra inputs are not permitted/],
    ["no max_tokens", { max_tokens: undefined }, /max_tokens: Field required/],
    ["a tool without a schema", anthropicTool(), /tools\.0\.custom\.input_schema: Field required/],
    ["a schema without a type", anthropicTool({}), /input_schema\.type: Field required/],
    [
      "variants at the top of a schema",
      anthropicTool({ type: "object", anyOf: [] }),
      /does not support oneOf, allOf, or anyOf at the top level/,
    ],
    [
      "a name of an argument in brackets",
      anthropicTool({ type: "object", properties: { "filter[id]": {} } }),
      /Property keys should match pattern/,
    ],
    ["a temperature over 1", { temperature: 1.5 }, /range: 0\.\.1/],
    [
      "a call where there are no tools",
      { messages: [USER, call, { role: "user", content: [result] }] },
      /must define tools/,
    ],
    [
      "a called name with a blank",
      { messages: [USER, { ...call, content: [{ ...call.content[0], name: "a b" }] }] },
      /tool_use\.name: String should match pattern/,
    ],
    [
      "two calls with one id",
      { messages: [USER, { ...call, content: [...call.content, ...call.content] }] },
      /ids must be unique/,
    ],
    ["half of a surrogate pair", { messages: [{ role: "user", content: "\ud83d" }] }, /surrogate/],
    ["a call at the end", { messages: [USER, call] }, /messages\.1: `tool_use` ids/],
    [
      "words before the results",
      { messages: [USER, call, { role: "user", content: [words, result] }] },
      /without `tool_result` blocks immediately after: a/,
    ],
    [
      "a result that no call asked for",
      { messages: [{ role: "user", content: [result] }] },
      /unexpected `tool_use_id`/,
    ],
    [
      "five marks of what is to be kept",
      { system: Array.from({ length: 5 }, () => ({ ...words, cache_control: EPHEMERAL })) },
      /maximum of 4 blocks with cache_control/,
    ],
    ["an empty text", { messages: [{ role: "user", content: "" }] }, /must be non-empty/],
    ["a blank text", { messages: [{ role: "user", content: " " }] }, /non-whitespace/],
    [
      "a begun answer with a blank end",
      { messages: [USER, { role: "assistant", content: "so " }] },
      /trailing whitespace/,
    ],
    ["a role", { messages: [{ role: "system", content: "x" }] }, /Input should be 'user'/],
    [
      "a tool's name",
      { tools: [{ name: "보내기", input_schema: { type: "object" } }] },
      /should match pattern/,
    ],
    ["two tools of one name", { tools: [{ name: "a" }, { name: "a" }] }, /names must be unique/],
    [
      "an open schema",
      { output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
      /'additionalProperties' must be explicitly set to false/,
    ],
    [
      "a bound of numbers",
      {
        output_config: { format: { schema: closed({ a: { type: "integer", minimum: 1 } }) } },
      },
      /property 'minimum' is not supported/,
    ],
  ])("refuse %s", (_, body, message) => {
    expect(anthropic(body)).toMatch(message);
  });

  test("refuse an output format that a model does not know", () => {
    const output_config = { format: { type: "json_schema", schema: closed({}) } };

    expect(anthropic({ output_config }, { outputFormat: false })).toMatch(/output_config/);
  });
});
