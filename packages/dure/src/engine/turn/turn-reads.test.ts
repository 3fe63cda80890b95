import { expect, test } from "vitest";
import { z } from "zod";
import { silentLogger } from "../../kernel/logger.ts";
import { tool, type EffectKind, type Tool } from "../agent/tool.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";

type Stock = Tool<{ readonly item: string }, number>;

function stockTool(execute: Stock["execute"], effect: EffectKind = "none"): Stock {
  return tool({
    description: "How many are left.",
    inputSchema: z.object({ item: z.string() }),
    effect,
    timeout: "1s",
    execute,
  });
}

/** Says what came of one read, then waits where it is told to. */
function shop(stock: Stock, after: () => Promise<unknown> | undefined = () => undefined): Service {
  return defineService({
    name: "shop",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        const seen = await turn.read("stock", stock, { item: "lamp" });
        await turn.step("after", async () => (await after()) ?? null);
        const message = seen.status === "done" ? `${seen.result} left` : seen.error.code;
        return turn.done({ message });
      }),
    },
  });
}

const never = (): Promise<never> => new Promise(() => {});

test("a read gives what its tool gave, and is told as a call without effect", async () => {
  await using t = await startTestEngine(shop(stockTool(({ item }) => item.length)));

  const { done, events } = await t.say("go");

  expect(done.message).toBe("4 left");
  expect(events).toMatchObject([
    { type: "TOOL_START", data: { tool: "stock", effect: "none" } },
    { type: "TOOL_DONE", data: { tool: "stock", status: "done" } },
    { type: "DONE" },
  ]);
});

test("a read that fails, or is late, fails no turn, and the log has a line about it", async () => {
  const lines: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void lines.push(fields) };
  const refused = stockTool(() => Promise.reject(new Error("no line")));
  await using failing = await startTestEngine(shop(refused), { logger });
  await using late = await startTestEngine(shop(stockTool(never)), { logger });

  expect((await failing.say("go")).done).toMatchObject({ message: "TOOL_FAILED" });
  expect((await late.say("go")).done).toMatchObject({ message: "TOOL_TIMEOUT" });

  expect(lines).toEqual([
    expect.objectContaining({ name: "stock", error: "Error" }),
    expect.objectContaining({ name: "stock", code: "TOOL_TIMEOUT" }),
  ]);
});

test("a stop cuts a read off", async () => {
  const begun = Promise.withResolvers<void>();
  await using t = await startTestEngine(shop(stockTool(() => (begun.resolve(), never()))));

  const turn = t.engine.turn({ session: "s1", message: "go" });
  await begun.promise;
  await t.engine.stopTurn(await turn.turnId);

  expect((await turn.done).error).toMatchObject({ code: "TURN_STOPPED" });
});

test("what was read is read once over all lives of a turn", async () => {
  let reads = 0;
  const stock = stockTool(() => ++reads);
  const reached = Promise.withResolvers<void>();
  await using first = await startTestEngine(shop(stock, () => (reached.resolve(), never())));
  const { turnId } = await first.engine.accept({ session: "s1", message: "go" });
  await reached.promise;
  first.fence();

  await using second = await startTestEngine(shop(stock), { on: first });
  await second.database.query({
    text: "update dure.turns set holder = null, epoch = epoch + 1 where status = 'running'",
  });
  await second.engine.pickUp();
  const types: string[] = [];
  for await (const { event } of second.engine.read(turnId)) {
    types.push(event.type === "DONE" ? event.data.message : event.type);
  }

  expect(reads).toBe(1);
  expect(types).toEqual(["TOOL_START", "TOOL_DONE", "1 left"]);
});

test("a tool with an effect is not read", async () => {
  await using t = await startTestEngine(shop(stockTool(() => 1, "once")));

  expect((await t.say("go")).done.error).toMatchObject({ code: "TOOL_INVALID" });
});
