// @module-tag slow
import type { ProviderAnswer, UnfriendlyProvider } from "@dure/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { tool, type AnyTool } from "../../src/engine/agent/tool.ts";
import { defineService, flow, type Service } from "../../src/engine/service/service.ts";
import { openProvider, type Answer, type ToldProvider } from "./told-provider.ts";

/** An agent with more tools than its model is offered at once, over both wire formats. */

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database?.[Symbol.asyncDispose]());

const MODELS = ["anthropic:claude-haiku-4-5", "openai:gpt-4.1-mini"];

/** What the tools were called with, in order. */
type Calls = unknown[];

function numbered(count: number, calls: Calls): Record<string, AnyTool> {
  const made = Array.from({ length: count }, (_, index): [string, AnyTool] => [
    `shelf_${index}`,
    tool({
      description: `Counts what lies on shelf ${index}.`,
      inputSchema: z.object({ unit: z.string() }),
      execute: (input) => (calls.push({ shelf: index, ...input }), `${index} boxes`),
    }),
  ]);
  return Object.fromEntries(made);
}

interface Store {
  readonly tools?: number;
  readonly maxTools?: number;
  /** How many of its tools are those of a set, as an MCP server's. */
  readonly ofSet?: number;
  readonly more?: Record<string, AnyTool>;
}

function storeService(calls: Calls, { tools = 900, maxTools, ofSet = 0, more }: Store): Service {
  const all = Object.entries({ ...numbered(tools, calls), ...more });
  const set = Object.fromEntries(all.slice(0, ofSet));
  const keeper = chatAgent({
    name: "keeper",
    prompt: "Keep the store.",
    tools: Object.fromEntries(all.slice(ofSet)),
    card: maxTools === undefined ? {} : { policy: { maxTools } },
  });
  const toolSets = [{ name: "shelves", tools: () => set, find: (name: string) => set[name] }];
  return defineService({
    name: "store",
    agents: { keeper: ofSet > 0 ? { ...keeper, toolSets } : keeper },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("keeper", "…")).text })),
    },
  });
}

interface Shop extends ToldProvider {
  readonly calls: Calls;
  /** The tools of each request, in order. */
  offered(): readonly (readonly string[])[];
}

let shops = 0;

async function openShop(model: string, store: Store, answer: Answer): Promise<Shop> {
  const calls: Calls = [];
  const service = storeService(calls, store);
  const told = await openProvider(answer, { model, service, database });
  return { ...told, calls, offered: () => told.asked.map(({ tools }) => tools) };
}

const FINDS: ProviderAnswer = {
  toolCalls: [{ name: "find_tools", args: { query: "count shelf 77", limit: 2 } }],
};
const HELLO: ProviderAnswer = { text: "Hello." };
const COUNTS: ProviderAnswer = { toolCalls: [{ name: "shelf_77", args: { unit: "boxes" } }] };

function refusals({ requests }: UnfriendlyProvider): readonly string[] {
  return requests.flatMap(({ refusal }) => refusal ?? []);
}

test.each(MODELS)("%s sees few of 900 tools, finds one and calls it", async (model) => {
  const script = [FINDS, COUNTS, { text: "77 boxes." }];
  await using shop = await openShop(model, {}, (_, round) => script[round - 1]!);
  await using at = await shop.process();

  const { done } = await at.say("What lies on shelf 77?", { session: `few${++shops}` });

  expect(done).toMatchObject({ message: "77 boxes." });
  expect(shop.calls).toEqual([{ shelf: 77, unit: "boxes" }]);
  const [first, second, third] = shop.offered();
  expect(first).toEqual(["find_tools"]);
  expect(second).toEqual(["find_tools", "shelf_77", expect.stringMatching(/^shelf_/)]);
  expect(third).toEqual(second);
  expect(refusals(shop.provider)).toEqual([]);
});

test.each(MODELS)(
  "what %s has found stays offered in the session, for any process",
  async (model) => {
    const script = [FINDS, COUNTS, { text: "77 boxes." }, HELLO, HELLO];
    await using shop = await openShop(model, {}, (_, round) => script[round - 1]!);
    const session = `stays${++shops}`;
    await using first = await shop.process();
    await using second = await shop.process();

    await first.say("What lies on shelf 77?", { session });
    await second.say("Thank you", { session });
    await second.say("Hello", { session: `other${shops}` });

    const [, , inTurn, nextTurn, otherSession] = shop.offered();
    expect(nextTurn).toEqual(inTurn);
    expect(otherSession).toEqual(["find_tools"]);
  },
);

test("what was found is offered by the process that takes a killed turn over", async () => {
  const parked = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<void>();
  await using shop = await openShop(MODELS[0]!, {}, async (_, round) => {
    if (round === 1) return FINDS;
    if (round === 2) {
      parked.resolve();
      await killed.promise;
    }
    return round <= 3 ? COUNTS : { text: "77 boxes." };
  });
  await using first = await shop.process();
  await using second = await shop.process();
  const session = `killed${++shops}`;
  const { turnId } = await first.engine.accept({ session, message: "What lies on shelf 77?" });
  await parked.promise;

  first.fence();
  await second.engine.store.release(first.processId);
  const events = [];
  for await (const { event } of second.engine.read(turnId)) events.push(event);
  killed.resolve();

  expect(events.at(-1)).toMatchObject({ type: "DONE", data: { message: "77 boxes." } });
  const [, before, after] = shop.offered();
  expect(before).toHaveLength(3);
  expect(after).toEqual(before);
  expect(shop.calls).toHaveLength(1);
});

test.each(MODELS)(
  "a call by hearsay is not made by %s; the tool is offered then",
  async (model) => {
    const script = [COUNTS, COUNTS, { text: "77 boxes." }];
    await using shop = await openShop(model, { ofSet: 900 }, (_, round) => script[round - 1]!);
    await using at = await shop.process();

    const { done } = await at.say("What lies on shelf 77?", { session: `hearsay${++shops}` });

    expect(done).toMatchObject({ message: "77 boxes." });
    expect(shop.calls).toHaveLength(1);
    expect(shop.offered().slice(0, 2)).toEqual([["find_tools"], ["find_tools", "shelf_77"]]);
    expect(JSON.stringify(shop.provider.requests[1]!.body)).toContain("It is offered from now on");
  },
);

test("an agent's own tools stay offered beside those of servers, and so do marked ones", async () => {
  const bell = tool({
    description: "Rings.",
    inputSchema: z.object({}),
    always: true,
    execute: () => "rang",
  });
  const answer: Answer = () => ({ text: "Yes." });
  await using few = await openShop(MODELS[0]!, { tools: 60, ofSet: 58, more: { bell } }, answer);
  await using many = await openShop(MODELS[0]!, { tools: 60, more: { bell } }, answer);
  for (const shop of [few, many]) {
    await using at = await shop.process();
    await at.say("Hello", { session: `own${++shops}` });
  }

  expect(few.offered()).toEqual([["shelf_58", "shelf_59", "bell", "find_tools"]]);
  expect(many.offered()).toEqual([["bell", "find_tools"]]);
});

test("an agent with as many tools as its card allows is offered all of them", async () => {
  await using shop = await openShop(MODELS[0]!, { tools: 40 }, () => ({ text: "Yes." }));
  await using less = await openShop(MODELS[0]!, { tools: 4, maxTools: 3 }, () => ({
    text: "Yes.",
  }));
  for (const one of [shop, less]) {
    await using at = await one.process();
    await at.say("Hello", { session: `all${++shops}` });
  }

  expect(shop.offered()[0]).toHaveLength(40);
  expect(less.offered()).toEqual([["find_tools"]]);
});

test("Anthropic still reads the first tools from its cache when one more is found", async () => {
  const read: (number | undefined)[] = [];
  const script = [FINDS, COUNTS, { text: "77 boxes." }];
  const long = "It counts slowly, and writes down each box that it sees. ".repeat(100);
  const bell = tool({ description: long, inputSchema: z.object({}), execute: () => "rang" });
  await using shop = await openShop(MODELS[0]!, { ofSet: 900, more: { bell } }, (asked, round) => {
    read.push(asked.cached?.read);
    return script[round - 1]!;
  });
  await using at = await shop.process();

  await at.say("What lies on shelf 77?", { session: `cached${++shops}` });

  const [first, second, third] = read;
  expect(first).toBe(0);
  expect(second).toBeGreaterThan(1_024);
  expect(third).toBeGreaterThan(second!);
});

test("the tools that a model has found are bounded; the oldest go first", async () => {
  const rounds = 6;
  await using shop = await openShop(MODELS[0]!, {}, (_, round) => {
    if (round > rounds) return { text: "Enough." };
    const query = Array.from({ length: 10 }, (__, index) => `shelf_${round * 10 + index}`);
    return { toolCalls: [{ name: "find_tools", args: { query: query.join(" "), limit: 10 } }] };
  });
  await using at = await shop.process();

  await at.say("Find all", { session: `bound${++shops}` });

  const last = shop.offered().at(-1)!;
  expect(Math.max(...shop.offered().map((tools) => tools.length))).toBe(41);
  expect(last.slice(0, 2)).toEqual(["find_tools", "shelf_30"]);
  expect(last.at(-1)).toBe("shelf_69");
});
