// @module-tag slow
import { expect, test } from "vitest";
import { z } from "zod";
import { PNG } from "../../durable/files/test-files.ts";
import type { Json } from "../../kernel/json.ts";
import { silentLogger, type Logger } from "../../kernel/logger.ts";
import type { Done } from "../../kernel/turn-events.ts";
import type { ModelMessage } from "../../models/model.ts";
import { offlineModel, type OfflineModel } from "../../models/offline.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import { chatAgent } from "./agent.ts";
import { fileResult } from "./file-result.ts";
import { tool, type AnyTool, type EffectKind } from "./tool.ts";

const REF = { name: "cat.png", type: "image/png", bytes: 70 };
const inputSchema = z.object({});

/** A model that calls `draw` once, then answers; what it read of the call is in `results`. */
function clerkModel(): { model: OfflineModel; results: () => ToolMessage[] } {
  let last: readonly ModelMessage[] = [];
  const model = offlineModel("clerk", ({ messages }) => {
    last = messages;
    return messages.at(-1)?.role === "tool"
      ? "Drawn."
      : { toolCalls: [{ name: "draw", args: {} }] };
  });
  return { model, results: () => last.filter((one) => one.role === "tool") };
}

type ToolMessage = Extract<ModelMessage, { role: "tool" }>;

function desk(draw: AnyTool) {
  return defineService({
    name: "desk",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { draw } }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}

function drawing(give: () => unknown, effect: EffectKind = "none"): AnyTool {
  return tool({ description: "Draws.", inputSchema, effect, recover: "ask", execute: give });
}

const aCat = (): unknown => fileResult({ drawn: 1 }, [{ name: "cat.png", bytes: PNG }]);

function rows({ database }: TestEngine): Promise<readonly object[]> {
  return database.query({ text: "select id, session_id, turn_id from dure.files" });
}

/** The process of `first` is dead; another one goes on. */
async function goesOn(second: TestEngine, first: TestEngine): Promise<void> {
  await second.engine.store.release(first.processId);
  await second.engine.pickUp();
}

async function doneOf({ engine }: TestEngine, turnId: string): Promise<Done> {
  for await (const { event } of engine.read(turnId, {})) {
    if (event.type === "DONE") return event.data;
  }
  throw new Error("the turn ended without DONE");
}

test.each(["none", "idempotent", "once"] as const)(
  "a file of a tool with the effect %s is stored, read by the model and in DONE",
  async (effect) => {
    const { model, results } = clerkModel();
    await using at = await startTestEngine(desk(drawing(aCat, effect)), { offline: [model] });

    const { done, turnId } = await at.say("Draw.", { session: "mina" });

    expect(done.files).toEqual([{ ...REF, id: expect.stringMatching(/^file_/u) as string }]);
    const { id } = done.files![0]!;
    expect(results()).toMatchObject([{ files: [{ ...REF, id }] }]);
    expect(results()[0]?.result).toBe('{"drawn":1}');
    expect(await at.engine.files.read(id, { session: "mina" })).toEqual(Buffer.from(PNG));
    expect(await rows(at)).toEqual([{ id, session_id: "mina", turn_id: turnId }]);
  },
);

test("a process that dies between the bytes and the record leaves one file, under one id", async () => {
  const { model } = clerkModel();
  const service = desk(drawing(aCat));
  await using first = await startTestEngine(service, { offline: [model] });
  const put = first.engine.files.put.bind(first.engine.files);
  const { promise: died, resolve: dies } = Promise.withResolvers<string>();
  first.engine.files.put = async (...given) => {
    const { id } = await put(...given);
    first.fence();
    dies(id);
    return new Promise(() => {});
  };
  const { turnId } = await first.engine.accept({ session: "mina", message: "Draw." });
  const stored = await died;

  await using second = await startTestEngine(service, { offline: [model], on: first });
  await goesOn(second, first);

  expect((await doneOf(second, turnId)).files).toEqual([{ ...REF, id: stored }]);
  expect(await rows(second)).toHaveLength(1);
});

test("files of a once call come out of the ledger after a crash, and it is made once", async () => {
  const { model, results } = clerkModel();
  let calls = 0;
  const service = desk(drawing(() => ((calls += 1), aCat()), "once"));
  await using first = await startTestEngine(service, { offline: [model] });
  const settle = first.engine.store.effectSettle.bind(first.engine.store);
  const { promise: died, resolve: dies } = Promise.withResolvers<void>();
  first.engine.store.effectSettle = async (...given) => {
    await settle(...given);
    first.fence();
    dies();
    return new Promise(() => {});
  };
  const { turnId } = await first.engine.accept({ session: "mina", message: "Draw." });
  await died;

  await using second = await startTestEngine(service, { offline: [model], on: first });
  await goesOn(second, first);

  expect((await doneOf(second, turnId)).files).toMatchObject([REF]);
  expect(results()).toMatchObject([{ result: '{"drawn":1}', files: [REF] }]);
  expect(calls).toBe(1);
});

test("no JSON of a tool refers to a file of another session", async () => {
  const { model, results } = clerkModel();
  let forged: Json = null;
  await using at = await startTestEngine(desk(drawing(() => forged)), { offline: [model] });
  const theirs = await at.engine.files.put({
    tenant: "",
    session: "juno",
    name: "secret.png",
    bytes: PNG,
  });
  const files = { kept: [theirs], refused: [] };
  forged = JSON.parse(
    JSON.stringify({ status: "done", result: {}, files, "dure.files": [theirs] }),
  ) as Json;

  const { done } = await at.say("Draw.", { session: "mina" });

  expect(done.files).toBeUndefined();
  expect(results()[0]?.files).toBeUndefined();
  expect(await at.engine.files.read(theirs.id, { session: "mina" })).toBeUndefined();
});

test("a file that is refused is a line for the model and one warning, and its once result stays", async () => {
  const { model, results } = clerkModel();
  const warned: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_facts, line) => void warned.push(line) };
  const give = (): unknown =>
    fileResult("paid", [
      { name: "run.exe", bytes: Uint8Array.from([0x4d, 0x5a, 0]) },
      { name: "empty.png", bytes: new Uint8Array() },
      { name: "cat.png", bytes: PNG },
    ]);
  await using at = await startTestEngine(desk(drawing(give, "once")), {
    offline: [model],
    logger,
  });

  const { done } = await at.say("Draw.");

  expect(done.error).toBeUndefined();
  expect(done.files).toMatchObject([REF]);
  expect(results()[0]?.result).toBe(
    [
      "paid",
      "[Not kept, so no person gets it: run.exe: run.exe is of no type that is taken.]",
      "[Not kept, so no person gets it: empty.png: empty.png has no bytes.]",
    ].join("\n"),
  );
  expect(warned).toEqual(["2 files that draw made could not be kept"]);
});

test("a result takes ten files, and DONE shows ten of a turn, the newest", async () => {
  let results: readonly ModelMessage[] = [];
  const model = offlineModel("clerk", ({ messages }) => {
    results = messages.filter(({ role }) => role === "tool");
    const draw = { name: "draw", args: {} };
    return results.length > 0 ? "Drawn." : { toolCalls: [draw, draw] };
  });
  let call = 0;
  const give = (): unknown => {
    call += 1;
    const names = Array.from({ length: 12 }, (_, at) => `${call}-${at}.png`);
    return fileResult(
      "drawn",
      names.map((name) => ({ name, bytes: PNG })),
    );
  };
  await using at = await startTestEngine(desk(drawing(give)), { offline: [model] });

  const { done } = await at.say("Draw.");

  expect(done.files?.map(({ name }) => name)).toEqual(
    Array.from({ length: 10 }, (_, index) => `2-${index}.png`),
  );
  expect((results[0] as ToolMessage).files).toHaveLength(10);
  expect((results[0] as ToolMessage).result).toContain("1-11.png: a result takes 10 files");
});

test("a process that does not have the turn any more stores no file for it", async () => {
  const { model } = clerkModel();
  await using at = await startTestEngine(desk(drawing(() => "nothing")), { offline: [model] });
  const { turnId: turn } = await at.say("Draw.", { session: "mina" });
  const late = { tenant: "", session: "mina", name: "late.png", bytes: PNG, turn, epoch: 1 };

  await expect(at.engine.files.put(late)).rejects.toMatchObject({ code: "TURN_FENCED" });
  expect(await rows(at)).toEqual([]);
});
