import { wordsOf } from "../../models/search-words.ts";
import { isObject } from "../../kernel/json.ts";
import { jsonSchemaOf } from "../../models/json-schema.ts";
import type { AnyTool } from "./tool.ts";

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
