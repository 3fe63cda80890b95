import { expect, test } from "vitest";
import type { ModelMessage } from "./model.ts";
import { soundMessages } from "./sound-messages.ts";

const asks: ModelMessage = { role: "user", text: "pay" };

function calls(...ids: readonly string[]): ModelMessage {
  const toolCalls = ids.map((id) => ({ id, name: "pay", args: { id } }));
  return { role: "assistant", text: "", toolCalls };
}

function result(callId: string, value: string): ModelMessage {
  return { role: "tool", callId, name: "pay", result: value };
}

test("a sound conversation stays as it is", () => {
  const messages = [asks, calls("a", "b"), result("a", "1"), result("b", "2")];

  expect(soundMessages(messages)).toEqual(messages);
});

test("messages without words are left out, and a person has the first and the last word", () => {
  const messages: readonly ModelMessage[] = [
    { role: "user", text: "" },
    { role: "assistant", text: "hello" },
    { role: "user", text: " \n" },
  ];

  expect(soundMessages(messages)).toEqual([
    { role: "user", text: "(…)" },
    { role: "assistant", text: "hello" },
    { role: "user", text: "(…)" },
  ]);
});

test("a call without a result gets one that says so, before anything else is said", () => {
  const messages = soundMessages([asks, calls("a", "b"), result("b", "2"), asks]);

  expect(messages.slice(2)).toEqual([
    result("b", "2"),
    expect.objectContaining({ role: "tool", callId: "a", isError: true }),
    asks,
  ]);
});

test("a result without its call is left out", () => {
  expect(soundMessages([asks, result("a", "1"), asks])).toEqual([asks, asks]);
});

test("two calls with one id become two, each with its own result", () => {
  const [, said, first, second] = soundMessages([
    asks,
    calls("a", "a"),
    result("a", "1"),
    result("a", "2"),
  ]);
  const ids = said?.role === "assistant" ? said.toolCalls!.map(({ id }) => id) : [];

  expect(new Set(ids).size).toBe(2);
  expect([first, second]).toEqual([
    expect.objectContaining({ callId: ids[0], result: "1" }),
    expect.objectContaining({ callId: ids[1], result: "2" }),
  ]);
});

test("an id that a provider refuses is replaced by the same one in call and result", () => {
  const [, said, told] = soundMessages([asks, calls("네.1"), result("네.1", "1")]);
  const id = said?.role === "assistant" ? said.toolCalls![0]!.id : "";

  expect(id).toMatch(/^[a-zA-Z0-9_-]{1,40}$/);
  expect(told).toMatchObject({ callId: id });
});

test("half of a surrogate pair reaches no provider, wherever it stands", () => {
  const half = "\ud83d";
  const messages = soundMessages([
    { role: "user", text: half },
    {
      role: "assistant",
      text: half,
      toolCalls: [{ id: "a", name: "pay", args: { [half]: [half] } }],
    },
    { role: "tool", callId: "a", name: "pay", result: { to: half } },
  ]);

  expect(JSON.stringify(messages)).not.toMatch(/\\ud[89a-f]/);
});

test("a name that a provider refuses is replaced by the same one in call and result", () => {
  const call = { id: "a", name: "default_api:pay.now", args: {} };
  const messages: readonly ModelMessage[] = [
    asks,
    { role: "assistant", text: "", toolCalls: [call] },
    { role: "tool", callId: "a", name: call.name, result: "1" },
  ];

  expect(soundMessages(messages).slice(1)).toMatchObject([
    { toolCalls: [{ name: "default_api_pay_now" }] },
    { name: "default_api_pay_now" },
  ]);
});

test("what a model says directly before its calls is said with them", () => {
  const said: ModelMessage = { role: "assistant", text: "I look." };

  expect(soundMessages([asks, said, calls("a"), result("a", "1")])).toEqual([
    asks,
    { ...calls("a"), text: "I look." },
    result("a", "1"),
  ]);
});
