import type { ProviderAnswer, ProviderAsked } from "@dure/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { defineService, flow, type Service } from "../../src/engine/service/service.ts";
import { openProvider, type Answer, type ToldProvider } from "./told-provider.ts";

/** Results of tools that are too long for a model, over both wire formats. */

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database?.[Symbol.asyncDispose]());

const MODELS = ["anthropic:claude-haiku-4-5", "openai:gpt-4.1-mini"];
const LINES = Array.from({ length: 9_000 }, (_, line) => `line ${line} of the ledger`);
const BYTES = Buffer.byteLength(LINES.join("\n"));

function ledgerService(): Service {
  const ledger = tool({
    description: "Reads the ledger.",
    inputSchema: z.object({}),
    execute: () => LINES.join("\n"),
  });
  return defineService({
    name: "books",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { ledger } }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}

function openBooks(model: string, answer: Answer): Promise<ToldProvider> {
  return openProvider(answer, { model, service: ledgerService(), database });
}

const READS: ProviderAnswer = { toolCalls: [{ name: "ledger", args: {} }] };
const DONE: ProviderAnswer = { text: "It is there." };

/** The handle that stands in what was told last. */
function handleIn({ lastText }: ProviderAsked): string {
  return /"handle": \\*"([^"\\]+)/u.exec(lastText)![1]!;
}

function search(handle: string, words = "line 5000 "): ProviderAnswer {
  return { toolCalls: [{ name: "read_result", args: { handle, search: words } }] };
}

let sessions = 0;

test.each(MODELS)("%s sees both ends of a long result, and finds a line in it", async (model) => {
  await using books = await openBooks(model, (asked, round) => {
    if (round === 1) return READS;
    return round === 2 ? search(handleIn(asked)) : DONE;
  });
  await using at = await books.process();

  await at.say("Is line 5000 there?", { session: `ends${++sessions}` });

  const [first, second, third] = books.asked;
  expect(first!.tools).toEqual(["ledger"]);
  expect(second!.tools).toEqual(["ledger", "read_result"]);
  expect(second!.lastText).toContain("line 0 of the ledger");
  expect(second!.lastText).toContain("line 8999 of the ledger");
  expect(second!.lastText).toContain(`of ${BYTES} are left out`);
  expect(Buffer.byteLength(second!.lastText)).toBeLessThan(42_000);
  expect(third!.lastText).toContain("line 5000 of the ledger");
  expect(books.provider.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
});

test("a result is read in a later turn, by another process, from what its history shows", async () => {
  let handle = "";
  await using books = await openBooks(MODELS[0]!, (asked, round) => {
    if (round === 1) return READS;
    if (round === 2) handle = handleIn(asked);
    return round === 3 ? search(handle) : DONE;
  });
  await using first = await books.process();
  await using second = await books.process();
  const session = `later${++sessions}`;

  await first.say("Read the ledger", { session });
  await second.say("Is line 5000 there?", { session });

  const inHistory = JSON.stringify(books.asked[2]!.messages);
  expect(inHistory).toContain(handle);
  expect(Buffer.byteLength(inHistory)).toBeLessThan(6_000);
  expect(books.asked[2]!.tools).toEqual(["ledger", "read_result"]);
  expect(books.asked[3]!.lastText).toContain("line 5000 of the ledger");
});

test("no other session, no other tenant and no later session of its id reads a result", async () => {
  let handle = "";
  const told: string[] = [];
  await using books = await openBooks(MODELS[0]!, (asked, round) => {
    if (round === 1) return READS;
    if (round === 2) handle = handleIn(asked);
    if (round === 2) return DONE;
    told.push(asked.lastText);
    return round % 2 === 1 ? search(handle) : DONE;
  });
  await using at = await books.process();
  const session = `mine${++sessions}`;
  await at.say("Read the ledger", { session });

  await at.say("What is in it?", { session: `theirs${sessions}` });
  const caller = { tenant: "other", name: "stranger" };
  await at.engine.turn({ session, message: "What is in it?" }, { caller }).done;
  await at.engine.forget(session);
  await at.say("What is in it?", { session });

  const answers = told.filter((_, index) => index % 2 === 1);
  expect(answers).toHaveLength(3);
  for (const answer of answers) expect(answer).toContain("RESULT_UNKNOWN");
});
