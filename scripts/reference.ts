/**
 * The reference of each door, made from the sources: the groups of its `index.ts`, and of each
 * export its docstring and its declaration. It only parses, so it needs no build.
 *
 * Why not typedoc: docs/decisions/0002-checks.md.
 */

import { readFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import { root } from "./processes.ts";
import { cliPage } from "./reference/cli.ts";
import { configurationPage } from "./reference/configuration.ts";
import { errorsPage } from "./reference/errors.ts";
import { eventsPage } from "./reference/events.ts";
import { httpPage } from "./reference/http.ts";

/** A door of a package, and its page. */
export interface Door {
  /** As people import it. */
  readonly name: string;
  /** Path of its `index.ts`. */
  readonly source: string;
  /** Path of its page. */
  readonly page: string;
}

const PACKAGES = ["packages/dure", "packages/testing"] as const;
const PAGES = path.join(root, "docs/reference");

/** The doors of the packages that are published, in the order of their `exports`. */
export async function listDoors(): Promise<readonly Door[]> {
  const doors: Door[] = [];
  for (const place of PACKAGES) {
    const { name: owner, exports } = JSON.parse(
      await readFile(path.join(root, place, "package.json"), "utf8"),
    ) as { name: string; exports: Readonly<Record<string, { "dure-source": string }>> };
    for (const [door, { "dure-source": source }] of Object.entries(exports)) {
      const name = door.replace(".", owner);
      const page = `${name.split("/").at(-1)}.md`;
      doors.push({ name, source: path.join(root, place, source), page: path.join(PAGES, page) });
    }
  }
  return doors;
}

/** What a door exports: with its group, its docstring and its declaration. */
export interface Exported {
  readonly name: string;
  readonly isType: boolean;
  /** The comment above the group. */
  readonly group: string;
  /** Without stars; empty: it has none. */
  readonly doc: string;
  /** TypeScript without bodies and without what is private. */
  readonly declaration: string;
}

export interface DoorContent {
  readonly intro: string;
  readonly exported: readonly Exported[];
}

/** Throws on an export that it cannot find: the page would be wrong. */
export function readDoor(source: string): DoorContent {
  const sources = new Sources();
  const door = sources.read(source);
  const exported: Exported[] = [];
  let group = "";
  for (const [index, statement] of door.statements.entries()) {
    if (!ts.isExportDeclaration(statement)) continue;
    const comments = commentBlocks(door, statement);
    const heading = index === 0 && comments.length === 1 ? undefined : comments.at(-1);
    group = heading ?? group;
    for (const { name, original, isType, from } of namesOf(statement, source)) {
      exported.push({ name, isType, group, ...sources.describe(from, original, isType) });
    }
  }
  const first = door.statements[0];
  return { intro: (first && commentBlocks(door, first)[0]) ?? "", exported };
}

/** Names that the page would show without a word: values and types. Pure. */
export function exportsWithoutDoc({ exported }: DoorContent): readonly string[] {
  return exported.filter(({ doc }) => doc === "").map(({ name }) => name);
}

/** The page of a door. Pure. */
export function pageOf(name: string, { intro, exported }: DoorContent): string {
  const values = exported.filter(({ isType }) => !isType).map((one) => `\`${one.name}\``);
  const lines = [
    `# ${name}`,
    "",
    "<!-- Made from the sources by `npm run reference`. Change the docstrings, not this page. -->",
    "",
    intro,
    "",
    `Values: ${values.join(", ")}. Everything else is a type.`,
  ];
  let group = "";
  for (const one of exported) {
    if (one.group !== group) lines.push("", `## ${one.group}`);
    group = one.group;
    lines.push("", `### ${one.name}`);
    if (one.doc !== "") lines.push("", one.doc);
    lines.push("", "```ts", one.declaration, "```");
  }
  return `${lines.join("\n")}\n`;
}

/** The pages as they must be, by their paths. */
export async function makeReference(): Promise<ReadonlyMap<string, string>> {
  const pages = new Map<string, string>();
  for (const { name, source, page } of await listDoors()) {
    pages.set(page, pageOf(name, readDoor(source)));
  }
  pages.set(path.join(PAGES, "cli.md"), cliPage());
  pages.set(path.join(PAGES, "configuration.md"), await configurationPage());
  pages.set(path.join(PAGES, "errors.md"), await errorsPage());
  pages.set(path.join(PAGES, "events.md"), eventsPage());
  pages.set(path.join(PAGES, "http.md"), await httpPage());
  return pages;
}

// --- the door's own file

interface NamedExport {
  readonly name: string;
  /** Its name in that module. */
  readonly original: string;
  readonly isType: boolean;
  /** The module that the door names. */
  readonly from: string;
}

function namesOf(statement: ts.ExportDeclaration, source: string): readonly NamedExport[] {
  const { moduleSpecifier, exportClause } = statement;
  if (!moduleSpecifier || !exportClause || !ts.isNamedExports(exportClause)) {
    throw new Error(`${source} must name each export, and where it comes from`);
  }
  const from = moduleOf(source, moduleSpecifier);
  return exportClause.elements.map((element) => ({
    name: element.name.text,
    original: (element.propertyName ?? element.name).text,
    isType: statement.isTypeOnly || element.isTypeOnly,
    from,
  }));
}

function moduleOf(source: string, specifier: ts.Expression): string {
  return path.resolve(path.dirname(source), (specifier as ts.StringLiteral).text);
}

/** Lines of `//` before a statement, by blocks between empty lines. */
function commentBlocks(file: ts.SourceFile, statement: ts.Statement): readonly string[] {
  const text = file.text.slice(statement.pos, statement.getStart(file));
  return text
    .split(/\n\s*\n/)
    .map((block) =>
      block
        .replaceAll(/^\s*\/\/ ?/gm, "")
        .replaceAll("\n", " ")
        .trim(),
    )
    .filter((block) => block !== "");
}

// --- declarations

type Described = Pick<Exported, "doc" | "declaration">;

class Sources {
  readonly #files = new Map<string, ts.SourceFile>();

  read(file: string): ts.SourceFile {
    const known = this.#files.get(file);
    if (known) return known;
    const text = ts.sys.readFile(file);
    if (text === undefined) throw new Error(`${file} cannot be read`);
    const read = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
    this.#files.set(file, read);
    return read;
  }

  /** Follows re-exports to the declaration of `name`. */
  describe(source: string, name: string, isType: boolean): Described {
    const file = this.read(source);
    const elsewhere = handedOn(file, name);
    if (elsewhere) return this.describe(elsewhere.from, elsewhere.name, isType);
    const found = file.statements.filter((statement) => declares(statement, name));
    if (found.length === 0) throw new Error(`${source} does not declare ${name}`);
    const signatures = found.filter((one) => !ts.isFunctionDeclaration(one) || !one.body);
    const shown = signatures.length > 0 ? signatures : found;
    const lines = shown.map((one) => declarationOf(one, { file, isType }));
    return {
      doc: shown.map((one) => docOf(one, file)).find((doc) => doc !== "") ?? "",
      declaration: [...lines, ...this.#schemaOf(lines.join("\n"), source)].join("\n"),
    };
  }

  /** The schema that a type is inferred from: it says more than the type's own line. */
  #schemaOf(declaration: string, source: string): readonly string[] {
    const schema = /z\.(?:input|output|infer)<typeof (\w+)>/.exec(declaration)?.[1];
    if (schema === undefined) return [];
    const file = this.read(source);
    const here = file.statements.find((statement) => declares(statement, schema));
    if (here) return ["", here.getText(file).replace(/^export\s+/, "")];
    const imported = importOf(file, schema);
    return imported ? this.#schemaOf(declaration, moduleOf(source, imported.moduleSpecifier)) : [];
  }
}

/** Where a name comes from that a file exports and does not declare. */
function handedOn(
  file: ts.SourceFile,
  name: string,
): { readonly from: string; readonly name: string } | undefined {
  for (const statement of file.statements) {
    if (!ts.isExportDeclaration(statement)) continue;
    const clause = statement.exportClause;
    if (!clause || !ts.isNamedExports(clause)) continue;
    const found = clause.elements.find((element) => element.name.text === name);
    if (!found) continue;
    const original = (found.propertyName ?? found.name).text;
    const module = statement.moduleSpecifier ?? importOf(file, original)?.moduleSpecifier;
    return module && { from: moduleOf(file.fileName, module), name: original };
  }
  return undefined;
}

function importOf(file: ts.SourceFile, name: string): ts.ImportDeclaration | undefined {
  return file.statements
    .filter(ts.isImportDeclaration)
    .find((statement) => imports(statement, name));
}

function imports(statement: ts.ImportDeclaration, name: string): boolean {
  const { importClause, moduleSpecifier } = statement;
  const named = importClause?.namedBindings;
  if (!named || !ts.isNamedImports(named)) return false;
  const isOwn = (moduleSpecifier as ts.StringLiteral).text.startsWith(".");
  return isOwn && named.elements.some((element) => element.name.text === name);
}

function declares(statement: ts.Statement, name: string): boolean {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.some((one) => one.name.getText() === name);
  }
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement);
  return isNamed && statement.name?.text === name;
}

/** The text of a docstring: no stars, links as code, tags as sentences. */
function docOf(node: ts.Node, file: ts.SourceFile): string {
  const comment = ts
    .getLeadingCommentRanges(file.text, node.pos)
    ?.map(({ pos, end }) => file.text.slice(pos, end))
    .findLast((text) => text.startsWith("/**"));
  if (comment === undefined) return "";
  return comment
    .replace(/^\/\*\*\s?/, "")
    .replace(/\s*\*\/$/, "")
    .replaceAll(/^[ \t]*\* ?/gm, "")
    .replaceAll(/\{@link\s+([^}]+?)\s*\}/g, "`$1`")
    .replaceAll(/@throws\s+/g, "Throws ")
    .replaceAll(/@param\s+(\w+)\s+/g, "`$1`: ")
    .trim();
}

function declarationOf(
  node: ts.Statement,
  { file, isType }: { file: ts.SourceFile; isType: boolean },
): string {
  if (ts.isClassDeclaration(node)) return classOf(node, { file, isType });
  const text = node.getText(file).replace(/^export\s+/, "");
  if (ts.isFunctionDeclaration(node)) return withoutBody(node, file).replace(/^export\s+/, "");
  return ts.isVariableStatement(node) ? shortened(text) : text;
}

/** Public members without their bodies; the constructor only of a class that people construct. */
function classOf(
  node: ts.ClassDeclaration,
  { file, isType }: { file: ts.SourceFile; isType: boolean },
): string {
  const head = file.text.slice(node.getStart(file), node.members.pos).replace(/^export\s+/, "");
  const members = node.members
    .filter((member) => !isPrivate(member) && !(isType && ts.isConstructorDeclaration(member)))
    .map((member) => {
      const comments = file.text.slice(member.pos, member.getStart(file)).trim();
      return [comments, withoutBody(member, file)]
        .filter(Boolean)
        .map((part) => indented(part))
        .join("\n");
    });
  return `${head}\n${members.join("\n")}\n}`;
}

function isPrivate(member: ts.ClassElement): boolean {
  if (member.name && ts.isPrivateIdentifier(member.name)) return true;
  const flags = ts.getCombinedModifierFlags(member);
  return (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0;
}

function withoutBody(node: ts.FunctionDeclaration | ts.ClassElement, file: ts.SourceFile): string {
  const body = "body" in node ? (node.body as ts.Node | undefined) : undefined;
  const end = body ? body.getStart(file) : node.getEnd();
  const text = file.text.slice(node.getStart(file), end).trim().replace(/;$/, "");
  return `${text.replace(/^(export )?async (?!\*)/, "$1")};`;
}

/** Lines of a value that are shown. */
const MAX_LINES = 12;

function shortened(text: string): string {
  const lines = text.split("\n");
  return lines.length <= MAX_LINES ? text : [...lines.slice(0, MAX_LINES), "  // …"].join("\n");
}

/** Two spaces before each line, whatever stood there in a class. */
function indented(text: string): string {
  const lines = text.split("\n");
  const depths = lines
    .slice(1)
    .flatMap((line) => (line.trim() ? [/^ */.exec(line)![0].length] : []));
  const depth = Math.min(2, ...depths);
  return lines.map((line, index) => `  ${index === 0 ? line : line.slice(depth)}`).join("\n");
}
