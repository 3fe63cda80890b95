/**
 * How readable the documents are, as figures: `node scripts/prose.ts` prints them, and the check
 * `prose` of `npm test` holds them. Limits: STYLE.md, "And plain words".
 */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fromMarkdown } from "mdast-util-from-markdown";
import { root } from "./processes.ts";

/** What mdast calls a node, as far as this file looks at it. */
interface MarkdownNode {
  readonly type: string;
  readonly value?: string;
  readonly depth?: number;
  readonly children?: readonly MarkdownNode[];
  readonly position?: { readonly start: { readonly line: number } } | undefined;
}

/** A heading, a paragraph or one cell of a table. */
interface Block {
  readonly kind: "heading" | "paragraph" | "cell";
  /** Line of the page, from 1. */
  readonly line: number;
  /** Without code blocks; a code span stands as one word. */
  readonly text: string;
}

export interface ProseFigures {
  readonly page: string;
  /** Over the sentences of paragraphs and list items. Tables do not count. */
  readonly meanSentence: number;
  readonly longestSentence: ProseLocation;
  /** The longest paragraph, list item or cell. */
  readonly longestBlock: ProseLocation;
  /** Lines that name no actor: whoever, somebody, nobody. */
  readonly vagueLines: readonly number[];
}

/** Where something stands, and how many words it has. */
interface ProseLocation {
  readonly line: number;
  readonly words: number;
}

const MAX_MEAN_SENTENCE = 20;
export const MAX_BLOCK = 90;
export const MAX_UNRELEASED = 1_100;

const PAGES = ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"];
const FOLDERS = ["docs/guides", "docs/spec"];
const VAGUE = /\b(?:whoever|somebody|nobody)\b/i;
const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });
/** With a capital, so that a sentence may begin with it. */
const CODE_SPAN = "Code";
const NOWHERE: ProseLocation = { line: 0, words: 0 };

/** Reads the pages that the check holds. */
export async function measureProse(folder: string = root): Promise<ProseFigures[]> {
  const pages = [...PAGES];
  for (const part of FOLDERS) {
    const names = await readdir(path.join(folder, part));
    const markdown = names.filter((name) => name.endsWith(".md")).toSorted();
    pages.push(...markdown.map((name) => `${part}/${name}`));
  }
  return await Promise.all(
    pages.map(async (page) => measurePage(page, await readFile(path.join(folder, page), "utf8"))),
  );
}

/** Words of the changelog's unreleased part, tables included. */
export async function countUnreleased(folder: string = root): Promise<number> {
  return wordsOfUnreleased(await readFile(path.join(folder, "CHANGELOG.md"), "utf8"));
}

/** Pure. */
export function measurePage(page: string, markdown: string): ProseFigures {
  const blocks = blocksOf(fromMarkdown(markdown));
  const prose = blocks.filter(({ kind }) => kind === "paragraph");
  const sentences = prose.flatMap(sentencesOf);
  const words = sentences.reduce((sum, sentence) => sum + sentence.words, 0);
  const bodies = blocks.filter(({ kind }) => kind !== "heading");
  return {
    page,
    meanSentence: sentences.length === 0 ? 0 : words / sentences.length,
    longestSentence: longest(sentences),
    longestBlock: longest(bodies.map(({ line, text }) => ({ line, words: countWords(text) }))),
    vagueLines: blocks.filter(({ text }) => VAGUE.test(text)).map(({ line }) => line),
  };
}

/** Pure. From the heading "Unreleased" to the next heading of its depth. */
export function wordsOfUnreleased(markdown: string): number {
  const top: readonly MarkdownNode[] = fromMarkdown(markdown).children;
  const begin = top.findIndex(
    (node) => node.type === "heading" && /unreleased/i.test(textOf(node)),
  );
  if (begin === -1) return 0;

  const depth = top[begin]!.depth!;
  const rest = top.slice(begin + 1);
  const end = rest.findIndex((node) => node.type === "heading" && node.depth! <= depth);
  const part = end === -1 ? rest : rest.slice(0, end);
  return part
    .flatMap((node) => blocksOf(node))
    .reduce((sum, { text }) => sum + countWords(text), 0);
}

/** The figures above their limit, with the place to begin at. */
export function troubleWith(pages: readonly ProseFigures[], unreleased: number): string[] {
  const trouble = pages.flatMap(troubleWithPage);
  if (unreleased > MAX_UNRELEASED) {
    trouble.push(`CHANGELOG.md: unreleased has ${unreleased} words, at most ${MAX_UNRELEASED}`);
  }
  return trouble;
}

function troubleWithPage(figures: ProseFigures): string[] {
  const { page, meanSentence, longestSentence, longestBlock, vagueLines } = figures;
  const trouble: string[] = [];
  if (meanSentence > MAX_MEAN_SENTENCE) {
    const mean = `${meanSentence.toFixed(1)} words a sentence, at most ${MAX_MEAN_SENTENCE}`;
    trouble.push(`${page}: ${mean}; longest ${describePlace(longestSentence)}`);
  }
  if (longestBlock.words > MAX_BLOCK) {
    trouble.push(`${page}: a paragraph over ${MAX_BLOCK} words, ${describePlace(longestBlock)}`);
  }
  if (vagueLines.length > 0) {
    trouble.push(`${page}: whoever, somebody or nobody in line ${vagueLines.join(", ")}`);
  }
  return trouble;
}

/** The table, one page a line. */
export function describeProse(pages: readonly ProseFigures[], unreleased: number): string {
  const rows = pages.map(({ page, meanSentence, longestSentence, longestBlock }) => {
    const mean = `${meanSentence.toFixed(1)} words a sentence`;
    const worst = `longest ${describePlace(longestSentence)}`;
    return `${page.padEnd(34)}${mean}; ${worst}; paragraph ${describePlace(longestBlock)}`;
  });
  return [...rows, `${"CHANGELOG.md, unreleased".padEnd(34)}${unreleased} words`].join("\n");
}

function describePlace({ line, words }: ProseLocation): string {
  return `${words} words in line ${line}`;
}

/** The blocks of a node, in the order of the page. */
function blocksOf(node: MarkdownNode): Block[] {
  const line = node.position?.start.line ?? 0;
  if (node.type === "heading") return [{ kind: "heading", line, text: textOf(node) }];
  if (node.type === "paragraph") return blocksOfParagraph(line, textOf(node));
  return (node.children ?? []).flatMap(blocksOf);
}

/** The parser knows no tables: it gives one as a paragraph whose lines begin with a bar. */
function blocksOfParagraph(line: number, text: string): Block[] {
  if (!text.startsWith("|")) return [{ kind: "paragraph", line, text }];
  return text.split("\n").flatMap((row, index) => {
    const cells = row.split("|").map((cell) => cell.trim());
    const filled = cells.filter((cell) => /[\p{L}\p{N}]/u.test(cell));
    return filled.map((cell): Block => ({ kind: "cell", line: line + index, text: cell }));
  });
}

function textOf(node: MarkdownNode): string {
  if (node.type === "inlineCode") return CODE_SPAN;
  if (node.type === "break") return "\n";
  if (node.type === "html") return "";
  return node.value ?? (node.children ?? []).map(textOf).join("");
}

function sentencesOf({ line, text }: Block): ProseLocation[] {
  const parts = [...SENTENCES.segment(text.replaceAll("\n", " "))];
  return parts
    .map(({ segment, index }) => ({
      line: line + text.slice(0, index).split("\n").length - 1,
      words: countWords(segment),
    }))
    .filter(({ words }) => words > 0);
}

/** Pieces between spaces that hold a letter or a digit. */
function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

function longest(places: readonly ProseLocation[]): ProseLocation {
  return places.reduce((most, place) => (place.words > most.words ? place : most), NOWHERE);
}

if (import.meta.main) console.log(describeProse(await measureProse(), await countUnreleased()));
