import { describe, expect, test } from "vitest";
import { geminiRefusal, thoughtSignatureOf } from "./gemini-rules.ts";

const USER = { role: "user", parts: [{ text: "hello" }] };
const MODEL = { role: "model", parts: [{ text: "so" }] };
const called = (name: string, rest = {}) => ({ functionCall: { name, args: {} }, ...rest });
const answered = (name: string, response: object = {}) => ({
  functionResponse: { name, response },
});
const CALL = { role: "model", parts: [called("rate")] };
const RESULT = { role: "user", parts: [answered("rate")] };
const THIRD = "gemini-3-pro-preview";
const SIGNED = {
  role: "model",
  parts: [called("rate", { thoughtSignature: thoughtSignatureOf(THIRD) }), called("pay")],
};
const BOTH = { role: "user", parts: [answered("rate"), answered("pay")] };

function refused(body: object, model = "gemini-2.5-flash", abilities = {}): string | undefined {
  const refusal = geminiRefusal({ contents: [USER], ...body }, model, abilities);

  return refusal && (refusal.body as { error: { message: string } }).error.message;
}

const contents = (...all: readonly object[]): object => ({ contents: all });
const declared = (...functions: readonly object[]): object => ({
  tools: [{ functionDeclarations: functions }],
});
const parameters = (rest: object): object => declared({ name: "pay", parameters: rest });
const member = (one: object): object => parameters({ type: "OBJECT", properties: { a: one } });
const jsonSchema = (rest: object): object =>
  declared({ name: "pay", parametersJsonSchema: { type: "object", ...rest } });
const calling = (functionCallingConfig: object): object => ({
  ...declared({ name: "pay" }),
  toolConfig: { functionCallingConfig },
});

describe("Gemini's rules", () => {
  test("take a plain request, one with tools, and one with their results", () => {
    expect(refused({})).toBeUndefined();
    expect(refused({ contents: [USER, CALL, RESULT], ...declared({ name: "rate" }) })).toBe(
      undefined,
    );
    expect(refused({ contents: [USER, SIGNED, BOTH] }, THIRD)).toBeUndefined();
    expect(refused(jsonSchema({ properties: { a: { oneOf: [{ const: 1 }] } } }))).toBeUndefined();
  });

  test.each<[string, object, RegExp]>([
    ["an unknown field", { messages: [] }, /Unknown name "messages": Cannot find field/],
    ["nothing", contents(), /contents is not specified/],
    ["a role", contents({ ...USER, role: "system" }), /valid role: user, model/],
    ["a content without parts", contents({ ...USER, parts: [] }), /must not be empty/],
    ["an empty text", contents({ ...USER, parts: [{ text: "" }] }), /one initialized field/],
    [
      "two things in a part",
      contents({ role: "user", parts: [{ ...called("a"), text: "a" }] }),
      /oneof/,
    ],
    ["a model that begins", contents(MODEL, USER), /begin with a user turn/],
    ["a model that ends", contents(USER, MODEL), /end with a user turn/],
    [
      "a call after words of a model",
      contents(USER, MODEL, CALL, RESULT),
      /immediately after a user/,
    ],
    ["a result without a call", contents(USER, RESULT), /immediately after a function call turn/],
    ["a call without a result", contents(USER, CALL, USER), /number of function response parts/],
    [
      "results in two contents",
      contents(USER, { role: "model", parts: [called("rate"), called("pay")] }, RESULT, {
        role: "user",
        parts: [answered("pay")],
      }),
      /number of function response parts/,
    ],
    [
      "a result of another function",
      contents(USER, CALL, { role: "user", parts: [answered("pay")] }),
      /matches no function call/,
    ],
    [
      "arguments that are a list",
      contents(USER, { role: "model", parts: [{ functionCall: { name: "a", args: [] } }] }, RESULT),
      /Struct/,
    ],
    [
      "a called name with a blank",
      contents(USER, { role: "model", parts: [called("a b")] }),
      /Invalid function name/,
    ],
    ["a name that begins with a digit", declared({ name: "3d" }), /Must start with a letter/],
    ["a name in Korean", declared({ name: "송금" }), /Invalid function name/],
    ["a long name", declared({ name: "a".repeat(65) }), /maximum length of 64/],
    ["a name twice", declared({ name: "a" }, { name: "a" }), /Duplicate function declaration/],
    [
      "an unknown keyword",
      parameters({ type: "OBJECT", additionalProperties: false }),
      /Unknown name "additionalProperties"/,
    ],
    ["a reference", member({ $ref: "#/$defs/a" }), /Unknown name "\$ref"/],
    ["a constant", member({ const: 1 }), /Unknown name "const"/],
    ["one of several", member({ oneOf: [] }), /Unknown name "oneOf"/],
    [
      "numbers to choose from",
      member({ type: "INTEGER", enum: [1] }),
      /only allowed for STRING type/,
    ],
    ["an empty choice", member({ type: "STRING", enum: [""] }), /cannot be empty/],
    ["a format", member({ type: "STRING", format: "uri" }), /only 'enum' and 'date-time'/],
    ["a list of anything", member({ type: "ARRAY" }), /items: missing field/],
    ["an object of anything", member({ type: "OBJECT" }), /should be non-empty/],
    ["a member without a type", member({}), /must be specified when not using/],
    [
      "a required member that is none",
      parameters({ type: "OBJECT", properties: { a: { type: "STRING" } }, required: ["b"] }),
      /property is not defined/,
    ],
    [
      "arguments that are no object",
      declared({ name: "a", parametersJsonSchema: { type: "array" } }),
      /must describe an object/,
    ],
    [
      "both kinds of schemas",
      declared({ name: "a", parameters: {}, parametersJsonSchema: {} }),
      /mutually exclusive/,
    ],
    [
      "a reference that does not stand alone",
      jsonSchema({ properties: { a: { $ref: "#/$defs/a", description: "x" } }, $defs: { a: {} } }),
      /schema at properties\.a can only contain/,
    ],
    [
      "a reference to no definition",
      jsonSchema({ properties: { a: { $ref: "#/properties/b" } } }),
      /undefined schema/,
    ],
    ["a mode of calling", calling({ mode: "MUST" }), /mode'.*"MUST"/],
    [
      "names to choose from where none must be called",
      calling({ mode: "AUTO", allowedFunctionNames: ["pay"] }),
      /only when mode is ANY/,
    ],
    [
      "an unknown name to choose from",
      calling({ mode: "ANY", allowedFunctionNames: ["a"] }),
      /a is not declared/,
    ],
    [
      "a way of calling without functions",
      { toolConfig: { functionCallingConfig: { mode: "AUTO" } } },
      /without function_declarations/,
    ],
    [
      "JSON and functions",
      { ...declared({ name: "a" }), generationConfig: { responseMimeType: "application/json" } },
      /is unsupported/,
    ],
    [
      "a schema without JSON",
      { generationConfig: { responseJsonSchema: {} } },
      /only allowed when mime_type/,
    ],
    ["a temperature over 2", { generationConfig: { temperature: 3 } }, /range \[0\.0, 2\.0\]/],
    [
      "half of a surrogate pair",
      contents({ role: "user", parts: [{ text: "\ud83d" }] }),
      /surrogate/,
    ],
  ])("refuse %s", (_, body, message) => {
    expect(refused(body)).toMatch(message);
  });

  test("want the first call of each step of a turn signed, by the model itself", () => {
    const bare = { role: "model", parts: [called("rate")] };
    const foreign = { role: "model", parts: [called("rate", { thoughtSignature: "b3RoZXI=" })] };
    const skipped = {
      role: "model",
      parts: [called("rate", { thoughtSignature: "skip_thought_signature_validator" })],
    };

    expect(refused(contents(USER, bare, RESULT), THIRD)).toMatch(
      /missing a thought_signature.*rate/,
    );
    expect(refused(contents(USER, bare, RESULT, MODEL, USER), THIRD)).toBeUndefined();
    expect(refused(contents(USER, foreign, RESULT), THIRD)).toMatch(/Corrupted thought signature/);
    expect(refused(contents(USER, skipped, RESULT), THIRD)).toBeUndefined();
    expect(refused(contents(USER, bare, RESULT))).toBeUndefined();
  });

  test("of the third generation refuse a result that refers to something", () => {
    const result = { role: "user", parts: [answered("rate", { schema: { $ref: "#/$defs/a" } })] };
    const signed = { role: "model", parts: SIGNED.parts.slice(0, 1) };

    expect(refused(contents(USER, signed, result), THIRD)).toMatch(
      /does not match to a display_name/,
    );
    expect(refused(contents(USER, CALL, result))).toBeUndefined();
  });

  test("refuse what is too long for a model", () => {
    const long = contents({ role: "user", parts: [{ text: "a".repeat(100) }] });

    expect(refused(long, undefined, { contextTokens: 10 })).toMatch(/exceeds the maximum number/);
  });
});
