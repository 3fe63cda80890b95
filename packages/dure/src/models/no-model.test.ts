import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { Models } from "./models.ts";
import type { ModelRequest } from "./model.ts";
import { noModel } from "./no-model.ts";
import { OfflineModels } from "./offline.ts";

const ASK = { call: 1, signal: new AbortController().signal, clock: systemClock };

async function answer(text: string, more: Partial<ModelRequest> = {}, locale = "ko") {
  const request: ModelRequest = { messages: [{ role: "user", text }], ...more };
  return noModel(locale).respond(request, ASK as never);
}

async function words(...asked: Parameters<typeof answer>): Promise<string> {
  const said: unknown = await answer(...asked);
  return typeof said === "string" ? said : JSON.stringify(said);
}

test.each([
  ["안녕하세요", "en", /^아직 연결된 모델이 없어서/],
  ["서연: what can you do?", "ko", /^I have no model yet/],
  ["1 + 1?", "ko", /^아직 연결된/],
  ["1 + 1?", "en", /^I have no model/],
])("to “%s” a team in %s says how to connect a model, in one language", async (...row) => {
  const [said, locale, begins] = row;
  const told = await words(said, {}, locale);

  expect(told).toMatch(begins);
  expect(told).toContain("ANTHROPIC_API_KEY");
  expect(told).not.toContain(said);
});

test("where JSON is asked for, the words stand in its message", async () => {
  const schema = {
    type: "object",
    properties: { message: { type: "string" }, sure: { type: "boolean" } },
    required: ["message", "sure"],
  };

  expect(await answer("안녕", { output: { name: "answer", schema } })).toEqual({
    object: { message: expect.stringContaining("모델이 없어서"), sure: false },
  });
});

test("two agents without a model end their conversation", async () => {
  const tools = [{ name: "end_conversation", description: "", parameters: {} }];
  const heard = `Mina: ${await words("hello")}`;

  expect(await answer(heard, { tools } as never)).toEqual({
    toolCalls: [{ name: "end_conversation", args: {} }],
  });
  expect(await answer(heard)).toMatch(/no model/);
});

test("an answer without a model uses no tokens: nothing was asked of a provider", async () => {
  const offline = [noModel("en")];
  const models = new Models({ clock: systemClock, logger: silentLogger, offline });
  const request: ModelRequest = { messages: [{ role: "user", text: "hello" }] };

  const { text, usage } = await models
    .resolve({ provider: "offline", model: "none" })
    .stream(request);

  expect(text).toContain("no model");
  expect(usage).toMatchObject({ tokensIn: 0, tokensOut: 0 });
});

test("a team's own offline model may have any name", () => {
  expect(new OfflineModels([noModel("ko")], { clock: systemClock }).names).toContain("none");
});
