/**
 * The code blocks of README, docs/guides and docs/ko, for a test that type-checks and runs them. A block's
 * fence says what it is:
 *
 * | fence                     | is                                                              |
 * | ------------------------- | --------------------------------------------------------------- |
 * | `ts`, `js`                | a module of its own                                             |
 * | `ts file=slots.ts`        | a module that the page's other blocks can import                |
 * | `ts run`                  | one that runs; comments below `console.log` are what it prints  |
 * | `text dialogue locale=ko` | what is said (`>`) to the page's service, and what it answers   |
 *
 * An HTML comment `<!-- given … -->` before a block declares what its reader has already;
 * `<!-- given file=desk.ts … -->` is a whole module of the reader.
 */

import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import { root } from "./processes.ts";

/** A fenced block of a page. */
export interface CodeBlock {
  /** From the root, such as `docs/guides/effects.md`. */
  readonly page: string;
  /** Of the first line of code, from 1. */
  readonly line: number;
  /** First word of the fence; empty: it has none. */
  readonly language: string;
  /** The other words, such as `file=slots.ts` or `run`. */
  readonly words: readonly string[];
  /** What the comment before the block declares. */
  readonly given: string;
  readonly code: string;
}

/** The blocks of README and the guides, in both languages, in their order. */
export async function readBlocks(): Promise<readonly CodeBlock[]> {
  const pages = ["README.md", "README.ko.md"];
  for (const folder of ["docs/guides", "docs/ko"]) {
    const names = await readdir(path.join(root, folder));
    const guides = names.filter((name) => name.endsWith(".md")).toSorted();
    pages.push(...guides.map((name) => `${folder}/${name}`));
  }
  const read = pages.map(async (page) =>
    blocksOf(page, await readFile(path.join(root, page), "utf8")),
  );
  return (await Promise.all(read)).flat();
}

const FENCE = /^(?:<!-- given\n(?<given>[^]*?)-->\n\s*)?^```(?<info>.*)\n(?<code>[^]*?)^```$/gm;
const GIVEN_FILE = /^<!-- given (?<info>file=\S+)\n(?<code>[^]*?)-->$/gm;

/** The blocks of one page. Pure. */
export function blocksOf(page: string, markdown: string): readonly CodeBlock[] {
  const fences = [...markdown.matchAll(FENCE)].map(({ index, groups, 0: text }) => {
    const { given = "", info = "", code = "" } = groups!;
    const [language = "", ...words] = info.trim().split(/\s+/);
    const before = markdown.slice(0, index + text.lastIndexOf(`${code}\`\`\``));
    return { page, line: before.split("\n").length, language, words, given, code };
  });
  const files = [...markdown.matchAll(GIVEN_FILE)].map(({ index, groups }) => {
    const { info = "", code = "" } = groups!;
    const line = markdown.slice(0, index).split("\n").length + 1;
    return { page, line, language: "ts", words: [info], given: "", code };
  });
  return [...fences, ...files];
}

/** Whether TypeScript can judge a block. */
export function isModule({ language }: CodeBlock): boolean {
  return language === "ts" || language === "js";
}

/** What follows `name=` in the fence. */
export function wordOf({ words }: CodeBlock, name: string): string | undefined {
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

// --- types

/**
 * What TypeScript says against the blocks, each as `page:line: words`. One program for all: only
 * the blocks are judged, and of the sources what they name.
 */
export function checkBlocks(blocks: readonly CodeBlock[]): readonly string[] {
  const files = new Map(blocks.filter(isModule).map((block) => [pathOf(block), moduleOf(block)]));
  const options = compilerOptions();
  const program = ts.createProgram([...files.keys()], options, hostOf(files, options));
  return [...files.keys()].flatMap((name) => {
    const file = program.getSourceFile(name)!;
    const found = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return found.map((diagnostic) => describe(file, diagnostic));
  });
}

/** Beside its page, so that packages are found from there; each page has a folder of its own. */
function pathOf(block: CodeBlock): string {
  const name = wordOf(block, "file") ?? `${block.line}.${block.language}`;
  return path.join(root, `${block.page}.blocks`, name);
}

/** The block on the lines that it has on its page, what is given before it in the line above. */
function moduleOf({ line, given, code }: CodeBlock): string {
  return `${"\n".repeat(line - 2)}${given.replaceAll(/\s*\n\s*/g, " ")} export {};\n${code}`;
}

function compilerOptions(): ts.CompilerOptions {
  const file = path.join(root, "tsconfig.json");
  const read = ts.readConfigFile(file, (name) => ts.sys.readFile(name)).config as object;
  const { options } = ts.parseJsonConfigFileContent({ ...read, include: [] }, ts.sys, root);
  return { ...options, allowJs: true, checkJs: true };
}

/** Reads the blocks from memory, all else from the disk. */
function hostOf(blocks: ReadonlyMap<string, string>, options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const folders = new Set([...blocks.keys()].map((name) => path.dirname(name)));
  return {
    ...host,
    fileExists: (name) => blocks.has(name) || host.fileExists(name),
    readFile: (name) => blocks.get(name) ?? host.readFile(name),
    directoryExists: (name) => folders.has(name) || host.directoryExists!(name),
    getSourceFile(name, version) {
      const text = blocks.get(name);
      return text === undefined
        ? host.getSourceFile(name, version)
        : ts.createSourceFile(name, text, version);
    },
  };
}

function describe(file: ts.SourceFile, { start = 0, messageText }: ts.Diagnostic): string {
  const page = path.relative(root, file.fileName).replace(/\.blocks\/.*/, "");
  const { line } = file.getLineAndCharacterOfPosition(start);
  return `${page}:${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
}

// --- running

/** Writes a page's modules into a folder that finds the packages of this repository. */
export async function writePage(
  blocks: readonly CodeBlock[],
  { page, folder }: { readonly page: string; readonly folder: string },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await symlink(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  await writeFile(path.join(folder, "package.json"), '{ "type": "module" }');
  for (const block of blocks.filter((one) => one.page === page && isModule(one))) {
    const name = path.basename(pathOf(block));
    await writeFile(path.join(folder, name), block.code);
  }
}

/** What a block says that it prints: the comments below each `console.log`. Pure. */
export function printedBy({ code }: CodeBlock): string {
  const shown = [...code.matchAll(/^console\.log\(.*\);\n(?<lines>(?:\/\/ .*\n)+)/gm)];
  return shown.map(({ groups }) => groups!["lines"]!.replaceAll(/^\/\/ /gm, "")).join("");
}

/** Words of the person, and the answer with its buttons as it is shown. */
export interface Exchange {
  readonly said: string;
  readonly answered: string;
}

/** A dialogue as exchanges; a line that begins with `>` is the person's. Pure. */
export function exchangesOf({ code }: CodeBlock): readonly Exchange[] {
  return code
    .split(/^> /m)
    .slice(1)
    .map((part) => {
      const [said = "", ...lines] = part.trimEnd().split("\n");
      return { said, answered: lines.join("\n") };
    });
}
