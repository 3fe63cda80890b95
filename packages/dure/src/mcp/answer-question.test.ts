import { expect, test } from "vitest";
import { answerByDefaults } from "./connection.ts";

const form = { type: "string", default: "md" };
const pages = { type: "integer", default: 0 };
const title = { type: "string" };

test.each([
  ["fields with defaults are answered with them", { form, pages }, [], { form: "md", pages: 0 }],
  ["a field that may be left out is left out", { form, title }, ["form"], { form: "md" }],
] as const)("%s", (_what, properties, required, content) => {
  expect(answerByDefaults({ properties, required })).toEqual({ action: "accept", content });
});

test.each([
  ["that requires a field without a default", { form, title }, ["title"]],
  ["that requires what has the name of a method", { form }, ["toString"]],
  ["without any default: a bare yes is a person's", { sure: { type: "boolean" } }, []],
  ["without fields", {}, undefined],
])("a question %s is declined", (_what, properties, required) => {
  expect(answerByDefaults({ properties, required })).toEqual({ action: "decline" });
});
