import type { Tool as Definition } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { jsonSchemaOf } from "../models/json-schema.ts";
import { effectOf, modelNameOf, toolOfServer } from "./mcp-tool.ts";
import { readResult } from "./mcp-result.ts";

const definition = (rest: Partial<Definition> = {}): Definition => ({
  name: "write",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  ...rest,
});

const made = (rest: Partial<Definition>, rules = {}) =>
  toolOfServer("files", definition(rest), rules, async () => ({ content: [] }));

test.each([
  ["a tool that says nothing of itself", {}, {}, "once"],
  ["one that calls itself read-only", { annotations: { readOnlyHint: true } }, {}, "none"],
  ["one that calls itself idempotent", { annotations: { idempotentHint: true } }, {}, "once"],
  ["one of which the team says so", {}, { effects: { "w*": "idempotent" } }, "idempotent"],
  [
    "a read-only one that the team distrusts",
    { annotations: { readOnlyHint: true } },
    { effects: { "*": "once" } },
    "once",
  ],
] as const)("the effect of %s", (_what, rest, rules, effect) => {
  expect(effectOf(definition(rest), rules)).toBe(effect);
});

test("a tool that may do something is never repeated blindly: a person is asked", () => {
  expect(made({})).toMatchObject({ effect: "once", recover: "ask" });
});

test("a tool of which each call needs a yes is a once effect, whatever it says of itself", () => {
  const tool = made({ annotations: { readOnlyHint: true } }, { approval: { "w*": "operator" } });

  expect(tool).toMatchObject({ effect: "once", approval: { expiresMs: 86_400_000 } });
});

test("of the patterns that fit, the first says who approves", () => {
  const approval = { "w*": { role: "treasury", two: true }, write: "person" };

  expect(made({}, { approval })).toMatchObject({
    effect: "once",
    approval: { by: "operator", needs: { role: "treasury", two: true } },
  });
});

test("a model is given the server's own schema, and arguments are held against it", () => {
  const { inputSchema } = made({});

  expect(jsonSchemaOf(inputSchema)).toEqual(definition().inputSchema);
  expect(inputSchema.safeParse({ text: 1 }).success).toBe(false);
  expect(inputSchema.safeParse({ text: "a", more: 1 }).success).toBe(true);
});

test("a schema that zod cannot read lets every object pass, and the server decides", () => {
  const schema = { type: "object", properties: { a: { $ref: "https://example.com/a" } } } as const;
  const { inputSchema } = made({ inputSchema: schema });

  expect(inputSchema.safeParse({ a: 1 }).success).toBe(true);
  expect(inputSchema.safeParse("text").success).toBe(false);
});

test("names fit what providers take, and two long ones stay two", () => {
  const long = "x".repeat(80);

  expect(modelNameOf("files", "read file!")).toBe("files__read_file_");
  expect(modelNameOf("files", `${long}1`)).toHaveLength(64);
  expect(modelNameOf("files", `${long}1`)).not.toBe(modelNameOf("files", `${long}2`));
});

test("a result is its structured data, else the text of its parts, by kind and size", () => {
  const content = [
    { type: "text" as const, text: "one" },
    { type: "image" as const, data: "aGk=", mimeType: "image/png" },
    { type: "resource" as const, resource: { uri: "file:///a", text: "two" } },
    { type: "resource_link" as const, uri: "file:///b", name: "b" },
  ];

  expect(readResult({ content, structuredContent: { a: 1 } })).toEqual({
    isError: false,
    value: { a: 1 },
    files: [{ name: "image-2", bytes: Buffer.from("hi") }],
  });
  expect(readResult({ content }).value).toBe(
    "one\n[image image/png, 4 characters of base64]\n[file:///a]\ntwo\n[file:///b] b",
  );
});

test("of a result that is too long the beginning is kept", () => {
  const { value } = readResult({ content: [{ type: "text", text: "가".repeat(400_000) }] });

  expect(Buffer.byteLength(value as string)).toBeLessThanOrEqual(1_048_576);
  expect(value).toMatch(/가…$/);
});

test("a tool that says it failed is an error to the model, and a known outcome of a once call", async () => {
  const answer = async () => ({
    isError: true,
    content: [{ type: "text" as const, text: "Full." }],
  });
  const signal = new AbortController().signal;
  const call = (rules: object): unknown => {
    const tool = toolOfServer("files", definition(), rules, answer);
    return tool.execute({ text: "a" }, {} as never, { signal });
  };

  await expect(call({ effects: { "*": "none" } })).rejects.toMatchObject({
    code: "MCP_TOOL_FAILED",
    message: "Full.",
  });
  expect(await call({})).toEqual({ failed: "Full." });
});
