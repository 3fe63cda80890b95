import { z } from "zod";
import { cutBytes } from "../../kernel/cut-bytes.ts";
import { isObject } from "../../kernel/json.ts";
import { jsonSchemaOf } from "../../models/json-schema.ts";
import type { ModelAnswer, ModelMessage, ToolSpec } from "../../models/model.ts";
import { READ_RESULT } from "./kept-result.ts";
import { tool, type AnyTool } from "./tool.ts";
import { wordsOf } from "../../models/search-words.ts";

type Tools = Readonly<Record<string, AnyTool>>;

/** The tool by which a model finds those that it is not offered. */
export const FIND_TOOLS = "find_tools";

/** Tools that a search gives. Source: code.claude.com, "Tool search" (the 3 to 5 best ones). */
const FOUND = { usual: 5, most: 10 } as const;
/** Tools beyond the first ones that a model is offered: those that it has named last. */
const MAX_NAMED = 40;
/** Bytes of a description in an answer: ten of them fit what a history keeps of one result. */
const MAX_ABOUT = 240;
const MAX_QUERY = 500;

/** What an agent has, and how much of it its model is offered at once. */
export interface OfferedFrom {
  /** All that the session may use. */
  readonly all: Tools;
  /** The agent's own ones, without those of tool sets. */
  readonly own: Tools;
  /** Names of its tool sets, for the model. */
  readonly sets: readonly string[];
  /** So many tools are offered without a search. */
  readonly most: number;
}

/** The tools that a model is offered from the first round on, in their order. Pure. */
export function firstTools(from: OfferedFrom): readonly ToolSpec[] {
  if (!isSearched(from)) return Object.entries(from.all).map(specOf);
  const own = Object.entries(from.own).filter(([name]) => name in from.all);
  const isFew = own.length <= from.most;
  const always = isFew ? own : own.filter(([, one]) => isAlways(one));

  return [...always, [FIND_TOOLS, findTools(from)] as const].map(specOf);
}

/**
 * Those that come behind the first ones: what the conversation has named, in the order of the first
 * time. So the list only grows, until a fold takes the oldest messages away. Pure.
 */
export function namedTools(
  all: Tools,
  first: readonly ToolSpec[],
  messages: readonly ModelMessage[],
): readonly ToolSpec[] {
  const offered = new Set(first.map(({ name }) => name));
  const last = new Map<string, number>();
  for (const [place, name] of messages.flatMap(namesIn).entries()) {
    if (Object.hasOwn(all, name) && !offered.has(name)) last.set(name, place);
  }
  const byTime = [...last.keys()].toSorted((a, b) => last.get(a)! - last.get(b)!);
  const dropped = new Set(byTime.slice(0, -MAX_NAMED));
  const names = [...last.keys()].filter((name) => !dropped.has(name));

  return names.map((name) => specOf([name, all[name]!]));
}

/** Marks calls of tools that a request with a search has not offered. Pure. */
export function withUnoffered(answer: ModelAnswer, tools: readonly ToolSpec[] = []): ModelAnswer {
  const names = new Set(tools.map(({ name }) => name));
  const isUnoffered = (name: string): boolean => names.has(FIND_TOOLS) && !names.has(name);
  if (!answer.toolCalls.some(({ name }) => isUnoffered(name))) return answer;
  const toolCalls = answer.toolCalls.map((call) =>
    isUnoffered(call.name) ? { ...call, unoffered: true as const } : call,
  );

  return { ...answer, toolCalls };
}

/** Made once: each round asks for this tool anew. */
const SEARCH = z.object({
  query: z.string().min(1).max(MAX_QUERY).describe("What the tool should do, or its name."),
  limit: z.int().min(1).max(FOUND.most).optional().describe(`Default ${FOUND.usual}.`),
});

/** Finds what is not among the first tools. */
export function findTools(from: OfferedFrom): AnyTool {
  return tool({
    description: descriptionOf(from),
    inputSchema: SEARCH,
    execute: ({ query, limit = FOUND.usual }) => {
      const found = searchTools(hiddenOf(from), query).slice(0, limit);
      const tools = found.map((name) => ({
        name,
        description: cutBytes(from.all[name]!.description, MAX_ABOUT),
      }));
      return tools.length > 0 ? { tools, note: CALL_NOW } : { tools, note: NONE_FITS };
    },
  });
}

const CALL_NOW = "You can call these tools from now on.";
const NONE_FITS =
  "No tool has one of these words. Search again with other words, also in the language in which " +
  "the tools are described: mostly English.";

function descriptionOf({ sets }: OfferedFrom): string {
  const beside = sets.length === 0 ? "" : ` Among them are those of: ${sets.join(", ")}.`;
  return (
    "You have more tools than are shown here. This finds them by what they do; those that it gives " +
    `can be called from the next round on.${beside} Search before you say that you cannot do something.`
  );
}

function isSearched({ all, most }: OfferedFrom): boolean {
  return Object.keys(all).length > most && !(FIND_TOOLS in all);
}

/** Tools of the team know what came of earlier calls, and are part of how agents talk. */
function isAlways({ always, told }: AnyTool): boolean {
  return always === true || told !== undefined;
}

function hiddenOf(from: OfferedFrom): Tools {
  const first = new Set(firstTools(from).map(({ name }) => name));
  return Object.fromEntries(Object.entries(from.all).filter(([name]) => !first.has(name)));
}

/** What a message names: the tools that it calls, that a search has found, or that it needs. */
function namesIn(message: ModelMessage): readonly string[] {
  if (message.role === "assistant") return (message.toolCalls ?? []).map(({ name }) => name);
  if (message.role !== "tool" || message.isError) return [];
  if (message.kept) return [READ_RESULT];
  if (message.name !== FIND_TOOLS) return [];
  const { result } = message;
  const found = isObject(result) ? result["tools"] : undefined;
  if (!Array.isArray(found)) return [];
  return found.flatMap((one) => {
    const name: unknown = isObject(one) ? one["name"] : undefined;
    return typeof name === "string" ? [name] : [];
  });
}

function specOf([name, { description, inputSchema }]: readonly [string, AnyTool]): ToolSpec {
  return { name, description, inputSchema: jsonSchemaOf(inputSchema) };
}

// --- search tools

/** A word of a tool's name says more than one of its description. */
const NAME_WEIGHT = 3;
/** Words of one tool that count: a server may describe it in a book. */
const MAX_WORDS = 300;
/** Source of both: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework". */
const BM25 = { k1: 1.2, b: 0.75 } as const;

/** By its words: how much each counts. */
type ToolWords = ReadonlyMap<string, number>;

/**
 * The names of the tools that fit a query, the best first: by the words of their names, their
 * descriptions and their arguments. A tool whose whole name stands in the query goes first. The same
 * for the same tools, whatever their order. Pure.
 */
export function searchTools(
  tools: Readonly<Record<string, AnyTool>>,
  query: string,
): readonly string[] {
  const asked = wordsOf(withSpaces(query));
  const all = Object.entries(tools).map(([name, tool]) => ({ name, words: toolWords(name, tool) }));
  const usual = all.reduce((sum, { words }) => sum + words.size, 0) / Math.max(all.length, 1);
  const weights = asked.map((word) => {
    const holders = all.filter(({ words }) => words.has(word)).length;
    return { word, weight: Math.log(1 + (all.length - holders + 0.5) / (holders + 0.5)) };
  });
  const named = new Set(query.split(/[^A-Za-z0-9_-]+/u));

  return all
    .map(({ name, words }) => ({ name, isNamed: named.has(name), score: score(words) }))
    .filter(({ isNamed, score: found }) => isNamed || found > 0)
    .toSorted(
      (a, b) =>
        Number(b.isNamed) - Number(a.isNamed) || b.score - a.score || (a.name < b.name ? -1 : 1),
    )
    .map(({ name }) => name);

  function score(words: ToolWords): number {
    const length = 1 - BM25.b + (BM25.b * words.size) / usual;
    return weights.reduce((sum, { word, weight }) => {
      const often = words.get(word) ?? 0;
      return sum + (weight * often * (BM25.k1 + 1)) / (often + BM25.k1 * length);
    }, 0);
  }
}

const read = new WeakMap<AnyTool, { readonly name: string; readonly words: ToolWords }>();

/** Each tool is read once: an agent has a thousand of them, and asks often. */
function toolWords(name: string, tool: AnyTool): ToolWords {
  const before = read.get(tool);
  if (before?.name === name) return before.words;
  const words = new Map<string, number>();
  for (const word of wordsOf(withSpaces(name))) words.set(word, NAME_WEIGHT);
  const about = `${tool.description} ${argumentsText(tool)}`;
  for (const word of wordsOf(withSpaces(about)).slice(0, MAX_WORDS)) {
    words.set(word, (words.get(word) ?? 0) + 1);
  }
  read.set(tool, { name, words });

  return words;
}

/** `create_issue` and `createIssue` are two words. */
function withSpaces(text: string): string {
  return text.replaceAll(/[_-]+/gu, " ").replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, " ");
}

/** The first level of them. */
function argumentsText(tool: AnyTool): string {
  const { properties } = jsonSchemaOf(tool.inputSchema);
  if (!isObject(properties)) return "";
  return Object.entries(properties)
    .map(([name, about]) => {
      const described = isObject(about) ? about["description"] : undefined;
      return typeof described === "string" ? `${name} ${described}` : name;
    })
    .join(" ");
}
