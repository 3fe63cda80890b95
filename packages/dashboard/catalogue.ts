import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Plugin } from "vite";
import { isMap, isScalar, parseDocument, type YAMLMap } from "yaml";
import {
  LANGUAGES,
  piecesOf,
  spoken,
  type Language,
  type Piece,
  type WordTable,
} from "./src/words.ts";

const FOLDER = path.join(import.meta.dirname, "words");
/** Made from the words, and not kept by git. */
const TYPES = path.join(FOLDER, "words.d.ts");
/** Where the modules of words would be; there is no file. */
const MADE = `\0${FOLDER}`;
/** How a table of the first language is marked: its keys are not known to the page, and so on. */
const MARKS = ["!open", "!coded", "!later"];

/** The words of a language as its file has them, by section, with their marks. */
export interface Catalogue {
  readonly words: Readonly<Record<string, WordTable>>;
  /** What each marked table is, by its path. */
  readonly marks: ReadonlyMap<string, string>;
}

/** The words of one language. */
export function readCatalogue(language: Language): Catalogue {
  const file = path.join(FOLDER, `${language}.yaml`);
  const document = parseDocument(readFileSync(file, "utf8"), {
    customTags: MARKS.map((tag) => ({ tag, collection: "map" as const, identify: () => false })),
  });
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) throw new Error(`${file}: ${error.message}`);
  const marks = new Map<string, string>();
  readMarks(document.contents as YAMLMap, "", marks);

  return { words: document.toJS() as Catalogue["words"], marks };
}

/** All that is said in one language, for what is no page: the build, tests. */
export function wordsIn(language: Language): unknown {
  return spoken(readCatalogue(language).words, language);
}

function readMarks(table: YAMLMap, at: string, marks: Map<string, string>): void {
  for (const { key, value } of table.items) {
    const name = `${at}${String(isScalar(key) ? key.value : key)}`;
    if (!isMap(value)) continue;
    if (value.tag !== undefined && MARKS.includes(value.tag)) marks.set(name, value.tag);
    readMarks(value, `${name}.`, marks);
  }
}

/** Sections that are fetched with the pages that need them; all others with every page. */
function splitSections({ words, marks }: Catalogue): { first: string[]; later: string[] } {
  const { true: later = [], false: first = [] } = Object.groupBy(
    Object.keys(words),
    (name) => String(marks.get(name) === "!later") as "true" | "false",
  );
  return { first, later };
}

/**
 * Words as modules: `words:later/<section>` has a section in every language, `words:languages` how
 * the words of every page are fetched in one.
 */
export function wordModules(): Plugin {
  const { first } = splitSections(readCatalogue(LANGUAGES[0]));
  const spokenOf = (words: unknown, language: Language): string =>
    `spoken(${JSON.stringify(words)}, "${language}")`;
  const head = `import { spoken } from "${path.join(import.meta.dirname, "src/words.ts")}";\n`;

  return {
    name: "dure-words",
    enforce: "pre",
    buildStart: writeWordTypes,
    // Named like the part that `lazy-part.ts` reads.
    resolveId: (id) => (id.startsWith("words:") ? path.join(MADE, `${id.slice(6)}.js`) : null),
    load(id) {
      const { dir, name } = path.parse(id);
      if (!id.endsWith(".js") || !dir.startsWith(MADE)) return null;
      for (const one of LANGUAGES) this.addWatchFile(path.join(FOLDER, `${one}.yaml`));

      if (name === "languages") {
        const imports = LANGUAGES.map((one) => `${one}: () => import("words:texts.${one}")`);
        return `export const LANGUAGE_WORDS = { ${imports.join(", ")} };`;
      }
      const language = LANGUAGES.find((one) => name === `texts.${one}`);
      if (language !== undefined) {
        const { words } = readCatalogue(language);
        const own = Object.fromEntries(first.map((section) => [section, words[section]]));
        return `${head}export const text = ${spokenOf(own, language)};`;
      }
      const table = LANGUAGES.map(
        (one) => `${one}: ${spokenOf(readCatalogue(one).words[name], one)}`,
      );
      return `${head}export const ${name.toUpperCase()}_WORDS = { ${table.join(", ")} };`;
    },
  };
}

/** Writes the types of the words, for the type check and for editors. */
export function writeWordTypes(): void {
  const { words, marks } = readCatalogue(LANGUAGES[0]);
  const others = LANGUAGES.slice(1).map((language) => {
    const other = readCatalogue(language).words;
    const trouble = differences(words, other).map((one) => `words/${language}.yaml: ${one}`);
    if (trouble.length > 0) throw new Error(trouble.join("\n"));
    return other;
  });
  const typeOf = (name: string): string =>
    tableType(
      [words, ...others].map((table) => table[name] as WordTable),
      name,
      marks,
    );
  const { first, later } = splitSections({ words, marks });
  const text = `${TYPES_HEAD}
declare module "words:languages" {
  export interface Text {
    ${first.map((name) => `readonly ${name}: ${typeOf(name)};`).join("\n    ")}
  }
  export const LANGUAGE_WORDS: InEach<() => Promise<{ readonly text: Text }>>;
}
${later.map((name) => moduleType(name, typeOf(name))).join("\n")}
`;
  const isNew = !existsSync(TYPES) || readFileSync(TYPES, "utf8") !== text;
  if (isNew) writeFileSync(TYPES, text);
}

const TYPES_HEAD = `// Made from words/*.yaml by catalogue.ts.
type Said = string | number;
type CodedWords = import("../src/words.ts").CodedWords;
type InEach<Spoken> = Readonly<Record<import("../src/words.ts").Language, Spoken>>;
`;

function moduleType(name: string, type: string): string {
  const words = `${name[0]!.toUpperCase()}${name.slice(1)}Words`;
  return `declare module "words:later/${name}" {
  export interface ${words} ${type}
  export const ${name.toUpperCase()}_WORDS: InEach<${words}>;
}`;
}

/** What two languages do not have in common: keys, and names of messages. Pure. */
export function differences(mine: WordTable, other: WordTable, at = ""): string[] {
  return [...new Set([...Object.keys(mine), ...Object.keys(other)])].flatMap((key) => {
    const [one, two] = [mine[key], other[key]];
    const name = `${at}${key}`;
    if (one === undefined) return [`${name} is not in the other languages`];
    if (two === undefined) return [`${name} is missing`];
    if (typeof one === "string" && typeof two === "string") {
      const [wanted, found] = [one, two].map((message) => [...namesOf(message).keys()].toSorted());
      const isSame = String(wanted) === String(found);
      return isSame ? [] : [`${name} has {${found!.join("}, {")}}, not {${wanted!.join("}, {")}}`];
    }
    if (isTable(one) && isTable(two)) return differences(one, two, `${name}.`);

    return Array.isArray(one) && Array.isArray(two) ? [] : [`${name} is of another kind`];
  });
}

function isTable(word: WordTable[string]): word is WordTable {
  return typeof word === "object" && !Array.isArray(word);
}

/** The type of a table that every language has. */
function tableType(tables: readonly WordTable[], at: string, marks: Catalogue["marks"]): string {
  const mark = marks.get(at);
  if (mark === "!open") return "Readonly<Record<string, string>>";
  if (mark === "!coded") return "CodedWords";

  const members = Object.entries(tables[0]!).map(([key, word]) => {
    const words = tables.map((table) => table[key]!);
    const ofOne = (): string =>
      typeof word === "string" ? messageType(words as string[]) : "readonly string[]";
    const type = isTable(word) ? tableType(words as WordTable[], `${at}.${key}`, marks) : ofOne();
    return `readonly ${JSON.stringify(key)}: ${type};`;
  });
  return `{ ${members.join(" ")} }`;
}

/** A message that every language says; what a name is given must do for each of them. */
function messageType(messages: readonly string[]): string {
  const found = messages.map(namesOf);
  const names = [...found[0]!.keys()].map((name) => {
    const types = [...new Set(found.map((one) => one.get(name)!))].toSorted(byWidth);
    return `readonly ${name}: ${types[0]!}`;
  });
  return names.length === 0 ? "string" : `(said: { ${names.join("; ")} }) => string`;
}

const WIDEST = ["Said", "boolean", "Said | null | undefined", "number"];

/** The narrowest first: one of some cases, a number. */
function byWidth(a: string, b: string): number {
  const [one, two] = [a, b].map((type) => WIDEST.indexOf(type));
  return (two === -1 ? WIDEST.length : two!) - (one === -1 ? WIDEST.length : one!);
}

/** Of what type each name of a message is. */
function namesOf(message: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const look = (part: Piece): void => {
    if (typeof part === "string") {
      if (/\{\w/.test(part)) throw new Error(`A brace is left open in: ${message}`);
      return;
    }
    const types = [placeType(part), found.get(part.name) ?? "Said"].toSorted(byWidth);
    found.set(part.name, types[0]!);
    for (const inner of part.cases.values()) inner.forEach(look);
  };
  piecesOf(message).forEach(look);

  return found;
}

function placeType({ how, cases }: Exclude<Piece, string>): string {
  if (how === "number" || how === "plural") return "number";
  const keys = [...cases.keys()];
  if (keys.every((key) => ["true", "false", "other"].includes(key))) {
    return keys.includes("true") ? "boolean" : "Said";
  }
  const isNone = keys.includes("none");
  if (keys.includes("other")) return isNone ? "Said | null | undefined" : "Said";

  const named = keys.filter((key) => key !== "none").map((key) => JSON.stringify(key));
  return [...named, ...(isNone ? ["null", "undefined", '""'] : [])].join(" | ");
}

if (import.meta.main) writeWordTypes();
