import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import type { OutlinedLanguage, SyntaxNode } from "./outline.ts";

/** Reads one language. */
export interface Grammar {
  /**
   * Undefined: the time was over before the text was read. The nodes are good while `use` works.
   */
  parse<Result>(
    text: string,
    isOver: () => boolean,
    use: (root: SyntaxNode) => Result,
  ): Result | undefined;
}

/** Undefined: its package is not installed. */
export type LoadGrammar = (language: OutlinedLanguage) => Promise<Grammar | undefined>;

/** Runtime and grammars; an optional peer of dure. */
export const GRAMMARS = "@vscode/tree-sitter-wasm";
/** It has no Kotlin. */
export const KOTLIN = "@tree-sitter-grammars/tree-sitter-kotlin";

/** As much of the runtime's interface as is used; its own types are there only where it is. */
interface Runtime {
  readonly Parser: {
    new (): Parser;
    init(): Promise<void>;
  };
  readonly Language: { load(wasm: Uint8Array): Promise<object> };
}

interface Parser {
  setLanguage(language: object): unknown;
  parse(
    text: string,
    before: null,
    options: { readonly progressCallback: () => boolean },
  ): { readonly rootNode: SyntaxNode; delete(): void } | null;
  reset(): void;
}

/** Loads a grammar from the package that has it, if that is installed. */
export const loadGrammar: LoadGrammar = async (language) => {
  const resolve = createRequire(import.meta.url).resolve;
  try {
    const main = resolve(GRAMMARS);
    const runtime = runtimeIn(await import(main));
    const file =
      language === "kotlin"
        ? path.join(path.dirname(resolve(`${KOTLIN}/package.json`)), "tree-sitter-kotlin.wasm")
        : path.join(path.dirname(main), `tree-sitter-${language}.wasm`);

    const wasm = await readFile(file);
    await runtime.Parser.init();

    const parser = new runtime.Parser();
    parser.setLanguage(await runtime.Language.load(wasm));

    return { parse: (text, isOver, use) => parseWith(parser, text, isOver, use) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

function isMissing(error: unknown): boolean {
  return ["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND", "ENOENT"].includes(codeOf(error) ?? "");
}

/** A module of the older kind stands below `default`. */
function runtimeIn(module: unknown): Runtime {
  const { default: inner } = module as { readonly default?: Runtime };
  return inner ?? (module as Runtime);
}

function parseWith<Result>(
  parser: Parser,
  text: string,
  isOver: () => boolean,
  use: (root: SyntaxNode) => Result,
): Result | undefined {
  const tree = parser.parse(text, null, { progressCallback: isOver });
  if (!tree) {
    parser.reset();
    return undefined;
  }

  try {
    return use(tree.rootNode);
  } finally {
    tree.delete();
  }
}
