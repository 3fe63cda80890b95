// @module-tag slow
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../../test/until.ts";
import type { Done } from "../../kernel/turn-events.ts";
import { FULL } from "../../kernel/test-tiers.ts";
import { offlineModel, type OfflineAnswer } from "../../models/offline.ts";
import type { ModelRequest } from "../../models/model.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool } from "../agent/tool.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import type { TurnContext } from "../turn/turn-context.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import type { CallerTools } from "./caller-tools.ts";

const WEATHER = { name: "weather", inputSchema: { type: "object" } } as const;
const TOOLS: CallerTools = { tools: [WEATHER] };

const lookUp = tool({
  description: "Looks up.",
  inputSchema: z.object({}),
  execute: () => ({ left: 3 }),
});

/** @param then what the handler does when the agent has ended */
function clerk(then?: (turn: TurnContext) => Promise<void>): Service {
  return defineService({
    name: "clerk",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { look_up: lookUp } }) },
    callerTools: true,
    flows: {
      DEFAULT: flow(async (turn) => {
        const { text, handedCalls } = await turn.agent("clerk", "…", { callerTools: true });
        await then?.(turn);
        return turn.done({ message: text, handedCalls });
      }),
    },
  });
}

const plain = defineService({
  name: "plain",
  agents: { plain: chatAgent({ name: "plain" }) },
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "-" })) },
});

type Answers = readonly (OfflineAnswer | string | Promise<OfflineAnswer>)[];

/** An engine whose model answers in this order; `asked` has what it was asked. */
async function engineWith(
  answers: Answers,
): Promise<TestEngine & { readonly asked: ModelRequest[] }> {
  const asked: ModelRequest[] = [];
  const model = offlineModel("scripted", (request) => {
    asked.push(request);
    return answers[asked.length - 1] ?? "…";
  });
  return Object.assign(await startTestEngine([clerk(), plain], { offline: [model] }), { asked });
}

async function doneOf({ engine }: TestEngine, turnId: string): Promise<Done> {
  for await (const { event } of engine.read(turnId, {})) {
    if (event.type === "DONE") return event.data;
  }
  throw new Error("the turn ended without DONE");
}

async function queuedIn({ database }: TestEngine): Promise<number> {
  const text = "select cardinality(queue) as waiting from dure.sessions";
  const [row] = await database.query<{ waiting: number }>({ text });
  return row!.waiting;
}

const callWeather: OfflineAnswer = {
  toolCalls: [{ id: "p1", name: "weather", args: { city: "Seoul" } }],
};

const results = (turnId: string, output: string, index = 0): CallerTools => ({
  ...TOOLS,
  results: [{ callId: `call_${turnId.replace("turn_", "")}_${index}`, output }],
});

describe("a call of a caller's tool", () => {
  test("ends the turn, and its result begins the next one in the provider's form", async () => {
    await using team = await engineWith([callWeather, "Sunny.", "Bye."]);

    const first = await team.say("Weather?", { callerTools: TOOLS });
    const second = await team.say("", { callerTools: results(first.turnId, "sun") });
    await team.say("Thanks", {});

    expect(first.done).toMatchObject({
      message: "",
      calls: [{ tool: "weather", args: { city: "Seoul" } }],
    });
    expect(second.done).toMatchObject({ message: "Sunny." });
    expect(team.asked[1]?.messages).toEqual([
      { role: "user", text: "Weather?" },
      expect.objectContaining({ role: "assistant", toolCalls: [expect.anything()] }),
      expect.objectContaining({ role: "tool", callId: "p1", name: "weather", result: "sun" }),
    ]);
    expect(team.asked[2]?.messages).toEqual([
      ...team.asked[1]!.messages,
      { role: "assistant", text: "Sunny." },
      { role: "user", text: "Thanks" },
    ]);
  });

  test("beside calls of the agent's own tools goes to the caller when those are made", async () => {
    const both: OfflineAnswer = {
      toolCalls: [{ id: "o1", name: "look_up", args: {} }, ...callWeather.toolCalls!],
    };
    await using team = await engineWith([both, "Three, and sunny."]);

    const { turnId, done } = await team.say("Both?", { callerTools: TOOLS });
    await team.say("", { callerTools: results(turnId, "sun") });

    expect(done.calls).toHaveLength(1);
    expect(team.asked[1]?.messages.filter(({ role }) => role === "tool")).toEqual([
      expect.objectContaining({ callId: "o1", result: { left: 3 } }),
      expect.objectContaining({ callId: "p1", result: "sun" }),
    ]);
  });

  test.each([
    ["of arguments that are no JSON", { name: "weather", rawArgs: "{city" }, "no JSON"],
    ["of arguments that are no object", { name: "weather", args: ["Seoul"] }, "no object"],
    ["of a tool that is not there", { name: "forecast", args: {} }, "There is no tool"],
  ])("%s is told to the model, which may do better", async (_what, call, complaint) => {
    await using team = await engineWith([{ toolCalls: [call] }, callWeather]);

    const { done } = await team.say("Weather?", { callerTools: TOOLS });

    expect(team.asked[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      isError: true,
      result: expect.stringContaining(complaint) as string,
    });
    expect(done.calls).toHaveLength(1);
  });

  test("of arguments that do not fit its schema is mended by the model, before it goes out", async () => {
    const inputSchema = { type: "object", properties: { city: { type: "string" } } } as const;
    const wrong: OfflineAnswer = { toolCalls: [{ name: "weather", args: { city: 7 } }] };
    await using team = await engineWith([wrong, callWeather]);

    const { done } = await team.say("Weather?", {
      callerTools: { tools: [{ ...WEATHER, inputSchema, strict: true }] },
    });

    expect(team.asked[1]?.messages.at(-1)).toMatchObject({
      isError: true,
      result: "The arguments do not fit: /city must be string.",
    });
    expect(done.calls).toEqual([expect.objectContaining({ args: { city: "Seoul" } })]);
  });

  test("that never fits ends in words, after as many tries as the agent's card has", async () => {
    const inputSchema = { type: "object", required: ["city"] } as const;
    const wrong = Array.from({ length: 8 }, (_, town): OfflineAnswer => ({
      toolCalls: [{ name: "weather", args: { town } }],
    }));
    await using team = await engineWith([...wrong, "I cannot."]);

    const { done } = await team.say("Weather?", {
      callerTools: { tools: [{ ...WEATHER, inputSchema }] },
    });

    expect(done).toMatchObject({ message: "I cannot." });
    expect(done.calls).toBeUndefined();
    expect(team.asked).toHaveLength(9);
  });

  test("whose arguments no database takes is handed out, and read again as it was stored", async () => {
    const call = { name: "weather", args: { "ci\0ty": "Seo\0ul" } };
    await using team = await engineWith([{ toolCalls: [call] }]);

    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });

    const [read] = (await doneOf(team, turnId)).calls ?? [];
    expect(read?.args).toEqual({ "ci\uFFFDty": "Seo\uFFFDul" });
  });

  test("several at once are answered together, or one at a time where the caller says so", async () => {
    const twice: OfflineAnswer = {
      toolCalls: ["p1", "p2"].map((id) => ({ id, name: "weather", args: {} })),
    };
    await using team = await engineWith([twice, twice]);

    const both = await team.say("Weather?", { callerTools: TOOLS });
    const one = await team.say("Weather?", {
      session: "s2",
      callerTools: { ...TOOLS, oneAtATime: true },
    });
    const half = team.say("", { callerTools: results(both.turnId, "sun") });

    expect(both.done.calls).toHaveLength(2);
    expect(one.done.calls).toHaveLength(1);
    await expect(half).rejects.toMatchObject({ code: "TOOL_RESULT_INVALID" });
  });

  test("that was left is remembered as such, and takes no result any more", async () => {
    await using team = await engineWith([callWeather, "Never mind.", "Hello."]);

    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });
    await team.say("Forget it", { callerTools: TOOLS });
    const late = team.say("", { callerTools: results(turnId, "sun") });

    expect(team.asked[1]?.messages).toMatchObject([
      { role: "user", text: "Weather?" },
      { role: "assistant", toolCalls: [{ name: "weather" }] },
      { role: "tool", isError: true },
      { role: "assistant", text: expect.stringContaining("weather") as string },
      { role: "user", text: "Forget it" },
    ]);
    await expect(late).rejects.toMatchObject({ code: "TOOL_CALL_CLOSED" });
  });
});

test("calls of an agent that another life has recorded are handed out by the next one", async () => {
  const reached = Promise.withResolvers<void>();
  const both: OfflineAnswer = {
    toolCalls: [{ id: "o1", name: "look_up", args: {} }, ...callWeather.toolCalls!],
  };
  let asked = 0;
  const model = offlineModel("scripted", ({ messages }) => {
    asked += 1;
    return messages.at(-1)?.role === "tool" ? "Three, and sunny." : both;
  });
  const service = (hangs: boolean) =>
    clerk(async (turn) => {
      await turn.step("after", () => (hangs ? (reached.resolve(), new Promise(() => {})) : 0));
    });
  await using first = await startTestEngine(service(true), { offline: [model] });
  const { turnId } = await first.engine.accept({
    session: "s1",
    message: "Both?",
    callerTools: TOOLS,
  });
  await reached.promise;
  first.fence();

  const on = { url: first.url };
  await using second = await startTestEngine(service(false), { on, offline: [model] });
  await second.database.query({ text: "update dure.turns set holder = null, epoch = epoch + 1" });
  const done = await doneOf(second, turnId);
  const answer = await second.say("", { callerTools: results(turnId, "sun") });

  expect(done.calls).toEqual([expect.objectContaining({ tool: "weather" })]);
  expect(answer.done.message).toBe("Three, and sunny.");
  expect(asked).toBe(2);
});

test("a call that one life has found not to fit is not judged anew by the next one", async () => {
  const inputSchema = { type: "object", required: ["city"] } as const;
  const reached = Promise.withResolvers<void>();
  const asked: ModelRequest[] = [];
  const model = offlineModel("scripted", async (request) => {
    asked.push(request);
    if (asked.length === 1) return { toolCalls: [{ name: "weather", args: {} }] };
    if (asked.length > 2) return "I cannot.";
    reached.resolve();
    return new Promise<OfflineAnswer>(() => {});
  });
  await using first = await startTestEngine(clerk(), { offline: [model] });
  const { turnId } = await first.engine.accept({
    session: "s1",
    message: "Weather?",
    callerTools: { tools: [{ ...WEATHER, inputSchema }] },
  });
  await reached.promise;
  const judged = `update dure.turn_journal j
    set lines = jsonb_set(j.lines, array[l.at::text, '3'], '["As it was judged."]')
    from (
      select k.seq, n - 1 as at
      from dure.turn_journal k, jsonb_array_elements(k.lines) with ordinality as e(line, n)
      where k.turn_id = '${turnId}' and e.line->>1 like '% check:caller-calls'
    ) l
    where j.turn_id = '${turnId}' and j.seq = l.seq
    returning j.seq`;
  await until(
    async () => (await first.database.query({ text: judged })).length === 1,
    () => "the judgement was not stored",
  );
  first.fence();

  const on = { url: first.url };
  await using second = await startTestEngine(clerk(), { on, offline: [model] });
  await second.database.query({ text: "update dure.turns set holder = null, epoch = epoch + 1" });
  const done = await doneOf(second, turnId);

  expect(done).toMatchObject({ message: "I cannot." });
  expect(asked[2]?.messages.at(-1)).toMatchObject({ result: "As it was judged." });
});

describe("what a caller chooses", FULL, () => {
  test.each([
    ["required", "required", ["look_up", "weather"]],
    [{ tool: "weather" }, { tool: "weather" }, ["look_up", "weather"]],
    [{ tool: "forecast" }, "auto", ["look_up", "weather"]],
    ["none", "auto", ["look_up"]],
  ] as const)("%o counts for the first call of the model", async (choice, asked, names) => {
    const own: OfflineAnswer = { toolCalls: [{ name: "look_up", args: {} }] };
    await using team = await engineWith([own, "Three."]);

    await team.say("How many?", { callerTools: { ...TOOLS, choice } });

    expect(team.asked.map(({ toolChoice }) => toolChoice)).toEqual([asked, "auto"]);
    expect(team.asked[0]?.tools?.map(({ name }) => name)).toEqual(names);
  });

  test.each([
    ["33 calls at once", Array.from({ length: 33 }, () => ({ name: "weather", args: {} }))],
    ["long arguments", [{ name: "weather", args: { city: "x".repeat(70_000) } }]],
  ])("%s are told to the model, and not handed out", async (_what, toolCalls) => {
    await using team = await engineWith([{ toolCalls }, "Sorry."]);

    const { done } = await team.say("Weather?", { callerTools: TOOLS });

    expect(done).toMatchObject({ message: "Sorry." });
    expect(done.calls).toBeUndefined();
    expect(team.asked[1]?.messages.at(-1)).toMatchObject({ role: "tool", isError: true });
  });
});

describe("a result", () => {
  test("without tools beside it is answered in words", async () => {
    await using team = await engineWith([callWeather, "Sunny."]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });

    const { done } = await team.say("", {
      callerTools: { ...results(turnId, "sun"), tools: [] },
    });

    expect(done.message).toBe("Sunny.");
    expect(team.asked[1]?.messages.at(-1)).toMatchObject({ role: "tool", result: "sun" });
  });

  test("of more than 64 KiB is read to there, and all together have 256 KiB", async () => {
    await using team = await engineWith([callWeather, "Long."]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });
    const give = (letters: number) =>
      team.say("", { callerTools: results(turnId, "x".repeat(letters)) });

    await expect(give(270_000)).rejects.toMatchObject({ code: "CALLER_TOOLS_INVALID" });
    await give(70_000);

    expect(JSON.stringify(team.asked[1]?.messages)).toContain("[cut: the first 65536 of 70000");
  });

  test("is waited for while dure itself says something in between", async () => {
    await using team = await engineWith([callWeather, "Noted.", "Sunny."]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });
    const notice = team.engine.turn(
      { session: "s1", message: "A job has ended." },
      { author: "system" },
    );
    await notice.done;

    const { done } = await team.say("", { callerTools: results(turnId, "sun") });

    expect(done.message).toBe("Sunny.");
    expect(team.asked[2]?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "tool",
    ]);
  });

  test("whose turn is stopped is used up, and the question is remembered", async () => {
    const held = Promise.withResolvers<OfflineAnswer>();
    await using team = await engineWith([callWeather, held.promise]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });
    const taking = team.engine.turn({
      session: "s1",
      message: "",
      callerTools: results(turnId, "sun"),
    });
    await until(
      () => team.asked.length === 2,
      () => "the model was not asked",
    );
    await team.engine.stopTurn(await taking.turnId);
    held.resolve({ text: "Too late." });

    expect((await taking.done).error).toMatchObject({ code: "TURN_STOPPED" });
    expect((await team.engine.debug("s1")).memory.rawHistory[0]).toMatchObject({
      role: "user",
      content: "Weather?",
    });
    const again = await team.say("", { callerTools: results(turnId, "sun") });
    expect(again.turnId).toBe(await taking.turnId);
  });

  test("that is sent again is the same turn; another one is refused", async () => {
    await using team = await engineWith([callWeather, "Sunny."]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });

    const first = await team.say("", { callerTools: results(turnId, "sun") });
    const again = await team.say("", { callerTools: results(turnId, "sun") });
    const other = team.say("", { callerTools: results(turnId, "rain") });

    expect(again.turnId).toBe(first.turnId);
    await expect(other).rejects.toMatchObject({ code: "TOOL_CALL_CLOSED" });
    expect(team.asked).toHaveLength(2);
  });

  test("two of one call at once are one turn and one refusal", async () => {
    await using team = await engineWith([callWeather, "Sunny."]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });

    const said = ["sun", "rain"].map((output) =>
      team.engine.accept({ session: "s1", message: "", callerTools: results(turnId, output) }),
    );
    const ends = await Promise.allSettled(said);

    expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  test("may be sent again where the turn that took it has failed", async () => {
    await using team = await engineWith([callWeather, { error: { status: 401 } }, "Sunny."]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });

    const failed = await team.say("", { callerTools: results(turnId, "sun") });
    const again = await team.say("", { callerTools: results(turnId, "sun") });

    expect(failed.done.error).toBeDefined();
    expect(again.done.message).toBe("Sunny.");
  });

  test("makes its turn one that cannot be replayed; the one before it can", async () => {
    await using team = await engineWith([callWeather, "Sunny."]);
    const asked = await team.say("Weather?", { callerTools: TOOLS });
    const answered = await team.say("", { callerTools: results(asked.turnId, "sun") });
    const viewer = { name: "tester", tenant: "" };

    await expect(team.engine.replays.find(answered.turnId, viewer)).rejects.toMatchObject({
      code: "REPLAY_OF_RESULTS",
    });
    expect(await team.engine.replays.find(asked.turnId, viewer)).toMatchObject({
      input: "Weather?",
    });
  });

  test("of another session, or of no call, is refused", async () => {
    await using team = await engineWith([callWeather]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });

    const given = (session: string, index: number) =>
      team.say("", { session, callerTools: results(turnId, "sun", index) });

    await expect(given("s2", 0)).rejects.toMatchObject({ code: "TOOL_CALL_CLOSED" });
    await expect(given("s1", 7)).rejects.toMatchObject({ code: "TOOL_RESULT_INVALID" });
  });

  test("that waited while another message came is told so, and leaves nothing", async () => {
    const held = Promise.withResolvers<OfflineAnswer>();
    await using team = await engineWith([callWeather, held.promise, "Hello."]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });

    const other = team.say("Forget it");
    await until(
      () => team.asked.length === 2,
      () => "the other message was not asked",
    );
    const late = team.say("", { callerTools: results(turnId, "sun") });
    await until(
      async () => (await queuedIn(team)) === 1,
      () => "the result did not wait",
    );
    held.resolve({ text: "Never mind." });
    await other;

    expect((await late).done.error).toMatchObject({ code: "TOOL_CALL_CLOSED" });
    expect((await team.engine.debug("s1")).memory.rawHistory).toHaveLength(4);
    expect(team.asked).toHaveLength(2);
  });

  test("after 24 h comes too late", async () => {
    await using team = await engineWith([callWeather]);
    const { turnId } = await team.say("Weather?", { callerTools: TOOLS });
    const aDayEarlier = "(memory #>> '{handedOut,at}')::float8 - 86500000";
    await team.database.query({
      text: `update dure.sessions
        set memory = jsonb_set(memory, '{handedOut,at}', to_jsonb(${aDayEarlier}))`,
    });

    const late = team.say("", { callerTools: results(turnId, "sun") });

    await expect(late).rejects.toMatchObject({ code: "TOOL_CALL_EXPIRED" });
  });
});

test.each<readonly [string, object, CallerTools, string]>([
  ["a service that takes none", { service: "plain" }, TOOLS, "NOT_SPOKEN"],
  [
    "a name of the agent's own",
    {},
    { tools: [{ ...WEATHER, name: "look_up" }] },
    "TOOL_NAME_TAKEN",
  ],
  ...["find_tools", "read_result", "load_skill"].map(
    (name) =>
      [`the name ${name}`, {}, { tools: [{ ...WEATHER, name }] }, "TOOL_NAME_TAKEN"] as const,
  ),
  ["a name twice", {}, { tools: [WEATHER, WEATHER] }, "CALLER_TOOLS_INVALID"],
  ["a name that is none", {}, { tools: [{ ...WEATHER, name: "a b" }] }, "CALLER_TOOLS_INVALID"],
  [
    "a schema that is too long",
    {},
    { tools: [{ ...WEATHER, inputSchema: { description: "x".repeat(40_000) } }] },
    "CALLER_TOOLS_INVALID",
  ],
])("tools are refused for %s, and nothing is stored", async (_why, to, callerTools, code) => {
  await using team = await engineWith([]);

  const said = team.say("Hi", { service: "clerk", ...to, callerTools });

  await expect(said).rejects.toMatchObject({ code });
  expect((await team.engine.sessions()).items).toEqual([]);
});

test("a question is passed on 32 times, then the model answers in words", FULL, async () => {
  await using team = await engineWith([
    ...Array.from({ length: 32 }, () => callWeather),
    "Enough.",
  ]);

  let { turnId, done } = await team.say("Weather?", { callerTools: TOOLS });
  let turns = 1;
  while (done.calls) {
    ({ turnId, done } = await team.say("", { callerTools: results(turnId, "sun") }));
    turns += 1;
  }

  expect(turns).toBe(33);
  expect(done.message).toBe("Enough.");
  expect(team.asked.at(-1)?.toolChoice).toBe("none");
});
