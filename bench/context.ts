/**
 * What leaves for a provider over 20 rounds of one conversation, with 10, 200 and 900 tools, and how
 * much of it the provider reads from its cache; beside the AI SDK's plain loop, which sends all
 * tools and the whole conversation: `node --conditions=dure-source bench/context.ts`.
 *
 * The provider is the strict double. What Anthropic reads from its cache is by the marks of the
 * requests; OpenAI keeps beginnings by itself, so there it is what a request begins with of the one
 * before it. `paid` weighs input as Anthropic does: read 0.1, written 1.25.
 */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, tool as sdkTool, type ModelMessage } from "ai";
import { type ProviderAnswer, type ProviderAsked, UnfriendlyProvider } from "@dure/testing";
import { z } from "zod";
import { chatAgent } from "../packages/dure/src/engine/agent/agent.ts";
import { tool, type AnyTool } from "../packages/dure/src/engine/agent/tool.ts";
import { defineService, flow, type Service } from "../packages/dure/src/engine/service/service.ts";
import { startDure } from "./lib/dure.ts";
import { printMachine, printTable, printTitle } from "./lib/figures.ts";
import { startPostgres } from "./lib/postgres.ts";

type Wire = "anthropic" | "openai";
const MODELS = { anthropic: "claude-haiku-4-5", openai: "gpt-4.1-mini" } as const;
const TOOLS = [10, 200, 900] as const;
/** Of one conversation; each asks for what three tools know. */
const MESSAGES = 5;
const CALLS = 3;
const ROUNDS = MESSAGES * (CALLS + 1);

const PROMPT = "You run a store. Look before you answer, and say what you saw. ".repeat(40);
const inputSchema = z.object({
  shelf: z.string().describe("Number of the shelf, as it stands on its sign."),
  unit: z.enum(["boxes", "pallets", "pieces"]).describe("What is counted."),
  since: z.string().optional().describe("Day from which on changes count, such as 2026-11-01."),
});

function nameOf(index: number): string {
  return `count_aisle_${index}`;
}

function aboutOf(index: number): string {
  return (
    `Counts what lies in aisle ${index} of the store. Use it where a person asks what is there, ` +
    "how much of it, or what has changed since a day. It reads and changes nothing."
  );
}

function look(index: number): string {
  return `Aisle ${index}: ${"12 boxes of screws, 4 boxes of nails; ".repeat(15)}`;
}

/** Aisles that the message asks for: of 10 tools the same ones come again. */
function aislesOf(message: string): readonly number[] {
  return (message.match(/\d+/gu) ?? []).map(Number);
}

function messagesFor(tools: number): readonly string[] {
  return Array.from({ length: MESSAGES }, (_, message) => {
    const first = (message * CALLS * 7) % (tools - CALLS);
    return `What lies in the aisles ${[0, 1, 2].map((next) => first + next).join(", ")}?`;
  });
}

/** Calls the next aisle that was asked for, and finds its tool first where it must. */
function answerOf(asked: ProviderAsked, question: () => string, done: number): ProviderAnswer {
  const aisles = aislesOf(question());
  const next = aisles[done];
  if (next === undefined) return { text: `All ${aisles.length} aisles have screws and nails.` };
  const isOffered = asked.tools.includes(nameOf(next));
  if (isOffered) {
    return { toolCalls: [{ name: nameOf(next), args: { shelf: "1", unit: "boxes" } }] };
  }
  const query = aisles.map(nameOf).join(" ");
  return { toolCalls: [{ name: "find_tools", args: { query, limit: CALLS } }] };
}

interface Figures {
  readonly rounds: number;
  readonly bytes: number;
  readonly tokens: number;
  readonly read: number;
  readonly written: number;
  readonly refusal: string | undefined;
}

/** Plays the conversation by `say`, which gets the provider's address and the next message. */
async function measure(
  tools: number,
  play: (url: string, say: (message: string) => void) => Promise<void>,
): Promise<Figures> {
  let question = "";
  let done = 0;
  const cached: ProviderAsked["cached"][] = [];
  await using provider = await UnfriendlyProvider.start({
    seed: 1,
    often: 0,
    answer: (asked) => {
      cached.push(asked.cached);
      const answer = answerOf(asked, () => question, done);
      if (answer.toolCalls?.some(({ name }) => name !== "find_tools")) done += 1;
      return answer;
    },
  });
  await play(`${provider.url}/v1`, (message) => {
    question = message;
    done = 0;
  });
  const texts = provider.requests.map(({ body }) => written(body));
  const refusal = provider.requests.find((one) => one.refusal !== undefined)?.refusal;
  const read = texts.map((text, index) =>
    provider.requests[index]!.wire === "anthropic"
      ? (cached[index]?.read ?? 0)
      : begunTokens(texts[index - 1] ?? "", text),
  );

  return {
    rounds: texts.length,
    bytes: sum(provider.requests.map(({ body }) => Buffer.byteLength(JSON.stringify(body)))),
    tokens: sum(texts.map(tokensOf)),
    read: sum(read),
    written: sum(cached.map((one) => one?.written ?? 0)),
    refusal,
  };
}

/** In the order in which providers read it, without the marks of what is to be kept. */
function written({ tools, system, messages }: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([tools, system, messages], (key, value: unknown) =>
    key === "cache_control" ? undefined : value,
  );
}

/** Source: OpenAI, "Prompt caching": from 1,024 tokens on, in steps of 128. */
function begunTokens(before: string, text: string): number {
  let length = 0;
  while (length < text.length && text[length] === before[length]) length += 1;
  const tokens = tokensOf(text.slice(0, length));
  return tokens < 1_024 ? 0 : tokens - (tokens % 128);
}

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

// --- dure

function storeService(tools: number): Service {
  const all = Array.from({ length: tools }, (_, index): [string, AnyTool] => [
    nameOf(index),
    tool({ description: aboutOf(index), inputSchema, execute: () => look(index) }),
  ]);
  const clerk = chatAgent({ name: "clerk", prompt: PROMPT, tools: Object.fromEntries(all) });
  return defineService({
    name: "store",
    agents: { clerk },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}

async function throughDure(wire: Wire, tools: number, databaseUrl: string): Promise<Figures> {
  return await measure(tools, async (baseUrl, say) => {
    await using dure = await startDure({
      url: databaseUrl,
      model: {
        llm: { provider: wire, model: MODELS[wire] },
        connection: { apiKey: "k", baseUrl },
      },
      service: storeService(tools),
    });
    for (const message of messagesFor(tools)) {
      say(message);
      await dure.turn(`${wire}-${tools}`, message);
    }
  });
}

// --- the AI SDK's plain loop

async function throughAiSdk(wire: Wire, tools: number): Promise<Figures> {
  const all = Object.fromEntries(
    Array.from({ length: tools }, (_, index) => [
      nameOf(index),
      sdkTool({ description: aboutOf(index), inputSchema, execute: async () => look(index) }),
    ]),
  );
  return await measure(tools, async (baseURL, say) => {
    const settings = { apiKey: "k", baseURL };
    const model =
      wire === "anthropic"
        ? createAnthropic(settings)(MODELS[wire])
        : createOpenAI(settings).chat(MODELS[wire]);
    const messages: ModelMessage[] = [];
    for (const message of messagesFor(tools)) {
      say(message);
      messages.push({ role: "user", content: message });
      const stopWhen = isStepCount(ROUNDS);
      const request = { model, system: PROMPT, messages, tools: all, stopWhen, maxRetries: 0 };
      const answer = await generateText(request).catch(() => undefined);
      if (!answer) return;
      messages.push(...answer.responseMessages);
    }
  });
}

function rowOf(who: string, tools: number, figures: Figures): readonly (string | number)[] {
  const { rounds, bytes, tokens, read, written: kept, refusal } = figures;
  if (refusal !== undefined) {
    return [who, tools, "–", "–", "–", `refused: ${refusal.slice(0, 40)}`];
  }
  const paid = tokens - read - kept + read * 0.1 + kept * 1.25;
  return [who, tools, rounds, bytes / 1_024, `${Math.round((read / tokens) * 100)} %`, paid];
}

printMachine();
await using postgres = await startPostgres();
for (const wire of ["anthropic", "openai"] as const) {
  printTitle(`${MESSAGES} messages of ${CALLS} calls over ${wire}'s wire format`);
  const rows: (readonly (string | number)[])[] = [];
  for (const tools of TOOLS) {
    const database = await postgres.database(`dure_context_${wire}_${tools}`);
    rows.push(rowOf("dure", tools, await throughDure(wire, tools, database)));
    rows.push(rowOf("AI SDK", tools, await throughAiSdk(wire, tools)));
  }
  printTable(["", "tools", "rounds", "KiB sent", "cached", "tokens paid"], rows);
}
